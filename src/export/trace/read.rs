//! The lines of a trace as records: flat objects whose common fields are at the top.

use ptc_core::value::Json;
use ptc_core::value::json::{self, Node};

use super::TraceError;
use crate::event::{JsonText, Tokens};

/// The version of the shape that is read.
const VERSION: i64 = 2;

/// One line.
#[derive(Debug, Clone)]
pub(super) struct Record {
    /// Name of the event, such as `llm.stop`.
    pub(super) event: String,
    /// Unix time in ms; that of the record before when it has none.
    pub(super) at_ms: i64,
    json: Json,
}

impl Record {
    /// A text at the top.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.json.get(key)?.as_str()
    }

    /// A count at the top.
    pub(super) fn count(&self, key: &str) -> Option<u64> {
        count(self.json.get(key)?)
    }

    /// A member of the data that is not null.
    pub(super) fn data(&self, key: &str) -> Option<&Json> {
        self.json.get("data")?.get(key).filter(|json| json.node != Node::Null)
    }

    /// A member of the configuration of an agent.
    pub(super) fn config(&self) -> Option<&Json> {
        self.json.get("config")
    }

    /// The whole record.
    pub(super) fn whole(&self) -> JsonText {
        JsonText::of(&self.json)
    }

    /// The tokens it counts.
    pub(super) fn tokens(&self) -> Option<Tokens> {
        let (input, output) = (self.count("input_tokens"), self.count("output_tokens"));
        (input.is_some() || output.is_some()).then(|| Tokens {
            input: input.unwrap_or_default(),
            output: output.unwrap_or_default(),
            cache_creation: self.count("cache_creation_tokens").filter(|count| *count > 0),
            cache_read: self.count("cache_read_tokens").filter(|count| *count > 0),
            reasoning: None,
        })
    }
}

/// A number that counts.
pub(super) fn count(json: &Json) -> Option<u64> {
    match json.node {
        Node::Int(number) => u64::try_from(number).ok(),
        _ => None,
    }
}

/// All records of a file.
pub(super) fn records(text: &str) -> Result<Vec<Record>, TraceError> {
    let mut records: Vec<Record> = Vec::new();
    let mut bad: Vec<(usize, String)> = Vec::new();
    for (place, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match record(line.trim(), records.last()) {
            Ok(record) => records.push(record),
            Err(why) => bad.push((place + 1, why)),
        }
    }
    match (bad.first(), records.is_empty()) {
        (Some((line, why)), _) => {
            let more = bad.len() - 1;
            let more = if more > 0 { format!(" (and {more} more lines)") } else { String::new() };
            Err(TraceError(format!(
                "line {line} {why}{more}; a PtcRunner trace has one event of schema version {VERSION} per line, and nothing was imported"
            )))
        }
        (None, true) => Err(TraceError("the file is empty".to_owned())),
        (None, false) => Ok(records),
    }
}

fn record(line: &str, before: Option<&Record>) -> Result<Record, String> {
    let json = json::parse(line).map_err(|error| format!("is not JSON ({error})"))?;
    if json.members().is_none() {
        return Err("is not an object".to_owned());
    }
    match json.get("schema_version").map(|version| &version.node) {
        Some(Node::Int(VERSION)) => {}
        Some(Node::Int(other)) => return Err(format!("has the schema version {other}")),
        _ => {
            let own =
                json.get("format").and_then(Json::as_str) == Some("ptc-workbench-session") || json.get("k").is_some();
            let hint = if own { ": this is a session of this program, which needs no import" } else { "" };
            return Err(format!("has no schema_version{hint}"));
        }
    }
    let Some(event) = json.get("event").and_then(Json::as_str).map(str::to_owned) else {
        let later = json.get("run_id").is_some() && json.get("type").is_some();
        return Err(if later {
            "is from a PtcRunner after 0.13, whose traces are not supported"
        } else {
            "has no event"
        }
        .to_owned());
    };
    let at_ms = match json.get("timestamp").and_then(Json::as_str) {
        Some(text) => text
            .parse::<jiff::Timestamp>()
            .map_err(|_| format!("has the timestamp {text:?}, which is not an ISO 8601 time"))?
            .as_millisecond(),
        None => before.map_or(0, |before| before.at_ms),
    };
    Ok(Record { event, at_ms, json })
}
