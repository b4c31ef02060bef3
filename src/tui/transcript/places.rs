//! Where the cells of each turn stand.
//!
//! In: turns in the order in which they begin. Out: places of their cells. Long sessions have very many turns, so that each takes
//! few bytes: turns are found by their number in the list of their run.

use std::collections::HashMap;

use crate::event::Address;

/// Where the cells of a turn stand.
#[derive(Debug, Clone, Copy)]
pub(super) struct TurnCells {
    /// The first of its cells.
    pub(super) base: usize,
    /// The cell of what came of a parted turn; its feedback stands behind it.
    pub(super) after: Option<usize>,
}

impl TurnCells {
    /// A cell came at this place.
    fn make_room(&mut self, place: usize) {
        let moved = |at: usize| at + usize::from(at >= place);
        *self = Self { base: moved(self.base), after: self.after.map(moved) };
    }
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

    /// Is it the address of a turn that has cells?
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

    /// A cell came at this place.
    pub(super) fn make_room(&mut self, place: usize) {
        self.0.values_mut().flatten().for_each(|(_, cells)| cells.make_room(place));
    }
}

/// The run and the number of a turn's address.
fn parts(turn: &Address) -> Option<(&str, u32)> {
    let (run, number) = turn.as_str().rsplit_once("/t")?;
    Some((run, number.parse().ok()?))
}
