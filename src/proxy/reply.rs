//! A reply while it is recorded: its bytes in parts, its text in pieces.
//!
//! In: bytes as they come. Out: events for the session. It must never hold more than one part of the bytes and what could become
//! a secret in the next, and never record a part of a secret.

use hyper::header::{CONTENT_TYPE, HeaderMap};

use super::exchange::Came;
use super::headers;
use crate::config::Protocol;
use crate::event::{Event, Notice, NoticeLevel, PartKind, RawBody, ReplyPart, Tokens, Wire};
use crate::model::{CapturedReply, Echoes, ReplyOutcome, Scrub, pack, pack_body};

/// Bytes of a reply that are kept before they are written.
const PART_BYTES: usize = 32 << 10;
/// Bytes of a reply after which a part ends even where its decoded text could be that of a secret.
const PART_MAX_BYTES: usize = 8 * PART_BYTES;
/// Bytes of text that are kept before they are written.
const TEXT_BYTES: usize = 4 << 10;
/// Time after which text is written, in ms.
const TEXT_MS: u64 = 1_000;

/// Reasons to withhold bytes.
const PACKED: &str = "they are compressed and hold a known secret, or cannot be searched for one";
const IN_PIECES: &str = "they contain a known secret split across pieces";

/// Origin of the token counts of a reply.
enum TokenCounts {
    /// The reply itself.
    Own,
    /// Another reply, if one counts for it.
    Other(Option<Tokens>),
}

/// A reply that is being recorded.
pub(super) struct OpenReply {
    reader: CapturedReply,
    counts: TokenCounts,
    bytes: ReplyBytes,
    text: Option<ReplyPart>,
    text_since_ms: u64,
}

impl OpenReply {
    /// A reply with this head: of a model with this protocol, or to a non-chat request.
    pub(super) fn new(protocol: Option<Protocol>, status: u16, headers: &HeaderMap, scrub: Scrub) -> Self {
        Self::of(reader(protocol, status, headers, scrub.clone()), status, scrub)
    }

    /// The reply with this head to a request that fetches a deferred reply.
    pub(super) fn fetched(status: u16, headers: &HeaderMap, scrub: Scrub) -> Self {
        Self::of(fetched_reader(status, headers, scrub.clone()), status, scrub)
    }

    fn of(reader: CapturedReply, status: u16, scrub: Scrub) -> Self {
        let (counts, bytes) = (TokenCounts::Own, ReplyBytes::new(status, scrub));
        Self { reader, counts, bytes, text: None, text_since_ms: 0 }
    }

    /// Sets the tokens that count for it, in place of its own: those of the reply that it replaces, which was paid for; none where it
    /// repeats an earlier count, or no reply of the service came.
    pub(super) fn set_usage(&mut self, usage: Option<Tokens>) {
        self.counts = TokenCounts::Other(usage);
    }

    /// The id of the reply, once it is known.
    pub(super) fn id(&self) -> Option<&str> {
        self.reader.id()
    }

