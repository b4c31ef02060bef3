//! State of a REPL session, and the effect of each input on it.
//!
//! In: one input, a program or a command with `:`. Out: text on stdout and stderr.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ptc_core::lisp::Limits;
use ptc_core::lisp::{Binding, Budget, Dialect, Input, Memory, Outcome, Signal, read};
use ptc_core::reasons::Reason;
use ptc_core::value::Value;

use super::complete::Known;
use crate::cli::lisp::doc;
use crate::cli::lisp::face::Face;
use crate::cli::lisp::input::{compile_timeout_ms, program};
use crate::cli::lisp::run::report;
use crate::cli::output::{exit, print_error, print_line, print_note, safe};
use crate::port::SystemClock;
use crate::program::{NoTools, ProgramSettings, run};

/// Name of inputs in messages.
const NAME: &str = "repl";
/// Results that `*1` to `*3` name.
const RESULTS: usize = 3;

/// The commands, for completion.
pub(super) const COMMANDS: &[&str] = &[":all", ":doc", ":help", ":load", ":memory", ":quit", ":reset"];

const HELP: &str = "Type a program; it runs when its brackets are closed. *1 *2 *3 are the last results.
  :all         the last result, whole
  :doc NAME    what a builtin or definition does, or which builtins match a word
  :load FILE   run a file
  :memory      list the definitions
  :reset       forget definitions and results
  :quit        quit (or Ctrl-D)
Tab completes names, Ctrl-C stops a running program or discards the input.";

/// Outcome of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reply {
    /// It was done.
    Done,
    /// It broke, failed or is unknown.
    Broken,
    /// Leave.
    Quit,
}

/// Returns whether the input begins with a command. Any other keyword is a program.
pub(super) fn is_command(input: &str) -> bool {
    let word = input.split_whitespace().next().unwrap_or_default();
    COMMANDS.contains(&word) || matches!(word, ":q" | ":exit")
}

/// A part of an input, padded with blanks so that positions stay valid.
fn part(source: &str, range: Range<usize>) -> String {
    let (before, part) = source.split_at(range.start);
    let blanks = before.chars().map(|c| if c == '\n' { c } else { ' ' });
    blanks.chain(part[..range.end - range.start].chars()).collect()
}

/// Memory, results and data.
pub(super) struct Session {
    context: Value,
    memory: Memory,
    results: VecDeque<Value>,
    timeout_ms: u64,
    limits: Limits,
    stop: Arc<AtomicBool>,
    face: Face,
}

impl Session {
    pub(super) fn new(context: Value, timeout_ms: u64, stop: Arc<AtomicBool>, face: Face) -> Self {
        let (memory, results) = (Memory::new(), VecDeque::new());
        Self { context, memory, results, timeout_ms, limits: Limits::default(), stop, face }
    }

    /// Returns the destination of its text.
    pub(super) fn face(&self) -> Face {
        self.face
    }

    /// The names that an input can use in addition to those of the language.
    pub(super) fn known(&self) -> Known {
        let defined = self.memory.keys().map(|name| name.name()).collect();
        let keys = match &self.context {
            Value::Map(map) => map.iter().filter_map(|(key, _)| key.as_str().map(str::to_owned)).collect(),
            _ => Vec::new(),
        };
        Known { defined, data: keys }
    }

    /// Takes one input.
    pub(super) fn take(&mut self, input: &str) -> Reply {
        if !is_command(input) {
            return if input.is_empty() { Reply::Done } else { self.run_forms(input) };
        }
        let (word, rest) = input.split_once(char::is_whitespace).unwrap_or((input, ""));
        match (word, rest.trim()) {
            (":load", "") => {
                print_error("`:load` needs a file: `:load FILE`");
                return Reply::Broken;
            }
            (":load", file) => return self.load(file),
            (":doc", name) if !name.is_empty() => return self.doc(name),
            (":memory", _) => self.memory.iter().for_each(|(name, binding)| self.show(name.name(), binding)),
            (":all", _) => match self.results.back() {
                Some(value) => print_line(&self.face.whole(value)),
                None => print_note("there is no result yet"),
            },
            (":reset", _) => {
                self.memory.clear();
                self.results.clear();
            }
            (":quit" | ":q" | ":exit", _) => return Reply::Quit,
            _ => print_line(HELP),
        }
        Reply::Done
    }

