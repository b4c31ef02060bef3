//! Sets of characters: a bitmap for ASCII, ranges for the rest.

use regex_syntax::hir::{Class as Ranges, HirKind};

/// A set of characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Class {
    ascii: u128,
    /// Ranges beyond ASCII, sorted, both ends included.
    rest: Box<[(char, char)]>,
}

impl Class {
    /// The characters that an expression for one character matches; `None` for any other expression.
    pub(super) fn of(expression: &str) -> Option<Self> {
        let parsed = regex_syntax::Parser::new().parse(expression).ok()?;
        let mut ranges = Vec::new();
        match parsed.kind() {
            HirKind::Class(Ranges::Unicode(class)) => {
                ranges.extend(class.ranges().iter().map(|range| (range.start(), range.end())));
            }
            HirKind::Class(Ranges::Bytes(class)) => {
                ranges.extend(class.ranges().iter().map(|range| (char::from(range.start()), char::from(range.end()))));
            }
            HirKind::Literal(literal) => {
                let mut chars = std::str::from_utf8(&literal.0).ok()?.chars();
                let (Some(only), None) = (chars.next(), chars.next()) else { return None };
                ranges.push((only, only));
            }
            _ => return None,
        }
        Some(Self::from_ranges(ranges))
    }

    fn from_ranges(ranges: Vec<(char, char)>) -> Self {
        let mut ascii = 0;
        for (first, last) in &ranges {
            for code in (*first as u32)..=(*last as u32).min(127) {
                ascii |= 1_u128 << code;
            }
        }
        Self { ascii, rest: ranges.into_iter().filter(|(_, last)| !last.is_ascii()).collect() }
    }

    /// The number of ranges beyond ASCII.
    pub(super) fn ranges(&self) -> usize {
        self.rest.len()
    }

    /// True if the character is in the set.
    #[inline]
    pub(super) fn contains(&self, c: char) -> bool {
        if c.is_ascii() {
            return self.ascii >> (c as u32) & 1 == 1;
        }
        let after = self.rest.partition_point(|(first, _)| *first <= c);
        after > 0 && self.rest[after - 1].1 >= c
    }
}
