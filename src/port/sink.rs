//! The event sink. The engine waits until inputs are stored before it acts on them.

use futures::future::BoxFuture;

use crate::event::{Address, Envelope, Event};

/// Reason why an event was not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SinkError {
    /// It could not be stored, as described.
    Storage(String),
    /// Replay found a difference: the run ends here.
    Diverged,
}

/// Takes events in order.
pub trait Sink: Send + Sync {
    /// Numbers, stamps and takes an event. For inputs other than reply text it returns only after the event was written.
    fn emit(&self, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>>;
}
