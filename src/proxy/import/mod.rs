//! Traffic that other programs recorded, as captured sessions: HTTP archives, lines with a request and its response, spans, trajectories,
//! transcripts of coding assistants.
//!
//! In: the text of a file. Out: sessions, as if the traffic had passed the proxy. Where a file has no bytes, requests and replies are
//! rebuilt from it, and each turn has a notice of that. What is not read of an exchange is in its bytes. It must never import a file twice.

mod archive;
mod claude_code;
mod codex;
mod gemini_cli;
mod message_parts;
mod otlp_document;
mod rebuilt;
mod span_libraries;
mod span_messages;
mod spans;
mod trajectory;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyper::body::Bytes;
use hyper::header::HeaderMap;
use ptc_core::text::without_mark;
use ptc_core::value::{Json, json};
use serde_json::Value;

use super::background::is_fetch;
use super::capture::CaptureOptions;
use super::exchange::{Begun, ExchangeEnd, Note};
use super::headers;
use super::late_line::{HeldLine, LateLine};
use super::recorder::{Recorder, UnwrittenSessions};
use super::unrecorded::{UnrecordedReport, UnrecordedRequest};
use super::upstreams::shown_address;
use crate::config::Protocol;
use crate::model::{Scrub, Url, password_forms, protocol_of};
use crate::session::ImportSource;

/// Largest body of a rebuilt request in bytes: each request of a transcript repeats what came before it.
const REQUEST_MAX_BYTES: usize = 32 << 20;

/// The problem of a turn without a reply.
const NO_REPLY: &str = "the file has no reply";

/// The form of a file of traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrafficFormat {
    /// An HTTP archive, as browsers and debugging proxies write it.
    Har,
    /// JSON lines `{"request": …, "response": …}`.
    Pairs,
    /// OpenTelemetry spans and logs in the JSON form of their protocol, one document or one in each line.
    Otlp,
    /// A trajectory in the Agent Trajectory Interchange Format.
    Atif,
    /// A transcript of Claude Code: JSON lines.
    ClaudeCode,
    /// A transcript of Codex: JSON lines.
    Codex,
    /// A chat recorded by Gemini CLI: one document, or a log of records as JSON lines.
    GeminiCli,
}

impl TrafficFormat {
    /// The files that can be imported, for messages.
    pub const FILES: &str = "HTTP archives (HAR), JSON lines {\"request\": …, \"response\": …}, OpenTelemetry spans and logs (OTLP JSON), \
        ATIF trajectories, and transcripts of Claude Code, Codex and Gemini CLI";

    /// Returns the format of a file; `None` when it is not traffic.
    pub fn of(text: &str) -> Option<Self> {
        let text = without_mark(text).trim_start();
        // A few lines may be broken, or of a kind that several formats have.
        let found = text.lines().take(50).find_map(|line| of_line(&serde_json::from_str(line).ok()?));
        if found.is_some() {
            return found;
        }
        if !text.starts_with('{') {
            return None;
        }
        let file: Value = serde_json::from_str(text).ok()?;
        if file.pointer("/log/entries").is_some() {
            return Some(Self::Har);
        }
        of_line(&file)
    }

    /// The name in sessions.
    pub fn name(self) -> &'static str {
        match self {
            Self::Har => ImportSource::HAR,
            Self::Pairs => ImportSource::PAIRS,
            Self::Otlp => "otlp",
            Self::Atif => "atif",
            Self::ClaudeCode => "claude code transcript",
            Self::Codex => "codex transcript",
            Self::GeminiCli => "gemini cli chat",
        }
    }
}

/// The format that a JSON object belongs to.
fn of_line(line: &Value) -> Option<TrafficFormat> {
    let has = |key: &str| line.get(key).is_some();
    let kind = line.get("type").and_then(Value::as_str);
    if has("request") && has("response") {
        Some(TrafficFormat::Pairs)
    } else if has("resourceSpans") || has("resourceLogs") {
        Some(TrafficFormat::Otlp)
    } else if line.get("schema_version").and_then(Value::as_str).is_some_and(|version| version.starts_with("ATIF")) {
        Some(TrafficFormat::Atif)
    } else if has("payload") && matches!(kind, Some("session_meta" | "response_item" | "turn_context" | "event_msg")) {
        Some(TrafficFormat::Codex)
    } else if has("uuid") && has("sessionId") && has("message") && matches!(kind, Some("user" | "assistant")) {
        Some(TrafficFormat::ClaudeCode)
    } else if has("sessionId") && (has("projectHash") || has("messages")) {
        Some(TrafficFormat::GeminiCli)
    } else {
        None
    }
}

