//! Spans of generative AI from OpenTelemetry, in the JSON form of its protocol: an exchange for each call of a model.
//!
//! In: one document, or one in each line. Out: exchanges in the format of chat completions. Attributes are read as the conventions name
//! them now and as they did (events, logs, numbered attributes), and as libraries name them. Attributes, events, logs, resource and scope
//! of a span are in the member `otlp` of its request as they are, and so are the spans of its trace without a model call.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::otlp_document::{Span, read};
use super::rebuilt::{Rebuilt, elapsed};
use super::span_messages::{Messages, has_content, messages};
use super::{Entry, ImportedExchange, span_libraries};

/// Returns the exchanges of a text, in no order.
pub(super) fn entries(text: &str) -> Vec<Entry> {
    let mut out = Vec::new();
    let documents = match serde_json::from_str::<Value>(text) {
        Ok(document) => vec![document],
        Err(_) => {
            super::lines(text).filter_map(|line| line.map_err(|problem| out.push(Err(Some(problem)))).ok()).collect()
        }
    };
    let (mut spans, lost) = read(&documents);
    span_libraries::join_streams(&mut spans);
    if lost > 0 {
        out.push(Err(Some(format!("log records that belong to no span of the file ({lost}) were omitted"))));
        out.extend((1..lost).map(|_| Err(None)));
    }
    // A span of a run is used in place of its calls if the file has none of them.
    let asks: Vec<bool> = spans.iter().map(asks_model).collect();
    let calls = spans.iter().zip(&asks).filter(|(_, asks)| **asks);
    let traces: HashSet<String> = calls.map(|(span, _)| span.trace.clone()).collect();
    let (mut asking, mut others) = (Vec::new(), Vec::new());
    for (span, asks) in spans.into_iter().zip(asks) {
        let is_asking = asks || span_libraries::is_run(&span) && !traces.contains(&span.trace);
        let list = if is_asking { &mut asking } else { &mut others };
        list.push(span);
    }
    // Spans without a model call belong to the last preceding span with one.
    let mut with: Vec<Vec<Value>> = asking.iter().map(|_| Vec::new()).collect();
    let mut by_trace: HashMap<&str, Vec<usize>> = HashMap::new();
    for (place, span) in asking.iter().enumerate() {
        by_trace.entry(&span.trace).or_default().push(place);
    }
    for other in others {
        let places = by_trace.get(other.trace.as_str()).into_iter().flatten();
        let same = places.filter_map(|place| Some((*place, asking.get(*place)?)));
        let before =
            same.clone().filter(|(_, span)| span.from_ms <= other.from_ms).max_by_key(|(_, span)| span.from_ms);
        let place = before.or_else(|| same.min_by_key(|(_, span)| span.from_ms));
        match place.and_then(|(place, span)| Some((with.get_mut(place)?, span))) {
            Some((spans, span)) => spans.push(other.whole(Some(span))),
            None => out.push(Err(None)),
        }
    }
    out.extend(asking.iter().zip(with).map(|(span, others)| entry(span, others)));
    out
}

fn asks_model(span: &Span) -> bool {
    match span.text(&["gen_ai.operation.name"]) {
        "chat" | "generate_content" | "text_completion" => true,
        "" => {
            let is_named = |key: &String| key.starts_with("gen_ai.prompt.") || key == "gen_ai.request.model";
            span.text(&["openinference.span.kind"]) == "LLM"
                || span.attributes.keys().any(is_named)
                || span_libraries::is_call(span)
        }
        _ => false,
    }
}

/// Options of a request, and the attributes that have them.
const OPTIONS: [(&str, [&str; 2]); 5] = [
    ("temperature", ["gen_ai.request.temperature", "ai.settings.temperature"]),
    ("top_p", ["gen_ai.request.top_p", "ai.settings.topP"]),
    ("max_tokens", ["gen_ai.request.max_tokens", "ai.settings.maxOutputTokens"]),
    ("seed", ["gen_ai.request.seed", "ai.settings.seed"]),
    ("stop", ["gen_ai.request.stop_sequences", "ai.settings.stopSequences"]),
];

