//! Regular expressions as values: compared, ordered and hashed by their source.
//!
//! In: a source text. Out: a program that searches texts by backtracking, in steps that are counted and can be
//! interrupted. It must never search without counting, and must follow Perl's rules, or Java's for lines and sets.

mod emit;
mod perl;
mod program;
mod search;

use std::hash::{Hash, Hasher};

pub(crate) use program::Program;
pub use program::RegexError;
pub(crate) use search::{Captures, NonEmpty, Search, SearchError};

/// The rules in which regular expressions differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegexRules {
    /// Lines end with `\n`.
    Perl,
    /// Lines also end with `\r\n`, `\r` and the ends of lines beyond ASCII; `&&[` in a set is an intersection.
    Java,
}

/// A compiled regular expression.
#[derive(Debug)]
pub struct Regex {
    source: Box<str>,
    program: Program,
}

impl Regex {
    /// Compiles a source. The caller limits its length.
    pub fn new(source: &str, rules: RegexRules) -> Result<Self, RegexError> {
        Ok(Self { source: source.into(), program: Program::new(source, rules)? })
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

impl PartialEq for Regex {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Eq for Regex {}

impl PartialOrd for Regex {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Regex {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.source.cmp(&other.source)
    }
}

impl Hash for Regex {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.source.hash(state);
    }
}

#[cfg(test)]
mod tests;
