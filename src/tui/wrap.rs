//! Rows of edited text: wrapping that keeps every byte, and what a grapheme looks like while it is edited.
//!
//! In: one line of a draft. Out: byte ranges of its rows. A row ends after a space where there is one; spaces at its end
//! hang over the edge. It must never split a grapheme. Text that is only shown is wrapped by `ptc_core::text::width`.

use std::borrow::Cow;
use std::ops::Range;

use ptc_core::text::SafeText;
use ptc_core::text::width::width;
use unicode_segmentation::UnicodeSegmentation as _;

/// Columns a tab takes on the screen.
pub const TAB_COLUMNS: usize = 4;

/// The graphemes of a text with their byte offsets.
pub fn graphemes(text: &str) -> impl DoubleEndedIterator<Item = (usize, &str)> {
    text.grapheme_indices(true)
}

/// The rows of a line of an edited text; together they hold every byte, so that each has a place for the cursor.
pub fn wrap_edited(line: &str, columns: usize) -> Vec<Range<usize>> {
    let mut rows = Vec::new();
    let mut row = RowStart::default();
    let columns = columns.max(1);
    let (bytes, mut at) = (line.as_bytes(), 0);
    while at < bytes.len() {
        // A plain character is a grapheme of its own when no other kind follows, which could combine with it.
        let plain = matches!(bytes[at], b' '..=b'~') && bytes.get(at + 1).is_none_or(u8::is_ascii);
        let grapheme = if plain { &line[at..=at] } else { line[at..].graphemes(true).next().unwrap_or_default() };
        let wide = if plain { 1 } else { shown_width(grapheme) };
        let end = at + grapheme.len().max(1);
        row.take(&mut rows, line, at, end, wide, columns);
        at = end;
    }
    rows.push(row.start..line.len());
    rows
}

/// The row being filled.
#[derive(Default)]
struct RowStart {
    start: usize,
    used: usize,
    /// After the last space of the row: its byte and the columns up to it.
    opening: Option<(usize, usize)>,
}

impl RowStart {
    fn take(&mut self, rows: &mut Vec<Range<usize>>, line: &str, at: usize, end: usize, wide: usize, columns: usize) {
        let space = line.as_bytes().get(at) == Some(&b' ');
        if self.used + wide > columns && self.used > 0 && !space {
            let (cut, before) = self.opening.unwrap_or((at, self.used));
            rows.push(self.start..cut);
            *self = Self { start: cut, used: self.used - before, opening: None };
        }
        self.used += wide;
        if space {
            self.opening = Some((end, self.used));
        }
    }
}

/// A grapheme of an edited text as the screen shows it: tabs as spaces, controls and hidden characters as pictures.
pub fn shown(grapheme: &str) -> Cow<'_, str> {
    match grapheme {
        "\t" => Cow::Borrowed("    "),
        plain if plain.bytes().all(|byte| matches!(byte, b' '..=b'~')) => Cow::Borrowed(plain),
        other => Cow::Owned(SafeText::escape_controls(other).into_string()),
    }
}

/// Columns of a grapheme of an edited text.
pub fn shown_width(grapheme: &str) -> usize {
    if grapheme == "\t" { TAB_COLUMNS } else { width(&shown(grapheme)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(line: &str, columns: usize) -> Vec<&str> {
        wrap_edited(line, columns).into_iter().map(|range| &line[range]).collect()
    }

    #[test]
    fn rows_end_after_spaces_and_long_words_are_cut() {
        assert_eq!(rows("the quick fox", 8), ["the ", "quick ", "fox"]);
        assert_eq!(rows("the quick fox", 9), ["the quick ", "fox"]);
        assert_eq!(rows("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(rows("", 5), [""]);
        assert_eq!(rows("ab   cd", 3), ["ab   ", "cd"]);
        assert_eq!(rows("ab", 0), ["a", "b"]);
    }

    #[test]
    fn controls_take_the_columns_of_their_pictures() {
        assert_eq!(rows("a\tbc", 5), ["a\t", "bc"]);
        assert_eq!((shown("\t"), shown("\u{1b}"), shown("é")), ("    ".into(), "␛".into(), "é".into()));
        assert_eq!(shown_width("\u{202e}"), "·U+202E·".chars().count());
    }

    #[test]
    fn graphemes_stay_whole() {
        assert_eq!(rows("日本語", 4), ["日本", "語"]);
        assert_eq!(rows("e\u{301}e\u{301}x", 2), ["e\u{301}e\u{301}", "x"]);
        assert_eq!(rows("👩‍👩‍👧‍👦a", 2), ["👩‍👩‍👧‍👦", "a"]);
    }
}
