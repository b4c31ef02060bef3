//! Byte ranges of the readable lines of a session file.
//!
//! In: lines in order. Out: their byte ranges by index. A long session has millions of lines, so each takes eight
//! bytes.

use std::collections::BTreeMap;
use std::ops::Range;

/// Offset of every readable line. A line ends where the next one starts, except before damage.
#[derive(Debug, Default)]
pub(super) struct Lines {
    starts: Vec<u64>,
    /// Ends of the lines that are followed by unreadable bytes.
    ends: BTreeMap<usize, u64>,
    /// End of the last line.
    end: u64,
}

impl Lines {
    /// Adds the next line: its bytes without the line end.
    pub(super) fn push(&mut self, bytes: Range<u64>) {
        if let Some(last) = self.starts.len().checked_sub(1)
            && self.end + 1 != bytes.start
        {
            self.ends.insert(last, self.end);
        }
        self.starts.push(bytes.start);
        self.end = bytes.end;
    }

    /// Releases spare memory after the last line.
    pub(super) fn shrink(&mut self) {
        self.starts.shrink_to_fit();
    }

    /// Returns the number of lines.
    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Returns the bytes of a line without its line end.
    pub(super) fn get(&self, index: usize) -> Option<Range<u64>> {
        let start = *self.starts.get(index)?;
        let before_next = || self.starts.get(index + 1).map(|next| next - 1);
        Some(start..self.ends.get(&index).copied().or_else(before_next).unwrap_or(self.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_ranges_are_exact_before_unreadable_bytes() {
        let bytes = [10..15, 16..16, 17..40, 60..61, 62..99];
        let mut lines = Lines::default();
        for line in bytes.clone() {
            lines.push(line);
        }
        lines.shrink();
        assert_eq!((0..lines.len()).filter_map(|index| lines.get(index)).collect::<Vec<_>>(), bytes);
        assert_eq!(lines.get(5), None);
    }
}
