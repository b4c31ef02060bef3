//! The messages of a chat-completions request.
//!
//! In: what was said, tool calls and results in it. Out: messages in which every call has its result right behind it, as the
//! protocol demands. What has no partner is told as text.

use std::fmt::Write as _;

use ptc_core::value::{Json, json};

use crate::event::{NativeCall, Role};
use crate::model::{Content, Message, Request};

/// Longest name that services accept.
const NAME_MAX_CHARS: usize = 64;

/// All messages, the system text first.
pub(super) fn messages(request: &Request) -> Json {
    let mut out: Vec<Json> = request.system.iter().map(|text| message("system", text.clone())).collect();
    let mut open: Vec<&str> = Vec::new();
    for (place, said) in request.messages.iter().enumerate() {
        if said.role != Role::Tool {
            open.clear();
        }
        match said.role {
            Role::System => out.push(message("system", said.joined())),
            Role::User => out.push(message("user", said.joined())),
            Role::Assistant => {
                let answered = answered(request.messages.get(place + 1..).unwrap_or_default());
                let (message, calls) = assistant(said, &answered);
                out.push(message);
                open = calls;
            }
            Role::Tool => out.extend(said.parts.iter().filter_map(|part| result(part, &mut open))),
        }
    }
    Json::list(out)
}

/// The ids of the results that follow at once.
fn answered(later: &[Message]) -> Vec<&str> {
    let parts = later.iter().take_while(|message| message.role == Role::Tool).flat_map(|message| &message.parts);
    parts.filter_map(|part| if let Content::Result { call, .. } = part { Some(call.as_str()) } else { None }).collect()
}

/// What the model said, and the ids of the calls in it. Reasoning stays here: this protocol has no place for it in a request.
fn assistant<'a>(said: &'a Message, answered: &[&str]) -> (Json, Vec<&'a str>) {
    let mut text = String::new();
    let mut calls: Vec<&NativeCall> = Vec::new();
    for part in &said.parts {
        match part {
            Content::Text(more) => text.push_str(more),
            Content::Call(call) if answered.contains(&call.id.as_str()) => calls.push(call),
            Content::Call(call) => {
                let gap = if text.is_empty() { "" } else { "\n" };
                _ = write!(text, "{gap}{call}");
            }
            Content::Reasoning { .. } | Content::Result { .. } => {}
        }
    }
    if calls.is_empty() {
        return (message("assistant", text), Vec::new());
    }
    let content = if text.is_empty() { Json::default() } else { Json::str(text) };
    let list = Json::list(calls.iter().map(|call| tool_call(call)));
    let message = Json::object([("role", Json::str("assistant")), ("content", content), ("tool_calls", list)]);
    (message, calls.into_iter().map(|call| call.id.as_str()).collect())
}

fn tool_call(call: &NativeCall) -> Json {
    // Servers read the arguments of earlier calls again; the answer to this one already says that they were no JSON.
    let is_object = json::parse(&call.args).is_ok_and(|args| args.members().is_some());
    let arguments = if is_object { call.args.as_str() } else { "{}" };
    let function =
        Json::object([("name", Json::str(accepted(&call.name, "unknown"))), ("arguments", Json::str(arguments))]);
    Json::object([("id", Json::str(call.id.as_str())), ("type", Json::str("function")), ("function", function)])
}

/// A result as the answer to its call; without one it is told by the user's side.
fn result(part: &Content, open: &mut Vec<&str>) -> Option<Json> {
    match part {
        Content::Text(text) => Some(message("user", text.clone())),
        Content::Result { call, result, .. } => Some(match open.iter().position(|id| id == call) {
            None => message("user", result.clone()),
            Some(place) => {
                open.remove(place);
                Json::object([
                    ("role", Json::str("tool")),
                    ("tool_call_id", Json::str(call.as_str())),
                    ("content", Json::str(result.as_str())),
                ])
            }
        }),
        Content::Reasoning { .. } | Content::Call(_) => None,
    }
}

fn message(role: &str, text: String) -> Json {
    Json::object([("role", Json::str(role)), ("content", Json::str(text))])
}

/// A name that services accept: letters, digits, `_` and `-`.
pub(super) fn accepted(name: &str, otherwise: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = name.chars().map(plain).take(NAME_MAX_CHARS).collect();
    if name.chars().any(|c| c.is_ascii_alphanumeric()) { name } else { otherwise.to_owned() }
}
