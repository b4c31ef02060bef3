//! The keys of agent files that are options of the modes: type, meaning, and the setting that each one stores.
//!
//! In: entries of a file. Out: values kept as written, in the order of the table, so that files are written back unchanged, and
//! [`Settings`] with types. Must not check one option against another.

use ptc_core::limits::{self, Limit};
use ptc_core::lisp::Dialect;
use ptc_core::value::Json;
use ptc_core::value::json::Node;

use super::keys::{self, AgentKey, KeyValue};
use super::option_type::OptionType;
use super::settings::{self, Completion, MemoryStrategy, Settings, Transport};
use super::{Agent, Diagnostic, Mode, refs};
use crate::config::document::KeyDoc;

/// Decimals of returned floats by default.
const FLOAT_PRECISION: u64 = 2;

macro_rules! options {
    ($($name:literal $kind:expr, $meaning:literal;)*) => {
        /// Every option, in the order they are written.
        pub(super) const OPTIONS: &[AgentKey] = &[$(AgentKey {
            name: $name,
            about: KeyDoc::Text("", "", $meaning),
            value: KeyValue::Option($kind),
        },)*];
    };
}

use OptionType as Is;

options! {
    "retry_turns" Is::Limit(&limits::RETRY_TURNS, |to, turns| to.retry_turns = small(turns)), "";
    "completion" Is::Word(&[
        ("return_required", |to| to.completion = Completion::ReturnRequired),
        ("explicit", |to| to.completion = Completion::Explicit),
        ("answer_without_code", |to| to.completion = Completion::AnswerWithoutCode),
    ]), "When a run in `ptc_lisp` is over (docs/modes.md).";
    "transport" Is::Word(&[
        ("content", |to| to.transport = Transport::Content),
        ("tool_call", |to| to.transport = Transport::ToolCall),
    ]), "How the model sends programs: in a block of the reply, or as the argument of the native tool `lisp_eval`; `tool_call` in mode `text` gives the combined form (docs/modes.md).";
    "dialect" Is::Word(&[
        ("auto", |to| to.dialect = Dialect::Auto),
        ("current", |to| to.dialect = Dialect::Current),
        ("legacy", |to| to.dialect = Dialect::Legacy),
        ("reference", |to| to.dialect = Dialect::Reference),
    ]), "The language of programs: `auto` accepts forms of older versions where a program uses older words, `current` never, `legacy` always; `reference` is exactly the reference implementation's language, where writes to maps need the exact key.";
    "reference" Is::Word(&[
        ("full", |to| to.reference = true),
        ("none", |to| to.reference = false),
    ]), "Whether the prompt contains the language card.";
    "tools_in" Is::Word(&[
        ("prompt", |to| to.native_tools = false),
        ("native", |to| to.native_tools = true),
    ]), "Where `json_loop` lists the tools: in the prompt, or as native definitions.";
    "thinking" Is::Flag(|to, flag| to.thinking = flag), "Programs in blocks: the prompt asks the model to reason in words first, within `<thinking>`.";
    "journaling" Is::Flag(|to, flag| to.journaling = flag), "Programs may keep the result of a step with `(task \"id\" form)` (docs/modes.md).";
    "tool_try" Is::Flag(|to, flag| to.tool_try = flag), "The prompt describes `(tool/try …)`, which returns the error of a tool as a value (docs/modes.md).";
    "llm_query" Is::Flag(|_, _| {}), "Adds the tool `llm-query`, which calls a model.";
    "builtin_tools" Is::List(|_, _, _| {}), "Built-in tools: `grep` (with `grep-n`), `ask_user`, `llm-query`.";
    "firewall" Is::Flag(|to, flag| to.firewall = flag), "Values under names that begin with `_`, and texts made of them, are hidden from models (docs/modes.md).";
    "program_timeout_ms" Is::Limit(&limits::PROGRAM_TIMEOUT, |to, most| to.program_timeout_ms = large(most)), "";
    "program_memory_bytes" Is::Limit(&limits::PROGRAM_MEMORY, |to, most| to.program_memory_bytes = large(most)), "";
    "loop_limit" Is::Limit(&limits::LOOP_JUMPS, |to, most| to.loop_limit = large(most)), "";
    "pmap_timeout_ms" Is::Limit(&limits::PARALLEL_TIMEOUT, |to, most| to.pmap_timeout_ms = large(most)), "";
    "pmap_max_concurrency" Is::Limit(&limits::PARALLEL_WORKERS, |to, most| to.pmap_workers = large(most)), "";
    "memory_bytes" Is::Limit(&limits::MEMORY_BYTES, |to, most| to.memory_bytes = large(most)), "";
    "memory_strategy" Is::Word(&[
        ("strict", |to| to.memory_strategy = MemoryStrategy::Strict),
        ("rollback", |to| to.memory_strategy = MemoryStrategy::Rollback),
    ]), "What happens when the memory is too large: the run fails, or the turn's definitions are dropped.";
    "float_precision" Is::Count(FLOAT_PRECISION, |to, places| to.float_precision = small(Some(places))), "Decimals of the floats that a program returns.";
    "max_tool_calls" Is::Limit(&limits::RUN_CALLS, |to, most| to.max_tool_calls = most), "";
    "max_tool_calls_per_program" Is::Limit(&limits::TOOL_CALLS, |to, most| to.program_tool_calls = most), "";
    "same_calls" Is::Limit(&limits::SAME_CALLS, |to, most| to.same_calls = small(most)), "";
    "max_depth" Is::Limit(&limits::TREE_DEPTH, |to, most| to.max_depth = small(most)), "";
    "turn_budget" Is::Limit(&limits::TREE_TURNS, |to, most| to.turn_budget = small(most)), "";
    "cost_limit" Is::Amount(|to, cost| to.cost_limit = Some(cost)), "Cost of a run in the unit of the prices; checked like `token_limit`. A child run gets the remainder at its start. No effect if the price is unknown.";
    "on_budget_exceeded" Is::Word(&[
        ("fail", |to| to.return_partial = false),
        ("return_partial", |to| to.return_partial = true),
    ]), "What happens when the budget of tokens or cost is exceeded without an answer: the run fails, or returns the latest valid value of its programs.";
    "max_ref_retries" Is::Limit(&limits::REF_RETRIES, |to, most| to.ref_retries = small(most)), "";
    "max_protocol_failures" Is::Limit(&limits::PROTOCOL_FAILURES, |to, most| to.protocol_failures = small(most)), "";
    "on_protocol_failure" Is::Word(&[
        ("fail", |to| to.accept_raw = false),
        ("accept_raw", |to| to.accept_raw = true),
    ]), "After too many replies without a control object: the run fails, or the last reply is its answer.";
    "compaction" Is::FlagOrTable(|agent, to, found| to.compaction = settings::read_compaction(agent, found)), "Shortens the history that is sent; the last turns remain.";
    "compression" Is::FlagOrTable(|_, _, _| {}), "In `ptc_lisp`: sends one message with the current state instead of the history.";
    "plan" Is::List(|agent, to, found| to.plan = settings::read_plan(agent, found)), "Items that the run works through: texts, or tables `{ id, description }`. The prompt shows which are done.";
    "progress" Is::Text(|to, text| to.progress = Some(text.to_owned())), "A PTC-Lisp expression whose text replaces the checklist of `plan`.";
    "messages" Is::List(|agent, to, found| to.messages = settings::read_messages(agent, "messages", found)), "Messages of an earlier conversation before the prompt, one `[[messages]]` each.";
    "messages_after" Is::List(|agent, to, found| to.messages_after = settings::read_messages(agent, "messages_after", found)), "Messages after the prompt with which a run begins: replies, tool calls and their results.";
    "cases" Is::Cases, "Inputs with expected outputs, one `[[cases]]` each, or names of files of cases (docs/testing.md, docs/improve.md).";
    "retry" Is::Table(|agent, to, found| to.retry = settings::read_retry(agent, found)), "What happens after a temporary failure of the model.";
    "prompt_limit" Is::Table(|agent, to, found| to.prompt_chars = settings::read_prompt_chars(agent, found)), "How long the prompt may get.";
    "format_options" Is::Table(|agent, to, found| to.format = settings::read_format(agent, found)), "How values are shown to a model that writes programs.";
    "refs" Is::Table(|agent, to, found| to.refs = refs::read(agent, found)), "Named parts of the answer: `name = \"items[0].id\"` (or `items.0.id`, `items[*].id`), `{ path, optional }`, or `{ expr, optional }` with PTC-Lisp over `result`.";
    "memory" Is::Table(|agent, to, found| to.memory = settings::read_memory(agent, found)), "Definitions that exist before the first turn: names with PTC-Lisp expressions as text.";
    "program" Is::Text(|_, _| {}), "A pinned program that replaces the model (docs/modes.md).";
    "literal" Is::Flag(|_, _| {}), "The prompt is plain text: `{{` has no meaning in it.";
    "verbatim" Is::Flag(|to, flag| to.verbatim = flag), "In `json` and `text`: the messages are sent as the file has them. The prompt is plain text, without headings and the format of the answer; the system text is `system_prompt` only, none without it. A service that does not enforce schemas gets the schema of the answer only in the feedback to a wrong answer.";
}

