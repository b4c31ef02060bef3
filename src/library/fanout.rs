//! A sink that passes events to a record and to listeners.

use std::sync::Arc;

use futures::future::BoxFuture;

use crate::event::{Address, Envelope, Event};
use crate::port::{Sink, SinkError};

/// Callback for every event.
pub(super) type Listener = Arc<dyn Fn(&Envelope) + Send + Sync>;

/// Stores events in its sink and passes them to the listeners.
#[derive(Clone)]
pub(super) struct EventFanout {
    pub(super) sink: Arc<dyn Sink>,
    pub(super) listeners: Vec<Listener>,
}

impl Sink for EventFanout {
    fn emit(&self, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>> {
        Box::pin(async move {
            let envelope = self.sink.emit(address, event).await?;
            self.listeners.iter().for_each(|listener| listener(&envelope));
            Ok(envelope)
        })
    }
}
