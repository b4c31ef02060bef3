//! Models without a service: closures and scripts, for libraries and tests, and the model of a pinned program.

use std::sync::Mutex;

use futures::future::BoxFuture;

use super::gate::Gate;
use super::outlet::{Failure, Outlet};
use super::retry::{Attempts, Round};
use super::scrub::Scrub;
use super::tape::Tape;
use super::{Call, Finish, Model, ModelError, Reply, Request, RetryPolicy};
use crate::event::ModelRecord;

type Answer = dyn Fn(&Request) -> Result<Reply, ModelError> + Send + Sync;

/// A model that is a function. The function may return a plain string, a [`Reply`] or an error.
pub struct ClosureModel {
    answer: Box<Answer>,
}

impl ClosureModel {
    /// A model that answers with `answer`.
    pub fn new<R, F>(answer: F) -> Self
    where
        R: IntoReply,
        F: Fn(&Request) -> R + Send + Sync + 'static,
    {
        Self { answer: Box::new(move |request| answer(request).into_reply()) }
    }
}

/// A value that a closure may return.
pub trait IntoReply {
    /// The reply it means.
    fn into_reply(self) -> Result<Reply, ModelError>;
}

impl<T: Into<Reply>> IntoReply for T {
    fn into_reply(self) -> Result<Reply, ModelError> {
        Ok(self.into())
    }
}

impl<T: Into<Reply>> IntoReply for Result<T, ModelError> {
    fn into_reply(self) -> Result<Reply, ModelError> {
        self.map(Into::into)
    }
}

impl Model for ClosureModel {
    fn info(&self) -> ModelRecord {
        ModelRecord { alias: "closure".into(), provider: "closure".into(), id: "closure".into(), price: None }
    }

    fn answer<'a>(&'a self, request: &'a Request, call: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            if call.cancel.is_cancelled() {
                return Err(ModelError::cancelled());
            }
            let reply = match request.retry.max_attempts {
                None => Reply { attempt: 1, ..(self.answer)(request)? },
                Some(_) => self.attempted(request, call).await?,
            };
            call.text(reply.attempt, reply.text.clone()).await;
            call.calls(reply.attempt, &reply.calls).await;
            Ok(reply)
        })
    }
}

impl ClosureModel {
    /// As often as the agent sets.
    async fn attempted(&self, request: &Request, call: &Call) -> Result<Reply, ModelError> {
        let (scrub, gate) = (Scrub::new([]), Gate::new(1));
        let policy = RetryPolicy::default();
        Round { request, call, scrub: &scrub, gate: &gate, policy }.run(&ClosureAttempts { model: self, request }).await
    }
}

/// A closure that is asked once more.
struct ClosureAttempts<'a> {
    model: &'a ClosureModel,
    request: &'a Request,
}

impl Attempts for ClosureAttempts<'_> {
    async fn attempt(&self, _: &Outlet<'_>, _: &mut Tape) -> Result<Reply, Failure> {
        (self.model.answer)(self.request).map_err(Failure::from)
    }

    fn concede(&self, _: &Failure, _: bool) -> Option<String> {
        None
    }
}

/// A model that gives these replies in turn; the last one repeats.
pub fn script<R: IntoReply>(replies: impl IntoIterator<Item = R>) -> ClosureModel {
    let mut replies: Vec<_> = replies.into_iter().map(IntoReply::into_reply).collect();
    replies.reverse();
    let replies = Mutex::new(replies);
    ClosureModel::new(move |_: &Request| {
        let mut left = replies.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let next = if left.len() > 1 { left.pop() } else { left.last().cloned() };
        next.unwrap_or_else(|| {
            Err(ModelError::new(super::ErrorClass::Miss, "the script of replies is empty")
                .hint("give it at least one reply"))
        })
    })
}

/// A program that answers instead of a model.
pub struct PinnedProgram {
    program: String,
}

impl PinnedProgram {
    /// The name of the model in sessions.
    pub const NAME: &str = "pinned";

    /// Answers with this program.
    pub fn new(program: impl Into<String>) -> Self {
        Self { program: program.into() }
    }
}

impl Model for PinnedProgram {
    fn info(&self) -> ModelRecord {
        let name = || Self::NAME.to_owned();
        ModelRecord { alias: name(), provider: name(), id: name(), price: None }
    }

    fn answer<'a>(&'a self, _: &'a Request, call: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let text = format!("```clojure\n{}\n```", self.program.trim_end());
            call.text(1, text.clone()).await;
            Ok(Reply { finish: Some(Finish::Stop), ..Reply::from(text) })
        })
    }
}
