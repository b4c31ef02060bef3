//! The visible part: scroll state as (cell, line), following the end, selection, and layout of the visible cells.

mod hidden;
mod lockstep;
mod reveal;

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use super::branches::Fold;
use super::cell::Cell;
use super::fenwick::{Heights, HiddenAmount};
use super::order::moved;
use super::wrapped_text::View;
use super::{Spot, Transcript};
use crate::event::Address;
use crate::tui::direction::{Direction, Edge};
use crate::tui::row::Row;

/// Layouts that are cached in addition to the visible ones.
const CACHED_LAYOUTS: usize = 256;

/// Scroll state and the shape of the last layout.
#[derive(Debug, Clone, Default)]
pub(super) struct Viewport {
    columns: usize,
    rows: usize,
    shape: Option<(usize, View)>,
    /// First visible cell and its first visible line.
    anchor: (usize, usize),
    free: bool,
    /// Cells there were when the reader left the end, and the version of the last.
    left_at: (usize, u32),
    selected: Option<usize>,
    /// The selection must be brought into view.
    reveal: bool,
    /// Number of rows above the selected card, kept constant while cards above it grow.
    held: Option<usize>,
    visible: Vec<Visible>,
    /// Content above and below the visible rows, as of the last layout.
    hidden: (HiddenAmount, HiddenAmount),
    laid: VecDeque<usize>,
    /// Heights of blocks of cells that were measured, by their first cells, each with the state of the cells that it holds for.
    blocks: HashMap<usize, (u64, usize)>,
}

impl Viewport {
    /// Shifts the positions after cells were inserted at this place: visible rows and selection stay the same.
    pub(super) fn make_room(&mut self, place: usize, cells: usize) {
        let moved = |at: usize| moved(at, place, cells);
        self.anchor.0 = moved(self.anchor.0);
        self.left_at.0 += if self.left_at.0 > place { cells } else { 0 };
        self.selected = self.selected.map(moved);
        self.visible.iter_mut().for_each(|part| part.cell = moved(part.cell));
        self.laid.iter_mut().for_each(|cell| *cell = moved(*cell));
        self.blocks.clear();
    }
}

/// A visible cell with its visible lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visible {
    /// The cell.
    pub cell: usize,
    /// Its lines.
    pub lines: Range<usize>,
}

/// A visible row.
#[derive(Debug, Clone, Copy)]
pub struct VisibleRow<'a> {
    /// The cell.
    pub cell: usize,
    /// The line of the cell.
    pub line: usize,
    /// The row.
    pub row: &'a Row,
    /// Columns before it.
    pub indent: u16,
    /// Its cell is selected.
    pub selected: bool,
    /// It begins a branch that folds.
    pub fold: Option<Fold>,
    /// True if that branch is focused.
    pub here: bool,
}

/// A scroll movement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scroll {
    /// Lines down, or up when negative.
    Lines(isize),
    /// Pages down, or up when negative.
    Pages(isize),
}

impl Transcript {
    /// Lays out what is seen in a pane of this size. The only place that lays out.
    pub fn prepare(&mut self, columns: usize, rows: usize, now_ms: i64) {
        self.resize(columns, rows);
        self.viewport.visible.clear();
        self.viewport.hidden = (HiddenAmount::NONE, HiddenAmount::NONE);
        if self.cells.is_empty() || rows == 0 {
            return;
        }
        if self.viewport.free {
            self.hold_selection(now_ms);
            self.reveal_selection(now_ms);
            self.reveal_match(now_ms);
            self.clamp_anchor(now_ms);
        } else {
            self.viewport.anchor = self.bottom_anchor(now_ms);
        }
        self.fill(now_ms);
        let shown: usize = self.viewport.visible.iter().map(|part| part.lines.len()).sum();
        if shown < rows && self.viewport.anchor != (0, 0) {
            self.viewport.anchor = self.bottom_anchor(now_ms);
            self.fill(now_ms);
        }
        self.measure_hidden(now_ms);
        self.evict();
        self.put_back();
    }

