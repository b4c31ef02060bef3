//! Layout of transcripts next to each other: corresponding turns begin in the same row, whichever of them is longer.
//!
//! In: the runs of the compare screen and their areas. Out: empty rows after the shorter of two turns, and positions: the transcript
//! that has the focus as it was scrolled, the others with it. Only turns near the visible ones are measured.

use std::collections::HashMap;
use std::ops::Range;

use ratatui::layout::Rect;

use crate::event::Address;
use crate::tui::compare::Compare;
use crate::tui::transcript::Transcript;
use crate::tui::view::run;

/// Bands of corresponding blocks: band 0 precedes the first turn, band `n` has the turns of row `n - 1`, the last band has the ends of the
/// runs.
struct Bands<'a> {
    compare: &'a mut Compare,
    columns: Vec<usize>,
    now_ms: i64,
    /// Rows of the blocks that were measured; `None` where a column has no block in a band.
    measured: HashMap<(usize, usize), Option<usize>>,
}

/// Lays out the transcripts in their areas.
pub(super) fn layout(compare: &mut Compare, areas: &[(usize, Rect)], now_ms: i64) {
    let focus = compare.column;
    let shape: Vec<(usize, usize)> = areas.iter().map(|(column, area)| (*column, run::card_columns(*area))).collect();
    let is_new = compare.aligned != shape;
    for (column, rows) in areas {
        let Some(transcript) = transcript(compare, *column) else { continue };
        transcript.resize(run::card_columns(*rows), usize::from(rows.height));
        if is_new {
            transcript.unpad();
        }
    }
    compare.aligned = shape;
    let rows = areas.first().map_or(0, |(_, area)| usize::from(area.height));
    let columns: Vec<usize> = areas.iter().map(|(column, _)| *column).collect();
    let mut bands = Bands { compare, columns, now_ms, measured: HashMap::new() };
    bands.prepare(focus);
    if let (Some(here), true) = (bands.top(), areas.len() > 1) {
        bands.pad_around(here.0, rows);
        bands.prepare(focus);
        bands.follow_focus();
    }
    areas.iter().filter(|(column, _)| *column != focus).for_each(|(column, _)| bands.prepare(*column));
}

fn transcript(compare: &mut Compare, column: usize) -> Option<&mut Transcript> {
    compare.sides.get_mut(column)?.run.as_mut().map(|run| &mut run.transcript)
}

