//! Parts of messages: texts, calls, results, and things that are neither.
//!
//! In: members of a body. Out: parts of messages. Images and files are named by type and size; their bytes are in the body.

use std::collections::HashMap;

use ptc_core::value::{Json, json};

use super::{CapturedMessage, PendingCalls};
use crate::event::{MessagePart, NativeCall};

/// The section of a text with which the model refused.
pub(super) const REFUSAL: &str = "refusal";

/// A text of this section.
pub(super) fn text(section: &str, text: impl Into<String>) -> MessagePart {
    MessagePart::Text { section: section.to_owned(), text: text.into(), untrusted: false }
}

/// A tool call.
pub(super) fn call(id: Option<String>, name: Option<String>, args: String) -> MessagePart {
    MessagePart::Call { call: NativeCall { id: id.unwrap_or_default(), name: name.unwrap_or_default(), args } }
}

/// The result of a tool call. A text that is not JSON becomes a JSON string.
pub(super) fn result(call: Option<String>, name: Option<String>, result: &str) -> MessagePart {
    let is_json = json::parse(result).is_ok();
    let result = if is_json { result.to_owned() } else { Json::str(result).to_text() };
    MessagePart::Result { call: call.unwrap_or_default(), name: name.unwrap_or_default(), result }
}

/// A part that is not text: its kind, and its JSON or what is known of its bytes.
pub(super) fn other(json: &Json) -> MessagePart {
    let kind = kind_of(json);
    let words = shortened(json).to_text();
    text(&kind, format!("[{kind} {words}]"))
}

/// The kind of a part: its type, else the name of its first member.
pub(super) fn kind_of(json: &Json) -> String {
    json.get("type").and_then(Json::as_str).map_or_else(
        || json.members().and_then(<[_]>::first).map_or_else(|| "part".to_owned(), |member| member.key.clone()),
        str::to_owned,
    )
}

/// Longest text of a part that is shown whole, in bytes. Longer ones are data: images, audio, files.
const SHOWN_BYTES: usize = 256;

/// The JSON with long texts replaced by their size.
pub(super) fn shortened(json: &Json) -> Json {
    if let Some(text) = json.as_str() {
        let start = text.split_once(";base64,").map_or("", |(start, _)| start);
        return if text.len() <= SHOWN_BYTES {
            json.clone()
        } else {
            Json::str(format!("{start}{}{} bytes", if start.is_empty() { "" } else { ", " }, text.len()))
        };
    }
    if let Some(items) = json.items() {
        return Json::list(items.iter().map(shortened));
    }
    json.map_members(|_, value| shortened(value))
}

/// The content of a message: a text, or a list of parts with `text`.
pub(super) fn content(section: &str, json: Option<&Json>) -> Vec<MessagePart> {
    let Some(json) = json else { return Vec::new() };
    if let Some(whole) = json.as_str() {
        return vec![text(section, whole)];
    }
    let part = |part: &Json| match part.get("text").and_then(Json::as_str) {
        Some(words) => text(section, words),
        None if part.as_str().is_some() => text(section, part.as_str().unwrap_or_default()),
        None => match part.get("refusal").and_then(Json::as_str) {
            Some(words) => text(REFUSAL, words),
            None => other(part),
        },
    };
    json.items().unwrap_or_default().iter().map(part).collect()
}

/// The content of a result as one text.
pub(super) fn result_text(json: Option<&Json>) -> String {
    let Some(json) = json else { return String::new() };
    if let Some(text) = json.as_str() {
        return text.to_owned();
    }
    let Some(items) = json.items() else { return json.to_text() };
    let texts: Vec<Option<&str>> = items.iter().map(|item| item.get("text").and_then(Json::as_str)).collect();
    match texts.into_iter().collect::<Option<Vec<&str>>>() {
        Some(texts) => texts.concat(),
        None => shortened(json).to_text(),
    }
}

/// Gives results the names of the tools that their calls named. Results without an id and a name are in the order of the calls.
pub(super) fn name_results(messages: &mut [CapturedMessage]) {
    let mut names: HashMap<String, String> = HashMap::new();
    let mut pending = PendingCalls::default();
    for part in messages.iter_mut().flat_map(|message| &mut message.parts) {
        match part {
            MessagePart::Call { call } => {
                pending.push(call, ());
                if !call.id.is_empty() {
                    names.insert(call.id.clone(), call.name.clone());
                }
            }
            MessagePart::Result { call, name, .. } => {
                let next = pending.take(call, name).map(|(tool, ())| tool);
                if name.is_empty() {
                    *name = names.get(call).cloned().or(next).unwrap_or_default();
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Role;

    #[test]
    fn results_without_an_id_and_a_name_are_named_in_the_order_of_the_calls() {
        let called = |id: &str, name: &str| call(Some(id.to_owned()), Some(name.to_owned()), "{}".to_owned());
        let mut messages = [
            CapturedMessage { role: Role::Assistant, parts: vec![called("", "a"), called("", "b"), called("c", "c")] },
            CapturedMessage { role: Role::Tool, parts: vec![result(None, None, "ra"), result(None, None, "rb")] },
            CapturedMessage { role: Role::Tool, parts: vec![result(Some("c".to_owned()), None, "rc")] },
            CapturedMessage { role: Role::Tool, parts: vec![result(None, None, "more")] },
        ];
        name_results(&mut messages);
        let results = messages.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
            MessagePart::Result { name, result, .. } => Some((name.as_str(), result.as_str())),
            _ => None,
        });
        let expected = [("a", "\"ra\""), ("b", "\"rb\""), ("c", "\"rc\""), ("", "\"more\"")];
        assert_eq!(results.collect::<Vec<_>>(), expected);
    }
}
