//! The keys of agent files that are options of modes: one table with the kind of each value.
//!
//! In: entries of a file. Out: values kept as written, in the order of the table, so that files are written back unchanged.
//! [`Settings`](super::Settings) gives them their types.

use ptc_core::limits::{self, Limit};
use ptc_core::value::Json;
use ptc_core::value::json::Node;

use super::FLOAT_PRECISION;
use crate::agent::Agent;
use crate::config::document::{Entry, KeyDoc, KeyLine, Names, Problem};

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
    /// Its meaning; that of a limit is in the limit table.
    meaning: &'static str,
}

/// How a run in `ptc_lisp` ends.
pub(in crate::agent) const COMPLETION: &[&str] = &["return_required", "explicit", "answer_without_code"];
/// How programs travel.
pub(in crate::agent) const TRANSPORT: &[&str] = &["content", "tool_call"];
/// Which forms of older versions programs may use.
pub(in crate::agent) const DIALECT: &[&str] = &["auto", "current", "legacy", "reference"];
/// How much of the language the prompt describes.
pub(in crate::agent) const REFERENCE: &[&str] = &["full", "none"];
/// What happens when the memory is too large.
pub(in crate::agent) const MEMORY_STRATEGY: &[&str] = &["strict", "rollback"];
/// Where `json_loop` lists the tools.
pub(in crate::agent) const TOOLS_IN: &[&str] = &["prompt", "native"];
/// What happens when a budget is used up.
pub(in crate::agent) const ON_BUDGET: &[&str] = &["fail", "return_partial"];
/// What happens after too many replies that are no control object.
pub(in crate::agent) const ON_PROTOCOL: &[&str] = &["fail", "accept_raw"];

macro_rules! rows {
    ($($name:literal $kind:expr, $meaning:literal;)*) => {
        /// Every such key, in the order they are written.
        pub(in crate::agent) const ROWS: &[Row] = &[$(Row { name: $name, kind: $kind, meaning: $meaning },)*];
    };
}

