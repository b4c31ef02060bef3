//! The stop signal: ends a run from outside, once, with a reason.

use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

use crate::event::{Interrupt, InterruptReason, InterruptSource};

/// A handle that stops a run. Clones stop the same run; the first reason is used.
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
