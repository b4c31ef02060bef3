//! Failures in sessions, grouped by reason and failed part: counts, numbers of sessions, and places to look at.
//!
//! In: a query. Out: groups, the most frequent first. It knows only what the index keeps.

use std::collections::HashMap;

use super::{OpenError, Workbench};
use crate::event::Address;
use crate::session::index::{Failure, FoundSession, Query};
use crate::session::{SessionKey, Summary};

/// Failures of one kind.
#[derive(Debug, Clone)]
pub struct FailureGroup {
    /// The stable reason.
    pub reason: String,
    /// The failed part: the path in an answer, with `*` for item numbers, or the name of a tool; empty for the whole.
    pub path: String,
    /// Number of occurrences.
    pub count: usize,
    /// Number of sessions in which it happened.
    pub sessions: usize,
    /// The newest session in which it happened.
    pub newest: Summary,
    /// The first turn or call of it there.
    pub at: Address,
    /// Places where it happened, newest session first; at most `MAX_PLACES` of each session.
    pub places: Vec<FailurePlace>,
}

/// Places of one kind of failure that are kept of a session, so that the other sessions are listed, too.
const MAX_PLACES: usize = 100;

/// A turn or call that failed.
#[derive(Debug, Clone, PartialEq)]
pub struct FailurePlace {
    /// Its session.
    pub session: SessionKey,
    /// The agent of the session.
    pub agent: String,
    /// Start of the session, Unix time in ms.
    pub created_ms: i64,
    /// The turn or call.
    pub at: Address,
    /// The message of the error; empty where it is not known.
    pub message: String,
}

/// Failures in the sessions of a query.
#[derive(Debug, Clone, Default)]
pub struct FailureReport {
    /// The groups: the user's own sessions before those of the examples, the most frequent first.
    pub groups: Vec<FailureGroup>,
    /// Sessions that were looked at.
    pub sessions: usize,
    /// Notices about the index, in words.
    pub notices: Vec<String>,
}

impl Workbench {
    /// Groups what failed in the sessions that a query finds; a query for reasons leaves the others out. Reads files, and writes those
    /// of the index.
    pub fn failures(&self, query: &Query) -> Result<FailureReport, OpenError> {
        let report = self.search(query)?;
        let sessions = report.found.len();
        Ok(FailureReport {
            groups: grouped(report.found, |failure| query.selects(failure)),
            sessions,
            notices: report.notices,
        })
    }
}

/// Groups the failures of sessions, newest first, whose reason counts.
fn grouped(found: Vec<FoundSession>, counts: impl Fn(&Failure) -> bool) -> Vec<FailureGroup> {
    let mut groups: Vec<FailureGroup> = Vec::new();
    let mut places: HashMap<(String, String), usize> = HashMap::new();
    for FoundSession { summary, failures, .. } in found {
        let mut here: HashMap<usize, usize> = HashMap::new();
        for failure in failures.into_iter().filter(|failure| counts(failure)) {
            let count = failure.count();
            let Failure { reason, path, at, message, .. } = failure;
            let place = *places.entry((reason.clone(), path.clone())).or_insert_with(|| {
                let (newest, at, places) = (summary.clone(), at.clone(), Vec::new());
                groups.push(FailureGroup { reason, path, count: 0, sessions: 0, newest, at, places });
                groups.len() - 1
            });
            let seen = here.entry(place).or_default();
            groups[place].count += count;
            groups[place].sessions += usize::from(*seen == 0);
            *seen += 1;
            if *seen <= MAX_PLACES {
                let (agent, created_ms) = (summary.agent.clone(), summary.created_ms);
                groups[place].places.push(FailurePlace { session: summary.key(), agent, created_ms, at, message });
            }
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse((!group.newest.example, group.count, group.sessions)));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_session_has_places_and_all_failures_count() {
        let found = |id: &str, turns: u32, repeated: usize| {
            let failure = |turn: u32| Failure {
                reason: "no_code_found".to_owned(),
                path: String::new(),
                at: Address::from(format!("r0/t{turn}").as_str()),
                message: String::new(),
                repeated: if turn == turns { repeated } else { 0 },
            };
            let summary = Summary { id: id.to_owned(), ..Summary::default() };
            FoundSession { summary, matches: Vec::new(), count: 0, failures: (1..=turns).map(failure).collect() }
        };
        let groups = grouped(vec![found("new", 150, 30), found("old", 2, 0)], |_| true);
        let [group] = groups.as_slice() else { panic!("{groups:?}") };
        assert_eq!((group.count, group.sessions, group.places.len()), (182, 2, MAX_PLACES + 2));
        assert_eq!(group.places.last().map(|place| place.at.as_str()), Some("r0/t2"));
    }
}
