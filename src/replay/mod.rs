//! Replay: the same engine with its ports answered from a recording, and the models that answer from recordings.
//!
//! In: a session. Out: whether everything that is computed came out as recorded, or the first difference by layer.
//! It must never open a socket, start a process or change the recording.

mod accept;
mod adopt;
pub mod cassette;
mod compare;
mod demo;
mod difference;
mod edits;
mod layer;
mod opening;
mod point;
mod ports;
mod recorded;
mod recording;
mod resume;
mod workplace;

use std::collections::HashMap;
use std::sync::Arc;

use ptc_core::value::Value;

use crate::agent::{Agent, Diagnostic, Plan, Step};
use crate::engine::{self, Carry, Input};
use crate::event::{Address, JsonText, RunStart};
use crate::port::Unsaved;

pub use accept::{Accepting, Stamped, made_anew};
pub use adopt::{AdoptError, Adopted, adopt};
pub use compare::{Divergence, Watch};
pub use demo::Demo;
pub use difference::{Change, Difference};
pub use edits::RecordedEdits;
pub use layer::{Ignored, Layer, Policy, Rules};
pub use opening::fails_before_request;
pub use point::{Point, Stage};
pub use ports::RecordedPorts;
pub use recorded::Recorded;
pub use recording::Recording;
pub use resume::{Answers, Resumed};
pub use workplace::{Workplace, workplace};

use compare::Comparer;

/// How a replay came out.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Everything came out as recorded.
    Identical,
    /// Everything up to the end of an unfinished recording came out as recorded.
    Unfinished {
        /// Where the recording ends.
        at: Address,
    },
    /// The first difference.
    Diverged(Box<Divergence>),
}

/// The report of a replay.
#[derive(Debug, Clone)]
pub struct Report {
    /// How it came out: by lenient rules the first difference, if there is one.
    pub outcome: Outcome,
    /// Derived events compared.
    pub compared: usize,
    /// Everything that differs, in the order in which it came up; by strict rules at most one.
    pub differences: Vec<Divergence>,
    /// Events whose differences were left out by a rule.
    pub ignored: usize,
    /// Replies and results that were wanted now and are not recorded.
    pub missing: Vec<Address>,
    /// The Step of each run that was replayed.
    pub steps: Vec<Step>,
}

/// Why a session cannot be replayed at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayError {
    /// What is wrong and what to do.
    pub message: String,
}

impl std::fmt::Display for ReplayError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ReplayError {}

/// Replays every root run of a recording and stops at the first difference. `watch` sees every event.
pub async fn replay(recording: &Arc<Recording>, watch: Option<Watch<'_>>) -> Result<Report, ReplayError> {
    replay_by(&Rules::strict(), recording, watch).await.map(|(report, _)| report)
}

/// Replays every root run of a recording by these rules; also gives what each left for one that continues it.
pub async fn replay_by(
    rules: &Rules,
    recording: &Arc<Recording>,
    watch: Option<Watch<'_>>,
) -> Result<(Report, HashMap<Address, Carry>), ReplayError> {
    let mut report = Report {
        outcome: Outcome::Identical,
        compared: 0,
        differences: Vec::new(),
        ignored: 0,
        missing: Vec::new(),
        steps: Vec::new(),
    };
    let mut carries: HashMap<Address, Carry> = HashMap::new();
    let edits = RecordedEdits::of(recording).map_err(|message| ReplayError { message })?;
    if let Some(run) = recording.without_start() {
        return Err(cannot(&run, "its run.start is missing, so its inputs are unknown"));
    }
    for run in recording.runs() {
        let plan = plan_of(recording, &run)?;
        let start = recording.run_start(&run).ok_or_else(|| cannot(&run, "its run.start is missing"))?;
        let comparer = Comparer::new(recording, &run, rules, watch);
        let input = Input { continues: carried(start, &carries), ..input_of(&run, start) };
        let recorded = RecordedPorts::new(Arc::clone(recording), run.clone(), &edits).compared_by(&comparer);
        let (step, carry) = engine::run_carrying(&plan, input, &recorded.with_sink(&Unsaved::default())).await;
        drop(recorded);
        carries.insert(run.clone(), carry);
        let (outcome, found) = comparer.finish();
        report.compared += found.compared;
        report.differences.extend(found.differences);
        report.ignored += found.ignored;
        report.missing.extend(found.missing);
        report.steps.push(step);
        if report.outcome == Outcome::Identical {
            report.outcome = outcome;
        }
        if rules.policy == Policy::Strict && report.outcome != Outcome::Identical {
            break;
        }
    }
    if report.steps.is_empty() {
        report.outcome = Outcome::Unfinished { at: Address::run(0) };
    }
    Ok((report, carries))
}

/// What a run that continues an earlier one gets.
pub(crate) fn carried(start: &RunStart, carries: &HashMap<Address, Carry>) -> Option<(Address, Carry)> {
    let earlier = Address::from(start.continues.as_deref()?);
    let carry = carries.get(&earlier).cloned().unwrap_or_default();
    Some((earlier, carry))
}

/// What a recorded run worked on, without what an earlier run left it.
pub fn input_of(run: &Address, start: &RunStart) -> Input {
    let journal = start.journal.as_ref().map(JsonText::value);
    Input {
        descriptions: start.context_descriptions.clone(),
        seed: start.seed,
        journal: journal.and_then(|journal| match journal {
            Value::Map(map) => Some((*map).clone()),
            _ => None,
        }),
        pipeline: start.pipeline.clone(),
        consents: start.consents.clone(),
        ..Input::at(run.clone(), start.context.json())
    }
}

fn cannot(run: &Address, why: &str) -> ReplayError {
    ReplayError { message: format!("run {run} cannot be replayed: {why}") }
}

/// The checked agent of a recorded run.
pub fn plan_of(recording: &Recording, run: &Address) -> Result<Plan, ReplayError> {
    let start = recording.run_start(run).ok_or_else(|| cannot(run, "its run.start is missing"))?;
    let agent = Agent::recorded(&start.agent.toml).map_err(|error| cannot(run, &error.to_string()))?;
    Plan::new(&agent).map_err(|findings: Vec<Diagnostic>| {
        let said: Vec<_> = findings.iter().filter(|f| f.is_error()).map(|f| f.message.as_str()).collect();
        cannot(run, &said.join("; "))
    })
}
