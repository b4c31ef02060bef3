//! The data of a run (JSON, an earlier result, or the agent's own context), and its answer as JSON, text or a Rust type.

use ptc_core::reasons::Reason;
use ptc_core::value::{Json, json};
use serde::de::DeserializeOwned;

use crate::agent::{Context, Plan, Step};
use crate::event::ErrorRecord;

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
            Self::Step(step) => Context::from_step(step, &plan.signature),
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

impl Step {
    /// Returns the answer. Errors: the reason why there is none.
    pub fn into_answer(self) -> Result<Json, Box<ErrorRecord>> {
        match self.fail {
            None => Ok(self.answer.unwrap_or_default()),
            Some(fail) => Err(Box::new(fail)),
        }
    }

    /// Returns the answer as text: a string without quotes, any other value as JSON. Errors: the reason why there is none.
    pub fn into_text(self) -> Result<String, Box<ErrorRecord>> {
        let answer = self.into_answer()?;
        Ok(answer.as_str().map_or_else(|| answer.to_text(), str::to_owned))
    }

    /// Returns the answer as a Rust type. Errors: the reason why there is no answer, or `validation_error` when the
    /// answer does not fit the type.
    pub fn into_typed<T: DeserializeOwned>(self) -> Result<T, Box<ErrorRecord>> {
        let answer = self.into_answer()?;
        serde_json::from_str(&answer.to_text()).map_err(|error| {
            let message = format!("the answer does not fit {}: {error}", std::any::type_name::<T>());
            Box::new(ErrorRecord::new(Reason::ValidationError, message))
        })
    }
}
