//! Where the events of a run go: to its record, if there is one, and to everybody who listens.

use std::sync::Arc;

use futures::future::BoxFuture;

use crate::event::{Address, Envelope, Event};
use crate::port::{Sink, SinkError};

/// Somebody who is told every event.
pub(super) type Listener = Arc<dyn Fn(&Envelope) + Send + Sync>;

/// Numbers events by its sink and tells them. Clones tell the same.
#[derive(Clone)]
pub(super) struct Told {
    pub(super) sink: Arc<dyn Sink>,
    pub(super) listeners: Vec<Listener>,
}

impl Sink for Told {
    fn emit(&self, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>> {
        Box::pin(async move {
            let envelope = self.sink.emit(address, event).await?;
            self.listeners.iter().for_each(|listener| listener(&envelope));
            Ok(envelope)
        })
    }
}
