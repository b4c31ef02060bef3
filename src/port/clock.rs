//! The clock: read once per turn.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::event::Address;

/// Reads the time.
pub trait Clock: Send + Sync {
    /// Returns the Unix time in ms for the turn (or run) at this address.
    fn now_ms(&self, at: &Address) -> i64;
}

/// The system clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl SystemClock {
    /// Returns the Unix time in ms.
    pub fn now(self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }
}

impl Clock for SystemClock {
    fn now_ms(&self, _: &Address) -> i64 {
        self.now()
    }
}
