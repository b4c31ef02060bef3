//! A growing text as rows: finished lines are laid out once, only the tail is laid out again.
//!
//! In: a text that grows at its end. Out: the same rows as one layout of the whole text would give, at every moment.

use ptc_core::text::SafeText;
use ptc_core::text::width::wrap;

use crate::tui::colours::{Coloured, Language, colours};
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;

/// The view in which cards show untrusted text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum View {
    /// Readable, coloured, what matters.
    #[default]
    Rich,
    /// The exact texts, controls as pictures.
    Raw,
    /// Network traffic.
    Wire,
}

impl View {
    /// The next view in the cycle.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Rich => Self::Raw,
            Self::Raw => Self::Wire,
            Self::Wire => Self::Rich,
        }
    }

    /// Its name on screen.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rich => "rich",
            Self::Raw => "raw",
            Self::Wire => "wire",
        }
    }
}

/// Bytes after which a line without an end is cut: what lies before the cut is never laid out again.
const LONGEST_LINE: usize = 4096;

/// The look of an untrusted text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Look {
    /// Readable: omits characters that are not text.
    Rich(Language),
    /// Exact: controls as pictures.
    Raw,
}

/// The rows of a growing text.
#[derive(Debug, Clone, Default)]
pub struct WrappedText {
    shape: Option<(usize, Look)>,
    rows: Vec<Row>,
    /// The first row of each line of the text.
    starts: Vec<usize>,
    /// Rows that will not change any more, and lines that begin in them.
    stable: (usize, usize),
    /// Bytes of their text.
    consumed: usize,
}

impl WrappedText {
    /// The rows of `text` as a whole.
    pub fn of(text: &str, columns: usize, look: Look) -> Vec<Row> {
        let mut wrapped = Self::default();
        wrapped.update(text, columns, look);
        wrapped.rows
    }

    /// The rows.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The row with which a line of the text begins.
    pub fn start_of(&self, line: usize) -> Option<usize> {
        self.starts.get(line).copied()
    }

    /// The line of the text that begins with this row.
    pub fn line_at(&self, row: usize) -> Option<usize> {
        self.starts.binary_search(&row).ok()
    }

    /// The last row of a line of the text.
    pub fn end_of(&self, line: usize) -> Option<usize> {
        self.start_of(line)?;
        self.start_of(line + 1).unwrap_or(self.rows.len()).checked_sub(1)
    }

    /// Lays out the new text. A text that does not continue the one before must come after [`WrappedText::clear`].
    pub fn update(&mut self, text: &str, columns: usize, look: Look) {
        if self.shape != Some((columns, look)) || self.consumed > text.len() {
            self.clear();
            self.shape = Some((columns, look));
        }
        self.rows.truncate(self.stable.0);
        self.starts.truncate(self.stable.1);
        while let Some(piece) = next_piece(&text[self.consumed..]) {
            self.begin(text);
            let line = piece.strip_suffix('\n').unwrap_or(piece);
            self.lay(line, columns, look);
            self.consumed += piece.len();
            self.stable = (self.rows.len(), self.starts.len());
        }
        let tail = &text[self.consumed..];
        if !tail.is_empty() {
            self.begin(text);
            self.lay(tail, columns, look);
        }
    }

