//! The keys of agent files that are options of modes: one table with the kind of each value.
//!
//! In: entries of a file. Out: values kept as written, in the order of the table, so that files are written back unchanged.
//! [`Settings`](super::Settings) gives them their types.

use ptc_core::limits::{self, Limit};
use ptc_core::value::Json;
use ptc_core::value::json::Node;

use crate::agent::Agent;
use crate::config::document::{Entry, Names, Problem};

/// What kind of value a key has.
#[derive(Debug, Clone, Copy)]
pub(in crate::agent) enum Kind {
    /// true or false.
    Flag,
    /// A number in the range of a limit.
    Limit(&'static Limit),
    /// A whole number.
    Count,
    /// A number that is not negative.
    Amount,
    /// Text.
    Text,
    /// One of these words; the first is the default.
    Word(&'static [&'static str]),
    /// A table.
    Table,
    /// A list.
    List,
    /// true, false or a table.
    FlagOrTable,
    /// Cases.
    Cases,
}

/// One such key.
#[derive(Debug, Clone, Copy)]
pub(in crate::agent) struct Row {
    /// Its name.
    pub(in crate::agent) name: &'static str,
    /// What kind of value it has.
    pub(in crate::agent) kind: Kind,
}

/// How a run in `ptc_lisp` ends.
pub(in crate::agent) const COMPLETION: &[&str] = &["return_required", "explicit", "answer_without_code"];
/// How programs travel.
pub(in crate::agent) const TRANSPORT: &[&str] = &["content", "tool_call"];
/// Which forms of older versions programs may use.
pub(in crate::agent) const DIALECT: &[&str] = &["auto", "current", "legacy"];
/// How much of the language the prompt tells.
pub(in crate::agent) const REFERENCE: &[&str] = &["full", "none"];
/// What happens when the memory is too large.
pub(in crate::agent) const MEMORY_STRATEGY: &[&str] = &["strict", "rollback"];
/// Where `json_loop` tells the tools.
pub(in crate::agent) const TOOLS_IN: &[&str] = &["prompt", "native"];
/// What happens when a budget is used up.
pub(in crate::agent) const ON_BUDGET: &[&str] = &["fail", "return_partial"];
/// What happens after too many replies that are no control object.
pub(in crate::agent) const ON_PROTOCOL: &[&str] = &["fail", "accept_raw"];

macro_rules! rows {
    ($($name:literal $kind:expr;)*) => {
        /// Every such key, in the order they are written.
        pub(in crate::agent) const ROWS: &[Row] = &[$(Row { name: $name, kind: $kind },)*];
    };
}

rows! {
    "retry_turns" Kind::Limit(&limits::RETRY_TURNS);
    "completion" Kind::Word(COMPLETION);
    "transport" Kind::Word(TRANSPORT);
    "dialect" Kind::Word(DIALECT);
    "reference" Kind::Word(REFERENCE);
    "tools_in" Kind::Word(TOOLS_IN);
    "thinking" Kind::Flag;
    "journaling" Kind::Flag;
    "tool_try" Kind::Flag;
    "llm_query" Kind::Flag;
    "builtin_tools" Kind::List;
    "firewall" Kind::Flag;
    "program_timeout_ms" Kind::Limit(&limits::PROGRAM_TIMEOUT);
    "program_memory_bytes" Kind::Limit(&limits::PROGRAM_MEMORY);
    "loop_limit" Kind::Limit(&limits::LOOP_JUMPS);
    "pmap_timeout_ms" Kind::Limit(&limits::PARALLEL_TIMEOUT);
    "pmap_max_concurrency" Kind::Limit(&limits::PARALLEL_WORKERS);
    "memory_bytes" Kind::Limit(&limits::MEMORY_BYTES);
    "memory_strategy" Kind::Word(MEMORY_STRATEGY);
    "float_precision" Kind::Count;
    "max_tool_calls" Kind::Limit(&limits::RUN_CALLS);
    "max_tool_calls_per_program" Kind::Limit(&limits::TOOL_CALLS);
    "same_calls" Kind::Limit(&limits::SAME_CALLS);
    "max_depth" Kind::Limit(&limits::TREE_DEPTH);
    "turn_budget" Kind::Limit(&limits::TREE_TURNS);
    "cost_limit" Kind::Amount;
    "on_budget_exceeded" Kind::Word(ON_BUDGET);
    "max_ref_retries" Kind::Limit(&limits::REF_RETRIES);
    "max_protocol_failures" Kind::Limit(&limits::PROTOCOL_FAILURES);
    "on_protocol_failure" Kind::Word(ON_PROTOCOL);
    "compaction" Kind::FlagOrTable;
    "compression" Kind::FlagOrTable;
    "plan" Kind::List;
    "progress" Kind::Text;
    "cases" Kind::Cases;
    "retry" Kind::Table;
    "prompt_limit" Kind::Table;
    "format_options" Kind::Table;
    "refs" Kind::Table;
    "memory" Kind::Table;
    "program" Kind::Text;
    "literal" Kind::Flag;
}

