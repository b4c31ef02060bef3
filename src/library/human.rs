//! A user implemented by a function.
//!
//! In: questions of a run. Out: the answers of the function. It must never block the run's task.

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::port::{Human, Question};

/// Answers questions with a function, which is called on a thread for blocking work.
pub(super) struct ClosureHuman<F>(Arc<F>);

impl<F: Fn(&Question) -> Option<String> + Send + Sync + 'static> ClosureHuman<F> {
    pub(super) fn new(handler: F) -> Self {
        Self(Arc::new(handler))
    }
}

impl<F: Fn(&Question) -> Option<String> + Send + Sync + 'static> Human for ClosureHuman<F> {
    fn ask<'a>(&'a self, question: &'a Question, cancel: &'a CancellationToken) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let (handler, question) = (Arc::clone(&self.0), question.clone());
            let answer = tokio::task::spawn_blocking(move || handler(&question));
            tokio::select! {
                answer = answer => match answer.map_err(tokio::task::JoinError::try_into_panic) {
                    Ok(answer) => answer,
                    // A failed assertion in a handler fails the test that runs the agent.
                    Err(Ok(panic)) => std::panic::resume_unwind(panic),
                    Err(Err(_)) => None,
                },
                () = cancel.cancelled() => None,
            }
        })
    }
}
