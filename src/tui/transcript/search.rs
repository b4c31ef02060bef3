//! Search: the cards that contain the needle, and moves from one match to the next.
//!
//! In: a needle. Out: cards in order, the place in the one that is looked at, what is to be marked in visible rows. The texts of cards are
//! searched, so that folded ones are found too; turns of a saved session that were not read yet are reported by their reader.

use std::collections::BTreeSet;
use std::ops::Range;

use regex::{Regex, RegexBuilder};

use super::card::{Card, Part};
use super::order::moved;
use super::{Transcript, texts};
use crate::event::{Address, Envelope};
use crate::tui::direction::Direction;
use crate::tui::found::{FoundText, HitPlace};

/// The needle and its matches.
#[derive(Debug, Clone, Default)]
pub(super) struct Search {
    needle: String,
    pattern: Option<Regex>,
    /// Cells that contain it.
    hits: BTreeSet<usize>,
    /// Requests are searched whole, including text repeated from earlier requests.
    repeats: bool,
    /// Cells that were folded before a hit in or below them was shown.
    unfolded: Vec<usize>,
    /// The place that is looked at: a cell and a line of it, not known before it is laid out.
    at: Option<(usize, Option<usize>)>,
    /// Direction in which the cell was reached: going back, its last line with the needle comes first.
    direction: Direction,
    /// The place must be brought into view.
    pub(super) reveal: bool,
}

impl Search {
    /// Shifts the positions after cells were inserted at this place.
    pub(super) fn make_room(&mut self, place: usize, cells: usize) {
        let moved = |at: usize| moved(at, place, cells);
        self.hits = self.hits.iter().map(|at| moved(*at)).collect();
        self.at = self.at.map(|(cell, line)| (moved(cell), line));
        self.unfolded.iter_mut().for_each(|at| *at = moved(*at));
    }
}

/// A needle without capitals is found in any case.
fn pattern(needle: &str) -> Option<Regex> {
    let any_case = !needle.chars().any(char::is_uppercase);
    RegexBuilder::new(&regex::escape(needle)).case_insensitive(any_case).build().ok()
}

/// The turn of an address, else the address.
fn place_name(at: &Address) -> String {
    at.turn_part().turn_number().map_or_else(|| at.to_string(), |number| format!("turn {number}"))
}

impl Transcript {
    /// Returns the needle; empty without a search.
    pub fn needle(&self) -> &str {
        &self.search.needle
    }

    /// Searches for this from the first visible card on; an empty needle ends the search.
    pub fn look_for(&mut self, needle: &str, now_ms: i64) {
        self.fold_again();
        let repeats = self.search.repeats;
        if needle.is_empty() {
            self.search = Search { repeats, ..Search::default() };
            return;
        }
        self.search = Search { needle: needle.to_owned(), pattern: pattern(needle), repeats, ..Search::default() };
        self.find_hits();
        let from = self.first_seen();
        let next = self.search.hits.range(from..).next().or(self.search.hits.first()).copied();
        self.go_to_hit(next, Direction::Forward, now_ms);
    }

    /// Searches whole requests, or only their new parts; returns whether they are searched whole now.
    pub fn toggle_repeats(&mut self, now_ms: i64) -> bool {
        self.search.repeats = !self.search.repeats;
        let needle = self.search.needle.clone();
        self.look_for(&needle, now_ms);
        self.search.repeats
    }

    fn find_hits(&mut self) {
        let Some(pattern) = &self.search.pattern else { return };
        let mut sent = texts::SentSoFar::default();
        let mut holds = |card: &Card, at: &Address| {
            let mut found = false;
            let sent = (!self.search.repeats).then_some(&mut sent);
            texts::visit(card, at, &self.store, sent, &mut |_, text| found |= !found && pattern.is_match(text));
            found
        };
        let unread = |index: usize| self.outline_of(index).is_some() && self.search.hits.contains(&index);
        let hits = self.cells.iter().enumerate().filter(|(index, cell)| holds(&cell.card, &cell.at) || unread(*index));
        let hits = hits.map(|(index, _)| index).collect();
        self.search.hits = hits;
    }

