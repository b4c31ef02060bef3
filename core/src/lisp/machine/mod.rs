//! The machine: what a running program has and is held to. Builtins see it through the methods here.
//!
//! One machine runs on one thread; parallel branches have machines of their own.

mod callee;
mod code;

pub use callee::Callee;
pub use code::{Closed, Code, Frame, Lambda};

use super::{Error, Host, R};
use crate::reasons::Reason;
use crate::value::Value;

/// Steps between two looks at the clock, the memory and the stop sign.
const STEPS_PER_LOOK: u64 = 1_024;

/// What programs are held to. Time is the host's: see [`Host::interrupt`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Steps in all.
    pub steps: u64,
}

/// A running program.
pub struct Machine<'h> {
    /// Steps left until the next look.
    fuel: u64,
    /// Steps left after that.
    steps_left: u64,
    /// The world.
    host: &'h dyn Host,
    limits: Limits,
    prints: Vec<String>,
}

impl<'h> Machine<'h> {
    /// A machine for one program.
    pub fn new(host: &'h dyn Host, limits: Limits) -> Self {
        Self { fuel: STEPS_PER_LOOK, steps_left: limits.steps, host, limits, prints: Vec::new() }
    }

    /// Counts one step. Every call, jump and item that a builtin goes through is one.
    #[inline]
    pub fn tick(&mut self) -> R<()> {
        self.ticks(1)
    }

    /// Counts `steps` at once, for work that is known beforehand or just done: a sort, a copy, a search. One step is
    /// worth about 10 ns of work or 16 bytes copied.
    #[inline]
    pub fn ticks(&mut self, steps: usize) -> R<()> {
        let steps = steps as u64;
        if self.fuel > steps {
            self.fuel -= steps;
            return Ok(());
        }
        self.look(steps)
    }

    #[cold]
    fn look(&mut self, steps: u64) -> R<()> {
        let used = STEPS_PER_LOOK - self.fuel + steps;
        self.fuel = STEPS_PER_LOOK;
        self.steps_left = self.steps_left.saturating_sub(used);
        if let Some(error) = self.host.interrupt() {
            return error.halt();
        }
        if self.steps_left == 0 {
            return Error::new(Reason::Timeout, format!("more than {} steps", self.limits.steps)).halt();
        }
        Ok(())
    }

    /// Asks before something large is made: fails with `memory_exceeded` when `bytes` more would break the limit. For
    /// everything whose size does not follow from the size of the arguments, and for copies of large ones.
    pub fn reserve(&mut self, bytes: usize) -> R<()> {
        let _ = bytes;
        self.tick()
    }

    /// Calls a function value with these arguments; anything that is not callable fails as in call position.
    pub fn call(&mut self, function: &Value, args: &mut [Value]) -> R {
        let _ = (function, args);
        Ok(Value::Nil)
    }

    /// Adds one printed entry, cut at the limit.
    pub fn print(&mut self, entry: String) {
        self.prints.push(entry);
    }

    /// The program's time in milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        self.host.now_ms()
    }
}
