//! Scrolling by turns: the turn at the top of the pane, and showing a turn there, so that transcripts next to each other stay aligned.
//!
//! In: turns of root runs. Out: positions as a turn and rows after its start. Turns of child runs belong to the turn that called them.

use crate::event::Address;
use crate::tui::transcript::Transcript;

use super::Scroll;

impl Transcript {
    /// The turn at the top of the pane, and how many of its rows are above it; `None` before the first turn.
    pub fn top_turn(&self) -> Option<(Address, usize)> {
        let first = self.viewport.visible.first()?;
        let is_root_turn = |at: &Address| at.depth() == 0 && at.turn_number().is_some();
        let turn = self.cells.get(..=first.cell)?.iter().rev().map(|cell| cell.at.turn_part()).find(is_root_turn)?;
        let start = self.first_cell(&turn)?;
        let above = self.heights.before(first.cell) + first.lines.start;
        Some((turn, above.saturating_sub(self.heights.before(start))))
    }

    /// The root turn of the selected card, else the one at the top.
    pub fn turn_in_focus(&self) -> Option<Address> {
        let selected = self.selected_turn().filter(|turn| turn.depth() == 0);
        selected.or_else(|| self.top_turn().map(|(turn, _)| turn)).or_else(|| self.turn_in_hand())
    }

    /// Puts a turn at the top of the pane with so many of its rows above it, but never past its last row; `None` is the start.
    pub fn show_turn(&mut self, turn: Option<&Address>, above: usize, now_ms: i64) {
        self.leave_end();
        let Some(start) = turn.and_then(|turn| self.first_cell(turn)) else {
            if turn.is_none() {
                self.viewport.anchor = (0, 0);
            }
            return;
        };
        self.viewport.anchor = (start, 0);
        let end = (start + 1..self.cells.len())
            .find(|index| turn.is_some_and(|turn| !self.cells[*index].at.is_within(turn)))
            .unwrap_or(self.cells.len());
        let rows: usize = (start..end).map(|index| self.measure(index, now_ms)).sum();
        let by = isize::try_from(above.min(rows.saturating_sub(1))).unwrap_or(0);
        self.scroll(Scroll::Lines(by), now_ms);
    }

    /// Marks the card of a turn as selected without moving; `None` takes the selection away.
    pub fn mark_turn(&mut self, turn: Option<&Address>) {
        self.viewport.selected = turn.and_then(|turn| self.turn_index(turn));
        self.viewport.reveal = false;
        self.viewport.held = None;
    }

    /// The first cell of a turn.
    fn first_cell(&self, turn: &Address) -> Option<usize> {
        self.turns.get(turn)?.all().min()
    }
}
