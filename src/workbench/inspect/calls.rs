//! The tool calls of a turn: arguments and results as values.

use ptc_core::value::Json;

use super::{Body, Mark, Part, Turn};
use crate::event::{CallStatus, Event, JsonText, ToolCall, ToolEnd};
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
            Event::AnswerGiven(answer) if other.address == envelope.address => Some(answer.value.json()),
            _ => None,
        });
        let note = if answer.is_some() { "answered" } else { "waits for an answer" };
        let members = [("asked", JsonText::of_data(asked).json()), ("answer", answer.unwrap_or_default())];
        parts.push(Part::new("question", Body::Tree(Json::object(members), Vec::new())).noted(note));
    }
    parts
}

fn part(at: &str, call: &ToolCall, end: Option<&ToolEnd>) -> Part {
    let mut members = vec![("args", call.args.json())];
    if let Some(result) = end.and_then(|end| end.result.as_ref()) {
        members.push(("result", result.json()));
    }
    if let Some(error) = end.and_then(|end| end.error.as_ref()) {
        let said = [
            ("reason", Json::str(error.reason.as_str())),
            ("message", Json::str(error.message.as_str())),
            ("details", error.details.as_ref().map(JsonText::json).unwrap_or_default()),
        ];
        members.push(("error", Json::object(said)));
    }
    members.push(("kind", Json::str(call.kind.as_str())));
    members.push(("address", Json::str(at)));
    let (note, mark) = match end {
        None => ("● running".to_owned(), Mark::Plain),
        Some(end) if end.status == CallStatus::Ok => {
            let cached = if end.cached { " known" } else { "" };
            (format!("✓ {}{cached}", duration(end.ms)), Mark::Plain)
        }
        Some(end) => (format!("✗ {} {}", end.status.name(), duration(end.ms)), Mark::Bad),
    };
    let effect = if call.effectful { "! " } else { "" };
    Part::new(format!("{effect}{}", call.name), Body::Tree(Json::object(members), Vec::new())).noted(note).marked(mark)
}
