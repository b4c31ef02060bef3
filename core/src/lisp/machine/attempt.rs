//! Catching errors: which ones a program can catch, and the state of the machine after one.

use super::Machine;
use crate::lisp::Halt;
use crate::reasons::Reason;

/// The state of a machine before a part that may fail.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recovery {
    depth: u64,
    globals: (u32, usize),
}

impl Machine<'_> {
    /// Begins a part whose errors may be caught.
    pub(crate) fn begin_attempt(&mut self) -> Recovery {
        self.attempts += 1;
        Recovery { depth: self.depth, globals: self.globals.position() }
    }

    /// Ends it.
    pub(crate) fn end_attempt(&mut self) {
        self.attempts -= 1;
    }

    /// True while an error can be caught: a value that an operation consumes may then be needed again.
    pub(crate) fn may_catch(&self) -> bool {
        self.attempts > 0
    }

    /// Restores the state after an error. Definitions, output and tool calls are kept, except definitions of functions
    /// that builtins called, which are always undone.
    pub(crate) fn recover(&mut self, recovery: Recovery) {
        self.depth = recovery.depth;
        self.globals.recover(recovery.globals);
    }
}

/// True for ends that a program can catch: errors of the program and of tools, and thrown values. Limits, stops,
/// `return` and `fail` are final.
pub(crate) fn is_catchable(halt: &Halt) -> bool {
    match halt {
        Halt::Throw(_) => true,
        Halt::Error(error) => {
            error.reason.is_program_fault() || matches!(error.reason, Reason::ToolError | Reason::ToolDenied)
        }
        Halt::Return(_) | Halt::Fail(_) => false,
    }
}

/// True for ends after which `finally` runs: all but limits and stops.
pub(crate) fn runs_finally(halt: &Halt) -> bool {
    is_catchable(halt) || matches!(halt, Halt::Return(_) | Halt::Fail(_))
}
