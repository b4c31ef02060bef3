//! Differences inside corresponding turns: the words of programs, JSON and results that only one of the runs has.
//!
//! In: the visible turns of transcripts next to each other, and which of them the comparison found different. Out: columns of their
//! rows. Each run is compared with the first; the first has the marks of all pairs.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use ptc_core::text::width::width;

use super::Compare;
use crate::session::diff::{WordRanges, diff_words};

/// Columns that differ, by column of the screen, cell and line of the cell.
type Columns = HashMap<(usize, usize, usize), Vec<Range<usize>>>;

/// The texts of two turns with their differing words; `None` where the texts have little in common.
type Known = Arc<([String; 2], Option<WordRanges>)>;

/// The words that differ in the visible turns.
#[derive(Debug, Clone, Default)]
pub struct WordMarks {
    /// The pairs of turns that were visible last, by the other column and the row of the comparison.
    pairs: HashMap<(usize, usize), Known>,
    columns: Columns,
}

/// A turn as lines of its card.
struct TurnText {
    column: usize,
    cell: usize,
    lines: Vec<(usize, String)>,
}

impl TurnText {
    fn text(&self) -> String {
        self.lines.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n")
    }

    /// Byte ranges of the text as columns of its lines.
    fn mark(&self, ranges: &[Range<usize>], into: &mut Columns) {
        let mut start = 0;
        for (line, text) in &self.lines {
            let end = start + text.len();
            let inside = ranges.iter().filter(|range| range.start < end && range.end > start);
            for range in inside {
                let cut = range.start.max(start) - start..range.end.min(end) - start;
                let from = width(&text[..cut.start]);
                let columns = from..from + width(&text[cut]);
                into.entry((self.column, self.cell, *line)).or_default().push(columns);
            }
            start = end + 1;
        }
    }
}

impl WordMarks {
    /// The columns that differ in a line of a cell.
    pub fn at(&self, column: usize, cell: usize, line: usize) -> &[Range<usize>] {
        self.columns.get(&(column, cell, line)).map_or(&[], Vec::as_slice)
    }

    /// Compares the turns that are visible in these columns.
    pub fn refresh(&mut self, compare: &mut Compare, shown: &[usize], now_ms: i64) {
        self.columns.clear();
        let known = std::mem::take(&mut self.pairs);
        let Some(comparison) = compare.compared.clone() else { return };
        let mut rows: Vec<usize> = shown
            .iter()
            .flat_map(|column| {
                let run = compare.sides.get(*column).and_then(|side| side.run.as_ref());
                let turns = run.map(|run| run.transcript.turns_in_view()).unwrap_or_default();
                turns.into_iter().filter_map(|(turn, _)| compare.row_of(*column, &turn)).collect::<Vec<_>>()
            })
            .collect();
        rows.sort_unstable();
        rows.dedup();
        for row in rows.into_iter().filter(|row| comparison.rows[*row].differs) {
            let Some(first) = turn_text(compare, 0, row, now_ms) else { continue };
            for column in 1..compare.sides.len() {
                let Some(other) = turn_text(compare, column, row, now_ms) else { continue };
                let texts = [first.text(), other.text()];
                let pair = known.get(&(column, row)).filter(|pair| pair.0 == texts).cloned();
                let pair = pair.unwrap_or_else(|| {
                    let ranges = diff_words(&texts[0], &texts[1]);
                    Arc::new((texts, ranges))
                });
                if let Some([left, right]) = &pair.1 {
                    first.mark(left, &mut self.columns);
                    other.mark(right, &mut self.columns);
                }
                self.pairs.insert((column, row), pair);
            }
        }
    }
}

fn turn_text(compare: &mut Compare, column: usize, row: usize, now_ms: i64) -> Option<TurnText> {
    let turn = compare.turn_at(column, row)?;
    let transcript = &mut compare.sides.get_mut(column)?.run.as_mut()?.transcript;
    let (cell, lines) = transcript.turn_texts(&turn, now_ms)?;
    Some(TurnText { column, cell, lines })
}
