//! The tool calls of a turn: arguments and results as values.

use ptc_core::value::json::to_json;
use serde::Serialize;
use serde_with::skip_serializing_none;

use super::{Body, Mark, Part, Turn};
use crate::event::{CallStatus, ErrorRecord, Event, JsonText, QuestionAsked, ToolCall, ToolEnd};
use crate::workbench::format::duration;

pub(super) fn parts(turn: &Turn<'_>) -> Vec<Part> {
    let mut parts = Vec::new();
    for envelope in &turn.events {
        let Event::ToolCall(call) = &envelope.event else { continue };
        let end = turn.events.iter().rev().find_map(|other| match &other.event {
            Event::ToolEnd(end) if other.address == envelope.address => Some(end),
            _ => None,
        });
        parts.push(part(envelope.address.as_str(), call, end));
    }
    for envelope in &turn.events {
        let Event::QuestionAsked(asked) = &envelope.event else { continue };
        let answer = turn.events.iter().find_map(|other| match &other.event {
            Event::AnswerGiven(answer) if other.address == envelope.address => Some(&answer.value),
            _ => None,
        });
        let note = if answer.is_some() { "answered" } else { "waits for an answer" };
        let tree = to_json(&QuestionJson { asked, answer });
        parts.push(Part::new("question", Body::Tree(tree, Vec::new())).noted(note));
    }
    parts
}

/// Tool call as shown in its part.
#[skip_serializing_none]
#[derive(Serialize)]
struct CallJson<'a> {
    args: &'a JsonText,
    result: Option<&'a JsonText>,
    error: Option<ErrorJson<'a>>,
    kind: &'a str,
    address: &'a str,
}

#[derive(Serialize)]
struct ErrorJson<'a> {
    reason: &'a str,
    message: &'a str,
    details: Option<&'a JsonText>,
}

/// A question to the user and its answer.
#[derive(Serialize)]
struct QuestionJson<'a> {
    asked: &'a QuestionAsked,
    answer: Option<&'a JsonText>,
}

fn part(at: &str, call: &ToolCall, end: Option<&ToolEnd>) -> Part {
    let error = end.and_then(|end| end.error.as_ref());
    let tree = to_json(&CallJson {
        args: &call.args,
        result: end.and_then(|end| end.result.as_ref()),
        error: error.map(|ErrorRecord { reason, message, details, .. }| ErrorJson {
            reason,
            message,
            details: details.as_ref(),
        }),
        kind: &call.kind,
        address: at,
    });
    let (note, mark) = match end {
        None => ("● running".to_owned(), Mark::Plain),
        Some(end) if end.status == CallStatus::Ok => {
            let cached = if end.cached { " known" } else { "" };
            (format!("✓ {}{cached}", duration(end.ms)), Mark::Plain)
        }
        Some(end) => (format!("✗ {} {}", end.status.name(), duration(end.ms)), Mark::Bad),
    };
    let effect = if call.effectful { "! " } else { "" };
    Part::new(format!("{effect}{}", call.name), Body::Tree(tree, Vec::new())).noted(note).marked(mark)
}
