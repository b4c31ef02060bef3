//! What a session of the REPL keeps, and what each input does to it.
//!
//! In: one input, a program or a command with `:`. Out: text on stdout and stderr.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ptc_core::lisp::machine::Limits;
use ptc_core::lisp::{AbsentData, Dialect, Input, Memory, Signal};
use ptc_core::value::{Bounds, Value};

use super::super::run::report;
use super::super::{doc, now_ms, program};
use super::help;
use crate::cli::{out, safe, tell_error};
use crate::program::{NoTools, Setting, run};

/// Results that `*1` to `*3` name.
const RESULTS: usize = 3;
/// Items shown of each collection in `:memory`.
const ITEMS: usize = 20;
/// Characters shown of each text in `:memory`.
const CHARS: usize = 200;

/// The commands, for completion.
pub(super) const COMMANDS: &[&str] = &[":doc", ":help", ":load", ":memory", ":quit", ":reset"];

/// What became of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reply {
    /// It did what it says.
    Done,
    /// It broke, failed or is unknown.
    Broken,
    /// Leave.
    Quit,
}

/// Memory, results and data.
pub(super) struct Session {
    context: Value,
    memory: Memory,
    results: VecDeque<Value>,
    timeout_ms: u64,
    limits: Limits,
    stop: Arc<AtomicBool>,
}

impl Session {
    pub(super) fn new(context: Value, timeout_ms: u64, stop: Arc<AtomicBool>) -> Self {
        let (memory, results) = (Memory::new(), VecDeque::new());
        Self { context, memory, results, timeout_ms, limits: Limits::default(), stop }
    }

    /// The names that are defined.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.memory.keys().map(|name| name.name())
    }

    /// Takes one input. `:name` alone is a command only when there is one of that name: a keyword is a program too.
    pub(super) fn take(&mut self, input: &str) -> Reply {
        let (word, rest) = input.split_once(char::is_whitespace).unwrap_or((input, ""));
        let rest = rest.trim();
        match word {
            "" => return Reply::Done,
            ":quit" | ":q" | ":exit" => return Reply::Quit,
            ":help" => help(),
            ":memory" => self.show_memory(),
            ":reset" => {
                self.memory.clear();
                self.results.clear();
            }
            ":doc" if rest.is_empty() => help(),
            ":doc" if doc::doc(rest) != crate::cli::exit::OK => return Reply::Broken,
            ":doc" => {}
            ":load" => return self.load(rest),
            _ => return self.run(input, "repl"),
        }
        Reply::Done
    }

    fn load(&mut self, file: &str) -> Reply {
        match program(Path::new(file)) {
            Ok((name, text)) => self.run(&text, &name),
            Err(error) => {
                tell_error(&error.0);
                Reply::Broken
            }
        }
    }

    fn run(&mut self, source: &str, name: &str) -> Reply {
        self.stop.store(false, Ordering::Relaxed);
        let history: Vec<Value> = self.results.iter().cloned().collect();
        let input = Input {
            source,
            context: &self.context,
            memory: &self.memory,
            tools: &[],
            history: &history,
            journal: None,
            budget: &Value::Nil,
            limits: &self.limits,
            dialect: Dialect::Auto,
            absent_data: AbsentData::Nil,
        };
        let stop = &self.stop;
        let setting = Setting { tools: &NoTools, timeout_ms: self.timeout_ms, now_ms: now_ms(), stop };
        let outcome = run(&input, &setting);
        report(&outcome, source, name);
        self.memory = outcome.memory;
        match outcome.result {
            Ok((Signal::Value | Signal::Return, value)) => {
                self.results.push_back(value);
                if self.results.len() > RESULTS {
                    self.results.pop_front();
                }
                Reply::Done
            }
            Ok((Signal::Fail, _)) | Err(_) => Reply::Broken,
        }
    }

    fn show_memory(&self) {
        for (name, binding) in &self.memory {
            let shown = binding.value.print(Bounds { items: Some(ITEMS), chars: Some(CHARS) }).text;
            out(&safe(&format!("{} = {shown}", name.name())));
        }
    }
}
