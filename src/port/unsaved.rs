//! A sink for runs without a session: numbers and timestamps events without storing them.

use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::BoxFuture;

use super::{Clock, Sink, SinkError, SystemClock};
use crate::event::{Address, Envelope, Event};

/// Numbers events without storing them.
#[derive(Debug, Default)]
pub struct Unsaved {
    last: AtomicU64,
}

impl Sink for Unsaved {
    fn emit(&self, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>> {
        Box::pin(async move {
            let seq = self.last.fetch_add(1, Ordering::Relaxed) + 1;
            Ok(Envelope { seq, at_ms: SystemClock.now_ms(&address), address, event })
        })
    }
}
