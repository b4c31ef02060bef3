//! Turns of a saved session whose bodies are in the file: which cells wait for theirs, and which give theirs back.
//!
//! In: cells and what is in view. Out: outlines to read, cells without bodies. Nothing is read here.

use super::Transcript;
use super::card::{Card, Part, TURN_CELLS, UnreadCard, turn_cards};
use super::fold::{KEPT_TURNS, TURN};
use super::places::TurnCells;
use crate::session::TurnEntry;

impl Transcript {
    /// The bodies of turns that were read long ago and are not looked at go back to their file.
    pub(super) fn put_back(&mut self) {
        while self.read.len() > KEPT_TURNS {
            let Some(outline) = self.read.pop_front() else { return };
            let Some(TurnCells { base, after }) = self.turns.get(&outline.address) else { continue };
            let cells = || (base..base + TURN_CELLS).chain(after);
            if cells().any(|cell| self.is_in_view(cell) || self.selected() == Some(cell)) {
                self.read.push_back(outline);
                return;
            }
            let [request, reasoning, turn, feedback] = turn_cards(&outline.address, 0, Some(outline.clone()));
            let part = if after.is_some() { Part::Before } else { Part::Whole };
            let behind = after.map(|_| Card::Unread(Box::new(UnreadCard { outline, part: Part::After })));
            for (index, mut card) in cells().zip([request, reasoning, turn, feedback].into_iter().chain(behind)) {
                if let Card::Unread(card) = &mut card
                    && index == base + TURN
                {
                    card.part = part;
                }
                self.cells[index].card = card;
                self.cells[index].forget();
                self.touch(index);
            }
        }
    }

    /// The turn's cells that were never read from the file and are seen now.
    pub(super) fn outline_of(&self, index: usize) -> Option<&TurnEntry> {
        let cell = self.cells.get(index)?;
        let TurnCells { base, after } = self.turns.get(&cell.at)?;
        let belongs =
            (base..base + TURN_CELLS).contains(&index) || after.is_some_and(|at| (at..at + 2).contains(&index));
        match &self.cells.get(base + TURN)?.card {
            Card::Unread(card) if belongs => Some(&card.outline),
            _ => None,
        }
    }
}
