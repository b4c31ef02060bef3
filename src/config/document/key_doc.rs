//! Documentation of configuration keys: type, default and meaning.
//!
//! In: rows of the tables that files are read with. Out: lines of the reference page, and the table that a misplaced key belongs in.

use ptc_core::limits::Limit;

/// Documentation of a key.
#[derive(Debug, Clone, Copy)]
pub enum KeyDoc {
    /// Type, default (empty for none) and meaning.
    Text(&'static str, &'static str, &'static str),
    /// A number in the range of a limit, with the limit's meaning.
    Limit(&'static Limit),
}

/// A key in the reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyLine {
    /// Its name.
    pub name: String,
    /// Its type.
    pub takes: String,
    /// Its default; empty for none.
    pub usual: String,
    /// Its meaning.
    pub meaning: String,
}

/// A table in the reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyTable {
    /// Its heading, such as `[retry]`; empty for top-level keys.
    pub title: String,
    /// Its keys.
    pub lines: Vec<KeyLine>,
}

impl KeyTable {
    /// Creates a table of these keys.
    pub fn of(title: impl Into<String>, rows: impl IntoIterator<Item = (&'static str, KeyDoc)>) -> Self {
        Self { title: title.into(), lines: rows.into_iter().map(|(name, about)| about.line(name)).collect() }
    }
}

impl KeyDoc {
    /// Returns the line of a key.
    pub fn line(&self, name: &str) -> KeyLine {
        let (takes, usual, meaning) = match self {
            Self::Text(takes, usual, meaning) => ((*takes).to_owned(), (*usual).to_owned(), (*meaning).to_owned()),
            Self::Limit(limit) => {
                let usual = limit.default.map(|usual| usual.to_string()).unwrap_or_default();
                (format!("{} to {} {}", limit.min, limit.max, limit.unit), usual, limit.meaning.to_owned())
            }
        };
        KeyLine { name: name.to_owned(), takes, usual, meaning }
    }
}
