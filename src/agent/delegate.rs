//! The view of a Step as the result of a delegated task: `{result, summary, refs, trace, usage}`, or `{reason, message, trace, usage}`.
//!
//! In: a [`Step`]. Out: the view, also as JSON. It must never add anything that is not in the Step.

use ptc_core::reasons::Reason;
use ptc_core::value::json::to_json;
use ptc_core::value::{Json, Value};
use serde::{Serialize, Serializer};
use serde_with::skip_serializing_none;

use super::{CallEntry, Step, Turn};
use crate::event::{Address, ErrorRecord, JsonText, Tokens};
use crate::program::expression;

/// The result of a task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Delegation {
    /// The answer.
    pub result: Json,
    /// The model's text next to it.
    pub summary: Option<String>,
    /// The refs: a JSON object.
    pub refs: Json,
    /// The turns.
    pub trace: Vec<DelegatedTurn>,
    /// The usage of the run.
    pub usage: DelegatedUsage,
}

/// The failure of a task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DelegationError {
    /// The name of the reason: `max_turns_reached` for exhausted turns, `llm_error` also for an unknown model, else that of the failure.
    pub reason: String,
    /// The message of the failure.
    pub message: String,
    /// The turns.
    pub trace: Vec<DelegatedTurn>,
    /// The usage of the run.
    pub usage: DelegatedUsage,
}

/// One turn.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DelegatedTurn {
    /// From 1.
    pub iteration: u32,
    /// The program.
    pub program: Option<String>,
    /// Its value; one that JSON cannot hold, or that was too large to be recorded whole, as PTC-Lisp text.
    pub result: Option<Json>,
    /// The error of the turn.
    pub error: Option<String>,
    /// The reply, when it held no program.
    pub answer: Option<String>,
    /// The tool calls of the turn.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "calls")]
    pub tool_calls: Vec<CallEntry>,
    /// The usage of the turn.
    pub usage: DelegatedUsage,
}

/// Tokens and requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct DelegatedUsage {
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// Both.
    pub total_tokens: u64,
    /// Requests made.
    pub requests: u32,
}

impl Step {
    /// Returns the Step as the result of a delegated task.
    pub fn delegated(&self) -> Result<Delegation, Box<DelegationError>> {
        let trace = self.turns.iter().map(|turn| self.trace_of(turn)).collect();
        let usage = used(self.usage.total.tokens, self.usage.total.requests);
        match &self.fail {
            Some(fail) => {
                let (reason, message) = (source_name(fail), fail.message.clone());
                Err(Box::new(DelegationError { reason, message, trace, usage }))
            }
            None => Ok(Delegation {
                result: self.answer.clone().unwrap_or_default(),
                summary: self.summary.clone(),
                refs: self.refs.clone().unwrap_or_else(Json::empty),
                trace,
                usage,
            }),
        }
    }

    fn trace_of(&self, turn: &Turn) -> DelegatedTurn {
        let is_here = |call: &&CallEntry| call.address.as_ref().map(Address::turn_part) == turn.address;
        // An answer that lacks only its refs is one.
        let is_answer = turn.success || turn.reason.as_deref() == Some(Reason::MissingRefs.name());
        let answer = (turn.program.is_none() && is_answer).then(|| turn.raw_response.clone());
        DelegatedTurn {
            iteration: turn.number,
            program: turn.program.clone(),
            result: turn.result.as_deref().map(structured),
            error: turn.error.as_ref().map(|error| error.message.clone()).or_else(|| turn.reason.clone()),
            answer,
            tool_calls: self.calls.iter().filter(is_here).cloned().collect(),
            usage: used(turn.tokens, turn.attempts),
        }
    }
}

/// The value of a program from its text.
fn structured(text: &str) -> Json {
    let value = expression::evaluate(text, &Value::Nil);
    value.map_or_else(|_| Json::str(text), |value| Json::from(&value))
}

/// Returns the name of the reason in a delegated result.
fn source_name(fail: &ErrorRecord) -> String {
    match Reason::from_name(&fail.reason) {
        Some(Reason::MaxTurnsExceeded | Reason::BudgetExhausted) => "max_turns_reached".to_owned(),
        // An unknown model counts as a failure of the model.
        Some(Reason::LlmNotFound) => Reason::LlmError.name().to_owned(),
        _ => fail.reason.clone(),
    }
}

fn used(tokens: Option<Tokens>, requests: u32) -> DelegatedUsage {
    let tokens = tokens.unwrap_or_default();
    let (input_tokens, output_tokens) = (tokens.input, tokens.output);
    DelegatedUsage { input_tokens, output_tokens, total_tokens: tokens.total(), requests }
}

impl Delegation {
    /// Removes programs and results: they are texts, which could show names that the firewall hides.
    #[must_use]
    pub fn veiled(self) -> Self {
        let trace = self.trace.into_iter().map(|turn| DelegatedTurn { program: None, result: None, ..turn });
        Self { trace: trace.collect(), ..self }
    }

    /// Returns the answer of a tool that delegates: `{result, summary, refs, trace}`.
    pub fn answer(&self) -> Json {
        self.to_json().without("usage")
    }

    /// The whole view.
    pub fn to_json(&self) -> Json {
        to_json(self)
    }
}

impl DelegationError {
    /// The whole view.
    pub fn to_json(&self) -> Json {
        to_json(self)
    }
}

/// A call as a trace shows it.
#[derive(Serialize)]
struct CallJson<'a> {
    name: &'a str,
    args: &'a JsonText,
    result: Option<&'a JsonText>,
}

fn calls<S: Serializer>(calls: &[CallEntry], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(calls.iter().map(|call| CallJson {
        name: &call.name,
        args: &call.args,
        result: call.result.as_ref(),
    }))
}
