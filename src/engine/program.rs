//! Running a program inside a run: on a thread of its own, its tool calls answered here, its end recorded.
//!
//! In: the program and what it works on. Out: its outcome. Time, memory and stops that end a program come from outside: their
//! `program.end` is an input, and replay does not run that program again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use ptc_core::limits::COMPILE_TIMEOUT;
use ptc_core::lisp::builtins::Ends;
use ptc_core::lisp::firewall::visible;
use ptc_core::lisp::machine::Limits;
use ptc_core::lisp::{CallAddress, Error, Failure, Memory, Outcome, Signal, ToolInfo, Usage, boundary};
use ptc_core::reasons::Reason;
use ptc_core::text::Span;
use ptc_core::value::{Bounds, Json, Map, Value};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use super::Halt;
use super::cycle::Cycle;
use super::history::InterruptedProgram;
use crate::agent::{Plan, Settings};
use crate::event::{Address, ErrorRecord, JsonText, Kept, MemoryChange, ProgramEnd};
use crate::program::{Job, Tools};

/// Items of each collection that a recorded value shows.
const KEPT_ITEMS: usize = 1_000;

/// As good as no limit, in ms: a century.
const NO_LIMIT_MS: u64 = 3_000_000_000_000;

/// What a program works on.
#[derive(Debug, Clone)]
pub(super) struct World {
    /// The data.
    pub(super) context: Value,
    /// Definitions of earlier programs.
    pub(super) memory: Memory,
    /// Results of earlier programs, oldest first.
    pub(super) history: Vec<Value>,
    /// Results of finished tasks, when a journal is kept.
    pub(super) journal: Option<Map>,
    /// What `(budget/remaining)` gives.
    pub(super) budget: Value,
    /// The tools that it may call.
    pub(super) tools: Vec<ToolInfo>,
    /// Why tools are refused in this turn, if they are.
    pub(super) closed: Option<String>,
    /// What is printed leaves out names that start with `_`.
    pub(super) firewall: bool,
    /// What `return` and `fail` end here.
    pub(super) ends: Ends,
}

/// A call that waits for its answer.
struct Pending {
    at: CallAddress,
    tool: String,
    args: Value,
    answer: oneshot::Sender<Result<Value, Failure>>,
}

/// The program's side of the calls.
struct Bridge(mpsc::UnboundedSender<Pending>);

impl Tools for Bridge {
    fn call(&self, at: &CallAddress, tool: &str, args: &Value) -> Result<Value, Failure> {
        let (answer, waiting) = oneshot::channel();
        let stopped = || Failure::Stopped(Error::new(Reason::Cancelled, "the program was stopped"));
        let pending = Pending { at: at.clone(), tool: tool.to_owned(), args: args.clone(), answer };
        self.0.send(pending).map_err(|_| stopped())?;
        waiting.blocking_recv().unwrap_or_else(|_| Err(stopped()))
    }
}