    /// Takes bytes; returns the events that are due.
    pub(super) fn take(&mut self, ms: u64, bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        for (kind, text) in self.reader.push(bytes) {
            events.extend(self.add_text(ms, kind, &text));
        }
        self.bytes.add(ms, bytes, self.reader.is_settled());
        if let Some(part) = self.bytes.next_part(&self.reader) {
            events.extend(self.take_text());
            events.extend(self.bytes.take(part, self.reader.echoes()));
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

    /// Returns the outcome of a reply after its end mark, before its body has ended.
    pub(super) fn outcome_at_end_mark(&self) -> Option<ReplyOutcome> {
        self.reader.outcome_at_end_mark()
    }

    /// Returns whether there is text that was not written yet.
    pub(super) fn has_text(&self) -> bool {
        self.text.is_some()
    }

    /// The text that was not written yet, for a screen that follows it.
    pub(super) fn take_text(&mut self) -> Option<Event> {
        self.text.take().map(Event::from)
    }

    /// Ends the reply: returns the remaining events and the outcome.
    pub(super) fn finish(self) -> (Vec<Event>, ReplyOutcome) {
        let Self { reader, counts, mut bytes, text, .. } = self;
        let (pieces, mut outcome) = reader.finish();
        if let TokenCounts::Other(usage) = counts {
            outcome.usage = usage;
        }
        // What a secret in pieces is part of is known only now.
        let part = NextPart { reads: bytes.reads.len(), ahead: 0 };
        let wire = bytes.take(part, outcome.echoes);
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
        all.extend(bytes.notice());
        (all, outcome)
    }
}

fn reader(protocol: Option<Protocol>, status: u16, headers: &HeaderMap, scrub: Scrub) -> CapturedReply {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    CapturedReply::new(protocol, status, content_type, headers::coding(headers), scrub)
}

/// Reads the reply with this head to a request that fetches a deferred reply.
pub(super) fn fetched_reader(status: u16, headers: &HeaderMap, scrub: Scrub) -> CapturedReply {
    reader(Some(Protocol::Responses), status, headers, scrub).fetched()
}

/// The bytes of a reply, with secrets overwritten when they are written.
struct ReplyBytes {
    status: u16,
    scrub: Scrub,
    /// The bytes since the last part.
    bytes: Vec<u8>,
    /// Time and number of bytes of each read.
    reads: Vec<(u64, usize)>,
    /// Number of reads up to the last one at whose end the decoded text cuts no secret.
    settled: usize,
    /// Secrets that were overwritten in the bytes.
    blotted: usize,
    /// A part was recorded.
    is_recorded: bool,
    /// A part was withheld: why.
    withheld: Option<&'static str>,
}

/// Part of the bytes that can be written.
#[derive(Clone, Copy)]
struct NextPart {
    /// So many reads.
    reads: usize,
    /// Secrets in the bytes after them.
    ahead: usize,
}

impl ReplyBytes {
    fn new(status: u16, scrub: Scrub) -> Self {
        Self {
            status,
            scrub,
            bytes: Vec::new(),
            reads: Vec::new(),
            settled: 0,
            blotted: 0,
            is_recorded: false,
            withheld: None,
        }
    }

    fn add(&mut self, ms: u64, bytes: &[u8], is_settled: bool) {
        self.bytes.extend_from_slice(bytes);
        self.reads.push((ms, bytes.len()));
        if is_settled {
            self.settled = self.reads.len();
        }
    }

    /// The part that is due. It ends where no secret is cut, not even one that the next bytes complete.
    fn next_part(&self, reader: &CapturedReply) -> Option<NextPart> {
        if self.bytes.len() < PART_BYTES {
            return None;
        }
        let is_forced = self.bytes.len() >= PART_MAX_BYTES;
        let most_reads = if is_forced { self.reads.len() } else { self.settled };
        if most_reads == 0 {
            return None;
        }
        let part = if reader.is_packed() {
            NextPart { reads: most_reads, ahead: 0 }
        } else {
            let ends = self.reads.iter().take(most_reads).scan(0_usize, |end, (_, length)| {
                *end += *length;
                Some(*end)
            });
            let (cut, ahead) = self.scrub.uncut(&self.bytes, ends.clone());
            NextPart { reads: ends.take_while(|end| *end <= cut).count(), ahead }
        };
        (part.reads > 0).then_some(part)
    }

    /// Takes a part, which is withheld when it holds a secret that its bytes do not show. `None` when no bytes came.
    fn take(&mut self, part: NextPart, echoes: Echoes) -> Option<Event> {
        let later = self.reads.split_off(part.reads.min(self.reads.len()));
        let reads = std::mem::replace(&mut self.reads, later);
        if reads.is_empty() {
            return None;
        }
        let length = reads.iter().map(|(_, length)| length).sum::<usize>();
        let later = self.bytes.split_off(length.min(self.bytes.len()));
        let mut all = std::mem::replace(&mut self.bytes, later);
        self.settled = self.settled.saturating_sub(reads.len());
        self.blotted += self.scrub.blot(&mut all);
        let bytes = all.len() as u64;
        let withheld = withheld_by(echoes, self.blotted + part.ahead).filter(|_| bytes > 0);
        let frames = if withheld.is_none() { packed(&all, &reads) } else { String::new() };
        self.is_recorded |= withheld.is_none();
        self.withheld = self.withheld.or(withheld);
        Some(Wire { attempt: 1, status: Some(self.status), frames, bytes }.into())
    }

    /// The notice that bytes were withheld.
    fn notice(&self) -> Option<Event> {
        let what = if self.is_recorded { "some bytes" } else { "the bytes" };
        let text = format!("{what} of this reply are not recorded: {}", self.withheld?);
        Some(Notice { level: NoticeLevel::Warning, text }.into())
    }
}

/// The frames of these reads.
fn packed(bytes: &[u8], reads: &[(u64, usize)]) -> String {
    let mut rest = bytes;
    let reads = reads.iter().map(|(ms, length)| {
        let (read, tail) = rest.split_at_checked(*length).unwrap_or((rest, &[]));
        rest = tail;
        (*ms, read)
    });
    pack(reads).unwrap_or_default()
}

/// Returns the reason to withhold bytes in which this number of secrets was overwritten; `None` when they can be recorded.
fn withheld_by(echoes: Echoes, blotted: usize) -> Option<&'static str> {
    if echoes.is_packed { Some(PACKED) } else { (echoes.is_joined || blotted < echoes.found).then_some(IN_PIECES) }
}

/// A reply that the client did not get.
pub(super) struct ReplacedReply {
    /// Its bytes, with secrets overwritten. They are withheld when they hold a secret that they do not show.
    pub(super) body: RawBody,
    /// The notice that they are withheld.
    pub(super) withheld: Option<String>,
    /// Tokens as the service counted them.
    pub(super) usage: Option<Tokens>,
}

/// Reads a reply that the client did not get, for its record.
pub(super) fn clean_came(protocol: Protocol, came: &Came, scrub: &Scrub) -> ReplacedReply {
    let mut reader = reader(Some(protocol), came.status, &came.headers, scrub.clone());
    _ = reader.push(&came.body);
    let ReplyOutcome { echoes, usage, .. } = reader.finish().1;
    let mut body = came.body.clone();
    let blotted = scrub.blot(&mut body);
    let withheld = withheld_by(echoes, blotted);
    let masked = blotted.max(echoes.found).max(usize::from(echoes.is_packed)) as u64;
    let body = pack_body(if withheld.is_none() { &body } else { b"" }, None, masked);
    let withheld = withheld.map(|why| format!("the bytes of the reply that was replaced are not recorded: {why}"));
    ReplacedReply { body, withheld, usage }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use hyper::header::CONTENT_ENCODING;

    use super::*;
    use crate::model::{Coding, Secret, unpack};

    const KEY: &str = "sk-proxy-0123456789";

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn headers(coding: &str) -> HeaderMap {
        let pairs = [(CONTENT_TYPE, "application/json"), (CONTENT_ENCODING, coding)];
        pairs.into_iter().map(|(name, value)| (name, value.parse().unwrap())).collect()
    }

    /// The recorded reads of a reply that comes in these, and the notices.
    fn recorded(coding: &str, status: u16, key: &str, reads: &[&[u8]]) -> (Vec<(u64, Vec<u8>)>, Vec<String>) {
        let scrub = Scrub::new([Secret::new(key)]);
        let mut reply = OpenReply::new(Some(Protocol::OpenAi), status, &headers(coding), scrub);
        let mut events: Vec<Event> = (0..).zip(reads).flat_map(|(ms, read)| reply.take(ms, read)).collect();
        events.extend(reply.finish().0);
        let (mut reads, mut notices) = (Vec::new(), Vec::new());
        for event in events {
            match event {
                Event::Wire(wire) => reads.extend(unpack(&wire).unwrap()),
                Event::Notice(notice) => notices.push(notice.text.clone()),
                _ => {}
            }
        }
        (reads, notices)
    }

    /// Text that hardly compresses.
    fn noise(lines: usize) -> String {
        let mut number = 7_u64;
        let line = |_| {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            format!("{number:020} ")
        };
        (0..lines).map(line).collect()
    }

    #[test]
    fn no_key_is_recorded_in_two_parts() {
        // A short key is found only as a whole.
        for key in ["hunter-22", KEY] {
            for cut in 1..key.len() {
                let body = format!("{}{key} and the rest", " ".repeat(PART_BYTES - cut));
                let (first, second) = body.split_at(PART_BYTES);
                let (reads, notices) = recorded("identity", 200, key, &[first.as_bytes(), second.as_bytes(), b" end"]);
                assert_eq!(reads.iter().map(|(ms, _)| *ms).collect::<Vec<_>>(), [0, 1, 2]);
                assert_eq!(reads[0].1.len(), PART_BYTES);
                let bytes: Vec<u8> = reads.into_iter().flat_map(|(_, bytes)| bytes).collect();
                let expected = format!("{} end", body.replace(key, &"*".repeat(key.len())));
                assert!(String::from_utf8(bytes).unwrap() == expected, "cut after {cut} bytes");
                assert_eq!(notices, [""; 0]);
            }
        }
    }

    #[test]
    fn no_start_of_a_key_that_comes_in_events_is_recorded() {
        let event =
            |text: &str| format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n");
        let head = [(CONTENT_TYPE, "text/event-stream".parse().unwrap())].into_iter().collect();
        let mut reply = OpenReply::new(Some(Protocol::OpenAi), 200, &head, Scrub::new([Secret::new(KEY)]));
        let (start, rest) = KEY.split_at(11);
        let words = event(&"words ".repeat((PART_BYTES - 100) / 6));
        assert!(words.len() < PART_BYTES && words.len() + event(start).len() >= PART_BYTES);
        let mut events: Vec<Event> =
            [words, event(start), event(rest)].iter().flat_map(|read| reply.take(0, read.as_bytes())).collect();
        events.extend(reply.finish().0);
        let mut bytes = Vec::new();
        for event in &events {
            if let Event::Wire(wire) = event {
                bytes.extend(unpack(wire).unwrap().into_iter().flat_map(|(_, read)| read));
            }
        }
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains("words") && !text.contains(start), "{}", text.len());
    }

