//! What the reference says of keys: the value that each takes, what counts without it, what it means.
//!
//! In: rows of the tables that read files. Out: lines for a page. It must never be asked when a file is read.

use ptc_core::limits::Limit;

/// What the reference says of a key.
#[derive(Debug, Clone, Copy)]
pub enum About {
    /// What it takes, what counts without it (empty where that is nothing), what it means.
    Said(&'static str, &'static str, &'static str),
    /// A number in the range of a limit; the limit's meaning is the key's.
    Limit(&'static Limit),
}

/// A key in the reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyLine {
    /// Its name.
    pub name: String,
    /// What it takes.
    pub takes: String,
    /// What counts without it; empty where that is nothing.
    pub usual: String,
    /// What it means.
    pub meaning: String,
}

/// A table of a file in the reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyTable {
    /// How it is written, as `[retry]`; empty for the keys outside tables.
    pub title: String,
    /// Its keys.
    pub lines: Vec<KeyLine>,
}

impl KeyTable {
    /// A table of these keys.
    pub fn of(title: impl Into<String>, rows: impl IntoIterator<Item = (&'static str, About)>) -> Self {
        Self { title: title.into(), lines: rows.into_iter().map(|(name, about)| about.line(name)).collect() }
    }
}

impl About {
    /// The line of a key.
    pub fn line(&self, name: &str) -> KeyLine {
        let (takes, usual, meaning) = match self {
            Self::Said(takes, usual, meaning) => ((*takes).to_owned(), (*usual).to_owned(), (*meaning).to_owned()),
            Self::Limit(limit) => {
                let usual = limit.default.map(|usual| usual.to_string()).unwrap_or_default();
                (format!("{} to {} {}", limit.min, limit.max, limit.unit), usual, limit.meaning.to_owned())
            }
        };
        KeyLine { name: name.to_owned(), takes, usual, meaning }
    }
}