/// The row of a name.
pub(in crate::agent) fn row(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

fn place(name: &str) -> usize {
    ROWS.iter().position(|row| row.name == name).unwrap_or(ROWS.len())
}

impl Row {
    /// Is the value of the right kind?
    pub(in crate::agent) fn check(&self, entry: &Entry<'_>) -> Result<(), Problem> {
        match self.kind {
            Kind::Flag => entry.flag().map(drop),
            Kind::Limit(limit) => entry.limit(limit).map(drop),
            Kind::Count => entry.count().map(drop),
            Kind::Amount => entry.amount().map(drop),
            Kind::Text => entry.words().map(drop),
            Kind::Word(words) => {
                let rows: Vec<(&str, ())> = words.iter().map(|word| (*word, ())).collect();
                entry.named(&Names { what: self.name, rows: &rows })
            }
            Kind::Table => entry.entries().map(drop),
            Kind::List => entry.json.items().map(drop).ok_or_else(|| entry.expected("a list")),
            Kind::Cases => crate::agent::case::read(entry).map(drop),
            Kind::FlagOrTable => match entry.json.node {
                Node::Bool(_) | Node::Object(_) => Ok(()),
                _ => Err(entry.expected("true, false or a table")),
            },
        }
    }
}

impl Agent {
    /// Sets an option of the table, replacing the value that was there.
    pub(in crate::agent) fn set_option(&mut self, row: &Row, value: Json) {
        self.options.retain(|(name, _)| name != row.name);
        let at = self.options.partition_point(|(name, _)| place(name) < place(row.name));
        self.options.insert(at, (row.name.to_owned(), value));
    }

    /// An option as written.
    pub(in crate::agent) fn option(&self, name: &str) -> Option<&Json> {
        self.options.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Does an option ask for something (not `false`, not an empty table or list)?
    pub(in crate::agent) fn asks(&self, name: &str) -> bool {
        self.option(name).is_some_and(|value| match &value.node {
            Node::Bool(truth) => *truth,
            Node::Object(members) => !members.is_empty(),
            Node::List(items) => !items.is_empty(),
            _ => true,
        })
    }

    /// The same agent with an option of the table; unknown names change nothing.
    #[must_use]
    pub fn with_option(mut self, name: &str, value: Json) -> Self {
        if let Some(row) = row(name) {
            self.set_option(row, value);
        }
        self
    }

    /// The options of an agent that is only a question of this one to a model.
    pub(crate) fn inherited(&self) -> Vec<(String, Json)> {
        self.options.iter().filter(|(name, _)| name == "retry").cloned().collect()
    }

    /// The same agent without a pinned program: a model answers again.
    #[must_use]
    pub fn without_program(mut self) -> Self {
        self.options.retain(|(name, _)| name != "program");
        self
    }

    /// The pinned program that answers in the place of a model.
    pub fn program(&self) -> Option<&str> {
        self.option("program").and_then(Json::as_str)
    }

    /// The value of a limit, or its default.
    pub fn limit(&self, limit: &Limit) -> Option<u64> {
        let named = ROWS.iter().find(|row| matches!(row.kind, Kind::Limit(other) if other.name == limit.name));
        let written = named.and_then(|row| self.option(row.name)).and_then(|value| match value.node {
            Node::Int(int) => u64::try_from(int).ok(),
            _ => None,
        });
        written.or(limit.default)
    }
}