/// Attributes with the tokens of a request, of a reply, and with those that were read from a cache, written to it or used to reason.
const INPUT: [&str; 6] = [
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.token_count.prompt",
    "ai.usage.inputTokens",
    "ai.usage.promptTokens",
    "llm.usage.prompt_tokens",
];
const OUTPUT: [&str; 6] = [
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
    "ai.usage.outputTokens",
    "ai.usage.completionTokens",
    "llm.usage.completion_tokens",
];
const CACHE_READ: [&str; 6] = [
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_read_input_tokens",
    "gen_ai.usage.details.cache_read_tokens",
    "llm.token_count.prompt_details.cache_read",
    "ai.usage.cachedInputTokens",
    "ai.usage.inputTokenDetails.cacheReadTokens",
];
const CACHE_WRITTEN: [&str; 5] = [
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.cache_creation_input_tokens",
    "gen_ai.usage.details.cache_write_tokens",
    "llm.token_count.prompt_details.cache_write",
    "ai.usage.inputTokenDetails.cacheWriteTokens",
];
const REASONING: [&str; 5] = [
    "gen_ai.usage.reasoning.output_tokens",
    "gen_ai.usage.reasoning_tokens",
    "gen_ai.usage.details.reasoning_tokens",
    "llm.token_count.completion_details.reasoning",
    "ai.usage.reasoningTokens",
];

