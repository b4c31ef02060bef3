//! Selecting text with the mouse: from one place in the rows to another, a word, a card; and the text of what is selected.

use std::ops::Range;

use ptc_core::text::width::width;
use unicode_segmentation::UnicodeSegmentation as _;

use super::order::moved;
use super::{Transcript, texts};
use crate::tui::row::Row;

/// A place in the rows: a cell, a line of it, a column of that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// The cell.
    pub cell: usize,
    /// The line of the cell.
    pub line: usize,
    /// Columns from the start of the row, its indent left out.
    pub column: usize,
}

/// The selected text: from the place where the selection began to that of the mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Selection {
    from: Spot,
    to: Spot,
}

impl Selection {
    /// Shifts the positions after cells were inserted at this place.
    pub(super) fn make_room(&mut self, place: usize, cells: usize) {
        for spot in [&mut self.from, &mut self.to] {
            spot.cell = moved(spot.cell, place, cells);
        }
    }

    /// First and one-past-last.
    fn span(&self) -> (Spot, Spot) {
        (self.from.min(self.to), self.from.max(self.to))
    }
}

impl Transcript {
    /// The place under the mouse: the row of the pane and the column within it.
    pub fn spot_at(&self, row: usize, column: usize) -> Option<Spot> {
        let hit = self.rows().nth(row)?;
        Some(Spot { cell: hit.cell, line: hit.line, column: column.saturating_sub(usize::from(hit.indent)) })
    }

    /// A selection begins here, with nothing in it.
    pub fn begin_selection(&mut self, at: Spot) {
        self.selection = Some(Selection { from: at, to: at });
    }

    /// The selection goes up to here.
    pub fn extend_selection(&mut self, to: Spot) {
        if let Some(selection) = &mut self.selection {
            selection.to = to;
        }
        if self.has_selection() {
            self.leave_end();
        }
    }

    /// Selects the word under this place.
    pub fn select_word(&mut self, at: Spot) {
        let Some((row, _)) = self.cells.get(at.cell).and_then(|cell| cell.row(at.line)) else { return };
        let mut column = 0;
        for word in left_text(row).split_word_bounds() {
            let end = column + width(word);
            if (column..end).contains(&at.column) {
                let (from, to) = (Spot { column, ..at }, Spot { column: end, ..at });
                self.selection = Some(Selection { from, to });
                return;
            }
            column = end;
        }
    }

    /// Returns whether any text is selected.
    pub fn has_selection(&self) -> bool {
        self.selection.is_some_and(|selection| selection.from != selection.to)
    }

    /// Clears the selection. Returns whether any text was selected.
    pub fn drop_selection(&mut self) -> bool {
        let had = self.has_selection();
        self.selection = None;
        had
    }

    /// The selected columns of a line.
    pub fn selected_columns(&self, cell: usize, line: usize) -> Option<Range<usize>> {
        let (from, to) = self.selection.as_ref()?.span();
        let place = (cell, line);
        if from == to || place < (from.cell, from.line) || place > (to.cell, to.line) {
            return None;
        }
        let start = if place == (from.cell, from.line) { from.column } else { 0 };
        let end = if place == (to.cell, to.line) { to.column } else { usize::MAX };
        Some(start..end)
    }

    /// Returns the text to copy: the selected text, else the exact text of the selected card.
    pub fn copied(&mut self, now_ms: i64) -> Option<String> {
        if let Some(selection) = self.selection.filter(|_| self.has_selection()) {
            return Some(self.selected_text(selection, now_ms));
        }
        let cell = self.cells.get(self.selected()?)?;
        Some(texts::copied(&cell.card, &cell.at, &self.store)).filter(|text| !text.is_empty())
    }

    fn selected_text(&mut self, selection: Selection, now_ms: i64) -> String {
        let (from, to) = selection.span();
        let mut lines = Vec::new();
        for cell in from.cell..=to.cell {
            let height = self.measure(cell, now_ms);
            for line in 0..height {
                let Some(columns) = self.selected_columns(cell, line) else { continue };
                let Some((row, _)) = self.cells.get(cell).and_then(|cell| cell.row(line)) else { continue };
                lines.push(slice(&left_text(row), columns));
            }
        }
        lines.join("\n")
    }
}

/// The text of a row without the text at its right edge.
fn left_text(row: &Row) -> String {
    row.left.iter().map(|piece| piece.text.as_str()).collect()
}

/// The graphemes of a line that begin within these columns; blanks at the end are not text.
fn slice(line: &str, columns: Range<usize>) -> String {
    let mut column = 0;
    let mut out = String::new();
    for grapheme in line.graphemes(true) {
        if columns.contains(&column) {
            out.push_str(grapheme);
        }
        column += width(grapheme);
    }
    out.trim_end().to_owned()
}
