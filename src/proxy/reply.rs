//! A reply while it is recorded: its bytes in parts, its text in pieces.
//!
//! In: bytes as they come. Out: events for the session. It must never hold more than one part of the bytes.

use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};

use super::exchange::Came;
use crate::config::Protocol;
use crate::event::{Event, PartKind, RawBody, ReplyPart, Wire};
use crate::model::{CapturedReply, Coding, Echoes, ReplyOutcome, Scrub, pack, pack_body};

/// Bytes of a reply that are kept before they are written.
const PART_BYTES: usize = 32 << 10;
/// Bytes of text that are kept before they are written.
const TEXT_BYTES: usize = 4 << 10;
/// Time after which text is written, in ms.
const TEXT_MS: u64 = 1_000;

/// A reply that is being recorded.
pub(super) struct OpenReply {
    status: u16,
    reader: CapturedReply,
    scrub: Scrub,
    /// The bytes since the last part.
    bytes: Vec<u8>,
    /// When they came, and how many each time.
    reads: Vec<(u64, usize)>,
    /// Secrets that were overwritten in the bytes.
    blotted: usize,
    text: Option<ReplyPart>,
    text_since_ms: u64,
}

impl OpenReply {
    /// A reply with this head.
    pub(super) fn new(protocol: Protocol, status: u16, headers: &HeaderMap, scrub: Scrub) -> Self {
        let header = |name| headers.get(name).and_then(|value: &hyper::header::HeaderValue| value.to_str().ok());
        let coding = Coding::of(header(CONTENT_ENCODING));
        let content_type = header(CONTENT_TYPE).unwrap_or_default();
        Self {
            status,
            reader: CapturedReply::new(protocol, status, content_type, coding, scrub.clone()),
            scrub,
            bytes: Vec::new(),
            reads: Vec::new(),
            blotted: 0,
            text: None,
            text_since_ms: 0,
        }
    }

    /// Takes bytes; returns the events that are due.
    pub(super) fn take(&mut self, ms: u64, bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        for (kind, text) in self.reader.push(bytes) {
            events.extend(self.add_text(ms, kind, &text));
        }
        self.bytes.extend_from_slice(bytes);
        self.reads.push((ms, bytes.len()));
        if self.bytes.len() >= PART_BYTES {
            events.extend(self.take_text());
            events.extend(self.take_bytes());
        }
        events
    }

    fn add_text(&mut self, ms: u64, kind: PartKind, text: &str) -> Option<Event> {
        let is_due = self.text.as_ref().is_some_and(|part| {
            part.kind != kind || part.text.len() >= TEXT_BYTES || ms.saturating_sub(self.text_since_ms) >= TEXT_MS
        });
        let due = if is_due { self.take_text() } else { None };
        if self.text.is_none() {
            self.text_since_ms = ms;
        }
        let empty = || ReplyPart { attempt: 1, kind, text: String::new(), lens: Vec::new(), ms: Vec::new() };
        let part = self.text.get_or_insert_with(empty);
        part.text.push_str(text);
        part.lens.push(u32::try_from(text.len()).unwrap_or(u32::MAX));
        part.ms.push(u32::try_from(ms).unwrap_or(u32::MAX));
        due
    }

    /// Is there text that was not written yet?
    pub(super) fn has_text(&self) -> bool {
        self.text.is_some()
    }

    /// The text that was not written yet, for a screen that follows it.
    pub(super) fn take_text(&mut self) -> Option<Event> {
        self.text.take().map(Event::from)
    }

    /// The bytes since the last part.
    fn take_bytes(&mut self) -> Option<Event> {
        let echoes = self.reader.echoes();
        let (bytes, reads) = (std::mem::take(&mut self.bytes), std::mem::take(&mut self.reads));
        let (wire, blotted) = wire(self.status, &self.scrub, (bytes, &reads), self.blotted, echoes)?;
        self.blotted = blotted;
        Some(wire)
    }

    /// The end of the bytes: the events that are left, and what the reply was.
    pub(super) fn finish(self) -> (Vec<Event>, ReplyOutcome) {
        let Self { status, reader, scrub, reads, bytes, blotted, text, .. } = self;
        let (pieces, outcome) = reader.finish();
        // What a secret in pieces is part of is known only now.
        let wire = wire(status, &scrub, (bytes, &reads), blotted, outcome.echoes).map(|(wire, _)| wire);
        let mut parts: Vec<ReplyPart> = text.into_iter().collect();
        for (kind, text) in pieces {
            let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
            if let Some(part) = parts.last_mut().filter(|part| part.kind == kind) {
                part.lens.push(length);
                part.ms.push(part.ms.last().copied().unwrap_or_default());
                part.text.push_str(&text);
            } else {
                parts.push(ReplyPart { attempt: 1, kind, text, lens: vec![length], ms: vec![0] });
            }
        }
        // The text of a reply comes before its bytes, as in own sessions the bytes are the last that is recorded of it.
        let mut all: Vec<Event> = parts.into_iter().map(Event::from).collect();
        all.extend(wire);
        (all, outcome)
    }
}

/// The bytes of a reply that the client did not get, with secrets overwritten. They are withheld when they hold a secret in pieces.
pub(super) fn clean_came(protocol: Protocol, came: &Came, scrub: &Scrub) -> RawBody {
    let mut reply = OpenReply::new(protocol, came.status, &came.headers, scrub.clone());
    _ = reply.reader.push(&came.body);
    let (_, outcome) = reply.reader.finish();
    let mut body = came.body.clone();
    let blotted = scrub.blot(&mut body);
    let is_shown = !outcome.echoes.is_joined && blotted >= outcome.echoes.found;
    pack_body(if is_shown { &body } else { b"" }, None, blotted.max(outcome.echoes.found) as u64)
}

/// A part of the bytes with secrets overwritten, and how many were so far. The bytes are withheld when they hold a secret in pieces.
fn wire(
    status: u16,
    scrub: &Scrub,
    (mut all, reads): (Vec<u8>, &[(u64, usize)]),
    blotted: usize,
    echoes: Echoes,
) -> Option<(Event, usize)> {
    if reads.is_empty() {
        return None;
    }
    let bytes = all.len() as u64;
    let blotted = blotted + scrub.blot(&mut all);
    let is_shown = !echoes.is_joined && blotted >= echoes.found;
    let mut rest = all.as_slice();
    let reads = reads.iter().map(|(ms, length)| {
        let (read, tail) = rest.split_at_checked(*length).unwrap_or((rest, &[]));
        rest = tail;
        (*ms, read)
    });
    let frames = if is_shown { pack(reads).unwrap_or_default() } else { String::new() };
    Some((Wire { attempt: 1, status: Some(status), frames, bytes }.into(), blotted))
}
