//! Span attributes of single libraries: the Vercel AI SDK, Logfire, Pydantic AI, and the raw values of `OpenInference`.
//!
//! In: a span and the messages that the conventions find in it. Out: the messages, with missing parts added.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::message_parts::{call, chat_messages, tool};
use super::otlp_document::{Span, parsed};
use super::rebuilt::text;
use super::span_messages::Messages;

/// Members of requests that are not options: they have places of their own here.
const NO_OPTIONS: [&str; 10] =
    ["model", "messages", "input", "instructions", "prompt", "contents", "system", "tools", "stream", "stream_options"];

/// Attributes of spans of a run of several calls, with its messages.
const RUNS: [&str; 3] = ["all_messages_events", "pydantic_ai.all_messages", "ai.prompt"];

/// Returns whether a span is of a run, which may have several calls of a model.
pub(super) fn is_run(span: &Span) -> bool {
    RUNS.iter().any(|key| span.attributes.contains_key(*key))
}

/// Returns whether a library names a span as the call of a model.
pub(super) fn is_call(span: &Span) -> bool {
    let operation = span.text(&["ai.operationId", "operation.name"]).split(' ').next().unwrap_or_default();
    let of_vercel = operation.ends_with(".doGenerate") || operation.ends_with(".doStream");
    of_vercel || span.find_json("request_data").is_some_and(|request| request.get("messages").is_some())
}

/// Joins the two spans of a streamed call of Logfire: the first has the request, the second, at its end, the request and the response.
pub(super) fn join_streams(spans: &mut Vec<Span>) {
    let request_of = |span: &Span| Some((span.trace.clone(), span.find_json("request_data")?.to_string()));
    let is_answered = |span: &Span| span.attributes.contains_key("response_data");
    let answered: HashSet<_> = spans.iter().filter(|span| is_answered(span)).filter_map(request_of).collect();
    let mut started = HashMap::new();
    spans.retain(|span| {
        let request = request_of(span).filter(|request| answered.contains(request));
        let Some(request) = request.filter(|_| !is_answered(span) && span.error.is_none()) else { return true };
        started.insert(request, span.from_ms);
        false
    });
    for span in spans.iter_mut().filter(|span| is_answered(span)) {
        if let Some(from_ms) = request_of(span).and_then(|request| started.get(&request)) {
            span.from_ms = span.from_ms.min(*from_ms);
        }
    }
}

/// Returns the model in the members of a request that are one attribute; empty where there is none.
pub(super) fn model_of_request(span: &Span) -> String {
    let requests = ["request_data", "llm.invocation_parameters"].iter().filter_map(|key| span.find_json(key));
    requests.map(|request| text(&request, "model").to_owned()).find(|model| !model.is_empty()).unwrap_or_default()
}

/// Adds missing parts to the messages.
pub(super) fn add_missing(span: &Span, found: &mut Messages) {
    let request = span.find_json("request_data").filter(Value::is_object);
    let response = span.find_json("response_data").filter(Value::is_object);
    let parameters = span.find_json("llm.invocation_parameters").filter(Value::is_object);
    if found.input.is_empty() && found.output.is_empty() {
        // The last message of a run is its reply.
        found.input = span.find_list("pydantic_ai.all_messages").iter().flat_map(chat_messages).collect();
        found.split_reply();
    }
    if found.input.is_empty() {
        found.input = vercel_input(span);
    }
    if found.output.is_empty() {
        found.output = vercel_output(span).into_iter().collect();
    }
    if found.input.is_empty() {
        found.input = request.as_ref().map(messages_of_request).unwrap_or_default();
    }
    if found.output.is_empty() {
        found.output = response.as_ref().map(messages_of_response).unwrap_or_default();
    }
    if found.input.is_empty() {
        found.input = raw_messages(span, "input.value", "user");
    }
    if found.output.is_empty() {
        found.output = raw_messages(span, "output.value", "assistant");
    }
    if found.tools.is_empty() {
        found.tools = tools(span, [request.as_ref(), parameters.as_ref()]);
    }
    for (key, value) in [&parameters, &request].into_iter().flatten().filter_map(Value::as_object).flatten() {
        if !NO_OPTIONS.contains(&key.as_str()) && !value.is_null() {
            found.options.entry(key.as_str()).or_insert_with(|| value.clone());
        }
    }
    found.usage = response.and_then(|response| response.get("usage").cloned()).unwrap_or_default();
}

