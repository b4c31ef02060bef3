//! Replay: the engine with its ports answered from a recording, and the models that reply from recordings.
//!
//! In: a session. Out: whether all derived events are computed as recorded, or the first difference by layer.
//! It must never open a socket, start a process or change the recording.

mod accept;
mod adopt;
mod body;
#[doc(hidden)]
pub mod cassette;
mod compare;
mod demo;
mod difference;
mod edits;
mod exact;
mod inputs;
mod layer;
mod order;
mod point;
mod ports;
mod program_context;
mod recording;
mod redacted;
mod resume;
mod verify;

use std::collections::HashMap;
use std::sync::Arc;

use ptc_core::value::Value;

use crate::agent::{Agent, Diagnostic, Plan, Step};
use crate::engine::{self, Carry, Input};
use crate::event::{Address, JsonText, RunStart};
use crate::port::UnsavedSink;

pub use compare::{Divergence, Watch};
pub use difference::{EventChange, EventDifference};
pub use layer::{IgnoreRule, Layer, Policy, Rules};
pub use recording::Recording;
pub use redacted::replay_redacted;

#[doc(hidden)]
pub use {
    accept::{AcceptSink, TimedSink, regenerate},
    adopt::{AdoptError, AdoptedRecording, adopt},
    body::{BodyError, RecordedBodies, came_body, came_of},
    demo::DemoModel,
    edits::RecordedEdits,
    edits::fails_before_request,
    exact::ExactModel,
    point::{Point, Stage},
    ports::RecordedPorts,
    program_context::{ProgramContext, program_context},
    resume::{Answers, ResumePorts},
    verify::{Check, Finding, Verification, verify, verify_events},
};

use compare::Comparer;

/// Outcome of a replay.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ReplayOutcome {
    /// All derived events are as recorded.
    #[default]
    Identical,
    /// All derived events up to the end of an unfinished recording are as recorded.
    Unfinished {
        /// The last recorded address.
        at: Address,
    },
    /// The first difference.
    Diverged(Box<Divergence>),
}

/// The report of a replay.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The outcome; with lenient rules, the first difference.
    pub outcome: ReplayOutcome,
    /// Number of compared derived events.
    pub compared: usize,
    /// All differences in the order of occurrence; with strict rules at most one.
    pub differences: Vec<Divergence>,
    /// Number of events with ignored differences.
    pub ignored: usize,
    /// Number of events that differ because content was removed from the session ([`replay_redacted`]).
    pub redacted: usize,
    /// Replies and results that were needed and are not recorded.
    pub missing: Vec<Address>,
    /// The result of each replayed run.
    pub steps: Vec<Step>,
}

/// Reason why a session cannot be replayed at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayError {
    /// The problem and what to do next.
    pub message: String,
}

impl std::fmt::Display for ReplayError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ReplayError {}

/// Replays every root run of a recording and stops at the first difference. `watch` receives every event.
pub async fn replay(recording: &Arc<Recording>, watch: Option<Watch<'_>>) -> Result<Report, ReplayError> {
    replay_by(&Rules::strict(), recording, watch).await.map(|(report, _)| report)
}

/// Replays every root run of a recording with these rules; also returns what each run passes on to a continuing run.
pub async fn replay_by(
    rules: &Rules,
    recording: &Arc<Recording>,
    watch: Option<Watch<'_>>,
) -> Result<(Report, HashMap<Address, Carry>), ReplayError> {
    let mut report = Report::default();
    let mut carries: HashMap<Address, Carry> = HashMap::new();
    let edits = RecordedEdits::of(recording).map_err(|message| ReplayError { message })?;
    if let Some(run) = recording.run_without_start() {
        return Err(cannot_replay(&run, "its run.start is missing, so its inputs are unknown"));
    }
    for run in recording.runs() {
        let plan = plan_of(recording, &run)?;
        let start = recording.run_start(&run).ok_or_else(|| cannot_replay(&run, "its run.start is missing"))?;
        let comparer = Comparer::new(recording, &run, rules, watch);
        let input = Input { continues: carry_of(start, &carries), ..input_of(&run, start) };
        let recorded = RecordedPorts::new(Arc::clone(recording), run.clone(), &edits).compared_by(&comparer);
        let (step, carry) = engine::run_carrying(&plan, input, &recorded.with_sink(&UnsavedSink::default())).await;
        drop(recorded);
        carries.insert(run.clone(), carry);
        let (outcome, comparison) = comparer.finish();
        report.compared += comparison.compared;
        report.differences.extend(comparison.differences);
        report.ignored += comparison.ignored;
        report.missing.extend(comparison.missing);
        report.steps.push(step);
        if report.outcome == ReplayOutcome::Identical {
            report.outcome = outcome;
        }
        if rules.policy == Policy::Strict && report.outcome != ReplayOutcome::Identical {
            break;
        }
    }
    if report.outcome == ReplayOutcome::Identical {
        let overlaps = order::overlapping_runs(recording).into_iter();
        let contexts = overlaps.chain(inputs::context_differences(recording, &report.steps));
        report.differences.extend(contexts.filter(|_| !rules.ignores_layer(Layer::Input)));
        if let Some(first) = report.differences.first() {
            report.outcome = ReplayOutcome::Diverged(Box::new(first.clone()));
        }
    }
    if report.steps.is_empty() {
        report.outcome = ReplayOutcome::Unfinished { at: Address::run(0) };
    }
    Ok((report, carries))
}

/// Returns what a continuing run gets from the earlier run.
pub(crate) fn carry_of(start: &RunStart, carries: &HashMap<Address, Carry>) -> Option<(Address, Carry)> {
    let earlier = Address::from(start.continues.as_deref()?);
    let carry = carries.get(&earlier).cloned().unwrap_or_default();
    Some((earlier, carry))
}

/// Returns the input of a recorded run, without what it got from an earlier run.
#[doc(hidden)]
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

fn cannot_replay(run: &Address, why: &str) -> ReplayError {
    ReplayError { message: format!("run {run} cannot be replayed: {why}") }
}

/// Validates the agent of a recorded run.
#[doc(hidden)]
pub fn plan_of(recording: &Recording, run: &Address) -> Result<Plan, ReplayError> {
    let start = recording.run_start(run).ok_or_else(|| cannot_replay(run, "its run.start is missing"))?;
    let agent = Agent::recorded(&start.agent.toml).map_err(|error| cannot_replay(run, &error.to_string()))?;
    Plan::new(&agent).map_err(|findings: Vec<Diagnostic>| {
        let messages: Vec<_> = findings.iter().filter(|f| f.is_error()).map(|f| f.message.as_str()).collect();
        cannot_replay(run, &messages.join("; "))
    })
}
