//! Schedule of the checks of typed texts: immediate while checks are quick, after a pause in typing when they take long. Pure; it reads no
//! clock.
//!
//! In: texts as they are typed, when a check begins and ends. Out: when the next check is due. One check runs at a time, and only the
//! newest texts are checked: a large text is typed into faster than it is checked, and a check for each key would keep a processor busy.

use std::time::Duration;

use tokio::time::Instant;

/// Longest duration of a check after which the next one is not delayed.
const QUICK: Duration = Duration::from_millis(10);
/// Length of the pause in typing before a check, as a multiple of the duration of the last check.
const REST: u32 = 4;
/// Limit of the pause.
const LONGEST_REST: Duration = Duration::from_secs(1);
/// Longest wait for a check while typing continues, as a multiple of the duration of the last check: checks take a twentieth of the time.
const PATIENCE: u32 = 20;

/// The check under way and the texts that wait for the next.
#[derive(Debug, Clone)]
pub struct Checks<T> {
    waiting: Option<PendingCheck<T>>,
    /// Start of the running check.
    began: Option<Instant>,
    /// Duration of the last check.
    took: Duration,
}

#[derive(Debug, Clone)]
struct PendingCheck<T> {
    texts: T,
    /// Time at which the oldest unchecked texts were typed.
    first: Instant,
    /// Time at which these texts were typed.
    last: Instant,
}

impl<T> Default for Checks<T> {
    fn default() -> Self {
        Self { waiting: None, began: None, took: Duration::ZERO }
    }
}

impl<T> Checks<T> {
    /// Texts were typed; they replace the waiting ones.
    pub fn ask(&mut self, texts: T, now: Instant) {
        let first = self.waiting.as_ref().map_or(now, |waiting| waiting.first);
        self.waiting = Some(PendingCheck { texts, first, last: now });
    }

    /// Returns the time at which the next check begins; `None` while a check runs or no texts wait.
    pub fn due(&self) -> Option<Instant> {
        let waiting = self.waiting.as_ref().filter(|_| self.began.is_none())?;
        if self.took <= QUICK {
            return Some(waiting.first);
        }
        let rested = waiting.last + (self.took * REST).min(LONGEST_REST);
        Some(rested.min(waiting.first + self.took * PATIENCE))
    }

    /// The texts of a check that begins now, when one is due.
    pub fn begin(&mut self, now: Instant) -> Option<T> {
        self.due().filter(|due| *due <= now)?;
        self.began = Some(now);
        self.waiting.take().map(|waiting| waiting.texts)
    }

    /// The check under way has ended.
    pub fn ended(&mut self, now: Instant) {
        self.took = self.began.take().map_or(Duration::ZERO, |began| now.saturating_duration_since(began));
    }

    /// Returns whether texts are waiting for a check.
    pub fn waits(&self) -> bool {
        self.waiting.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// A key every so often for ten seconds, with checks that take so long: how many there were, and how old the texts were when the last
    /// began.
    fn typed(every: Duration, takes: Duration) -> (usize, Duration) {
        let start = Instant::now();
        let (mut checks, mut begun, mut key) = (Checks::default(), Vec::new(), start);
        let mut ends = None;
        let mut now = start;
        while now < start + ms(13_000) {
            if key <= now && key < start + ms(10_000) {
                checks.ask(key, now);
                key += every;
            }
            if ends.is_some_and(|at| at <= now) {
                checks.ended(now);
                ends = None;
            }
            if let Some(texts) = checks.begin(now) {
                begun.push(texts);
                ends = Some(now + takes);
            }
            now += ms(1);
        }
        assert!(!checks.waits(), "the last texts are checked");
        (begun.len(), key - every - *begun.last().unwrap())
    }

    #[test]
    fn quick_checks_begin_at_once() {
        let now = Instant::now();
        let mut checks = Checks::default();
        checks.ask("a", now);
        assert_eq!(checks.begin(now), Some("a"));
        checks.ask("ab", now + ms(1));
        checks.ask("abc", now + ms(2));
        assert_eq!((checks.due(), checks.begin(now + ms(3))), (None, None), "one at a time");
        checks.ended(now + ms(4));
        assert_eq!(checks.begin(now + ms(4)), Some("abc"), "only the newest count");
        assert_eq!(typed(ms(40), ms(5)), (250, ms(0)), "a check for each key");
    }

    #[test]
    fn long_checks_wait_for_a_rest_but_not_for_ever() {
        let now = Instant::now();
        let mut checks = Checks::default();
        checks.ask(1, now);
        checks.begin(now);
        checks.ended(now + ms(40));
        checks.ask(2, now + ms(100));
        assert_eq!(checks.due(), Some(now + ms(260)));
        checks.ask(3, now + ms(200));
        assert_eq!(checks.due(), Some(now + ms(360)), "the typing continues");
        for at in (300..=1_000).step_by(100) {
            checks.ask(at, now + ms(at));
        }
        assert_eq!(checks.due(), Some(now + ms(900)), "twenty times as long as a check takes");
        checks.begin(now + ms(1_000));
        checks.ended(now + ms(3_000));
        checks.ask(4, now + ms(3_000));
        assert_eq!(checks.due(), Some(now + ms(4_000)), "a second of rest is enough");
    }

    #[test]
    fn a_large_text_that_is_typed_into_keeps_no_processor_busy() {
        for takes in [12, 40, 400] {
            let (checks, behind) = typed(ms(40), ms(takes));
            let steady = u64::try_from(checks).unwrap().saturating_sub(2);
            assert!(steady * takes <= 10_000 / 15, "{checks} checks of {takes} ms, the first and the last among them");
            assert_eq!(behind, ms(0));
        }
    }
}
