//! Running a program inside a run: on a thread of its own, its tool calls answered here, its end recorded.
//!
//! In: the program and what it works on. Out: its outcome. Time, memory and stops that end a program come from outside: their
//! `program.end` is an input, and replay does not run that program again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use ptc_core::lisp::{CallAddress, Error, Failure, Outcome, Signal, Usage};
use ptc_core::reasons::Reason;
use ptc_core::text::Span;
use ptc_core::value::{Bounds, Value};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use super::state::{Driver, Halt};
use crate::engine::history::InterruptedProgram;
use crate::engine::modes::{ProgramRun, program_error};
use crate::event::{Address, ErrorRecord, Event, ProgramEnd, ProgramStatus, TextRecord};
use crate::program::{Job, Tools};

/// As good as no limit, in ms: a century.
const NO_LIMIT_MS: u64 = 3_000_000_000_000;

/// A call that waits for its answer.
struct PendingToolCall {
    at: CallAddress,
    tool: String,
    args: Value,
    answer: oneshot::Sender<Result<Value, Failure>>,
}

/// The program's side of the calls.
struct Bridge(mpsc::UnboundedSender<PendingToolCall>);

impl Tools for Bridge {
    fn call(&self, at: &CallAddress, tool: &str, args: &Value) -> Result<Value, Failure> {
        let (answer, waiting) = oneshot::channel();
        let stopped = || Failure::Stopped(Error::new(Reason::Cancelled, "the program was stopped"));
        let pending = PendingToolCall { at: at.clone(), tool: tool.to_owned(), args: args.clone(), answer };
        self.0.send(pending).map_err(|_| stopped())?;
        waiting.blocking_recv().unwrap_or_else(|_| Err(stopped()))
    }
}

