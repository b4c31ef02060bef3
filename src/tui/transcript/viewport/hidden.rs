//! Content outside the pane: counted in rows near the pane, in turns farther away.
//!
//! In: the visible cells. Out: a number that is exact in its unit. Rows are known of cells that were laid out, and a layout of all of them
//! is not for one frame: cells are measured up to [`MOST_CELLS`] and [`MOST_ROWS`] away, so that the same place has the same
//! number whatever was looked at before. It must never measure a turn that is still in its file.

use crate::tui::transcript::Transcript;
use crate::tui::transcript::card::Card;
use crate::tui::transcript::fenwick::HiddenAmount;

/// Cells on each side that are measured.
const MOST_CELLS: usize = 48;
/// Rows of these cells.
const MOST_ROWS: usize = 1_000;

impl Transcript {
    /// Returns the content above and below the visible rows, as of the last layout.
    pub fn hidden(&self) -> (HiddenAmount, HiddenAmount) {
        self.viewport.hidden
    }

    /// Counts the content above and below.
    pub(super) fn measure_hidden(&mut self, now_ms: i64) {
        let (Some(first), Some(last)) = (self.viewport.visible.first(), self.viewport.visible.last()) else { return };
        let (first, above) = (first.cell, first.lines.start);
        let (last, below) = (last.cell, self.heights.get(last.cell).saturating_sub(last.lines.end));
        let above = match self.rows_of_cells((0..first).rev(), now_ms) {
            Some(rows) => HiddenAmount::Rows(above + rows),
            None => turns(self.turns.root_turns(..first)),
        };
        let below = match self.rows_of_cells(last + 1..self.cells.len(), now_ms) {
            Some(rows) => HiddenAmount::Rows(below + rows),
            None => turns(self.turns.root_turns(last + 1..)),
        };
        self.viewport.hidden = (above, below);
    }

    /// The rows of these cells; `None` when they are many, or not read.
    fn rows_of_cells(&mut self, cells: impl ExactSizeIterator<Item = usize>, now_ms: i64) -> Option<usize> {
        if cells.len() > MOST_CELLS {
            return None;
        }
        let mut rows = 0;
        for cell in cells {
            if matches!(self.cells.get(cell)?.card, Card::Unread(..)) || rows > MOST_ROWS {
                return None;
            }
            rows += self.measure(cell, now_ms);
        }
        Some(rows)
    }
}

fn turns(turns: usize) -> HiddenAmount {
    if turns == 0 { HiddenAmount::Much } else { HiddenAmount::Turns(turns) }
}
