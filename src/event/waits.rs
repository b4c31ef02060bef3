//! The stretches of time in which a run waited: for the user, or because no process worked on it (see [`super::Gaps`]).
//!
//! In: the events of a session or of a tree of agents, in about their order. Out: how much of a time a run waited. A question makes those
//! wait the asking run and its parents; runs next to them continue.

use super::{Address, Envelope, Event};

/// A wait: the address of the question, or `None` where the whole run waited; its start and end, Unix time in ms.
type Stretch = (Option<Address>, i64, Option<i64>);

/// Stretches of waiting.
#[derive(Debug, Clone, Default)]
pub struct Waits {
    stretches: Vec<Stretch>,
    /// Run, number and time of each stop. A stop may be applied before a question of a parallel branch that was recorded before it.
    stops: Vec<(Address, u64, i64)>,
    last_ms: i64,
    left: bool,
}

impl Waits {
    /// Takes the next event.
    pub fn apply(&mut self, envelope: &Envelope) {
        let (at, now) = (&envelope.address, envelope.at_ms);
        if self.left || matches!(envelope.event, Event::Resume(_)) {
            self.stretches.push((None, self.last_ms, Some(now)));
        }
        self.left = matches!(envelope.event, Event::Edit(_) | Event::RunWait(_));
        self.last_ms = self.last_ms.max(now);
        match &envelope.event {
            Event::QuestionAsked(_) => {
                let stopped = self.stops.iter().find(|(run, seq, _)| *seq > envelope.seq && at.is_within(run));
                let to = stopped.map(|(.., at_ms)| *at_ms);
                self.stretches.push((Some(at.clone()), now, to));
            }
            // Answers, edits, stops and ends close the wait.
            Event::AnswerGiven(_) | Event::TurnEnd(_) | Event::RunEnd(_) => self.close(at, now),
            Event::Edit(_) => self.close(&at.root(), now),
            Event::Interrupt(_) => {
                self.close(&envelope.run(), now);
                self.stops.push((envelope.run(), envelope.seq, now));
            }
            _ => {}
        }
    }

    fn close(&mut self, within: &Address, now: i64) {
        for (asked, _, to) in &mut self.stretches {
            if to.is_none() && asked.as_ref().is_some_and(|asked| asked.is_within(within)) {
                *to = Some(now);
            }
        }
    }

    /// Returns the time that this run waited between two times, in ms. Waits at the same time count once.
    pub fn within(&self, run: &Address, from_ms: i64, to_ms: i64) -> u64 {
        let own = self.stretches.iter().filter(|(asked, ..)| asked.as_ref().is_none_or(|asked| asked.is_within(run)));
        let mut own: Vec<(i64, i64)> = own
            .map(|(_, from, to)| ((*from).max(from_ms), to.unwrap_or(to_ms).min(to_ms)))
            .filter(|(from, to)| from < to)
            .collect();
        own.sort_unstable();
        let mut counted_to = from_ms;
        own.into_iter().fold(0, |sum, (from, to)| {
            let more = super::elapsed_ms(from.max(counted_to), to);
            counted_to = counted_to.max(to);
            sum + more
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{AnswerGiven, Interrupt, QuestionAsked, Resume, RunWait};

    fn waits(events: &[(&str, Event, i64)]) -> Waits {
        let mut waits = Waits::default();
        for (at, event, at_ms) in events {
            waits.apply(&Envelope { seq: 1, at_ms: *at_ms, address: Address::from(*at), event: event.clone() });
        }
        waits
    }

    #[test]
    fn a_question_makes_those_wait_who_asked_it_and_the_ones_above() {
        let (asked, answer): (Event, Event) = (QuestionAsked::default().into(), AnswerGiven::default().into());
        let waits = waits(&[
            ("r0/t1/c0/t1/q0", asked.clone(), 10),
            ("r0/t1/c1/q0", asked, 30),
            ("r0/t1/c0/t1/q0", answer.clone(), 50),
            ("r0/t1/c1/q0", answer, 90),
        ]);
        let of = |run: &str| waits.within(&Address::from(run), 0, 1_000);
        assert_eq!((of("r0"), of("r0/t1/c0"), of("r0/t1/c1"), of("r0/t1/c2")), (80, 40, 60, 0));
        assert_eq!(waits.within(&Address::from("r0"), 20, 40), 20, "only what lies between");
    }

    #[test]
    fn a_user_who_reconnects_is_waited_for_once() {
        let waits = waits(&[
            ("r0/t1/q0", QuestionAsked::default().into(), 10),
            ("r0", RunWait::default().into(), 12),
            ("r0", Resume::default().into(), 70_000),
            ("r0/t1/q0", AnswerGiven::default().into(), 74_000),
        ]);
        assert_eq!(waits.within(&Address::from("r0"), 0, 80_000), 73_990);
        assert_eq!(waits.within(&Address::from("r0/t1/c0"), 0, 80_000), 69_988, "it was not running then");
    }

    #[test]
    fn the_order_of_a_question_and_a_stop_is_that_of_their_numbers() {
        let event = |seq, at: &str, event: Event, at_ms| Envelope { seq, at_ms, address: Address::from(at), event };
        let question = |seq| event(seq, "r0/t1/p1.2/c0/q0", QuestionAsked::default().into(), 10);
        let stop = event(5, "r0/t1", Interrupt::default().into(), 30);
        // Asked before the stop, and by another branch of a turn after it.
        for (seq, waited) in [(4, 20), (6, 90)] {
            let mut waits = Waits::default();
            waits.apply(&stop);
            waits.apply(&question(seq));
            assert_eq!(waits.within(&Address::from("r0"), 0, 100), waited, "{seq}");
        }
    }

    #[test]
    fn a_stop_ends_the_wait_of_the_run_that_it_stops() {
        let asked = |at| (at, QuestionAsked::default().into(), 10);
        let stop = ("r0/t1/c0/t1", Interrupt::default().into(), 30);
        let waits = waits(&[asked("r0/t1/c0/t1/q0"), asked("r0/t1/c1/q0"), stop]);
        let of = |run: &str| waits.within(&Address::from(run), 0, 100);
        assert_eq!((of("r0/t1/c0"), of("r0")), (20, 90));
    }
}
