//! The agent's own account of its progress, in place of the checklist (agent contract §22): an expression over `input` and `state` that
//! gives a text, or a text and the next state.
//!
//! In: the plan, what is finished, calls, the turn. Out: the text for the model. It is computed, so that replay makes it again.

use std::sync::atomic::AtomicBool;

use ptc_core::limits::COMPILE_TIMEOUT;
use ptc_core::lisp::Limits;
use ptc_core::lisp::{Input as Program, Signal, boundary};
use ptc_core::value::Value;

use crate::agent::Plan;
use crate::program::{self, NoTools, Setting};

/// What a run has told about its progress.
#[derive(Debug, Clone, Default)]
pub(super) struct Progress {
    state: Value,
    /// The latest text.
    pub(super) text: Option<String>,
}

/// What is done by now.
pub(super) struct Done<'a> {
    /// The turn that comes next, from 1.
    pub(super) turn: u32,
    /// Finished items: id and note.
    pub(super) summaries: &'a [(String, String)],
    /// Calls of programs that ended well: tool and arguments as text.
    pub(super) calls: &'a [(String, String)],
}

impl Progress {
    /// The account at the start of a run.
    pub(super) fn begin(plan: &Plan) -> (Self, Option<String>) {
        let mut progress = Self::default();
        let warning = progress.tell(plan, &Done { turn: 1, summaries: &[], calls: &[] });
        (progress, warning)
    }

    /// Makes the next text; what is wrong with the expression, when it cannot: the checklist stands there then.
    pub(super) fn tell(&mut self, plan: &Plan, done: &Done<'_>) -> Option<String> {
        let expression = plan.settings.progress.as_deref()?;
        match evaluated(expression, &input(plan, done), &self.state) {
            Ok((text, state)) => {
                (self.text, self.state) = (Some(text), state);
                None
            }
            Err(problem) => {
                self.text = None;
                Some(format!("`progress` cannot be used: {problem}"))
            }
        }
    }
}

fn map(entries: Vec<(&str, Value)>) -> Value {
    Value::map(entries.into_iter().map(|(key, value)| (Value::str(key), value)).collect::<Vec<_>>())
}

fn input(plan: &Plan, done: &Done<'_>) -> Value {
    let text = |text: &String| Value::str(text.as_str());
    let item = |(id, about): &(String, String)| map(vec![("id", text(id)), ("description", text(about))]);
    let call = |(tool, args): &(String, String)| map(vec![("name", text(tool)), ("args", text(args))]);
    let summaries = done.summaries.iter().map(|(id, note)| (text(id), text(note)));
    map(vec![
        ("plan", Value::list(plan.settings.plan.iter().map(item).collect::<Vec<_>>())),
        ("summaries", Value::map(summaries.collect::<Vec<_>>())),
        ("tool_calls", Value::list(done.calls.iter().map(call).collect::<Vec<_>>())),
        ("turn", Value::Int(done.turn.into())),
        ("phase", Value::str(if done.turn == 1 { "initial" } else { "continuation" })),
    ])
}

/// The text and the next state. A value that is only a text keeps the state.
fn evaluated(expression: &str, input: &Value, state: &Value) -> Result<(String, Value), String> {
    let source = format!("(let [input data/input state data/state] {expression})");
    let context = map(vec![("input", input.clone()), ("state", state.clone())]);
    let limits = Limits::default();
    let program = Program { context: &context, ..Program::new(&source, &limits) };
    let most = COMPILE_TIMEOUT.default.unwrap_or(COMPILE_TIMEOUT.max);
    let stop = AtomicBool::new(false);
    let setting = Setting { tools: &NoTools, timeout_ms: most, compile_timeout_ms: most, now_ms: 0, stop: &stop };
    let value = match program::run(&program, &setting).result {
        Ok((Signal::Value | Signal::Return, value)) => boundary::externalize(&value).0,
        Ok((Signal::Fail, value)) => return Err(value.to_string()),
        Err(error) => return Err(format!("{}: {}", error.reason, error.message())),
    };
    match (&value, value.as_list()) {
        (Value::Str(text), _) => Ok((text.to_string(), state.clone())),
        (_, Some([Value::Str(text), next])) => Ok((text.to_string(), next.clone())),
        _ => Err("it must give a text, or [text state]".to_owned()),
    }
}
