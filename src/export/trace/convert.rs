//! The records of a trace as events: spans become addresses.

use std::collections::HashMap;

use ptc_core::value::Json;

use super::read::Record;
use super::turn::{self, OpenTurn};
use super::{Trace, TraceError};
use crate::event::{
    Address, AgentRecord, CallStatus, CompactionDone, Envelope, ErrorRecord, Event, JsonText, ModelRecord, Notice,
    NoticeLevel, RunEnd, RunStart, ToolCall, ToolEnd, Totals, Unknown, UsageRecord, hex_sha,
};

/// The prefix of the names of events without a counterpart.
const FOREIGN: &str = "ptc_runner.";

/// The events so far, and the position in the trace.
#[derive(Default)]
pub(super) struct Converter<'a> {
    events: Vec<Envelope>,
    kept: usize,
    roots: usize,
    pub(super) runs: Vec<Run>,
    /// The run of a span, as an index of `runs`.
    spans: HashMap<String, usize>,
    /// The address of the call of a span.
    calls: HashMap<String, Address>,
    configs: HashMap<String, Json>,
    /// The model that the requests of an agent name; under no agent that of the trace.
    models: HashMap<String, String>,
    /// Records before the first run.
    early: Vec<&'a Record>,
    /// The records `turn`, which describe how a turn ended, by agent and number.
    pub(super) ends: HashMap<(String, u64), &'a Record>,
    trace_id: String,
}

/// A run of the trace.
pub(super) struct Run {
    pub(super) address: Address,
    pub(super) agent_id: String,
    /// A call was created for it, because its caller recorded none.
    call: bool,
    ended: bool,
    pub(super) turn: Option<OpenTurn>,
    /// The number of the last turn.
    pub(super) last: u32,
    pub(super) totals: Totals,
    pub(super) messages: Vec<(String, String)>,
}

pub(super) fn convert(records: &[Record]) -> Result<Trace, TraceError> {
    let mut converter = Converter::default();
    for record in records.iter().filter(|record| record.event == "turn") {
        if let Some(number) = record.count("turn") {
            converter.ends.insert((owner(record), number), record);
        }
    }
    for record in records {
        if let Some(model) = record.text("model") {
            converter.models.entry(owner(record)).or_insert_with(|| model.to_owned());
        }
    }
    let first = records.first().map_or(0, |record| record.at_ms);
    let named = records.iter().find_map(|record| record.text("trace_id"));
    converter.trace_id = named.map_or_else(|| "unknown".to_owned(), str::to_owned);
    for record in records {
        converter.take(record);
    }
    if converter.runs.is_empty() {
        return Err(TraceError("the trace contains no run (no run.start, no turn); nothing was imported".to_owned()));
    }
    Ok(Trace { id: converter.trace_id, started_ms: first, events: converter.events, kept: converter.kept })
}

/// The turn of a record.
fn owner(record: &Record) -> String {
    record.text("agent_id").or_else(|| record.text("session_id")).unwrap_or_default().to_owned()
}

impl<'a> Converter<'a> {
    pub(super) fn push_event(&mut self, at_ms: i64, address: &Address, event: impl Into<Event>) {
        let seq = self.events.len() as u64 + 1;
        self.events.push(Envelope { seq, at_ms, address: address.clone(), event: event.into() });
    }

    fn take(&mut self, record: &'a Record) {
        if record.event == "agent.config" {
            let (Some(id), Some(config)) = (record.text("agent_id"), record.config()) else { return self.keep(record) };
            self.configs.insert(id.to_owned(), config.clone());
            return;
        }
        if record.event == "run.start" {
            return self.run_start(record);
        }
        if record.event == "turn" && self.run_of(record).is_none() {
            self.session_run(record);
        }
        let Some(run) = self.run_of(record) else { return self.early.push(record) };
        match record.event.as_str() {
            "turn.start" => turn::start(self, run, record),
            "llm.start" => turn::asked(self, run, record),
            "llm.stop" => turn::replied(self, run, record),
            "tool.start" => self.tool_start(run, record),
            "tool.stop" | "tool.exception" => self.tool_end(record),
            "turn.stop" => turn::end(self, run, record),
            "turn" => turn::alone(self, run, record),
            "run.stop" | "run.exception" => self.run_end(run, record),
            "compaction.triggered" => self.compaction(run, record),
            _ => self.keep(record),
        }
    }