/// The exchange of a span, with the surrounding spans without a model call.
fn entry(span: &Span, others: Vec<Value>) -> Entry {
    let mut found = messages(span);
    span_libraries::add_missing(span, &mut found);
    let usage = usage(span, &found.usage);
    let Messages { input, mut output, tools, options, .. } = found;
    let is_failed = span.error.is_some() && output.is_empty();
    let (has_input, has_output) = (input.iter().any(has_content), output.iter().any(has_content));
    // By default, instrumentation does not record the content of messages.
    let missing = match (has_input, has_output || is_failed) {
        (false, false) => Some("the span has no message content that can be read"),
        (false, true) => Some("the span has no content of the request's messages that can be read"),
        (true, false) => Some("the span has no content of the reply that can be read"),
        (true, true) => None,
    };
    let group = [span.text(&["gen_ai.conversation.id"]), span.trace.as_str()].into_iter().find(|name| !name.is_empty());
    let group = group.filter(|_| !has_input).map(str::to_owned);
    if output.is_empty() && !is_failed {
        output.push(json!({"role": "assistant", "content": ""}));
    }
    let model = match span.text(&MODELS) {
        "" => span_libraries::model_of_request(span),
        named => named.to_owned(),
    };
    let mut request = json!({"model": model, "messages": input});
    for (member, keys) in OPTIONS {
        if let Some(value) = span.value(&keys) {
            request[member] = value.clone();
        }
    }
    for (member, value) in options {
        if request.get(&member).is_none() {
            request[member.as_str()] = value;
        }
    }
    if !tools.is_empty() {
        request["tools"] = Value::Array(tools);
    }
    let mut whole = span.whole(None);
    if !others.is_empty() {
        whole["other_spans"] = Value::Array(others);
    }
    request["otlp"] = whole;
    let status =
        span.value(&["http.response.status_code"]).and_then(Value::as_u64).and_then(|code| code.try_into().ok());
    let status = status.filter(|status: &u16| (100..600).contains(status));
    let (status, reply) = match &span.error {
        Some(error) if is_failed => {
            let kind = span.text(&["error.type"]);
            (status.filter(|status| *status >= 400).unwrap_or(500), json!({"error": {"message": error, "type": kind}}))
        }
        _ => (200, reply(span, &model, output, &usage)),
    };
    let provider =
        span.text(&["gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "ai.model.provider"]);
    let origin = format!("span {} ({})", span.id, span.name);
    let rebuilt = Rebuilt {
        at_ms: span.from_ms,
        ms: elapsed(span.from_ms, span.to_ms),
        scheme: "otlp",
        provider,
        path: "/v1/chat/completions",
        request,
        status,
        reply,
        origin: &origin,
    };
    let notices = missing.map(str::to_owned).into_iter().collect();
    rebuilt.entry().map(|exchange| ImportedExchange { notices, group, ..exchange })
}

/// Attributes with the name of the model.
const MODELS: [&str; 6] = [
    "gen_ai.request.model",
    "gen_ai.response.model",
    "llm.request.model_name",
    "llm.model_name",
    "llm.response.model_name",
    "ai.model.id",
];

fn reply(span: &Span, model: &str, output: Vec<Value>, usage: &Value) -> Value {
    let reasons = span.find_list("gen_ai.response.finish_reasons");
    let named = span.value(&["llm.finish_reason", "ai.response.finishReason"]);
    let choices: Vec<Value> = output
        .into_iter()
        .enumerate()
        .map(|(index, mut message)| {
            let own = message.as_object_mut().and_then(|message| message.remove("finish_reason"));
            let reason = own.or_else(|| reasons.get(index).or(named).cloned()).filter(|reason| !reason.is_null());
            let reason = match reason.as_ref().and_then(Value::as_str) {
                Some("tool_call" | "tool-calls") => "tool_calls",
                Some("content-filter") => "content_filter",
                Some(reason) => reason,
                None if message.get("tool_calls").is_some() => "tool_calls",
                None => "stop",
            };
            json!({"index": index, "message": message, "finish_reason": reason})
        })
        .collect();
    let answered = span.text(&["gen_ai.response.model", "llm.response.model_name", "ai.response.model"]);
    json!({
        "id": span.text(&["gen_ai.response.id", "ai.response.id"]),
        "model": if answered.is_empty() { model } else { answered },
        "choices": choices,
        "usage": usage,
    })
}

/// Counts of cached tokens as services name them.
const SERVICE_CACHE_READ: [&str; 3] =
    ["/prompt_tokens_details/cached_tokens", "/input_tokens_details/cached_tokens", "/cache_read_input_tokens"];

/// Counts of reasoning tokens as services name them.
const SERVICE_REASONING: [&str; 2] =
    ["/completion_tokens_details/reasoning_tokens", "/output_tokens_details/reasoning_tokens"];

/// Token counts in the format of chat completions: those of attributes, or `own` in the format of the service.
fn usage(span: &Span, own: &Value) -> Value {
    let count = |keys: &[&str]| keys.iter().find_map(|key| span.attributes.get(*key)?.as_u64());
    let of_service = |keys: &[&str]| keys.iter().find_map(|key| own.pointer(key)?.as_u64());
    let Some(input) = count(&INPUT).or_else(|| of_service(&["/prompt_tokens", "/input_tokens"])) else {
        return Value::Null;
    };
    let output = count(&OUTPUT).or_else(|| of_service(&["/completion_tokens", "/output_tokens"]));
    let read = count(&CACHE_READ).or_else(|| of_service(&SERVICE_CACHE_READ));
    let written = count(&CACHE_WRITTEN).or_else(|| of_service(&["/cache_creation_input_tokens"]));
    let reasoning = count(&REASONING).or_else(|| of_service(&SERVICE_REASONING));
    // Anthropic counts them apart from the input.
    let cache = read.unwrap_or(0).saturating_add(written.unwrap_or(0));
    let is_apart = |key: &&str| own.pointer(key).is_some();
    let is_anthropic =
        count(&INPUT).is_none() && ["/cache_read_input_tokens", "/cache_creation_input_tokens"].iter().any(is_apart);
    let input = if is_anthropic || cache > input { input.saturating_add(cache) } else { input };
    json!({
        "prompt_tokens": input,
        "completion_tokens": output.unwrap_or(0),
        "prompt_tokens_details": {"cached_tokens": read, "cache_write_tokens": written},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    })
}
