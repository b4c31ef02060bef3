//! A model and another one that is asked when the first cannot answer.
//!
//! In: a request. Out: the first model's reply, or, after a failure that has nothing to do with the request, the second one's; its
//! attempts are counted on. It must never ask the second after a cancel, a refusal or a request that is wrong.

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::mpsc;

use super::{Call, Model, ModelError, ModelEvent, Reply, Request};
use crate::event::{ModelRecord, ReplyEnd, ReplyStatus};

/// Events of the second model that may wait.
const QUEUE: usize = 64;

/// Two models, in the order in which they are asked.
pub struct WithFallback {
    first: Arc<dyn Model>,
    second: Arc<dyn Model>,
}

impl WithFallback {
    /// The first model, and the one for when it cannot answer.
    pub fn new(first: Arc<dyn Model>, second: Arc<dyn Model>) -> Self {
        Self { first, second }
    }
}

impl Model for WithFallback {
    /// The first one; replies of the other name it.
    fn info(&self) -> ModelRecord {
        self.first.info()
    }

    fn answer<'a>(&'a self, request: &'a Request, call: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let error = match self.first.answer(request, call).await {
                Err(error) if error.class.is_retryable() && !call.cancel.is_cancelled() => error,
                done => return done,
            };
            let (attempts, requests) = (error.attempt, error.requests);
            let end = ReplyEnd {
                usage: error.usage.as_deref().copied(),
                requests,
                error: Some(error.record()),
                ..ReplyEnd::new(attempts, ReplyStatus::Discarded)
            };
            call.emit(ModelEvent::Discarded(Box::new(end))).await;
            let second = self.second.info();
            let notice = format!("{}; asking the fallback model {}", error.message, second.alias);
            call.emit(ModelEvent::Notice(notice)).await;
            let by = Some(Box::new(second));
            let answer = self.answer_of_second(request, call, attempts).await;
            answer
                .map(|reply| Reply {
                    attempt: reply.attempt.saturating_add(attempts),
                    requests: reply.requests.saturating_add(requests),
                    by: by.clone(),
                    ..reply
                })
                .map_err(|error| ModelError {
                    attempt: error.attempt.saturating_add(attempts),
                    requests: error.requests.saturating_add(requests),
                    by,
                    ..error
                })
        })
    }
}

impl WithFallback {
    async fn answer_of_second(&self, request: &Request, call: &Call, attempts: u32) -> Result<Reply, ModelError> {
        let (events, mut heard) = mpsc::channel(QUEUE);
        let answer = async {
            let inner = Call { events, cancel: call.cancel.clone() };
            self.second.answer(request, &inner).await
        };
        let pass_on = async {
            while let Some(event) = heard.recv().await {
                tokio::select! {
                    biased;
                    () = call.emit(counted_on(event, attempts)) => {}
                    () = call.cancel.cancelled() => break,
                }
            }
        };
        futures::join!(answer, pass_on).0
    }
}

/// The event with its attempt counted on.
fn counted_on(event: ModelEvent, attempts: u32) -> ModelEvent {
    match event {
        ModelEvent::Sent(mut sent) => {
            sent.attempt += attempts;
            ModelEvent::Sent(sent)
        }
        ModelEvent::Delta { attempt, kind, text } => ModelEvent::Delta { attempt: attempt + attempts, kind, text },
        ModelEvent::Wire(mut wire) => {
            wire.attempt += attempts;
            ModelEvent::Wire(wire)
        }
        ModelEvent::Discarded(mut end) => {
            end.attempt += attempts;
            ModelEvent::Discarded(end)
        }
        ModelEvent::RetryWait(mut wait) => {
            wait.attempt += attempts;
            ModelEvent::RetryWait(wait)
        }
        ModelEvent::Notice(text) => ModelEvent::Notice(text),
    }
}