    /// Takes the size of the pane.
    pub fn resize(&mut self, columns: usize, rows: usize) {
        self.viewport.columns = columns;
        self.viewport.rows = rows;
        if self.viewport.shape != Some((columns, self.view)) {
            self.reshape();
            self.viewport.shape = Some((columns, self.view));
            self.viewport.blocks.clear();
        }
    }

    /// The rows of the pane.
    pub fn pane_rows(&self) -> usize {
        self.viewport.rows
    }

    /// Returns whether any line of this cell is visible.
    pub(super) fn is_in_view(&self, cell: usize) -> bool {
        self.viewport.visible.iter().any(|part| part.cell == cell)
    }

    /// Another width or view: heights are guessed again; the anchor stays on its cell.
    fn reshape(&mut self) {
        let guess = |cell: &Cell| match &cell.card {
            _ if cell.hidden => 0,
            super::card::Card::Reasoning(text) | super::card::Card::Feedback(text) if text.is_empty() => 0,
            _ => cell.height().max(1),
        };
        self.heights = Heights::new(self.cells.iter().map(guess).collect());
        self.viewport.anchor.1 = 0;
    }

    /// The exact height of a cell.
    pub(super) fn measure(&mut self, index: usize, now_ms: i64) -> usize {
        let clock_ms = self.facts.clock_ms(now_ms);
        let Some(cell) = self.cells.get_mut(index) else { return 0 };
        let new = !cell.is_laid();
        let start = self.starts.get(&cell.at.run_part());
        if cell.lay(self.viewport.columns, self.view, clock_ms, start, &self.store) {
            self.laid_out += 1;
        }
        if new {
            self.viewport.laid.push_back(index);
        }
        let height = cell.height();
        self.heights.set(index, height);
        height
    }

    /// The anchor that puts the last row at the bottom.
    fn bottom_anchor(&mut self, now_ms: i64) -> (usize, usize) {
        let mut missing = self.viewport.rows;
        for index in (0..self.cells.len()).rev() {
            let height = self.measure(index, now_ms);
            if height >= missing {
                return (index, height - missing);
            }
            missing -= height;
        }
        (0, 0)
    }

    fn clamp_anchor(&mut self, now_ms: i64) {
        let (cell, line) = self.viewport.anchor;
        let cell = cell.min(self.cells.len() - 1);
        let height = self.measure(cell, now_ms);
        self.viewport.anchor = (cell, line.min(height.saturating_sub(1)));
    }

    /// Lays out from the anchor down until the pane is full.
    fn fill(&mut self, now_ms: i64) {
        let (mut cell, mut line) = self.viewport.anchor;
        let mut room = self.viewport.rows;
        self.viewport.visible.clear();
        while room > 0 && cell < self.cells.len() {
            let height = self.measure(cell, now_ms);
            let lines = line.min(height)..height.min(line + room);
            if !lines.is_empty() {
                room -= lines.len();
                self.viewport.visible.push(Visible { cell, lines });
            }
            cell += 1;
            line = 0;
        }
    }

    fn evict(&mut self) {
        while self.viewport.laid.len() > CACHED_LAYOUTS {
            let Some(index) = self.viewport.laid.pop_front() else { return };
            if self.viewport.visible.iter().any(|part| part.cell == index) {
                self.viewport.laid.push_back(index);
                return;
            }
            if let Some(cell) = self.cells.get_mut(index) {
                cell.forget();
            }
        }
    }

    /// The first cell that is seen.
    pub(super) fn first_seen(&self) -> usize {
        self.viewport.visible.first().map_or(0, |part| part.cell)
    }

