//! A reply of a service, read while it passes.
//!
//! In: the head, then the bytes in pieces as they come, compressed or not. Out: pieces of text, reasoning and calls, and at the end what
//! the reply was. It must never hold more than the reply's text and one event.

use ptc_core::text::without_mark;
use ptc_core::value::Json;

use super::coding::{Coding, Decoder};
use super::counts::counted_tokens;
use super::fetched::FetchedStream;
use super::generate::context_id;
use crate::config::Protocol;
use crate::event::{NativeCall, PartKind, Tokens};
use crate::model::assembly::{Assembly, ChunkError, joined};
use crate::model::calls::Respond;
use crate::model::language::{Framing, Language, Reader};
use crate::model::protocols::language;
use crate::model::scrub::{ByteScan, CleanPiece, Scrub, Stream};
use crate::model::stream::{LineReader, SseEvent, SseReader, is_event_stream};
use crate::model::surrogate::Joiner;
use crate::model::{Finish, fault};

/// Maximum bytes of a body that is one JSON text, and of an error's; what follows is only in the recorded bytes.
const WHOLE_MAX_BYTES: usize = 16 << 20;

/// Outcome of a captured reply.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReplyOutcome {
    /// Its text.
    pub text: String,
    /// The tools that it calls.
    pub calls: Vec<NativeCall>,
    /// Finish reason.
    pub finish: Option<String>,
    /// Tokens as the service counted them.
    pub usage: Option<Tokens>,
    /// The model that answered.
    pub model: Option<String>,
    /// The id of the reply, where the service can continue it.
    pub id: Option<String>,
    /// Error that the service reported, or that was found while the reply was read.
    pub error: Option<String>,
    /// Secrets that it contained.
    pub echoes: Echoes,
    /// It is whole: the model stopped, or a limit cut it.
    pub is_whole: bool,
    /// The service accepted the request and answers it later: other requests fetch the answer by the id.
    pub is_deferred: bool,
    /// The service reported that the reply failed or was cancelled.
    pub is_failed: bool,
}

impl ReplyOutcome {
    /// Returns whether the service has finished the reply, in whatever way.
    pub fn is_final(&self) -> bool {
        self.is_failed || self.is_whole && self.finish.is_some() && !self.is_deferred && self.error.is_none()
    }
}

/// The states of a response that the service has not finished.
const DEFERRED: [&str; 2] = ["queued", "in_progress"];

/// The state of a response that was cancelled.
const CANCELLED: &str = "cancelled";

enum Frames {
    Events(SseReader),
    Lines(LineReader),
    Whole(Vec<u8>),
    /// Nothing more is read.
    Skipped,
}

/// Kinds of parts of a reply; each kind is a text of its own.
const KINDS: [PartKind; 3] = [PartKind::Text, PartKind::Reasoning, PartKind::Call];

/// Text of one kind: UTF-16 halves are joined, secrets are removed.
#[derive(Clone, Default)]
struct Voice {
    joiner: Joiner,
    stream: Stream,
}

impl Voice {
    /// Takes the end of the text; returns what was held back until then.
    fn finish(&mut self, scrub: &Scrub) -> [CleanPiece; 2] {
        let half = self.joiner.finish().map(String::from).unwrap_or_default();
        [self.stream.push(scrub, &half), self.stream.finish(scrub)]
    }
}

/// Secrets that a reply contained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Echoes {
    /// Number of secrets.
    pub found: usize,
    /// One of them came in pieces: the bytes do not show it as a whole.
    pub is_joined: bool,
    /// The bytes are compressed and one is in them, or they could not be searched to the end.
    pub is_packed: bool,
}

