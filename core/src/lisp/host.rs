//! The port between a program and the world: tool calls, the time, and being stopped.
//!
//! All methods are called on the program's thread (or on its workers' threads) and may block there.

use std::cell::Cell;

use super::Error;
use crate::value::Value;

/// What a program needs from outside.
pub trait Host: Sync {
    /// Calls a tool and waits for its answer. `args` are as the language contract §11.2 says: string keys with `_`.
    fn call(&self, at: &CallAddress, tool: &str, args: &Value) -> Result<Value, Failure>;

    /// Asked every few hundred steps: an error ends the program with it (`timeout`, `cancelled`, …).
    fn interrupt(&self) -> Option<Error>;

    /// Asked while reading and analysing, and between these and compiling: an error ends the program with it (`compile_timeout`, `cancelled`).
    /// Running begins after the last time it is asked.
    fn compiling(&self) -> Option<Error> {
        self.interrupt()
    }

    /// The program's time in milliseconds since 1970. One run sees one time, so that it can be replayed.
    fn now_ms(&self) -> i64;

    /// Milliseconds the program has computed so far, for the deadline of parallel forms; 0 where time is not measured.
    fn elapsed_ms(&self) -> u64 {
        0
    }
}

/// Why a tool call gave no value.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// The tool answered with an error, in its own words.
    Tool(String),
    /// The program is being stopped.
    Stopped(Error),
}

/// Where in a program a tool is called; the same in every run of the program on the same data.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct CallAddress {
    /// For each parallel form around the call, outermost first: which one it is (from 1, in the order they are
    /// started) and the branch (from 0).
    pub branches: Vec<(u32, u32)>,
    /// Which call it is there, from 0.
    pub call: u32,
}

/// A tool as programs see it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolInfo {
    /// The name after `tool/`.
    pub name: String,
    /// How it is called, in the notation of signatures.
    pub signature: Option<String>,
    /// What it does.
    pub description: Option<String>,
}

/// A finished tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Where it was made.
    pub at: CallAddress,
    /// The tool.
    pub tool: String,
    /// What it got.
    pub args: Value,
    /// What it answered; an error in the tool's words.
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
