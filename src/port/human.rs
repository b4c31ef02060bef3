//! The user who answers questions, and the points at which a run may stop for one.

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::Breakpoint;
use crate::event::{Address, QuestionKind};

/// A question to the user.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Address of the event that asks.
    pub address: Address,
    /// The text to show: for the `human` model the whole request; at a gate the text to edit.
    pub text: String,
    /// The allowed answers; empty for any.
    pub options: Vec<String>,
    /// The gate, if the run stopped at one: the answer is the text to use.
    pub gate: Option<Gate>,
}

/// A point at which a run can be intercepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Gate {
    /// Before a request is sent.
    Send,
    /// Before a reply is applied.
    Apply,
    /// Before the result of a tool call is returned to the caller.
    Result,
}

impl Gate {
    /// All gates, in the order of a turn.
    pub const ALL: [Self; 3] = [Self::Send, Self::Apply, Self::Result];

    /// Returns the stored name, which is the kind of its question.
    pub fn name(self) -> &'static str {
        match self {
            Self::Send => "gate_send",
            Self::Apply => "gate_apply",
            Self::Result => "gate_result",
        }
    }

    /// Returns the kind of its question.
    pub fn question_kind(self) -> QuestionKind {
        match self {
            Self::Send => QuestionKind::GateSend,
            Self::Apply => QuestionKind::GateApply,
            Self::Result => QuestionKind::GateResult,
        }
    }

    /// Returns the text of its question.
    pub fn prompt(self) -> &'static str {
        match self {
            Self::Send => "The request is ready. Change its messages, or send it as it is.",
            Self::Apply => "The reply is here. Change it, or apply it as it is.",
            Self::Result => "The tool has answered. Change its result, or pass it on as it is.",
        }
    }

    /// Returns what is intercepted there, as one word.
    pub fn subject(self) -> &'static str {
        match self {
            Self::Send => "request",
            Self::Apply => "reply",
            Self::Result => "result",
        }
    }

    /// Returns the verb of the action that continues the run.
    pub fn verb(self) -> &'static str {
        match self {
            Self::Send => "send it",
            Self::Apply => "apply it",
            Self::Result => "pass it on",
        }
    }

    /// Returns when runs stop there.
    pub fn moment(self) -> &'static str {
        match self {
            Self::Send => "before a request is sent",
            Self::Apply => "before a reply is applied",
            Self::Result => "before a tool's result is returned",
        }
    }
}

/// A point at which a run may stop for the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checkpoint<'a> {
    /// A gate.
    Gate(Gate),
    /// Breakpoints that the run has reached: it stops if one of these is set.
    Breakpoints(&'a [Breakpoint]),
}

/// Answers questions. `None` means that no answer is available: the run waits.
pub trait Human: Send + Sync {
    /// Shows the question and returns the answer; returns `None` soon after a cancel.
    fn ask<'a>(&'a self, question: &'a Question, cancel: &'a CancellationToken) -> BoxFuture<'a, Option<String>>;

    /// Returns whether an answer was given beforehand, in which case no policy decides.
    fn has_answer(&self, question: &Address) -> bool {
        _ = question;
        false
    }

    /// Returns whether the run stops here.
    fn stops_at(&self, checkpoint: Checkpoint<'_>) -> bool {
        _ = checkpoint;
        false
    }
}

/// No user: every question waits.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoUser;

impl Human for NoUser {
    fn ask<'a>(&'a self, _: &'a Question, _: &'a CancellationToken) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }
}

/// Returns the option that an answer to a closed question names: whole, or by a beginning that no other option has.
pub fn named_option<'o, T: AsRef<str>>(options: &'o [T], answer: &str) -> Option<&'o str> {
    let answer = answer.trim().to_lowercase();
    let mut options = options.iter().map(AsRef::as_ref);
    if let Some(option) = options.clone().find(|option| option.to_lowercase() == answer) {
        return Some(option);
    }
    let mut named = options.by_ref().filter(|option| !answer.is_empty() && option.to_lowercase().starts_with(&answer));
    named.next().filter(|_| named.next().is_none())
}
