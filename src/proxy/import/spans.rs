//! Spans of generative AI from OpenTelemetry, in the JSON form of its protocol: an exchange for each call of a model.
//!
//! In: one document, or one in each line. Out: exchanges in the words of chat completions. Attributes are read as the conventions name them now
//! and as they did (events, numbered attributes). All attributes and events of a span are in the member `otlp` of its request as they are, and
//! so are the spans of its trace that ask no model.

use serde_json::{Map, Value, json};

use super::rebuilt::{Rebuilt, elapsed, text};
use super::span_messages::{Messages, has_content, messages};
use super::{Entry, Recorded};

/// A span.
struct Span {
    trace: String,
    id: String,
    name: String,
    from_ms: i64,
    to_ms: i64,
    attributes: Map<String, Value>,
    events: Vec<(String, Map<String, Value>)>,
    error: Option<String>,
    /// The span without what is above.
    rest: Value,
}

/// The exchanges of a text, in no order.
pub(super) fn entries(text: &str) -> Vec<Entry> {
    let mut out = Vec::new();
    let documents = match serde_json::from_str::<Value>(text) {
        Ok(document) => vec![document],
        Err(_) => {
            super::lines(text).filter_map(|line| line.map_err(|problem| out.push(Err(Some(problem)))).ok()).collect()
        }
    };
    let spans: Vec<Span> = documents.iter().flat_map(of_document).collect();
    let (asking, others): (Vec<Span>, Vec<Span>) = spans.into_iter().partition(Span::asks_model);
    // Spans that ask no model are with the last one before them that does.
    let mut with: Vec<Vec<Value>> = asking.iter().map(|_| Vec::new()).collect();
    for other in others {
        let same = asking.iter().enumerate().filter(|(_, span)| span.trace == other.trace);
        let before =
            same.clone().filter(|(_, span)| span.from_ms <= other.from_ms).max_by_key(|(_, span)| span.from_ms);
        match before.or_else(|| same.min_by_key(|(_, span)| span.from_ms)).and_then(|(place, _)| with.get_mut(place)) {
            Some(spans) => spans.push(other.whole()),
            None => out.push(Err(None)),
        }
    }
    out.extend(asking.into_iter().zip(with).map(|(span, others)| span.entry(others)));
    out
}

fn of_document(document: &Value) -> Vec<Span> {
    let list = |json: &Value, key: &str| json.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let mut spans = Vec::new();
    for resource in list(document, "resourceSpans") {
        for scope in list(&resource, "scopeSpans") {
            spans.extend(list(&scope, "spans").iter().map(Span::read));
        }
    }
    spans
}

impl Span {
    fn read(span: &Value) -> Self {
        let list = |key: &str| span.get(key).and_then(Value::as_array).into_iter().flatten();
        let message = span.pointer("/status/message").and_then(Value::as_str);
        let code = span.pointer("/status/code");
        let is_error = code.is_some_and(|code| *code == json!(2) || *code == json!("STATUS_CODE_ERROR"));
        Self {
            trace: text(span, "traceId").to_owned(),
            id: text(span, "spanId").to_owned(),
            name: text(span, "name").to_owned(),
            from_ms: milliseconds(span.get("startTimeUnixNano")),
            to_ms: milliseconds(span.get("endTimeUnixNano")),
            attributes: attributes(span.get("attributes")),
            events: list("events")
                .map(|event| (text(event, "name").to_owned(), attributes(event.get("attributes"))))
                .collect(),
            error: is_error.then(|| message.unwrap_or("the span has the status error").to_owned()),
            rest: super::rebuilt::without(span, &["attributes", "events"]),
        }
    }

    fn text(&self, keys: &[&str]) -> &str {
        keys.iter().find_map(|key| self.attributes.get(*key)?.as_str()).unwrap_or_default()
    }

    fn value(&self, keys: &[&str]) -> Option<&Value> {
        keys.iter().find_map(|key| self.attributes.get(*key))
    }

    fn asks_model(&self) -> bool {
        match self.text(&["gen_ai.operation.name"]) {
            "chat" | "generate_content" | "text_completion" => true,
            "" => {
                self.text(&["openinference.span.kind"]) == "LLM"
                    || self
                        .attributes
                        .keys()
                        .any(|key| key.starts_with("gen_ai.prompt.") || key == "gen_ai.request.model")
            }
            _ => false,
        }
    }

    /// The span as it was, with its attributes as an object.
    fn whole(&self) -> Value {
        let mut whole = self.rest.clone();
        whole["attributes"] = Value::Object(self.attributes.clone());
        if !self.events.is_empty() {
            let events = self.events.iter().map(|(name, attributes)| json!({"name": name, "attributes": attributes}));
            whole["events"] = events.collect();
        }
        whole
    }