    /// Returns the location of the current match: turn or run, and the kinds of its texts that contain the needle.
    pub fn found_in(&self) -> Option<String> {
        let (pattern, cell) = (self.search.pattern.as_ref()?, self.cells.get(self.search.at?.0)?);
        let mut kinds: Vec<&'static str> = Vec::new();
        texts::visit(&cell.card, &cell.at, &self.store, None, &mut |kind, text| {
            if !kinds.contains(&kind) && pattern.is_match(text) {
                kinds.push(kind);
            }
        });
        let place = place_name(&cell.at);
        Some(if kinds.is_empty() { place } else { format!("{place}, {}", kinds.join(", ")) })
    }

    /// Folds again what a search has unfolded.
    fn fold_again(&mut self) {
        for cell in std::mem::take(&mut self.search.unfolded) {
            if let Some(found) = self.cells.get_mut(cell) {
                found.open = false;
                self.fold_run(cell);
            }
        }
    }

    /// A turn of a saved session was read: the hit that was looked at is in one of its cells now.
    pub(super) fn found_in_read(&mut self, turn: &Address) {
        if self.search.pattern.is_none() {
            return;
        }
        self.find_hits();
        let Some((at, _)) = self.search.at.filter(|(at, _)| !self.search.hits.contains(at)) else { return };
        let is_here = |cell: &usize| self.cells.get(*cell).is_some_and(|cell| cell.at.turn_part() == *turn);
        if !is_here(&at) {
            return;
        }
        if let Some(cell) = self.search.hits.iter().copied().find(is_here) {
            self.open_up(cell);
            self.select(cell);
            self.search.at = Some((cell, None));
            self.search.reveal = true;
        }
    }

    /// The unread turns of a saved session.
    pub fn all_unread(&self) -> Vec<(Address, Range<usize>)> {
        let turns = self.cells.iter().filter_map(|cell| match &cell.card {
            Card::Unread(outline, part) if *part != Part::After => Some(outline),
            _ => None,
        });
        turns.map(|outline| (outline.address.clone(), outline.events.range())).collect()
    }

    /// Returns whether a turn with these events contains the needle.
    pub fn turn_holds(turn: &Address, events: &[Envelope], needle: &str) -> bool {
        let Some(pattern) = pattern(needle) else { return false };
        let mut alone = Self::default();
        alone.take_turn(turn, events);
        let mut found = false;
        for cell in &alone.cells {
            let mut sent = texts::SentSoFar::default();
            texts::visit(&cell.card, &cell.at, &alone.store, Some(&mut sent), &mut |_, text| {
                found |= !found && pattern.is_match(text);
            });
        }
        found
    }

    /// Adds unread turns that contain the needle.
    pub fn found_unread(&mut self, needle: &str, turns: &[Address], now_ms: i64) {
        if needle != self.search.needle {
            return;
        }
        let places: Vec<usize> = turns.iter().filter_map(|turn| self.turn_index(turn)).collect();
        let first = self.search.hits.is_empty();
        self.search.hits.extend(places);
        if first {
            let from = self.first_seen();
            let next = self.search.hits.range(from..).next().or(self.search.hits.first()).copied();
            self.go_to_hit(next, Direction::Forward, now_ms);
        }
    }

    /// Returns the number of the current card among those with the needle, from 1, and the number of those cards.
    pub fn found(&self) -> (usize, usize) {
        let at = self.search.at.map_or(0, |(cell, _)| self.search.hits.range(..=cell).count());
        (at, self.search.hits.len())
    }

    /// Returns the matches by turn and kind, in the order of the cards. Turns that were not read have a line without a text.
    pub fn hit_list(&self) -> Vec<FoundText> {
        let Some(pattern) = &self.search.pattern else { return Vec::new() };
        let mut sent = texts::SentSoFar::default();
        let mut all = Vec::new();
        for (index, cell) in self.cells.iter().enumerate() {
            let (at, place) = (place_name(&cell.at), HitPlace::Card(index));
            let sent = (!self.search.repeats).then_some(&mut sent);
            texts::visit(&cell.card, &cell.at, &self.store, sent, &mut |kind, text| {
                let found = FoundText::of(pattern, text, &at, kind, place);
                if let Some(found) = found {
                    FoundText::add(&mut all, found);
                }
            });
            if self.outline_of(index).is_some() && self.search.hits.contains(&index) {
                all.push(FoundText { at, kind: "in the turn".to_owned(), place, count: 1, excerpt: String::new() });
            }
        }
        all
    }

    /// The card that is looked at.
    pub fn looked_at(&self) -> Option<usize> {
        self.search.at.map(|(cell, _)| cell)
    }

