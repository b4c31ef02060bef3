//! A program with all of its inputs as plain data, so that it can be sent to another thread, stored, and run again.
//!
//! In: the inputs of a turn's program. Out: the outcome, any number of times. It never answers tool calls itself.

use std::sync::atomic::AtomicBool;

use ptc_core::limits::COMPILE_TIMEOUT;
use ptc_core::lisp::Limits;
use ptc_core::lisp::ReturnScope;
use ptc_core::lisp::{self, Dialect, Memory, Outcome, ToolInfo};
use ptc_core::value::{Map, Value};

use super::{NoTools, ProgramSettings, Tools, run};

/// A program and its inputs.
#[derive(Debug, Clone)]
pub struct Job {
    /// Its source text.
    pub source: String,
    /// The data.
    pub context: Value,
    /// Definitions of earlier programs.
    pub memory: Memory,
    /// Results of earlier programs, oldest first.
    pub history: Vec<Value>,
    /// Results of finished tasks, if a journal is used.
    pub journal: Option<Map>,
    /// Value of `(budget/remaining)`.
    pub budget: Value,
    /// The available tools.
    pub tools: Vec<ToolInfo>,
    /// Its language dialect.
    pub dialect: Dialect,
    /// True if prints omit names that start with `_`.
    pub firewall: bool,
    /// Scope of `return` and `fail`.
    pub return_scope: ReturnScope,
    /// Limits of the machine.
    pub limits: Limits,
    /// Maximum computing time in ms.
    pub timeout_ms: u64,
    /// Maximum time for reading, analysing and compiling in ms.
    pub compile_timeout_ms: u64,
    /// The current time of the program, Unix ms.
    pub now_ms: i64,
}

impl Job {
    /// Creates a program without data, memory, tools and history, in the current dialect with default limits.
    pub fn alone(source: impl Into<String>) -> Self {
        let timeout_ms = COMPILE_TIMEOUT.default.unwrap_or(COMPILE_TIMEOUT.max);
        Self {
            source: source.into(),
            context: Value::Nil,
            memory: Memory::new(),
            history: Vec::new(),
            journal: None,
            budget: Value::Nil,
            tools: Vec::new(),
            dialect: Dialect::default(),
            firewall: false,
            return_scope: ReturnScope::default(),
            limits: Limits::default(),
            timeout_ms,
            compile_timeout_ms: timeout_ms,
            now_ms: 0,
        }
    }

    /// Runs it without tools. Blocks.
    pub fn evaluate(&self) -> Outcome {
        self.run(&NoTools, &AtomicBool::new(false))
    }

    /// Runs it on a new thread and waits for it. Blocks.
    pub fn run(&self, tools: &dyn Tools, stop: &AtomicBool) -> Outcome {
        let input = lisp::Input {
            context: &self.context,
            memory: &self.memory,
            tools: &self.tools,
            history: &self.history,
            journal: self.journal.as_ref(),
            budget: &self.budget,
            dialect: self.dialect,
            firewall: self.firewall,
            return_scope: self.return_scope,
            ..lisp::Input::new(&self.source, &self.limits)
        };
        let settings = ProgramSettings {
            tools,
            timeout_ms: self.timeout_ms,
            compile_timeout_ms: self.compile_timeout_ms,
            now_ms: self.now_ms,
            stop,
        };
        run(&input, &settings)
    }
}
