//! Where the readable lines of a session stand in its file.
//!
//! In: lines in order. Out: their bytes by number. A long session has many millions of them, so that each takes eight bytes.

use std::collections::BTreeMap;
use std::ops::Range;

/// The first byte of every readable line. A line ends where the next one begins, but before damage.
#[derive(Debug, Default)]
pub(super) struct Lines {
    starts: Vec<u64>,
    /// Ends of the lines behind which something stands that could not be read.
    ends: BTreeMap<usize, u64>,
    /// Where the last line ends.
    end: u64,
}

impl Lines {
    /// Takes the next line: its bytes, without the line end.
    pub(super) fn push(&mut self, bytes: Range<u64>) {
        if let Some(last) = self.starts.len().checked_sub(1)
            && self.end + 1 != bytes.start
        {
            self.ends.insert(last, self.end);
        }
        self.starts.push(bytes.start);
        self.end = bytes.end;
    }

    /// No more will come.
    pub(super) fn close(&mut self) {
        self.starts.shrink_to_fit();
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    /// The bytes of the line at this place, without the line end.
    pub(super) fn get(&self, place: usize) -> Option<Range<u64>> {
        let start = *self.starts.get(place)?;
        let before_next = || self.starts.get(place + 1).map(|next| next - 1);
        Some(start..self.ends.get(&place).copied().or_else(before_next).unwrap_or(self.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_keeps_its_bytes_whatever_stands_behind_it() {
        let bytes = [10..15, 16..16, 17..40, 60..61, 62..99];
        let mut lines = Lines::default();
        for line in bytes.clone() {
            lines.push(line);
        }
        lines.close();
        assert_eq!((0..lines.len()).filter_map(|place| lines.get(place)).collect::<Vec<_>>(), bytes);
        assert_eq!(lines.get(5), None);
    }
}
