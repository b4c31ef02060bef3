//! Cursor motions: by grapheme, word, line, wrapped row and page.

use unicode_segmentation::UnicodeSegmentation as _;

use super::Draft;
use super::long::{Key, Rows};
use crate::tui::wrap::{graphemes, shown_width, wrap_edited};

/// A move of the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Motion {
    /// One grapheme back.
    Left,
    /// One grapheme on.
    Right,
    /// This many rows up.
    Up(usize),
    /// This many rows down.
    Down(usize),
    /// To the start of the word before.
    WordLeft,
    /// After the end of the next word.
    WordRight,
    /// To the start of the line.
    LineStart,
    /// To the end of the line.
    LineEnd,
    /// To the start of the text.
    Start,
    /// To the end of the text.
    End,
}

impl Draft {
    /// The byte where a move ends.
    pub(super) fn target(&self, motion: Motion, columns: usize) -> usize {
        let before = &self.text()[..self.cursor()];
        let after = &self.text()[self.cursor()..];
        match motion {
            Motion::Left => before.grapheme_indices(true).next_back().map_or(0, |(at, _)| at),
            Motion::Right => self.cursor() + after.graphemes(true).next().map_or(0, str::len),
            Motion::WordLeft => {
                let words = before.trim_end_matches(|c: char| !is_word(c));
                words.trim_end_matches(is_word).len()
            }
            Motion::WordRight => {
                let words = after.trim_start_matches(|c: char| !is_word(c));
                self.text().len() - words.trim_start_matches(is_word).len()
            }
            Motion::LineStart => self.line_range(self.line_at(self.cursor())).start,
            Motion::LineEnd => self.line_range(self.line_at(self.cursor())).end,
            Motion::Start => 0,
            Motion::End => self.text().len(),
            Motion::Up(rows) => self.row_target(-(rows.min(1 << 20).cast_signed()), columns),
            Motion::Down(rows) => self.row_target(rows.min(1 << 20).cast_signed(), columns),
        }
    }

    /// Start and end of the word at the cursor; both are the cursor where there is none.
    pub(super) fn word_here(&self) -> (usize, usize) {
        let (before, after) = self.text().split_at(self.cursor());
        let start = before.trim_end_matches(is_word).len();
        (start, self.text().len() - after.trim_start_matches(is_word).len())
    }

    /// The byte this many wrapped rows away in the column of the cursor.
    fn row_target(&self, by: isize, columns: usize) -> usize {
        let mut line = self.line_at(self.cursor());
        let mut rows = self.rows_of(line, columns);
        let place = self.cursor() - self.line_range(line).start;
        let row = rows.iter().rposition(|range| range.start <= place).unwrap_or(0);
        let column = self.columns_of(line, rows[row].start, place);
        let mut wanted = row.cast_signed() + by;
        loop {
            if wanted < 0 {
                if line == 0 {
                    return 0;
                }
                line -= 1;
                rows = self.rows_of(line, columns);
                wanted += rows.len().cast_signed();
            } else if wanted >= rows.len().cast_signed() {
                if line + 1 >= self.line_count() {
                    return self.text().len();
                }
                wanted -= rows.len().cast_signed();
                line += 1;
                rows = self.rows_of(line, columns);
            } else {
                return self.at_column(line, &rows, wanted.unsigned_abs(), column);
            }
        }
    }

    /// The wrapped rows of a line as byte ranges within the line.
    pub fn rows_of(&self, line: usize, columns: usize) -> Rows {
        let text = self.line(line);
        let key = Key { version: self.version(), line, columns };
        self.long.rows(key, text.len(), || wrap_edited(text, columns))
    }

    fn columns_of(&self, line: usize, from: usize, to: usize) -> usize {
        let text = self.line(line).get(from..to).unwrap_or_default();
        graphemes(text).map(|(_, grapheme)| shown_width(grapheme)).sum()
    }

    /// The byte of the whole text at a column of a row of a line; columns after the row's end give its end.
    pub fn at_column(&self, line: usize, rows: &[std::ops::Range<usize>], row: usize, column: usize) -> usize {
        let start = self.line_range(line).start;
        let Some(range) = rows.get(row).cloned() else { return start };
        let text = self.line(line).get(range.clone()).unwrap_or_default();
        let mut used = 0;
        for (at, grapheme) in graphemes(text) {
            used += shown_width(grapheme);
            if used > column {
                return start + range.start + at;
            }
        }
        let last_row = row + 1 == rows.len();
        let end = if last_row { text.len() } else { graphemes(text).next_back().map_or(0, |(at, _)| at) };
        start + range.start + end
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
