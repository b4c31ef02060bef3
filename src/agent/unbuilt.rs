//! Keys of agent files that belong to modes and features which this build does not have: known, kept as written, never used.
//!
//! Files that hold them load and are written back unchanged. [`Scope`] says what such a key means for a run in this build.

use ptc_core::value::Json;
use ptc_core::value::json::Node;

use super::Agent;
use crate::config::document::{Entry, Problem};

/// What a key means for a run in json mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// It concerns other modes or commands only.
    Elsewhere,
    /// It asks for something that this build would have to do: the run is refused.
    Refused,
    /// It asks for a shorter history, which json mode does not have: the run is refused.
    History,
}

/// What kind of value a key has.
pub(super) struct Kind {
    /// Is the value of this kind?
    pub(super) check: fn(&Entry<'_>) -> Result<(), Problem>,
}

const FLAG: Kind = Kind { check: |entry| entry.flag().map(drop) };
const COUNT: Kind = Kind { check: |entry| entry.count().map(drop) };
const AMOUNT: Kind = Kind { check: |entry| entry.amount().map(drop) };
const TEXT: Kind = Kind { check: |entry| entry.text().map(drop) };
const TABLE: Kind = Kind { check: |entry| entry.entries().map(drop) };
const LIST: Kind = Kind { check: |entry| entry.json.items().map(drop).ok_or_else(|| entry.expected("a list")) };
const FLAG_OR_TABLE: Kind = Kind {
    check: |entry| match entry.json.node {
        Node::Bool(_) | Node::Object(_) => Ok(()),
        _ => Err(entry.expected("true, false or a table")),
    },
};

/// One such key.
pub(super) struct Row {
    /// Its name.
    pub(super) name: &'static str,
    /// What kind of value it has.
    pub(super) kind: Kind,
    /// What it means for a run.
    pub(super) scope: Scope,
}

macro_rules! rows {
    ($($scope:ident $kind:ident $($name:literal)*;)*) => {
        /// Every such key, in the order they are written.
        pub(super) const ROWS: &[Row] = &[$($(Row { name: $name, kind: $kind, scope: Scope::$scope },)*)*];
    };
}

rows! {
    Refused FLAG "firewall";
    Refused AMOUNT "cost_limit";
    Refused TABLE "prompt_limit" "refs" "retry";
    Refused LIST "steps";
    History FLAG_OR_TABLE "compaction" "compression";
    Elsewhere COUNT "retry_turns" "max_ref_retries" "max_tool_calls" "max_tool_calls_per_program" "max_depth" "turn_budget";
    Elsewhere COUNT "program_timeout_ms" "pmap_timeout_ms" "pmap_max_concurrency" "program_memory_bytes" "memory_bytes";
    Elsewhere COUNT "float_precision" "loop_limit" "max_protocol_failures";
    Elsewhere TEXT "memory_strategy" "completion" "transport" "dialect" "reference" "tools_in";
    Elsewhere TEXT "on_budget_exceeded" "on_protocol_failure";
    Elsewhere FLAG "thinking" "llm_query" "journaling";
    Elsewhere LIST "builtin_tools" "plan" "cases";
    Elsewhere TABLE "memory" "format_options";
}

/// The row of a name.
pub(super) fn row(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

fn place(name: &str) -> usize {
    ROWS.iter().position(|row| row.name == name).unwrap_or(ROWS.len())
}

impl Agent {
    /// Keeps the value of such a key, replacing the one that was there.
    pub(super) fn set_unbuilt(&mut self, row: &Row, value: Json) {
        self.unbuilt.retain(|(name, _)| name != row.name);
        let at = self.unbuilt.partition_point(|(name, _)| place(name) < place(row.name));
        self.unbuilt.insert(at, (row.name.to_owned(), value));
    }

    /// The keys of this scope that ask for something (not `false`, not an empty table or list).
    pub(super) fn unbuilt_in(&self, scope: Scope) -> impl Iterator<Item = &str> {
        let asks = |value: &Json| match &value.node {
            Node::Bool(truth) => *truth,
            Node::Object(members) => !members.is_empty(),
            Node::List(items) => !items.is_empty(),
            _ => true,
        };
        let wanted = move |name: &str| row(name).is_some_and(|row| row.scope == scope);
        self.unbuilt.iter().filter(move |(name, value)| wanted(name) && asks(value)).map(|(name, _)| name.as_str())
    }
}
