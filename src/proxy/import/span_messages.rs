//! The messages in the attributes of a span: in the format of the conventions, of their earlier versions, and of the libraries before them.
//!
//! In: a span with its events and logs. Out: messages and tools in the format of chat completions. Parts that are not known stay as they
//! are.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::message_parts::{call, chat_messages, of_parts, tool};
use super::otlp_document::{Attributes, Span, parsed};
use super::rebuilt::text;

/// Messages and tools of a request and its reply in a span.
#[derive(Default)]
pub(super) struct Messages {
    pub(super) input: Vec<Value>,
    /// With `finish_reason` where it is known.
    pub(super) output: Vec<Value>,
    pub(super) tools: Vec<Value>,
    /// Other members of the request, where they are not attributes of their own.
    pub(super) options: Map<String, Value>,
    /// Token counts in the format of the service, where they are not attributes of their own.
    pub(super) usage: Value,
}

/// Reads them.
pub(super) fn messages(span: &Span) -> Messages {
    let mut found = Messages { tools: tools(span), ..Messages::default() };
    for record in span.records() {
        found.add_event(&record.name, &record.attributes);
    }
    // Some programs write messages both as attributes and as events.
    let [input, output] = ["gen_ai.input.messages", "gen_ai.output.messages"]
        .map(|key| span.find_list(key).iter().flat_map(chat_messages).collect::<Vec<_>>());
    found.input = if input.is_empty() { found.input } else { input };
    found.output = if output.is_empty() { found.output } else { output };
    if found.input.is_empty() && found.output.is_empty() {
        found.add_listed(span);
    }
    if found.input.is_empty() {
        found.input = numbered(&span.attributes, ["gen_ai.prompt.", "llm.input_messages."]);
    }
    if found.output.is_empty() {
        found.output = numbered(&span.attributes, ["gen_ai.completion.", "llm.output_messages."]);
    }
    let system = span.find_list("gen_ai.system_instructions");
    if !system.is_empty() {
        let mut input = of_parts(&json!({"role": "system"}), &system);
        input.append(&mut found.input);
        found.input = input;
    }
    found
}

impl Messages {
    /// Adds the messages of an event.
    fn add_event(&mut self, name: &str, attributes: &Attributes) {
        match name.strip_prefix("gen_ai.") {
            Some("choice") => self.output.extend(chat_messages(&choice(attributes))),
            Some("content.prompt") => {
                self.input.extend(attributes.get("gen_ai.prompt").map(parsed).map_or_else(Vec::new, items));
            }
            Some("content.completion") => {
                self.output.extend(attributes.get("gen_ai.completion").map(parsed).map_or_else(Vec::new, items));
            }
            Some(name) => {
                if let Some(role) = name.strip_suffix(".message") {
                    self.input.extend(chat_messages(&event_message(role, attributes)));
                }
            }
            None => {}
        }
    }

    /// Adds the messages of events that are an attribute, as Pydantic AI and Logfire record them: those of a request, or those of a run, whose last
    /// message is the reply.
    fn add_listed(&mut self, span: &Span) {
        let of_request = span.find_list("events");
        let is_run = of_request.is_empty();
        for event in if is_run { span.find_list("all_messages_events") } else { of_request } {
            let Value::Object(members) = event else { continue };
            let name = members.get("event.name").and_then(Value::as_str).map(str::to_owned);
            let role = || format!("gen_ai.{}.message", members.get("role").and_then(Value::as_str).unwrap_or("user"));
            self.add_event(&name.unwrap_or_else(role), &members);
        }
        if is_run && self.output.is_empty() {
            self.split_reply();
        }
    }

    /// Moves the messages of the model at the end of the input to the output.
    pub(super) fn split_reply(&mut self) {
        let is_other = |message: &Value| text(message, "role") != "assistant";
        let end = self.input.iter().rposition(is_other).map_or(0, |last| last + 1);
        self.output = self.input.split_off(end);
    }
}

/// The tools of a request.
fn tools(span: &Span) -> Vec<Value> {
    let tools: Vec<Value> = span.find_list("gen_ai.tool.definitions").iter().map(tool).collect();
    if !tools.is_empty() {
        return tools;
    }
    let of_requests = of_numbers(&span.attributes, "llm.request.functions.").into_values();
    let of_requests = of_requests.map(|members| tool(&nested(members)));
    let schemas = of_numbers(&span.attributes, "llm.tools.").into_values().filter_map(|members| {
        members.into_iter().find(|(key, _)| key == "tool.json_schema").map(|(_, schema)| tool(&parsed(&schema)))
    });
    of_requests.chain(schemas).collect()
}

/// Returns whether a message has more than a role.
pub(super) fn has_content(message: &Value) -> bool {
    ["content", "tool_calls", "reasoning_content"].iter().any(|key| match message.get(*key) {
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(value) => !value.is_null(),
        None => false,
    })
}

/// The items of a list; another value is its own only item, as the content of a user.
fn items(value: Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items,
        Value::Object(_) => vec![value],
        other => vec![json!({"role": "user", "content": other})],
    }
}

