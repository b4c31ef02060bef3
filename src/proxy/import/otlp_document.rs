//! Documents of OpenTelemetry in the JSON form of its protocol: spans, and log records with the spans that they belong to.
//!
//! In: documents. Out: spans with their events, logs, resource and scope. It must never drop a member: members that are not read are in
//! `rest`.

use std::collections::HashMap;
use std::rc::Rc;

use serde_json::{Map, Value, json};

use super::rebuilt::{text, without};

pub(super) type Attributes = Map<String, Value>;

/// A span.
pub(super) struct Span {
    pub(super) trace: String,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) from_ms: i64,
    pub(super) to_ms: i64,
    pub(super) attributes: Attributes,
    pub(super) events: Vec<SpanEvent>,
    /// Log records of the span.
    logs: Vec<SpanEvent>,
    pub(super) error: Option<String>,
    /// The other members of the span.
    rest: Value,
    /// Its resource and its scope.
    origin: Rc<Attributes>,
}

/// An event of a span, or a log record.
pub(super) struct SpanEvent {
    pub(super) name: String,
    /// The attributes, and the members of a log's body.
    pub(super) attributes: Attributes,
    whole: Value,
}

/// A log record, and where it belongs.
struct Log {
    trace: String,
    span: String,
    at_ns: i64,
    event: SpanEvent,
    origin: Rc<Attributes>,
}

/// Reads the spans of documents; returns also how many log records belong to none of them.
pub(super) fn read(documents: &[Value]) -> (Vec<Span>, usize) {
    let mut spans: Vec<Span> = Vec::new();
    let mut logs: Vec<Log> = Vec::new();
    for document in documents {
        each(document, ["resourceSpans", "scopeSpans", "spans"], |span, origin| spans.push(Span::read(span, origin)));
        each(document, ["resourceLogs", "scopeLogs", "logRecords"], |log, origin| logs.push(Log::read(log, origin)));
    }
    // Batches may be written in any order.
    logs.sort_by_key(|log| log.at_ns);
    let places: HashMap<(String, String), usize> =
        spans.iter().enumerate().map(|(place, span)| ((span.trace.clone(), span.id.clone()), place)).collect();
    let mut lost = 0;
    for Log { trace, span, mut event, origin, .. } in logs {
        match places.get(&(trace, span)).and_then(|place| spans.get_mut(*place)) {
            Some(span) => {
                add_origin(&mut event.whole, &origin, Some(&*span.origin));
                span.logs.push(event);
            }
            None => lost += 1,
        }
    }
    (spans, lost)
}

/// Calls a function for each item of a document, with the resource and the scope of the item.
fn each(document: &Value, [outer, middle, inner]: [&str; 3], mut take: impl FnMut(&Value, &Rc<Attributes>)) {
    for resource in list(document, outer) {
        for scope in list(resource, middle) {
            let mut origin = Attributes::new();
            for (name, holder, items) in [("resource", resource, middle), ("scope", scope, inner)] {
                let mut described = members(flat(holder.get(name).unwrap_or(&Value::Null)));
                described.extend(members(without(holder, &[name, items])));
                if !described.is_empty() {
                    origin.insert(name.to_owned(), Value::Object(described));
                }
            }
            let origin = Rc::new(origin);
            for item in list(scope, inner) {
                take(item, &origin);
            }
        }
    }
}

/// Adds resource and scope to a span or a log, unless its parent has the same.
fn add_origin(whole: &mut Value, origin: &Attributes, known: Option<&Attributes>) {
    for (name, value) in origin {
        if known.and_then(|known| known.get(name)) != Some(value) {
            whole[name.as_str()] = value.clone();
        }
    }
}

impl Span {
    fn read(span: &Value, origin: &Rc<Attributes>) -> Self {
        let message = span.pointer("/status/message").and_then(Value::as_str);
        let code = span.pointer("/status/code");
        let is_error = code.is_some_and(|code| *code == json!(2) || *code == json!("STATUS_CODE_ERROR"));
        Self {
            trace: text(span, "traceId").to_owned(),
            id: text(span, "spanId").to_owned(),
            name: text(span, "name").to_owned(),
            from_ms: nanoseconds(span.get("startTimeUnixNano")) / 1_000_000,
            to_ms: nanoseconds(span.get("endTimeUnixNano")) / 1_000_000,
            attributes: attributes(span.get("attributes")),
            events: list(span, "events").iter().map(SpanEvent::read).collect(),
            logs: Vec::new(),
            error: is_error.then(|| message.unwrap_or("the span has the status error").to_owned()),
            rest: without(span, &["attributes", "events"]),
            origin: Rc::clone(origin),
        }
    }

