//! Directions, ends and steps in lists, as used by all screens.

/// From one place to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Direction {
    /// To the next one.
    #[default]
    Forward,
    /// To the one before.
    Back,
}

/// One of the two ends of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Edge {
    /// Its beginning.
    Start,
    /// Its end.
    End,
}

/// A step of the selection in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leap {
    /// One line.
    Up,
    /// One line.
    Down,
    /// As many lines as are seen, less one.
    PageUp,
    /// As many lines as are seen, less one.
    PageDown,
    /// To the first line.
    Top,
    /// To the last line.
    Bottom,
}

impl Leap {
    /// Number of lines to move when `seen` are visible; negative is up. The caller clamps it to the list.
    pub fn lines(self, seen: usize) -> isize {
        let page = isize::try_from(seen).unwrap_or(isize::MAX).saturating_sub(1).max(1);
        match self {
            Self::Up => -1,
            Self::Down => 1,
            Self::PageUp => -page,
            Self::PageDown => page,
            Self::Top => isize::MIN,
            Self::Bottom => isize::MAX,
        }
    }

    /// The line to select in a list of `count` lines of which `seen` are visible, from the one at `from`.
    pub fn within(self, from: usize, count: usize, seen: usize) -> usize {
        from.saturating_add_signed(self.lines(seen)).min(count.saturating_sub(1))
    }
}
