//! The messages in the attributes of a span: in the words of the conventions, of their earlier versions, and of the libraries before them.
//!
//! In: attributes and events. Out: messages and tools in the words of chat completions. Parts that are not known stay as they are.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::rebuilt::text;

/// What a span has of a request and its reply.
pub(super) struct Messages {
    pub(super) input: Vec<Value>,
    /// With `finish_reason` where it is known.
    pub(super) output: Vec<Value>,
    pub(super) tools: Vec<Value>,
}

type Attributes = Map<String, Value>;

/// Reads them.
pub(super) fn messages(attributes: &Attributes, events: &[(String, Attributes)]) -> Messages {
    // The details of an operation may be an event of their own.
    let find = |key: &str| {
        let in_events = events.iter().find_map(|(_, attributes)| attributes.get(key));
        attributes.get(key).or(in_events).map(parsed)
    };
    let list = |key: &str| match find(key) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    };
    let mut input: Vec<Value> = Vec::new();
    let system = list("gen_ai.system_instructions");
    if !system.is_empty() {
        input.push(json!({"role": "system", "content": content(&system)}));
    }
    input.extend(list("gen_ai.input.messages").iter().flat_map(message));
    let mut output: Vec<Value> = list("gen_ai.output.messages").iter().flat_map(message).collect();
    let of_events = events.iter().filter_map(|(name, attributes)| Some((name.strip_prefix("gen_ai.")?, attributes)));
    for (name, attributes) in of_events {
        match name {
            "choice" => output.push(choice(attributes)),
            "content.prompt" => input.extend(attributes.get("gen_ai.prompt").map(parsed).map_or_else(Vec::new, items)),
            "content.completion" => {
                output.extend(attributes.get("gen_ai.completion").map(parsed).map_or_else(Vec::new, items));
            }
            _ => input.extend(name.strip_suffix(".message").map(|role| event_message(role, attributes))),
        }
    }
    if input.is_empty() {
        input = numbered(attributes, "gen_ai.prompt.").chain(numbered(attributes, "llm.input_messages.")).collect();
    }
    if output.is_empty() {
        output =
            numbered(attributes, "gen_ai.completion.").chain(numbered(attributes, "llm.output_messages.")).collect();
    }
    let mut tools: Vec<Value> = list("gen_ai.tool.definitions").iter().map(tool).collect();
    if tools.is_empty() {
        tools = of_numbers(attributes, "llm.request.functions.")
            .into_values()
            .map(|members| tool(&nested(members)))
            .collect();
    }
    Messages { input, output, tools }
}

/// Has a message more than a role?
pub(super) fn has_content(message: &Value) -> bool {
    ["content", "tool_calls", "reasoning_content"].iter().any(|key| match message.get(*key) {
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(value) => !value.is_null(),
        None => false,
    })
}

/// A value that may be JSON in a text.
fn parsed(value: &Value) -> Value {
    value.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_else(|| value.clone())
}

/// The items of a list; another value is its own only item, as the content of a user.
fn items(value: Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items,
        Value::Object(_) => vec![value],
        other => vec![json!({"role": "user", "content": other})],
    }
}

/// A message with parts, as one or several: each result of a call is a message.
fn message(message: &Value) -> Vec<Value> {
    let Some(parts) = message.get("parts").and_then(Value::as_array) else { return vec![message.clone()] };
    let of = |kind: &'static str| parts.iter().filter(move |part| text(part, "type") == kind);
    let mut out: Vec<Value> = of("tool_call_response")
        .map(|part| {
            let result = part.get("response").or_else(|| part.get("result")).cloned().unwrap_or_default();
            let content = result.as_str().map_or_else(|| result.to_string(), str::to_owned);
            json!({"role": "tool", "tool_call_id": text(part, "id"), "content": content})
        })
        .collect();
    let calls: Vec<Value> =
        of("tool_call").map(|part| call(part.get("id"), text(part, "name"), part.get("arguments"))).collect();
    let reasoning: Vec<&str> = of("reasoning").map(|part| text(part, "content")).collect();
    let own: Vec<Value> = parts
        .iter()
        .filter(|part| !matches!(text(part, "type"), "tool_call_response" | "tool_call" | "reasoning"))
        .cloned()
        .collect();
    if !own.is_empty() || !calls.is_empty() || out.is_empty() {
        let mut whole = json!({"role": text(message, "role"), "content": content(&own)});
        if !calls.is_empty() {
            whole["tool_calls"] = Value::Array(calls);
        }
        if !reasoning.is_empty() {
            whole["reasoning_content"] = json!(reasoning.join("\n"));
        }
        if let Some(reason) = message.get("finish_reason") {
            whole["finish_reason"] = reason.clone();
        }
        out.push(whole);
    }
    out
}

/// Parts as a text where they are texts, else as parts.
fn content(parts: &[Value]) -> Value {
    let texts: Option<Vec<&str>> = parts
        .iter()
        .map(|part| part.get("content").and_then(Value::as_str).filter(|_| text(part, "type") == "text"))
        .collect();
    if let Some(texts) = texts {
        return Value::String(texts.join("\n"));
    }
    let part = |part: &Value| match text(part, "type") {
        "text" => json!({"type": "text", "text": text(part, "content")}),
        _ => part.clone(),
    };
    Value::Array(parts.iter().map(part).collect())
}

fn call(id: Option<&Value>, name: &str, arguments: Option<&Value>) -> Value {
    let arguments = match arguments {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => "{}".to_owned(),
    };
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
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
fn numbered<'a>(attributes: &'a Attributes, prefix: &str) -> impl Iterator<Item = Value> + use<'a> {
    of_numbers(attributes, prefix).into_values().map(|members| {
        let members: Attributes = members
            .into_iter()
            .map(|(key, value)| (key.strip_prefix("message.").map_or_else(|| key.clone(), str::to_owned), value))
            .collect();
        let mut message = json!({"role": members.get("role"), "content": members.get("content")});
        let calls: Vec<Value> = of_numbers(&members, "tool_calls.")
            .into_values()
            .map(|parts| {
                let parts: Attributes = parts
                    .into_iter()
                    .map(|(key, value)| {
                        let short = key.strip_prefix("tool_call.").unwrap_or(&key);
                        (short.strip_prefix("function.").unwrap_or(short).to_owned(), value)
                    })
                    .collect();
                let name = parts.get("name").and_then(Value::as_str).unwrap_or_default();
                call(parts.get("id"), name, parts.get("arguments"))
            })
            .collect();
        if !calls.is_empty() {
            message["tool_calls"] = Value::Array(calls);
        }
        for (key, name) in [("finish_reason", "finish_reason"), ("tool_call_id", "tool_call_id")] {
            if let Some(value) = members.get(key) {
                message[name] = value.clone();
            }
        }
        message
    })
}

/// A tool as chat completions have it.
fn tool(tool: &Value) -> Value {
    if tool.get("function").is_some() {
        return tool.clone();
    }
    let parameters = tool.get("parameters").or_else(|| tool.get("input_schema")).map(parsed);
    let function =
        json!({"name": text(tool, "name"), "description": tool.get("description"), "parameters": parameters});
    json!({"type": "function", "function": function})
}