    /// Returns the span as it was, with its attributes as an object, its logs, and its resource and scope unless they are those of `within`.
    pub(super) fn whole(&self, within: Option<&Self>) -> Value {
        let mut whole = self.rest.clone();
        whole["attributes"] = Value::Object(self.attributes.clone());
        for (name, events) in [("events", &self.events), ("logs", &self.logs)] {
            if !events.is_empty() {
                whole[name] = events.iter().map(|event| event.whole.clone()).collect();
            }
        }
        add_origin(&mut whole, &self.origin, within.map(|within| &*within.origin));
        whole
    }

    /// Returns the first text among these attributes.
    pub(super) fn text(&self, keys: &[&str]) -> &str {
        keys.iter().find_map(|key| self.attributes.get(*key)?.as_str()).unwrap_or_default()
    }

    /// Returns the first one of these attributes.
    pub(super) fn value(&self, keys: &[&str]) -> Option<&Value> {
        keys.iter().find_map(|key| self.attributes.get(*key))
    }

    /// Returns an attribute of the span, its events or its logs: the details of an operation may be an event of their own.
    pub(super) fn find(&self, key: &str) -> Option<&Value> {
        self.attributes.get(key).or_else(|| self.records().find_map(|record| record.attributes.get(key)))
    }

    /// Returns the same, where it may be JSON in a text.
    pub(super) fn find_json(&self, key: &str) -> Option<Value> {
        self.find(key).map(parsed)
    }

    /// Returns the same for a list; empty where there is none.
    pub(super) fn find_list(&self, key: &str) -> Vec<Value> {
        match self.find_json(key) {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        }
    }

    /// Returns events and logs, in this order.
    pub(super) fn records(&self) -> impl Iterator<Item = &SpanEvent> {
        self.events.iter().chain(&self.logs)
    }
}

impl SpanEvent {
    fn read(event: &Value) -> Self {
        let attributes = attributes(event.get("attributes"));
        Self { name: text(event, "name").to_owned(), attributes, whole: flat(event) }
    }
}

impl Log {
    fn read(log: &Value, origin: &Rc<Attributes>) -> Self {
        let mut attributes = attributes(log.get("attributes"));
        let body = log.get("body").map(any).unwrap_or_default();
        let mut whole = flat(log);
        if !body.is_null() {
            whole["body"] = body.clone();
        }
        let name = [text(log, "eventName"), attributes.get("event.name").and_then(Value::as_str).unwrap_or_default()];
        let name = name.into_iter().find(|name| !name.is_empty()).unwrap_or_default().to_owned();
        match body {
            Value::Object(members) => attributes.extend(members),
            Value::String(_) => _ = attributes.entry("content").or_insert(body),
            _ => {}
        }
        let mut times = ["timeUnixNano", "observedTimeUnixNano"].iter().map(|key| nanoseconds(log.get(*key)));
        Self {
            trace: text(log, "traceId").to_owned(),
            span: text(log, "spanId").to_owned(),
            at_ns: times.find(|time| *time > 0).unwrap_or_default(),
            event: SpanEvent { name, attributes, whole },
            origin: Rc::clone(origin),
        }
    }
}

/// The members of an object.
fn members(json: Value) -> Attributes {
    match json {
        Value::Object(members) => members,
        _ => Attributes::new(),
    }
}

fn list<'a>(json: &'a Value, key: &str) -> &'a [Value] {
    json.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// A time in ns: a number, or a text of digits.
fn nanoseconds(json: Option<&Value>) -> i64 {
    json.and_then(|json| json.as_i64().or_else(|| json.as_str()?.parse().ok())).unwrap_or(0)
}

/// A value that may be JSON in a text.
pub(super) fn parsed(value: &Value) -> Value {
    value.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_else(|| value.clone())
}

/// An object whose attributes are an object.
fn flat(json: &Value) -> Value {
    let mut flat = without(json, &["attributes"]);
    if let Some(list) = json.get("attributes") {
        flat["attributes"] = Value::Object(attributes(Some(list)));
    }
    flat
}

/// Attributes as an object.
fn attributes(list: Option<&Value>) -> Attributes {
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
