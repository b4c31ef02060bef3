//! What fails in sessions, grouped: which reason, of what, how often, in how many sessions, and where to look at it.
//!
//! In: a query. Out: groups, the most frequent first. It knows only what the index keeps.

use std::collections::{HashMap, HashSet};

use super::{OpenError, Workbench};
use crate::event::Address;
use crate::session::Summary;
use crate::session::index::{Filter, FoundSession, Query};

/// Failures of one kind.
#[derive(Debug, Clone)]
pub struct FailureGroup {
    /// The stable reason.
    pub reason: String,
    /// What of: the path in an answer with `*` for numbers of items, or the name of a tool; empty where it is of the whole.
    pub path: String,
    /// How often it happened.
    pub count: usize,
    /// In how many sessions.
    pub sessions: usize,
    /// The newest session in which it happened.
    pub newest: Summary,
    /// The first turn or call of it there.
    pub at: Address,
}

/// What fails in the sessions of a query.
#[derive(Debug, Clone, Default)]
pub struct FailureReport {
    /// The groups, the most frequent first.
    pub groups: Vec<FailureGroup>,
    /// Sessions that were looked at.
    pub sessions: usize,
    /// What is worth knowing about the index, in words.
    pub notices: Vec<String>,
}

impl Workbench {
    /// Groups what failed in the sessions that a query finds; a query for reasons leaves the others out. Reads files, and writes those
    /// of the index.
    pub fn failures(&self, query: &Query) -> Result<FailureReport, OpenError> {
        let report = self.search(query)?;
        let asked: Vec<_> = query.filters.iter().filter_map(Filter::reason).collect();
        let counts = |reason: &str| asked.is_empty() || asked.iter().any(|words| words.matches(reason));
        let sessions = report.found.len();
        Ok(FailureReport { groups: grouped(report.found, counts), sessions, notices: report.notices })
    }
}

/// Groups the failures of sessions, newest first, whose reason counts.
fn grouped(found: Vec<FoundSession>, counts: impl Fn(&str) -> bool) -> Vec<FailureGroup> {
    let mut groups: Vec<FailureGroup> = Vec::new();
    let mut places: HashMap<(String, String), usize> = HashMap::new();
    for FoundSession { summary, failures, .. } in found {
        let mut here = HashSet::new();
        for failure in failures.into_iter().filter(|failure| counts(&failure.reason)) {
            let (reason, path, at) = (failure.reason, failure.path, failure.at);
            let place = *places.entry((reason.clone(), path.clone())).or_insert_with(|| {
                groups.push(FailureGroup { reason, path, count: 0, sessions: 0, newest: summary.clone(), at });
                groups.len() - 1
            });
            groups[place].count += 1;
            groups[place].sessions += usize::from(here.insert(place));
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse((group.count, group.sessions)));
    groups
}
