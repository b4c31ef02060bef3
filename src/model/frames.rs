//! Replies of providers read from bytes alone, as a connection delivers them in pieces.
//!
//! In: a protocol, bytes, the size of the pieces. Out: the number of pieces of the reply that were understood. For
//! fuzzing: the same readers as a live reply, without a connection.

use super::assembly::Assembly;
use super::calls::Respond;
use super::language::Framing;
use super::protocols::language;
use super::stream::{LineReader, SseReader};
use crate::config::Protocol;

/// Reads a streamed reply. Returns how many pieces of text, reasoning or calls it contained.
#[must_use]
pub fn read_frames(protocol: Protocol, bytes: &[u8], piece_bytes: usize) -> usize {
    let language = language(protocol);
    let (mut reader, mut assembly) = (language.reader(), Assembly::new(Respond::Absent));
    let mut frames: Vec<String> = Vec::new();
    match language.framing() {
        Framing::Events => {
            let mut events = SseReader::default();
            for piece in bytes.chunks(piece_bytes.max(1)) {
                match events.push(piece) {
                    Ok(read) => frames.extend(read.into_iter().map(|event| event.data)),
                    Err(_) => break,
                }
            }
            frames.extend(events.finish().ok().flatten().map(|event| event.data));
        }
        Framing::Lines => {
            let mut lines = LineReader::default();
            for piece in bytes.chunks(piece_bytes.max(1)) {
                match lines.push(piece) {
                    Ok(read) => frames.extend(read),
                    Err(_) => break,
                }
            }
            frames.extend(lines.finish());
        }
    }
    frames.iter().filter_map(|frame| reader.take(frame, &mut assembly).ok()).map(|pieces| pieces.len()).sum()
}
