//! The data of a run: JSON, an earlier result, or the agent's own context.

use crate::agent::{Context, Plan, Step};
use crate::event::ErrorRecord;
use ptc_core::value::{Json, json};

/// The data of a run.
#[derive(Debug, Clone, Default)]
pub enum RunData {
    /// The agent's own context.
    #[default]
    Own,
    /// Data.
    Data(Context),
    /// The result of an earlier run. A failed one ends the run with `chained_failure` before it starts.
    Step(Box<Step>),
    /// The result of an earlier run, which must contain all data that the agent needs; otherwise `chain_error`.
    Aligned(Box<Step>),
}

impl RunData {
    /// Returns the context of a run of this plan.
    pub(super) fn context(&self, plan: &Plan) -> Result<Context, ErrorRecord> {
        match self {
            Self::Own => Ok(plan.agent.context.clone().into()),
            Self::Data(context) => Ok(context.clone()),
            Self::Step(step) => Context::for_plan(step, plan),
            Self::Aligned(step) => Context::chained(step, &plan.signature),
        }
    }
}

impl From<Json> for RunData {
    fn from(json: Json) -> Self {
        Self::Data(json.into())
    }
}

impl From<Context> for RunData {
    fn from(context: Context) -> Self {
        Self::Data(context)
    }
}

impl From<serde_json::Value> for RunData {
    fn from(value: serde_json::Value) -> Self {
        // serde_json writes valid JSON; only values nested deeper than 512 levels cannot be parsed, and are no valid
        // context.
        Self::Data(json::parse(&value.to_string()).unwrap_or_default().into())
    }
}

impl From<&Step> for RunData {
    fn from(step: &Step) -> Self {
        Self::Step(Box::new(step.clone()))
    }
}
