//! The time of a run: of its current turn, without what it waited for answers, and when its mission time is over.
//!
//! In: the time that each turn read. Out: what is left. It reads the machine's monotonic clock only to wake the driver in time.

use std::time::Duration;

use tokio::time::Instant;

use crate::event::elapsed_ms;

/// The time of a run.
#[derive(Debug)]
pub(super) struct TurnClock {
    /// The time of this turn, Unix ms.
    pub(super) now_ms: i64,
    /// The time waited before this turn, in ms.
    pub(super) waited_ms: u64,
    /// The time of the first turn, without waits before it.
    first_ms: Option<i64>,
    /// The deadline of the parent agents, Unix ms.
    deadline_ms: Option<i64>,
    /// The start of this turn, and the time that this process had waited by then.
    began: (Instant, Duration),
}

impl TurnClock {
    pub(super) fn new(deadline_ms: Option<i64>) -> Self {
        let began = (Instant::now(), Duration::ZERO);
        Self { now_ms: 0, waited_ms: 0, first_ms: None, deadline_ms, began }
    }

    /// Starts a turn. `waited`: total waiting time of this process.
    pub(super) fn begin_turn(&mut self, now_ms: i64, waited_ms: u64, waited: Duration) {
        (self.now_ms, self.waited_ms) = (now_ms, waited_ms);
        self.began = (Instant::now(), waited);
        let now = self.now_without_waits();
        self.first_ms.get_or_insert(now);
    }

    fn now_without_waits(&self) -> i64 {
        self.now_ms.saturating_sub(i64::try_from(self.waited_ms).unwrap_or(i64::MAX))
    }

    /// Returns the deadline if nothing waits: the earlier of the parents' deadline and the run's own. Unix ms.
    pub(super) fn deadline_ms(&self, mission_ms: Option<u64>) -> Option<i64> {
        let first = self.first_ms.unwrap_or(self.now_ms);
        let own = mission_ms.map(|ms| first.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)));
        [own, self.deadline_ms].into_iter().flatten().min()
    }

    /// Mission time left at the start of this turn.
    pub(super) fn remaining_ms(&self, mission_ms: Option<u64>) -> Option<u64> {
        self.deadline_ms(mission_ms).map(|deadline| elapsed_ms(self.now_without_waits(), deadline))
    }

    /// Returns the end of the mission time if nothing waits from now on. `waited`: the time that this process has waited so far.
    pub(super) fn due(&self, mission_ms: Option<u64>, waited: Duration) -> Option<Instant> {
        let (began, before) = self.began;
        let left = Duration::from_millis(self.remaining_ms(mission_ms)?);
        began.checked_add(left + waited.saturating_sub(before))
    }
}

/// Whole milliseconds.
pub(super) fn whole_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_put_the_deadline_off() {
        let mut clock = TurnClock::new(None);
        clock.begin_turn(1_000, 0, Duration::ZERO);
        assert_eq!(clock.remaining_ms(Some(500)), Some(500));
        clock.begin_turn(1_600, 400, Duration::from_millis(400));
        assert_eq!(clock.remaining_ms(Some(500)), Some(300), "200 ms passed, 400 were waited");
        assert_eq!(clock.remaining_ms(None), None);
        let mut child = TurnClock::new(Some(1_100));
        child.begin_turn(1_000, 0, Duration::ZERO);
        assert_eq!(child.deadline_ms(Some(500)), Some(1_100), "the earlier one counts");
    }
}