/// An exchange in a file.
struct ImportedExchange {
    at_ms: i64,
    method: String,
    url: Url,
    request_headers: HeaderMap,
    body: Bytes,
    status: u16,
    headers: HeaderMap,
    /// `None`: the file has none.
    reply: Option<Bytes>,
    ms: u64,
    /// Notices about parts that the file lacks.
    notices: Vec<String>,
    /// The conversation that it belongs to, where its messages do not show it.
    group: Option<String>,
}

/// An entry of a file: an exchange, or the reason why not, with its place; without a reason, it is a non-chat request.
type Entry = Result<ImportedExchange, Option<String>>;

/// Result of an import.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImportedTraffic {
    /// Requests that ask a model, or fetch its reply.
    pub requests: usize,
    /// Entries that ask none, or that cannot be read.
    pub skipped: usize,
    /// Sessions of the file that exist already, which are left as they are.
    pub known: Vec<String>,
    /// Number of sessions that could not be written, or not to their end.
    pub failed: usize,
}

/// Writes the sessions of a file. Entries that cannot be read and problems of writing go to the report of the options.
///
/// Errors: the file has no request to a model.
pub fn import_traffic(
    text: &str,
    format: TrafficFormat,
    imported: ImportSource,
    scrub: &Scrub,
    options: CaptureOptions,
) -> Result<ImportedTraffic, String> {
    let mut counts = ImportedTraffic::default();
    let mut recorder = Recorder::of_file(options, imported);
    let mut last_ms = 0;
    for (id, entry) in (1..).zip(entries(without_mark(text), format)?) {
        match entry {
            Ok(mut exchange) => {
                let group = exchange.group.take();
                let ended_ms = exchange.at_ms.saturating_add_unsigned(exchange.ms);
                let is_omitted = Arc::default();
                let Some(notes) = notes(id, exchange, &is_omitted, scrub) else {
                    counts.skipped += 1;
                    continue;
                };
                recorder.group_next(group);
                for note in notes {
                    recorder.take(note);
                }
                if is_omitted.load(Ordering::Relaxed) {
                    counts.skipped += 1;
                } else {
                    counts.requests += 1;
                    last_ms = last_ms.max(ended_ms);
                }
            }
            Err(problem) => {
                counts.skipped += 1;
                if let Some(problem) = problem {
                    recorder.report_problem(&problem);
                }
            }
        }
    }
    if counts.requests == 0 {
        return Err("it has no request to a model that can be read".to_owned());
    }
    let UnwrittenSessions { known, failed } = recorder.finish(last_ms);
    Ok(ImportedTraffic { known, failed, ..counts })
}

/// The entries of a file, oldest first.
///
/// Errors: the file is not a document of its format.
fn entries(text: &str, format: TrafficFormat) -> Result<Box<dyn Iterator<Item = Entry> + '_>, String> {
    Ok(match format {
        TrafficFormat::Har => {
            let file = json::parse(text).map_err(|error| error.to_string())?;
            let items = file.at("log.entries").and_then(Json::items).unwrap_or_default();
            sorted(items.iter().map(archive::of_archive))
        }
        TrafficFormat::Pairs => {
            let lines = (0..).zip(text.lines().filter(|line| !line.trim().is_empty()));
            sorted(lines.map(|(number, line)| match json::parse(line) {
                Ok(line) => archive::of_pair(&line, number),
                Err(error) => Err(Some(format!("a line is not JSON and was omitted: {error}"))),
            }))
        }
        TrafficFormat::Otlp => sorted(spans::entries(text).into_iter()),
        TrafficFormat::Atif => Box::new(trajectory::entries(&document(text)?).into_iter()),
        TrafficFormat::GeminiCli => {
            let steps = gemini_cli::steps(text);
            Box::new(read_lines(steps.into_iter(), gemini_cli::GeminiCli::default()))
        }
        TrafficFormat::ClaudeCode => Box::new(read_lines(lines(text), claude_code::ClaudeCode::default())),
        TrafficFormat::Codex => Box::new(read_lines(lines(text), codex::Codex::default())),
    })
}

/// One JSON document.
fn document(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("it is not a JSON document: {error}"))
}