/// The state of reading a reply.
pub struct CapturedReply {
    status: u16,
    decoder: Decoder,
    frames: Frames,
    /// `None`: a non-chat request, whose reply has no model text.
    reader: Option<Box<dyn Reader>>,
    assembly: Assembly,
    voices: [Voice; 3],
    scrub: Scrub,
    /// Searches a compressed body, whose bytes show no secret.
    scan: ByteScan,
    echoes: Echoes,
    text: String,
    /// The service can continue the reply by its id.
    has_id: bool,
    id: Option<String>,
    error: Option<String>,
    /// The service reported that the reply failed.
    has_failed: bool,
    /// A stream that a request fetched by the id of the reply.
    fetched: Option<FetchedStream>,
}

impl CapturedReply {
    /// A reply with this head: of a model with this protocol, or to a non-chat request. Secrets in it are masked.
    pub fn new(protocol: Option<Protocol>, status: u16, content_type: &str, coding: Coding, scrub: Scrub) -> Self {
        let language = protocol.map(language);
        let content_type = content_type.to_ascii_lowercase();
        let frames = match language {
            // Messages of a WebSocket, which begins with status 101, are recorded as events.
            Some(_) if content_type.contains("event-stream") || status == 101 => Frames::Events(SseReader::default()),
            Some(language) if status < 400 && language.framing() == Framing::Lines => {
                Frames::Lines(LineReader::default())
            }
            _ => Frames::Whole(Vec::new()),
        };
        let decoder = Decoder::new(coding);
        let is_blind = matches!(decoder, Decoder::Blind);
        let error = is_blind.then(|| "the body is compressed in a way that cannot be read".to_owned());
        // What cannot be searched may hold any of the secrets.
        let echoes = Echoes { is_packed: is_blind && !scrub.is_empty(), ..Echoes::default() };
        Self {
            status,
            decoder,
            frames,
            reader: language.map(Language::reader),
            // Other programs offer more tools than functions.
            assembly: Assembly { reads_client_tools: true, ..Assembly::new(Respond::Absent) },
            voices: Default::default(),
            scrub,
            scan: ByteScan::default(),
            echoes,
            text: String::new(),
            has_id: matches!(protocol, Some(Protocol::Responses | Protocol::Anthropic | Protocol::Ollama)),
            id: None,
            error,
            has_failed: false,
            fetched: None,
        }
    }

    /// Reads the reply to a request that fetches a deferred reply: a stream of events may contain only the end of it in pieces.
    #[must_use]
    pub fn fetched(self) -> Self {
        let is_stream = matches!(self.frames, Frames::Events(_));
        Self { fetched: is_stream.then(FetchedStream::default), ..self }
    }

