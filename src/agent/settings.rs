//! The typed options of an agent, as the modes read them.
//!
//! In: an [`Agent`] with options as written. Out: [`Settings`], or findings about invalid values.

mod members;
mod messages;
mod retry;

use std::sync::Arc;

use ptc_core::heap;
use ptc_core::limits;
use ptc_core::value::Json;
use ptc_core::value::json::Node;

use super::{Agent, Diagnostic, Mode};
use crate::model::Message;

use members::{COALESCE, FORMAT, PROMPT_LIMIT, TRIGGER, TRIM, check_members};
pub(in crate::agent) use members::{may_have, tables, whole_number};
pub(in crate::agent) use messages::{check_calls, read_messages};
pub(in crate::agent) use retry::read_retry;

/// The condition on which a run in `ptc_lisp` ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Completion {
    /// By `return` or `fail`; after the last turn the latest good value counts.
    #[default]
    ReturnRequired,
    /// By `return` or `fail` only.
    Explicit,
    /// By a reply without a program.
    AnswerWithoutCode,
}

/// The part of a reply that holds the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Transport {
    /// In a fenced block of the reply.
    #[default]
    Content,
    /// As the argument of the native tool `lisp_eval`.
    ToolCall,
}

/// The handling of memory that is too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MemoryStrategy {
    /// The run fails.
    #[default]
    Strict,
    /// The turn's definitions are dropped.
    Rollback,
}

/// The shortening of a long history.
#[derive(Debug, Clone, PartialEq)]
pub enum Compaction {
    /// The oldest messages are left out.
    Trim {
        /// From which turn on.
        turns: u32,
        /// From how many estimated tokens on.
        tokens: Option<u64>,
        /// Turns that stay.
        keep_turns: u32,
        /// The first user message stays.
        keep_first: bool,
    },
    /// One user message replaces all.
    Coalesce {
        /// Printed lines shown.
        prints: usize,
        /// Tool calls shown.
        calls: usize,
    },
}

/// Sizes and layout of the values shown to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// Characters of printed lines and errors in feedback.
    pub feedback_chars: usize,
    /// Characters of a previewed value.
    pub preview_chars: usize,
    /// Bytes of a value kept as `*1`.
    pub history_bytes: usize,
    /// Characters of one printed line.
    pub print_chars: u64,
    /// The inventories are part of the system text.
    pub context_in_system: bool,
    /// The mission log is part of the user message.
    pub log_in_user: bool,
    /// The turn line appears in the last two turns only.
    pub minimal_turns: bool,
}

impl Default for Format {
    fn default() -> Self {
        Self {
            feedback_chars: 512,
            preview_chars: 250,
            history_bytes: 1_024,
            print_chars: 2_000,
            context_in_system: false,
            log_in_user: false,
            minimal_turns: false,
        }
    }
}

