//! The export `asciicast`: a recording of a terminal, version 3, from pieces of text and their times.
//!
//! In: text that is already safe for a terminal. Out: a header line and one line per piece: `[seconds since the one before, "o", text]`.

use super::story::Content;
use super::text::escaped;

/// Text that was printed at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Unix time in ms.
    pub at_ms: i64,
    /// Safe text; line feeds end lines.
    pub text: String,
}

/// Longest pause in seconds that players are asked to keep: a run may have waited for the user over night.
const IDLE_SECONDS: u32 = 60;

/// The recording. `size` is columns and rows.
pub fn asciicast(content: &Content, pieces: &[Piece], size: (u16, u16)) -> String {
    let (cols, rows) = size;
    let header = serde_json::json!({
        "version": 3,
        "term": {"cols": cols, "rows": rows},
        "timestamp": content.created_ms.max(0) / 1000,
        "idle_time_limit": IDLE_SECONDS,
        "title": super::text::one_line(&format!("ptc-workbench session {}", content.session)),
    });
    let mut out = escaped(&header.to_string());
    out.push('\n');
    let mut before_ms = pieces.first().map_or(0, |piece| piece.at_ms);
    for piece in pieces.iter().filter(|piece| !piece.text.is_empty()) {
        // A clock that was set back must not turn time around.
        let wait_ms = crate::event::elapsed_ms(before_ms, piece.at_ms);
        before_ms = before_ms.max(piece.at_ms);
        let text = super::text::visible(&piece.text).replace('\n', "\r\n");
        let text = serde_json::Value::String(text).to_string();
        out.push_str(&escaped(&format!("[{}.{:03}, \"o\", {text}]\n", wait_ms / 1000, wait_ms % 1000)));
    }
    out.push_str("[0.000, \"x\", \"0\"]\n");
    out
}
