//! The ports between the engine and the outside, apart from models: the clock, the event sink, the user, the stop of a run,
//! and the signals that end the program.
//!
//! In and out: plain data. No trait may depend on screens, files or sockets.

mod breakpoint;
mod clock;
mod human;
mod signals;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

pub use breakpoint::Breakpoint;
pub use clock::{Clock, RunClock, SystemClock};
pub use human::{Checkpoint, Gate, Human, NoUser, Question, named_option};
pub use signals::{EndSignal, EndSignals};

use crate::event::{Address, Envelope, Event, Interrupt, InterruptReason, InterruptSource};

/// Reason why an event was not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SinkError {
    /// It could not be stored, as described.
    Storage(String),
    /// Replay found a difference: the run ends here.
    Diverged,
}

/// Takes events in order. The engine waits until inputs are stored before it acts on them.
pub trait Sink: Send + Sync {
    /// Numbers, stamps and takes an event. For inputs other than reply text it returns only after the event was written.
    fn emit(&self, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>>;
}

/// Bytes of files that are given to runs, by their SHA-256.
pub trait Attachments: Send + Sync {
    /// Returns the bytes of a file; `None` if they are not there.
    fn bytes(&self, sha256: &str) -> Option<Arc<[u8]>>;

    /// Stores the bytes of a file before a request that contains it is made. Error: why that is not possible.
    fn store(&self, sha256: &str, bytes: &Arc<[u8]>) -> Result<(), String>;
}

/// No files: for runs that send nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoAttachments;

impl Attachments for NoAttachments {
    fn bytes(&self, _: &str) -> Option<Arc<[u8]>> {
        None
    }

    fn store(&self, _: &str, _: &Arc<[u8]>) -> Result<(), String> {
        Ok(())
    }
}

/// A sink for runs without a session: numbers and timestamps events without storing them.
#[derive(Debug, Default)]
pub struct UnsavedSink {
    last: AtomicU64,
}

impl Sink for UnsavedSink {
    fn emit(&self, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>> {
        Box::pin(async move {
            let seq = self.last.fetch_add(1, Ordering::Relaxed) + 1;
            Ok(Envelope { seq, at_ms: SystemClock.now_ms(&address), address, event })
        })
    }
}

/// The stop signal: ends a run from outside, once, with a reason. Clones stop the same run; the first reason is used.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    token: CancellationToken,
    reason: Arc<OnceLock<Interrupt>>,
    above: Option<Arc<Stop>>,
}

impl Stop {
    /// Stops the run.
    pub fn now(&self, interrupt: Interrupt) {
        if self.reason.set(interrupt).is_ok() {
            self.token.cancel();
        }
    }

    /// Creates the stop of a child agent, which also stops with this one.
    #[must_use]
    pub fn child(&self) -> Self {
        Self { token: self.token.child_token(), reason: Arc::default(), above: Some(Arc::new(self.clone())) }
    }

    /// Stops the run on behalf of the user.
    pub fn by_user(&self) {
        self.now(Interrupt { reason: InterruptReason::Cancelled, by: InterruptSource::User });
    }

    /// Returns why the run was stopped.
    pub fn reason(&self) -> Option<&Interrupt> {
        self.reason.get().or_else(|| self.above.as_ref()?.reason())
    }

    /// Returns the token that ports watch.
    pub fn token(&self) -> &CancellationToken {
        &self.token
    }
}
