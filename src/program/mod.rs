//! Runs PTC-Lisp programs with a clock, a stop signal and tools.
//!
//! In: an [`Input`] and [`ProgramSettings`]. Out: an [`Outcome`]. The time of tools, users and child agents does not count.

mod clock;
pub mod expression;
mod job;
pub mod path;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ptc_core::lisp::{self, CallAddress, Error, Failure, Host, Input, Outcome, Stack};
use ptc_core::reasons::Reason;
use ptc_core::value::Value;

use clock::Stopwatch;
pub use job::Job;

/// The tools of a program. Calls may block; their time does not count.
pub trait Tools: Sync {
    /// Calls a tool and waits for its result.
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
        Err(Failure::Tool(format!("unknown tool `{tool}`")))
    }
}

/// The message of `(fail value)`: the `message` (or `reason`) of a map, any other value as it is printed.
pub fn fail_message(value: &Value) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
    let part = |key: &str| value.lookup(key).map(text);
    part("message").or_else(|| part("reason")).unwrap_or_else(|| text(value))
}

/// Environment of a program run.
pub struct ProgramSettings<'s> {
    /// The available tools.
    pub tools: &'s dyn Tools,
    /// Maximum computing time in ms.
    pub timeout_ms: u64,
    /// Maximum time for reading, analysing and compiling in ms.
    pub compile_timeout_ms: u64,
    /// The current time of the program, Unix ms.
    pub now_ms: i64,
    /// Set to stop the program.
    pub stop: &'s AtomicBool,
}

/// Runs a program on a new thread and waits for it. Blocks.
pub fn run(input: &Input<'_>, settings: &ProgramSettings<'_>) -> Outcome {
    lisp::run(input, &RunEnvironment::of(settings))
}

/// Runs a program on this thread with its stack.
pub fn run_on(input: &Input<'_>, settings: &ProgramSettings<'_>, stack: &Stack) -> Outcome {
    lisp::run_on(input, &RunEnvironment::of(settings), stack)
}

struct RunEnvironment<'s> {
    settings: &'s ProgramSettings<'s>,
    watch: Stopwatch,
    /// Computing time at the end of compilation in ms.
    compiled_ms: AtomicU64,
}

impl<'s> RunEnvironment<'s> {
    /// Starts the clock.
    fn of(settings: &'s ProgramSettings<'s>) -> Self {
        Self { settings, watch: Stopwatch::start(), compiled_ms: AtomicU64::new(0) }
    }

    fn stopped(&self) -> Option<Error> {
        let stopped = self.settings.stop.load(Ordering::Relaxed);
        stopped.then(|| Error::new(Reason::Cancelled, "the program was stopped"))
    }
}

impl Host for RunEnvironment<'_> {
    fn call(&self, at: &CallAddress, tool: &str, args: &Value) -> Result<Value, Failure> {
        self.watch.computed();
        let answer = self.settings.tools.call(at, tool, args);
        self.watch.waited();
        answer
    }

    fn interrupt(&self) -> Option<Error> {
        let timeout_ms = self.settings.timeout_ms;
        let computed_ms = self.elapsed_ms().saturating_sub(self.compiled_ms.load(Ordering::Relaxed));
        self.stopped().or_else(|| {
            (computed_ms > timeout_ms).then(|| {
                Error::new(Reason::Timeout, format!("the program computed longer than {timeout_ms} ms"))
                    .hint("Do less work at a time")
            })
        })
    }

    fn compiling(&self) -> Option<Error> {
        let timeout_ms = self.settings.compile_timeout_ms;
        let elapsed_ms = self.elapsed_ms();
        self.compiled_ms.store(elapsed_ms, Ordering::Relaxed);
        self.stopped().or_else(|| {
            (elapsed_ms > timeout_ms).then(|| {
                Error::new(Reason::CompileTimeout, format!("reading and compiling took longer than {timeout_ms} ms"))
                    .hint("Make the program shorter")
            })
        })
    }

    fn now_ms(&self) -> i64 {
        self.settings.now_ms
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.watch.computed().as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use ptc_core::limits::{COMPILE_TIMEOUT, PROGRAM_TIMEOUT};
    use ptc_core::lisp::Limits;

    use super::*;

    /// Returns the error of a program that loops forever.
    fn ended(source: &str, timeout_ms: u64, compile_timeout_ms: u64, stop: bool) -> Error {
        let limits = Limits { loop_jumps: u64::MAX, steps: u64::MAX, ..Limits::default() };
        let input = Input::new(source, &limits);
        let stop = AtomicBool::new(stop);
        let settings = ProgramSettings { tools: &NoTools, timeout_ms, compile_timeout_ms, now_ms: 0, stop: &stop };
        run(&input, &settings).result.expect_err("it does not end by itself")
    }

    #[test]
    fn an_endless_program_is_ended_by_the_clock() {
        let error = ended("(loop [i 0] (recur (inc i)))", PROGRAM_TIMEOUT.min, u64::MAX, false);
        assert_eq!(error.reason, Reason::Timeout);
        assert!(error.message().contains("1 ms"), "{}", error.message());
    }

    #[test]
    fn compiling_has_its_own_clock() {
        let long = "(let [a 1 b 2] (str a b)) ".repeat(30_000);
        let error = ended(&long, u64::MAX, COMPILE_TIMEOUT.min - 1, false);
        assert_eq!(error.reason, Reason::CompileTimeout);
    }

    #[test]
    fn a_stop_ends_any_program() {
        assert_eq!(ended("(loop [] (recur))", u64::MAX, u64::MAX, true).reason, Reason::Cancelled);
    }
}
