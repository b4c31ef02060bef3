//! How long a program has computed: waiting does not count (language contract §24, program clock).
//!
//! In: marks from any of its threads. Out: the time that lies between marks and was spent computing.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Counts the time before each mark of a thread that computed, and skips the time before the end of each wait. While
/// some branches wait and others compute, the marks of the latter count.
pub(super) struct Stopwatch {
    started: Instant,
    /// Nanoseconds from the start to the last mark.
    last: AtomicU64,
    /// Nanoseconds computed.
    spent: AtomicU64,
}

impl Stopwatch {
    pub(super) fn start() -> Self {
        Self { started: Instant::now(), last: AtomicU64::new(0), spent: AtomicU64::new(0) }
    }

    /// The calling thread has computed until now; answers the time computed in all.
    pub(super) fn computed(&self) -> Duration {
        let passed = self.mark();
        Duration::from_nanos(self.spent.fetch_add(passed, Ordering::Relaxed).saturating_add(passed))
    }

    /// The calling thread has waited until now.
    pub(super) fn waited(&self) {
        self.mark();
    }

    /// Nanoseconds since the last mark of any thread.
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
