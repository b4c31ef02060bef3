//! The agent's own account of its progress, in place of the checklist: an expression over `input` and `state` that
//! gives a text, or a text and the next state.
//!
//! In: the plan, finished items, calls, the turn. Out: the program that is evaluated, and from its outcome the text for the model.

use ptc_core::lisp::{Outcome, Signal, boundary};
use ptc_core::value::Value;

use crate::agent::Plan;
use crate::program::{Job, fail_message};

/// The account so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Progress {
    state: Value,
    /// The latest text.
    pub(super) text: Option<String>,
}

/// The work done by now.
pub(super) struct Done<'a> {
    /// The turn that comes next, from 1.
    pub(super) turn: u32,
    /// Finished items: id and note.
    pub(super) summaries: &'a [(String, String)],
    /// Calls of programs that ended well: tool and arguments as text.
    pub(super) calls: &'a [(String, String)],
}

impl Progress {
    /// The program that gives the next account; `None` when the agent has no expression for it.
    pub(super) fn job(&self, plan: &Plan, done: &Done<'_>) -> Option<Job> {
        let expression = plan.settings.progress.as_deref()?;
        let context = map(vec![("input", input(plan, done)), ("state", self.state.clone())]);
        let source = format!("(let [input data/input state data/state] {expression})");
        Some(Job { context, ..Job::alone(source) })
    }

    /// Takes its outcome. `Some`: what is wrong with the expression; the checklist appears in its place then.
    pub(super) fn take(&mut self, outcome: Outcome) -> Option<String> {
        match account(outcome) {
            Ok((text, state)) => {
                self.text = Some(text);
                // A value that is only a text keeps the state.
                self.state = state.unwrap_or_else(|| std::mem::take(&mut self.state));
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

/// The text and the next state of an outcome.
fn account(outcome: Outcome) -> Result<(String, Option<Value>), String> {
    let value = match outcome.result {
        Ok((Signal::Value | Signal::Return, value)) => boundary::externalize(&value).0,
        Ok((Signal::Fail, value)) => return Err(fail_message(&value)),
        Err(error) => return Err(format!("{}: {}", error.reason, error.message())),
    };
    match (&value, value.as_list()) {
        (Value::Str(text), _) => Ok((text.to_string(), None)),
        (_, Some([Value::Str(text), next])) => Ok((text.to_string(), Some(next.clone()))),
        _ => Err("it must return a string or [string state]".to_owned()),
    }
}