    /// The next text begins a line, unless it continues a long one.
    fn begin(&mut self, text: &str) {
        if self.consumed == 0 || text.as_bytes()[self.consumed - 1] == b'\n' {
            self.starts.push(self.rows.len());
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    fn lay(&mut self, line: &str, columns: usize, look: Look) {
        let safe = match look {
            Look::Rich(_) => SafeText::multi_line(line.strip_suffix('\r').unwrap_or(line)),
            Look::Raw => SafeText::escape_controls(line),
        };
        for line in safe.lines() {
            let coloured = match look {
                Look::Rich(language) => colours(language, &line),
                Look::Raw => Vec::new(),
            };
            for range in wrap(&line, columns.max(1)) {
                self.rows.push(Row::new(pieces(&line, range, &coloured)));
            }
        }
    }
}

/// The next line with its end, or a cut piece of a long one; `None` when the text may still grow into it.
fn next_piece(text: &str) -> Option<&str> {
    let mut limit = LONGEST_LINE.min(text.len());
    while !text.is_char_boundary(limit) {
        limit -= 1;
    }
    match text[..limit].find('\n') {
        Some(end) => Some(&text[..=end]),
        None => (text.len() > LONGEST_LINE).then(|| &text[..limit]),
    }
}

/// The pieces of a byte range of a coloured line.
pub fn pieces(line: &SafeText, range: std::ops::Range<usize>, coloured: &[Coloured]) -> Vec<Piece> {
    let mut out = Vec::new();
    let mut at = range.start;
    let first = coloured.partition_point(|(part, _)| part.end <= range.start);
    for (part, role) in &coloured[first..] {
        if part.start >= range.end {
            break;
        }
        let start = part.start.max(range.start);
        let end = part.end.min(range.end);
        if at < start {
            out.push(Piece::safe(Role::Text, line.slice(at..start)));
        }
        out.push(Piece::safe(*role, line.slice(start..end)));
        at = end;
    }
    if at < range.end {
        out.push(Piece::safe(Role::Text, line.slice(at..range.end)));
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plain(rows: &[Row]) -> Vec<String> {
        rows.iter().map(Row::plain).collect()
    }

    #[test]
    fn controls_vanish_when_rich_and_show_when_raw() {
        let text = "a\u{1b}[31mred\tb\r\nnext";
        assert_eq!(plain(&WrappedText::of(text, 40, Look::Rich(Language::Plain))), ["ared    b", "next"]);
        assert_eq!(plain(&WrappedText::of(text, 40, Look::Raw)), ["a␛[31mred␉b␍", "next"]);
    }

    #[test]
    fn an_empty_text_has_no_row_and_a_blank_line_has_one() {
        assert!(WrappedText::of("", 10, Look::Raw).is_empty());
        assert_eq!(plain(&WrappedText::of("a\n\nb", 10, Look::Raw)), ["a", "", "b"]);
    }

    #[test]
    fn a_long_line_is_laid_out_once() {
        let mut wrapped = WrappedText::default();
        let mut text = "x".repeat(LONGEST_LINE);
        wrapped.update(&text, 80, Look::Raw);
        assert_eq!(wrapped.consumed, 0);
        text.push('y');
        wrapped.update(&text, 80, Look::Raw);
        assert_eq!(wrapped.consumed, LONGEST_LINE);
    }

    fn text() -> impl Strategy<Value = String> {
        let part = prop::sample::select(vec![
            "{\"key\": \"value\",",
            "\n",
            "\r\n",
            "\r",
            " ",
            "\t",
            "日本",
            "e\u{301}",
            "👩‍👩‍👧‍👦",
            "\u{1b}[3",
            "1m",
            "\u{1b}]0;t\u{7}",
            "\u{202e}",
            "true, 12",
            "\"",
            "\\",
            "word and more words ",
        ]);
        prop_oneof![
            prop::collection::vec(part, 0..30).prop_map(|parts| parts.concat()),
            (4090_usize..4110).prop_map(|length| format!("\"{}日\": 1", "a".repeat(length))),
        ]
    }

    proptest! {
        #[test]
        fn growing_in_any_steps_gives_the_rows_of_the_whole(
            text in text(),
            steps in prop::collection::vec(1_usize..40, 0..60),
            columns in 0_usize..30,
            look in prop::sample::select(vec![Look::Rich(Language::Json), Look::Rich(Language::Plain), Look::Raw]),
        ) {
            let mut wrapped = WrappedText::default();
            let mut end = 0;
            for step in steps {
                end = (end + step).min(text.len());
                while !text.is_char_boundary(end) {
                    end += 1;
                }
                wrapped.update(&text[..end], columns, look);
                prop_assert_eq!(wrapped.rows(), WrappedText::of(&text[..end], columns, look));
            }
            wrapped.update(&text, columns, look);
            prop_assert_eq!(wrapped.rows(), WrappedText::of(&text, columns, look));
            prop_assert_eq!(wrapped.starts.len(), text.split_inclusive('\n').count());
            for (line, start) in wrapped.starts.iter().enumerate() {
                prop_assert!(*start < wrapped.rows.len() && wrapped.line_at(*start) == Some(line));
            }
        }
    }
}
