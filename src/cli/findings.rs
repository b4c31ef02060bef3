//! Findings of a verification as `--json` prints them.

use serde::Serialize;

use crate::event::Address;
use crate::replay::{Finding, ReplayOutcome};

/// A finding as `--json` prints it.
#[derive(Serialize)]
pub(super) struct FindingJson<'a> {
    line: Option<u64>,
    address: Option<&'a Address>,
    check: &'static str,
    message: &'a str,
}

impl<'a> FindingJson<'a> {
    pub(super) fn new(finding: &'a Finding) -> Self {
        let Finding { line, address, check, message } = finding;
        Self { line: *line, address: address.as_ref(), check: check.name(), message }
    }
}

/// What `--json` calls an outcome.
pub(super) fn outcome_name(outcome: &ReplayOutcome) -> &'static str {
    match outcome {
        ReplayOutcome::Identical => "identical",
        ReplayOutcome::Unfinished { .. } => "unfinished",
        ReplayOutcome::Diverged(_) => "diverged",
    }
}
