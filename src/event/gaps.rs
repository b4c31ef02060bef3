//! Gaps: time in which nobody ran, between what a session holds of an earlier run and the first event of who went on from there.
//!
//! In: the events of a session in order. Out: how long nobody ran before each. Folds that measure durations move their starts by it, so
//! that a fork of a recording from last week takes as long as it ran, then and now.

use super::{Envelope, elapsed_ms};

/// Finds gaps: before a `resume`, and behind an `edit` or a `run.wait`, which are the last lines that whoever left writes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gaps {
    last_ms: Option<i64>,
    left: bool,
}

impl Gaps {
    /// Takes the next event: for how long nobody ran before it, in ms.
    pub fn before(&mut self, envelope: &Envelope) -> i64 {
        self.before_kind(envelope.event.kind(), envelope.at_ms)
    }

    /// The same for a line whose data is unread: its kind, and its time in Unix ms.
    pub fn before_kind(&mut self, kind: &str, at_ms: i64) -> i64 {
        let begins = self.left || kind == "resume";
        let gap = self.last_ms.filter(|_| begins).map_or(0, |last| elapsed_ms(last, at_ms));
        self.left = matches!(kind, "edit" | "run.wait");
        self.last_ms = Some(at_ms);
        i64::try_from(gap).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(events: &[(&str, i64)]) -> Vec<i64> {
        let mut gaps = Gaps::default();
        events.iter().map(|(kind, at_ms)| gaps.before_kind(kind, *at_ms)).collect()
    }

    #[test]
    fn only_the_time_between_leaving_and_going_on_is_a_gap() {
        assert_eq!(gaps(&[("run.start", 0), ("turn.start", 50), ("turn.end", 900)]), [0, 0, 0]);
        assert_eq!(
            gaps(&[("run.start", 0), ("edit", 5), ("edit", 5), ("request", 9_000), ("sent", 9_100)]),
            [0, 0, 0, 8_995, 0]
        );
        assert_eq!(
            gaps(&[("question", 10), ("run.wait", 12), ("resume", 70_000), ("answer", 70_001)]),
            [0, 0, 69_988, 0]
        );
        assert_eq!(gaps(&[("reply.part", 10), ("resume", 500), ("reply.part", 501)]), [0, 490, 0]);
    }
}
