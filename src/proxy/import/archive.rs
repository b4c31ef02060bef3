//! Requests and replies that were recorded as bytes: HTTP archives, and lines with a request and its response.
//!
//! In: an entry as JSON. Out: an exchange, or why there is none. The bytes are those of the file. It must never take an object with an
//! address or headers for a body: they may hold keys.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::body::Bytes;
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use ptc_core::value::{Json, json};

use super::{Entry, ImportedExchange, time_of};
use crate::model::{Url, protocol_of};
use crate::proxy::background::is_fetch;

/// The least number that is a Unix time in ms; smaller ones are seconds.
const LEAST_MS: i64 = 100_000_000_000;

/// Result for a non-chat entry: it is counted and not reported.
const ASKS_NO_MODEL: Option<String> = None;

/// Reads an entry of an archive.
pub(super) fn of_archive(entry: &Json) -> Entry {
    let request = entry.get("request").ok_or(ASKS_NO_MODEL)?;
    let address = request.get("url").and_then(Json::as_str).unwrap_or_default();
    let method = request.get("method").and_then(Json::as_str).unwrap_or("POST").to_ascii_uppercase();
    let url = Url::parse(address).ok().filter(|url| is_read(&method, url)).ok_or(ASKS_NO_MODEL)?;
    let started = entry.get("startedDateTime").and_then(Json::as_str).unwrap_or_default();
    let body = request.at("postData.text").and_then(Json::as_str).map(str::to_owned);
    let Some(body) = body.or_else(|| is_fetch(&method, url.path()).then(String::new)) else {
        return Err(
            (method == "POST").then(|| format!("the request of {started} has no body in the file: it was skipped"))
        );
    };
    let response = entry.get("response");
    let status = response.and_then(|response| status_of(response.get("status")?)).unwrap_or(200);
    let content = response.and_then(|response| response.get("content"));
    let mut headers = decoded_headers(response.and_then(|response| response.get("headers")));
    let kind = content.and_then(|content| HeaderValue::try_from(content.get("mimeType")?.as_str()?).ok());
    if let Some(kind) = kind {
        headers.entry(CONTENT_TYPE).or_insert(kind);
    }
    Ok(ImportedExchange {
        at_ms: time_of(started).unwrap_or_default(),
        method,
        url,
        request_headers: decoded_headers(request.get("headers")),
        body: Bytes::from(body),
        status,
        headers,
        reply: content.map_or_else(|| empty_reply(status), |content| archived_reply(content, status)),
        ms: entry.get("time").and_then(milliseconds).unwrap_or_default(),
        notices: Vec::new(),
        group: None,
    })
}

/// Returns whether a request with this method and address asks a model, or may fetch a reply that was deferred.
fn is_read(method: &str, url: &Url) -> bool {
    protocol_of(url.path()).is_some() || is_fetch(method, url.path())
}

/// Returns the reply in the content of a response; `None` where the archive lacks it. Browsers leave out the texts of event streams, and
/// write the status 0 for requests that were aborted.
fn archived_reply(content: &Json, status: u16) -> Option<Bytes> {
    let text = content.get("text").and_then(Json::as_str);
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return empty_reply(status);
    };
    let is_packed = content.get("encoding").and_then(Json::as_str) == Some("base64");
    let bytes = if is_packed { STANDARD.decode(text).ok() } else { Some(text.as_bytes().to_vec()) };
    bytes.filter(|_| status > 0).map(Bytes::from)
}

/// Returns a reply without a body: an error may have none, a reply of a model has one.
fn empty_reply(status: u16) -> Option<Bytes> {
    (status >= 400).then(Bytes::new)
}

