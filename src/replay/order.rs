//! The order of recorded events: a replay emits them in the recorded order, except that parallel branches interleave.
//!
//! In: the recorded number of each event that a replay repeats. Out: whether it is recorded before an event that precedes
//! it in the run.

use std::collections::HashMap;

use super::Recording;
use super::compare::{Divergence, input_divergence};
use super::difference::{EventChange, EventDifference};
use crate::event::{Address, Event};

/// The last recorded number of each sequence of events that no other event can overtake.
#[derive(Default)]
pub(super) struct RecordedOrder {
    /// By the address of the branch; the key of everything outside of branches is empty.
    last: HashMap<String, u64>,
}

impl RecordedOrder {
    /// Takes the next event of the replay with its recorded number. Returns the number of an event that precedes it in
    /// the run and follows it in the recording, if there is one.
    pub(super) fn advance(&mut self, at: &Address, seq: u64) -> Option<u64> {
        let branch = branch_of(at.as_str());
        // The branches of a program run next to each other; all of them run between two events of its turn.
        let related = self.last.iter().filter(|(other, _)| is_within(other, branch) || is_within(branch, other));
        let before = related.map(|(_, seq)| *seq).max().unwrap_or_default();
        if let Some(last) = self.last.get_mut(branch) {
            *last = (*last).max(seq);
        } else {
            self.last.insert(branch.to_owned(), seq);
        }
        Some(before).filter(|before| *before > seq)
    }
}

/// The difference of an event that is recorded before the event with this number, which precedes it in the run.
pub(super) fn order_difference(before: u64) -> EventDifference {
    let change = EventChange {
        path: String::new(),
        recorded: Some(format!("before line {} of the session", before + 1)),
        now: Some("after it".to_owned()),
        diff: None,
    };
    EventDifference { changes: vec![change], more: 0 }
}

/// Returns the starts of root runs that are recorded before the end of the run before them: root runs follow each other.
pub(super) fn overlapping_runs(recording: &Recording) -> Vec<Divergence> {
    let mut found = Vec::new();
    let mut ended = 0;
    for run in recording.runs() {
        for envelope in recording.at(&run) {
            match envelope.event {
                Event::RunStart(_) if envelope.seq < ended => {
                    found.push(input_divergence(envelope, order_difference(ended)));
                }
                Event::RunEnd(_) => ended = ended.max(envelope.seq),
                _ => {}
            }
        }
    }
    found
}

/// Returns the innermost branch that contains an address; empty when none does.
fn branch_of(at: &str) -> &str {
    let Some(start) = at.rfind("/p") else { return "" };
    let end = at[start + 1..].find('/').map_or(at.len(), |length| start + 1 + length);
    &at[..end]
}

fn is_within(branch: &str, outer: &str) -> bool {
    branch.strip_prefix(outer).is_some_and(|rest| outer.is_empty() || rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn misplaced(events: &[(&str, u64)]) -> Vec<Option<u64>> {
        let mut order = RecordedOrder::default();
        events.iter().map(|(at, seq)| order.advance(&Address::from(*at), *seq)).collect()
    }

    #[test]
    fn events_outside_of_branches_have_one_order() {
        assert_eq!(misplaced(&[("r0", 1), ("r0/t1", 2), ("r0/t1/c0/t1", 3), ("r0/t1", 4)]), [None; 4]);
        assert_eq!(misplaced(&[("r0/t1", 2), ("r0/t2", 1)]), [None, Some(2)]);
    }

    #[test]
    fn branches_interleave_and_lie_between_the_events_of_their_turn() {
        let (one, other) = ("r0/t1/p1.1/c0", "r0/t1/p1.10/c0/t1");
        assert_eq!(misplaced(&[("r0/t1", 1), (one, 4), (other, 3), (one, 5), ("r0/t1", 6)]), [None; 5]);
        assert_eq!(misplaced(&[("r0/t1", 2), (one, 1)]), [None, Some(2)]);
        assert_eq!(misplaced(&[("r0/t1", 1), (one, 3), ("r0/t1", 2)]), [None, None, Some(3)]);
        assert_eq!(misplaced(&[(one, 3), (one, 2)]), [None, Some(3)]);
    }
}
