//! The parts of a saved session in the order of their events: heads, turns and tails of runs, which may be nested.
//!
//! In: outlines of runs. Out: which part comes next. A long session has very many: only the next one of each run is held.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use crate::event::Address;
use crate::workbench::RunOutline;

/// A part of a run; turns by their place in the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Piece {
    /// The part before its turns.
    Head,
    /// A turn, up to the child runs that it calls.
    Turn(usize),
    /// The outcome of a turn, after its child runs.
    After(usize),
    /// The part after its turns.
    Tail,
}

/// The parts of these runs that are still to come.
pub(super) struct Pieces<'a> {
    runs: &'a [RunOutline],
    /// Turns that contain child runs.
    callers: HashSet<Address>,
    /// By the place of the event where it begins, and the place of its run.
    next: BinaryHeap<Reverse<(usize, usize, Piece)>>,
}

impl<'a> Pieces<'a> {
    /// All parts of these runs.
    pub(super) fn of(runs: &'a [RunOutline]) -> Self {
        let below = runs.iter().filter(|run| run.address.is_call());
        let heads = runs.iter().enumerate().map(|(at, run)| Reverse((run.events.start, at, Piece::Head)));
        Self { runs, callers: below.map(|run| run.address.turn_part()).collect(), next: heads.collect() }
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = (&'a RunOutline, Piece);

    fn next(&mut self) -> Option<Self::Item> {
        let Reverse((_, at, piece)) = self.next.pop()?;
        let run = &self.runs[at];
        let following = match piece {
            Piece::Head => Some(0),
            Piece::Turn(turn) => Some(turn + 1),
            Piece::After(_) | Piece::Tail => None,
        };
        self.next.extend(following.map(|turn| match run.turns.get(turn) {
            Some(entry) => Reverse((entry.events.range().start, at, Piece::Turn(turn))),
            None => Reverse((run.events.end.saturating_sub(1), at, Piece::Tail)),
        }));
        if let Piece::Turn(turn) = piece {
            let entry = &run.turns[turn];
            let parted = entry.state.is_end() && self.callers.contains(&entry.address);
            let end = entry.events.range().end.saturating_sub(1);
            self.next.extend(parted.then_some(Reverse((end, at, Piece::After(turn)))));
        }
        Some((run, piece))
    }
}