/// Reads a line with a request and its response: bodies as JSON or as text, with `url` or `path`, headers, status and time where they are
/// known.
pub(super) fn of_pair(line: &Json, number: i64) -> Entry {
    let (request, response) = line.get("request").zip(line.get("response")).ok_or(ASKS_NO_MODEL)?;
    let text_of = |body: &Json| body.as_str().map_or_else(|| body.to_text(), str::to_owned);
    let reply = body_of(response).map(text_of);
    let named = ["url", "path"].iter().find_map(|key| line.get(key).or_else(|| request.get(key))?.as_str());
    let method = [line, request].iter().find_map(|side| side.get("method")?.as_str());
    let method = method.unwrap_or("POST").to_ascii_uppercase();
    let of_named = named.map(|address| address_of(address).filter(|url| is_read(&method, url)).ok_or(ASKS_NO_MODEL));
    let of_named = of_named.transpose()?;
    let fetches = of_named.as_ref().is_some_and(|url| is_fetch(&method, url.path()));
    let body = if fetches { Some(String::new()) } else { body_of(request).map(text_of) };
    let Some(body) = body else {
        return Err(Some(format!("request {} has no body in the file: it was skipped", number.saturating_add(1))));
    };
    // A whole HTTP message would be recorded with its keys.
    if !fetches && !body.trim_start().starts_with(['{', '[']) {
        return Err(Some(format!("the body of request {} is not JSON: it was skipped", number.saturating_add(1))));
    }
    let guess = || {
        let body = json::parse(&body).unwrap_or_default();
        address_of(&guessed_path(&body, reply.as_deref().unwrap_or_default()))
    };
    let url = of_named.or_else(guess).ok_or(ASKS_NO_MODEL)?;
    let statuses = ["status", "status_code", "statusCode"];
    let status = [line, response].iter().find_map(|side| statuses.iter().find_map(|key| status_of(side.get(key)?)));
    let status = status.unwrap_or(200);
    let mut headers = decoded_headers(response.get("headers"));
    let is_stream = reply.as_deref().is_some_and(is_event_stream);
    let kind = if is_stream { "text/event-stream" } else { "application/json" };
    headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static(kind));
    let time = ["time", "timestamp", "created_at"].iter().find_map(|key| line.get(key).or_else(|| request.get(key)));
    let reply = reply.filter(|reply| status > 0 && !reply.is_empty()).map(Bytes::from).or_else(|| empty_reply(status));
    let of_request = request.get("headers").or_else(|| line.get("headers")).or_else(|| line.get("request_headers"));
    Ok(ImportedExchange {
        at_ms: time.and_then(unix_ms).unwrap_or(number),
        method: if fetches { method } else { "POST".to_owned() },
        url,
        request_headers: decoded_headers(of_request),
        body: Bytes::from(body),
        status,
        headers,
        reply,
        ms: line.get("ms").and_then(milliseconds).unwrap_or_default(),
        notices: Vec::new(),
        group: None,
    })
}

/// Returns the body of a request or a response: a member of it, or all of it where it is the body itself.
fn body_of(side: &Json) -> Option<&Json> {
    let find = |key: &str| side.get(key).filter(|body| **body != Json::default());
    let has = |keys: &[&str]| keys.iter().any(|key| side.get(key).is_some());
    let is_envelope = has(&["url", "headers"]);
    // A reply may be its own body and have members of these names: the content of a message, the status of a response.
    let has_status = side.get("status").and_then(status_of).is_some();
    let may_be_envelope = is_envelope || has_status || has(&["method", "path", "status_code", "statusCode"]);
    let inner = ["body", "json"].into_iter().find_map(&find);
    let inner = inner.or_else(|| ["content", "data", "text"].into_iter().find_map(&find).filter(|_| may_be_envelope));
    inner.or_else(|| Some(side).filter(|side| !is_envelope && **side != Json::default()))
}

/// Reads an address, which may lack its scheme or its host.
fn address_of(text: &str) -> Option<Url> {
    let has_user = text.split(['/', '?']).next().is_some_and(|host| host.contains('@'));
    match Url::parse(text) {
        Ok(url) if !url.cannot_be_a_base() => Some(url),
        Err(_) if !has_user => Url::parse("http://unknown").ok()?.join(text).ok(),
        // `localhost:8080/v1` looks like an address with the scheme `localhost`.
        Ok(_) | Err(_) => Url::parse(&format!("http://{text}")).ok(),
    }
}

fn is_event_stream(reply: &str) -> bool {
    let reply = reply.trim_start();
    reply.starts_with("data:") || reply.starts_with("event:")
}

/// Reads a status, a number or its digits.
fn status_of(json: &Json) -> Option<u16> {
    let digits = json.as_str().map_or_else(|| json.to_text(), str::to_owned);
    digits.parse().ok().filter(|status| *status == 0 || (100..600).contains(status))
}

