//! Which way something goes, in words that mean the same everywhere.

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
    /// Where it begins.
    Start,
    /// Where it ends.
    End,
}
