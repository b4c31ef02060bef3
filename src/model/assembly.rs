//! Assembles a reply, whatever the protocol.
//!
//! In: parts that a protocol's reader parsed. Out: the data for a reply or an error.
//! It must never take half a reply for a whole one.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::Finish;
use super::calls::{Calls, Respond};
use super::surrogate::{Joiner, Utf16Text};
use crate::event::{PartKind, Tokens};

/// Pieces of the reply, in order.
pub(super) type Pieces = Vec<(PartKind, Utf16Text)>;

/// The parts of a reply that were read so far.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    /// The tools that it calls.
    pub(super) calls: Calls,
    /// Finish reason, once it is known.
    pub(super) finish: Option<Finish>,
    /// At least one part of a reply was received.
    pub(super) heard: bool,
    /// The server ended it.
    pub(super) done: bool,
    /// Tokens.
    pub(super) usage: Option<Tokens>,
    /// The answering model.
    pub(super) model: Option<String>,
    /// Pieces of a refusal.
    pub(super) refusal: Vec<Utf16Text>,
    /// Reasoning in the provider's own form, to be given back.
    pub(super) opaque: Vec<Value>,
    /// Names of tools that the service ran itself, each once; their calls and results are not calls of the reply.
    pub(super) server_tools: Vec<String>,
    /// Calls of tools that are not functions are calls of the reply too: for requests with custom tools, and for those of other programs,
    /// which offer shells and the like.
    pub(super) reads_client_tools: bool,
}

/// Error of a piece of a reply that cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ChunkError {
    /// It is not the JSON of this protocol.
    Malformed(String),
    /// It reports an error.
    Error,
}

impl From<serde_json::Error> for ChunkError {
    fn from(error: serde_json::Error) -> Self {
        Self::Malformed(error.to_string())
    }
}

impl Assembly {
    /// For a reply in which a call of the tool that carries the schema means this.
    pub(super) fn new(respond: Respond) -> Self {
        Self { calls: Calls::new(respond), ..Self::default() }
    }

    /// Returns whether the reply is whole, whatever may still follow.
    pub(super) fn is_whole(&self) -> bool {
        self.finish.is_some() || (self.done && self.heard)
    }

    /// Notes the answering model, unless the server leaves its name empty.
    pub(super) fn answered_by(&mut self, model: Option<&Value>) {
        if let Some(model) = model.and_then(Value::as_str).filter(|model| !model.is_empty()) {
            self.model = Some(model.to_owned());
        }
    }

    /// Notes why the model stopped. Calls that are the answer are not calls.
    pub(super) fn stopped(&mut self, finish: Finish) {
        let is_answer = finish == Finish::ToolCalls && self.calls.are_text();
        self.finish = Some(if is_answer { Finish::Stop } else { finish });
    }

    /// Notes a tool that the service runs itself.
    pub(super) fn add_server_tool(&mut self, name: &str) {
        if !self.server_tools.iter().any(|known| known == name) {
            self.server_tools.push(name.to_owned());
        }
    }

    /// Adds a text, if there is one.
    pub(super) fn push_text(pieces: &mut Pieces, kind: PartKind, text: Option<Utf16Text>) {
        pieces.extend(text.filter(|text| !text.is_empty()).map(|text| (kind, text)));
    }
}

/// Reads a text whose UTF-16 halves may be in different pieces.
pub(super) fn joined(pieces: &[Utf16Text]) -> String {
    let mut joiner = Joiner::default();
    let mut text: String = pieces.iter().map(|piece| joiner.push(piece)).collect();
    text.extend(joiner.finish());
    text
}

#[derive(Deserialize)]
struct TextPart {
    #[serde(default)]
    text: Utf16Text,
}

/// A string, the texts of a list of parts, or nothing.
pub(super) fn texts(raw: Option<&RawValue>) -> Vec<Utf16Text> {
    let Some(raw) = raw.map(RawValue::get) else { return Vec::new() };
    if let Ok(text) = serde_json::from_str::<Utf16Text>(raw) {
        return if text.is_empty() { Vec::new() } else { vec![text] };
    }
    serde_json::from_str::<Vec<TextPart>>(raw)
        .map(|parts| parts.into_iter().map(|part| part.text).collect())
        .unwrap_or_default()
}

/// Reads a count of tokens; some servers send it as text or with a fraction, which is rounded up.
pub(super) fn count(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64().or_else(|| rounded_up(number.as_f64()?)),
        Value::String(text) => text.trim().parse().ok().or_else(|| rounded_up(text.trim().parse().ok()?)),
        _ => None,
    }
}

/// Rounds a number up; `None` for one that is no finite count.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked: finite, not negative, rounded up"
)]
pub(super) fn rounded_up(number: f64) -> Option<u64> {
    (number.is_finite() && number >= 0.0).then(|| number.ceil() as u64)
}

/// Returns whether an optional member reports an error: it is present and not null.
pub(super) fn is_error(raw: Option<&RawValue>) -> bool {
    raw.is_some_and(|error| error.get() != "null")
}
