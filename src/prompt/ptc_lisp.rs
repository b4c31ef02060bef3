//! Prompts of the mode `ptc_lisp`: cards, inventories, mission. What comes back after a turn is in [`feedback`].
//!
//! Stable parts come first: cards, tools, data, expected output, mission.

pub mod feedback;
pub(in crate::prompt) mod inventory;

use ptc_core::lisp::Memory;
use ptc_core::lisp::{ReturnScope, builtins};
use ptc_core::signature;
use ptc_core::template::{self, TemplateError};
use ptc_core::value::{Bounds, Map, Value, json};

use super::json::{OpeningMessages, joined};
use super::{RequestOptions, data, files, ours};
use crate::agent::{Completion, Plan, Transport};
use crate::event::{JsonText, MessagePart, ToolSchema};
use crate::model::Want;
use crate::tool::{Builtin, Kind, Tool};

pub use inventory::readable;

const SINGLE: &str = include_str!("../../assets/prompts/ptc_single.md");
const MULTI: &str = include_str!("../../assets/prompts/ptc_multi.md");
const ANSWER: &str = include_str!("../../assets/prompts/ptc_answer.md");
const JOURNAL: &str = include_str!("../../assets/prompts/ptc_journal.md");
const CONTENT: &str = include_str!("../../assets/prompts/ptc_content.md");
const THINKING: &str = include_str!("../../assets/prompts/ptc_thinking.md");
const TOOL: &str = include_str!("../../assets/prompts/ptc_tool.md");
/// The mark of a cut system text.
const CUT: &str = "\n[the rest of the system text was cut at prompt_limit]\n";
/// Characters of a journal entry in the mission log.
const LOG_CHARS: usize = 200;

/// The name of the native tool that runs programs.
pub const LISP_EVAL: &str = "lisp_eval";

/// Returns the request options of this mode. `tools`: programs may call tools in this turn.
pub fn request_options(plan: &Plan, tools: bool) -> RequestOptions {
    let for_programs = plan.program_tools();
    let native = plan.settings.transport == Transport::ToolCall;
    RequestOptions {
        want: Want::Program,
        schema: None,
        tools: native.then(lisp_eval).into_iter().collect(),
        tool_names: for_programs.filter(|_| tools).map(|tool| tool.name.clone()).collect(),
    }
}

/// The native tool that runs a program.
pub fn lisp_eval() -> ToolSchema {
    const PARAMETERS: &str = r#"{"type":"object","properties":{"program":{"type":"string","minLength":1,"description":"a PTC-Lisp program"}},"required":["program"],"additionalProperties":false}"#;
    ToolSchema {
        name: LISP_EVAL.to_owned(),
        description: Some("Runs a PTC-Lisp program and returns its result".to_owned()),
        parameters: JsonText::of(&json::parse(PARAMETERS).unwrap_or_default()),
        custom: None,
    }
}

/// State at the start of a run, without its context.
#[derive(Debug, Clone, Default)]
pub struct CarriedState {
    /// Definitions of earlier programs.
    pub memory: Memory,
    /// Results of finished tasks.
    pub journal: Option<Map>,
    /// The text in place of the checklist.
    pub progress: Option<String>,
    /// Turns that all agents of the tree together have left, when that is less than the agent's `turn_budget`.
    pub tree_turns: Option<u32>,
}

/// The opening of a run on this context.
///
/// Errors: a variable of the mission without a value.
pub fn open(
    plan: &Plan,
    context: &Value,
    descriptions: &[(String, String)],
    state: &CarriedState,
) -> Result<OpeningMessages, TemplateError> {
    let mission = template::render_references(&plan.template, &plan.template_values(context), &reference)?;
    let mut system = cards(plan);
    let mut inventories = vec![ours("tools", inventory::tools(plan))];
    inventories.extend(inventory::data(plan, context, descriptions));
    inventories.extend(inventory::memory(plan, &state.memory));
    let log = mission_log(plan, state.journal.as_ref());
    let format = &plan.settings.format;
    let mut user = Vec::new();
    if format.context_in_system {
        system.append(&mut inventories);
    } else {
        user.append(&mut inventories);
    }
    if format.log_in_user {
        user.extend(log);
    } else {
        system.extend(log);
    }
    if let Some(suffix) = &plan.agent.system_prompt.suffix {
        system.push(ours("suffix", format!("\n{suffix}")));
    }
    user.push(ours("output", expected(plan)));
    user.extend(notes(plan));
    user.push(ours("task", "\n# Mission\n\n<mission>\n"));
    user.push(ours("task", mission.text));
    user.push(ours("task", "\n</mission>\n"));
    if state.progress.is_some() {
        user.extend(progress(plan, &[], state.progress.as_deref()));
    } else if !plan.settings.plan.is_empty() {
        user.push(ours("plan", feedback::checklist(&plan.settings.plan, &[])));
    }
    user.push(ours("turns", feedback::first_turn_line(plan, state.tree_turns.unwrap_or(plan.settings.turn_budget))));
    user.extend(files(plan, context));
    let warnings = mission.warnings.iter().map(|warning| warning.message.clone()).collect();
    Ok(OpeningMessages { system: limited(plan, joined(system)), user: joined(user), warnings })
}

/// Returns the progress of a run: the agent's own account, else the checklist.
pub fn progress(plan: &Plan, summaries: &[(String, String)], progress_text: Option<&str>) -> Option<MessagePart> {
    if let Some(text) = progress_text {
        return Some(data("plan", format!("\n{}\n", text.trim_end())));
    }
    let is_planned = !plan.settings.plan.is_empty() || !summaries.is_empty();
    is_planned.then(|| data("plan", feedback::checklist(&plan.settings.plan, summaries)))
}

