//! The journal of finished tasks and the notes on finished steps.

use super::Machine;
use crate::lisp::{Error, EvalResult, described};
use crate::reasons::Reason;
use crate::value::Value;

impl Machine<'_> {
    /// The id of a task as text.
    pub(crate) fn task_id(id: &Value) -> EvalResult<String> {
        label(id).ok_or_else(|| {
            let problem = format!("the id must be a string or a number, got {}", described(id));
            Error::new(Reason::RuntimeError, problem).within("task").into()
        })
    }

    /// The result of a finished task.
    pub(crate) fn done(&self, id: &str) -> Option<Value> {
        self.journal.as_ref()?.get_str(id).cloned()
    }

    /// Stores the result of a task.
    pub(crate) fn remember(&mut self, id: &str, value: &Value) {
        if let Some(journal) = &mut self.journal {
            journal.insert(Value::from(id), value.clone());
        }
    }

    /// `task-reset`
    pub(crate) fn forget(&mut self, id: &Value) -> EvalResult {
        let id = text("task-reset", id)?;
        if let Some(journal) = &mut self.journal {
            journal.remove(&Value::from(id));
        }
        Ok(Value::Nil)
    }

    /// `step-done`: recorded only outside of functions.
    pub(crate) fn note(&mut self, id: &Value, summary: &Value) -> EvalResult {
        let id = text("step-done", id)?;
        let summary = text("step-done", summary)?;
        let value = Value::from(summary.as_str());
        if self.outermost() {
            match self.summaries.iter_mut().find(|(have, _)| *have == id) {
                Some(known) => known.1 = summary,
                None => self.summaries.push((id, summary)),
            }
        }
        Ok(value)
    }
}

/// Strings unchanged, numbers and booleans as text.
fn label(value: &Value) -> Option<String> {
    match value {
        Value::Str(text) => Some(text.to_string()),
        Value::Int(_) | Value::Big(_) | Value::Float(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Nil => Some(String::new()),
        _ => None,
    }
}

/// An id or a summary: as [`label`], but not nil.
fn text(form: &'static str, value: &Value) -> EvalResult<String> {
    label(value).filter(|_| !value.is_nil()).ok_or_else(|| {
        let problem = format!("id and summary must be strings or numbers, got {}", described(value));
        Error::new(Reason::TypeError, problem).within(form).into()
    })
}
