//! Positions of the cells of each turn.
//!
//! In: turns in the order in which they begin. Out: places of their cells. Long sessions have very many turns, so that each takes
//! few bytes: turns are found by their number in the list of their run.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::ops::RangeBounds;

use super::order::moved;
use crate::event::Address;

/// Cells of a turn before its own: request and reasoning. Its feedback follows it.
const BEFORE: usize = 2;

/// Positions of the cells of a turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct TurnCells {
    /// The cell of the turn itself.
    own: u32,
    /// The outcome of a split turn; its feedback follows it.
    after: Option<NonZeroU32>,
    /// The turn was never read from its file: it has no cells next to its own.
    alone: bool,
}

impl TurnCells {
    /// A turn that was never read has one cell.
    pub(super) fn alone(own: usize) -> Self {
        Self { own: short(own), after: None, alone: true }
    }

    /// The cells of a turn, from the first.
    pub(super) fn from(first: usize) -> Self {
        Self { own: short(first + BEFORE), after: None, alone: false }
    }

    /// New parts of the turn are added here.
    pub(super) fn parted(self, after: usize) -> Self {
        Self { after: NonZeroU32::new(short(after)), ..self }
    }

    /// The cells of its other parts are next to its own now.
    pub(super) fn opened(self) -> Self {
        Self { alone: false, ..self }
    }

    /// Returns whether the turn was never read from its file.
    pub(super) fn is_alone(self) -> bool {
        self.alone
    }

    /// The cell of the turn itself.
    pub(super) fn own(self) -> usize {
        self.own as usize
    }

    /// All its cells.
    pub(super) fn all(self) -> impl Iterator<Item = usize> {
        let own = self.own();
        let beside = if self.alone { own..own + 1 } else { own - BEFORE..own + 2 };
        beside.chain(self.after().into_iter().flat_map(|after| after..after + 2))
    }

    /// The request; `None` before it was read.
    pub(super) fn request(self) -> Option<usize> {
        (!self.alone).then(|| self.own() - BEFORE)
    }

    /// Reasoning that the provider showed; `None` before it was read.
    pub(super) fn reasoning(self) -> Option<usize> {
        (!self.alone).then(|| self.own() - 1)
    }

    /// The feedback to the model; `None` before the turn was read, unless the turn is parted.
    pub(super) fn feedback(self) -> Option<usize> {
        self.after().or((!self.alone).then(|| self.own())).map(|before| before + 1)
    }

    /// The outcome of a split turn.
    pub(super) fn after(self) -> Option<usize> {
        self.after.map(|after| after.get() as usize)
    }

    /// Shifts the positions after cells were inserted at this place.
    fn make_room(&mut self, place: usize, cells: usize) {
        self.own = short(moved(self.own(), place, cells));
        *self = self.after().map_or(*self, |after| self.parted(moved(after, place, cells)));
    }
}

/// Four bytes are enough: four thousand million cells do not fit in memory.
fn short(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

/// The turns of each run with their numbers, in rising order.
#[derive(Debug, Clone, Default)]
pub(super) struct TurnPlaces(HashMap<Address, Vec<(u32, TurnCells)>>);

impl TurnPlaces {
    /// The cells of this turn; nothing for addresses of other things.
    pub(super) fn get(&self, turn: &Address) -> Option<TurnCells> {
        let (run, number) = parts(turn)?;
        let turns = self.0.get(run)?;
        let at = turns.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        Some(turns[at].1)
    }

    /// The number of turns of root runs whose own cells lie in this range.
    pub(super) fn root_turns(&self, cells: impl RangeBounds<usize>) -> usize {
        let roots = self.0.iter().filter(|(run, _)| run.depth() == 0).map(|(_, turns)| turns);
        roots.map(|turns| turns.iter().filter(|(_, turn)| cells.contains(&turn.own())).count()).sum()
    }

    /// Returns whether this is the address of a turn that has cells.
    pub(super) fn contains(&self, turn: &Address) -> bool {
        self.get(turn).is_some()
    }

    /// Makes room for this many turns of a run.
    pub(super) fn reserve_exact(&mut self, run: &Address, turns: usize) {
        self.0.entry(run.clone()).or_default().reserve_exact(turns);
    }

    /// The turn has these cells from now on.
    pub(super) fn insert(&mut self, turn: &Address, cells: TurnCells) {
        let Some((_, number)) = parts(turn) else { return };
        let turns = self.0.entry(turn.run_part()).or_default();
        match turns.binary_search_by_key(&number, |(number, _)| *number) {
            Ok(at) => turns[at].1 = cells,
            Err(at) => turns.insert(at, (number, cells)),
        }
    }

    /// Shifts the positions after cells were inserted at this place.
    pub(super) fn make_room(&mut self, place: usize, cells: usize) {
        self.0.values_mut().flatten().for_each(|(_, turn)| turn.make_room(place, cells));
    }
}

/// The run and the number of a turn's address.
fn parts(turn: &Address) -> Option<(&str, u32)> {
    let (run, number) = turn.as_str().rsplit_once("/t")?;
    Some((run, number.parse().ok()?))
}
