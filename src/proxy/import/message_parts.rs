//! Converts messages with parts to the format of chat completions.
//!
//! In: messages as conventions and libraries write them: semantic conventions, Anthropic's API, the Vercel AI SDK, Pydantic AI. Out: messages, one
//! or several for each. Parts that are not known stay as they are.

use serde_json::{Value, json};

use super::rebuilt::{text, without};

/// Returns a message in the format of chat completions: each result of a call is a message.
pub(super) fn chat_messages(message: &Value) -> Vec<Value> {
    let list = |key: &str| message.get(key).and_then(Value::as_array);
    let special = list("content").filter(|content| content.iter().any(is_special));
    match list("parts").or(special) {
        Some(parts) => of_parts(message, parts),
        None => vec![message.clone()],
    }
}

/// Returns whether a part is not in the format of chat completions.
fn is_special(part: &Value) -> bool {
    let is_known = matches!(text(part, "type"), "text" | "image_url" | "input_audio" | "refusal");
    part.is_object() && !is_known && (class_of(part) != PartClass::Content || image_url(part).is_some())
        || part.get("kind").is_some() && part.get("type").is_none()
}

/// Class of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PartClass {
    Result,
    Call,
    Reasoning,
    Content,
}

fn class_of(part: &Value) -> PartClass {
    match kind(part) {
        "tool_call_response" | "tool-result" | "tool_result" => PartClass::Result,
        "tool_call" | "tool-call" | "tool_use" => PartClass::Call,
        "reasoning" | "thinking" => PartClass::Reasoning,
        _ => PartClass::Content,
    }
}

fn kind(part: &Value) -> &str {
    ["type", "kind"].iter().map(|key| text(part, key)).find(|kind| !kind.is_empty()).unwrap_or_default()
}

/// Returns a message with these parts, as one or several.
pub(super) fn of_parts(message: &Value, parts: &[Value]) -> Vec<Value> {
    let of = |class: PartClass| parts.iter().filter(move |part| class_of(part) == class);
    let mut out: Vec<Value> = of(PartClass::Result).map(result).collect();
    let calls: Vec<Value> = of(PartClass::Call).map(call_of).collect();
    let reasoning: Vec<&str> = of(PartClass::Reasoning).map(|part| first_text(part, &TEXTS)).collect();
    let own: Vec<&Value> = of(PartClass::Content).collect();
    if out.is_empty() || !own.is_empty() || !calls.is_empty() || !reasoning.is_empty() {
        let mut whole = without(message, &["parts", "content"]);
        whole["content"] = content(&own);
        if !calls.is_empty() && whole.get("tool_calls").is_none() {
            whole["tool_calls"] = Value::Array(calls);
        }
        if !reasoning.is_empty() {
            whole["reasoning_content"] = json!(reasoning.join("\n"));
        }
        out.push(whole);
    }
    out
}

/// Members with the text of a part.
const TEXTS: [&str; 3] = ["content", "text", "thinking"];

fn first<'a>(part: &'a Value, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().find_map(|key| part.get(*key)).filter(|value| !value.is_null())
}

fn first_text<'a>(part: &'a Value, keys: &[&str]) -> &'a str {
    keys.iter().find_map(|key| part.get(*key)?.as_str()).unwrap_or_default()
}

/// The result of a call as a message.
fn result(part: &Value) -> Value {
    let id = first_text(part, &["id", "toolCallId", "tool_use_id", "tool_call_id"]);
    let result = first(part, &["response", "result", "output", "content"]).unwrap_or(&Value::Null);
    // The Vercel AI SDK wraps it: `{"type": "text", "value": …}`.
    let is_wrapped = matches!(first_text(result, &["type"]), "text" | "json" | "error-text" | "error-json" | "content");
    let result = result.get("value").filter(|_| is_wrapped).unwrap_or(result);
    let texts = |parts: &Vec<Value>| parts.iter().map(|part| Some(part.get("text")?.as_str()?.to_owned())).collect();
    let texts: Option<Vec<String>> = result.as_array().and_then(texts);
    let content = match (result, texts) {
        (Value::Null, _) => String::new(),
        (Value::String(text), _) => text.clone(),
        (_, Some(texts)) => texts.concat(),
        (other, None) => other.to_string(),
    };
    json!({"role": "tool", "tool_call_id": id, "content": content})
}

fn call_of(part: &Value) -> Value {
    let name = first_text(part, &["name", "toolName"]);
    call(first(part, &["id", "toolCallId"]), name, first(part, &["arguments", "input", "args"]))
}

/// A call of a tool.
pub(super) fn call(id: Option<&Value>, name: &str, arguments: Option<&Value>) -> Value {
    let arguments = match arguments {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => "{}".to_owned(),
    };
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

/// Parts as a text where they are texts, else as parts.
fn content(parts: &[&Value]) -> Value {
    let text_of = |part: &&Value| match part {
        Value::String(text) => Some(text.clone()),
        part => Some(first_text(part, &TEXTS).to_owned()).filter(|_| kind(part) == "text"),
    };
    let texts: Vec<Option<String>> = parts.iter().map(text_of).collect();
    if let Some(texts) = texts.iter().map(Option::as_deref).collect::<Option<Vec<&str>>>() {
        return Value::String(texts.join("\n"));
    }
    let part = |(part, words): (&&Value, Option<String>)| match (words, image_url(part)) {
        (Some(words), _) => json!({"type": "text", "text": words}),
        (None, Some(url)) => json!({"type": "image_url", "image_url": {"url": url}}),
        (None, None) => (*part).clone(),
    };
    parts.iter().zip(texts).map(part).collect()
}

/// Returns the address of an image, which may have the image itself; `None` for another part.
fn image_url(part: &Value) -> Option<String> {
    let holder = part.get("source").filter(|source| source.is_object()).unwrap_or(part);
    let media = first_text(holder, &["mime_type", "media_type", "mediaType", "mimeType"]);
    let is_named = matches!(kind(part), "image" | "image-url") || text(part, "modality") == "image";
    if !is_named && !media.starts_with("image/") {
        return None;
    }
    let image = first_text(holder, &["uri", "url", "data", "content", "image"]);
    let is_address = image.contains("://") || image.starts_with("data:") || media.is_empty();
    let url = if is_address { image.to_owned() } else { format!("data:{media};base64,{image}") };
    Some(url).filter(|_| !image.is_empty())
}

/// A tool as chat completions have it.
pub(super) fn tool(tool: &Value) -> Value {
    if tool.get("function").is_some() {
        return tool.clone();
    }
    let schema = first(tool, &["parameters", "input_schema", "inputSchema", "parameters_json_schema"]);
    let schema = schema.map(super::otlp_document::parsed);
    let function = json!({"name": text(tool, "name"), "description": tool.get("description"), "parameters": schema});
    json!({"type": "function", "function": function})
}
