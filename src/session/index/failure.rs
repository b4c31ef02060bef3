//! A failure in a session, and the failures of a session as far as the index stores them.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::event::Address;

/// Maximum number of failures stored per session; of each kind that exceeds it the first one is stored, too.
const MAX_FAILURES: usize = 1_000;

/// A failure in a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The stable reason.
    pub reason: String,
    /// The failed part: the path in an answer, with `*` for item numbers, or the name of a tool; empty for the whole.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The turn or call; for a run that failed by itself, its last turn.
    pub at: Address,
    /// The start of the error's message, on one line; empty where the reason is all that is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Number of further failures of this kind of which only the number is stored.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repeated: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Failure {
    /// The number of failures that it is for.
    pub fn count(&self) -> usize {
        1 + self.repeated
    }

    /// The failed part, the message and the stable reason in one line; a name is highlighted: the failed part, else the reason.
    pub(super) fn excerpt(&self) -> (String, (usize, usize)) {
        let Self { reason, path, message, .. } = self;
        match (path.is_empty(), message.is_empty()) {
            (true, true) => (reason.clone(), (0, reason.len())),
            (true, false) => (format!("{reason}: {message}"), (0, reason.len())),
            (false, true) => (format!("{path}: {reason}"), (0, path.len())),
            (false, false) => (format!("{path}: {message} ({reason})"), (0, path.len())),
        }
    }
}

/// The failures that are stored.
pub(super) fn limited(failures: Vec<Failure>) -> Vec<Failure> {
    first_of_each(failures, MAX_FAILURES)
}

/// The first failures and the first one of each kind; the others are counted in the last one of their kind.
fn first_of_each(failures: Vec<Failure>, most: usize) -> Vec<Failure> {
    if failures.len() <= most {
        return failures;
    }
    let mut stored: Vec<Failure> = Vec::with_capacity(most);
    let mut last: HashMap<(String, String), usize> = HashMap::new();
    for failure in failures {
        let kind = (failure.reason.clone(), failure.path.clone());
        match last.get(&kind) {
            Some(place) if stored.len() >= most => stored[*place].repeated += failure.count(),
            _ => {
                last.insert(kind, stored.len());
                stored.push(failure);
            }
        }
    }
    stored
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_that_exceed_the_limit_are_counted_and_each_kind_is_stored() {
        let at = |turn: u32| Address::from(format!("r0/t{turn}").as_str());
        let failure = |reason: &str, turn: u32| Failure {
            reason: reason.to_owned(),
            path: String::new(),
            at: at(turn),
            message: String::new(),
            repeated: 0,
        };
        let mut all: Vec<Failure> = (1..=5).map(|turn| failure("no_code_found", turn)).collect();
        all.push(failure("max_turns_exceeded", 5));
        let stored: Vec<_> =
            first_of_each(all, 3).into_iter().map(|f| (f.reason.clone(), f.at.clone(), f.count())).collect();
        let code = |turn: u32, count: usize| ("no_code_found".to_owned(), at(turn), count);
        assert_eq!(stored, [code(1, 1), code(2, 1), code(3, 3), ("max_turns_exceeded".to_owned(), at(5), 1)]);
    }
}