    /// The run that a record belongs to: by its span, its parent's span, its agent, or the last one that has not ended.
    fn run_of(&self, record: &Record) -> Option<usize> {
        let of_span = |key: &str| self.spans.get(record.text(key)?).copied();
        let id = owner(record);
        let open = |run: &&usize| !self.runs[**run].ended;
        let all: Vec<usize> = (0..self.runs.len()).collect();
        let of_agent = || all.iter().rev().find(|run| !id.is_empty() && self.runs[**run].agent_id == id).copied();
        let root = |run: &&usize| !self.runs[**run].address.is_call();
        let last = || all.iter().rev().find(open).or_else(|| all.iter().rev().find(root)).copied();
        let known = of_span("span_id").or_else(|| of_span("parent_span_id")).or_else(of_agent);
        if record.event == "turn" && record.text("driver") == Some("session") {
            of_agent()
        } else {
            known.or_else(last)
        }
    }

    /// Returns the address of the open turn of a run, else of the run.
    pub(super) fn place(&self, run: usize) -> Address {
        let run = &self.runs[run];
        run.turn.as_ref().map_or_else(|| run.address.clone(), |turn| turn.address.clone())
    }

    /// Keeps a record as an event of a foreign kind.
    pub(super) fn keep(&mut self, record: &'a Record) {
        let Some(run) = self.run_of(record) else { return self.early.push(record) };
        let address = self.place(run);
        let Ok(data) = serde_json::value::to_raw_value(&record.whole()) else { return };
        self.kept += 1;
        self.push_event(
            record.at_ms,
            &address,
            Event::Unknown(Unknown { kind: format!("{FOREIGN}{}", record.event), data }),
        );
    }

    fn run_start(&mut self, record: &'a Record) {
        let parent = record.text("parent_span_id");
        let call = parent.and_then(|span| self.calls.get(span)).cloned();
        let above = parent.and_then(|span| self.spans.get(span)).copied();
        let (address, made_up) = match (call, above) {
            (Some(call), _) if self.runs.iter().all(|run| run.address != call) => (call, false),
            (_, Some(above)) => (self.call_for(above, record), true),
            _ => {
                self.roots += 1;
                (Address::run(self.roots - 1), false)
            }
        };
        let context = record.data("context").filter(|context| context.members().is_some());
        let context = context.map_or_else(|| JsonText::of(&Json::empty()), JsonText::of);
        self.open_run(record, address, made_up, context);
        let run = self.runs.len() - 1;
        self.spans.extend(record.text("span_id").map(|span| (span.to_owned(), run)));
        for early in std::mem::take(&mut self.early) {
            self.keep(early);
        }
    }

    /// The run of a session whose turns were driven from outside.
    fn session_run(&mut self, record: &'a Record) {
        self.roots += 1;
        let address = Address::run(self.roots - 1);
        self.open_run(record, address, false, JsonText::of(&Json::empty()));
        for early in std::mem::take(&mut self.early) {
            self.keep(early);
        }
    }

    fn open_run(&mut self, record: &Record, address: Address, call: bool, context: JsonText) {
        let agent_id = owner(record);
        let config = self.configs.get(&agent_id).cloned().unwrap_or_default();
        let text = |key: &str| config.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
        let name = record.text("agent_name").or_else(|| record.text("session_id")).unwrap_or("agent").to_owned();
        let mode = match text("output").as_str() {
            "" => "ptc_lisp".to_owned(),
            other => other.to_owned(),
        };
        let toml = definition(&name, &mode, &text("prompt"), &text("signature"));
        let named = self.models.get(&agent_id).or_else(|| self.models.get("")).cloned();
        let model = named.unwrap_or_else(|| text("llm"));
        let limit = config.get("max_turns").and_then(super::read::count);
        let start = RunStart {
            agent: AgentRecord { name, sha: hex_sha(toml.as_bytes()), toml },
            mode,
            model: ModelRecord {
                alias: if model.is_empty() { "imported".to_owned() } else { format!("imported:{model}") },
                provider: "imported".to_owned(),
                id: model,
                price: None,
            },
            limits: limit.map(|turns| ("max_turns".to_owned(), turns)).into_iter().collect(),
            context,
            depth: u32::try_from(address.depth()).unwrap_or_default(),
            ..RunStart::default()
        };
        self.push_event(record.at_ms, &address, start);
        if self.runs.is_empty() {
            let text = format!("imported from the PtcRunner trace {}; it can be viewed, not replayed", self.trace_id);
            self.push_event(record.at_ms, &address, Notice { level: NoticeLevel::Info, text });
        }
        self.runs.push(Run {
            address,
            agent_id,
            call,
            ended: false,
            turn: None,
            last: 0,
            totals: Totals::default(),
            messages: Vec::new(),
        });
    }

    /// A call for a run whose caller recorded none.
    fn call_for(&mut self, above: usize, record: &Record) -> Address {
        let address = self.next_call(above, record.at_ms);
        let name = record.text("agent_name").unwrap_or("agent").to_owned();
        let args = record.data("context").map(JsonText::of).unwrap_or_default();
        self.push_event(record.at_ms, &address, ToolCall { name, kind: "agent".to_owned(), args, effectful: false });
        address
    }

