//! Parts of messages: texts, calls, results, and things that are neither.
//!
//! In: members of a body. Out: parts of messages. Images and files are named by type and size; their bytes are in the body.

use std::collections::HashMap;

use ptc_core::value::{Json, json};

use super::CapturedMessage;
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

/// The result of a tool call. A text that is no JSON becomes a JSON string.
pub(super) fn result(call: Option<String>, name: Option<String>, result: &str) -> MessagePart {
    let is_json = json::parse(result).is_ok();
    let result = if is_json { result.to_owned() } else { Json::str(result).to_text() };
    MessagePart::Result { call: call.unwrap_or_default(), name: name.unwrap_or_default(), result }
}

/// A part that is no text: its kind, and its JSON or what is known of its bytes.
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

/// Gives results the names of the tools that their calls named.
pub(super) fn name_results(messages: &mut [CapturedMessage]) {
    let mut names: HashMap<String, String> = HashMap::new();
    for part in messages.iter_mut().flat_map(|message| &mut message.parts) {
        match part {
            MessagePart::Call { call } => _ = names.insert(call.id.clone(), call.name.clone()),
            MessagePart::Result { call, name, .. } if name.is_empty() => {
                name.clone_from(names.get(call).unwrap_or(&String::new()));
            }
            _ => {}
        }
    }
}
