//! The view of a Step in the words of the core specification: `{result, summary, refs, trace, usage}`, or `{reason, trace, usage}`.
//!
//! In: a [`Step`]. Out: the view, also as JSON. Source: agent contract §25, settled decision 6. It must never add anything that is not in
//! the Step.

use ptc_core::reasons::Reason;
use ptc_core::value::Json;

use super::{CallEntry, Step, Turn};
use crate::event::{Address, ErrorRecord, Tokens};

/// What a task gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Delegated {
    /// The answer.
    pub result: Json,
    /// What the model said beside it.
    pub summary: Option<String>,
    /// The refs: a JSON object.
    pub refs: Json,
    /// The turns.
    pub trace: Vec<Trace>,
    /// What it cost.
    pub usage: Used,
}

/// Why a task gave nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Undelegated {
    /// The source's name of the reason: `max_turns_reached` for used-up turns, else ours.
    pub reason: String,
    /// What happened.
    pub message: String,
    /// The turns.
    pub trace: Vec<Trace>,
    /// What it cost.
    pub usage: Used,
}

/// One turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// From 1.
    pub iteration: u32,
    /// The program.
    pub program: Option<String>,
    /// Its value as PTC-Lisp text.
    pub result: Option<String>,
    /// What failed.
    pub error: Option<String>,
    /// The reply, when it held no program.
    pub answer: Option<String>,
    /// The tool calls of the turn.
    pub tool_calls: Vec<CallEntry>,
    /// What the turn cost.
    pub usage: Used,
}

/// Tokens and requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Used {
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
    /// The Step in the words of the core specification.
    pub fn delegated(&self) -> Result<Delegated, Box<Undelegated>> {
        let trace = self.turns.iter().map(|turn| self.trace_of(turn)).collect();
        let usage = used(self.usage.tokens, self.usage.llm_requests);
        match &self.fail {
            Some(fail) => {
                let (reason, message) = (source_name(fail), fail.message.clone());
                Err(Box::new(Undelegated { reason, message, trace, usage }))
            }
            None => Ok(Delegated {
                result: self.answer.clone().unwrap_or_default(),
                summary: self.summary.clone(),
                refs: self.refs.clone().unwrap_or_else(|| Json::object::<String>([])),
                trace,
                usage,
            }),
        }
    }

    fn trace_of(&self, turn: &Turn) -> Trace {
        let is_here = |call: &&CallEntry| call.address.as_ref().map(Address::turn_part) == turn.address;
        let said = (turn.program.is_none() && turn.success).then(|| turn.raw_response.clone());
        Trace {
            iteration: turn.number,
            program: turn.program.clone(),
            result: turn.result.clone(),
            error: turn.error.as_ref().map(|error| error.message.clone()).or_else(|| turn.reason.clone()),
            answer: said,
            tool_calls: self.calls.iter().filter(is_here).cloned().collect(),
            usage: used(turn.tokens, turn.attempts),
        }
    }
}

/// The reason by the name that the core specification gives it.
fn source_name(fail: &ErrorRecord) -> String {
    match Reason::from_name(&fail.reason) {
        Some(Reason::MaxTurnsExceeded | Reason::BudgetExhausted) => "max_turns_reached".to_owned(),
        _ => fail.reason.clone(),
    }
}

fn used(tokens: Option<Tokens>, requests: u32) -> Used {
    let tokens = tokens.unwrap_or_default();
    let (input_tokens, output_tokens) = (tokens.input, tokens.output);
    Used { input_tokens, output_tokens, total_tokens: tokens.total(), requests }
}

impl Delegated {
    /// The same without texts of programs and results: nothing can be left out of a text, so that it could show names that the
    /// firewall hides.
    #[must_use]
    pub fn veiled(self) -> Self {
        let trace = self.trace.into_iter().map(|turn| Trace { program: None, result: None, ..turn });
        Self { trace: trace.collect(), ..self }
    }

    /// What a tool of this form answers: `{result, summary, refs, trace}`.
    pub fn answer(&self) -> Json {
        let summary = self.summary.as_ref().map_or_else(Json::default, Json::str);
        Json::object([
            ("result", self.result.clone()),
            ("summary", summary),
            ("refs", self.refs.clone()),
            ("trace", Json::list(self.trace.iter().map(Trace::to_json))),
        ])
    }

    /// The whole view.
    pub fn to_json(&self) -> Json {
        let mut members = members(&self.answer());
        members.push(("usage".to_owned(), self.usage.to_json()));
        Json::object(members)
    }
}

impl Undelegated {
    /// The whole view.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("reason", Json::str(&self.reason)),
            ("message", Json::str(&self.message)),
            ("trace", Json::list(self.trace.iter().map(Trace::to_json))),
            ("usage", self.usage.to_json()),
        ])
    }
}

impl Trace {
    fn to_json(&self) -> Json {
        let texts =
            [("program", &self.program), ("result", &self.result), ("error", &self.error), ("answer", &self.answer)];
        let call = |call: &CallEntry| {
            let result = call.result.as_ref().map(crate::event::JsonText::json).unwrap_or_default();
            Json::object([("name", Json::str(&call.name)), ("args", call.args.json()), ("result", result)])
        };
        let mut members = vec![("iteration", self.iteration.into())];
        members.extend(texts.into_iter().filter_map(|(key, text)| Some((key, Json::str(text.as_ref()?)))));
        if !self.tool_calls.is_empty() {
            members.push(("tool_calls", Json::list(self.tool_calls.iter().map(call))));
        }
        members.push(("usage", self.usage.to_json()));
        Json::object(members)
    }
}

impl Used {
    fn to_json(self) -> Json {
        Json::object([
            ("input_tokens", self.input_tokens.into()),
            ("output_tokens", self.output_tokens.into()),
            ("total_tokens", self.total_tokens.into()),
            ("requests", self.requests.into()),
        ])
    }
}

fn members(object: &Json) -> Vec<(String, Json)> {
    let members = object.members().unwrap_or_default().iter();
    members.map(|member| (member.key.clone(), member.value.clone())).collect()
}