    /// The id of the reply, once it is known.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Takes bytes as they came; returns what they add to the reply.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<(PartKind, String)> {
        let decoded = match self.decoder.decode(bytes) {
            Ok(decoded) => decoded,
            Err(error) => {
                // A part of these bytes may be readable all the same.
                self.echoes.is_packed |= self.decoder.is_packed() && !self.scrub.is_empty();
                self.error.get_or_insert(error);
                self.decoder = Decoder::Blind;
                return Vec::new();
            }
        };
        if self.decoder.is_packed() && !self.echoes.is_packed {
            self.echoes.is_packed = self.scan.push(&self.scrub, &decoded);
        }
        let frames = match &mut self.frames {
            Frames::Events(reader) => reader.push(&decoded).map(named_data).ok(),
            Frames::Lines(reader) => {
                reader.push(&decoded).map(|lines| lines.into_iter().map(|line| (None, line)).collect()).ok()
            }
            Frames::Whole(body) => {
                let room = WHOLE_MAX_BYTES.saturating_sub(body.len());
                body.extend(decoded.iter().take(room));
                // Some servers name a stream of events JSON.
                if self.status < 400 && self.reader.is_some() && is_event_stream(body) {
                    let (body, mut reader) = (std::mem::take(body), SseReader::default());
                    let events = reader.push(&body).map(named_data).ok();
                    self.frames = Frames::Events(reader);
                    events
                } else {
                    Some(Vec::new())
                }
            }
            Frames::Skipped => Some(Vec::new()),
        };
        let Some(frames) = frames else {
            self.error.get_or_insert("it contains an event that is too large".to_owned());
            self.frames = Frames::Skipped;
            return Vec::new();
        };
        let pieces: Vec<_> = frames.iter().flat_map(|(name, data)| self.take(name.as_deref(), data)).collect();
        match &mut self.fetched {
            Some(fetched) => {
                fetched.hold(pieces);
                Vec::new()
            }
            None => pieces,
        }
    }

    /// Takes one event.
    fn take(&mut self, name: Option<&str>, data: &str) -> Vec<(PartKind, String)> {
        if data.trim() == "[DONE]" {
            self.assembly.done = true;
            return Vec::new();
        }
        if data.trim().is_empty() || !data.trim_start().starts_with(['{', '[']) && name.is_some() {
            return Vec::new();
        }
        if name == Some("error") {
            self.error.get_or_insert_with(|| fault::text_of(data));
            return Vec::new();
        }
        if self.has_id && self.id.is_none() && (data.contains("\"id\"") || data.contains("\"context\"")) {
            self.id = reply_id(data);
        }
        if let Some(fetched) = &mut self.fetched {
            let echoes = fetched.take(data, &self.scrub);
            self.echoes.found += echoes.found;
            self.echoes.is_joined |= echoes.is_joined;
        }
        let Some(reader) = &mut self.reader else {
            if let Ok(json) = ptc_core::value::json::parse(data) {
                self.echoes.found += usize::from(self.scrub.json(&json).is_some());
                if let Some(tokens) = counted_tokens(&json) {
                    self.assembly.usage = Some(tokens);
                }
            }
            return Vec::new();
        };
        match reader.take(data, &mut self.assembly) {
            Ok(pieces) => {
                let mut parts = Vec::new();
                for (kind, piece) in pieces {
                    self.release_others(kind, &mut parts);
                    let voice = &mut self.voices[kind as usize];
                    let joined = voice.joiner.push(&piece);
                    let clean = voice.stream.push(&self.scrub, &joined);
                    parts.extend(self.keep(kind, clean));
                }
                parts
            }
            Err(ChunkError::Error) => {
                self.has_failed |= is_failed_response(data);
                self.error.get_or_insert_with(|| fault::text_of(data));
                Vec::new()
            }
            Err(ChunkError::Malformed(why)) => {
                if !self.assembly.is_whole() {
                    self.error.get_or_insert_with(|| format!("something in it is not a reply of its protocol: {why}"));
                }
                Vec::new()
            }
        }
    }

    /// Releases the held ends of the other kinds before a text of this kind, so that they are recorded in order. What is probably the start
    /// of a secret stays held.
    fn release_others(&mut self, kind: PartKind, parts: &mut Vec<(PartKind, String)>) {
        for other in KINDS.into_iter().filter(|other| *other != kind) {
            let stream = &mut self.voices[other as usize].stream;
            if !stream.is_growing() {
                let clean = stream.finish(&self.scrub);
                parts.extend(self.keep(other, clean));
            }
        }
    }

    /// Keeps a cleaned piece.
    fn keep(&mut self, kind: PartKind, clean: CleanPiece) -> Option<(PartKind, String)> {
        self.echoes.found += clean.found;
        self.echoes.is_joined |= clean.is_joined;
        if kind == PartKind::Text {
            self.text.push_str(&clean.text);
        }
        (!clean.text.is_empty()).then_some((kind, clean.text))
    }

    /// Secrets that the reply contained so far.
    pub fn echoes(&self) -> Echoes {
        self.echoes
    }

    /// Returns whether the bytes are compressed, so that they show no secret.
    pub fn is_packed(&self) -> bool {
        self.decoder.is_packed()
    }

    /// Returns whether the reply so far ends outside of everything that could become a secret. Its decoded bytes count, and its texts, of
    /// which events hold pieces.
    pub fn is_settled(&self) -> bool {
        !self.scan.is_growing() && !self.voices.iter().any(|voice| voice.stream.is_growing())
    }

    /// Returns the texts that were held back until the end.
    fn rest(&mut self) -> Vec<(PartKind, String)> {
        let mut pieces = Vec::new();
        for kind in KINDS {
            let held = self.voices[kind as usize].finish(&self.scrub);
            pieces.extend(held.into_iter().filter_map(|clean| self.keep(kind, clean)));
        }
        pieces
    }

    /// Takes the end of the body; returns what was still missing, and what the reply was.
    pub fn finish(mut self) -> (Vec<(PartKind, String)>, ReplyOutcome) {
        let last: Vec<(Option<String>, String)> = match &mut self.frames {
            Frames::Events(reader) => {
                reader.finish().ok().flatten().map(|event| (event.name, event.data)).into_iter().collect()
            }
            Frames::Lines(reader) => reader.finish().map(|line| (None, line)).into_iter().collect(),
            Frames::Whole(body) => {
                let body = std::mem::take(body);
                vec![(None, without_mark(&String::from_utf8_lossy(&body)).to_owned())]
            }
            Frames::Skipped => Vec::new(),
        };
        let mut pieces = Vec::new();
        if self.status >= 400 {
            let body = last.first().map(|(_, body)| body.as_str()).unwrap_or_default();
            self.error.get_or_insert_with(|| format!("status {}: {}", self.status, fault::text_of(body)));
        } else {
            let is_whole_body = matches!(self.frames, Frames::Whole(_));
            for (name, data) in last {
                pieces.extend(self.take(name.as_deref(), &data));
            }
            self.assembly.done |= is_whole_body && self.assembly.heard;
        }
        pieces.extend(self.rest());
        let text = std::mem::take(&mut self.text);
        let outcome = self.outcome(text);
        match self.fetched {
            Some(fetched) => fetched.finish(pieces, outcome),
            None => (pieces, outcome),
        }
    }

    /// Returns the outcome of a reply after its end mark, before its body has ended. `None` before the end mark, in protocols without one,
    /// and for a reply with an error.
    pub fn outcome_at_end_mark(&self) -> Option<ReplyOutcome> {
        if !self.assembly.done || !self.assembly.is_whole() || self.status >= 400 || self.error.is_some() {
            return None;
        }
        if let Some(outcome) = self.fetched.as_ref().and_then(FetchedStream::outcome) {
            return Some(outcome.clone());
        }
        // The held text stays held: a service could break the protocol and send more, which would complete a secret.
        let held = self.voices[PartKind::Text as usize].clone().finish(&self.scrub);
        let text = held.iter().fold(self.text.clone(), |text, clean| text + &clean.text);
        Some(self.outcome(text))
    }

    fn outcome(&self, text: String) -> ReplyOutcome {
        let (scrub, assembly) = (&self.scrub, &self.assembly);
        let clean = |call: NativeCall| NativeCall {
            id: scrub.text(&call.id),
            name: scrub.text(&call.name),
            args: scrub.json_text(&call.args),
        };
        let calls: Vec<NativeCall> = assembly.calls.finish(1).into_iter().map(clean).collect();
        let finish = match &assembly.finish {
            Some(Finish::Stop) if !calls.is_empty() => Some(Finish::ToolCalls),
            other => other.clone(),
        };
        let is_deferred = finish.as_ref().is_some_and(|finish| DEFERRED.contains(&finish.name()));
        let is_cancelled = finish.as_ref().is_some_and(|finish| finish.name() == CANCELLED);
        let error = self.error.as_ref().map(|error| scrub.text(error));
        ReplyOutcome {
            text: if text.is_empty() { scrub.text(&joined(&assembly.refusal)) } else { text },
            calls,
            is_deferred,
            is_failed: self.has_failed || is_cancelled,
            finish: finish.map(|finish| scrub.text(finish.name())),
            // The final reply has the tokens.
            usage: assembly.usage.filter(|_| !is_deferred),
            model: assembly.model.as_ref().map(|model| scrub.text(model)),
            id: self.id.clone(),
            error: error.or_else(|| is_cancelled.then(|| "the reply was cancelled".to_owned())),
            echoes: self.echoes,
            is_whole: self.status < 400 && (self.reader.is_none() || assembly.is_whole()),
        }
    }
}

