//! The feed: the events of a run as an interface takes them, in order and complete.

use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use tokio::sync::Notify;

use crate::event::{Address, Envelope, Event};
use crate::port::{Sink, SinkError, Unsaved};
use crate::session::Recorder;

#[derive(Debug, Default)]
struct Shared {
    events: Mutex<Vec<Envelope>>,
    changed: Notify,
}

/// Takes the events of a run as they happen. Clones read the same events: use one.
#[derive(Debug, Clone, Default)]
pub struct Feed(Arc<Shared>);

impl Feed {
    /// The events since the last call.
    pub fn drain(&self) -> Vec<Envelope> {
        std::mem::take(&mut self.0.events.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until there is something to drain, or a little longer than that.
    pub async fn changed(&self) {
        self.0.changed.notified().await;
    }

    pub(super) fn push(&self, envelope: Envelope) {
        self.0.events.lock().unwrap_or_else(PoisonError::into_inner).push(envelope);
        self.0.changed.notify_one();
    }
}

/// Numbers events, writes them to the session if there is one, and hands them to the feed.
pub(super) struct Tee {
    sink: Box<dyn Sink>,
    feed: Feed,
}

impl Tee {
    pub(super) fn new(recorder: Option<Recorder>, feed: Feed) -> Self {
        let sink: Box<dyn Sink> = match recorder {
            Some(recorder) => Box::new(recorder),
            None => Box::new(Unsaved::default()),
        };
        Self::over(sink, feed)
    }

    /// Hands what this sink takes to the feed.
    pub(super) fn over(sink: Box<dyn Sink>, feed: Feed) -> Self {
        Self { sink, feed }
    }
}

impl Sink for Tee {
    fn emit(&self, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>> {
        Box::pin(async move {
            let envelope = self.sink.emit(address, event).await?;
            self.feed.push(envelope.clone());
            Ok(envelope)
        })
    }
}
