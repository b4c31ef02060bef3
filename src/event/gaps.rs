//! Gaps: time in which no process worked on the run. The run waited for the user, or an earlier run in the session was left and later
//! continued from there.
//!
//! In: the events of a session in order. Out: for how long the session was not running before each, in ms. Folds that measure
//! durations move their starts by it, so that a fork of a recording from last week takes as long as it ran, then and now, and a run
//! takes as long however long the user thinks.
//! The time in which the user writes the reply of the model `human` is that model's latency and no gap.

use super::{Address, Envelope, Event, elapsed_ms};

/// Finds gaps: from a question to its answer, before a `resume`, and after an `edit` or a `run.wait`, which are the last lines of a run
/// that was left.
#[derive(Debug, Clone, Default)]
pub struct Gaps {
    last_ms: Option<i64>,
    left: bool,
    /// Questions that have no answer yet: while there is one, the whole tree of agents waits.
    open: Vec<Address>,
    sum_ms: i64,
}

impl Gaps {
    /// Takes the next event; returns for how long the session was not running before it, in ms.
    pub fn before(&mut self, envelope: &Envelope) -> i64 {
        let ended = self.left || !self.open.is_empty() || matches!(envelope.event, Event::Resume(_));
        let gap_ms = self.next(envelope.at_ms, ended);
        self.left = matches!(envelope.event, Event::Edit(_) | Event::RunWait(_));
        match &envelope.event {
            Event::QuestionAsked(_) => self.open.push(envelope.address.clone()),
            Event::AnswerGiven(_) => self.open.retain(|asked| *asked != envelope.address),
            // Edits, stops and ends close the wait.
            Event::Edit(_) | Event::Interrupt(_) => self.open.clear(),
            Event::TurnEnd(_) | Event::RunEnd(_) => self.open.retain(|asked| !asked.is_within(&envelope.address)),
            _ => {}
        }
        gap_ms
    }

    /// Like `before`, for a line of which only the time is known, in Unix ms: of a kind that neither begins nor ends a gap.
    pub fn before_line(&mut self, at_ms: i64) -> i64 {
        let ended = std::mem::take(&mut self.left) || !self.open.is_empty();
        self.next(at_ms, ended)
    }

    fn next(&mut self, at_ms: i64, ended: bool) -> i64 {
        let gap_ms = self.last_ms.filter(|_| ended).map_or(0, |last| elapsed_ms(last, at_ms));
        self.last_ms = Some(at_ms);
        let gap_ms = i64::try_from(gap_ms).unwrap_or(i64::MAX);
        self.sum_ms = self.sum_ms.saturating_add(gap_ms);
        gap_ms
    }

    /// All gaps so far, in ms.
    pub fn sum_ms(&self) -> i64 {
        self.sum_ms
    }

    /// Returns whether a question to the user is unanswered.
    pub fn is_open(&self) -> bool {
        !self.open.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{AnswerGiven, Edit, Interrupt, Notice, QuestionAsked, Resume, RunWait, TurnEnd, TurnStart};

    fn gaps<const N: usize>(events: [(&str, Event, i64); N]) -> [i64; N] {
        let mut gaps = Gaps::default();
        let found = events
            .map(|(at, event, at_ms)| gaps.before(&Envelope { seq: 1, at_ms, address: Address::from(at), event }));
        assert_eq!(gaps.sum_ms(), found.iter().sum::<i64>());
        found
    }

    fn notice_event() -> Event {
        Notice::default().into()
    }

    #[test]
    fn only_the_time_between_leaving_and_continuing_is_a_gap() {
        let turn = (TurnStart::default().into(), TurnEnd::default().into());
        assert_eq!(gaps([("r0", notice_event(), 0), ("r0/t1", turn.0, 50), ("r0/t1", turn.1, 900)]), [0, 0, 0]);
        let edit = || Edit::default().into();
        assert_eq!(
            gaps([
                ("r0", notice_event(), 0),
                ("r0/t1", edit(), 5),
                ("r0/t1", edit(), 5),
                ("r0/t1", notice_event(), 9_000),
                ("r0/t1", notice_event(), 9_100),
            ]),
            [0, 0, 0, 8_995, 0]
        );
        let resume = Resume::default().into();
        assert_eq!(gaps([("r0", notice_event(), 10), ("r0", resume, 500), ("r0", notice_event(), 501)]), [0, 490, 0]);
    }

    #[test]
    fn a_user_who_thinks_makes_a_gap_also_after_leaving_and_coming_back() {
        let (asked, answer) = (QuestionAsked::default(), AnswerGiven::default());
        assert_eq!(
            gaps([
                ("r0/t1/q0", asked.clone().into(), 10),
                ("r0", RunWait::default().into(), 12),
                ("r0", Resume::default().into(), 70_000),
                ("r0/t1/q0", answer.clone().into(), 74_000),
                ("r0/t1", notice_event(), 74_100),
            ]),
            [0, 2, 69_988, 4_000, 0]
        );
        // Two branches ask: the time in which at least one is open counts once.
        assert_eq!(
            gaps([
                ("r0/t1/c0/q0", asked.clone().into(), 0),
                ("r0/t1/c1/q0", asked.clone().into(), 10),
                ("r0/t1/c0/q0", answer.clone().into(), 50),
                ("r0/t1/c0", notice_event(), 60),
                ("r0/t1/c1/q0", answer.into(), 100),
                ("r0/t1/c1", notice_event(), 107),
            ]),
            [0, 10, 40, 10, 40, 0]
        );
        // The user who stops a run has answered.
        assert_eq!(
            gaps([
                ("r0/t1/q0", asked.clone().into(), 0),
                ("r0/t1", Interrupt::default().into(), 30),
                ("r0/t1", notice_event(), 35),
            ]),
            [0, 30, 0]
        );
        // A question that a fork left unanswered is over with its turn.
        assert_eq!(
            gaps([
                ("r0/t1/c0/q0", asked.into(), 0),
                ("r0/t1", TurnEnd::default().into(), 30),
                ("r0", notice_event(), 35)
            ]),
            [0, 30, 0]
        );
    }

    #[test]
    fn a_line_that_is_not_read_ends_the_gap_before_it() {
        let mut gaps = Gaps::default();
        let at =
            |address: &str, event: Event, at_ms| Envelope { seq: 1, at_ms, address: Address::from(address), event };
        gaps.before(&at("r0", Edit::default().into(), 5));
        assert_eq!((gaps.before_line(20), gaps.before_line(30)), (15, 0));
        gaps.before(&at("r0/t1/q0", QuestionAsked::default().into(), 30));
        assert!(gaps.is_open());
        assert_eq!((gaps.before_line(33), gaps.before_line(34)), (3, 1), "another branch works meanwhile");
        gaps.before(&at("r0/t1/q0", AnswerGiven::default().into(), 40));
        assert!(!gaps.is_open());
        assert_eq!((gaps.before_line(41), gaps.sum_ms()), (0, 25));
    }
}