/// Messages of the Vercel AI SDK: those that it sent, or those that it was given.
fn vercel_input(span: &Span) -> Vec<Value> {
    let sent = span.find_list("ai.prompt.messages");
    if !sent.is_empty() {
        return sent.iter().flat_map(chat_messages).collect();
    }
    let Some(given) = span.find_json("ai.prompt").filter(Value::is_object) else { return Vec::new() };
    let mut all = system_messages(&given);
    for key in ["prompt", "messages"] {
        match given.get(key) {
            Some(Value::String(text)) => all.push(json!({"role": "user", "content": text})),
            Some(Value::Array(messages)) => all.extend(messages.iter().flat_map(chat_messages)),
            _ => {}
        }
    }
    all
}

/// A reply of the Vercel AI SDK. Earlier versions call it a result.
fn vercel_output(span: &Span) -> Option<Value> {
    let find = |name: &str| ["response", "result"].iter().find_map(|kind| span.find(&format!("ai.{kind}.{name}")));
    let words = find("text").or_else(|| find("object"));
    let calls = find("toolCalls").map(parsed).unwrap_or_default();
    let reasoning = find("reasoning").and_then(Value::as_str).unwrap_or_default();
    let calls: Vec<Value> = calls.as_array().into_iter().flatten().map(vercel_call).collect();
    if words.is_none() && calls.is_empty() && reasoning.is_empty() {
        return None;
    }
    let mut message = json!({"role": "assistant", "content": words.and_then(Value::as_str).unwrap_or_default()});
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    if !reasoning.is_empty() {
        message["reasoning_content"] = json!(reasoning);
    }
    if let Some(reason) = find("finishReason") {
        message["finish_reason"] = reason.clone();
    }
    Some(message)
}

fn vercel_call(item: &Value) -> Value {
    call(item.get("toolCallId"), text(item, "toolName"), item.get("input").or_else(|| item.get("args")))
}

/// Messages of the body of a request, of `OpenAI`'s or Anthropic's API.
fn messages_of_request(request: &Value) -> Vec<Value> {
    let mut all = system_messages(request);
    let messages = request.get("messages").and_then(Value::as_array).into_iter().flatten();
    all.extend(messages.filter(|message| message.is_object()).flat_map(chat_messages));
    if let Some(prompt) = request.get("prompt").filter(|_| all.is_empty()) {
        all.push(json!({"role": "user", "content": prompt}));
    }
    all
}

fn system_messages(request: &Value) -> Vec<Value> {
    let system = request.get("system").filter(|system| !system.is_null());
    system.map(|system| json!({"role": "system", "content": system})).into_iter().collect()
}

/// Messages of a reply, whole or as Logfire keeps it.
fn messages_of_response(response: &Value) -> Vec<Value> {
    let choices = response.get("choices").and_then(Value::as_array).into_iter().flatten();
    let choices = choices.filter_map(|choice| choice.get("message")).chain(response.get("message"));
    let messages: Vec<Value> = choices.filter(|message| message.is_object()).flat_map(chat_messages).collect();
    if !messages.is_empty() {
        return messages;
    }
    // Anthropic's replies are messages themselves.
    if text(response, "role") == "assistant" {
        return chat_messages(response);
    }
    let words = ["combined_chunk_content", "text"].iter().find_map(|key| response.get(*key)?.as_str());
    words.map(|words| json!({"role": "assistant", "content": words})).into_iter().collect()
}

/// Messages of the raw input or output of a call in `OpenInference`: the body as JSON, or its text.
fn raw_messages(span: &Span, key: &str, role: &str) -> Vec<Value> {
    if span.text(&["openinference.span.kind"]) != "LLM" {
        return Vec::new();
    }
    let Some(raw) = span.find(key) else { return Vec::new() };
    let body = parsed(raw);
    let messages = if role == "user" { messages_of_request(&body) } else { messages_of_response(&body) };
    if messages.is_empty() { vec![json!({"role": role, "content": raw})] } else { messages }
}

/// The tools of the Vercel AI SDK, of a request, or of Pydantic AI.
fn tools(span: &Span, requests: [Option<&Value>; 2]) -> Vec<Value> {
    let of_requests = requests.into_iter().flatten().filter_map(|request| request.get("tools")?.as_array());
    let parameters = span.find_json("model_request_parameters").unwrap_or_default();
    let of_parameters = ["function_tools", "output_tools"].iter().filter_map(|key| parameters.get(*key)?.as_array());
    let of_others = of_requests.chain(of_parameters).flatten();
    span.find_list("ai.prompt.tools").iter().map(|item| tool(&parsed(item))).chain(of_others.map(tool)).collect()
}