impl Driver<'_> {
    /// Runs a program at this turn, records how it ended, and stops there when it comes to a breakpoint.
    pub(super) async fn run_program(&self, at: &Address, program: ProgramRun) -> Result<Outcome, Halt> {
        let ProgramRun { mut job, closed } = program;
        // A program that ended by itself in the recording is not ended from outside.
        let timed = !self.ports.history.is_over(at);
        if !timed {
            job.limits.parallel_timeout_ms = NO_LIMIT_MS;
            (job.timeout_ms, job.compile_timeout_ms) = (NO_LIMIT_MS, NO_LIMIT_MS);
        }
        self.ports.history.watch_program(at, &job);
        let before = job.memory.clone();
        let outcome = match self.ports.history.program(at) {
            Some(program) => self.as_recorded(at, program, job).await?,
            None => self.run_job(at, job, timed, closed.as_deref()).await?,
        };
        self.break_at_end(at, &outcome, &before).await?;
        Ok(outcome)
    }

    async fn run_job(&self, at: &Address, job: Job, timed: bool, closed: Option<&str>) -> Result<Outcome, Halt> {
        let (outcome, branched) = match self.interpret(at, job, timed, closed).await {
            Ok(ended) => ended,
            Err(Halt::Fail(record)) => return Err(self.broken_off(at, record).await?),
            Err(halt) => return Err(halt),
        };
        let mut end = ending(&outcome);
        // Which calls other branches still made before an error was known is not deterministic: such a program is not run again either.
        end.interrupted |= outcome.result.is_err() && branched;
        if end.interrupted {
            end.child_usage = self.usage.children();
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

    /// Records the end of a program that one of its calls aborted; which calls other branches still made is not deterministic.
    async fn broken_off(&self, at: &Address, record: ErrorRecord) -> Result<Halt, Halt> {
        let end = ProgramEnd { child_usage: self.usage.children(), ..InterruptedProgram::stopped() };
        self.emit(at, end).await?;
        Ok(Halt::Fail(record))
    }

    /// The outcome, and whether calls were made in parallel branches.
    async fn interpret(
        &self,
        at: &Address,
        job: Job,
        timed: bool,
        closed: Option<&str>,
    ) -> Result<(Outcome, bool), Halt> {
        let (sender, mut calls) = mpsc::unbounded_channel();
        let stop_sign = Arc::new(AtomicBool::new(false));
        let stop_here = Arc::clone(&stop_sign);
        // It waits for the program's own thread; a paused clock does not advance meanwhile.
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
                    answers.push(self.answer_program(at, pending, closed));
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
                        (None, Err(_)) => Err(Halt::fail(Reason::InternalError, "the interpreter panicked")),
                    };
                }
                () = stop.token().cancelled(), if timed && !stop_sign.load(Ordering::Relaxed) => {
                    stop_sign.store(true, Ordering::Relaxed);
                }
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => self.stop_when_due(),
            }
        }
    }

    async fn answer_program(&self, turn: &Address, pending: PendingToolCall, closed: Option<&str>) -> Result<(), Halt> {
        let PendingToolCall { at, tool, args, answer } = pending;
        let branch = at.branches.iter().fold(turn.clone(), |address, (form, branch)| address.branch(*form, *branch));
        if let Some(why) = closed {
            _ = answer.send(Err(Failure::Tool(why.to_owned())));
            return Ok(());
        }
        let (result, halt) = match self.call_tool(&branch.call(at.call), &tool, &args).await {
            Ok(Ok(value)) => (Ok(value), None),
            Ok(Err(record)) => (Err(failure(&record)), None),
            Err(halt) => (Err(Failure::Stopped(Error::new(Reason::Cancelled, "the run has ended"))), Some(halt)),
        };
        // A program that was stopped meanwhile takes no answer.
        _ = answer.send(result);
        halt.map_or(Ok(()), Err)
    }

    /// The outcome of a program that was ended from outside, as it is recorded.
    async fn as_recorded(&self, at: &Address, program: InterruptedProgram, job: Job) -> Result<Outcome, Halt> {
        let InterruptedProgram { end, inside } = program;
        let record = end.error.clone().unwrap_or_default();
        let reason = Reason::from_name(&record.reason).unwrap_or(Reason::Cancelled);
        let mut error = Error::new(reason, record.message);
        error.hint = record.hint;
        error.span = end.span.map(|(from, to)| Span::new(from, to));
        let outcome = Outcome {
            result: Err(error),
            memory: job.memory,
            prints: end.prints.clone(),
            calls: Vec::new(),
            summaries: end.summaries.clone(),
            journal: job.journal,
            warnings: end.warnings.clone(),
            usage: Usage::default(),
        };
        for envelope in &inside {
            match &envelope.event {
                Event::ToolEnd(end) => {
                    end.result.iter().for_each(|result| self.hide(&envelope.address, &result.value()));
                }
                Event::RunStart(start) => self.hide(&envelope.address, &start.context.value()),
                _ => {}
            }
        }
        self.adopt_recorded(end.child_usage, &inside);
        self.emit(at, end).await?;
        if reason == Reason::Cancelled {
            return Err(self.interrupted(at).await);
        }
        Ok(outcome)
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

/// Returns whether a time limit, a memory limit or a stop ended the program.
fn is_interruption(reason: Reason) -> bool {
    use Reason::{Cancelled, CompileMemoryExceeded, CompileTimeout, MemoryExceeded, Timeout};
    matches!(reason, Cancelled | CompileMemoryExceeded | CompileTimeout | MemoryExceeded | Timeout)
}

fn ending(outcome: &Outcome) -> ProgramEnd {
    let shown = |value: &Value| TextRecord::of(value.print(Bounds::default()).text);
    let (status, value, error) = match &outcome.result {
        Ok((Signal::Value, value)) => (ProgramStatus::Value, Some(shown(value)), None),
        Ok((Signal::Return, value)) => (ProgramStatus::Return, Some(shown(value)), None),
        Ok((Signal::Fail, value)) => (ProgramStatus::Fail, Some(shown(value)), None),
        Err(error) => (ProgramStatus::Error, None, Some(error)),
    };
    ProgramEnd {
        status,
        value,
        prints: outcome.prints.clone(),
        summaries: outcome.summaries.clone(),
        error: error.map(program_error),
        span: error.and_then(|error| error.span).map(|span| (span.start, span.end)),
        warnings: outcome.warnings.clone(),
        interrupted: error.is_some_and(|error| is_interruption(error.reason)),
        child_usage: None,
    }
}