/// A message that is an event: `gen_ai.user.message` and its like.
fn event_message(role: &str, attributes: &Attributes) -> Value {
    let mut message: Map<String, Value> = attributes
        .iter()
        .filter(|(key, _)| matches!(key.as_str(), "content" | "tool_calls"))
        .map(|(key, value)| (key.clone(), if key == "tool_calls" { parsed(value) } else { value.clone() }))
        .collect();
    message.insert("role".to_owned(), attributes.get("role").cloned().unwrap_or_else(|| json!(role)));
    if let Some(id) = attributes.get("id").filter(|_| role == "tool") {
        message.insert("tool_call_id".to_owned(), id.clone());
    }
    Value::Object(message)
}

/// A reply that is an event.
fn choice(attributes: &Attributes) -> Value {
    let mut message = attributes.get("message").map(parsed).filter(Value::is_object).unwrap_or_else(|| json!({}));
    if let Some(content) = attributes.get("content") {
        message["content"] = content.clone();
    }
    message["role"] = json!("assistant");
    if let Some(reason) = attributes.get("finish_reason") {
        message["finish_reason"] = reason.clone();
    }
    message
}

/// Attributes `PREFIX0.…`, `PREFIX1.…` by number, without the prefix.
fn of_numbers(attributes: &Attributes, prefix: &str) -> BTreeMap<u32, Vec<(String, Value)>> {
    let mut all: BTreeMap<u32, Vec<(String, Value)>> = BTreeMap::new();
    for (key, value) in attributes {
        let Some((number, rest)) = key.strip_prefix(prefix).and_then(|rest| rest.split_once('.')) else { continue };
        if let Ok(number) = number.parse() {
            all.entry(number).or_default().push((rest.to_owned(), value.clone()));
        }
    }
    all
}

fn nested(members: Vec<(String, Value)>) -> Value {
    Value::Object(members.into_iter().collect())
}

/// Messages in numbered attributes: `gen_ai.prompt.0.content`, `llm.input_messages.0.message.content`.
fn numbered(attributes: &Attributes, prefixes: [&str; 2]) -> Vec<Value> {
    let all = prefixes.into_iter().flat_map(|prefix| of_numbers(attributes, prefix).into_values());
    all.flat_map(numbered_message).collect()
}

fn numbered_message(members: Vec<(String, Value)>) -> Vec<Value> {
    let members = without_prefix(members, "message.");
    let calls = of_numbers(&members, "tool_calls.").into_values().map(numbered_call);
    let named = members.get("function_call_name").and_then(Value::as_str);
    let named = named.map(|name| call(None, name, members.get("function_call_arguments_json")));
    let calls: Vec<Value> = calls.chain(named).collect();
    let mut message = json!({"role": members.get("role")});
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    for key in ["finish_reason", "tool_call_id", "name"] {
        if let Some(value) = members.get(key) {
            message[key] = value.clone();
        }
    }
    let parts: Vec<Value> = of_numbers(&members, "contents.").into_values().map(numbered_part).collect();
    // OpenLLMetry writes parts as JSON into the text.
    let own = members.get("content").cloned().unwrap_or_default();
    let is_part = |part: &Value| part.is_object() && part.get("type").is_some();
    let list = Some(parsed(&own)).filter(|list| list.as_array().is_some_and(|parts| parts.iter().all(is_part)));
    match (parts.is_empty(), list) {
        (false, _) => of_parts(&message, &parts),
        (true, Some(Value::Array(parts))) if !parts.is_empty() => of_parts(&message, &parts),
        (true, _) => {
            message["content"] = own;
            vec![message]
        }
    }
}

fn numbered_call(members: Vec<(String, Value)>) -> Value {
    let members = without_prefix(members, "tool_call.");
    let find = |key: &str| members.get(&format!("function.{key}")).or_else(|| members.get(key));
    call(members.get("id"), find("name").and_then(Value::as_str).unwrap_or_default(), find("arguments"))
}

/// A part of a message of `OpenInference`.
fn numbered_part(members: Vec<(String, Value)>) -> Value {
    let members = without_prefix(members, "message_content.");
    let kind = members.get("type").and_then(Value::as_str).unwrap_or("text");
    match kind {
        "text" | "reasoning" => json!({"type": kind, "text": members.get("text")}),
        "image" => json!({"type": kind, "url": members.get("image.image.url").or_else(|| members.get("image.url"))}),
        "tool_use" => {
            let find = |key: &str| members.get(&format!("tool_call.{key}"));
            json!({"type": kind, "id": find("id"), "name": find("function.name"), "arguments": find("function.arguments")})
        }
        _ => Value::Object(members),
    }
}

/// Members whose names have this prefix or none, without it.
fn without_prefix(members: Vec<(String, Value)>, prefix: &str) -> Attributes {
    let short = |key: String| key.strip_prefix(prefix).map_or_else(|| key.clone(), str::to_owned);
    members.into_iter().map(|(key, value)| (short(key), value)).collect()
}
