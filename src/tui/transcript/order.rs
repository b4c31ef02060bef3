//! The position of a new cell: agents that run at the same time are in the order of their addresses, whichever event came first.

use super::Transcript;
use super::cell::Cell;
use crate::event::Address;

impl Transcript {
    /// The place of a new cell at this address: after what is there, but before agents of the same turn that come later.
    pub(super) fn place_of(&self, at: &Address) -> usize {
        let later = self.cells.iter().rev().take_while(|cell| comes_later(&cell.at, at)).count();
        self.cells.len() - later
    }

    /// Inserts cells with their heights at this place, and shifts all positions of cells after it.
    pub(super) fn insert<const N: usize>(&mut self, place: usize, cells: [(Cell, usize); N]) {
        if place >= self.cells.len() {
            for (cell, height) in cells {
                self.heights.push(height);
                self.cells.push(cell);
            }
            return;
        }
        self.heights.insert(place, cells.iter().map(|(_, height)| *height));
        self.cells.splice(place..place, cells.map(|(cell, _)| cell));
        self.turns.make_room(place, N);
        self.viewport.make_room(place, N);
        self.branch.iter_mut().for_each(|(cell, _)| *cell = moved(*cell, place, N));
        self.search.make_room(place, N);
        self.selection.iter_mut().for_each(|selection| selection.make_room(place, N));
    }
}

/// The position of a cell after `cells` cells were inserted at `place`.
pub(super) fn moved(at: usize, place: usize, cells: usize) -> usize {
    if at >= place { at + cells } else { at }
}

/// Returns whether both are in child runs of the same turn, the first in a later one.
fn comes_later(one: &Address, other: &Address) -> bool {
    let mut run = one.root();
    while let (Some(first), Some(second)) = (one.child_of(&run), other.child_of(&run)) {
        if first != second {
            return first.turn_part() == second.turn_part() && first > second;
        }
        run = first;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_of_a_turn_have_an_order_and_others_do_not() {
        let later = |one: &str, other: &str| comes_later(&Address::from(one), &Address::from(other));
        assert!(later("r0/t1/p1.10/c0/t1", "r0/t1/p1.2/c0"));
        assert!(later("r0/t1/c1", "r0/t1/c0/t2/p1.1/c0/t1"));
        assert!(later("r0/t1/c0/t1/p1.1/c0", "r0/t1/c0/t1/p1.0/c0/t1"));
        assert!(!later("r0/t1/p1.2/c0", "r0/t1/p1.10/c0"));
        assert!(!later("r0/t2/c0", "r0/t1/c0"));
        assert!(!later("r0/t1", "r0/t1/c0"));
        assert!(!later("r1/t1/c0", "r0/t1/c0"));
        assert!(!later("r0/t1/c0/t1", "r0/t1/c0/t1"));
    }
}
