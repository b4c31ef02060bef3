//! The bytes on the wire in a turn, with times; without a wire, the pieces of the reply as they arrived.

use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ptc_core::value::json;

use super::{Body, Line, Mark, Part, Turn};
use crate::event::{Event, ReplyPart, Sent, Wire};
use crate::workbench::body::{plain_text, sent_bytes};
use crate::workbench::format::{plural, size};

/// Maximum number of decoded bytes of one attempt; limits a damaged or malicious compressed note.
const MOST_BYTES: u64 = 4 << 20;

/// A received piece of data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Time since sending, in ms.
    pub ms: u64,
    /// Its bytes as text.
    pub text: String,
}

pub(super) fn parts(turn: &Turn<'_>) -> Vec<Part> {
    let mut parts = Vec::new();
    for envelope in &turn.events {
        match &envelope.event {
            Event::Sent(sent) => {
                let by =
                    sent.structured_by.map(|by| format!(" · structured output by {}", by.name())).unwrap_or_default();
                parts.extend(body_parts(turn, sent, &format!("{} {}{by}", sent.provider, sent.url)));
            }
            Event::Wire(wire) => {
                let frames = frames(wire);
                let status = wire.status.map_or_else(|| "no response".to_owned(), |status| status.to_string());
                let mark = if wire.status.is_some_and(|status| status < 400) { Mark::Plain } else { Mark::Bad };
                let note = format!("{status} · {}", plural(frames.len() as u64, "read"));
                let part = Part::new(format!("← received {}", wire.attempt), Body::Frames(frames));
                parts.push(Part { bytes: wire.bytes, ..part.noted(note).marked(mark) });
            }
            Event::RetryWait(wait) => {
                let text = format!("{}: {}", wait.class, wait.message);
                let note = format!("waits {} ms", wait.wait_ms);
                parts.push(Part::new("retry", Body::Text(text)).noted(note).marked(Mark::Warn));
            }
            _ => {}
        }
    }
    parts.extend(deltas(turn));
    parts
}

/// Returns the body exactly as it was sent, and the same laid out. A body that cannot be rebuilt is marked, with the recorded part of it.
fn body_parts(turn: &Turn<'_>, sent: &Sent, note: &str) -> Vec<Part> {
    let title = format!("→ sent {}", sent.attempt);
    let at = format!("{}:{}", turn.address, sent.attempt);
    match sent_bytes(turn.session, &at) {
        Ok(bytes) => {
            let body = String::from_utf8_lossy(&bytes).into_owned();
            // A compressed body is laid out as it was before.
            let plain = || json::parse(&plain_text(turn.session, turn.address, &bytes)).ok();
            let tree = json::parse(&body).ok().or_else(plain).map(|tree| {
                let laid_out = Part::new(format!("{title} · tree"), Body::Tree(tree, Vec::new()));
                Part { bytes: sent.bytes, ..laid_out.noted("the same body laid out") }
            });
            let exact = Part::new(title, Body::Exact(body)).noted(note);
            std::iter::once(Part { bytes: sent.bytes, ..exact }).chain(tree).collect()
        }
        Err(error) => {
            let lines = vec![
                Line::new(Mark::Warn, format!("{} were sent; this is the body without its messages", size(sent.bytes))),
                Line::new(Mark::Dim, error.0),
            ];
            let why = Part::new(title.clone(), Body::Lines(lines)).noted(note).marked(Mark::Warn);
            let frame = Part::new(format!("{title} · tree"), Body::Tree(sent.frame.json(), Vec::new()));
            vec![Part { bytes: sent.bytes, ..why }, frame.noted("without its messages").marked(Mark::Warn)]
        }
    }
}

/// Returns the deltas of the reply, as the program received them.
fn deltas(turn: &Turn<'_>) -> Vec<Part> {
    let mut attempts: Vec<(u32, Vec<Frame>)> = Vec::new();
    for envelope in &turn.events {
        let Event::ReplyPart(part) = &envelope.event else { continue };
        match attempts.last_mut() {
            Some((attempt, frames)) if *attempt == part.attempt => frames.extend(pieces(part)),
            _ => attempts.push((part.attempt, pieces(part))),
        }
    }
    let part = |(attempt, frames): (u32, Vec<Frame>)| {
        let note = plural(frames.len() as u64, "piece");
        Part::new(format!("deltas {attempt}"), Body::Frames(frames)).noted(note)
    };
    attempts.into_iter().map(part).collect()
}

/// Splits a recorded part into its deltas; lengths that do not fit its text are ignored.
fn pieces(part: &ReplyPart) -> Vec<Frame> {
    let mut frames = Vec::new();
    let mut at = 0;
    for (length, ms) in part.lens.iter().zip(&part.ms) {
        let end = at + *length as usize;
        let Some(text) = part.text.get(at..end) else { break };
        frames.push(Frame { ms: u64::from(*ms), text: text.to_owned() });
        at = end;
    }
    if let Some(rest) = part.text.get(at..).filter(|rest| !rest.is_empty()) {
        let ms = part.ms.last().copied().unwrap_or_default();
        frames.push(Frame { ms: u64::from(ms), text: rest.to_owned() });
    }
    frames
}

/// Returns the network reads. Damaged notes give the readable part.
fn frames(wire: &Wire) -> Vec<Frame> {
    let Ok(packed) = STANDARD.decode(&wire.frames) else { return Vec::new() };
    let mut lines = Vec::new();
    let unpacked = flate2::read::DeflateDecoder::new(packed.as_slice()).take(MOST_BYTES).read_to_end(&mut lines);
    if let Err(error) = unpacked {
        tracing::debug!(%error, kept = size(lines.len() as u64), "a wire note is damaged");
    }
    String::from_utf8_lossy(&lines)
        .lines()
        .filter_map(|line| {
            let (ms, packed): (u64, String) = serde_json::from_str(line).ok()?;
            let bytes = STANDARD.decode(packed).ok()?;
            Some(Frame { ms, text: String::from_utf8_lossy(&bytes).into_owned() })
        })
        .collect()
}
