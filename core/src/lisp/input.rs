//! The input of a program: its text, data, memory, limits and options.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::limits::{
    LOOP_JUMPS, Limit, PARALLEL_TIMEOUT, PARALLEL_WORKERS, PRINT_CHARS, PROGRAM_BYTES, PROGRAM_DEPTH, PROGRAM_MEMORY,
    PROGRAM_STEPS, PROGRAM_SYMBOLS, TOOL_CALLS,
};

use super::ToolInfo;
use crate::value::{Keyword, Map, Value};

/// Everything a program is run on. Two runs on equal inputs with a host that gives equal answers have equal outcomes.
#[derive(Debug, Clone)]
pub struct Input<'a> {
    /// The program's text.
    pub source: &'a str,
    /// The data read as `data/key`; a map.
    pub context: &'a Value,
    /// What earlier programs defined.
    pub memory: &'a Memory,
    /// The tools that may be called.
    pub tools: &'a [ToolInfo],
    /// Results of earlier programs, oldest first: the last is `*1`.
    pub history: &'a [Value],
    /// Results of `task` by id; `None` = no journal is kept.
    pub journal: Option<&'a Map>,
    /// What `(budget/remaining)` gives; nil outside of an agent.
    pub budget: &'a Value,
    /// What the program is held to.
    pub limits: &'a Limits,
    /// Which forms of older versions are understood.
    pub dialect: Dialect,
    /// What `data/key` gives when the key is absent.
    pub absent_data: AbsentData,
    /// Printed values leave out what [`firewall`](super::firewall) hides.
    pub firewall: bool,
    /// What `return` and `fail` end.
    pub return_scope: ReturnScope,
}

static NOTHING: Value = Value::Nil;
static NOTHING_KEPT: Memory = Memory::new();

impl<'a> Input<'a> {
    /// A program alone: no data, memory, tools or history, in the current dialect.
    pub fn new(source: &'a str, limits: &'a Limits) -> Self {
        Self {
            source,
            context: &NOTHING,
            memory: &NOTHING_KEPT,
            tools: &[],
            history: &[],
            journal: None,
            budget: &NOTHING,
            limits,
            dialect: Dialect::default(),
            absent_data: AbsentData::default(),
            firewall: false,
            return_scope: ReturnScope::default(),
        }
    }
}

/// The definitions made by `def` and its kind, by name.
pub type Memory = BTreeMap<Keyword, Binding>;

/// A name's value in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Binding {
    /// The value; keywords and functions are kept as they are.
    pub value: Value,
    /// The text given to `def` or `defn`.
    pub doc: Option<Arc<str>>,
}

/// Which forms of older versions are understood (language contract §23).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// None.
    #[default]
    Current,
    /// All, translated to modern ones.
    Legacy,
    /// As `Current`; as `Legacy` when that fails in analysis and the program uses such a form.
    Auto,
}

/// What `data/key` gives when the key is absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AbsentData {
    /// nil
    #[default]
    Nil,
    /// `runtime_error`: the option `strict_data`.
    Fails,
}

/// What `return` and `fail` end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReturnScope {
    /// The whole run.
    #[default]
    Run,
    /// The program only; the run continues with its result.
    Call,
}

/// What programs are held to. Time is the host's: see [`crate::lisp::Host::interrupt`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Steps in all.
    pub steps: u64,
    /// Bytes held above the input.
    pub memory_bytes: u64,
    /// Calls within calls.
    pub depth: u64,
    /// Jumps of one loop, or of one call that recurs.
    pub loop_jumps: u64,
    /// Bytes of the program's text.
    pub program_bytes: u64,
    /// Different symbols and keywords, keywords made at run time included.
    pub symbols: u64,
    /// Characters kept of one printed entry.
    pub print_chars: u64,
    /// Threads for branches at a time.
    pub parallel_workers: u64,
    /// Time for one `pmap` or `pcalls`.
    pub parallel_timeout_ms: u64,
    /// Tool calls; `None` = any number.
    pub tool_calls: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        let usual = |limit: &Limit| limit.default.unwrap_or(limit.max);
        Self {
            steps: usual(&PROGRAM_STEPS),
            memory_bytes: usual(&PROGRAM_MEMORY),
            depth: usual(&PROGRAM_DEPTH),
            loop_jumps: usual(&LOOP_JUMPS),
            program_bytes: usual(&PROGRAM_BYTES),
            symbols: usual(&PROGRAM_SYMBOLS),
            print_chars: usual(&PRINT_CHARS),
            parallel_workers: usual(&PARALLEL_WORKERS),
            parallel_timeout_ms: usual(&PARALLEL_TIMEOUT),
            tool_calls: TOOL_CALLS.default,
        }
    }
}
