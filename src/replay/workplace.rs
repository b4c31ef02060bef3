//! What the program of a recorded turn worked on: definitions, results, data, tools, made again by replaying up to it.
//!
//! In: a recording and a turn. Out: a [`Workplace`], on which other programs can be run in a copy. Nothing leaves it: tools answer from
//! the recording or not at all. It must never change the recording.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use ptc_core::lisp::{CallAddress, Failure, Memory, Outcome, Signal};
use ptc_core::value::{Json, Value};
use tokio::sync::Notify;

use super::ports::ProgramWatch;
use super::{RecordedEdits, RecordedPorts, Recording, ReplayError, carried, input_of, plan_of};
use crate::engine::{self, Carry, Input};
use crate::event::{Address, Envelope, Event};
use crate::port::{Sink, SinkError};
use crate::program::{Job, Tools};

/// What a turn's program works on, and what it left.
#[derive(Debug, Clone)]
pub struct Workplace {
    recording: Arc<Recording>,
    /// The turn whose program this is; an earlier one when the turn asked for ran none.
    pub turn: Address,
    /// The program and what it works on.
    pub job: Job,
}

/// The workplace of the last program up to this turn; `None` when its run has run none by then. Replays the session up to it.
pub async fn workplace(recording: &Arc<Recording>, turn: &Address) -> Result<Option<Workplace>, ReplayError> {
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
    let unheard = Unheard::default();
    let replayed = replay_until(recording, turn, Some(seen), &unheard);
    tokio::select! {
        result = replayed => result?,
        () = over.notified() => {}
    }
    let found = found.lock().unwrap_or_else(PoisonError::into_inner).take();
    Ok(found.map(|(turn, job)| Workplace { recording: Arc::clone(recording), turn, job }))
}

/// Replays the root runs in order, up to the one that holds the turn. Nothing is compared.
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
        let input = Input { continues: carried(start, &carries), ..input_of(&run, start) };
        let (_, carry) = engine::run_carrying(&plan, input, &ports.with_sink(events)).await;
        if run == turn.root() {
            break;
        }
        carries.insert(run, carry);
    }
    Ok(())
}

/// Nobody compares: the events of the recording are the ones that count.
#[derive(Default)]
pub(super) struct Unheard(Mutex<u64>);

impl Sink for Unheard {
    fn emit(&self, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *last += 1;
        let envelope = Envelope { seq: *last, at_ms: 0, address, event };
        Box::pin(futures::future::ready(Ok(envelope)))
    }
}

impl Workplace {
    /// A workplace without a program: data only.
    pub fn of_data(recording: &Arc<Recording>, turn: &Address, job: Job) -> Self {
        Self { recording: Arc::clone(recording), turn: turn.clone(), job }
    }

    /// Runs another text in the place of the turn's program: the tools answer as they answered the program. Blocks.
    pub fn run_instead(&self, source: String, stop: &AtomicBool) -> Outcome {
        Job { source, ..self.job.clone() }.run(&AsThen(self), stop)
    }

    /// What the turn's program left: its definitions and results when it ended well, else what it began with.
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

    /// Runs a text on this memory and these results: the tools answer what they answered to equal calls of the session. Blocks.
    pub fn run_after(&self, source: String, memory: Memory, history: Vec<Value>, stop: &AtomicBool) -> Outcome {
        Job { source, memory, history, ..self.job.clone() }.run(&AsEver(&self.recording), stop)
    }
}

/// Answers of the recording by the place of the call.
struct AsThen<'a>(&'a Workplace);

impl Tools for AsThen<'_> {
    fn call(&self, at: &CallAddress, tool: &str, _: &Value) -> Result<Value, Failure> {
        let turn = self.0.turn.clone();
        let branch = at.branches.iter().fold(turn, |address, (form, branch)| address.branch(*form, *branch));
        answer(&self.0.recording, &branch.call(at.call), tool)
    }
}

/// Answers of the recording by tool and arguments.
struct AsEver<'a>(&'a Recording);

impl Tools for AsEver<'_> {
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
            Some(at) => answer(self.0, at, tool),
            None => Err(Failure::Tool(format!(
                "nothing is called here: tools answer from the recording, and it holds no call of `{tool}` with these arguments"
            ))),
        }
    }
}

/// What the call at this address answered.
fn answer(recording: &Recording, at: &Address, tool: &str) -> Result<Value, Failure> {
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
        None => Err(Failure::Tool(format!("the recording holds no answer of `{tool}` at {at}"))),
    }
}
