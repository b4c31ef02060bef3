//! Regular expressions as values: equal, ordered and hashed by their source.

use std::hash::{Hash, Hasher};

/// A compiled regular expression.
#[derive(Debug)]
pub struct Pattern {
    source: Box<str>,
    regex: fancy_regex::Regex,
}

impl Pattern {
    /// A pattern from its source and what it was compiled to. Guards on size and cost are the caller's.
    pub fn new(source: &str, regex: fancy_regex::Regex) -> Self {
        Self { source: source.into(), regex }
    }

    /// The text it was compiled from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// What searches.
    pub fn regex(&self) -> &fancy_regex::Regex {
        &self.regex
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
