//! The export `otlp`: spans by OpenTelemetry's conventions for generative AI, in the JSON form of its protocol.
//!
//! `invoke_agent` per run, `chat` per turn, `execute_tool` per call; a child run lies in the span of its call. Ids are
//! hexadecimal and follow from the session's id and the address, so that the same session gives the same spans. By the protocol's JSON
//! form 64-bit integers are strings and enumerations are numbers. A live run gives its spans as its turns end ([`LiveSpans`]), by default
//! without what was written.

use std::collections::HashMap;

use ptc_core::reasons::Reason;
use ptc_core::value::Json;
use ptc_core::value::json::{self, Node};
use serde_json::{Value, json};

use super::story::{Content, Run, Span, call_span, calls, reply_span, runs};
use super::text::{escaped, one_line, visible};
use crate::agent::RequestMessage;
use crate::event::{
    Address, CallStatus, Envelope, ErrorRecord, Event, ModelRecord, OwnUsage, ReplyStatus, Spending, hex_sha,
};
use crate::record::{CallRecord, TurnRecord};

/// `SPAN_KIND_INTERNAL` and `SPAN_KIND_CLIENT`.
const INTERNAL: u8 = 1;
const CLIENT: u8 = 3;
/// `STATUS_CODE_OK` and `STATUS_CODE_ERROR`.
const OK: u8 = 1;
const ERROR: u8 = 2;

const TRACE_ID_HEX: usize = 32;
const SPAN_ID_HEX: usize = 16;

/// Content of spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SpanDetail {
    /// Names, counts, times, reasons of errors: nothing that a user, a model or a tool wrote.
    #[default]
    Facts,
    /// Everything: messages, arguments, results, programs, answers.
    Content,
}

/// The trace of a session.
#[derive(Debug, Clone, Copy)]
struct Trace<'a> {
    session: &'a str,
    detail: SpanDetail,
}

/// `{resourceSpans: [{resource, scopeSpans: [{scope, spans}]}]}`
pub(super) fn otlp(content: &Content) -> String {
    let trace = Trace { session: &content.session, detail: SpanDetail::Content };
    let spans: Vec<Value> = runs(content).iter().flat_map(|run| of_run(trace, run)).collect();
    let text = serde_json::to_string_pretty(&document(&content.program, &spans)).unwrap_or_default();
    escaped(&text) + "\n"
}

fn document(program: &str, spans: &[Value]) -> Value {
    let (name, version) = program.rsplit_once(' ').unwrap_or((program, "unknown"));
    let mut resource = Attributes::default();
    resource.text("service.name", name);
    resource.text("service.version", version);
    json!({"resourceSpans": [{
        "resource": {"attributes": resource.0},
        "scopeSpans": [{"scope": {"name": one_line(name), "version": one_line(version)}, "spans": spans}],
    }]})
}

/// The spans of runs while they happen: a document for each turn that ends, and for each run.
#[derive(Debug)]
pub struct LiveSpans {
    session: String,
    program: String,
    detail: SpanDetail,
    /// Spans that ended before this Unix time in ms were not live: they are those of a session that is resumed.
    since_ms: i64,
    runs: HashMap<Address, Run>,
}

impl LiveSpans {
    /// For a session.
    pub fn new(session: String, program: String, detail: SpanDetail, since_ms: i64) -> Self {
        Self { session, program, detail, since_ms, runs: HashMap::new() }
    }

    /// Takes the next event; returns a document when a turn or a run has ended.
    pub fn apply(&mut self, envelope: &Envelope) -> Option<String> {
        let address = envelope.run();
        self.runs.entry(address.clone()).or_default().apply(envelope);
        let is_live = envelope.at_ms >= self.since_ms;
        let ends = matches!(envelope.event, Event::TurnEnd(_) | Event::RunEnd(_));
        if !is_live || !ends {
            return None;
        }
        let trace = Trace { session: &self.session, detail: self.detail };
        let spans = if matches!(envelope.event, Event::RunEnd(_)) {
            let owns: Vec<(Address, OwnUsage)> =
                self.runs.iter().map(|(address, run)| (address.clone(), run.record().ledger.own())).collect();
            let run = self.runs.get_mut(&address)?;
            run.finish(&self.session, &owns);
            vec![agent(trace, run)]
        } else {
            let run = self.runs.get(&address)?;
            of_turn(trace, run, run.record().turn(&envelope.address)?)
        };
        Some(document(&self.program, &spans).to_string())
    }
}

fn id(session: &str, what: &str, digits: usize) -> String {
    let mut hash = hex_sha(format!("{session}\n{what}").as_bytes());
    hash.truncate(digits);
    hash
}

