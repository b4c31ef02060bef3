//! Stretches of time that count once: the waits of a run, of which several may overlap.
//!
//! In: stretches in Unix ms. Out: their length together. Pure.

use crate::event::elapsed_ms;

/// Stretches of time: first and one-past-last Unix ms.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Stretches(Vec<(i64, i64)>);

impl Stretches {
    /// Adds one; an empty one changes nothing.
    pub(super) fn add(&mut self, from_ms: i64, to_ms: i64) {
        if from_ms < to_ms {
            self.0.push((from_ms, to_ms));
        }
    }

    /// Milliseconds between these two times that lie in at least one stretch.
    pub(super) fn within(&self, from_ms: i64, to_ms: i64) -> u64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let mut counted_to = from_ms;
        let mut total = 0;
        for (start, end) in sorted {
            let (start, end) = (start.max(counted_to), end.min(to_ms));
            total += elapsed_ms(start, end);
            counted_to = counted_to.max(end);
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_counts_once_and_what_lies_outside_does_not() {
        let mut waits = Stretches::default();
        for (from, to) in [(50, 60), (10, 30), (20, 40), (25, 28), (90, 200), (7, 7), (60, 50)] {
            waits.add(from, to);
        }
        assert_eq!(waits.within(0, 100), 30 + 10 + 10);
        assert_eq!(waits.within(15, 55), 25 + 5);
        assert_eq!(Stretches::default().within(0, 100), 0);
    }
}
