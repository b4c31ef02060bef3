//! Rebuilds the context of a recorded turn's program (definitions, results, data, tools) by replaying up to it.
//!
//! In: a recording and a turn. Out: a [`ProgramContext`], on copies of which other programs can run. It has no effects:
//! tools return recorded results or fail. It must never change the recording.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use ptc_core::lisp::{CallAddress, Failure, Memory, Outcome, Signal};
use ptc_core::value::{Json, Value};
use tokio::sync::Notify;

use super::ports::ProgramWatch;
use super::{RecordedEdits, RecordedPorts, Recording, ReplayError, carry_of, input_of, plan_of};
use crate::engine::{self, Carry, Input};
use crate::event::{Address, Envelope, Event};
use crate::port::{Sink, SinkError};
use crate::program::{Job, Tools};

/// The context of a turn's program.
#[derive(Debug, Clone)]
pub struct ProgramContext {
    recording: Arc<Recording>,
    /// The turn of the program: the given turn or, if that ran none, an earlier one.
    pub turn: Address,
    /// The program and its context.
    pub job: Job,
}

/// Replays the session up to this turn and returns the context of the last program; `None` when its run has run none so
/// far.
pub async fn program_context(
    recording: &Arc<Recording>,
    turn: &Address,
) -> Result<Option<ProgramContext>, ReplayError> {
    let run = turn.run_part();
    let wanted = turn.turn_number().unwrap_or(u32::MAX);
    let found: Arc<Mutex<Option<(Address, Job)>>> = Arc::default();
    let over = Arc::new(Notify::new());
    let seen: ProgramWatch = Arc::new({
        let (found, over, turn) = (Arc::clone(&found), Arc::clone(&over), turn.clone());
        move |at: &Address, job: &Job| {
            if at.run_part() == run && at.turn_number().is_some_and(|number| number <= wanted) {
                *found.lock().unwrap_or_else(PoisonError::into_inner) = Some((at.clone(), job.clone()));
            }
            if *at == turn {
                over.notify_one();
            }
        }
    });
    let sink = DiscardSink::default();
    let replayed = replay_until(recording, turn, Some(seen), &sink);
    tokio::select! {
        result = replayed => result?,
        () = over.notified() => {}
    }
    let found = found.lock().unwrap_or_else(PoisonError::into_inner).take();
    Ok(found.map(|(turn, job)| ProgramContext { recording: Arc::clone(recording), turn, job }))
}

/// Replays the root runs in order up to the one that contains the turn, without comparing events.
pub(super) async fn replay_until(
    recording: &Arc<Recording>,
    turn: &Address,
    watch: Option<ProgramWatch>,
    events: &dyn Sink,
) -> Result<(), ReplayError> {
    let edits = RecordedEdits::of(recording).map_err(|message| ReplayError { message })?;
    let mut carries: HashMap<Address, Carry> = HashMap::new();
    for run in recording.runs() {
        let Some(start) = recording.run_start(&run) else { continue };
        let plan = plan_of(recording, &run)?;
        let ports = RecordedPorts::new(Arc::clone(recording), run.clone(), &edits);
        let ports = watch.iter().fold(ports, |ports, watch| ports.watched_by(Arc::clone(watch)));
        let input = Input { continues: carry_of(start, &carries), ..input_of(&run, start) };
        let (_, carry) = engine::run_carrying(&plan, input, &ports.with_sink(events)).await;
        if run == turn.root() {
            break;
        }
        carries.insert(run, carry);
    }
    Ok(())
}

/// Sink that discards events; nothing is compared.
#[derive(Default)]
pub(super) struct DiscardSink(Mutex<u64>);

impl Sink for DiscardSink {
    fn emit(&self, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *last += 1;
        let envelope = Envelope { seq: *last, at_ms: 0, address, event };
        Box::pin(futures::future::ready(Ok(envelope)))
    }
}

impl ProgramContext {
    /// Creates a context without a program.
    pub fn of_data(recording: &Arc<Recording>, turn: &Address, job: Job) -> Self {
        Self { recording: Arc::clone(recording), turn: turn.clone(), job }
    }

    /// Runs another program in place of the turn's program: tools return the recorded results of the same calls.
    /// Blocks.
    pub fn run_instead(&self, source: String, stop: &AtomicBool) -> Outcome {
        Job { source, ..self.job.clone() }.run(&ToolsByAddress(self), stop)
    }

    /// Returns the context after the turn's program: with its definitions and results if it succeeded.
    #[must_use]
    pub fn after(&self, stop: &AtomicBool) -> Self {
        let mut after = self.clone();
        if self.job.source.trim().is_empty() {
            return after;
        }
        let outcome = self.run_instead(self.job.source.clone(), stop);
        if let Ok((signal, value)) = outcome.result {
            after.job.memory = outcome.memory;
            after.job.journal = outcome.journal;
            if signal == Signal::Value {
                after.job.history.push(value);
            }
        }
        after.job.source.clear();
        after
    }

    /// Runs a program with this memory and history: tools return the recorded results of equal calls. Blocks.
    pub fn run_after(&self, source: String, memory: Memory, history: Vec<Value>, stop: &AtomicBool) -> Outcome {
        Job { source, memory, history, ..self.job.clone() }.run(&ToolsByArguments(&self.recording), stop)
    }
}

/// Tools that look up recorded results by call address.
struct ToolsByAddress<'a>(&'a ProgramContext);

impl Tools for ToolsByAddress<'_> {
    fn call(&self, at: &CallAddress, tool: &str, _: &Value) -> Result<Value, Failure> {
        let turn = self.0.turn.clone();
        let branch = at.branches.iter().fold(turn, |address, (form, branch)| address.branch(*form, *branch));
        recorded_result(&self.0.recording, &branch.call(at.call), tool)
    }
}

/// Tools that look up recorded results by tool and arguments.
struct ToolsByArguments<'a>(&'a Recording);

impl Tools for ToolsByArguments<'_> {
    fn call(&self, _: &CallAddress, tool: &str, args: &Value) -> Result<Value, Failure> {
        let args = Json::from(args).to_text();
        let mut calls = self.0.calls_and_questions();
        calls.sort();
        let same = |at: &Address| {
            self.0.at(at).iter().any(|envelope| match &envelope.event {
                Event::ToolCall(call) => call.name == tool && call.args.as_str() == args,
                _ => false,
            })
        };
        match calls.iter().rev().find(|at| same(at)) {
            Some(at) => recorded_result(self.0, at, tool),
            None => Err(Failure::Tool(format!(
                "tools are not called here: they answer from the recording, which has no call of `{tool}` with these arguments"
            ))),
        }
    }
}

/// Returns the recorded result of the call at this address.
fn recorded_result(recording: &Recording, at: &Address, tool: &str) -> Result<Value, Failure> {
    let known = recording.at(at).iter().any(|envelope| match &envelope.event {
        Event::ToolCall(call) => call.name == tool,
        _ => false,
    });
    match recording.counted_end(at).filter(|_| known) {
        Some(end) => match (&end.result, &end.error) {
            (Some(result), _) => Ok(result.value()),
            (None, Some(error)) => Err(Failure::Tool(error.message.clone())),
            (None, None) => Err(Failure::Tool("the recording does not say how the call ended".to_owned())),
        },
        None => Err(Failure::Tool(format!("the recording has no result of `{tool}` at {at}"))),
    }
}
