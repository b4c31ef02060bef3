//! A person who answers questions.

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::event::Address;

/// What a person is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Where in the run it arose.
    pub address: Address,
    /// The text to show: for the `human` model, everything that would be sent.
    pub text: String,
    /// Answers to choose from, when only these are answers.
    pub options: Vec<String>,
}

/// Somebody who can answer. `None` means that nobody is there: the run waits.
pub trait Human: Send + Sync {
    /// Shows the question and returns the answer; returns `None` soon after a cancel.
    fn ask<'a>(&'a self, question: &'a Question, cancel: &'a CancellationToken) -> BoxFuture<'a, Option<String>>;

    /// Was this asked before, in the recording that is replayed or goes on?
    fn was_asked(&self, question: &Address) -> bool {
        _ = question;
        false
    }
}

/// Nobody is there to be asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Human for Nobody {
    fn ask<'a>(&'a self, _: &'a Question, _: &'a CancellationToken) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }
}
