//! Graphemes, display widths and line wrapping: the one place that knows how many columns a text takes.
//!
//! In: one line of text. Out: byte ranges of its rows. A row ends after a space where there is one; spaces at its end
//! hang over the edge. It must never split a grapheme and never loop on a width of zero.

use std::borrow::Cow;
use std::ops::Range;

use ptc_core::text::SafeText;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// Columns a tab takes on the screen.
pub const TAB_COLUMNS: usize = 4;

/// Columns of a safe text: the sum over its graphemes, which is what the terminal buffer uses.
pub fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.graphemes(true).map(|grapheme| grapheme.width()).sum() }
}

/// The graphemes of a text with their byte offsets.
pub fn graphemes(text: &str) -> impl DoubleEndedIterator<Item = (usize, &str)> {
    text.grapheme_indices(true)
}

/// The rows of a safe line at this width; a line has at least one row.
pub fn wrap(line: &str, columns: usize) -> Vec<Range<usize>> {
    wrap_by(line, columns, |grapheme| grapheme.width())
}

/// The rows of a line when a grapheme takes `measure` columns.
pub fn wrap_by(line: &str, columns: usize, measure: impl Fn(&str) -> usize) -> Vec<Range<usize>> {
    let mut rows = Vec::new();
    let mut row = RowStart::default();
    let columns = columns.max(1);
    if line.is_ascii() && !line.contains(|c: char| c.is_ascii_control()) {
        for at in 0..line.len() {
            row.take(&mut rows, line, at, at + 1, 1, columns);
        }
    } else {
        for (at, grapheme) in line.grapheme_indices(true) {
            row.take(&mut rows, line, at, at + grapheme.len(), measure(grapheme), columns);
        }
    }
    rows.push(row.start..line.len());
    rows
}

/// The row being filled.
#[derive(Default)]
struct RowStart {
    start: usize,
    used: usize,
    /// Behind the last space of the row: its byte and the columns up to it.
    opening: Option<(usize, usize)>,
}

impl RowStart {
    fn take(
        &mut self,
        rows: &mut Vec<Range<usize>>,
        line: &str,
        at: usize,
        end: usize,
        wide: usize,
        columns: usize,
    ) {
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

/// The longest start of a safe text that fits `columns`, with `…` for what is missing.
pub fn fit(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let mut used = 0;
    let room = columns.saturating_sub(1);
    let end = text
        .grapheme_indices(true)
        .find_map(|(at, grapheme)| {
            used += grapheme.width();
            (used > room).then_some(at)
        })
        .unwrap_or(text.len());
    if columns == 0 { Cow::Borrowed("") } else { Cow::Owned(format!("{}…", text[..end].trim_end())) }
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
        wrap(line, columns).into_iter().map(|range| &line[range]).collect()
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
    fn graphemes_stay_whole() {
        assert_eq!(rows("日本語", 4), ["日本", "語"]);
        assert_eq!(rows("e\u{301}e\u{301}x", 2), ["e\u{301}e\u{301}", "x"]);
        assert_eq!(rows("👩‍👩‍👧‍👦a", 2), ["👩‍👩‍👧‍👦", "a"]);
    }

    #[test]
    fn a_text_that_does_not_fit_ends_in_an_ellipsis() {
        assert_eq!(fit("abcdef", 6), "abcdef");
        assert_eq!(fit("abcdef", 4), "abc…");
        assert_eq!(fit("日本語", 4), "日…");
        assert_eq!(fit("abc", 0), "");
    }
}
