//! Traffic that other programs recorded, as captured sessions: HAR files, and lines with a request and its response.
//!
//! In: the text of a file. Out: sessions, as if the traffic had passed the proxy. What is not read of an exchange is in its bytes. It must
//! never import a file twice.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::body::Bytes;
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use ptc_core::value::{Json, json};

use super::capture::CaptureOptions;
use super::exchange::{Begun, ExchangeEnd, Note};
use super::headers;
use super::recorder::Recorder;
use crate::model::{Scrub, Url, protocol_of};
use crate::session::Imported;

/// The form of a file of traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrafficFormat {
    /// An HTTP archive, as browsers and debugging proxies write it.
    Har,
    /// JSON lines `{"request": …, "response": …}`.
    Pairs,
}

impl TrafficFormat {
    /// Returns the format of a file; `None` when it is no traffic.
    pub fn of(text: &str) -> Option<Self> {
        let first = text.trim_start_matches('\u{feff}').trim_start();
        let line = json::parse(first.lines().next().unwrap_or_default());
        if line.is_ok_and(|line| line.get("request").is_some() && line.get("response").is_some()) {
            return Some(Self::Pairs);
        }
        let is_archive =
            first.starts_with('{') && json::parse(first).is_ok_and(|file| file.at("log.entries").is_some());
        is_archive.then_some(Self::Har)
    }

    /// The name in sessions.
    pub fn name(self) -> &'static str {
        match self {
            Self::Har => "har",
            Self::Pairs => "request and response lines",
        }
    }
}

/// An exchange in a file.
struct Recorded {
    at_ms: i64,
    method: String,
    url: Url,
    request_headers: HeaderMap,
    body: Bytes,
    status: u16,
    headers: HeaderMap,
    reply: Bytes,
    ms: u64,
}

/// What was imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImportedTraffic {
    /// Requests that ask a model.
    pub requests: usize,
    /// Entries that ask none, or that cannot be read.
    pub skipped: usize,
}

/// Writes the sessions of a file. Their problems go to the report of the options.
///
/// Errors: the file has no request to a model.
pub fn import_traffic(
    text: &str,
    format: TrafficFormat,
    imported: Imported,
    scrub: &Scrub,
    options: CaptureOptions,
) -> Result<ImportedTraffic, String> {
    let entries: Vec<Option<Recorded>> = match format {
        TrafficFormat::Har => {
            let file = json::parse(text.trim_start_matches('\u{feff}')).map_err(|error| error.to_string())?;
            file.at("log.entries").and_then(Json::items).unwrap_or_default().iter().map(of_archive).collect()
        }
        TrafficFormat::Pairs => (0..)
            .zip(text.lines().filter(|line| !line.trim().is_empty()))
            .map(|(number, line)| of_pair(&json::parse(line).ok()?, number))
            .collect(),
    };
    let all = entries.len();
    let mut found: Vec<Recorded> = entries.into_iter().flatten().collect();
    if found.is_empty() {
        return Err("it has no request to a model that can be read".to_owned());
    }
    found.sort_by_key(|recorded| recorded.at_ms);
    let counts = ImportedTraffic { requests: found.len(), skipped: all - found.len() };
    let mut recorder = Recorder::of_file(options, imported);
    let mut last_ms = 0;
    for (id, recorded) in (1..).zip(found) {
        last_ms = recorded.at_ms.saturating_add_unsigned(recorded.ms);
        for note in notes(id, recorded, scrub) {
            recorder.take(note);
        }
    }
    recorder.close_all(last_ms);
    Ok(counts)
}

/// What the recorder would have learned.
fn notes(id: u64, recorded: Recorded, scrub: &Scrub) -> Vec<Note> {
    let Recorded { at_ms, method, url, request_headers, body, status, headers, reply, ms } = recorded;
    let path = url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
    let Some(protocol) = protocol_of(&path) else { return Vec::new() };
    let mut shown = url.clone();
    shown.set_query(None);
    let begun = Begun {
        upstream: url.host_str().unwrap_or("unknown").to_owned(),
        protocol,
        method,
        url: shown.to_string(),
        scrub: scrub.clone().knowing(headers::keys(&request_headers, &path)),
        path,
        headers: request_headers,
        body,
        came: None,
        notices: Vec::new(),
    };
    let end_ms = at_ms.saturating_add_unsigned(ms);
    vec![
        Note::Begun { id, at_ms, begun: Box::new(begun), _room: None },
        Note::Replied { id, at_ms: end_ms, status, headers, by: None, came: None },
        Note::Piece { id, at_ms: end_ms, ms, bytes: reply, _room: None },
        Note::Ended { id, at_ms: end_ms, ms, end: ExchangeEnd::Complete },
    ]
}

