//! The lines that a server writes to its stdout, before they are parsed.
//!
//! In: the server's stdout. Out: the same lines, except those that the protocol library would drop without an answer: lines that are
//! nested too deep or too long. Where such a line answers a request, an error that names the problem takes its place. Lines that are no
//! messages, such as a banner, are also in the log. It must never hold more than [`MAX_BYTES`] of a line.

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};

use super::log::Log;

/// Levels of nesting that the JSON reader of the protocol library takes; it counts 128 with its own.
const MAX_DEPTH: usize = 120;
/// Bytes of a line. The limit of the protocol library is larger.
const MAX_BYTES: usize = 15 * 1024 * 1024;
/// Maximum number of logged lines that are not messages.
const MAX_LOGGED: usize = 50;
/// Bytes of the id of a message.
const MAX_ID_BYTES: usize = 100;

/// Copies lines until one of the sides is closed.
pub(super) async fn copy_lines(from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, log: &Log) {
    let mut from = BufReader::new(from);
    let (mut line, mut scan, mut logged) = (Vec::new(), Scan::default(), 0);
    loop {
        let piece = match from.fill_buf().await {
            Ok([]) | Err(_) => return,
            Ok(piece) => piece,
        };
        let end = piece.iter().position(|byte| *byte == b'\n');
        let piece = &piece[..end.map_or(piece.len(), |end| end + 1)];
        for byte in piece {
            scan.take(*byte);
        }
        if scan.problem().is_none() {
            line.extend_from_slice(piece);
        } else {
            line.clear();
        }
        let length = piece.len();
        from.consume(length);
        if end.is_none() {
            continue;
        }
        let scanned = std::mem::take(&mut scan);
        let text = std::mem::take(&mut line);
        let written = match scanned.problem() {
            None => {
                if logged < MAX_LOGGED && is_no_message(&text) {
                    logged += 1;
                    log.push_line(String::from_utf8_lossy(&text).trim_end());
                }
                to.write_all(&text).await
            }
            Some(problem) => {
                log.push_line(&format!("a message was refused: {problem}"));
                match scanned.answer(&problem) {
                    Some(answer) => to.write_all(answer.as_bytes()).await,
                    None => Ok(()),
                }
            }
        };
        if written.is_err() || to.flush().await.is_err() {
            return;
        }
    }
}

/// Returns whether it is a line for readers: neither blank nor the beginning of JSON.
fn is_no_message(line: &[u8]) -> bool {
    line.trim_ascii().first().is_some_and(|byte| !matches!(byte, b'{' | b'['))
}

/// Depth, length and id of a message, read byte by byte.
#[derive(Default)]
struct Scan {
    bytes: usize,
    depth: usize,
    deepest: usize,
    in_string: bool,
    is_escaped: bool,
    /// The value of the key `id` of the message follows, or is being read.
    is_id: bool,
    /// The text of the last string or number of the message itself, with its quotes.
    token: Vec<u8>,
    id: Option<String>,
}

impl Scan {
    fn take(&mut self, byte: u8) {
        self.bytes += 1;
        if self.depth == 1 {
            self.add_to_token(byte);
        }
        if self.in_string {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => self.in_string = true,
            b'[' | b'{' => {
                self.depth += 1;
                self.deepest = self.deepest.max(self.depth);
                self.token.clear();
            }
            b']' | b'}' => {
                self.end_member();
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 => {
                self.is_id = self.token == b"\"id\"";
                self.token.clear();
            }
            b',' => self.end_member(),
            _ => {}
        }
    }

    fn add_to_token(&mut self, byte: u8) {
        if byte == b'"' && !self.in_string {
            self.token.clear();
        }
        let is_part = self.in_string || !(byte.is_ascii_whitespace() || matches!(byte, b':' | b',' | b'}'));
        if is_part && self.token.len() < MAX_ID_BYTES {
            self.token.push(byte);
        }
    }

    fn end_member(&mut self) {
        if self.depth == 1 {
            let token = std::mem::take(&mut self.token);
            if std::mem::take(&mut self.is_id) {
                self.id = String::from_utf8(token).ok().filter(|id| !id.is_empty());
            }
        }
    }

    /// The reason why the line is not passed on.
    fn problem(&self) -> Option<String> {
        if self.deepest > MAX_DEPTH {
            Some(format!("it is nested more than {MAX_DEPTH} levels deep"))
        } else if self.bytes > MAX_BYTES {
            Some(format!("it is longer than {MAX_BYTES} bytes"))
        } else {
            None
        }
    }

    /// The error that answers the request; `None` if the line answers none.
    fn answer(&self, problem: &str) -> Option<String> {
        let id: serde_json::Value = serde_json::from_str(self.id.as_ref()?).ok()?;
        let is_id = id.is_string() || id.is_number();
        let error = serde_json::json!({"code": -32_700, "message": format!("the answer cannot be read: {problem}")});
        is_id.then(|| format!("{}\n", serde_json::json!({"jsonrpc": "2.0", "id": id, "error": error})))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn copied(text: &str) -> (String, Vec<String>) {
        let (log, mut out) = (Log::default(), Vec::new());
        copy_lines(text.as_bytes(), &mut out, &log).await;
        (String::from_utf8(out).unwrap(), log.lines())
    }

    fn nested(levels: usize) -> String {
        format!("{}1{}", "[".repeat(levels), "]".repeat(levels))
    }

    #[tokio::test]
    async fn lines_that_are_no_messages_are_in_the_log() {
        let text = "Starting up…\r\n\n  \n{\"id\":1}\n [1]\nnpm warn x\n";
        let (out, log) = copied(text).await;
        assert_eq!((out.as_str(), log), (text, vec!["Starting up…".to_owned(), "npm warn x".to_owned()]));
    }

    #[tokio::test]
    async fn lines_that_can_be_read_are_the_same() {
        let text = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}}\n\n{{\"a\":\"{}\"}}\n",
            nested(MAX_DEPTH - 1),
            "[".repeat(500)
        );
        assert_eq!(copied(&text).await, (text, vec![]));
    }

    #[tokio::test]
    async fn a_line_that_is_nested_too_deep_is_answered_with_an_error_wherever_its_id_is() {
        let (deep, text) = (nested(MAX_DEPTH), "x:\\\"id\\\":9,}");
        for (line, id) in [
            (format!("{{\"id\":7,\"result\":{deep}}}"), "7"),
            (format!("{{\"result\":{{\"id\":3,\"x\":{deep}}},\"a\":\"{text}\", \"id\" : 7 }}"), "7"),
            (format!("{{\"result\":{deep},\"jsonrpc\":\"2.0\",\"id\":\"a b\"}}"), "\"a b\""),
        ] {
            let (out, log) = copied(&format!("{line}\n{{\"id\":8}}\n")).await;
            let Some((first, second)) = out.split_once('\n') else { panic!("{out}") };
            assert!(first.contains("nested more than 120 levels deep"), "{first}");
            assert!(first.contains(&format!("\"id\":{id}")), "{line}: {first}");
            assert_eq!(second, "{\"id\":8}\n");
            assert_eq!(log, ["a message was refused: it is nested more than 120 levels deep"]);
        }
        let (out, log) = copied(&format!("{{\"method\":\"x\",\"params\":{deep}}}\n")).await;
        assert_eq!((out.as_str(), log.len()), ("", 1), "a notification has no answer");
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_answered_with_an_error() {
        let (out, _) = copied(&format!("{{\"result\":\"{}\",\"id\":1}}\n", "x".repeat(MAX_BYTES))).await;
        assert!(out.contains("longer than 15728640 bytes") && out.contains("\"id\":1"), "{out}");
    }
}
