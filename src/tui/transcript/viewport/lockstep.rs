//! Transcripts next to each other: blocks of cells, their heights, empty rows after them; a position is a block and rows after its start.
//!
//! In: turns of root runs, the first cells of blocks. Out: heights and positions that are equal in all transcripts once each block
//! is padded to the height of its counterparts. Turns of child runs belong to the turn that called them.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;

use super::{Scroll, Visible};
use crate::event::Address;
use crate::tui::theme::Role;
use crate::tui::transcript::card::Card;
use crate::tui::transcript::{Cell, Transcript};

/// Number of the last cards among which the end of a run is searched.
const CARDS_AFTER_END: usize = 16;

impl Transcript {
    /// The turn at the top of the pane, and how many of its rows are above it; without a turn before the first one.
    pub fn top_place(&self) -> Option<(Option<Address>, usize)> {
        let first = self.viewport.visible.first()?;
        let is_root_turn = |at: &Address| at.depth() == 0 && at.turn_number().is_some();
        let turn = self.cells.get(..=first.cell)?.iter().rev().map(|cell| cell.at.turn_part()).find(is_root_turn);
        let start = turn.as_ref().and_then(|turn| self.first_cell(turn)).unwrap_or(0);
        let above = self.heights.before(first.cell) + first.lines.start;
        Some((turn, above.saturating_sub(self.heights.before(start))))
    }

    /// The root turn of the selected card, else the one at the top.
    pub fn turn_in_focus(&self) -> Option<Address> {
        let selected = self.selected_turn().filter(|turn| turn.depth() == 0);
        selected.or_else(|| self.top_place()?.0).or_else(|| self.turn_in_hand())
    }

    /// Puts the row `rows` rows after the start of a cell at the top of the pane, without scrolling past the end.
    pub fn show_from(&mut self, cell: usize, rows: usize, now_ms: i64) {
        self.leave_end();
        self.viewport.anchor = (cell.min(self.cells.len().saturating_sub(1)), 0);
        if rows > 0 {
            self.scroll(Scroll::Lines(isize::try_from(rows).unwrap_or(isize::MAX)), now_ms);
        }
    }

    /// Marks the card of a turn as selected without moving; `None` takes the selection away.
    pub fn mark_turn(&mut self, turn: Option<&Address>) {
        self.viewport.selected = turn.and_then(|turn| self.turn_index(turn));
        self.viewport.reveal = false;
        self.viewport.held = None;
    }

    /// The first cell of a turn.
    pub fn first_cell(&self, turn: &Address) -> Option<usize> {
        self.turns.get(turn)?.all().min()
    }

    /// The card with which the last root run ended.
    pub fn end_cell(&self) -> Option<usize> {
        let is_end = |cell: &Cell| matches!(cell.card, Card::End(_)) && cell.at.depth() == 0;
        let back = self.cells.iter().rev().take(CARDS_AFTER_END).position(is_end)?;
        Some(self.cells.len() - 1 - back)
    }

    /// The rows of the cells of a block, without the empty ones.
    pub fn block_rows(&mut self, block: Range<usize>, now_ms: i64) -> usize {
        let cells = self.cells.get(block.clone()).unwrap_or_default();
        let mut hasher = DefaultHasher::new();
        for cell in cells {
            cell.state().hash(&mut hasher);
        }
        let state = (hasher.finish(), cells.iter().all(Cell::finished));
        let known = self.viewport.blocks.get(&block.start).filter(|(known, _)| state == (*known, true));
        if let Some((_, rows)) = known {
            return *rows;
        }
        let start = block.start;
        let rows = block
            .map(|index| {
                self.measure(index, now_ms);
                self.cells[index].card_rows()
            })
            .sum();
        self.viewport.blocks.insert(start, (state.0, rows));
        rows
    }

    /// Puts `rows` empty rows after the last card of a block.
    pub fn pad_block(&mut self, block: Range<usize>, rows: usize, now_ms: i64) {
        let has_rows = |index: &usize| self.heights.get(*index) > self.cells[*index].padding();
        let last = block.clone().rev().find(has_rows);
        for index in block {
            let wanted = if Some(index) == last { rows } else { 0 };
            if self.cells[index].padding() != wanted {
                self.measure(index, now_ms);
                self.cells[index].pad(wanted);
                self.heights.set(index, self.cells[index].height());
            }
        }
    }

    /// Takes all empty rows away.
    pub fn unpad(&mut self) {
        for (index, cell) in self.cells.iter_mut().enumerate().filter(|(_, cell)| cell.padding() > 0) {
            self.heights.set(index, self.heights.get(index).saturating_sub(cell.padding()));
            cell.pad(0);
        }
    }

    /// The turns of which a row is seen, each with the cell of its card.
    pub fn turns_in_view(&self) -> Vec<(Address, usize)> {
        let turn = |part: &Visible| {
            let at = &self.cells.get(part.cell)?.at;
            (self.turn_index(at) == Some(part.cell)).then(|| (at.clone(), part.cell))
        };
        self.viewport.visible.iter().filter_map(turn).collect()
    }

    /// The cell of an open turn and the rows of its card after the first, by their numbers: reply, extracted content and results, without
    /// remarks.
    pub fn turn_texts(&mut self, turn: &Address, now_ms: i64) -> Option<(usize, Vec<(usize, String)>)> {
        let index = self.turn_index(turn).filter(|index| self.cells[*index].open && self.viewport.columns > 0)?;
        self.measure(index, now_ms);
        let cell = &self.cells[index];
        let text = |line: usize| {
            let (row, _) = cell.row(line)?;
            let is_remark = row.left.iter().all(|piece| piece.role == Role::Dim || piece.text.trim().is_empty());
            let text: String = row.left.iter().map(|piece| piece.text.as_str()).collect();
            (!is_remark).then_some((line, text))
        };
        Some((index, (1..cell.card_rows()).filter_map(text).collect()))
    }
}
