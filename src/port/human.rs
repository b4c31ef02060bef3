//! The user who answers questions, and the points at which a run may stop for one.

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::Breakpoint;
use crate::event::{Address, QuestionKind};

/// A question to the user.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Where in the run it arose.
    pub address: Address,
    /// The text to show: for the `human` model, everything that would be sent; at a gate, the text that may be changed.
    pub text: String,
    /// Answers to choose from, when only these are answers.
    pub options: Vec<String>,
    /// The gate at which the run stopped, when it is one: the answer is the text that is used.
    pub gate: Option<Gate>,
}

/// Where a run can be intercepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Gate {
    /// Before a request is sent.
    Send,
    /// Before a reply is applied.
    Apply,
    /// Before the result of a tool call goes back to who called.
    Result,
}

impl Gate {
    /// All of them, in the order in which a turn meets them.
    pub const ALL: [Self; 3] = [Self::Send, Self::Apply, Self::Result];

    /// The stored name, which is the kind of its question.
    pub fn name(self) -> &'static str {
        match self {
            Self::Send => "gate_send",
            Self::Apply => "gate_apply",
            Self::Result => "gate_result",
        }
    }

    /// The kind of its question.
    pub fn question_kind(self) -> QuestionKind {
        match self {
            Self::Send => QuestionKind::GateSend,
            Self::Apply => QuestionKind::GateApply,
            Self::Result => QuestionKind::GateResult,
        }
    }

    /// What it asks, in words.
    pub fn says(self) -> &'static str {
        match self {
            Self::Send => "The request is ready. Change its messages, or send it as it is.",
            Self::Apply => "The reply is here. Change it, or apply it as it is.",
            Self::Result => "The tool has answered. Change its result, or pass it on as it is.",
        }
    }

    /// What is stopped there, in a word.
    pub fn subject(self) -> &'static str {
        match self {
            Self::Send => "request",
            Self::Apply => "reply",
            Self::Result => "result",
        }
    }

    /// What lets it continue, in a word or two.
    pub fn verb(self) -> &'static str {
        match self {
            Self::Send => "send it",
            Self::Apply => "apply it",
            Self::Result => "pass it on",
        }
    }

    /// When runs stop there, in words.
    pub fn moment(self) -> &'static str {
        match self {
            Self::Send => "before a request is sent",
            Self::Apply => "before a reply is applied",
            Self::Result => "before a tool's result goes on",
        }
    }
}

/// A point at which a run may stop for the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checkpoint<'a> {
    /// A gate.
    Gate(Gate),
    /// What the run has come to: it stops if a breakpoint is set for one of these.
    Breakpoints(&'a [Breakpoint]),
}

/// Answers questions. `None` means that no answer is available: the run waits.
pub trait Human: Send + Sync {
    /// Shows the question and returns the answer; returns `None` soon after a cancel.
    fn ask<'a>(&'a self, question: &'a Question, cancel: &'a CancellationToken) -> BoxFuture<'a, Option<String>>;

    /// Was the answer to the question at this address given beforehand? Then no policy decides it.
    fn has_answer(&self, question: &Address) -> bool {
        _ = question;
        false
    }

    /// Does the run stop here?
    fn stops_at(&self, checkpoint: Checkpoint<'_>) -> bool {
        _ = checkpoint;
        false
    }
}

/// No user is there: every question waits.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Human for Nobody {
    fn ask<'a>(&'a self, _: &'a Question, _: &'a CancellationToken) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }
}