    /// The address of the next call of a run; a run outside of a turn begins one.
    fn next_call(&mut self, run: usize, at_ms: i64) -> Address {
        if self.runs[run].turn.is_none() {
            let number = self.runs[run].last + 1;
            turn::open(self, run, number, at_ms, "");
        }
        let turn = self.runs[run].turn.as_mut();
        turn.map_or_else(
            || Address::run(0),
            |turn| {
                turn.calls += 1;
                turn.address.call(turn.calls - 1)
            },
        )
    }

    fn tool_start(&mut self, run: usize, record: &Record) {
        let address = self.next_call(run, record.at_ms);
        let args = record.data("args").map_or_else(|| JsonText::of(&Json::empty()), JsonText::of);
        let name = record.text("tool_name").unwrap_or("unknown").to_owned();
        if let Some(span) = record.text("span_id") {
            self.calls.insert(span.to_owned(), address.clone());
            self.spans.insert(span.to_owned(), run);
        }
        self.push_event(record.at_ms, &address, ToolCall { name, kind: String::new(), args, effectful: false });
    }

    fn tool_end(&mut self, record: &'a Record) {
        let Some(address) = record.text("span_id").and_then(|span| self.calls.get(span)).cloned() else {
            return self.keep(record);
        };
        let ms = record.count("duration_ms").unwrap_or_default();
        let failed = record.event == "tool.exception" || record.text("status") == Some("error");
        let error = failed.then(|| ErrorRecord {
            reason: "tool_error".to_owned(),
            message: record.data("reason").map(text_of).unwrap_or_default(),
            ..ErrorRecord::default()
        });
        let end = ToolEnd {
            status: if failed { CallStatus::Error } else { CallStatus::Ok },
            result: record.data("result").map(JsonText::of),
            error,
            ms,
            ..ToolEnd::default()
        };
        self.push_event(record.at_ms, &address, end);
    }

    fn run_end(&mut self, run: usize, record: &'a Record) {
        turn::close(self, run, record.at_ms, None);
        let failed = record.event == "run.exception" || record.text("status") == Some("error");
        let step = record.data("step");
        let member = |key: &str| record.data(key).or_else(|| step.and_then(|step| step.get(key)));
        let fail = failed.then(|| {
            let fail = member("fail");
            let text = |key: &str| fail.and_then(|fail| fail.get(key)).map(text_of);
            ErrorRecord {
                reason: text("reason").unwrap_or_else(|| "exception".to_owned()),
                message: text("message").or_else(|| record.data("reason").map(text_of)).unwrap_or_default(),
                ..ErrorRecord::default()
            }
        });
        let value = if failed { None } else { Some(member("return").map(JsonText::of).unwrap_or_default()) };
        let usage = UsageRecord { totals: self.runs[run].totals, ..UsageRecord::default() };
        let address = self.runs[run].address.clone();
        self.push_event(
            record.at_ms,
            &address,
            RunEnd { value: value.clone(), fail: fail.clone(), usage, ..RunEnd::default() },
        );
        if self.runs[run].call {
            let status = if failed { CallStatus::Error } else { CallStatus::Ok };
            let ms = record.count("duration_ms").unwrap_or_default();
            self.push_event(
                record.at_ms,
                &address,
                ToolEnd { status, result: value, error: fail, ms, ..ToolEnd::default() },
            );
        }
        self.runs[run].ended = true;
    }

    fn compaction(&mut self, run: usize, record: &Record) {
        let number = |key: &str| record.data(key).and_then(super::read::count).unwrap_or_default();
        let small = |key: &str| u32::try_from(number(key)).unwrap_or(u32::MAX);
        let text = |key: &str| record.data(key).map(text_of).unwrap_or_default();
        let address = self.place(run);
        let done = CompactionDone {
            strategy: text("strategy").as_str().into(),
            reason: text("reason").as_str().into(),
            messages_before: small("messages_before"),
            messages_after: small("messages_after"),
            tokens_before: number("estimated_tokens_before"),
            tokens_after: number("estimated_tokens_after"),
            counts: Vec::new(),
        };
        self.push_event(record.at_ms, &address, done);
    }
}

/// A text as it is, anything else as JSON.
pub(super) fn text_of(json: &Json) -> String {
    json.as_str().map_or_else(|| json.to_text(), str::to_owned)
}

/// Returns the known properties of an agent in the form of an agent file.
fn definition(name: &str, mode: &str, prompt: &str, signature: &str) -> String {
    let members = [("name", name), ("mode", mode), ("prompt", prompt), ("signature", signature)];
    let known = members.into_iter().filter(|(_, text)| !text.is_empty());
    let table: toml::Table = known.map(|(key, text)| (key.to_owned(), toml::Value::String(text.to_owned()))).collect();
    toml::to_string(&table).unwrap_or_default()
}