/// The lines of a file that are JSON, or which line is none.
fn lines(text: &str) -> impl Iterator<Item = Result<Value, String>> + '_ {
    let numbered = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    numbered.map(|(number, line): (usize, _)| {
        serde_json::from_str(line).map_err(|error| format!("line {number} is not JSON and was omitted: {error}"))
    })
}

/// A transcript as it is read.
trait Transcript<Line = Value> {
    /// Takes the next line; returns an exchange that it completes.
    fn line(&mut self, line: Line) -> Option<Entry>;

    /// The exchanges that the end of the file completes.
    fn end(&mut self) -> Vec<Entry>;
}

/// The exchanges of a transcript, and its lines that cannot be read.
fn read_lines<'a, Line: 'a>(
    lines: impl Iterator<Item = Result<Line, String>> + 'a,
    mut transcript: impl Transcript<Line> + 'a,
) -> impl Iterator<Item = Entry> + 'a {
    lines.map(Some).chain([None]).flat_map(move |line| match line {
        Some(Ok(line)) => transcript.line(line).into_iter().collect(),
        Some(Err(problem)) => vec![Err(Some(problem))],
        None => transcript.end(),
    })
}

/// The report of what follows the last reply of a transcript.
fn unanswered(lines: usize) -> Option<Entry> {
    (lines > 0).then(|| Err(Some(format!("no reply follows the last lines or items ({lines}): they were omitted"))))
}

/// Exchanges by their time; entries that are none keep their places at the end.
fn sorted<'a>(entries: impl Iterator<Item = Entry>) -> Box<dyn Iterator<Item = Entry> + 'a> {
    let mut all: Vec<Entry> = entries.collect();
    all.sort_by_key(|entry| entry.as_ref().map_or(i64::MAX, |exchange| exchange.at_ms));
    Box::new(all.into_iter())
}

/// The line of a request that may fetch a deferred reply: the recorder drops it where it does not record the request, which sets the flag.
fn line_of_fetch(is_omitted: &Arc<AtomicBool>) -> HeldLine {
    let is_omitted = Arc::clone(is_omitted);
    let omit: UnrecordedReport = Arc::new(move |_| is_omitted.store(true, Ordering::Relaxed));
    let line = LateLine::new(&omit);
    let report = line.report();
    let held = line.hold();
    report(UnrecordedRequest::default());
    held
}

/// Returns the notes of an exchange, as the recorder gets them from a connection; `None` when the address is not an endpoint of a protocol.
/// A request that may fetch a deferred reply sets the flag if it is not recorded.
fn notes(id: u64, exchange: ImportedExchange, is_omitted: &Arc<AtomicBool>, scrub: &Scrub) -> Option<Vec<Note>> {
    let ImportedExchange { at_ms, method, url, request_headers, body, status, headers, reply, ms, notices, .. } =
        exchange;
    let path = url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
    let fetches = is_fetch(&method, &path);
    let protocol = protocol_of(&path).or_else(|| fetches.then_some(Protocol::Responses))?;
    let secrets = headers::keys(&request_headers, &path).into_iter().chain(password_forms(&url));
    let begun = Begun {
        upstream: url.host_str().unwrap_or("unknown").to_owned(),
        protocol,
        method,
        url: shown_address(&url).to_string(),
        scrub: scrub.clone().knowing(secrets),
        path,
        headers: request_headers,
        body,
        came: None,
        notices,
        connection: None,
    };
    let line = fetches.then(|| line_of_fetch(is_omitted));
    let end_ms = at_ms.saturating_add_unsigned(ms);
    let mut notes = vec![Note::Begun { id, at_ms, begun: Box::new(begun), line, _room: None }];
    let end = if let Some(reply) = reply {
        notes.push(Note::Replied { id, at_ms: end_ms, status, headers, by: None, came: None });
        if !reply.is_empty() {
            notes.push(Note::Piece { id, at_ms: end_ms, ms, bytes: (*reply).into(), _room: None });
        }
        ExchangeEnd::Complete
    } else {
        ExchangeEnd::NoReply(NO_REPLY.to_owned())
    };
    notes.push(Note::Ended { id, at_ms: end_ms, ms, end });
    Some(notes)
}

/// Unix time in ms of an ISO time; one without an offset is in UTC.
fn time_of(text: &str) -> Option<i64> {
    let of_utc =
        || Some(text.parse::<jiff::civil::DateTime>().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp());
    text.parse::<jiff::Timestamp>().ok().or_else(of_utc).map(jiff::Timestamp::as_millisecond)
}
