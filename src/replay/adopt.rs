//! Adopting a recording: going on from it although the program computes something in it differently today, after an upgrade say.
//!
//! In: a recording. Out: what its runs left, with everything recorded as the truth, and the differences, to be told; or the first place
//! where the run itself takes another course, so that the recorded answers do not fit any more. It must never write anything.

use std::collections::HashMap;
use std::sync::Arc;

use super::compare::Divergence;
use super::layer::{Layer, Policy, Rules};
use super::{Recording, ReplayError, replay_by};
use crate::engine::Carry;
use crate::event::Address;

/// Places that a notice names.
const NAMED: usize = 3;

/// A recording from which somebody may go on.
#[derive(Debug, Default)]
pub struct Adopted {
    /// What comes out differently today, in the order in which it came up; what is recorded counts.
    pub differences: Vec<Divergence>,
    /// What each root run left for one that continues it.
    pub carries: HashMap<Address, Carry>,
}

/// Why nobody can go on from a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdoptError {
    /// It cannot be replayed at all.
    Replay(ReplayError),
    /// From here on the run takes another course than the recorded one.
    Course(Box<Divergence>),
    /// Events of this run are lost; the text says which.
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
            Self::Unanswered(at) => write!(f, "the recording holds no answer at {at}"),
        }
    }
}

impl std::error::Error for AdoptError {}

impl Adopted {
    /// What is told about the differences; `None` when there are none. `session` is what they are listed of.
    pub fn notice(&self, session: &str) -> Option<String> {
        let places: Vec<String> = self.differences.iter().take(NAMED).map(Divergence::place).collect();
        let more = self.differences.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!places.is_empty()).then(|| {
            format!(
                "not everything up to here comes out today as it is recorded, and what is recorded counts: {}{more}; `ptc-workbench replay {session} --lenient` shows the differences",
                places.join(", ")
            )
        })
    }
}

/// Replays a recording with what is recorded as the truth.
///
/// Errors: going on would not go on with what is recorded.
pub async fn adopt(recording: &Arc<Recording>) -> Result<Adopted, AdoptError> {
    let rules = Rules { policy: Policy::Lenient, ..Rules::strict() };
    let (report, carries) = replay_by(&rules, recording, None).await.map_err(AdoptError::Replay)?;
    for run in recording.runs() {
        if let Some(text) = recording.gap(&run) {
            return Err(AdoptError::Lost(run.clone(), text.to_owned()));
        }
    }
    // What is read from the last reply decides what is done next: nothing that follows is recorded yet.
    let read_otherwise =
        |found: &Divergence| found.layer == Layer::Extraction && !recording.is_turn_over(&found.address);
    let leads_elsewhere = |found: &&Divergence| found.is_of_course() || read_otherwise(found);
    if let Some(elsewhere) = report.differences.iter().find(leads_elsewhere) {
        return Err(AdoptError::Course(Box::new(elsewhere.clone())));
    }
    if let Some(at) = report.missing.iter().find(|at| recording.is_turn_over(at)) {
        return Err(AdoptError::Unanswered(at.clone()));
    }
    Ok(Adopted { differences: report.differences, carries })
}
