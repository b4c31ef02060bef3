//! Adopts a recording: continues it although this version computes some events differently, for example after an
//! upgrade.
//!
//! In: a recording. Out: what its runs pass on, based on the recorded events, and the differences to report; or the
//! first difference that changes the course of the run, so that the recorded answers no longer apply. It must never
//! write anything.

use std::collections::HashMap;
use std::sync::Arc;

use super::compare::Divergence;
use super::layer::{Layer, Policy, Rules};
use super::{Recording, ReplayError, replay_by};
use crate::engine::Carry;
use crate::event::Address;

/// Maximum number of differences in a notice.
const NAMED: usize = 3;

/// A recording that can be continued.
#[derive(Debug, Default)]
pub struct AdoptedRecording {
    /// Events that are computed differently now, in order; the recorded ones are used.
    pub differences: Vec<Divergence>,
    /// The state that each root run passes on to a continuing run.
    pub carries: HashMap<Address, Carry>,
}

/// Reason why a recording cannot be continued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdoptError {
    /// It cannot be replayed at all.
    Replay(ReplayError),
    /// The run takes another course than the recorded one from here on.
    Course(Box<Divergence>),
    /// Events of this run are lost, as described.
    Lost(Address, String),
    /// The recorded answer at this address is lost.
    Unanswered(Address),
}

impl std::fmt::Display for AdoptError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Replay(error) => error.fmt(f),
            Self::Course(divergence) => write!(f, "first difference at {divergence}"),
            Self::Lost(run, text) => write!(f, "{run}: {text}"),
            Self::Unanswered(at) => write!(f, "the recording has no answer at {at}"),
        }
    }
}

impl std::error::Error for AdoptError {}

impl AdoptedRecording {
    /// Returns a notice about the differences; `None` when there are none. `session` is the name for the suggested
    /// command.
    pub fn notice(&self, session: &str) -> Option<String> {
        let addresses: Vec<String> = self.differences.iter().take(NAMED).map(Divergence::describe_location).collect();
        let more = self.differences.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!addresses.is_empty()).then(|| {
            format!(
                "this version computes some recorded events differently and uses the recorded ones: {}{more}; `ptc-workbench replay {session} --lenient` shows the differences",
                addresses.join(", ")
            )
        })
    }
}

/// Replays a recording and uses the recorded events where they differ.
///
/// Errors: the continued run would not follow the recording.
pub async fn adopt(recording: &Arc<Recording>) -> Result<AdoptedRecording, AdoptError> {
    let rules = Rules { policy: Policy::Lenient, ..Rules::strict() };
    let (report, carries) = replay_by(&rules, recording, None).await.map_err(AdoptError::Replay)?;
    for run in recording.runs() {
        if let Some(text) = recording.gap(&run) {
            return Err(AdoptError::Lost(run.clone(), text.to_owned()));
        }
    }
    // Extraction from the last reply decides what happens next, and nothing after it is recorded.
    let extracts_differently =
        |found: &Divergence| found.layer == Layer::Extraction && !recording.is_turn_over(&found.address);
    // A recorded input that this version does not use, or uses elsewhere, does not change what follows.
    let is_of_input = |found: &Divergence| found.layer == Layer::Input;
    let changes_run =
        |found: &&Divergence| found.changes_course() && !is_of_input(found) || extracts_differently(found);
    if let Some(divergence) = report.differences.iter().find(changes_run) {
        return Err(AdoptError::Course(Box::new(divergence.clone())));
    }
    if let Some(at) = report.missing.iter().find(|at| recording.is_turn_over(at)) {
        return Err(AdoptError::Unanswered(at.clone()));
    }
    Ok(AdoptedRecording { differences: report.differences, carries })
}
