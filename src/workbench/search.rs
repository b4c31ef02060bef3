//! Finds sessions by their texts and their properties: the user's own and the examples.
//!
//! In: a query. Out: sessions with the positions of the words.

use std::sync::{LazyLock, Mutex, PoisonError};

use super::{OpenError, Workbench, example_sessions};
use crate::port::SystemClock;
use crate::session::Summary;
use crate::session::index::{Catalogue, FoundSession, Query, QueryError, TermSyntax, example_summaries};

/// The examples in the list, made once: they are part of the program.
static LISTED_EXAMPLES: LazyLock<Vec<Summary>> = LazyLock::new(|| example_summaries(example_sessions()));

/// The index of the examples, made at the first search.
static SEARCHED_EXAMPLES: LazyLock<Mutex<Catalogue>> =
    LazyLock::new(|| Mutex::new(Catalogue::of_examples(example_sessions())));

/// Result of a search.
#[derive(Debug, Clone, Default)]
pub struct SearchReport {
    /// The sessions, newest first; the examples after the user's own.
    pub found: Vec<FoundSession>,
    /// Sessions that were looked at.
    pub searched: usize,
    /// Notices about the index and the marks, in words.
    pub notices: Vec<String>,
}

/// Error of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchError {
    /// The query is invalid.
    Query(QueryError),
    /// The sessions cannot be read.
    Open(OpenError),
}

impl std::fmt::Display for SearchError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Query(error) => error.fmt(f),
            Self::Open(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SearchError {}

impl From<QueryError> for SearchError {
    fn from(error: QueryError) -> Self {
        Self::Query(error)
    }
}

impl From<OpenError> for SearchError {
    fn from(error: OpenError) -> Self {
        Self::Open(error)
    }
}

impl Workbench {
    /// Reads a query; days and `7d` count from now.
    pub fn query(&self, text: &str, reading: TermSyntax) -> Result<Query, QueryError> {
        Query::parse(text, reading, SystemClock.now())
    }

    /// Finds sessions. Reads files, and writes those of the index.
    pub fn search(&self, query: &Query) -> Result<SearchReport, OpenError> {
        let marks = self.marks()?;
        let mut own = Catalogue::open(&self.folders.sessions_dir);
        let mut found = own.find(query, &marks);
        // The examples are found by filters as what they are.
        found.extend(SEARCHED_EXAMPLES.lock().unwrap_or_else(PoisonError::into_inner).find(query, &marks));
        let (searched, partial) = own.counts();
        let mut notices = std::mem::take(&mut own.notices);
        if partial > 0 {
            notices.push(format!("of {partial} very large sessions only the beginning of the text was searched"));
        }
        if !marks.unreadable.is_empty() {
            let lines: Vec<String> = marks.unreadable.iter().map(ToString::to_string).collect();
            notices.push(format!("lines of the marks that cannot be read: {}", lines.join(", ")));
        }
        Ok(SearchReport { found, searched: searched + example_sessions().len(), notices })
    }

    /// The user's sessions, newest first, and then the examples.
    pub fn sessions(&self) -> Vec<Summary> {
        let own = Catalogue::open(&self.folders.sessions_dir);
        own.notices.iter().for_each(|notice| tracing::warn!(notice, "the index of the sessions"));
        let mut all = own.summaries();
        all.extend(LISTED_EXAMPLES.iter().cloned());
        all
    }
}
