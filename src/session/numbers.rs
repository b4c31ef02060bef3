//! The numbers of the events of a session: each follows the one before it.
//!
//! In: the numbers that stand in a file, and its lines that are no events. Out: what is not in its place. Whoever reads a file uses this, so that
//! all agree on what is missing in it.

/// Where the numbering of events stands.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Numbers {
    /// Number of the last event read.
    last: u64,
    /// Lines after it that are no events, and may have been.
    unread: u64,
}

/// Where an event stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Behind the last one: the numbers that are missing may be those of unreadable lines between them.
    Next { missing: u64 },
    /// So many numbers are missing after the last one, more than there are unreadable lines between them.
    Gap { last: u64, missing: u64, unread: u64 },
    /// The number is not above the last one.
    Back { last: u64, unread: u64 },
}

impl Numbers {
    /// A line that is no event. It may have been one.
    pub(super) fn skip(&mut self) {
        self.unread += 1;
    }

    /// Lines behind the last event that are no events.
    pub(super) fn unread(&self) -> u64 {
        self.unread
    }

    /// Takes the event of this number.
    pub(super) fn take(&mut self, seq: u64) -> Place {
        let Self { last, unread } = std::mem::replace(self, Self { last: seq, unread: 0 });
        if seq <= last {
            return Place::Back { last, unread };
        }
        let missing = seq - last - 1;
        if missing <= unread { Place::Next { missing } } else { Place::Gap { last, missing, unread } }
    }
}

impl Place {
    /// How many events are missing before this one, as far as that is known.
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
    fn as_many_may_be_missing_as_lines_are_unreadable() {
        let after = |unread: usize, seq: u64| {
            let mut numbers = Numbers::default();
            assert_eq!(numbers.take(1), Place::Next { missing: 0 });
            (0..unread).for_each(|_| numbers.skip());
            numbers.take(seq)
        };
        assert_eq!([after(0, 2), after(2, 2)], [Place::Next { missing: 0 }; 2]);
        assert_eq!([after(2, 3), after(2, 4)], [1, 2].map(|missing| Place::Next { missing }));
        assert_eq!(after(0, 3), Place::Gap { last: 1, missing: 1, unread: 0 });
        assert_eq!(after(2, 5), Place::Gap { last: 1, missing: 3, unread: 2 });
        assert_eq!(after(3, 0), Place::Back { last: 1, unread: 3 });
    }

    #[test]
    fn no_number_is_too_large() {
        let mut numbers = Numbers::default();
        assert!(matches!(numbers.take(u64::MAX), Place::Gap { .. }));
        assert_eq!(numbers.take(u64::MAX), Place::Back { last: u64::MAX, unread: 0 });
    }
}
