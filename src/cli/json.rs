//! Steps as JSON, for `--json`.

use std::fmt::Write as _;

use ptc_core::value::Json;
use ptc_core::value::json::Node;

use crate::agent::{Step, Turn, Usage};
use crate::event::{ErrorRecord, IssueRecord, Role, Tokens};

/// `{return|fail, memory, usage, turns, signature, name, session, …}`
pub(super) fn step(step: &Step) -> Json {
    let outcome = match (&step.answer, &step.fail) {
        (_, Some(fail)) => ("fail", error(fail)),
        (answer, None) => ("return", answer.clone().unwrap_or_default()),
    };
    let memory = step.memory.iter().map(|(name, value)| (name.clone(), Json::str(value.as_str())));
    let described = step.field_descriptions.iter().map(|(name, text)| (name.clone(), Json::str(text.as_str())));
    Json::object([
        outcome,
        ("summary", text(step.summary.as_deref())),
        ("refs", step.refs.clone().unwrap_or_default()),
        ("memory", Json::object(memory)),
        ("usage", usage(&step.usage)),
        ("turns", Json::list(step.turns.iter().map(|turn| self::turn(step, turn)))),
        ("signature", text(step.signature.as_deref())),
        ("name", Json::str(step.name.as_str())),
        ("field_descriptions", Json::object(described)),
        ("session", text(step.session.as_deref())),
    ])
}

/// The text for stdout: every character that a terminal could act on is escaped.
pub(super) fn printable(json: &Json) -> String {
    let plain = json.to_pretty();
    let acts = |c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    if !plain.contains(acts) {
        return plain;
    }
    plain.chars().fold(String::new(), |mut text, c| {
        if acts(c) {
            _ = write!(text, "\\u{:04x}", c as u32);
        } else {
            text.push(c);
        }
        text
    })
}

fn text(text: Option<&str>) -> Json {
    text.map_or_else(Json::default, Json::str)
}

fn number(number: u64) -> Json {
    i64::try_from(number).map_or_else(|_| Node::Null.into(), |number| Node::Int(number).into())
}

fn truth(value: bool) -> Json {
    Node::Bool(value).into()
}

/// The members whose value is known.
fn known<const N: usize>(members: [(&str, Option<Json>); N]) -> Json {
    Json::object(members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect::<Vec<_>>())
}

fn error(error: &ErrorRecord) -> Json {
    known([
        ("reason", Some(Json::str(error.reason.as_str()))),
        ("message", Some(Json::str(error.message.as_str()))),
        ("hint", error.hint.as_deref().map(Json::str)),
        ("class", error.class.as_deref().map(Json::str)),
        ("status", error.status.map(|status| number(u64::from(status)))),
    ])
}

fn usage(usage: &Usage) -> Json {
    let tokens = usage.tokens.unwrap_or_default();
    let counted = |count: u64| usage.tokens.map(|_| number(count));
    known([
        ("duration_ms", Some(number(usage.duration_ms))),
        ("turns", Some(number(u64::from(usage.turns)))),
        ("llm_requests", Some(number(u64::from(usage.llm_requests)))),
        ("input_tokens", counted(tokens.input)),
        ("output_tokens", counted(tokens.output)),
        ("total_tokens", counted(tokens.total())),
        ("cache_creation_tokens", tokens.cache_creation.map(number)),
        ("cache_read_tokens", tokens.cache_read.map(number)),
        ("cost", usage.cost.map(|cost| Node::Float(cost).into())),
        ("schema_used", Some(truth(usage.schema_used))),
        ("schema_bytes", usage.schema_bytes.map(number)),
        ("structured_output", usage.structured_output.map(|by| Json::str(by.name()))),
        ("system_prompt_tokens", usage.system_prompt_tokens.map(number)),
    ])
}

fn turn(step: &Step, turn: &Turn) -> Json {
    let (system, others): (Vec<_>, Vec<_>) = step.sent(turn).partition(|message| message.role == Role::System);
    let messages = others.iter().map(|message| {
        Json::object([("role", Json::str(message.role.name())), ("content", Json::str(message.text()))])
    });
    known([
        ("number", Some(number(u64::from(turn.number)))),
        ("success", Some(truth(turn.success))),
        ("reason", turn.reason.as_deref().map(Json::str)),
        ("system_prompt", system.first().map(|message| Json::str(message.text()))),
        ("messages", Some(Json::list(messages))),
        ("raw_response", Some(Json::str(turn.raw_response.as_str()))),
        ("json", turn.json.clone()),
        ("fixes", Some(Json::list(turn.fixes.iter().map(|name| Json::str(name.as_str()))))),
        ("issues", Some(Json::list(turn.issues.iter().map(issue)))),
        ("feedback", turn.feedback.as_deref().map(Json::str)),
        ("error", turn.error.as_ref().map(error)),
        ("tokens", turn.tokens.as_ref().map(tokens)),
        ("model", turn.model.as_deref().map(Json::str)),
        ("finish_reason", turn.finish_reason.as_deref().map(Json::str)),
        ("attempts", Some(number(u64::from(turn.attempts)))),
        ("latency_ms", Some(number(turn.latency_ms))),
        ("first_ms", turn.first_ms.map(number)),
    ])
}

fn tokens(tokens: &Tokens) -> Json {
    known([
        ("input", Some(number(tokens.input))),
        ("output", Some(number(tokens.output))),
        ("cache_creation", tokens.cache_creation.map(number)),
        ("cache_read", tokens.cache_read.map(number)),
        ("reasoning", tokens.reasoning.map(number)),
    ])
}

fn issue(issue: &IssueRecord) -> Json {
    Json::object([
        ("path", Json::str(issue.path.as_str())),
        ("severity", Json::str(issue.severity.as_str())),
        ("expected", Json::str(issue.expected.as_str())),
        ("got", Json::str(issue.got.as_str())),
        ("message", Json::str(issue.message.as_str())),
    ])
}
