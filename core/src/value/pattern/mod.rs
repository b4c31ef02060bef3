//! Regular expressions as values: compared, ordered and hashed by their source.
//!
//! In: a source text. Out: a program that searches texts by backtracking, in steps that are counted and can be
//! interrupted. It must never search without counting, and must follow Perl's rules.

mod class;
mod emit;
mod perl;
mod program;
mod search;

use std::hash::{Hash, Hasher};

pub use program::BadPattern;
pub(crate) use program::Program;
pub(crate) use search::{Filled, Found, Search, Stuck};

/// A compiled regular expression.
#[derive(Debug)]
pub struct Pattern {
    source: Box<str>,
    program: Program,
}

impl Pattern {
    /// Compiles a source. The caller limits its length.
    pub fn new(source: &str) -> Result<Self, BadPattern> {
        Ok(Self { source: source.into(), program: Program::new(source)? })
    }

    /// The text it was compiled from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The compiled program.
    pub(crate) fn program(&self) -> &Program {
        &self.program
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Eq for Pattern {}

impl PartialOrd for Pattern {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Pattern {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.source.cmp(&other.source)
    }
}

impl Hash for Pattern {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.source.hash(state);
    }
}

#[cfg(test)]
mod tests;
