//! The gate of a provider: how many requests run at once, and a pause after the provider asked for one.
//!
//! In: callers that want to send. Out: leave to send, and how long it took to get it.
//! Time here is the provider's queue, not the model's latency; it must never be held while a caller waits for a retry.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until};

use super::tape::millis;

/// The gate all models of a provider share.
#[derive(Debug)]
pub struct Gate {
    permits: Arc<Semaphore>,
    resume: Mutex<Option<Instant>>,
}

/// Leave to send; gives its place back when dropped.
#[derive(Debug)]
pub struct Leave {
    _permit: Option<OwnedSemaphorePermit>,
    /// Time spent waiting, in ms.
    pub queued_ms: u64,
}

impl Gate {
    /// A gate for this many requests at once (at least one).
    pub fn new(limit: u32) -> Arc<Self> {
        let places = usize::try_from(limit.max(1)).unwrap_or(Semaphore::MAX_PERMITS).min(Semaphore::MAX_PERMITS);
        Arc::new(Self { permits: Arc::new(Semaphore::new(places)), resume: Mutex::new(None) })
    }

    /// Waits for a place and for the end of a pause.
    pub async fn enter(&self) -> Leave {
        let asked = Instant::now();
        // The semaphore is never closed, so there is always a permit in the end.
        let permit = Arc::clone(&self.permits).acquire_owned().await.ok();
        while let Some(resume) = self.paused() {
            sleep_until(resume).await;
        }
        Leave { _permit: permit, queued_ms: millis(asked.elapsed()) }
    }

    /// No request enters before this time. An earlier time than the one in force changes nothing.
    pub fn pause_until(&self, time: Instant) {
        let mut resume = self.resume.lock().unwrap_or_else(PoisonError::into_inner);
        *resume = Some(resume.map_or(time, |current| current.max(time)));
    }

    fn paused(&self) -> Option<Instant> {
        let resume = *self.resume.lock().unwrap_or_else(PoisonError::into_inner);
        resume.filter(|resume| *resume > Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_second_request_waits_until_the_first_is_done() {
        let gate = Gate::new(1);
        let first = gate.enter().await;
        assert_eq!(first.queued_ms, 0);
        let waiting = tokio::spawn({
            let gate = Arc::clone(&gate);
            async move { gate.enter().await.queued_ms }
        });
        tokio::time::sleep(Duration::from_millis(30)).await;
        drop(first);
        assert_eq!(waiting.await.unwrap(), 30);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_holds_everyone_and_the_later_end_counts() {
        let gate = Gate::new(4);
        let now = Instant::now();
        gate.pause_until(now + Duration::from_millis(500));
        gate.pause_until(now + Duration::from_millis(100));
        let (first, second) = futures::join!(gate.enter(), gate.enter());
        assert_eq!((first.queued_ms, second.queued_ms), (500, 500));
        assert_eq!(gate.enter().await.queued_ms, 0);
    }
}