/// A variable of the mission as a reference to its input: `~{data/x}`, or a way into it.
fn reference(path: &template::DottedName) -> String {
    match path.split_first() {
        Some((first, [])) => format!("~{{data/{first}}}"),
        Some((first, rest)) => {
            let keys: Vec<String> = rest.iter().map(|key| Value::str(key.as_str()).to_string()).collect();
            format!("~{{(get-in data/{first} [{}])}}", keys.join(" "))
        }
        None => "~{data}".to_owned(),
    }
}

fn cards(plan: &Plan) -> Vec<MessagePart> {
    let custom = &plan.agent.system_prompt;
    let mut parts = Vec::new();
    if let Some(prefix) = &custom.prefix {
        parts.push(ours("prefix", format!("{}\n\n", prefix.trim_end())));
    }
    if let Some(text) = &custom.replace {
        parts.push(ours("custom", text.clone()));
        return parts;
    }
    parts.extend(language(plan, ReturnScope::Run).map(|text| ours("language", text)));
    let behaviour = match plan.settings.completion {
        _ if plan.is_single() => SINGLE,
        Completion::AnswerWithoutCode => ANSWER,
        Completion::ReturnRequired | Completion::Explicit => MULTI,
    };
    parts.push(ours("card", behaviour));
    if plan.settings.journaling {
        parts.push(ours("journal", JOURNAL));
    }
    let format = match plan.settings.transport {
        Transport::ToolCall => TOOL,
        Transport::Content if plan.settings.thinking => THINKING,
        Transport::Content => CONTENT,
    };
    // The last reply is in words there.
    let words_end = plan.settings.completion == Completion::AnswerWithoutCode && !plan.is_single();
    let of = if words_end { "Format of a reply with a program" } else { "Format of a reply" };
    parts.push(match &custom.output_format {
        Some(text) => ours("format", lined(text)),
        None => ours("format", format.replacen("Format of a reply", of, 1)),
    });
    parts
}

/// The description of the language where programs are written: the card, the agent's own text, or nothing.
pub(in crate::prompt) fn language(plan: &Plan, return_scope: ReturnScope) -> Option<String> {
    match plan.agent.system_prompt.language_spec.as_deref() {
        Some("none") => None,
        None if !plan.settings.reference => None,
        Some("full") | None => {
            let more = if plan.settings.tool_try { builtins::card_of_try() } else { String::new() };
            Some(format!("{}{more}\n", builtins::card(plan.settings.dialect, return_scope)))
        }
        Some(text) => Some(format!("{}\n", lined(text))),
    }
}

/// A text of the agent's with the end of its last line.
fn lined(text: &str) -> String {
    format!("{}\n", text.trim_end())
}

/// The system text within `prompt_limit`.
fn limited(plan: &Plan, parts: Vec<MessagePart>) -> Vec<MessagePart> {
    let Some(mut left) = plan.settings.prompt_chars else { return parts };
    let mut out = Vec::new();
    for part in parts {
        let MessagePart::Text { section, text, untrusted } = part else { continue };
        let chars = text.chars().count();
        if chars > left {
            let kept: String = text.chars().take(left).collect();
            out.push(MessagePart::Text { section, text: kept, untrusted });
            out.push(ours("cut", CUT));
            break;
        }
        left -= chars;
        out.push(MessagePart::Text { section, text, untrusted });
    }
    out
}

/// Finished tasks with their results.
fn mission_log(plan: &Plan, journal: Option<&Map>) -> Vec<MessagePart> {
    let Some(journal) = journal.filter(|journal| !journal.is_empty()) else { return Vec::new() };
    let bounds = Bounds { items: Some(3), chars: Some(LOG_CHARS) };
    let mut parts = vec![ours("log", "\nFinished tasks:\n")];
    for (id, value) in journal {
        let id = id.as_str().map_or_else(|| id.to_string(), ToOwned::to_owned);
        let text = super::cut(&readable(plan, value, bounds), LOG_CHARS);
        parts.push(data("log", format!("- {id}: {text}\n")));
    }
    parts
}

/// Returns the description of the value that must be returned.
fn expected(plan: &Plan) -> String {
    let single = plan.is_single();
    let words_end = plan.settings.completion == Completion::AnswerWithoutCode;
    let end = if words_end {
        "\n# Expected output\n\nThe value of the last program".to_owned()
    } else if single {
        "\n# Expected output\n\nThe value of the program".to_owned()
    } else {
        "\n# Expected output\n\nThe argument of (return …)".to_owned()
    };
    let Some(output) = &plan.signature.output else { return format!("{end}: any value.\n") };
    let fields = signature::field_lines(output, &plan.agent.field_descriptions);
    let fields = fields.iter().fold(String::new(), |text, line| format!("{text}{line}\n"));
    let example = inventory::literal(&signature::example(output).to_value());
    let example = if single || words_end { example } else { format!("(return {example})") };
    format!("{end}: {}\n{fields}For example: {example}\n", output.render())
}

/// Help with single tools, and limits that the model should know.
fn notes(plan: &Plan) -> Vec<MessagePart> {
    let mut parts = Vec::new();
    let asks_model = |tool: &Tool| matches!(tool.kind, Kind::Builtin(Builtin::LlmQuery));
    if plan.tools.iter().any(asks_model) {
        parts.push(ours(
            "tools",
            "\n(tool/llm-query {:prompt \"… {{x}}\" :signature \"{label :string}\" :x value}) asks a model; other keys fill the template.\n",
        ));
    }
    if let Some(limit) = plan.settings.max_tool_calls {
        parts.push(ours("tools", format!("\nAt most {limit} tool calls in all.\n")));
    }
    if let Some(limit) = plan.settings.program_tool_calls {
        parts.push(ours("tools", format!("\nAt most {limit} tool calls in one program.\n")));
    }
    parts
}
