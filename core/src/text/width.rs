//! Display width: measuring, cutting, wrapping and padding text in terminal cells.
//!
//! Measures as ratatui draws: per grapheme cluster, by `unicode-width`, plus one cell for each halfwidth sound mark;
//! clusters with control characters have no width. A cluster is never split. Wrapping returns byte ranges of the text,
//! so that colours of the whole text can be applied to its rows.

use std::borrow::Cow;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// The mark of omitted text.
pub const ELLIPSIS: char = '…';

/// Width of a text on one line, in cells.
pub fn width(text: &str) -> usize {
    if is_simple(text) { text.len() } else { clusters(text).map(|(_, cluster)| cells(cluster)).sum() }
}

/// Width of one grapheme cluster, in cells.
pub fn cells(grapheme: &str) -> usize {
    if let [byte] = grapheme.as_bytes() {
        return usize::from(!byte.is_ascii_control());
    }
    if grapheme.contains(char::is_control) {
        return 0;
    }
    let sound_marks = grapheme.chars().filter(|c| matches!(c, '\u{ff9e}' | '\u{ff9f}')).count();
    grapheme.width() + sound_marks
}

/// Length in bytes of the longest prefix of `text` that fits into `width` cells.
pub fn fitting(text: &str, width: usize) -> usize {
    let mut used = 0;
    clusters(text)
        .find(|(_, grapheme)| {
            used += cells(grapheme);
            used > width
        })
        .map_or(text.len(), |(end, _)| end)
}

/// A line cut to `width` cells, with `…` as its last cell if it was cut.
pub fn truncate(line: &str, width: usize) -> Cow<'_, str> {
    if self::width(line) <= width {
        return Cow::Borrowed(line);
    }
    let Some(room) = width.checked_sub(1) else { return Cow::Borrowed("") };
    let mut cut = line[..fitting(line, room)].to_owned();
    cut.push(ELLIPSIS);
    Cow::Owned(cut)
}

/// A line of exactly `width` cells: cut, or filled with spaces on the right.
pub fn pad(line: &str, width: usize) -> String {
    let cut = truncate(line, width);
    let fill = width.saturating_sub(self::width(&cut));
    format!("{cut}{}", " ".repeat(fill))
}

/// As [`pad`], filled on the left.
pub fn pad_left(line: &str, width: usize) -> String {
    let cut = truncate(line, width);
    let fill = width.saturating_sub(self::width(&cut));
    format!("{}{cut}", " ".repeat(fill))
}

/// The rows of a text in an area of `width` cells, as byte ranges in order.
///
/// Line feeds end rows and belong to none; an empty line is an empty row. Lines break at white space, which then
/// belongs to no row, and around wide characters; longer words break anywhere between clusters. White space at the
/// start of a line is kept. A cluster wider than the area has a row of its own. An area without width has no rows.
pub fn wrap(text: &str, width: usize) -> Vec<Range<usize>> {
    let mut rows = Vec::new();
    if width == 0 {
        return rows;
    }
    let mut start = 0;
    for line in text.split('\n') {
        if line.len() <= width && is_simple(line) {
            rows.push(start..start + line.len());
        } else {
            let mut wrapper = Wrapper { width, row: start..start, used: 0, gap: 0..0, rows: &mut rows };
            wrapper.line(line, start);
        }
        start += line.len() + 1;
    }
    rows
}

/// True for printable ASCII only: one byte, one cell.
fn is_simple(text: &str) -> bool {
    text.bytes().all(|b| matches!(b, b' '..=b'~'))
}

/// The grapheme clusters of a text with their offsets. A printable ASCII character followed by another one is a cluster
/// by itself, which is a fast path for most texts.
fn clusters(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..)?;
        let cluster = match rest.as_bytes() {
            [b' '..=b'~'] | [b' '..=b'~', b' '..=b'~', ..] => &rest[..1],
            _ => rest.graphemes(true).next()?,
        };
        let place = at;
        at += cluster.len();
        Some((place, cluster))
    })
}

fn is_space(grapheme: &str) -> bool {
    // A cluster of white space is one character, or CRLF.
    grapheme.len() < 4
        && grapheme.chars().all(|c| c.is_whitespace() && !matches!(c, '\u{a0}' | '\u{202f}' | '\u{2007}'))
}

/// The pieces of a line: a run of white space, a wide character, a run of other characters.
#[derive(Clone, Copy, PartialEq)]
enum Piece {
    Space,
    Wide,
    Word,
}

fn piece(grapheme: &str) -> Piece {
    if is_space(grapheme) {
        Piece::Space
    } else if cells(grapheme) > 1 {
        Piece::Wide
    } else {
        Piece::Word
    }
}

struct Wrapper<'a> {
    width: usize,
    /// The row being filled.
    row: Range<usize>,
    /// Its width in cells.
    used: usize,
    /// White space after the row, which joins it if another piece follows.
    gap: Range<usize>,
    rows: &'a mut Vec<Range<usize>>,
}

