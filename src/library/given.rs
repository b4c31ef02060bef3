//! What a run is given: data, an earlier Step, or nothing but the agent's own context.

use crate::agent::{Context, Plan, Step};
use crate::event::ErrorRecord;
use ptc_core::value::{Json, json};

/// The data of a run.
#[derive(Debug, Clone, Default)]
pub enum Given {
    /// The agent's own context.
    #[default]
    Own,
    /// Data.
    Data(Context),
    /// What an earlier Step returned. A failed one ends the run with `chained_failure` before it starts.
    Step(Box<Step>),
    /// The same; what the agent needs must be there, else `chain_error`.
    Aligned(Box<Step>),
}

impl Given {
    /// The context of a run of this plan.
    pub(super) fn context(&self, plan: &Plan) -> Result<Context, ErrorRecord> {
        match self {
            Self::Own => Ok(plan.agent.context.clone().into()),
            Self::Data(context) => Ok(context.clone()),
            Self::Step(step) => Context::from_step(step, &plan.signature),
            Self::Aligned(step) => Context::chained(step, &plan.signature),
        }
    }
}

impl From<Json> for Given {
    fn from(json: Json) -> Self {
        Self::Data(json.into())
    }
}

impl From<Context> for Given {
    fn from(context: Context) -> Self {
        Self::Data(context)
    }
}

impl From<serde_json::Value> for Given {
    fn from(value: serde_json::Value) -> Self {
        // What serde writes is JSON; only what is nested deeper than 512 levels cannot be read back, and is no context either.
        Self::Data(json::parse(&value.to_string()).unwrap_or_default().into())
    }
}

impl From<&Step> for Given {
    fn from(step: &Step) -> Self {
        Self::Step(Box::new(step.clone()))
    }
}
