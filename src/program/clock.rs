//! Measures the computing time of a program; waiting does not count.
//!
//! In: marks from its threads. Out: the time between marks that was spent computing.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Counts the time before each mark of a computing thread, and skips the time before the end of each wait. While some
/// branches wait and others compute, the marks of the latter count.
pub(super) struct Stopwatch {
    started: Instant,
    /// Nanoseconds from the start to the last mark.
    last: AtomicU64,
    /// Nanoseconds of computing.
    spent: AtomicU64,
}

impl Stopwatch {
    pub(super) fn start() -> Self {
        Self { started: Instant::now(), last: AtomicU64::new(0), spent: AtomicU64::new(0) }
    }

    /// Marks the end of a computing interval of the calling thread; returns the total computing time.
    pub(super) fn computed(&self) -> Duration {
        let passed = self.mark();
        Duration::from_nanos(self.spent.fetch_add(passed, Ordering::Relaxed).saturating_add(passed))
    }

    /// Marks the end of a wait of the calling thread.
    pub(super) fn waited(&self) {
        self.mark();
    }

    /// Returns the nanoseconds since the last mark of any thread.
    fn mark(&self) -> u64 {
        let now = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        now.saturating_sub(self.last.swap(now, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_does_not_count_and_computing_does() {
        let watch = Stopwatch::start();
        std::thread::sleep(Duration::from_millis(30));
        watch.waited();
        let before = watch.computed();
        assert!(before < Duration::from_millis(20), "{before:?}");
        std::thread::sleep(Duration::from_millis(30));
        assert!(watch.computed() >= before + Duration::from_millis(30));
    }
}