/// A span of an address: `run`, `chat` or `tool`.
fn span_id(trace: Trace<'_>, kind: &str, address: &str) -> String {
    id(trace.session, &format!("{kind} {address}"), SPAN_ID_HEX)
}

fn nanoseconds(ms: i64) -> String {
    (i128::from(ms.max(0)) * 1_000_000).to_string()
}

/// Attributes in the protocol's form.
#[derive(Default)]
struct Attributes(Vec<Value>);

impl Attributes {
    fn put(&mut self, key: &str, value: &Value) {
        self.0.push(json!({"key": key, "value": value}));
    }

    fn text(&mut self, key: &str, text: &str) {
        if !text.is_empty() {
            self.put(key, &string(text));
        }
    }

    fn count(&mut self, key: &str, count: Option<u64>) {
        if let Some(count) = count {
            self.put(key, &json!({"intValue": count.to_string()}));
        }
    }

    fn real(&mut self, key: &str, number: Option<f64>) {
        if let Some(number) = number {
            self.put(key, &json!({"doubleValue": number}));
        }
    }

    /// Input tokens, output tokens and cost under these keys.
    fn usage(&mut self, spending: &Spending, [input, output, cost]: [&str; 3]) {
        self.count(input, spending.tokens.map(|tokens| tokens.input));
        self.count(output, spending.tokens.map(|tokens| tokens.output));
        self.real(cost, spending.cost());
    }

    fn list(&mut self, key: &str, items: &[Value]) {
        if !items.is_empty() {
            self.put(key, &array(items));
        }
    }
}

fn string(text: &str) -> Value {
    json!({"stringValue": visible(text)})
}

fn array(values: &[Value]) -> Value {
    json!({"arrayValue": {"values": values}})
}

fn object(members: Vec<(&str, Value)>) -> Value {
    let values: Vec<Value> = members.into_iter().map(|(key, value)| json!({"key": key, "value": value})).collect();
    json!({"kvlistValue": {"values": values}})
}

/// JSON as a value of the protocol. Null is a value without a kind; integers beyond 64 bits are texts.
fn any(json: &Json) -> Value {
    match &json.node {
        Node::Null => json!({}),
        Node::Bool(truth) => json!({"boolValue": truth}),
        Node::Int(number) => json!({"intValue": number.to_string()}),
        Node::Float(number) => json!({"doubleValue": number}),
        Node::Big(_) => string(&json.to_text()),
        Node::Str(text) => string(text),
        Node::List(items) => array(&items.iter().map(any).collect::<Vec<_>>()),
        Node::Object(members) => {
            let values: Vec<Value> = members
                .iter()
                .map(|member| json!({"key": visible(&member.key), "value": any(&member.value)}))
                .collect();
            json!({"kvlistValue": {"values": values}})
        }
    }
}

/// Members of every span.
struct Frame<'a> {
    id: String,
    parent: Option<String>,
    name: String,
    kind: u8,
    time: Span,
    error: Option<&'a ErrorRecord>,
}

fn span(trace: Trace<'_>, frame: Frame<'_>, mut attributes: Attributes) -> Value {
    let status = match frame.error {
        Some(error) => {
            attributes.text("error.type", &error.reason);
            match trace.detail {
                SpanDetail::Facts => json!({"code": ERROR}),
                SpanDetail::Content => json!({"code": ERROR, "message": visible(&error.message)}),
            }
        }
        None => json!({"code": OK}),
    };
    let mut span = json!({
        "traceId": id(trace.session, "trace", TRACE_ID_HEX),
        "spanId": frame.id,
        "name": one_line(&frame.name),
        "kind": frame.kind,
        "startTimeUnixNano": nanoseconds(frame.time.from_ms),
        "endTimeUnixNano": nanoseconds(frame.time.to_ms.max(frame.time.from_ms)),
        "attributes": attributes.0,
        "status": status,
    });
    if let (Some(parent), Some(members)) = (frame.parent, span.as_object_mut()) {
        members.insert("parentSpanId".to_owned(), Value::String(parent));
    }
    span
}

/// All spans of a run.
fn of_run(trace: Trace<'_>, run: &Run) -> Vec<Value> {
    let turns = run.turns().flat_map(|turn| of_turn(trace, run, turn));
    std::iter::once(agent(trace, run)).chain(turns).collect()
}

/// The spans of a turn: its request, and its calls.
fn of_turn(trace: Trace<'_>, run: &Run, turn: &TurnRecord) -> Vec<Value> {
    let own = span_id(trace, "run", run.record().address.as_str());
    let calls = calls(turn).into_iter().map(|call| tool(trace, run, call, &own));
    std::iter::once(chat(trace, run, turn, &own)).chain(calls).collect()
}