/// The options of an agent.
#[derive(Debug, Clone, PartialEq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of agent files")]
pub struct Settings {
    /// `completion`
    pub completion: Completion,
    /// `transport`
    pub transport: Transport,
    /// `dialect`
    pub dialect: ptc_core::lisp::Dialect,
    /// `reference`: the language card is part of the prompt.
    pub reference: bool,
    /// `tools_in = "native"`
    pub native_tools: bool,
    /// `thinking`
    pub thinking: bool,
    /// `journaling`
    pub journaling: bool,
    /// `tool_try`: the prompt describes `(tool/try …)`.
    pub tool_try: bool,
    /// `firewall`
    pub firewall: bool,
    /// `retry_turns`
    pub retry_turns: u32,
    /// `max_ref_retries`
    pub ref_retries: u32,
    /// `max_protocol_failures`
    pub protocol_failures: u32,
    /// `on_protocol_failure = "accept_raw"`
    pub accept_raw: bool,
    /// `max_depth`
    pub max_depth: u32,
    /// `turn_budget`
    pub turn_budget: u32,
    /// `max_tool_calls`, of the whole run.
    pub max_tool_calls: Option<u64>,
    /// `same_calls`; 0 = any number.
    pub same_calls: u32,
    /// `max_tool_calls_per_program`
    pub program_tool_calls: Option<u64>,
    /// `program_timeout_ms`
    pub program_timeout_ms: u64,
    /// `program_memory_bytes`
    pub program_memory_bytes: u64,
    /// `loop_limit`
    pub loop_limit: u64,
    /// `pmap_timeout_ms`
    pub pmap_timeout_ms: u64,
    /// `pmap_max_concurrency`
    pub pmap_workers: u64,
    /// `memory_bytes`
    pub memory_bytes: u64,
    /// `memory_strategy`
    pub memory_strategy: MemoryStrategy,
    /// `float_precision`: decimals of returned floats.
    pub float_precision: u32,
    /// `cost_limit`, in the currency of the price table.
    pub cost_limit: Option<f64>,
    /// `on_budget_exceeded = "return_partial"`
    pub return_partial: bool,
    /// `[retry]`
    pub retry: crate::model::Retry,
    /// `compaction` or `compression`
    pub compaction: Option<Compaction>,
    /// `plan`: id and description of each item.
    pub plan: Vec<(String, String)>,
    /// `progress`: an expression that replaces the checklist.
    pub progress: Option<String>,
    /// `prompt_limit.max_chars`
    pub prompt_chars: Option<usize>,
    /// `format_options`
    pub format: Format,
    /// `refs`
    pub refs: Vec<super::Ref>,
    /// `memory`: names and PTC-Lisp expressions that are evaluated before the first turn.
    pub memory: Vec<(String, String)>,
    /// `messages`: an earlier conversation before the prompt.
    pub messages: Vec<Arc<Message>>,
    /// `messages_after`: what follows the prompt when the run begins.
    pub messages_after: Vec<Arc<Message>>,
    /// `verbatim`: the messages are sent as the agent has them, without texts of this program.
    pub verbatim: bool,
}

/// Refuses a memory limit in a process that does not count its allocations: it would have no effect. The default is off
/// there.
pub(in crate::agent) fn uncountable_memory(agent: &Agent) -> Option<Diagnostic> {
    let key = limits::PROGRAM_MEMORY.name;
    agent.option(key).filter(|_| !heap::is_counting())?;
    let message = format!(
        "`{key}` cannot be checked: this process does not count its allocations; add \
         `#[global_allocator] static ALLOCATOR: ptc_workbench::CountingAllocator = ptc_workbench::CountingAllocator;` \
         to the binary, or remove the key"
    );
    Some(Diagnostic::option(key, message))
}

pub(in crate::agent) fn read_compaction(agent: &Agent, findings: &mut Vec<Diagnostic>) -> Option<Compaction> {
    let (key, table) = match (agent.option("compaction"), agent.option("compression")) {
        (Some(table), _) if agent.asks("compaction") => ("compaction", table),
        (_, Some(table)) if agent.asks("compression") => ("compression", table),
        (Some(Json { node: Node::Object(_), .. }), _) => {
            findings.push(Diagnostic::option(
                "compaction",
                "[compaction] is empty; write `compaction = true`, or its keys",
            ));
            return None;
        }
        _ => return None,
    };
    let strategy = table.get("strategy").and_then(Json::as_str);
    let coalesce = strategy.map_or(key == "compression", |word| word == "coalesce");
    if coalesce && agent.mode == Mode::JsonLoop {
        findings.push(Diagnostic::option(
            key,
            "json_loop shortens its history by strategy `trim` only; `coalesce` describes what programs did",
        ));
    }
    check_members(table, key, if coalesce { COALESCE } else { TRIM }, findings);
    if key == "compaction" && agent.asks("compression") {
        let message = "`compression` has no effect next to `compaction`; remove one of them";
        findings.push(Diagnostic::option("compression", message).warning());
    }
    let number = |name: &str| table.get(name).and_then(whole_number);
    if coalesce {
        let limit = |name: &str, usual: usize| number(name).and_then(|n| usize::try_from(n).ok()).unwrap_or(usual);
        return Some(Compaction::Coalesce { prints: limit("println_limit", 15), calls: limit("tool_call_limit", 20) });
    }
    if number("keep_recent_turns") == Some(0) {
        let place = format!("{key}.keep_recent_turns");
        let message = format!("`{place}` is at least 1: the last turn is kept");
        findings.push(Diagnostic::option(&place, message).warning());
    }
    let trigger = table.get("trigger");
    if let Some(trigger) = trigger {
        check_members(trigger, &format!("{key}.trigger"), TRIGGER, findings);
    }
    let of = |name: &str| trigger.and_then(|table| table.get(name)).and_then(whole_number);
    let small = |number: Option<u64>, usual: u32| number.map_or(usual, |n| u32::try_from(n).unwrap_or(u32::MAX));
    Some(Compaction::Trim {
        turns: small(of("turns"), 8),
        tokens: of("tokens"),
        keep_turns: small(number("keep_recent_turns"), 3).max(1),
        keep_first: table.get("keep_initial_user").is_none_or(|flag| flag.node != Node::Bool(false)),
    })
}

