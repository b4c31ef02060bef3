//! Bodies of recorded requests, rebuilt byte for byte, and the names of options in bodies.
//!
//! In: the request of a turn, and what was recorded of an attempt. Out: the body that was sent. Its SHA-256 is that of the recording: it must
//! never return a body that was not sent.

use ptc_core::value::Json;

use super::dialect::Dialect;
use super::language::Draft;
use super::protocols::language;
use super::{Endpoint, Request};
use crate::config::Protocol;
use crate::event::{Sent, hex_sha};

/// Rebuilds the body of an attempt. Error: the SHA-256 of what was rebuilt, when it is not that of the body that was sent.
///
/// A recording does not name the protocol: the one whose body has the recorded hash is it.
pub(crate) fn rebuild_body(request: &Request, sent: &Sent) -> Result<String, String> {
    let frame = sent.frame.json();
    let id = frame.get("model").and_then(Json::as_str).unwrap_or_default();
    let bodies = Protocol::ALL.into_iter().filter_map(|protocol| {
        let endpoint = Endpoint { protocol, ..Endpoint::new(sent.provider.as_str(), id, sent.url.as_str()) };
        body(&frame, request, &endpoint)
    });
    let mut hash = String::new();
    for text in bodies {
        hash = hex_sha(text.as_bytes());
        if hash == sent.sha {
            return Ok(text);
        }
    }
    Err(hash)
}

/// The recorded frame with the messages where this protocol has them; `None` when the frame is of another protocol.
fn body(frame: &Json, request: &Request, endpoint: &Endpoint) -> Option<String> {
    let language = language(endpoint.protocol);
    let dialect = Dialect::first(endpoint, language.ways(), None);
    let whole = language.body(&Draft { request, endpoint, dialect });
    let key = language.messages_key();
    let place = whole.members()?.iter().position(|member| member.key == key)?;
    let mut members: Vec<(String, Json)> =
        frame.members()?.iter().map(|member| (member.key.clone(), member.value.clone())).collect();
    if place > members.len() {
        return None;
    }
    members.insert(place, (key.to_owned(), whole.get(key)?.clone()));
    Some(Json::object(members).to_text())
}

/// Returns the number of tools that a body offers, and the number of strict ones among them.
pub fn strict_tools(body: &Json) -> (usize, usize) {
    let tools = body.get("tools").and_then(Json::items).unwrap_or_default();
    let is_strict = |tool: &&Json| {
        let own = tool.get("function").unwrap_or(tool);
        own.get("strict").is_some_and(|strict| *strict == Json::from(true))
    };
    (tools.len(), tools.iter().filter(is_strict).count())
}

/// Names of each option in the bodies of the protocols.
const CALLED: [(&str, &[&str]); 6] = [
    ("temperature", &["temperature"]),
    (
        "max_tokens",
        &["max_tokens", "max_completion_tokens", "maxOutputTokens", "max_output_tokens", "maxTokens", "num_predict"],
    ),
    ("top_p", &["top_p", "topP"]),
    ("stop", &["stop", "stop_sequences", "stopSequences"]),
    ("seed", &["seed"]),
    ("reasoning", &["reasoning_effort", "thinking", "thinkingConfig", "think", "reasoning", "reasoningConfig"]),
];

/// Returns whether two paths in bodies name the same option.
pub(super) fn is_spelling(one: &str, other: &str) -> bool {
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    let (one, other) = (last(one), last(other));
    CALLED.iter().any(|(_, called)| called.contains(&one.as_str()) && called.contains(&other.as_str()))
}

/// Returns whether a body carries the option of this name (one of [`Options`](crate::event::Options)).
pub fn carries(body: &Json, option: &str) -> bool {
    let called = CALLED.iter().find(|(name, _)| *name == option).map_or(&[][..], |(_, called)| called);
    // Some protocols keep them in members of their own.
    let own = ["generationConfig", "options", "inferenceConfig", "additionalModelRequestFields"];
    let places = [Some(body)].into_iter().chain(own.map(|name| body.get(name)));
    places.flatten().any(|place| called.iter().any(|name| place.get(name).is_some()))
}