/// Names and data of events.
fn named_data(events: Vec<SseEvent>) -> Vec<(Option<String>, String)> {
    events.into_iter().map(|event| (event.name, event.data)).collect()
}

/// The id of a reply, in its first event or in the whole reply. Each service has its own form of ids; that of Ollama's generated texts is
/// its `context`, in the last line.
fn reply_id(data: &str) -> Option<String> {
    let json = ptc_core::value::json::parse(data).ok()?;
    if let Some(context) = json.get("context").filter(|context| context.items().is_some()) {
        return context_id(context);
    }
    let reply = json.get("response").or_else(|| json.get("message")).unwrap_or(&json);
    Some(reply.get("id")?.as_str()?.to_owned())
}

/// Returns whether an error is the end of a response that has failed, and not one of the request or the stream.
fn is_failed_response(data: &str) -> bool {
    let Ok(json) = ptc_core::value::json::parse(data) else { return false };
    let response = json.get("response").unwrap_or(&json);
    response.get("status").and_then(Json::as_str) == Some("failed")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::Secret;

    /// The pieces of a reply in order, those of one kind joined, and its text.
    fn read(deltas: &[Value]) -> (Vec<(PartKind, String)>, String) {
        let scrub = Scrub::new([Secret::new("sk-0123456789abcdef")]);
        let (protocol, coding) = (Some(Protocol::OpenAi), Coding::Identity);
        let mut reader = CapturedReply::new(protocol, 200, "text/event-stream", coding, scrub);
        let mut pieces = Vec::new();
        for delta in deltas {
            let event = json!({"choices": [{"index": 0, "delta": delta}]});
            pieces.extend(reader.push(format!("data: {event}\n\n").as_bytes()));
        }
        let (last, outcome) = reader.finish();
        let mut joined: Vec<(PartKind, String)> = Vec::new();
        for (kind, text) in pieces.into_iter().chain(last) {
            match joined.last_mut().filter(|(before, _)| *before == kind) {
                Some((_, all)) => all.push_str(&text),
                None => joined.push((kind, text)),
            }
        }
        (joined, outcome.text)
    }

    fn call(args: &str) -> Value {
        json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "look", "arguments": args}}]})
    }

    #[test]
    fn the_end_of_a_text_comes_before_a_text_of_another_kind() {
        let (pieces, text) = read(&[
            json!({"reasoning_content": "I read the files."}),
            json!({"content": "I look at the files."}),
            call("{\"at\": \"cats\"}"),
        ]);
        let expected = [
            (PartKind::Reasoning, "I read the files."),
            (PartKind::Text, "I look at the files."),
            (PartKind::Call, "look {\"at\": \"cats\"}"),
        ];
        assert_eq!(pieces, expected.map(|(kind, text)| (kind, text.to_owned())));
        assert_eq!(text, "I look at the files.");
    }

    #[test]
    fn a_secret_that_a_call_interrupts_is_masked() {
        for at in 1..19 {
            let (start, end) = "sk-0123456789abcdef".split_at(at);
            let (pieces, text) =
                read(&[json!({"content": format!("It is {start}")}), call("{}"), json!({"content": end})]);
            // Up to three letters do not count as a part of a secret.
            assert!(text.contains("[secret]") && !text.contains("0123") && !text.contains("cdef"), "{at}: {text}");
            let shown = pieces.into_iter().filter(|(kind, _)| *kind == PartKind::Text);
            assert_eq!(shown.map(|(_, text)| text).collect::<String>(), text);
        }
    }
}