impl Wrapper<'_> {
    fn line(&mut self, line: &str, offset: usize) {
        self.gap = offset..offset;
        let mut graphemes = clusters(line).peekable();
        while let Some((start, first)) = graphemes.next() {
            let kind = piece(first);
            let mut end = start + first.len();
            while kind != Piece::Wide
                && let Some((at, next)) = graphemes.next_if(|(_, next)| piece(next) == kind)
            {
                end = at + next.len();
            }
            match kind {
                Piece::Space if start > 0 => self.gap = offset + start..offset + end,
                _ => self.word(&line[start..end], offset + start, line, offset),
            }
        }
        // White space at the end of the line, as much as fits.
        let gap = &line[self.gap.start - offset..self.gap.end - offset];
        self.row.end = self.row.end.max(self.gap.start + fitting(gap, self.width.saturating_sub(self.used)));
        self.rows.push(self.row.clone());
    }

    fn word(&mut self, word: &str, start: usize, line: &str, offset: usize) {
        let gap = width(&line[self.gap.start - offset..self.gap.end - offset]);
        let wide = width(word);
        if self.used + gap + wide <= self.width {
            self.row.end = start + word.len();
            self.used += gap + wide;
        } else {
            if !self.row.is_empty() {
                self.rows.push(self.row.clone());
            }
            self.row = start..start;
            self.used = 0;
            for (at, grapheme) in clusters(word) {
                let wide = cells(grapheme);
                if self.used > 0 && self.used + wide > self.width {
                    self.rows.push(self.row.clone());
                    self.row = start + at..start + at;
                    self.used = 0;
                }
                self.row.end = start + at + grapheme.len();
                self.used += wide;
            }
        }
        self.gap = self.row.end..self.row.end;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rows(text: &str, width: usize) -> Vec<&str> {
        wrap(text, width).into_iter().map(|row| &text[row]).collect()
    }

    #[test]
    fn width_counts_cells() {
        let cases = [("", 0), ("abc", 3), ("日本", 4), ("e\u{301}", 1), ("👩\u{200d}👧", 2), ("ｶﾞ", 3), ("a\u{1b}b", 2)];
        for (text, cells) in cases {
            assert_eq!(width(text), cells, "{text:?}");
        }
    }

    #[test]
    fn cut_and_padded_lines_have_the_width_asked_for() {
        let cases = [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("日本語", 4, "日…"),
            ("日本", 1, "…"),
            ("abc", 0, ""),
            ("", 0, ""),
        ];
        for (text, width, expected) in cases {
            assert_eq!(truncate(text, width), expected, "{text:?} in {width}");
        }
        assert_eq!(
            (pad("日本語", 4), pad_left("7", 3), pad("", 0)),
            ("日… ".to_owned(), "  7".to_owned(), String::new())
        );
    }

    #[test]
    fn lines_wrap_at_spaces_and_long_words_anywhere() {
        let cases: [(&str, usize, &[&str]); 13] = [
            ("", 5, &[""]),
            ("one two three", 7, &["one two", "three"]),
            ("one two three", 8, &["one two", "three"]),
            ("one   two", 4, &["one", "two"]),
            ("abcdefgh", 3, &["abc", "def", "gh"]),
            ("a bcdefg h", 3, &["a", "bcd", "efg", "h"]),
            ("a\n\nb\n", 5, &["a", "", "b", ""]),
            ("  indented line", 10, &["  indented", "line"]),
            ("日本語です", 5, &["日本", "語で", "す"]),
            ("see 日本語", 6, &["see 日", "本語"]),
            ("日本", 1, &["日", "本"]),
            ("ab  ", 3, &["ab "]),
            ("anything", 0, &[]),
        ];
        for (text, width, expected) in cases {
            assert_eq!(rows(text, width), expected, "{text:?} in {width}");
        }
    }

    proptest! {
        #[test]
        fn clusters_are_grapheme_clusters(text in "[a \n\r日é👩\u{200d}\u{301}ｶﾞ🇩🇪\u{600}각ᄀ]{0,30}") {
            prop_assert!(clusters(&text).eq(text.grapheme_indices(true)));
        }

        #[test]
        fn rows_fit_keep_order_split_no_cluster_and_lose_only_white_space(
            text in "[a-c \n日é👩\u{200d}\u{301}ｶﾞ\t]{0,40}", wide in 0_usize..12,
        ) {
            let rows = wrap(&text, wide);
            let borders: Vec<usize> = text.grapheme_indices(true).map(|(at, _)| at).chain([text.len()]).collect();
            let mut end = 0;
            for row in &rows {
                prop_assert!(end <= row.start && row.start <= row.end);
                prop_assert!(text[end..row.start].chars().all(char::is_whitespace));
                prop_assert!(borders.contains(&row.start) && borders.contains(&row.end));
                let part = &text[row.clone()];
                prop_assert!(width(part) <= wide || part.graphemes(true).filter(|g| cells(g) > 0).count() == 1);
                end = row.end;
            }
            prop_assert!(wide == 0 || text[end..].chars().all(char::is_whitespace));
            prop_assert_eq!(rows.is_empty(), wide == 0);
        }

        #[test]
        fn cut_and_padded_text_never_exceeds_its_width(text in any::<String>(), wide in 0_usize..20) {
            prop_assert!(width(&truncate(&text, wide)) <= wide);
            prop_assert_eq!(width(&pad(&text, wide)), wide);
            prop_assert_eq!(width(&pad_left(&text, wide)), wide);
            prop_assert!(text.is_char_boundary(fitting(&text, wide)));
        }
    }
}