/// Reads a Unix time in seconds, ms, µs or ns, by its size, or an ISO time. Returns ms.
fn unix_ms(json: &Json) -> Option<i64> {
    let text = json.as_str().map_or_else(|| json.to_text(), str::to_owned);
    let (whole, fraction) = text.split_once('.').unwrap_or((text.as_str(), ""));
    let Ok(number) = whole.parse::<i64>() else { return time_of(&text) };
    if number < 0 {
        return None;
    }
    Some(match number / LEAST_MS {
        0 => number * 1000 + format!("{fraction:0<3}").get(..3).and_then(|ms| ms.parse::<i64>().ok()).unwrap_or(0),
        1..1_000 => number,
        1_000..1_000_000 => number / 1_000,
        _ => number / 1_000_000,
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

/// Reads headers: a list of names and values, or an object.
fn header_map(headers: Option<&Json>) -> HeaderMap {
    let mut map = HeaderMap::new();
    let mut add = |name: &str, value: &Json| {
        let text = value.as_str().map_or_else(|| value.to_text(), str::to_owned);
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(text.trim())) {
            map.append(name, value);
        }
    };
    for pair in headers.and_then(Json::items).unwrap_or_default() {
        let (name, value) = match pair.items() {
            Some([name, value]) => (Some(name), Some(value)),
            _ => (pair.get("name"), pair.get("value")),
        };
        if let (Some(name), Some(value)) = (name.and_then(Json::as_str), value) {
            add(name, value);
        }
    }
    for member in headers.and_then(Json::members).unwrap_or_default() {
        match member.value.items() {
            Some(values) => values.iter().for_each(|value| add(&member.key, value)),
            None => add(&member.key, &member.value),
        }
    }
    map
}

/// Like `header_map`, for a body that the file has in decoded form.
fn decoded_headers(headers: Option<&Json>) -> HeaderMap {
    let mut map = header_map(headers);
    map.remove(CONTENT_ENCODING);
    map.remove(CONTENT_LENGTH);
    map
}

/// A duration in ms, without its fraction.
fn milliseconds(json: &Json) -> Option<u64> {
    let text = json.to_text();
    text.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json_of(text: &str) -> Json {
        json::parse(text).unwrap()
    }

    #[test]
    fn times_are_read_in_the_unit_that_their_size_shows() {
        for (text, ms) in [
            ("1714000000", 1_714_000_000_000),
            ("1714000000.5", 1_714_000_000_500),
            ("\"1714000000.25\"", 1_714_000_000_250),
            ("1714000000123", 1_714_000_000_123),
            ("1714000000123456", 1_714_000_000_123),
            ("1714000000123456789", 1_714_000_000_123),
            ("\"2024-04-24T23:06:40.5Z\"", 1_714_000_000_500),
            ("\"2024-04-24T23:06:40\"", 1_714_000_000_000),
        ] {
            assert_eq!(unix_ms(&json_of(text)), Some(ms), "{text}");
        }
        for text in ["-5", "null", "\"yesterday\"", "{}"] {
            assert_eq!(unix_ms(&json_of(text)), None, "{text}");
        }
    }

    #[test]
    fn an_object_with_an_address_or_headers_is_no_body() {
        for text in [
            r#"{"url": "https://x/v1/messages", "model": "m"}"#,
            r#"{"headers": {"x-api-key": "k"}, "model": "m"}"#,
            "null",
        ] {
            assert_eq!(body_of(&json_of(text)), None, "{text}");
        }
        let body = json_of(r#"{"model": "m"}"#);
        for member in ["body", "json", "content", "data"] {
            let side = Json::object([("url", Json::str("https://x")), (member, body.clone())]);
            assert_eq!(body_of(&side), Some(&body), "{member}");
        }
        // Bodies that have such members themselves.
        for text in [
            r#"{"type": "message", "content": [{"text": "hi"}]}"#,
            r#"{"status": "completed", "text": {}, "output": []}"#,
        ] {
            let side = json_of(text);
            assert_eq!(body_of(&side), Some(&side), "{text}");
        }
    }

    #[test]
    fn addresses_may_lack_scheme_or_host() {
        for (text, host, path) in [
            ("https://user:pass@llm.example/v1/x", "llm.example", "/v1/x"),
            ("user:pass@llm.example/v1/x", "llm.example", "/v1/x"),
            ("key@llm.example/v1/x", "llm.example", "/v1/x"),
            ("localhost:8080/v1/x", "localhost", "/v1/x"),
            ("/v1/x", "unknown", "/v1/x"),
            ("v1/x", "unknown", "/v1/x"),
        ] {
            let url = address_of(text).unwrap();
            assert_eq!((url.host_str(), url.path()), (Some(host), path), "{text}");
        }
    }
}
