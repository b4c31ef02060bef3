//! Search in a turn that is taken apart: through the parts of every tab, then through the rows of the part.
//!
//! In: a needle, steps of the reader. Out: the tab and part that hold it, the row that is brought into view. Parts are searched by their whole
//! texts, so that what is folded or cut on screen is found too.

use regex::{Regex, RegexBuilder};

use super::{Inspector, Tab};
use crate::tui::direction::Direction;
use crate::tui::found::{FoundText, HitPlace};
use crate::tui::row::Row;

/// State of a search.
#[derive(Debug, Clone, Default)]
pub(super) struct Search {
    needle: String,
    pattern: Option<Regex>,
    /// Parts that hold it, from the first tab to the last.
    hits: Vec<(Tab, usize)>,
    /// The row of the part that is looked at.
    row: Option<usize>,
    /// The place must be brought into view, reached this way.
    reveal: Option<Direction>,
}

impl Inspector {
    /// Returns the searched text.
    pub fn needle(&self) -> &str {
        &self.search.needle
    }

    /// Looks for this from the chosen part on; nothing ends the search. A needle without capitals is found in any case.
    pub fn look_for(&mut self, needle: &str) {
        let any_case = !needle.chars().any(char::is_uppercase);
        let pattern = RegexBuilder::new(&regex::escape(needle)).case_insensitive(any_case).build().ok();
        let pattern = pattern.filter(|_| !needle.is_empty());
        let hits = pattern.as_ref().map(|pattern| self.parts_with(pattern)).unwrap_or_default();
        self.search = Search { needle: needle.to_owned(), pattern, hits, ..Search::default() };
        let here = (self.tab as usize, self.chosen());
        let hits = &self.search.hits;
        let next = hits.iter().find(|(tab, part)| (*tab as usize, *part) >= here).or(hits.first());
        self.show_hit(next.copied(), Direction::Forward);
    }

    fn parts_with(&self, pattern: &Regex) -> Vec<(Tab, usize)> {
        let parts = Tab::ALL.into_iter().flat_map(|tab| self.parts(tab).iter().enumerate().map(move |at| (tab, at)));
        let holds = parts.filter(|(_, (_, part))| pattern.is_match(&part.title) || pattern.is_match(&part.text()));
        holds.map(|(tab, (at, _))| (tab, at)).collect()
    }

    /// Goes to the next row with the needle, then to the next part, or back.
    pub fn next_match(&mut self, direction: Direction) {
        let rows = self.matching_rows();
        let further = self.search.row.and_then(|row| match direction {
            Direction::Forward => rows.iter().find(|other| **other > row),
            Direction::Back => rows.iter().rev().find(|other| **other < row),
        });
        if let Some(row) = further.copied() {
            return self.show_row(row);
        }
        let here = (self.tab as usize, self.chosen());
        let place = |(tab, part): &&(Tab, usize)| (*tab as usize, *part);
        let hits = &self.search.hits;
        let next = match direction {
            Direction::Forward => hits.iter().find(|hit| place(hit) > here).or(hits.first()),
            Direction::Back => hits.iter().rev().find(|hit| place(hit) < here).or(hits.last()),
        };
        self.show_hit(next.copied(), direction);
    }

    /// Returns the matches, by tab and part.
    pub fn hit_list(&self) -> Vec<FoundText> {
        let Some(pattern) = &self.search.pattern else { return Vec::new() };
        let line = |(tab, at): &(Tab, usize)| {
            let part = self.parts(*tab).get(*at)?;
            let place = HitPlace::Part(*tab as usize, *at);
            let text = FoundText::of(pattern, &part.text(), tab.name(), &part.title, place);
            text.or_else(|| FoundText::of(pattern, &part.title, tab.name(), &part.title, place))
        };
        self.search.hits.iter().filter_map(line).collect()
    }

    /// Goes to a match: number of the tab, and of the part in it.
    pub fn go_to_hit(&mut self, tab: usize, part: usize) {
        self.show_hit(Tab::ALL.get(tab).map(|tab| (*tab, part)), Direction::Forward);
    }

    /// The place of the chosen part among those that hold the needle, from 1, and how many there are.
    pub fn found(&self) -> (usize, usize) {
        let here = (self.tab, self.chosen());
        let at = self.search.hits.iter().position(|hit| *hit == here).map_or(0, |at| at + 1);
        (at, self.search.hits.len())
    }

    /// The row that is looked at.
    pub fn found_row(&self) -> Option<usize> {
        self.search.row
    }

    fn show_hit(&mut self, hit: Option<(Tab, usize)>, direction: Direction) {
        self.search.row = None;
        let Some((tab, part)) = hit else { return };
        if self.tab != tab {
            self.go_tab(tab);
        }
        self.choose(part);
        self.search.reveal = Some(direction);
    }

    /// Brings the row of the hit into view once the part is laid out.
    pub(super) fn reveal_match(&mut self) {
        let Some(direction) = self.search.reveal.take() else { return };
        let rows = self.matching_rows();
        let row = match direction {
            Direction::Forward => rows.first(),
            Direction::Back => rows.last(),
        };
        if let Some(row) = row.copied() {
            self.show_row(row);
        }
    }

    fn show_row(&mut self, row: usize) {
        self.search.row = Some(row);
        // A few rows before it belong to it.
        self.top = row.saturating_sub(2);
        if self.is_tree() {
            self.at = row;
        }
    }

    fn matching_rows(&self) -> Vec<usize> {
        let Some(pattern) = &self.search.pattern else { return Vec::new() };
        let shows = |(_, row): &(usize, &Row)| pattern.is_match(&row.plain());
        self.laid.rows.iter().enumerate().filter(shows).map(|(at, _)| at).collect()
    }
}
