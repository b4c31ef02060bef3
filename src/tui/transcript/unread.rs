//! Turns of a saved session whose bodies are in the file: which cells wait for theirs, and which give theirs back.
//!
//! In: cells and what is in view. Out: outlines to read, cells without bodies. Nothing is read here.

use std::sync::Arc;

use super::Transcript;
use super::card::{Card, Part, turn_cards};
use super::places::TurnCells;
use crate::event::Address;
use crate::session::TurnEntry;

/// Turns of a saved session whose bodies are kept beside those that are seen.
const KEPT_TURNS: usize = 256;

impl Transcript {
    /// A turn that stands in its file: it has one cell until it is read.
    pub(super) fn outline_turn(&mut self, outline: &Arc<TurnEntry>) {
        let at = &outline.address;
        let place = self.place_of(at);
        self.push(at, Card::Unread(Arc::clone(outline), Part::Whole), true);
        self.turns.insert(at, TurnCells::alone(place));
    }

    /// The cells of a turn that is being read: those of its other parts come beside its own. What is seen and selected stays.
    pub(super) fn open_out(&mut self, turn: &Address) -> Option<TurnCells> {
        let cells = self.turns.get(turn)?;
        if !cells.is_alone() {
            return Some(cells);
        }
        let own = self.cells.get(cells.own())?;
        let height = usize::from(!own.hidden);
        let [request, reasoning, _, feedback] =
            turn_cards(own.card.clone()).map(|card| own.beside(card, self.unfolded));
        self.insert(cells.own() + 1, [(feedback, 0)]);
        self.insert(cells.own(), [(request, height), (reasoning, 0)]);
        let cells = self.turns.get(turn)?.opened();
        self.turns.insert(turn, cells);
        Some(cells)
    }

    /// The cells of a turn become empty again; the cards of the turn itself are made anew for the part that they show.
    pub(super) fn renew(&mut self, cells: TurnCells, turn: impl Fn(Part) -> Card) {
        for index in cells.all() {
            let Some(cell) = self.cells.get_mut(index) else { continue };
            match &mut cell.card {
                Card::Turn(card) => cell.card = turn(card.part),
                Card::Unread(_, part) => cell.card = turn(*part),
                Card::Request(request) => *request = None,
                Card::Reasoning(text) | Card::Feedback(text) => *text = String::new(),
                _ => {}
            }
            self.touch(index);
        }
    }

    /// This turn's body is here now.
    pub(super) fn keep(&mut self, cells: TurnCells) {
        if let Some(Card::Unread(outline, _)) = self.cells.get(cells.own()).map(|cell| &cell.card) {
            self.read.push_back(outline.clone());
        }
    }

    /// The bodies of turns that were read long ago and are not looked at go back to their file.
    pub(super) fn put_back(&mut self) {
        while self.read.len() > KEPT_TURNS {
            let Some(outline) = self.read.pop_front() else { return };
            let Some(cells) = self.turns.get(&outline.address) else { continue };
            if cells.all().any(|cell| self.is_in_view(cell) || self.selected() == Some(cell)) {
                self.read.push_back(outline);
                return;
            }
            self.renew(cells, |part| Card::Unread(outline.clone(), part));
            cells.all().for_each(|index| self.cells[index].forget());
        }
    }

    /// The turn of a cell, when it was never read from the file.
    pub(super) fn outline_of(&self, index: usize) -> Option<&TurnEntry> {
        let cell = self.cells.get(index)?;
        let cells = self.turns.get(&cell.at)?;
        match &self.cells.get(cells.own())?.card {
            Card::Unread(outline, _) if cells.all().any(|at| at == index) => Some(outline),
            _ => None,
        }
    }
}