rows! {
    "retry_turns" Kind::Limit(&limits::RETRY_TURNS), "";
    "completion" Kind::Word(COMPLETION), "When a run in `ptc_lisp` is over (docs/modes.md).";
    "transport" Kind::Word(TRANSPORT), "How programs travel: in a block of the reply, or as the argument of the native tool `lisp_eval`; `tool_call` in mode `text` gives the combined form (docs/modes.md).";
    "dialect" Kind::Word(DIALECT), "The language of programs: `auto` takes forms of older versions where a program uses older words, `current` never, `legacy` always; `reference` is exactly the reference implementation's language, where writes to maps need the exact key.";
    "reference" Kind::Word(REFERENCE), "How much of PTC-Lisp the prompt tells: the whole card or nothing.";
    "tools_in" Kind::Word(TOOLS_IN), "Where `json_loop` tells the tools: in the prompt, or as native definitions.";
    "thinking" Kind::Flag, "Programs in blocks: the model is asked to think in words first, within `<thinking>`.";
    "journaling" Kind::Flag, "Programs may keep what a step of their work gave, with `(task \"id\" form)` (docs/modes.md).";
    "tool_try" Kind::Flag, "The prompt tells programs of `(tool/try …)`, which gives the error of a tool as a value (docs/modes.md).";
    "llm_query" Kind::Flag, "Adds the tool `llm-query`: a question to a model.";
    "builtin_tools" Kind::List, "Tools of the program that it has: `grep` (with `grep-n`), `ask_user`, `llm-query`.";
    "firewall" Kind::Flag, "Values under names that begin with `_`, and texts made of them, are hidden from models (docs/modes.md).";
    "program_timeout_ms" Kind::Limit(&limits::PROGRAM_TIMEOUT), "";
    "program_memory_bytes" Kind::Limit(&limits::PROGRAM_MEMORY), "";
    "loop_limit" Kind::Limit(&limits::LOOP_JUMPS), "";
    "pmap_timeout_ms" Kind::Limit(&limits::PARALLEL_TIMEOUT), "";
    "pmap_max_concurrency" Kind::Limit(&limits::PARALLEL_WORKERS), "";
    "memory_bytes" Kind::Limit(&limits::MEMORY_BYTES), "";
    "memory_strategy" Kind::Word(MEMORY_STRATEGY), "What happens when the memory is too large: the run fails, or the turn's definitions are dropped.";
    "float_precision" Kind::Count, "Decimals of the floats that a program returns.";
    "max_tool_calls" Kind::Limit(&limits::RUN_CALLS), "";
    "max_tool_calls_per_program" Kind::Limit(&limits::TOOL_CALLS), "";
    "same_calls" Kind::Limit(&limits::SAME_CALLS), "";
    "max_depth" Kind::Limit(&limits::TREE_DEPTH), "";
    "turn_budget" Kind::Limit(&limits::TREE_TURNS), "";
    "cost_limit" Kind::Amount, "Cost of a run in the unit of the prices; checked after each reply. Where no price is known it limits nothing.";
    "on_budget_exceeded" Kind::Word(ON_BUDGET), "What happens when tokens or cost are used up: the run fails, or the latest good value is its answer.";
    "max_ref_retries" Kind::Limit(&limits::REF_RETRIES), "";
    "max_protocol_failures" Kind::Limit(&limits::PROTOCOL_FAILURES), "";
    "on_protocol_failure" Kind::Word(ON_PROTOCOL), "After too many replies that are no control object: the run fails, or the last reply is its answer.";
    "compaction" Kind::FlagOrTable, "Shortens what is sent of a long history: the last turns stay.";
    "compression" Kind::FlagOrTable, "In `ptc_lisp`: one message with the state of things takes the place of the history.";
    "plan" Kind::List, "Items that the run works through: texts, or tables `{ id, description }`. The prompt shows which are done.";
    "progress" Kind::Text, "A PTC-Lisp expression whose text takes the place of the checklist of `plan`.";
    "cases" Kind::Cases, "Inputs with what is expected, one `[[cases]]` each (docs/testing.md).";
    "retry" Kind::Table, "What happens after a failure of the model that may pass.";
    "prompt_limit" Kind::Table, "How long the prompt may get.";
    "format_options" Kind::Table, "How values are shown to a model that writes programs.";
    "refs" Kind::Table, "Named parts of the answer: `name = \"items[0].id\"`, `{ path, optional }`, or `{ expr, optional }` with PTC-Lisp over `result`.";
    "memory" Kind::Table, "Definitions that are there before the first turn: names with PTC-Lisp expressions as text.";
    "program" Kind::Text, "A pinned program that answers in the place of a model (docs/modes.md).";
    "literal" Kind::Flag, "The prompt is text: `{{` in it means nothing.";
}

/// The row of a name.
pub(in crate::agent) fn row(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

fn place(name: &str) -> usize {
    ROWS.iter().position(|row| row.name == name).unwrap_or(ROWS.len())
}

impl Row {
    /// Its line in the reference.
    pub(in crate::agent) fn line(&self) -> KeyLine {
        let said = |takes: &str, usual: &str| KeyLine {
            name: self.name.to_owned(),
            takes: takes.to_owned(),
            usual: usual.to_owned(),
            meaning: self.meaning.to_owned(),
        };
        match self.kind {
            Kind::Limit(limit) => KeyDoc::Limit(limit).line(self.name),
            Kind::Flag => said("true or false", "false"),
            Kind::Count => said("whole number", &FLOAT_PRECISION.to_string()),
            Kind::Amount => said("number from 0", ""),
            Kind::Text => said("text", ""),
            Kind::Word(words) => said(&words.join(", "), words[0]),
            Kind::Table => said("table", ""),
            Kind::List => said("list", ""),
            Kind::FlagOrTable => said("true, false or a table", "false"),
            Kind::Cases => said("list of tables", ""),
        }
    }

    /// Is the value of the right kind?
    pub(in crate::agent) fn check(&self, entry: &Entry<'_>) -> Result<(), Problem> {
        match self.kind {
            Kind::Flag => entry.flag().map(drop),
            Kind::Limit(limit) => entry.limit(limit).map(drop),
            Kind::Count => entry.count().map(drop),
            Kind::Amount => entry.amount().map(drop),
            Kind::Text => entry.non_blank_text().map(drop),
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
    pub(crate) fn option(&self, name: &str) -> Option<&Json> {
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
