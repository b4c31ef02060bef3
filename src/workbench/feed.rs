//! The feed: the events of a run as an interface takes them, in order and complete.

use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use tokio::sync::Notify;

use super::telemetry::SessionSpans;
use crate::event::{Address, Envelope, Event, Notice, NoticeLevel};
use crate::port::{Sink, SinkError, UnsavedSink};
use crate::session::{Recorder, RecorderStatus};

#[derive(Debug, Default)]
struct FeedState {
    events: Mutex<Vec<Envelope>>,
    changed: Notify,
    /// Spans that are posted to a collector; `None` without one.
    spans: Option<SessionSpans>,
}

/// Takes the events of a run as they happen. Clones read the same events: use one.
#[derive(Debug, Clone, Default)]
pub struct Feed(Arc<FeedState>);

impl Feed {
    /// A feed whose events are also spans.
    pub(super) fn with_spans(spans: SessionSpans) -> Self {
        Self(Arc::new(FeedState { spans: Some(spans), ..FeedState::default() }))
    }

    /// The events since the last call.
    pub fn drain(&self) -> Vec<Envelope> {
        std::mem::take(&mut self.0.events.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until there may be something to drain; it can resolve although there is nothing.
    pub async fn changed(&self) {
        self.0.changed.notified().await;
    }

    /// Adds an event.
    pub fn push(&self, envelope: Envelope) {
        if let Some(spans) = &self.0.spans {
            spans.apply(&envelope);
        }
        self.0.events.lock().unwrap_or_else(PoisonError::into_inner).push(envelope);
        self.0.changed.notify_one();
    }
}

/// Numbers events, writes them to the session if there is one, and hands them to the feed. When the session can no longer be
/// written, or can be written again, a notice is emitted.
pub(super) struct Tee {
    sink: Box<dyn Sink>,
    keeping: Option<RecorderStatus>,
    feed: Feed,
}

impl Tee {
    pub(super) fn new(recorder: Option<Recorder>, feed: Feed) -> Self {
        let keeping = recorder.as_ref().map(Recorder::status);
        let sink: Box<dyn Sink> = match recorder {
            Some(recorder) => Box::new(recorder),
            None => Box::new(UnsavedSink::default()),
        };
        Self { sink, keeping, feed }
    }

    async fn report_trouble(&self, at: Address) -> Result<(), SinkError> {
        let Some(text) = self.keeping.as_ref().and_then(RecorderStatus::take_notice) else { return Ok(()) };
        let notice = Notice { level: NoticeLevel::Warning, text };
        let envelope = self.sink.emit(at, notice.into()).await?;
        self.feed.push(envelope);
        Ok(())
    }
}

impl Sink for Tee {
    fn emit(&self, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>> {
        Box::pin(async move {
            let (run, ends) = (address.root(), matches!(event, Event::RunEnd(_)));
            let envelope = self.sink.emit(address, event).await?;
            self.feed.push(envelope.clone());
            // Nothing is emitted after the end of a run: the code that started it looks at unwritten events.
            if !ends {
                self.report_trouble(run).await?;
            }
            Ok(envelope)
        })
    }
}
