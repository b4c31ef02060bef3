//! The clock: read once per turn.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

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

/// The clock of a run: reads the system clock once and counts on from there, so that a change of the system clock
/// during the run changes no duration.
#[derive(Debug, Clone, Copy)]
pub struct RunClock {
    start_ms: i64,
    started: Instant,
}

impl RunClock {
    /// Starts at the time of the system clock.
    pub fn start() -> Self {
        Self::start_at(SystemClock.now())
    }

    /// Starts at the time of the system clock, but not before this time (Unix ms): a resumed run does not go back.
    pub fn start_after(last_ms: i64) -> Self {
        Self::start_at(SystemClock.now().max(last_ms))
    }

    fn start_at(start_ms: i64) -> Self {
        Self { start_ms, started: Instant::now() }
    }
}

impl Clock for RunClock {
    fn now_ms(&self, _: &Address) -> i64 {
        let passed = i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.start_ms.saturating_add(passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_counts_from_its_start_whatever_the_system_clock_shows_later() {
        let day_ms = 86_400_000;
        // As if the system clock had been set back by 30 days after the start.
        let clock = RunClock::start_at(SystemClock.now() + 30 * day_ms);
        let times = [0; 3].map(|_| clock.now_ms(&Address::run(0)));
        assert!(times.is_sorted() && times[2] - times[0] < day_ms, "{times:?}");
        assert!(times[0] > SystemClock.now() + 29 * day_ms);
    }

    #[test]
    fn a_resumed_run_does_not_start_before_the_last_recorded_time() {
        let future = SystemClock.now() + 1_000_000;
        assert!(RunClock::start_after(future).now_ms(&Address::run(0)) >= future);
        assert!(RunClock::start_after(0).now_ms(&Address::run(0)) > 0);
    }
}
