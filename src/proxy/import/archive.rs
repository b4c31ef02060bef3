//! Requests and replies that were recorded as bytes: HTTP archives, and lines with a request and its response.
//!
//! In: an entry as JSON. Out: an exchange, or none for an entry that asks no model. The bytes are those of the file.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::body::Bytes;
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use ptc_core::value::{Json, json};

use super::{Recorded, time_of};
use crate::model::{Url, protocol_of};

/// An entry of an archive; `None` for one that asks no model.
pub(super) fn of_archive(entry: &Json) -> Option<Recorded> {
    let request = entry.get("request")?;
    let url = Url::parse(request.get("url")?.as_str()?).ok()?;
    protocol_of(url.path())?;
    let method = request.get("method").and_then(Json::as_str).unwrap_or("POST").to_ascii_uppercase();
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
        notices: Vec::new(),
        group: None,
    })
}

/// A line with a request and its response: bodies as JSON or as text, with `url` or `path`, `status`, `time` where they are known.
pub(super) fn of_pair(line: &Json, number: i64) -> Option<Recorded> {
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
        notices: Vec::new(),
        group: None,
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

/// A duration or time in ms, without its fraction.
fn milliseconds(json: &Json) -> Option<u64> {
    let text = json.to_text();
    text.split('.').next()?.parse().ok()
}
