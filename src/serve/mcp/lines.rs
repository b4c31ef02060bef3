//! The lines of a client, each up to a limit.
//!
//! In: bytes. Out: lines; of one that is too long only this fact. It must never lose a part of a line when a read is cancelled.

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// Maximum bytes of a line, its end included.
pub(super) const MAX_BYTES: usize = 16 << 20;

/// A line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Its bytes, the end included.
    Whole(Vec<u8>),
    /// It has more than [`MAX_BYTES`].
    TooLong,
}

/// Reads lines.
#[derive(Debug)]
pub(super) struct Lines<R> {
    input: BufReader<R>,
    /// Bytes of the next line that were read so far.
    line: Vec<u8>,
    /// The next line exceeds the limit.
    is_too_long: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input: BufReader::new(input), line: Vec::new(), is_too_long: false }
    }

    /// The next line; the last one may lack its end. `None` at the end of the input, and when it cannot be read any more. A cancelled
    /// call loses nothing.
    pub(super) async fn next(&mut self) -> Option<Line> {
        loop {
            let available = self.input.fill_buf().await.unwrap_or_default();
            let is_end = available.is_empty();
            let newline = available.iter().position(|byte| *byte == b'\n');
            let count = newline.map_or(available.len(), |index| index + 1);
            if self.line.len() + count > MAX_BYTES {
                self.is_too_long = true;
                self.line = Vec::new();
            }
            if !self.is_too_long {
                self.line.extend_from_slice(&available[..count]);
            }
            self.input.consume(count);
            if is_end && self.line.is_empty() && !self.is_too_long {
                return None;
            }
            if is_end || newline.is_some() {
                let line = std::mem::take(&mut self.line);
                let is_too_long = std::mem::take(&mut self.is_too_long);
                return Some(if is_too_long { Line::TooLong } else { Line::Whole(line) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt as _;

    #[tokio::test]
    async fn lines_end_at_newlines_and_at_the_end_of_the_input() {
        let mut lines = Lines::new(&b"a\r\n\nb"[..]);
        for expected in ["a\r\n", "\n", "b"] {
            assert_eq!(lines.next().await, Some(Line::Whole(expected.as_bytes().to_vec())));
        }
        assert_eq!(lines.next().await, None);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_reported_once_and_the_next_one_is_read() {
        let text = format!("{}\nb\n", "a".repeat(MAX_BYTES));
        let mut lines = Lines::new(text.as_bytes());
        assert_eq!(lines.next().await, Some(Line::TooLong));
        assert_eq!(lines.next().await, Some(Line::Whole(b"b\n".to_vec())));
        assert_eq!(lines.next().await, None);
    }

    #[tokio::test]
    async fn a_cancelled_read_loses_nothing() {
        let (mut own, theirs) = tokio::io::duplex(64);
        let mut lines = Lines::new(theirs);
        own.write_all(b"first ").await.unwrap();
        tokio::select! {
            biased;
            line = lines.next() => panic!("{line:?}"),
            () = tokio::task::yield_now() => {}
        }
        own.write_all(b"part\n").await.unwrap();
        assert_eq!(lines.next().await, Some(Line::Whole(b"first part\n".to_vec())));
    }
}
