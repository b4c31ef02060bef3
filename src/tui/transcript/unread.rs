//! Turns of a saved session whose bodies are in the file: cells that wait for their bodies, and cells that drop them.
//!
//! In: cells and what is in view. Out: outlines to read, cells without bodies. Nothing is read here.

use std::sync::Arc;

use super::Transcript;
use super::card::{Card, Messages, Part, TurnCard, turn_cards};
use super::places::TurnCells;
use crate::event::{Address, Envelope, Event, Gaps, Notice, NoticeLevel, SentMessage};
use crate::record::TurnState;
use crate::session::TurnEntry;

/// Turns of a saved session whose bodies are kept next to those that are seen.
const CACHED_TURNS: usize = 256;

impl Transcript {
    /// A turn in its file: it has one cell until it is read.
    pub(super) fn outline_turn(&mut self, outline: &Arc<TurnEntry>) {
        let at = &outline.address;
        self.facts.has_failed_turn |= outline.state == TurnState::Failed;
        let place = self.place_of(at);
        self.push(at, Card::Unread(Arc::clone(outline), Part::Whole), true);
        self.turns.insert(at, TurnCells::alone(place));
    }

    /// The events of an unread turn, and what was sent in it.
    pub fn read_turn(&mut self, turn: &Address, events: &[Envelope], request: Option<Vec<SentMessage>>) {
        self.hold(turn);
        let Some(cells) = self.open_out(turn) else { return };
        let mut gaps = Gaps::default();
        let gap_ms: i64 = events.iter().map(|envelope| gaps.before(envelope)).sum();
        let began =
            events.iter().find(|envelope| envelope.address == *turn && matches!(envelope.event, Event::TurnStart(_)));
        let started_ms = began.map_or(0, |envelope| envelope.at_ms.saturating_add(gap_ms));
        self.keep(cells);
        self.renew(cells, |part| Card::Turn(Box::new(TurnCard { part, ..TurnCard::begun(turn, started_ms) })));
        let facts = self.facts.clone();
        let of_turn = |envelope: &&Envelope| envelope.address.turn_part() == *turn && envelope.run() == turn.run_part();
        for envelope in events.iter().filter(of_turn).filter(|e| !matches!(e.event, Event::TurnStart(_))) {
            self.take(envelope);
        }
        // Another model is named at the run, in front of the turn that it answers first.
        let of_run = |envelope: &&Envelope| envelope.address == turn.run_part();
        for envelope in events.iter().filter(of_run).filter(|e| matches!(e.event, Event::Edit(_))) {
            self.turn_event(turn, envelope);
        }
        self.facts = facts;
        if let Some(Event::TurnStart(start)) = began.map(|envelope| &envelope.event) {
            self.cards_of(turn).for_each(|card| card.record.kind.clone_from(&start.kind));
        }
        let last_ms = events.last().map_or(0, |envelope| envelope.at_ms);
        self.cards_of(turn).for_each(|card| card.record.last_ms = last_ms);
        if let (Some(messages), Some(card)) = (request, self.request_mut(turn)) {
            card.count(&messages);
            card.messages = Messages::Read(messages);
        }
        self.found_in_read(turn);
        self.see_all();
    }

    /// A turn alone, from its events.
    pub(super) fn take_turn(&mut self, turn: &Address, events: &[Envelope]) {
        self.start_turn(turn, 0);
        let of_turn = |envelope: &&Envelope| envelope.address.turn_part() == *turn && envelope.run() == turn.run_part();
        for envelope in events.iter().filter(of_turn).filter(|e| !matches!(e.event, Event::TurnStart(_))) {
            self.apply(envelope);
        }
    }

    /// Adds a warning to a turn that could not be read.
    pub fn fail_turn(&mut self, turn: &Address, message: &str) {
        let Some(index) = self.turn_index(turn) else { return };
        if let Card::Unread(_, part) = self.cells[index].card {
            self.cells[index].card = Card::Turn(Box::new(TurnCard { part, ..TurnCard::begun(turn, 0) }));
        }
        if let Some(card) = self.turn_mut(turn) {
            card.record.notices.push(Notice { level: NoticeLevel::Warning, text: message.to_owned() });
        }
    }

    /// The cells of a turn that is being read: those of its other parts are added next to its own. The viewport and the selection stay.
    pub(super) fn open_out(&mut self, turn: &Address) -> Option<TurnCells> {
        let cells = self.turns.get(turn)?;
        if !cells.is_alone() {
            return Some(cells);
        }
        let own = self.cells.get(cells.own())?;
        let height = usize::from(!own.hidden);
        let [request, reasoning, _, feedback] =
            turn_cards(own.card.clone()).map(|card| own.sibling(card, self.unfolded));
        self.insert(cells.own() + 1, [(feedback, 0)]);
        self.insert(cells.own(), [(request, height), (reasoning, 0)]);
        let cells = self.turns.get(turn)?.opened();
        self.turns.insert(turn, cells);
        Some(cells)
    }

    /// The cells of a turn become empty again; the cards of the turn itself are recreated for the part that they show.
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

    /// Drops the bodies of turns that were read long ago and are neither visible nor selected.
    pub(super) fn put_back(&mut self) {
        while self.read.len() > CACHED_TURNS {
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