    /// The visible rows from top to bottom.
    pub fn rows(&self) -> impl Iterator<Item = VisibleRow<'_>> {
        self.viewport.visible.iter().flat_map(move |part| {
            part.lines.clone().filter_map(move |line| {
                let (row, indent) = self.cells.get(part.cell)?.row(line)?;
                let selected = self.viewport.selected == Some(part.cell);
                let (fold, here) = self.fold_at(part.cell, line).unzip();
                Some(VisibleRow { cell: part.cell, line, row, indent, selected, fold, here: here == Some(true) })
            })
        })
    }

    /// Turns of a saved session that are seen and were not read yet.
    pub fn unread(&self) -> Vec<(Address, Range<usize>)> {
        let mut out: Vec<(Address, Range<usize>)> = Vec::new();
        for part in &self.viewport.visible {
            if let Some(outline) = self.outline_of(part.cell)
                && out.iter().all(|(known, _)| *known != outline.address)
            {
                out.push((outline.address.clone(), outline.events.range()));
            }
        }
        out
    }

    /// Returns whether the viewport follows the end.
    pub fn follows(&self) -> bool {
        !self.viewport.free
    }

    /// Cards that came or grew below since the reader left the end.
    pub fn new_after(&self) -> usize {
        if !self.viewport.free {
            return 0;
        }
        let (cells, version) = self.viewport.left_at;
        let grew =
            cells.checked_sub(1).and_then(|last| self.cells.get(last)).is_some_and(|last| last.version != version);
        usize::from(grew) + (cells..self.cells.len()).filter(|index| self.heights.get(*index) > 0).count()
    }

    /// Scrolls.
    pub fn scroll(&mut self, scroll: Scroll, now_ms: i64) {
        let by = match scroll {
            Scroll::Lines(lines) => lines,
            Scroll::Pages(pages) => pages * self.viewport.rows.saturating_sub(1).max(1).cast_signed(),
        };
        self.leave_end();
        let (mut cell, line) = self.viewport.anchor;
        let mut line = line.cast_signed() + by;
        while line < 0 && cell > 0 {
            cell -= 1;
            line += self.measure(cell, now_ms).cast_signed();
        }
        loop {
            let height = self.measure(cell, now_ms).cast_signed();
            if line < height || cell + 1 >= self.cells.len() {
                break;
            }
            line -= height;
            cell += 1;
        }
        let wanted = (cell, line.max(0).unsigned_abs());
        let bottom = self.bottom_anchor(now_ms);
        self.viewport.anchor = wanted.min(bottom);
        if by > 0 && wanted >= bottom {
            self.follow();
        }
    }

    /// Goes to the start.
    pub fn go_top(&mut self) {
        self.leave_end();
        self.viewport.anchor = (0, 0);
        self.viewport.selected = self.first_stop(0..self.cells.len());
    }

    /// Goes to the end and stays there.
    pub fn follow(&mut self) {
        self.viewport.free = false;
        self.viewport.reveal = false;
    }

    /// Goes to the end and selects the last card.
    pub fn go_end(&mut self) {
        self.follow();
        self.viewport.selected = self.last_stop(0..self.cells.len());
    }

    pub(super) fn leave_end(&mut self) {
        if !self.viewport.free {
            self.viewport.free = true;
            self.see_all();
        }
    }

    /// Records the present cards as seen: they do not count as new.
    pub(super) fn see_all(&mut self) {
        self.viewport.left_at = (self.cells.len(), self.cells.last().map_or(0, |last| last.version));
    }

    fn is_stop(&self, index: usize) -> bool {
        self.heights.get(index) > 0 && self.cells[index].folds()
    }

    /// The first card of a range that can be selected.
    fn first_stop(&self, mut range: Range<usize>) -> Option<usize> {
        range.find(|index| self.is_stop(*index))
    }

    /// The last card of a range that can be selected.
    fn last_stop(&self, range: Range<usize>) -> Option<usize> {
        range.rev().find(|index| self.is_stop(*index))
    }

    /// The selected cell.
    pub fn selected(&self) -> Option<usize> {
        self.viewport.selected
    }

    /// The turn of the selected card; for cards around turns, the last one before it in its run, else the first one after it.
    pub fn selected_turn(&self) -> Option<Address> {
        let selected = self.viewport.selected?;
        let at = &self.cells.get(selected)?.at;
        let turn = |cell: &Cell| {
            let turn = cell.at.turn_part();
            (turn.turn_number().is_some() && turn.run_part() == at.run_part()).then_some(turn)
        };
        let before = self.cells[..=selected].iter().rev().find_map(turn);
        before.or_else(|| self.cells[selected..].iter().find_map(turn))
    }

    /// One step down: through a card that is larger than the pane, else to the next card.
    pub fn step_down(&mut self, now_ms: i64) {
        let Some(selected) = self.selection_in_view() else { return self.select_visible(Edge::Start) };
        if self.step_branch(Direction::Forward) {
            return;
        }
        let below = self.viewport.visible.iter().find(|part| part.cell == selected);
        if below.is_some_and(|part| part.lines.end < self.heights.get(selected)) {
            return self.scroll(Scroll::Lines(1), now_ms);
        }
        match self.first_stop(selected + 1..self.cells.len()) {
            Some(next) => self.select(next),
            None => self.follow(),
        }
    }

    /// One step up: through a card that is larger than the pane, else to the previous card.
    pub fn step_up(&mut self, now_ms: i64) {
        let Some(selected) = self.selection_in_view() else { return self.select_visible(Edge::End) };
        if self.step_branch(Direction::Back) {
            return;
        }
        let above = self.viewport.visible.iter().find(|part| part.cell == selected);
        if above.is_some_and(|part| part.lines.start > 0) {
            return self.scroll(Scroll::Lines(-1), now_ms);
        }
        match self.last_stop(0..selected) {
            Some(before) => self.select(before),
            None => self.scroll(Scroll::Lines(-1), now_ms),
        }
    }

    fn selection_in_view(&self) -> Option<usize> {
        self.viewport.selected.filter(|cell| self.viewport.visible.iter().any(|part| part.cell == *cell))
    }

    /// Selects the first visible card, or the last.
    fn select_visible(&mut self, edge: Edge) {
        let (Some(first), Some(end)) = (self.viewport.visible.first(), self.viewport.visible.last()) else { return };
        let range = first.cell..end.cell + 1;
        self.viewport.selected = match edge {
            Edge::Start => self.first_stop(range),
            Edge::End => self.last_stop(range),
        };
    }

    pub(super) fn select(&mut self, cell: usize) {
        self.leave_end();
        self.viewport.selected = Some(cell);
        self.branch = None;
        self.reveal();
    }

    /// The selection comes into view with the next layout.
    pub(super) fn reveal(&mut self) {
        self.viewport.reveal = true;
    }

    /// Folds or unfolds the selected card, or the branch in it that the keys are at.
    pub fn toggle(&mut self) {
        if self.toggle_branch() {
            return;
        }
        let Some(cell) = self.viewport.selected.filter(|cell| self.cells[*cell].folds()) else { return };
        self.leave_end();
        self.cells[cell].open = !self.cells[cell].open;
        self.fold_run(cell);
        self.viewport.reveal = true;
    }

    /// Folds all turns when one is open, else unfolds all.
    pub fn toggle_all(&mut self) {
        let open = !self.cells.iter().any(|cell| cell.open && cell.folds());
        self.unfolded = open;
        for index in 0..self.cells.len() {
            if self.cells[index].folds() {
                self.cells[index].open = open;
                self.fold_run(index);
            }
        }
        self.leave_end();
        self.viewport.reveal = true;
        self.viewport.shape = None;
    }

    /// Selects the card at a row of the pane; nothing moves.
    pub fn point(&mut self, row: usize) {
        let Some(cell) = self.rows().nth(row).map(|hit| hit.cell) else { return };
        self.leave_end();
        if self.cells[cell].folds() {
            self.viewport.selected = Some(cell);
        }
    }

    /// Selects the card at a place. The first line of a card folds it, the mark or bracket of a branch that branch.
    pub fn click(&mut self, at: Spot) {
        self.leave_end();
        if self.click_branch(at) || !self.cells[at.cell].folds() {
            return;
        }
        self.viewport.selected = Some(at.cell);
        self.branch = None;
        if at.line == 0 {
            self.toggle();
        }
    }
}
