//! Where events go. The engine awaits the acknowledgement of inputs before it acts on them.

use futures::future::BoxFuture;

use crate::event::{Address, Envelope, Event};

/// Why an event was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SinkError {
    /// It could not be stored; the text says what and where.
    Storage(String),
    /// Replay found a difference: the run ends here.
    Diverged,
}

/// Takes events in order.
pub trait Sink: Send + Sync {
    /// Numbers, stamps and takes an event. For inputs other than reply text it returns only after the event was written.
    fn emit(&self, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>>;
}
