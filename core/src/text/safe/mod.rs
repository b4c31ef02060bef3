//! Text that is safe to draw: the type that views require.
//!
//! In: any external text (replies, tool results, file names, errors). Out: [`SafeText`], without control characters
//! except the line feed, terminal sequences, and characters that hide or reorder others. It must never be made from
//! text of unknown origin except by one of the three sanitizing constructors.
//!
//! *Rich* views remove everything that is not text ([`SafeText::multi_line`], [`SafeText::single_line`]); *raw* and
//! *wire* views show it as visible pictures ([`SafeText::escape_controls`]). The same rules apply to terminal titles,
//! links, the clipboard, notifications and every export.

mod chars;
mod scan;

use std::borrow::Cow;

use scan::NeutralChars;

/// Tab stops of sanitized text, in columns.
pub const TAB_COLUMNS: usize = 4;

/// True for a character that hides, reorders or smuggles text. Control characters are not included.
pub fn hides(c: char) -> bool {
    chars::is_hidden(c)
}

/// Text that can be written unchanged to a terminal or an export.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SafeText(Cow<'static, str>);

impl SafeText {
    /// Text of the program itself. The only constructor that does not sanitize, so it accepts literals only.
    pub const fn literal(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }

    /// Removes everything that is not text; keeps line feeds and writes tabs as spaces (stops every
    /// [`TAB_COLUMNS`] columns). CRLF, lone CR, VT, FF, NEL and the Unicode line separators become line feeds.
    pub fn multi_line(text: &str) -> Self {
        let mut out = String::with_capacity(text.len());
        let mut column = 0;
        for part in NeutralChars::new(text) {
            match part {
                '\n' => {
                    out.push('\n');
                    column = 0;
                }
                '\t' => {
                    let spaces = TAB_COLUMNS - column % TAB_COLUMNS;
                    out.extend(std::iter::repeat_n(' ', spaces));
                    column += spaces;
                }
                c => {
                    out.push(c);
                    column += unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
                }
            }
        }
        Self(Cow::Owned(out))
    }

    /// Removes everything that is not text and writes it on one line: line breaks and tabs become one space each.
    pub fn single_line(text: &str) -> Self {
        let flat = |c| if matches!(c, '\n' | '\t') { ' ' } else { c };
        Self(Cow::Owned(NeutralChars::new(text).map(flat).collect()))
    }

    /// Shows the characters that `multi_line` and `single_line` remove or replace: `␛ ␉ ␍ ␀` and similar for control
    /// characters, `·U+202E·` for C1 controls and characters that hide or reorder others. Only line feeds are unchanged;
    /// nothing is lost.
    pub fn escape_controls(text: &str) -> Self {
        let mut out = String::with_capacity(text.len());
        let mut last = None;
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            if c == '\n' || chars::is_plain(c, last, rest.clone().next()) {
                out.push(c);
                last = Some(c);
            } else {
                chars::push_picture(&mut out, c);
                last = None;
            }
        }
        Self(Cow::Owned(out))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The lines without their line feeds; an empty text has one empty line.
    pub fn lines(&self) -> impl Iterator<Item = Self> {
        self.0.split('\n').map(|line| Self(Cow::Owned(line.to_owned())))
    }

    /// The part of the text in this byte range; empty for an invalid range.
    #[must_use]
    pub fn slice(&self, range: std::ops::Range<usize>) -> Self {
        Self(Cow::Owned(self.0.get(range).unwrap_or_default().to_owned()))
    }

    /// Cut to `width` cells as one line, see [`super::width::truncate`].
    #[must_use]
    pub fn truncated(&self, width: usize) -> Self {
        Self(Cow::Owned(super::width::truncate(&self.0, width).into_owned()))
    }

    /// Appends safe text.
    pub fn push(&mut self, more: &Self) {
        self.0.to_mut().push_str(&more.0);
    }

    /// Joins all parts with `separator`.
    pub fn join(parts: impl IntoIterator<Item = Self>, separator: &'static str) -> Self {
        let mut out = Self::default();
        for (place, part) in parts.into_iter().enumerate() {
            if place > 0 {
                out.0.to_mut().push_str(separator);
            }
            out.push(&part);
        }
        out
    }

    /// The text as a plain string.
    pub fn into_string(self) -> String {
        self.0.into_owned()
    }
}

impl std::ops::Deref for SafeText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for SafeText {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for SafeText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.0)
    }
}

/// Concatenates the parts.
impl FromIterator<SafeText> for SafeText {
    fn from_iter<I: IntoIterator<Item = Self>>(parts: I) -> Self {
        Self::join(parts, "")
    }
}

#[cfg(test)]
mod tests;
