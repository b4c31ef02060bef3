//! The network traffic of a turn: the body without its messages, then every network read with its time.

use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::Frame;
use super::block::indent;
use super::block::json_rows;
use crate::event::Wire;
use crate::record::Attempt;
use crate::tui::colours::Language;
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::tui::transcript::card::TurnCard;
use crate::tui::transcript::format::{duration, plural, size};

/// Decoded bytes of one attempt that are shown; a compressed note may claim to hold more.
const MOST_BYTES: u64 = 4 << 20;

pub(super) fn rows(card: &TurnCard, frame: &Frame<'_>) -> Vec<Row> {
    let mut rows: Vec<Row> = card.record.attempts.iter().flat_map(|attempt| attempt_rows(attempt, frame)).collect();
    if rows.is_empty() {
        let text = "no network traffic: this model runs inside the program";
        rows.push(Row::new([Piece::literal(Role::Dim, text)]).indented(3));
    }
    rows
}

fn attempt_rows(attempt: &Attempt, frame: &Frame<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    if let Some(sent) = &attempt.sent {
        let by = sent.structured_by.map(|by| format!(" · structured output by {}", by.name())).unwrap_or_default();
        let text = format!("→ attempt {}  {} {} · {}{by}", attempt.number, sent.provider, sent.url, size(sent.bytes));
        rows.push(Row::new([Piece::new(Role::Accent, &text)]).indented(3));
        let text = "the body without its messages, which are in the request above; Enter, Wire shows the exact body";
        rows.push(Row::new([Piece::literal(Role::Dim, text)]).indented(3));
        rows.extend(indent(json_rows(sent.frame.as_str(), frame.body()), 3));
    }
    for wire in &attempt.wires {
        let status = wire.status.map_or_else(|| "no response".to_owned(), |status| status.to_string());
        let frames = frames(wire);
        let reads = plural(frames.len() as u64, "read");
        let text = format!("← attempt {}  {status} · {reads} · {}", attempt.number, size(wire.bytes));
        rows.push(Row::new([Piece::new(Role::Accent, &text)]).indented(3));
        for (ms, text) in frames {
            rows.push(Row::new([Piece::new(Role::Dim, &format!("+ {}", duration(ms)))]).indented(3));
            rows.extend(frame.text(&text, Language::Plain));
        }
    }
    rows
}

/// The network reads: milliseconds since sending and the bytes as text. Damaged notes give what can be read.
fn frames(wire: &Wire) -> Vec<(u64, String)> {
    let Ok(packed) = STANDARD.decode(&wire.frames) else { return Vec::new() };
    let mut lines = Vec::new();
    let unpacked = flate2::read::DeflateDecoder::new(packed.as_slice()).take(MOST_BYTES).read_to_end(&mut lines);
    if let Err(error) = unpacked {
        tracing::debug!(%error, "a wire note is damaged");
    }
    String::from_utf8_lossy(&lines)
        .lines()
        .filter_map(|line| {
            let (ms, packed): (u64, String) = serde_json::from_str(line).ok()?;
            let bytes = STANDARD.decode(packed).ok()?;
            Some((ms, String::from_utf8_lossy(&bytes).into_owned()))
        })
        .collect()
}
