//! The recording of an attempt's raw bytes with their times, and its packed form in a `wire` event.
//!
//! In: bytes as each network read gave them. Out: a [`Wire`], and the reads again from one.
//! The packed form must never contain a known secret.

use std::io::{Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use tokio::time::Instant;

use super::scrub::Scrub;
use crate::event::Wire;

/// The bytes of one attempt as they came.
#[derive(Debug)]
pub(super) struct Tape {
    start: Instant,
    /// Status of the response.
    pub(super) status: Option<u16>,
    bytes: Vec<u8>,
    reads: Vec<(u64, usize)>,
}

impl Tape {
    /// Starts with the sending.
    pub(super) fn start() -> Self {
        Self { start: Instant::now(), status: None, bytes: Vec::new(), reads: Vec::new() }
    }

    /// Notes one network read.
    pub(super) fn note(&mut self, bytes: &[u8]) {
        self.reads.push((self.elapsed_ms(), bytes.len()));
        self.bytes.extend_from_slice(bytes);
    }

    /// Milliseconds since the sending.
    pub(super) fn elapsed_ms(&self) -> u64 {
        millis(self.start.elapsed())
    }

    /// Bytes so far.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The event, with secrets masked; `None` when nothing came back. `echoes` is the number of secrets found in the decoded text: when the
    /// bytes show fewer, a secret came in pieces, and the frames are withheld.
    pub(super) fn wire(mut self, attempt: u32, scrub: &Scrub, echoes: usize) -> Option<Wire> {
        self.status?;
        let frames = if scrub.blot(&mut self.bytes) < echoes { String::new() } else { self.pack().unwrap_or_default() };
        Some(Wire { attempt, status: self.status, frames, bytes: u64::try_from(self.bytes.len()).unwrap_or(u64::MAX) })
    }

    fn pack(&self) -> std::io::Result<String> {
        let mut rest = self.bytes.as_slice();
        pack(self.reads.iter().map(|(ms, len)| {
            let (read, tail) = rest.split_at_checked(*len).unwrap_or((rest, &[]));
            rest = tail;
            (*ms, read)
        }))
    }
}

/// The frames of a `wire` event: reads with their times in ms since sending.
pub fn pack<'b>(reads: impl Iterator<Item = (u64, &'b [u8])>) -> std::io::Result<String> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    for (ms, read) in reads {
        writeln!(encoder, "[{ms},\"{}\"]", STANDARD.encode(read))?;
    }
    Ok(STANDARD.encode(encoder.finish()?))
}

/// A time span in whole milliseconds.
pub(super) fn millis(span: std::time::Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// Maximum bytes of unpacked frames; a body of a reply is far smaller.
const MAX_UNPACKED_BYTES: u64 = 256 << 20;

/// The reads of a `wire` event: milliseconds since sending, and bytes. An error says which layer is damaged.
pub fn unpack(wire: &Wire) -> Result<Vec<(u64, Vec<u8>)>, String> {
    if wire.frames.is_empty() {
        return Ok(Vec::new());
    }
    let packed = STANDARD.decode(&wire.frames).map_err(|error| format!("the frames are not base64: {error}"))?;
    let mut lines = String::new();
    // Deflated text of a few bytes may be gigabytes long.
    DeflateDecoder::new(packed.as_slice())
        .take(MAX_UNPACKED_BYTES)
        .read_to_string(&mut lines)
        .map_err(|error| format!("the frames are not deflated text: {error}"))?;
    lines
        .lines()
        .map(|line| {
            let (ms, read): (u64, String) = serde_json::from_str(line).map_err(|error| format!("a frame: {error}"))?;
            STANDARD.decode(read).map(|bytes| (ms, bytes)).map_err(|error| format!("a frame is not base64: {error}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::secret::Secret;
    use super::*;

    fn scrub() -> Scrub {
        Scrub::new([Secret::new("sk-secret-1")])
    }

    #[tokio::test(start_paused = true)]
    async fn reads_come_back_with_their_times_and_without_secrets() {
        let mut tape = Tape::start();
        tape.status = Some(200);
        tape.note(b"a sk-sec");
        tokio::time::advance(std::time::Duration::from_millis(40)).await;
        tape.note(b"ret-1 \xff");
        let wire = tape.wire(2, &scrub(), 1).unwrap();
        assert_eq!((wire.attempt, wire.status, wire.bytes), (2, Some(200), 15));
        assert_eq!(unpack(&wire).unwrap(), [(0, b"a ******".to_vec()), (40, b"***** \xff".to_vec())]);
    }

    #[tokio::test]
    async fn frames_are_withheld_when_the_text_contained_a_secret_that_the_bytes_do_not_show() {
        let mut tape = Tape::start();
        tape.status = Some(200);
        tape.note(br#""sk-" + "secret-1""#);
        let wire = tape.wire(1, &scrub(), 1).unwrap();
        assert_eq!((wire.frames.as_str(), wire.bytes), ("", 18));
        assert_eq!(unpack(&wire).unwrap(), []);
    }
}