pub(in crate::agent) fn read_prompt_chars(agent: &Agent, findings: &mut Vec<Diagnostic>) -> Option<usize> {
    let table = agent.option("prompt_limit")?;
    check_members(table, "prompt_limit", PROMPT_LIMIT, findings);
    table.get("max_chars").and_then(whole_number).and_then(|chars| usize::try_from(chars).ok())
}

/// Texts, or tables `{id, description}`; texts are numbered from 1.
pub(in crate::agent) fn read_plan(agent: &Agent, findings: &mut Vec<Diagnostic>) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    for (place, item) in agent.option("plan").and_then(Json::items).unwrap_or_default().iter().enumerate() {
        let text = |key: &str| item.get(key).and_then(Json::as_str);
        let entry = match (item.as_str(), text("id"), text("description")) {
            (Some(words), ..) => Some(((place + 1).to_string(), words.to_owned())),
            (None, Some(id), Some(words)) => Some((id.to_owned(), words.to_owned())),
            _ => None,
        };
        match entry {
            None => {
                findings.push(Diagnostic::option("plan", "an item of `plan` is a text or a table {id, description}"));
            }
            Some((id, _)) if out.iter().any(|(other, _)| *other == id) => {
                findings.push(Diagnostic::option("plan", format!("two items of `plan` have the id `{id}`")));
            }
            Some(entry) => out.push(entry),
        }
    }
    out
}

pub(in crate::agent) fn read_format(agent: &Agent, findings: &mut Vec<Diagnostic>) -> Format {
    let usual = Format::default();
    let Some(table) = agent.option("format_options") else { return usual };
    check_members(table, "format_options", FORMAT, findings);
    let number = |name: &str| table.get(name).and_then(whole_number);
    let size = |name: &str, usual: usize| number(name).and_then(|n| usize::try_from(n).ok()).unwrap_or(usual);
    let flag = |name: &str| table.get(name).is_some_and(|value| value.node == Node::Bool(true));
    Format {
        feedback_chars: size("feedback_max_chars", usual.feedback_chars),
        preview_chars: size("preview_max_chars", usual.preview_chars),
        history_bytes: size("history_max_bytes", usual.history_bytes),
        print_chars: number("max_print_length").unwrap_or(usual.print_chars),
        context_in_system: flag("context_in_system"),
        log_in_user: table.get("mission_log_in").and_then(Json::as_str) == Some("user_message"),
        minimal_turns: flag("minimal_turn_info"),
    }
}

pub(in crate::agent) fn read_memory(agent: &Agent, findings: &mut Vec<Diagnostic>) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for member in agent.option("memory").and_then(Json::members).unwrap_or_default() {
        match member.value.as_str() {
            Some(expression) => out.push((member.key.clone(), expression.to_owned())),
            None => findings.push(Diagnostic::option(
                &format!("memory.{}", member.key),
                "a value of [memory] is PTC-Lisp text, such as \"[1 2 3]\" or \"(fn [x] (inc x))\"",
            )),
        }
    }
    out
}