    fn entry(self, others: Vec<Value>) -> Entry {
        let Messages { input, mut output, tools } = messages(&self.attributes, &self.events);
        let is_failed = self.error.is_some() && output.is_empty();
        let (has_input, has_output) = (input.iter().any(has_content), output.iter().any(has_content));
        // By default, instrumentation does not record the content of messages.
        let missing = match (has_input, has_output || is_failed) {
            (false, false) => Some("the span has no message content"),
            (false, true) => Some("the span has no content of the request's messages"),
            (true, false) => Some("the span has no content of the reply"),
            (true, true) => None,
        };
        let group =
            [self.text(&["gen_ai.conversation.id"]), self.trace.as_str()].into_iter().find(|name| !name.is_empty());
        let group = group.filter(|_| !has_input).map(str::to_owned);
        if output.is_empty() && !is_failed {
            output.push(json!({"role": "assistant", "content": ""}));
        }
        let model = self.text(&["gen_ai.request.model", "gen_ai.response.model", "llm.model_name"]);
        let mut request = json!({"model": model, "messages": input});
        for (member, key) in [
            ("temperature", "gen_ai.request.temperature"),
            ("top_p", "gen_ai.request.top_p"),
            ("max_tokens", "gen_ai.request.max_tokens"),
            ("seed", "gen_ai.request.seed"),
            ("stop", "gen_ai.request.stop_sequences"),
        ] {
            if let Some(value) = self.attributes.get(key) {
                request[member] = value.clone();
            }
        }
        if !tools.is_empty() {
            request["tools"] = Value::Array(tools);
        }
        let mut whole = self.whole();
        if !others.is_empty() {
            whole["other_spans"] = Value::Array(others);
        }
        request["otlp"] = whole;
        let status =
            self.value(&["http.response.status_code"]).and_then(Value::as_u64).and_then(|code| code.try_into().ok());
        let (status, reply) = match &self.error {
            Some(error) if is_failed => {
                let kind = self.text(&["error.type"]);
                (
                    status.filter(|status| *status >= 400).unwrap_or(500),
                    json!({"error": {"message": error, "type": kind}}),
                )
            }
            _ => (200, self.reply(model, output)),
        };
        let provider = self.text(&["gen_ai.provider.name", "gen_ai.system", "llm.provider"]);
        let origin = format!("span {} ({})", self.id, self.name);
        let rebuilt = Rebuilt {
            at_ms: self.from_ms,
            ms: elapsed(self.from_ms, self.to_ms),
            scheme: "otlp",
            provider,
            path: "/v1/chat/completions",
            request,
            status,
            reply,
            origin: &origin,
        };
        let notices = missing.map(str::to_owned).into_iter().collect();
        rebuilt.entry().map(|recorded| Recorded { notices, group, ..recorded })
    }

    fn reply(&self, model: &str, output: Vec<Value>) -> Value {
        let count = |keys: &[&str]| self.value(keys).and_then(Value::as_u64);
        let reasons = self.value(&["gen_ai.response.finish_reasons"]).cloned().unwrap_or_default();
        let choices: Vec<Value> = output
            .into_iter()
            .enumerate()
            .map(|(index, mut message)| {
                let own = message.as_object_mut().and_then(|message| message.remove("finish_reason"));
                let reason = own.or_else(|| reasons.get(index).cloned()).filter(|reason| !reason.is_null());
                let reason = match reason.as_ref().and_then(Value::as_str) {
                    Some("tool_call") => "tool_calls",
                    Some(reason) => reason,
                    None if message.get("tool_calls").is_some() => "tool_calls",
                    None => "stop",
                };
                json!({"index": index, "message": message, "finish_reason": reason})
            })
            .collect();
        let input = count(&["gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"]);
        let usage = input.map(|input| {
            json!({
                "prompt_tokens": input,
                "completion_tokens":
                    count(&["gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"]).unwrap_or(0),
                "prompt_tokens_details": {"cached_tokens": count(&["gen_ai.usage.cache_read.input_tokens"])},
                "completion_tokens_details": {"reasoning_tokens": count(&["gen_ai.usage.reasoning.output_tokens"])},
            })
        });
        let answered = self.text(&["gen_ai.response.model"]);
        json!({
            "id": self.text(&["gen_ai.response.id"]),
            "model": if answered.is_empty() { model } else { answered },
            "choices": choices,
            "usage": usage,
        })
    }
}

/// Unix time in ms of a time in ns: a number, or a text of digits.
fn milliseconds(json: Option<&Value>) -> i64 {
    let ns = json.and_then(|json| json.as_i64().or_else(|| json.as_str()?.parse().ok())).unwrap_or(0);
    ns / 1_000_000
}

/// Attributes as an object.
fn attributes(list: Option<&Value>) -> Map<String, Value> {
    let pairs = list.and_then(Value::as_array).into_iter().flatten();
    pairs.map(|pair| (text(pair, "key").to_owned(), any(pair.get("value").unwrap_or(&Value::Null)))).collect()
}

/// A value of the protocol as JSON. Integers of 64 bits are texts there.
fn any(value: &Value) -> Value {
    let Some((kind, inner)) = value.as_object().and_then(|members| members.iter().next()) else { return Value::Null };
    match kind.as_str() {
        "intValue" => {
            inner.as_str().and_then(|text| text.parse::<i64>().ok()).map_or_else(|| inner.clone(), Value::from)
        }
        "arrayValue" => inner.get("values").and_then(Value::as_array).into_iter().flatten().map(any).collect(),
        "kvlistValue" => Value::Object(attributes(inner.get("values"))),
        _ => inner.clone(),
    }
}
