//! Moves of the pane that make a card, or a line of one, visible.
//!
//! In: the selected card, a line of one, cards that are about to grow. Out: another anchor. Nothing is selected here.

use super::Visible;
use crate::event::Address;
use crate::tui::transcript::Transcript;

impl Transcript {
    /// Brings a line of a cell into view: it stays where it is when it is seen, else it comes to the upper third.
    pub(in crate::tui::transcript) fn show_line(&mut self, cell: usize, line: usize, now_ms: i64) {
        let height = self.measure(cell, now_ms);
        let line = line.min(height.saturating_sub(1));
        let seen = self.viewport.visible.iter().any(|part| part.cell == cell && part.lines.contains(&line));
        if seen && self.viewport.anchor == self.first_line_seen() {
            return;
        }
        self.viewport.anchor = self.above((cell, line), self.viewport.rows / 3, now_ms);
    }

    /// Puts a card in the first row, unless its first line is seen.
    pub(in crate::tui::transcript) fn show_from_start(&mut self, cell: usize) {
        if !self.viewport.visible.iter().any(|part| part.cell == cell && part.lines.start == 0) {
            self.viewport.anchor = (cell, 0);
        }
    }

    /// The place `rows` rows above a line of a cell, or the first place.
    fn above(&mut self, (mut cell, mut line): (usize, usize), mut rows: usize, now_ms: i64) -> (usize, usize) {
        while rows > line && cell > 0 {
            rows -= line;
            cell -= 1;
            line = self.measure(cell, now_ms);
        }
        (cell, line.saturating_sub(rows))
    }

    /// The cards of a turn are about to grow: the selected one stays where it is seen, and as much of it is seen as fits when it is one
    /// of them.
    pub(in crate::tui::transcript) fn hold(&mut self, turn: &Address) {
        let selected = self.viewport.selected.filter(|_| self.viewport.anchor == self.first_line_seen());
        let mut above = self.viewport.visible.iter().scan(0, |rows, part| {
            let before = *rows;
            *rows += part.lines.len();
            Some((part, before))
        });
        let seen = |(part, before): (&Visible, usize)| {
            (Some(part.cell) == selected && part.lines.start == 0).then_some(before)
        };
        self.viewport.held = above.find_map(seen);
        self.viewport.reveal |= self.viewport.held.is_some() && self.turn_index(turn) == selected;
    }

    /// Puts the selected card back where it was seen.
    pub(super) fn hold_selection(&mut self, now_ms: i64) {
        if let (Some(rows), Some(selected)) = (self.viewport.held.take(), self.viewport.selected) {
            self.viewport.anchor = self.above((selected, 0), rows, now_ms);
        }
    }

    fn first_line_seen(&self) -> (usize, usize) {
        self.viewport.visible.first().map_or((0, 0), |part| (part.cell, part.lines.start))
    }

    /// Moves the anchor so that the first line of the selected cell is seen, and as much of it as fits.
    pub(super) fn reveal_selection(&mut self, now_ms: i64) {
        let Some(selected) = self.viewport.selected.filter(|_| std::mem::take(&mut self.viewport.reveal)) else {
            return;
        };
        let height = self.measure(selected, now_ms).min(self.viewport.rows);
        if let Some(line) = self.branch_line() {
            return self.show_line(selected, line, now_ms);
        }
        if (selected, 0) <= self.viewport.anchor {
            self.viewport.anchor = (selected, 0);
            return;
        }
        let lowest = self.above((selected, 0), self.viewport.rows - height, now_ms);
        self.viewport.anchor = self.viewport.anchor.max(lowest);
    }
}
