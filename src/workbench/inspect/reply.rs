//! The reply of a turn, attempt by attempt, byte for byte.

use ptc_core::value::Json;

use super::{Body, Line, Mark, Part, Turn};
use crate::event::{Event, PartKind, ReplyEnd, ReplyStatus};
use crate::workbench::format::{count, duration};

pub(super) fn parts(turn: &Turn<'_>) -> Vec<Part> {
    let mut attempts: Vec<Attempt> = Vec::new();
    for envelope in &turn.events {
        let number = match &envelope.event {
            Event::ReplyPart(part) => part.attempt,
            Event::ReplyEnd(end) => end.attempt,
            _ => continue,
        };
        let known = attempts.iter().position(|attempt| attempt.number == number);
        let at = known.unwrap_or_else(|| {
            attempts.push(Attempt { number, ..Attempt::default() });
            attempts.len() - 1
        });
        match &envelope.event {
            Event::ReplyPart(part) if part.kind == PartKind::Text => attempts[at].text.push_str(&part.text),
            Event::ReplyPart(part) if part.kind == PartKind::Reasoning => attempts[at].reasoning.push_str(&part.text),
            Event::ReplyEnd(end) => attempts[at].end = Some(end),
            _ => {}
        }
    }
    attempts.iter().flat_map(Attempt::parts).collect()
}

/// An attempt of the turn's request.
#[derive(Default)]
struct Attempt<'a> {
    number: u32,
    text: String,
    reasoning: String,
    end: Option<&'a ReplyEnd>,
}

impl Attempt<'_> {
    fn parts(&self) -> Vec<Part> {
        let (note, mark) = match self.end.map(|end| end.status) {
            None => ("arriving", Mark::Plain),
            Some(ReplyStatus::Ok) => ("✓", Mark::Plain),
            Some(ReplyStatus::Cut) => ("✗ cut by its length limit", Mark::Warn),
            Some(ReplyStatus::Error) => ("✗ error", Mark::Bad),
            Some(ReplyStatus::Discarded) => ("✗ discarded", Mark::Dim),
            Some(ReplyStatus::Cancelled) => ("✗ stopped", Mark::Bad),
        };
        let title = if self.number > 1 { format!("reply, attempt {}", self.number) } else { "reply".to_owned() };
        let mut parts = vec![Part::new(title, Body::Exact(self.text.clone())).noted(note).marked(mark)];
        if !self.reasoning.is_empty() {
            parts.push(Part::new("reasoning", Body::Exact(self.reasoning.clone())).noted("shown by the provider"));
        }
        let Some(end) = self.end else { return parts };
        for call in &end.calls {
            let args = ptc_core::value::json::parse(&call.args);
            let body = args.map_or_else(|_| Body::Exact(call.args.clone()), |args| Body::Tree(args, Vec::new()));
            parts.push(Part::new(format!("call · {}", call.name), body).noted(call.id.clone()));
        }
        if let Some(opaque) = &end.opaque {
            let body = Body::Tree(opaque.parts.json(), Vec::new());
            parts.push(Part::new("reasoning for the provider", body).noted(opaque.provider.clone()));
        }
        parts.push(Part::new("end", Body::Lines(ending(end))).noted(end.finish.clone().unwrap_or_default()));
        parts
    }
}

/// Returns the lines about the end of an attempt.
fn ending(end: &ReplyEnd) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut say = |name: &str, value: String| lines.push(Line::new(Mark::Plain, format!("{name:<16} {value}")));
    if let Some(finish) = &end.finish {
        say("finish", finish.clone());
    }
    if let Some(model) = &end.model {
        say("model", model.clone());
    }
    if let Some(by) = end.structured_by {
        say("schema sent as", by.name().to_owned());
    }
    if let Some(first_ms) = end.first_ms {
        say("first byte", duration(first_ms));
    }
    if let Some(queued_ms) = end.queued_ms {
        say("queued", duration(queued_ms));
    }
    if end.requests > 0 {
        say("requests", count(end.requests.into()));
    }
    if let Some(tokens) = end.usage {
        say("tokens in", count(tokens.input));
        say("tokens out", count(tokens.output));
        let more = [
            ("cache written", tokens.cache_creation),
            ("cache read", tokens.cache_read),
            ("reasoning", tokens.reasoning),
        ];
        for (name, number) in more {
            if let Some(number) = number {
                say(name, count(number));
            }
        }
    }
    if let Some(error) = &end.error {
        lines.extend(Line::error(&error.reason, &error.message, error.hint.as_deref()));
        let details =
            error.details.as_ref().map(crate::event::JsonText::json).filter(|json: &Json| *json != Json::default());
        lines.extend(details.iter().flat_map(|json| {
            json.to_pretty().lines().map(|line| Line::new(Mark::Dim, format!("  {line}"))).collect::<Vec<_>>()
        }));
    }
    lines
}