/// The span of a run.
fn agent(trace: Trace<'_>, run: &Run) -> Value {
    let own = span_id(trace, "run", run.record().address.as_str());
    let is_root = run.record().address == run.record().address.root();
    let parent = (!is_root).then(|| span_id(trace, "tool", run.record().address.as_str()));
    let mut attributes = Attributes::default();
    attributes.text("gen_ai.operation.name", "invoke_agent");
    attributes.text("gen_ai.provider.name", &run.last_model().provider);
    attributes.text("gen_ai.agent.name", run.name());
    attributes.text("gen_ai.agent.id", &run.record().start.agent.sha);
    attributes.text("gen_ai.conversation.id", trace.session);
    attributes.text("gen_ai.request.model", model(run.last_model()));
    attributes.text("gen_ai.output.type", if run.record().start.mode == "text" { "text" } else { "json" });
    let usage = &run.step.usage;
    attributes
        .usage(&usage.total, ["gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "ptc_workbench.usage.cost"]);
    let own_keys = ["input_tokens", "output_tokens", "cost"].map(|name| format!("ptc_workbench.own_usage.{name}"));
    attributes.usage(&usage.own, own_keys.each_ref().map(String::as_str));
    attributes.text("ptc_workbench.address", run.record().address.as_str());
    attributes.text("ptc_workbench.mode", &run.record().start.mode);
    if trace.detail == SpanDetail::Content {
        attributes.put("ptc_workbench.context", &any(&run.context()));
        if let Some(answer) = &run.step.answer {
            attributes.put("ptc_workbench.return", &any(answer));
        }
    }
    let name = format!("invoke_agent {}", run.name());
    let frame = Frame {
        id: own,
        parent,
        name: name.trim_end().to_owned(),
        kind: INTERNAL,
        time: run.span(),
        error: run.step.fail.as_ref(),
    };
    span(trace, frame, attributes)
}

fn model(model: &ModelRecord) -> &str {
    if model.id.is_empty() { &model.alias } else { &model.id }
}

fn chat(trace: Trace<'_>, run: &Run, turn: &TurnRecord, parent: &str) -> Value {
    let want = turn.want();
    let options = turn.request.as_ref().map(|request| request.options.clone()).unwrap_or_default();
    let (last, error) = (turn.last_end(), turn.error());
    let is_cancelled = last.is_some_and(|end| end.status == ReplyStatus::Cancelled);
    let cancelled = ErrorRecord::new(Reason::Cancelled, "the request was cancelled");
    let failed = error.filter(|error| is_cancelled || error.class.is_some());
    let failed = failed.or_else(|| is_cancelled.then_some(&cancelled));
    let mut attributes = Attributes::default();
    attributes.text("gen_ai.operation.name", "chat");
    attributes.text("gen_ai.provider.name", &run.asked(turn).provider);
    attributes.text("gen_ai.conversation.id", trace.session);
    attributes.text("gen_ai.agent.name", run.name());
    attributes.text("gen_ai.request.model", model(run.asked(turn)));
    attributes.text("gen_ai.response.model", last.and_then(|end| end.model.as_deref()).unwrap_or_default());
    attributes.text("gen_ai.output.type", if want == "text" || want == "program" { "text" } else { "json" });
    attributes.real("gen_ai.request.temperature", options.temperature);
    attributes.real("gen_ai.request.top_p", options.top_p);
    attributes.count("gen_ai.request.max_tokens", options.max_tokens);
    attributes.count("gen_ai.request.seed", options.seed);
    attributes.list("gen_ai.request.stop_sequences", &options.stop.iter().map(|stop| string(stop)).collect::<Vec<_>>());
    let finish = finish(last.and_then(|end| end.finish.as_deref()), error.is_some() || is_cancelled);
    attributes.list("gen_ai.response.finish_reasons", &[string(finish)]);
    if let Some(tokens) = turn.tokens() {
        attributes.count("gen_ai.usage.input_tokens", Some(tokens.input));
        attributes.count("gen_ai.usage.output_tokens", Some(tokens.output));
        attributes.count("gen_ai.usage.cache_read.input_tokens", tokens.cache_read);
        attributes.count("gen_ai.usage.cache_creation.input_tokens", tokens.cache_creation);
        attributes.count("gen_ai.usage.reasoning.output_tokens", tokens.reasoning);
    }
    attributes.real(
        "gen_ai.response.time_to_first_chunk",
        turn.time_to_first_ms().map(|ms| std::time::Duration::from_millis(ms).as_secs_f64()),
    );
    if trace.detail == SpanDetail::Content {
        messages(&mut attributes, run, turn, finish);
    }
    attributes.text("ptc_workbench.address", turn.address.as_str());
    if trace.detail == SpanDetail::Content {
        attributes.text("ptc_workbench.program", turn.program().unwrap_or_default());
    }
    let sent = turn.attempts.iter().rev().find_map(|attempt| attempt.sent.as_ref());
    attributes.text("url.full", sent.map_or("", |sent| &sent.url));
    let name = format!("chat {}", model(run.asked(turn)));
    let frame = Frame {
        id: span_id(trace, "chat", turn.address.as_str()),
        parent: Some(parent.to_owned()),
        name: name.trim_end().to_owned(),
        kind: CLIENT,
        time: reply_span(turn),
        error: failed,
    };
    span(trace, frame, attributes)
}

/// Adds the messages of the request, and the reply.
fn messages(attributes: &mut Attributes, run: &Run, turn: &TurnRecord, finish: &str) {
    let request = run.request(turn);
    attributes
        .list("gen_ai.system_instructions", &request.system.iter().map(|text| text_part(text)).collect::<Vec<_>>());
    attributes.list("gen_ai.input.messages", &request.messages.iter().map(input).collect::<Vec<_>>());
    let mut parts = Vec::new();
    let reasoning = turn.attempts.reasoning();
    if !reasoning.is_empty() {
        parts.push(object(vec![("type", string("reasoning")), ("content", string(&reasoning))]));
    }
    if !turn.reply().is_empty() {
        parts.push(text_part(turn.reply()));
    }
    parts.extend(turn.native_calls().iter().map(|call| {
        call_part(&call.id, &call.name, json::parse(&call.args).map_or_else(|_| string(&call.args), |args| any(&args)))
    }));
    let output_message =
        object(vec![("role", string("assistant")), ("parts", array(&parts)), ("finish_reason", string(finish))]);
    attributes.list("gen_ai.output.messages", &[output_message]);
}

/// A finish reason in the words of the conventions, where they have one.
fn finish(reason: Option<&str>, failed: bool) -> &str {
    match reason {
        Some("tool_calls") => "tool_call",
        Some("refusal") => "content_filter",
        Some(reason) => reason,
        None if failed => "error",
        None => "stop",
    }
}

fn text_part(text: &str) -> Value {
    object(vec![("type", string("text")), ("content", string(text))])
}

fn input(message: &RequestMessage) -> Value {
    let text = Some(&message.content).filter(|text| !text.is_empty() || message.tool_calls.is_empty());
    let mut parts: Vec<Value> = match &message.tool_call_id {
        Some(id) => {
            let response = string(&message.content);
            vec![object(vec![("type", string("tool_call_response")), ("id", string(id)), ("response", response)])]
        }
        None => text.map(|text| text_part(text)).into_iter().collect(),
    };
    parts.extend(message.tool_calls.iter().map(|call| call_part(&call.id, &call.name, any(&call.arguments))));
    object(vec![("role", string(message.role.name())), ("parts", array(&parts))])
}

fn call_part(id: &str, name: &str, arguments: Value) -> Value {
    object(vec![("type", string("tool_call")), ("id", string(id)), ("name", string(name)), ("arguments", arguments)])
}

fn tool(trace: Trace<'_>, run: &Run, call: &CallRecord, parent: &str) -> Value {
    let mut attributes = Attributes::default();
    attributes.text("gen_ai.operation.name", "execute_tool");
    attributes.text("gen_ai.tool.name", &call.name);
    attributes.text("gen_ai.tool.type", "function");
    attributes.text("gen_ai.tool.call.id", call.address.as_str());
    attributes.text("gen_ai.agent.name", run.name());
    attributes.text("gen_ai.conversation.id", trace.session);
    if trace.detail == SpanDetail::Content {
        attributes.put("gen_ai.tool.call.arguments", &any(&call.args.json()));
        if let Some(result) = &call.result {
            attributes.put("gen_ai.tool.call.result", &any(&result.json()));
        }
    }
    attributes.text("ptc_workbench.tool.kind", &call.kind);
    let unknown = ErrorRecord { reason: "unknown".to_owned(), ..ErrorRecord::default() };
    let failed = call.status.is_some_and(|status| status != CallStatus::Ok);
    let frame = Frame {
        id: span_id(trace, "tool", call.address.as_str()),
        parent: Some(parent.to_owned()),
        name: format!("execute_tool {}", call.name),
        kind: INTERNAL,
        time: call_span(call),
        error: call.error.as_ref().or_else(|| failed.then_some(&unknown)),
    };
    span(trace, frame, attributes)
}