impl Cycle<'_> {
    /// Runs a program at this turn, tells how it ended, and stops there when it comes to a breakpoint.
    pub(super) async fn run_program(&self, at: &Address, source: &str, world: &World) -> Result<Outcome, Halt> {
        let outcome = self.ran_program(at, source, world).await?;
        self.break_at_end(at, &outcome, world).await?;
        Ok(outcome)
    }

    async fn ran_program(&self, at: &Address, source: &str, world: &World) -> Result<Outcome, Halt> {
        // What a recording says to have ended by itself is not ended from outside.
        let timed = !self.ports.history.is_over(at);
        let job = job(source, world, &self.plan.settings, self.now_ms, timed);
        self.ports.history.watch_program(at, &job);
        if let Some(program) = self.ports.history.program(at) {
            return self.as_recorded(at, program, world).await;
        }
        let (outcome, branched) = match self.interpret(at, job, timed, world).await {
            Ok(ended) => ended,
            Err(Halt::Fail(record)) => return Err(self.broken_off(at, record).await?),
            Err(halt) => return Err(halt),
        };
        let mut end = ending(&outcome);
        // Which calls other branches still made before the error of one was known is chance: such a program is not run again either.
        end.interrupted |= outcome.result.is_err() && branched;
        if end.interrupted {
            end.below = self.below();
        }
        self.emit(at, end).await?;
        if let Err(error) = &outcome.result
            && error.reason == Reason::Cancelled
            && self.ports.stop.reason().is_some()
        {
            return Err(self.interrupted(at).await);
        }
        Ok(outcome)
    }

    /// Tells the end of a program that one of its calls broke off: which calls the others still made is chance.
    async fn broken_off(&self, at: &Address, record: ErrorRecord) -> Result<Halt, Halt> {
        let error = ErrorRecord::new(Reason::Cancelled, "the program was stopped");
        let end = ProgramEnd {
            status: "error".to_owned(),
            error: Some(error),
            interrupted: true,
            below: self.below(),
            ..ProgramEnd::default()
        };
        self.emit(at, end).await?;
        Ok(Halt::Fail(record))
    }

    /// The outcome, and whether calls were made in parallel branches.
    async fn interpret(&self, at: &Address, job: Job, timed: bool, world: &World) -> Result<(Outcome, bool), Halt> {
        let (sender, mut calls) = mpsc::unbounded_channel();
        let stop_sign = Arc::new(AtomicBool::new(false));
        let stop_here = Arc::clone(&stop_sign);
        // It waits for the program's own thread; a paused clock stands still meanwhile.
        let mut ended = tokio::task::spawn_blocking(move || job.run(&Bridge(sender), &stop_here));
        let mut answers = FuturesUnordered::new();
        let (mut halted, mut branched) = (None, false);
        let stop = self.ports.stop.clone();
        loop {
            let due = self.due().filter(|_| stop.reason().is_none());
            tokio::select! {
                biased;
                Some(pending) = calls.recv() => {
                    branched |= !pending.at.branches.is_empty();
                    answers.push(self.answer_program(at, pending, world));
                }
                Some(answered) = answers.next(), if !answers.is_empty() => {
                    if let Err(halt) = answered {
                        stop_sign.store(true, Ordering::Relaxed);
                        halted.get_or_insert(halt);
                    }
                }
                outcome = &mut ended => {
                    return match (halted, outcome) {
                        (Some(halt), _) => Err(halt),
                        (None, Ok(outcome)) => Ok((outcome, branched)),
                        (None, Err(_)) => Err(Halt::fail(Reason::InternalError, "the program broke off")),
                    };
                }
                () = stop.token().cancelled(), if timed && !stop_sign.load(Ordering::Relaxed) => {
                    stop_sign.store(true, Ordering::Relaxed);
                }
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => self.stop_when_due(),
            }
        }
    }

    async fn answer_program(&self, turn: &Address, pending: Pending, world: &World) -> Result<(), Halt> {
        let Pending { at, tool, args, answer } = pending;
        let branch = at.branches.iter().fold(turn.clone(), |address, (form, branch)| address.branch(*form, *branch));
        if let Some(why) = &world.closed {
            _ = answer.send(Err(Failure::Tool(why.clone())));
            return Ok(());
        }
        let (told, halt) = match self.call_tool(&branch.call(at.call), &tool, &args).await {
            Ok(Ok(value)) => (Ok(value), None),
            Ok(Err(record)) => (Err(failure(&record)), None),
            Err(halt) => (Err(Failure::Stopped(Error::new(Reason::Cancelled, "the run has ended"))), Some(halt)),
        };
        // A program that was stopped meanwhile does not listen any more.
        _ = answer.send(told);
        halt.map_or(Ok(()), Err)
    }

    /// The outcome of a program that was ended from outside, as it is recorded.
    async fn as_recorded(&self, at: &Address, program: InterruptedProgram, world: &World) -> Result<Outcome, Halt> {
        let InterruptedProgram { end, inside } = program;
        let record = end.error.clone().unwrap_or_default();
        let reason = Reason::from_name(&record.reason).unwrap_or(Reason::Cancelled);
        let mut error = Error::new(reason, record.message);
        error.hint = record.hint;
        error.span = end.span.map(|(from, to)| Span::new(from, to));
        let outcome = Outcome {
            result: Err(error),
            memory: world.memory.clone(),
            prints: end.prints.clone(),
            calls: Vec::new(),
            summaries: end.summaries.clone(),
            journal: world.journal.clone(),
            warnings: end.warnings.clone(),
            usage: Usage::default(),
        };
        self.take_below(end.below, &inside);
        self.emit(at, end).await?;
        if reason == Reason::Cancelled {
            return Err(self.interrupted(at).await);
        }
        Ok(outcome)
    }

    /// Tells what a program defined; true when it is more than `memory_bytes` and therefore dropped.
    pub(super) async fn tell_memory(&self, at: &Address, before: &Memory, after: &Memory) -> Result<bool, Halt> {
        let mut change = MemoryChange::default();
        for (name, binding) in after {
            let shown = binding.value.print(Bounds::default()).text;
            change.bytes += (name.name().len() + shown.len()) as u64;
            if before.get(name) != Some(binding) {
                change.set.push((name.name().to_owned(), Kept::of(shown)));
            }
        }
        change.del =
            before.keys().filter(|name| !after.contains_key(*name)).map(|name| name.name().to_owned()).collect();
        change.set.sort_by(|one, other| one.0.cmp(&other.0));
        change.del.sort();
        let rolled_back = change.bytes > self.plan.settings.memory_bytes;
        change.rolled_back = rolled_back;
        if !change.set.is_empty() || !change.del.is_empty() {
            self.emit(at, change).await?;
        }
        Ok(rolled_back)
    }
}