/// An entry of an archive; `None` for one that asks no model.
fn of_archive(entry: &Json) -> Option<Recorded> {
    let request = entry.get("request")?;
    let url = Url::parse(request.get("url")?.as_str()?).ok()?;
    protocol_of(url.path())?;
    let method = request.get("method").and_then(Json::as_str).unwrap_or("POST").to_owned();
    let body = request.at("postData.text")?.as_str()?.to_owned();
    let response = entry.get("response")?;
    let content = response.get("content")?;
    let text = content.get("text").and_then(Json::as_str).unwrap_or_default();
    let is_packed = content.get("encoding").and_then(Json::as_str) == Some("base64");
    let reply = if is_packed { STANDARD.decode(text).ok()? } else { text.as_bytes().to_vec() };
    let mut headers = header_map(response.get("headers"));
    // The text of an archive is decoded.
    headers.remove(CONTENT_ENCODING);
    headers.remove(CONTENT_LENGTH);
    if let Some(kind) = content.get("mimeType").and_then(Json::as_str).and_then(|kind| HeaderValue::try_from(kind).ok())
    {
        headers.entry(CONTENT_TYPE).or_insert(kind);
    }
    Some(Recorded {
        at_ms: entry.get("startedDateTime").and_then(Json::as_str).and_then(time_of).unwrap_or_default(),
        method,
        url,
        request_headers: header_map(request.get("headers")),
        body: Bytes::from(body),
        status: response.get("status").and_then(|status| status.to_text().parse().ok()).unwrap_or(200),
        headers,
        reply: Bytes::from(reply),
        ms: entry.get("time").and_then(milliseconds).unwrap_or_default(),
    })
}

/// A line with a request and its response: bodies as JSON or as text, with `url` or `path`, `status`, `time` where they are known.
fn of_pair(line: &Json, number: i64) -> Option<Recorded> {
    let (request, response) = (line.get("request")?, line.get("response")?);
    // Some programs keep the body inside.
    let body_of = |side: &Json| side.get("body").cloned().unwrap_or_else(|| side.clone());
    let (request_body, response_body) = (body_of(request), body_of(response));
    let text_of = |body: &Json| body.as_str().map_or_else(|| body.to_text(), str::to_owned);
    let (body, reply) = (text_of(&request_body), text_of(&response_body));
    let address = ["url", "path"].iter().find_map(|key| line.get(key).or_else(|| request.get(key))?.as_str());
    let address = address.map_or_else(|| guessed_path(&json::parse(&body).unwrap_or_default(), &reply), str::to_owned);
    let url = Url::parse(&address).or_else(|_| Url::parse("http://unknown")?.join(&address)).ok()?;
    protocol_of(url.path())?;
    let is_stream = reply.trim_start().starts_with("data:") || reply.trim_start().starts_with("event:");
    let kind = if is_stream { "text/event-stream" } else { "application/json" };
    let time = ["time", "timestamp", "created_at"].iter().find_map(|key| line.get(key));
    let at_ms = time.and_then(|time| time.as_str().and_then(time_of).or_else(|| milliseconds(time)?.try_into().ok()));
    Some(Recorded {
        at_ms: at_ms.unwrap_or(number),
        method: "POST".to_owned(),
        url,
        request_headers: HeaderMap::new(),
        body: Bytes::from(body),
        status: line.get("status").and_then(|status| status.to_text().parse().ok()).unwrap_or(200),
        headers: HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(kind))]),
        reply: Bytes::from(reply),
        ms: line.get("ms").and_then(milliseconds).unwrap_or_default(),
    })
}

/// The path of a request that does not name it, by the members of its body.
fn guessed_path(body: &Json, reply: &str) -> String {
    let is_anthropic = body.get("anthropic_version").is_some()
        || body.get("system").is_some()
        || reply.contains("\"type\":\"message\"")
        || reply.contains("\"type\": \"message\"") && !reply.contains("\"output\"");
    if body.get("contents").is_some() {
        let model = body.get("model").and_then(Json::as_str).unwrap_or("unknown");
        format!("/v1beta/models/{model}:generateContent")
    } else if body.get("input").is_some() {
        "/v1/responses".to_owned()
    } else if is_anthropic {
        "/v1/messages".to_owned()
    } else {
        "/v1/chat/completions".to_owned()
    }
}

fn header_map(list: Option<&Json>) -> HeaderMap {
    let pairs = list.and_then(Json::items).unwrap_or_default().iter().filter_map(|pair| {
        let name = HeaderName::try_from(pair.get("name")?.as_str()?).ok()?;
        Some((name, HeaderValue::try_from(pair.get("value")?.as_str()?).ok()?))
    });
    pairs.collect()
}

/// Unix time in ms of an ISO time.
fn time_of(text: &str) -> Option<i64> {
    text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
}

/// A duration or time in ms, without its fraction.
fn milliseconds(json: &Json) -> Option<u64> {
    let text = json.to_text();
    text.split('.').next()?.parse().ok()
}