    /// Goes to a match in this card.
    pub fn go_to_match(&mut self, cell: usize, now_ms: i64) {
        if cell < self.cells.len() {
            self.go_to_hit(Some(cell), Direction::Forward, now_ms);
        }
    }

    /// Goes to the next or previous match.
    pub fn next_match(&mut self, direction: Direction, now_ms: i64) {
        self.find_hits();
        let Some((cell, line)) = self.search.at else {
            let from = self.first_seen();
            let next = self.search.hits.range(from..).next().or(self.search.hits.first()).copied();
            return self.go_to_hit(next, direction, now_ms);
        };
        // Further lines of the same card come first.
        if let Some(line) = line {
            self.measure(cell, now_ms);
            let lines = self.matching_lines(cell);
            let further = match direction {
                Direction::Forward => lines.into_iter().find(|other| *other > line),
                Direction::Back => lines.into_iter().rev().find(|other| *other < line),
            };
            if let Some(further) = further {
                self.search.at = Some((cell, Some(further)));
                self.search.reveal = true;
                return;
            }
        }
        let hits = &self.search.hits;
        let next = match direction {
            Direction::Forward => hits.range(cell + 1..).next().or(hits.first()),
            Direction::Back => hits.range(..cell).next_back().or(hits.last()),
        };
        self.go_to_hit(next.copied(), direction, now_ms);
    }

    fn go_to_hit(&mut self, cell: Option<usize>, direction: Direction, now_ms: i64) {
        let Some(cell) = cell else {
            self.search.at = None;
            return;
        };
        self.fold_again();
        self.open_up(cell);
        self.select(cell);
        self.search.at = Some((cell, None));
        self.search.direction = direction;
        self.search.reveal = true;
        self.measure(cell, now_ms);
    }

    /// Unfolds a card, and the runs that it lies in.
    fn open_up(&mut self, cell: usize) {
        let runs = self.unfold_runs_around(cell);
        self.search.unfolded.extend(runs);
        if !std::mem::replace(&mut self.cells[cell].open, true) {
            self.search.unfolded.push(cell);
        }
        self.cells[cell].unfold_all();
    }

    /// Unfolds the runs that a card lies in; gives the cells of their starts.
    pub(super) fn unfold_runs_around(&mut self, cell: usize) -> Vec<usize> {
        let at = self.cells[cell].at.clone();
        let starts: Vec<usize> = (0..cell)
            .filter(|index| {
                let other = &self.cells[*index];
                let is_child = matches!(other.card, Card::Start(_)) && other.at.is_call();
                is_child && !other.open && at.is_within(&other.at) && other.at != at
            })
            .collect();
        for start in &starts {
            self.cells[*start].open = true;
            self.fold_run(*start);
        }
        starts
    }

    /// The line of the place that is looked at, once its card is laid out; brings it into view.
    pub(super) fn reveal_match(&mut self, now_ms: i64) {
        if !std::mem::take(&mut self.search.reveal) {
            return;
        }
        let Some((cell, line)) = self.search.at else { return };
        self.measure(cell, now_ms);
        if self.outline_of(cell).is_some() {
            // Its text is being read.
            self.search.reveal = true;
            return;
        }
        let lines = self.matching_lines(cell);
        let reached = match self.search.direction {
            Direction::Forward => lines.first(),
            Direction::Back => lines.last(),
        };
        let line = line.or(reached.copied());
        self.search.at = Some((cell, line));
        self.show_line(cell, line.unwrap_or_default(), now_ms);
    }

    /// The lines of a laid-out card that show the needle.
    fn matching_lines(&self, cell: usize) -> Vec<usize> {
        let (Some(pattern), Some(cell)) = (&self.search.pattern, self.cells.get(cell)) else { return Vec::new() };
        let shows = |line: &usize| cell.row(*line).is_some_and(|(row, _)| pattern.is_match(&row.plain()));
        (0..cell.height()).filter(shows).collect()
    }

    /// The positions of the needle in a row's plain text, in bytes.
    pub fn marks_in(&self, plain: &str) -> Vec<Range<usize>> {
        self.search.pattern.iter().flat_map(|pattern| pattern.find_iter(plain)).map(|found| found.range()).collect()
    }

    /// Returns whether this is the line of the current match.
    pub fn is_looked_at(&self, cell: usize, line: usize) -> bool {
        self.search.at == Some((cell, Some(line)))
    }
}