    #[test]
    fn a_compressed_reply_with_a_key_in_any_member_is_withheld_with_a_notice() {
        let error = format!(r#"{{"error": {{"message": "Incorrect API key provided: {KEY}."}}}}"#);
        let answer = format!(r#"{{"id": "x", "user": "{KEY}", "choices": [{{"message": {{"content": "fine"}}}}]}}"#);
        for (status, body) in [(401, error), (200, answer)] {
            let packed = gzip(body.as_bytes());
            let pieces: Vec<&[u8]> = packed.chunks(7).collect();
            let (reads, notices) = recorded("gzip", status, KEY, &pieces);
            assert_eq!(reads, []);
            assert!(
                notices.len() == 1 && notices[0].contains("the bytes of this reply are not recorded"),
                "{notices:?}"
            );
            // Bytes that are not compressed, in spite of their header, show it.
            let (reads, notices) = recorded("gzip", status, KEY, &[body.as_bytes()]);
            assert_eq!(reads, [(0, body.replace(KEY, &"*".repeat(KEY.len())).into_bytes())]);
            assert_eq!(notices, [""; 0]);
        }
    }

    #[test]
    fn a_compressed_reply_that_is_padded_with_zeros_is_recorded() {
        let packed = gzip(br#"{"choices": [{"message": {"content": "fine"}}]}"#);
        let padding = vec![0_u8; 64];
        let (reads, notices) = recorded("gzip", 200, KEY, &[&packed, &padding]);
        assert_eq!(reads, [(0, packed.clone()), (1, padding)]);
        assert_eq!(notices, [""; 0]);
        let (reads, notices) = recorded("gzip", 200, KEY, &[&packed, &[b'x'; 64]]);
        assert!(reads.is_empty() && notices.len() == 1, "{notices:?}");
    }

    #[test]
    fn a_long_compressed_reply_is_recorded_up_to_a_key() {
        let text = noise(20_000);
        let packed = gzip(text.as_bytes());
        assert!(packed.len() > 4 * PART_BYTES);
        let pieces: Vec<&[u8]> = packed.chunks(1000).collect();
        let (reads, notices) = recorded("gzip", 200, KEY, &pieces);
        assert!(reads.iter().map(|(_, bytes)| bytes.as_slice()).eq(pieces));
        assert_eq!(notices, [""; 0]);
        let packed = gzip(format!("{text}{KEY}{text}").as_bytes());
        let (reads, notices) = recorded("gzip", 200, KEY, &packed.chunks(1000).collect::<Vec<_>>());
        let bytes: Vec<u8> = reads.into_iter().flat_map(|(_, bytes)| bytes).collect();
        let decoded = Coding::Gzip.decoded(&bytes, u64::MAX).unwrap();
        assert!(decoded.len() > text.len() / 2 && text.as_bytes().starts_with(&decoded), "{} bytes", decoded.len());
        assert!(notices[0].contains("some bytes of this reply are not recorded"), "{notices:?}");
    }
}
