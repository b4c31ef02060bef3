//! Running a program: what goes in, what comes out, and the way through the stages.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::machine::Limits;
use super::{Call, Error, ToolInfo};
use crate::value::{Keyword, Map, Value};

/// What `def` keeps between programs, by name.
pub type Memory = BTreeMap<Keyword, Binding>;

/// A name's value in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Binding {
    /// The value; keywords and functions are kept as they are.
    pub value: Value,
    /// The text given to `def` or `defn`.
    pub doc: Option<Arc<str>>,
}

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

/// How a program ended that did not break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Signal {
    /// The last form has a value.
    Value,
    /// `return`
    Return,
    /// `fail`
    Fail,
}

/// What a program did.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// How it ended and with what value, or what was wrong.
    pub result: Result<(Signal, Value), Error>,
    /// The memory after it: with the new definitions, or as before when it broke.
    pub memory: Memory,
    /// What it printed, also when it broke.
    pub prints: Vec<String>,
    /// The tool calls that finished, also when it broke.
    pub calls: Vec<Call>,
    /// What `step-done` noted, by id in order of the first note.
    pub summaries: Vec<(String, String)>,
    /// The journal after it; as before when it broke.
    pub journal: Option<Map>,
    /// What people and models should know although nothing failed: a legacy form and its modern one, keys of tool
    /// arguments that became one.
    pub warnings: Vec<String>,
    /// What it used.
    pub usage: Usage,
}

/// What a program used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Evaluation steps; the same on every machine.
    pub steps: u64,
    /// Most bytes held above the input, as seen when looking every thousand steps.
    pub bytes: u64,
}
