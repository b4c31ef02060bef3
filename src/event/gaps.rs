//! Gaps: time that counts for nobody, between what a session holds of an earlier run and the first event of who went on from there,
//! and while a person is asked.
//!
//! In: the events of a session in order. Out: how long of the time before each counts for nobody. Folds that measure durations move
//! their starts by it, so that a fork of a recording from last week takes as long as it ran, then and now, and a run does not get
//! longer by waiting at a gate.

use super::{Envelope, elapsed_ms};

/// Finds gaps: before a `resume`, behind an `edit` or a `run.wait`, which are the last lines that whoever left writes, and from a
/// `question` to its `answer`. What branches do beside an open question takes no time either: as for the budgets, waiting stops all
/// clocks.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gaps {
    last_ms: Option<i64>,
    left: bool,
    /// Questions without an answer.
    open: u32,
}

impl Gaps {
    /// Takes the next event: for how long nobody ran before it, in ms.
    pub fn before(&mut self, envelope: &Envelope) -> i64 {
        self.before_kind(envelope.event.kind(), envelope.at_ms)
    }

    /// The same for a line whose data is unread: its kind, and its time in Unix ms.
    pub fn before_kind(&mut self, kind: &str, at_ms: i64) -> i64 {
        let begins = self.is_waiting() || kind == "resume";
        let gap = self.last_ms.filter(|_| begins).map_or(0, |last| elapsed_ms(last, at_ms));
        self.left = matches!(kind, "edit" | "run.wait");
        self.open = match kind {
            "question" => self.open.saturating_add(1),
            "answer" => self.open.saturating_sub(1),
            // Nobody answers a run that was stopped.
            "interrupt" => 0,
            _ => self.open,
        };
        self.last_ms = Some(at_ms);
        i64::try_from(gap).unwrap_or(i64::MAX)
    }

    /// Does the time from now on count for nobody?
    pub fn is_waiting(&self) -> bool {
        self.left || self.open > 0
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
            [0, 2, 69_988, 1]
        );
        assert_eq!(gaps(&[("reply.part", 10), ("resume", 500), ("reply.part", 501)]), [0, 490, 0]);
    }

    #[test]
    fn waiting_for_a_person_is_a_gap_until_the_last_open_question_has_its_answer() {
        assert_eq!(
            gaps(&[("turn.start", 0), ("question", 5), ("answer", 4_005), ("request", 4_006)]),
            [0, 0, 4_000, 0]
        );
        let beside =
            [("question", 0), ("question", 1), ("tool.end", 50), ("answer", 90), ("answer", 100), ("extract", 101)];
        assert_eq!(gaps(&beside), [0, 1, 49, 40, 10, 0]);
        assert_eq!(gaps(&[("question", 0), ("interrupt", 70), ("turn.end", 90), ("run.start", 95)]), [0, 70, 0, 0]);
    }
}
