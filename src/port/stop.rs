//! The stop: ends a run from outside, once, with a reason.

use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

use crate::event::{Interrupt, InterruptReason, InterruptSource};

/// A handle that stops a run. Clones stop the same run; the first reason counts.
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

    /// The stop of a child agent: it stops with this one, and alone.
    #[must_use]
    pub fn below(&self) -> Self {
        Self { token: self.token.child_token(), reason: Arc::default(), above: Some(Arc::new(self.clone())) }
    }

    /// Stops the run on behalf of the user.
    pub fn by_person(&self) {
        self.now(Interrupt { reason: InterruptReason::Cancelled, by: InterruptSource::User });
    }

    /// Why the run was stopped, if it was.
    pub fn reason(&self) -> Option<&Interrupt> {
        self.reason.get().or_else(|| self.above.as_ref()?.reason())
    }

    /// The token that ports watch.
    pub fn token(&self) -> &CancellationToken {
        &self.token
    }
}