impl Bands<'_> {
    fn transcript(&mut self, column: usize) -> Option<&mut Transcript> {
        transcript(self.compare, column)
    }

    fn prepare(&mut self, column: usize) {
        let now_ms = self.now_ms;
        let size = self.compare.aligned.iter().find(|(known, _)| *known == column).map(|(_, columns)| *columns);
        if let (Some(columns), Some(transcript)) = (size, self.transcript(column)) {
            transcript.prepare(columns, transcript.pane_rows(), now_ms);
        }
    }

    /// The last band.
    fn last(&self) -> usize {
        self.turns() + 1
    }

    /// The number of rows of turns.
    fn turns(&self) -> usize {
        if let Some(comparison) = &self.compare.compared {
            return comparison.rows.len();
        }
        let turns = self.columns.iter().filter_map(|column| {
            let run = self.compare.sides.get(*column)?.run.as_ref()?;
            run.transcript.last_turn()?.turn_number()
        });
        turns.max().unwrap_or_default() as usize
    }

    /// The band of a turn.
    fn band_of(&self, column: usize, turn: &Address) -> Option<usize> {
        match self.compare.compared {
            Some(_) => self.compare.row_of(column, turn).map(|row| row + 1),
            None => turn.turn_number().map(|number| number as usize),
        }
    }

    /// The turn of a column in a row: of the comparison, or the turn of that number while the runs are in progress.
    fn turn(&self, column: usize, row: usize) -> Option<Address> {
        match self.compare.compared {
            Some(_) => self.compare.turn_at(column, row),
            None => Some(Address::run(0).turn(u32::try_from(row + 1).ok()?)),
        }
    }

    /// The first cell of a column in a band; `None` where it has no turn there.
    fn start(&self, column: usize, band: usize) -> Option<usize> {
        let transcript = &self.compare.sides.get(column)?.run.as_ref()?.transcript;
        match band.checked_sub(1) {
            None => Some(0),
            Some(row) if row == self.turns() => transcript.end_cell(),
            Some(row) => transcript.first_cell(&self.turn(column, row)?),
        }
    }

    /// The cells of a column in a band: up to its next turn, or to the end.
    fn block(&self, column: usize, band: usize) -> Option<Range<usize>> {
        let start = self.start(column, band)?;
        let cells = self.compare.sides.get(column)?.run.as_ref()?.transcript.cells().len();
        let end = (band + 1..=self.last()).find_map(|next| self.start(column, next)).unwrap_or(cells);
        (start < end).then_some(start..end)
    }

    /// The rows of a column in a band.
    fn rows(&mut self, column: usize, band: usize) -> Option<usize> {
        if let Some(known) = self.measured.get(&(column, band)) {
            return *known;
        }
        let (block, now_ms) = (self.block(column, band), self.now_ms);
        let rows = block.and_then(|block| Some(self.transcript(column)?.block_rows(block, now_ms)));
        self.measured.insert((column, band), rows);
        rows
    }

    /// The rows of a band: those of its longest block.
    fn height(&mut self, band: usize) -> usize {
        let columns = self.columns.clone();
        columns.into_iter().filter_map(|column| self.rows(column, band)).max().unwrap_or(0)
    }

    /// The band at the top of the transcript that has the focus, and the rows of it that are above.
    fn top(&mut self) -> Option<(usize, usize)> {
        let focus = self.compare.column;
        let (turn, above) = self.transcript(focus)?.top_place()?;
        let band = turn.and_then(|turn| self.band_of(focus, &turn)).unwrap_or(0);
        Some((band, above))
    }

    /// Pads the blocks from a page above a band to two pages below it, so that those of each band are equally high.
    fn pad_around(&mut self, here: usize, page: usize) {
        let last = self.last();
        let mut from = here.min(last);
        let mut above = 0;
        let every_column_starts =
            |bands: &Self, band| bands.columns.iter().all(|column| bands.start(*column, band).is_some());
        while from > 0 && (above < page || !every_column_starts(self, from)) {
            from -= 1;
            above += self.height(from);
        }
        let mut to = here.min(last);
        let mut below = 0;
        while to < last && (below < 2 * page || !every_column_starts(self, to + 1)) {
            to += 1;
            below += self.height(to);
        }
        for column in self.columns.clone() {
            let mut open: Option<(Range<usize>, usize)> = None;
            for band in from..=to {
                let height = self.height(band);
                match (self.rows(column, band), self.block(column, band)) {
                    (Some(rows), Some(block)) => {
                        self.pad(column, open.replace((block, height - rows)));
                    }
                    _ => open.iter_mut().for_each(|(_, missing)| *missing += height),
                }
            }
            self.pad(column, open);
        }
    }

    fn pad(&mut self, column: usize, block: Option<(Range<usize>, usize)>) {
        let now_ms = self.now_ms;
        if let (Some((block, rows)), Some(transcript)) = (block, self.transcript(column)) {
            transcript.pad_block(block, rows, now_ms);
        }
    }

    /// Scrolls the other transcripts to the place of the one that has the focus, and selects the counterpart of its turn.
    fn follow_focus(&mut self) {
        let (focus, now_ms) = (self.compare.column, self.now_ms);
        let Some((mut band, mut above)) = self.top() else { return };
        while band < self.last() && above >= self.height(band) {
            above -= self.height(band);
            band += 1;
        }
        let Some(leads) = self.transcript(focus) else { return };
        let (follows_end, selected) = (leads.follows(), leads.selected_turn());
        let selected = selected.and_then(|turn| self.band_of(focus, &turn));
        for column in self.columns.clone().into_iter().filter(|column| *column != focus) {
            // Where it has no turn, the place is in the empty rows after the previous turn.
            let (mut begin, mut rows) = (band, above);
            while begin > 0 && self.rows(column, begin).is_none() {
                begin -= 1;
                rows += self.height(begin);
            }
            let start = self.start(column, begin);
            let counterpart = selected.and_then(|band| self.turn(column, band.checked_sub(1)?));
            let Some(transcript) = self.transcript(column) else { continue };
            match start {
                _ if follows_end => transcript.follow(),
                Some(start) => transcript.show_from(start, rows, now_ms),
                None => {}
            }
            if !follows_end {
                transcript.mark_turn(counterpart.as_ref());
            }
        }
    }
}