    fn load(&mut self, file: &str) -> Reply {
        match program(Path::new(file)) {
            Ok((name, text)) => self.run(&text, &name),
            Err(error) => {
                print_error(&error.0);
                Reply::Broken
            }
        }
    }

    /// Definitions shadow builtins, as in programs.
    fn doc(&self, name: &str) -> Reply {
        match self.memory.iter().find(|(defined, _)| defined.name() == name) {
            Some((name, binding)) => self.show(name.name(), binding),
            None if doc::doc(name) != exit::OK => return Reply::Broken,
            None => {}
        }
        Reply::Done
    }

    /// Runs an input form by form, so that the value of each is shown. A failing or returning form is the last one run. A
    /// form that needs what a later one defines is run with all that follow, as one program.
    fn run_forms(&mut self, source: &str) -> Reply {
        let forms = read(source, Budget::default()).unwrap_or_default();
        let Some((_, before)) = forms.split_last().filter(|(_, before)| !before.is_empty()) else {
            return self.run(source, NAME);
        };
        let mut start = 0;
        for form in before {
            let part = part(source, start..form.span.end);
            let outcome = self.outcome(&part);
            if matches!(&outcome.result, Err(error) if error.reason == Reason::UnboundVar) {
                break;
            }
            let goes_on = matches!(outcome.result, Ok((Signal::Value, _)));
            let reply = self.keep(outcome, &part, NAME);
            if !goes_on {
                return reply;
            }
            start = form.span.end;
        }
        self.run(&part(source, start..source.len()), NAME)
    }

    fn run(&mut self, source: &str, name: &str) -> Reply {
        let outcome = self.outcome(source);
        self.keep(outcome, source, name)
    }

    fn outcome(&self, source: &str) -> Outcome {
        let history: Vec<Value> = self.results.iter().cloned().collect();
        let input = Input {
            context: &self.context,
            memory: &self.memory,
            history: &history,
            dialect: Dialect::Auto,
            ..Input::new(source, &self.limits)
        };
        let settings = ProgramSettings {
            tools: &NoTools,
            timeout_ms: self.timeout_ms,
            compile_timeout_ms: compile_timeout_ms(),
            now_ms: SystemClock.now(),
            stop: &self.stop,
        };
        let outcome = run(&input, &settings);
        // Not before the run: Ctrl-C may come as soon as the line is typed.
        self.stop.store(false, Ordering::Relaxed);
        outcome
    }

    /// Prints the outcome of a program and keeps its definitions.
    fn keep(&mut self, outcome: Outcome, source: &str, name: &str) -> Reply {
        report(&outcome, source, name, self.face, |value| self.show_result(value));
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

    /// A result, cut for display.
    fn show_result(&self, value: &Value) {
        if self.face == Face::Stream {
            return print_line(&self.face.whole(value));
        }
        let (text, is_cut) = self.face.glimpse(value);
        print_line(&text);
        if is_cut {
            print_note("(cut; :all shows it whole)");
        }
    }

    /// A definition with its text.
    fn show(&self, name: &str, binding: &Binding) {
        let (text, is_cut) = self.face.glimpse(&binding.value);
        let cut = if is_cut { " (cut)" } else { "" };
        let gap = if text.contains('\n') { '\n' } else { ' ' };
        print_line(&format!("{name} ={gap}{text}{cut}"));
        if let Some(doc) = &binding.doc {
            print_line(&format!("  {}", safe(doc)));
        }
    }
}
