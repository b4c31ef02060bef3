//! The port between a program and its host: tool calls, the clock, and interruption.
//!
//! All methods are called on the program's thread (or on its workers' threads) and may block there.

use std::cell::Cell;

use super::Error;
use crate::value::Value;

/// The services that a program needs from its host.
pub trait Host: Sync {
    /// Calls a tool and waits for its result. `args` are converted: string keys with `_`.
    fn call(&self, at: &CallAddress, tool: &str, args: &Value) -> Result<Value, Failure>;

    /// Polled every few hundred steps: an error ends the program with it (`timeout`, `cancelled`, …).
    fn interrupt(&self) -> Option<Error>;

    /// Polled while reading and analysing, and between these and compiling: an error ends the program with it
    /// (`compile_timeout`, `cancelled`). Execution begins after the last poll.
    fn compiling(&self) -> Option<Error> {
        self.interrupt()
    }

    /// The program's time in milliseconds since 1970. It is constant during one run, so that the run can be replayed.
    fn now_ms(&self) -> i64;

    /// Milliseconds of computation so far, for the deadline of parallel forms; 0 where time is not measured.
    fn elapsed_ms(&self) -> u64 {
        0
    }
}

/// The failure of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// The tool returned this error text.
    Tool(String),
    /// The program is being interrupted.
    Stopped(Error),
}

/// The position of a tool call in a program; the same in every run of the program on the same data.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct CallAddress {
    /// For each enclosing parallel form, outermost first: its number (from 1, in order of start) and the branch (from
    /// 0).
    pub branches: Vec<(u32, u32)>,
    /// The number of the call within its branch, from 0.
    pub call: u32,
}

/// A tool as programs see it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolInfo {
    /// The name after `tool/`.
    pub name: String,
    /// Its signature, in signature notation.
    pub signature: Option<String>,
    /// Its description.
    pub description: Option<String>,
}

/// A finished tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Its position in the program.
    pub at: CallAddress,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub args: Value,
    /// Its result, or the error text of the tool.
    pub result: Result<Value, String>,
}

/// Steps of reading or analysing between two checks of a [`Watch`].
const STEPS_PER_CHECK: u32 = 1_024;

/// Lets a host interrupt the reading and the analysis of a program: calls a check every thousand steps.
pub(super) struct Watch<'a> {
    check: &'a dyn Fn() -> Result<(), Error>,
    remaining: Cell<u32>,
}

impl<'a> Watch<'a> {
    /// Calls `check` every thousand steps.
    pub(super) fn new(check: &'a dyn Fn() -> Result<(), Error>) -> Self {
        Self { check, remaining: Cell::new(STEPS_PER_CHECK) }
    }

    /// Never interrupts.
    pub(super) fn none() -> Self {
        Self::new(&|| Ok(()))
    }

    /// Counts one token or form. Fails with the error of the check.
    #[inline]
    pub(super) fn step(&self) -> Result<(), Error> {
        match self.remaining.get() {
            0 => {
                self.remaining.set(STEPS_PER_CHECK);
                (self.check)()
            }
            remaining => {
                self.remaining.set(remaining - 1);
                Ok(())
            }
        }
    }
}
