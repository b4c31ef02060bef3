//! A program with everything it works on, as plain data: it can go to another thread, wait, and be run again.
//!
//! In: what a turn gives its program. Out: the outcome, as often as one likes. It must never answer a tool call itself.

use std::sync::atomic::AtomicBool;

use ptc_core::limits::COMPILE_TIMEOUT;
use ptc_core::lisp::Limits;
use ptc_core::lisp::ReturnScope;
use ptc_core::lisp::{self, Dialect, Memory, Outcome, ToolInfo};
use ptc_core::value::{Map, Value};

use super::{NoTools, Setting, Tools, run};

/// A program and what it works on.
#[derive(Debug, Clone)]
pub struct Job {
    /// Its text.
    pub source: String,
    /// The data.
    pub context: Value,
    /// Definitions of earlier programs.
    pub memory: Memory,
    /// Results of earlier programs, oldest first.
    pub history: Vec<Value>,
    /// Results of finished tasks, when a journal is kept.
    pub journal: Option<Map>,
    /// What `(budget/remaining)` gives.
    pub budget: Value,
    /// The tools that it may call.
    pub tools: Vec<ToolInfo>,
    /// Which language it may be written in.
    pub dialect: Dialect,
    /// What is printed leaves out names that start with `_`.
    pub firewall: bool,
    /// What `return` and `fail` end here.
    pub return_scope: ReturnScope,
    /// Limits of the machine.
    pub limits: Limits,
    /// Milliseconds it may compute.
    pub timeout_ms: u64,
    /// Milliseconds that reading, analysing and compiling may take.
    pub compile_timeout_ms: u64,
    /// The time it sees, in milliseconds since 1970.
    pub now_ms: i64,
}

impl Job {
    /// A program alone: no data, memory, tools or history, in the current dialect, with the usual limits.
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

    /// Runs it without tools, to its end. Do not call it on a thread that must not block.
    pub fn evaluate(&self) -> Outcome {
        self.run(&NoTools, &AtomicBool::new(false))
    }

    /// Runs it on a thread of its own and waits for it. Do not call it on a thread that must not block.
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
        let setting = Setting {
            tools,
            timeout_ms: self.timeout_ms,
            compile_timeout_ms: self.compile_timeout_ms,
            now_ms: self.now_ms,
            stop,
        };
        run(&input, &setting)
    }
}
