//! The feed: the events of a run as an interface takes them, in order and complete.

use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use tokio::sync::Notify;

use crate::event::{Address, Envelope, Event};
use crate::port::{Clock, Sink, SinkError, SystemClock};
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

    fn push(&self, envelope: Envelope) {
        self.0.events.lock().unwrap_or_else(PoisonError::into_inner).push(envelope);
        self.0.changed.notify_one();
    }
}

/// Numbers events, writes them to the session if there is one, and hands them to the feed.
pub(super) struct Tee {
    recorder: Option<Recorder>,
    unsaved: Mutex<u64>,
    feed: Feed,
}

impl Tee {
    pub(super) fn new(recorder: Option<Recorder>, feed: Feed) -> Self {
        Self { recorder, unsaved: Mutex::new(0), feed }
    }
}

impl Sink for Tee {
    fn emit(&self, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>> {
        Box::pin(async move {
            let envelope = if let Some(recorder) = &self.recorder {
                recorder.emit(address, event).await?
            } else {
                let mut last = self.unsaved.lock().unwrap_or_else(PoisonError::into_inner);
                *last += 1;
                Envelope { seq: *last, at_ms: SystemClock.now_ms(&address), address, event }
            };
            self.feed.push(envelope.clone());
            Ok(envelope)
        })
    }
}
