//! Verification of a session by itself: whether its events agree with each other and with what this program computes.
//!
//! In: a session. Out: findings with their places, and the report of the strict replay that is part of it. Nothing is
//! written, and no model, tool or user is reached.

mod agents;
mod file;
mod requests;
mod runs;

use std::sync::Arc;

use super::compare::Divergence;
use super::layer::Rules;
use super::{Recording, ReplayOutcome, Report, replay_by, replay_redacted};
use crate::event::{Address, Envelope};
use crate::session::{AttachmentStore, Session};

/// The part of a session that a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// The lines of the file: numbers and data.
    File,
    /// The distances between the lines that end turns. They only help readers.
    Offset,
    /// Agents: text, hash and name, and the steps of a pipeline.
    Agent,
    /// Numbers of turns, messages and attempts.
    Number,
    /// Sums of tokens, requests and turns.
    Sum,
    /// Results of child runs.
    Child,
    /// Request bodies.
    Request,
    /// The replay: what is computed differs, or a recorded input is not used.
    Replay,
}

impl Check {
    /// Returns the name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Offset => "offset",
            Self::Agent => "agent",
            Self::Number => "number",
            Self::Sum => "sum",
            Self::Child => "child",
            Self::Request => "request",
            Self::Replay => "replay",
        }
    }
}

/// Something that is wrong in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The line of the file, from 1; `None` when it is about several lines or about one that is missing.
    pub line: Option<u64>,
    /// The address; `None` when it is about the file.
    pub address: Option<Address>,
    /// The check that found it.
    pub check: Check,
    /// Description of the problem.
    pub message: String,
}

impl Finding {
    fn at(envelope: &Envelope, check: Check, message: String) -> Self {
        Self { line: Some(envelope.seq + 1), address: Some(envelope.address.clone()), check, message }
    }

    fn of_divergence(divergence: &Divergence) -> Self {
        let Divergence { address, line, layer, kind, difference } = divergence;
        let message = format!("{kind} (layer {layer}):\n{difference}");
        Self { line: *line, address: Some(address.clone()), check: Check::Replay, message }
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let line = self.line.map(|line| format!("line {line}"));
        let place =
            line.into_iter().chain(self.address.as_ref().map(ToString::to_string)).collect::<Vec<_>>().join(", ");
        let place = if place.is_empty() { "the file".to_owned() } else { place };
        write!(f, "{place}: {}: {}", self.check.name(), self.message)
    }
}

/// The result of a verification.
#[derive(Debug, Clone)]
pub struct Verification {
    /// The problems, in the order of the file.
    pub findings: Vec<Finding>,
    /// The strict replay; `None` for a session that cannot be replayed, such as an imported one.
    pub replay: Option<Report>,
    /// Number of checked events.
    pub events: usize,
}

impl Verification {
    /// Returns whether anything is wrong.
    pub fn is_faulty(&self) -> bool {
        !self.findings.is_empty()
    }

    /// Returns the outcome of the replay.
    pub fn outcome(&self) -> Option<&ReplayOutcome> {
        self.replay.as_ref().map(|report| &report.outcome)
    }
}

/// Verifies a session: its lines, everything that [`verify_events`] checks, and its replay.
pub async fn verify(session: &Session) -> Verification {
    let mut findings = file::check(session);
    let events: Vec<Envelope> = session.events().collect();
    findings.extend(check_events(session, &events));
    let replay = if findings.iter().any(|found| found.check == Check::File) || session.header.foreign_origin().is_some()
    {
        None
    } else {
        match Recording::of(session) {
            Ok(recording) if session.header.redacted.is_some() => {
                let report = replay_redacted(&Rules::strict(), &Arc::new(recording), None).await;
                findings.extend(differences(&report));
                Some(report)
            }
            Ok(recording) => replayed(&Arc::new(recording), &mut findings).await,
            Err(message) => {
                findings.push(Finding { line: None, address: None, check: Check::Replay, message });
                None
            }
        }
    };
    findings.sort_by_key(|found| found.line.unwrap_or(u64::MAX));
    Verification { findings, replay, events: events.len() }
}

/// Checks that the events of a session agree with each other. Nothing is replayed.
pub fn verify_events(session: &Session) -> Vec<Finding> {
    let events: Vec<Envelope> = session.events().collect();
    check_events(session, &events)
}

fn check_events(session: &Session, events: &[Envelope]) -> Vec<Finding> {
    let mut found = runs::check(events);
    // Where content was removed, hashes are those of the content that was recorded.
    if session.header.redacted.is_none() {
        found.extend(agents::check(events));
        found.extend(requests::check(events, &AttachmentStore::of_session(&session.path)));
    }
    found
}

/// Replays a recording and adds its differences.
async fn replayed(recording: &Arc<Recording>, findings: &mut Vec<Finding>) -> Option<Report> {
    match replay_by(&Rules::strict(), recording, None).await {
        Ok((report, _)) => {
            findings.extend(differences(&report));
            Some(report)
        }
        Err(error) => {
            findings.push(Finding { line: None, address: None, check: Check::Replay, message: error.message });
            None
        }
    }
}

/// The differences of a replay.
fn differences(report: &Report) -> Vec<Finding> {
    match (&report.outcome, report.differences.as_slice()) {
        (ReplayOutcome::Diverged(first), []) => vec![Finding::of_divergence(first)],
        (_, all) => all.iter().map(Finding::of_divergence).collect(),
    }
}