fn small(number: Option<u64>) -> u32 {
    u32::try_from(number.unwrap_or_default()).unwrap_or(u32::MAX)
}

fn large(number: Option<u64>) -> u64 {
    number.unwrap_or(u64::MAX)
}

/// Returns the position of an option in the table.
fn position(name: &str) -> usize {
    OPTIONS.iter().position(|key| key.name == name).unwrap_or(OPTIONS.len())
}

impl Settings {
    /// Returns the options of an agent; invalid ones are reported and have their defaults.
    pub(super) fn of(agent: &Agent, findings: &mut Vec<Diagnostic>) -> Self {
        findings.extend(settings::uncountable_memory(agent));
        let mut settings = Self::default();
        for (key, kind) in keys::options() {
            kind.store(key.name, agent, &mut settings, findings);
        }
        // A tree without a limit of its own is never smaller than its root.
        if agent.option(limits::TREE_TURNS.name).is_none() {
            let root_turns = agent.max_turns.saturating_add(settings.retry_turns);
            settings.turn_budget = settings.turn_budget.max(root_turns);
        }
        // Native calls were never counted: a model that polls a tool continues until the key is written.
        if agent.option(limits::SAME_CALLS.name).is_none() && agent.mode != Mode::JsonLoop {
            settings.same_calls = 0;
        }
        findings.extend(super::definitions::check(&settings));
        settings
    }
}

