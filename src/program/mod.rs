//! Running a PTC-Lisp program for the package: on a thread with room for deep calls, with a clock, a stop sign and tools.
//!
//! In: what the program runs on ([`Input`]) and a [`Setting`]. Out: its [`Outcome`]; a fault of ours becomes one too.
//! It must never count the time that tools, people or child agents take, and never let a panic pass.

mod clock;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ptc_core::lisp::{self, CallAddress, Error, Failure, Host, Input, Outcome, Usage};
use ptc_core::reasons::Reason;
use ptc_core::value::Value;

use clock::Stopwatch;

/// Room for the deepest calls and values that the limits allow. Only what is used of it becomes memory.
const STACK_BYTES: usize = 256 << 20;

/// What a program may call. It may block; its time does not count.
pub trait Tools: Sync {
    /// Calls a tool and waits for its answer.
    fn call(&self, at: &CallAddress, tool: &str, args: &Value) -> Result<Value, Failure>;
}

impl<F: Fn(&CallAddress, &str, &Value) -> Result<Value, Failure> + Sync> Tools for F {
    fn call(&self, at: &CallAddress, tool: &str, args: &Value) -> Result<Value, Failure> {
        self(at, tool, args)
    }
}

/// No tools: every call fails.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTools;

impl Tools for NoTools {
    fn call(&self, _: &CallAddress, tool: &str, _: &Value) -> Result<Value, Failure> {
        Err(Failure::Tool(format!("there is no tool `{tool}`")))
    }
}

/// The surroundings of a run.
pub struct Setting<'s> {
    /// What it may call.
    pub tools: &'s dyn Tools,
    /// Milliseconds it may compute.
    pub timeout_ms: u64,
    /// The time it sees, in milliseconds since 1970.
    pub now_ms: i64,
    /// Raised to stop it.
    pub stop: &'s AtomicBool,
}

/// Runs a program on a thread of its own and waits for it. Do not call it on a thread that must not block.
pub fn run(input: &Input<'_>, setting: &Setting<'_>) -> Outcome {
    on_large_stack(|| run_here(input, setting)).unwrap_or_else(|error| broken(input, error))
}

/// Runs a program on this thread, which must be one that [`on_large_stack`] made.
pub fn run_here(input: &Input<'_>, setting: &Setting<'_>) -> Outcome {
    let host = Surroundings { setting, watch: Stopwatch::start() };
    catch_unwind(AssertUnwindSafe(|| lisp::run(input, &host)))
        .unwrap_or_else(|_| broken(input, fault("the interpreter broke off")))
}

/// Does the work on a thread with room for deep calls and waits for it.
///
/// Errors: `internal_error` when the thread cannot be started or the work panics.
pub fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, Error> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("program".to_owned()).stack_size(STACK_BYTES);
        let worker = thread
            .spawn_scoped(scope, work)
            .map_err(|error| fault(format!("the program's thread cannot be started: {error}")))?;
        worker.join().map_err(|_| fault("the program's thread broke off"))
    })
}

fn fault(problem: impl Into<String>) -> Error {
    Error::new(Reason::InternalError, problem)
}

fn broken(input: &Input<'_>, error: Error) -> Outcome {
    Outcome {
        result: Err(error),
        memory: input.memory.clone(),
        prints: Vec::new(),
        calls: Vec::new(),
        summaries: Vec::new(),
        journal: input.journal.cloned(),
        warnings: Vec::new(),
        usage: Usage::default(),
    }
}

struct Surroundings<'s> {
    setting: &'s Setting<'s>,
    watch: Stopwatch,
}

impl Host for Surroundings<'_> {
    fn call(&self, at: &CallAddress, tool: &str, args: &Value) -> Result<Value, Failure> {
        self.watch.computed();
        let answer = self.setting.tools.call(at, tool, args);
        self.watch.waited();
        answer
    }

    fn interrupt(&self) -> Option<Error> {
        if self.setting.stop.load(Ordering::Relaxed) {
            return Some(Error::new(Reason::Cancelled, "the program was stopped"));
        }
        let timeout_ms = self.setting.timeout_ms;
        (self.watch.computed() > Duration::from_millis(timeout_ms)).then(|| {
            Error::new(Reason::Timeout, format!("the program computed longer than {timeout_ms} ms"))
                .hint("Do less work at a time")
        })
    }

    fn now_ms(&self) -> i64 {
        self.setting.now_ms
    }
}
