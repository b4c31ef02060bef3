//! Spans (byte ranges) and positions (line and column, 1-based, columns in characters) in a source text.

/// A byte range `start..end` in a source text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The range `start..end`.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The part of `source` that this span covers; empty for an invalid range.
    pub fn text(self, source: &str) -> &str {
        source.get(self.start..self.end).unwrap_or_default()
    }

    /// The position of the span's start.
    pub fn line_col(self, source: &str) -> LineCol {
        LineCol::of(source, self.start)
    }
}

/// A 1-based position; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LineCol {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl LineCol {
    /// Position of byte `offset`; an offset past the end (or inside a character) is moved back to the nearest valid
    /// one.
    pub fn of(source: &str, offset: usize) -> Self {
        let mut at = offset.min(source.len());
        while !source.is_char_boundary(at) {
            at -= 1;
        }
        let before = &source[..at];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        Self { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
    }
}

impl std::fmt::Display for LineCol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_and_never_panic() {
        let text = "aé\nb😀c";
        assert_eq!(LineCol::of(text, 0), LineCol { line: 1, column: 1 });
        assert_eq!(LineCol::of(text, 3), LineCol { line: 1, column: 3 });
        assert_eq!(LineCol::of(text, 9), LineCol { line: 2, column: 3 });
        assert_eq!(LineCol::of(text, 7), LineCol { line: 2, column: 2 });
        assert_eq!(LineCol::of(text, 99), LineCol { line: 2, column: 4 });
    }
}