/// A program with what this plan gives it. `timed`: its clock ends it, unless a recording says that it ended by itself.
fn job(source: &str, world: &World, settings: &Settings, now_ms: i64, timed: bool) -> Job {
    let within = |limit_ms: u64| if timed { limit_ms } else { NO_LIMIT_MS };
    let limits = Limits {
        memory_bytes: settings.program_memory_bytes,
        loop_jumps: settings.loop_limit,
        print_chars: settings.format.print_chars,
        parallel_workers: settings.pmap_workers,
        parallel_timeout_ms: within(settings.pmap_timeout_ms),
        tool_calls: settings.program_tool_calls,
        ..Limits::default()
    };
    Job {
        source: source.to_owned(),
        context: world.context.clone(),
        memory: world.memory.clone(),
        history: world.history.clone(),
        journal: world.journal.clone(),
        budget: world.budget.clone(),
        tools: world.tools.clone(),
        dialect: settings.dialect,
        firewall: world.firewall,
        ends: world.ends,
        limits,
        timeout_ms: within(settings.program_timeout_ms),
        compile_timeout_ms: within(COMPILE_TIMEOUT.default.unwrap_or(COMPILE_TIMEOUT.max)),
        now_ms,
    }
}

/// A tool's failure as a program gets it.
fn failure(record: &ErrorRecord) -> Failure {
    let reason = Reason::from_name(&record.reason);
    let own = [Reason::ToolCallLimitExceeded, Reason::InvalidToolArgs];
    match reason.filter(|reason| own.contains(reason)) {
        Some(reason) => Failure::Stopped(Error::new(reason, record.message.clone())),
        None => Failure::Tool(record.message.clone()),
    }
}

/// Was it the clock, the memory or a stop that ended the program?
fn is_interruption(reason: Reason) -> bool {
    use Reason::{Cancelled, CompileMemoryExceeded, CompileTimeout, MemoryExceeded, Timeout};
    matches!(reason, Cancelled | CompileMemoryExceeded | CompileTimeout | MemoryExceeded | Timeout)
}

fn ending(outcome: &Outcome) -> ProgramEnd {
    let shown = |value: &Value| Kept::of(value.print(Bounds { items: Some(KEPT_ITEMS), chars: None }).text);
    let (status, value, error) = match &outcome.result {
        Ok((Signal::Value, value)) => ("value", Some(shown(value)), None),
        Ok((Signal::Return, value)) => ("return", Some(shown(value)), None),
        Ok((Signal::Fail, value)) => ("fail", Some(shown(value)), None),
        Err(error) => ("error", None, Some(error)),
    };
    ProgramEnd {
        status: status.to_owned(),
        value,
        prints: outcome.prints.clone(),
        summaries: outcome.summaries.clone(),
        error: error.map(record),
        span: error.and_then(|error| error.span).map(|span| (span.start, span.end)),
        warnings: outcome.warnings.clone(),
        interrupted: error.is_some_and(|error| is_interruption(error.reason)),
        below: None,
    }
}

/// An error of a program as a record.
pub(super) fn record(error: &Error) -> ErrorRecord {
    let who = error.op.as_ref().map(|op| format!("{op}: ")).unwrap_or_default();
    ErrorRecord {
        reason: error.reason.name().to_owned(),
        message: format!("{who}{}", error.problem),
        hint: error.hint.clone(),
        ..ErrorRecord::default()
    }
}

/// The record of `(fail value)`: a map with `message` (and `reason`) speaks for itself, anything else is printed. Models may read the
/// message: what the firewall hides is only in the details.
pub(super) fn failed(plan: &Plan, value: &Value) -> ErrorRecord {
    let shown = if plan.hides() { visible(value) } else { value.clone() };
    let said = |key: &str| shown.lookup(key).map(super::call::plain);
    let message = said("message").or_else(|| said("reason")).unwrap_or_else(|| super::call::plain(&shown));
    let mut record = ErrorRecord::new(Reason::Failed, message);
    if matches!(value, Value::Map(_)) || shown != *value {
        record.details = Some(JsonText::of(&Json::from(&boundary::externalize(value).0)));
    }
    record
}
