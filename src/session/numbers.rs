//! Checks the sequence numbers of a session's events: each is one higher than the previous one.
//!
//! In: the numbers in a file, and its lines that are not events. Out: gaps and repetitions. Every reader of session
//! files uses this check, so that all report the same gaps.

/// State of the sequence check.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SequenceNumbers {
    /// Number of the last event.
    last: u64,
    /// Unreadable lines after it, each of which may have been an event.
    unread: u64,
}

/// Result of checking one sequence number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SequenceCheck {
    /// The number follows the last one; unreadable lines between them account for the missing numbers.
    Next { missing: u64 },
    /// More numbers are missing than there are unreadable lines.
    Gap { last: u64, missing: u64, unread: u64 },
    /// The number is not higher than the last one.
    Back { last: u64, unread: u64 },
}

impl SequenceNumbers {
    /// Counts an unreadable line.
    pub(super) fn skip(&mut self) {
        self.unread += 1;
    }

    /// Returns the number of unreadable lines after the last event.
    pub(super) fn unread(&self) -> u64 {
        self.unread
    }

    /// Checks the number of the next event.
    pub(super) fn check(&mut self, seq: u64) -> SequenceCheck {
        let Self { last, unread } = std::mem::replace(self, Self { last: seq, unread: 0 });
        if seq <= last {
            return SequenceCheck::Back { last, unread };
        }
        let missing = seq - last - 1;
        if missing <= unread { SequenceCheck::Next { missing } } else { SequenceCheck::Gap { last, missing, unread } }
    }
}

impl SequenceCheck {
    /// Returns how many events are known to be missing before this one.
    pub(super) fn missing(self) -> u64 {
        match self {
            Self::Next { missing } | Self::Gap { missing, .. } | Self::Back { unread: missing, .. } => missing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreadable_lines_account_for_missing_numbers() {
        let after = |unread: usize, seq: u64| {
            let mut numbers = SequenceNumbers::default();
            assert_eq!(numbers.check(1), SequenceCheck::Next { missing: 0 });
            (0..unread).for_each(|_| numbers.skip());
            numbers.check(seq)
        };
        assert_eq!([after(0, 2), after(2, 2)], [SequenceCheck::Next { missing: 0 }; 2]);
        assert_eq!([after(2, 3), after(2, 4)], [1, 2].map(|missing| SequenceCheck::Next { missing }));
        assert_eq!(after(0, 3), SequenceCheck::Gap { last: 1, missing: 1, unread: 0 });
        assert_eq!(after(2, 5), SequenceCheck::Gap { last: 1, missing: 3, unread: 2 });
        assert_eq!(after(3, 0), SequenceCheck::Back { last: 1, unread: 3 });
    }

    #[test]
    fn the_largest_number_is_accepted() {
        let mut numbers = SequenceNumbers::default();
        assert!(matches!(numbers.check(u64::MAX), SequenceCheck::Gap { .. }));
        assert_eq!(numbers.check(u64::MAX), SequenceCheck::Back { last: u64::MAX, unread: 0 });
    }
}
