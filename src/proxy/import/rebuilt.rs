//! Exchanges that are rebuilt: files that keep messages have no requests, so these are made of the messages before each reply.
//!
//! In: messages and a reply in the format of one protocol. Out: an exchange whose address names the file's format. It must never look like
//! bytes that passed.

use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use serde_json::Value;

use super::{Entry, ImportedExchange, REQUEST_MAX_BYTES};
use crate::model::Url;

/// A request and its reply as JSON.
pub(super) struct Rebuilt<'a> {
    /// Unix time of the request in ms.
    pub(super) at_ms: i64,
    /// Duration of the reply in ms.
    pub(super) ms: u64,
    /// The format in addresses: `claude-code`.
    pub(super) scheme: &'a str,
    /// The service that answered.
    pub(super) provider: &'a str,
    /// Path of the endpoint whose protocol the bodies have.
    pub(super) path: &'a str,
    pub(super) request: Value,
    pub(super) status: u16,
    pub(super) reply: Value,
    /// The part of the file that it was made of, for messages.
    pub(super) origin: &'a str,
}

impl Rebuilt<'_> {
    /// The exchange. Errors: the request is beyond [`REQUEST_MAX_BYTES`].
    pub(super) fn entry(self) -> Entry {
        let body = self.request.to_string();
        if body.len() > REQUEST_MAX_BYTES {
            return Err(Some(format!(
                "the request of {} would have {} MiB, more than {}: it was omitted",
                self.origin,
                body.len() >> 20,
                REQUEST_MAX_BYTES >> 20
            )));
        }
        let of_host =
            |c: char| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c.to_ascii_lowercase() } else { '-' };
        let host: String = self.provider.chars().map(of_host).collect();
        let host = Some(host.trim_matches('-')).filter(|host| !host.is_empty()).unwrap_or("unknown");
        let mut url = Url::parse(&format!("{}://{host}/", self.scheme))
            .map_err(|error| Some(format!("{} has no address: {error}", self.origin)))?;
        // Names of models may hold what would begin a query.
        url.set_path(self.path);
        Ok(ImportedExchange {
            at_ms: self.at_ms,
            method: "POST".to_owned(),
            url,
            request_headers: HeaderMap::new(),
            body: Bytes::from(body),
            status: self.status,
            headers: HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]),
            reply: Some(Bytes::from(self.reply.to_string())),
            ms: self.ms,
            notices: Vec::new(),
            group: None,
        })
    }
}

/// The text of a member, or nothing.
pub(super) fn text<'a>(json: &'a Value, key: &str) -> &'a str {
    json.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// An ISO time in a member, in Unix ms.
pub(super) fn time(json: &Value, key: &str) -> Option<i64> {
    super::time_of(text(json, key))
}

/// The time between two Unix times in ms, without negative ones.
pub(super) fn elapsed(from_ms: i64, to_ms: i64) -> u64 {
    u64::try_from(to_ms.saturating_sub(from_ms)).unwrap_or(0)
}

/// An object without these members.
pub(super) fn without(json: &Value, keys: &[&str]) -> Value {
    let members = json.as_object().into_iter().flatten();
    Value::Object(
        members
            .filter(|(key, _)| !keys.contains(&key.as_str()))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
    )
}