impl Agent {
    /// Sets an option of the table, replacing its previous value.
    pub(super) fn set_option(&mut self, key: &AgentKey, value: Json) {
        self.options.retain(|(name, _)| name != key.name);
        let at = self.options.partition_point(|(name, _)| position(name) < position(key.name));
        self.options.insert(at, (key.name.to_owned(), value));
    }

    /// An option as written.
    pub(crate) fn option(&self, name: &str) -> Option<&Json> {
        self.options.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// The option that makes the prompt plain text.
    pub(super) fn plain_text_option(&self) -> Option<&'static str> {
        ["literal", "verbatim"].into_iter().find(|option| self.asks(option))
    }

    /// Returns whether an option asks for something: it is not `false`, an empty table or an empty list.
    pub(super) fn asks(&self, name: &str) -> bool {
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
        if let Some(key) = OPTIONS.iter().find(|key| key.name == name) {
            self.set_option(key, value);
        }
        self
    }

    /// The options that the internal agents of `llm` tools and samples inherit.
    pub(crate) fn inherited(&self) -> Vec<(String, Json)> {
        self.options.iter().filter(|(name, _)| name == "retry").cloned().collect()
    }

    /// The same agent without its cases.
    #[must_use]
    pub(crate) fn without_cases(mut self) -> Self {
        self.options.retain(|(name, _)| name != "cases");
        self
    }

    /// The same agent without a pinned program: a model answers again.
    #[must_use]
    pub fn without_program(mut self) -> Self {
        self.options.retain(|(name, _)| name != "program");
        self
    }

    /// The pinned program that replaces the model.
    pub fn program(&self) -> Option<&str> {
        self.option("program").and_then(Json::as_str)
    }

    /// The value of a limit, or its default.
    pub fn limit(&self, limit: &Limit) -> Option<u64> {
        let key = OPTIONS
            .iter()
            .find(|key| matches!(key.value, KeyValue::Option(OptionType::Limit(other, _)) if other.name == limit.name));
        let written = key.and_then(|key| self.option(key.name)).and_then(settings::whole_number);
        written.or(limit.default)
    }
}
