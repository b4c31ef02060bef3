//! Server-sent events and lines of JSON as push parsers over bytes.
//!
//! In: bytes as the network cut them, at any place. Out: events with their name and data.
//! Comments, ids and retry fields are read over. It must never depend on where the bytes were cut.

use ptc_core::text::without_mark;

/// Longest line and longest event, in bytes; a server that sends more is not speaking this protocol.
const EVENT_MAX_BYTES: usize = 16 * 1024 * 1024;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct SseEvent {
    /// Its name, when it has one.
    pub(super) name: Option<String>,
    /// Its data lines, joined by line feeds. Bytes that are not UTF-8 become U+FFFD.
    pub(super) data: String,
}

/// An event or line beyond [`EVENT_MAX_BYTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLong;

/// The parser's state between two pieces.
#[derive(Debug, Default)]
pub(super) struct SseReader {
    line: Vec<u8>,
    name: Option<String>,
    data: Option<String>,
    after_cr: bool,
    started: bool,
}

impl SseReader {
    /// Takes a piece of the stream; returns the events that became complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, TooLong> {
        let mut events = Vec::new();
        let mut rest = bytes;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (line, tail) = rest.split_at(end);
            self.line.extend_from_slice(line);
            rest = match tail {
                [b'\r', b'\n', next @ ..] | [_, next @ ..] => next,
                [] => &[],
            };
            self.after_cr = tail == b"\r";
            events.extend(self.end_line()?);
        }
        self.line.extend_from_slice(rest);
        self.check()?;
        Ok(events)
    }

    /// The stream is over: an event whose closing empty line is missing still counts.
    pub(super) fn finish(&mut self) -> Result<Option<SseEvent>, TooLong> {
        if !self.line.is_empty() {
            self.end_line()?;
        }
        Ok(self.take())
    }

    fn check(&self) -> Result<(), TooLong> {
        let size = self.line.len() + self.data.as_ref().map_or(0, String::len);
        if size > EVENT_MAX_BYTES { Err(TooLong) } else { Ok(()) }
    }

    fn end_line(&mut self) -> Result<Option<SseEvent>, TooLong> {
        self.check()?;
        let bytes = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&bytes);
        let line = if self.started { &*line } else { without_mark(&line) };
        self.started = true;
        if line.is_empty() {
            return Ok(self.take());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            // A name without letters is none.
            "event" => self.name = Some(value).filter(|name| !name.is_empty()).map(str::to_owned),
            _ => {}
        }
        Ok(None)
    }

    fn take(&mut self) -> Option<SseEvent> {
        let name = self.name.take();
        self.data.take().map(|data| SseEvent { name, data })
    }
}

/// Returns whether a body begins as a stream of events does; no JSON text begins so.
pub(super) fn is_event_stream(body: &[u8]) -> bool {
    const BEGINNINGS: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body).trim_ascii_start();
    BEGINNINGS.iter().any(|beginning| body.starts_with(beginning))
}

/// JSON texts, one a line, as a push parser over bytes.
#[derive(Debug, Default)]
pub(super) struct LineReader {
    line: Vec<u8>,
}

impl LineReader {
    /// Takes a piece of the stream; returns the lines that became complete, without their ends.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<String>, TooLong> {
        let mut lines = Vec::new();
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, tail) = rest.split_at(end);
            self.line.extend_from_slice(line);
            rest = tail.get(1..).unwrap_or_default();
            lines.extend(self.finish());
        }
        self.line.extend_from_slice(rest);
        if self.line.len() > EVENT_MAX_BYTES { Err(TooLong) } else { Ok(lines) }
    }

    /// The stream is over: a line whose end is missing still counts.
    pub(super) fn finish(&mut self) -> Option<String> {
        let bytes = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&bytes);
        let line = line.trim_matches(['\u{feff}', '\r', ' ']);
        (!line.is_empty()).then(|| line.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    use super::*;

    const SAMPLE: &str = "\u{feff}: hello\r\ndata: {\"a\":\"é😀\"}\r\n\r\nid: 7\nretry: 5\nevent: ping\ndata:\n\n\
                          data: one\rdata: two\r\r\n\n\ndata:  two spaces\n\nnonsense\nevent: lost\n\ndata: [DONE]";

    fn expected() -> Vec<SseEvent> {
        let event = |name: Option<&str>, data: &str| SseEvent { name: name.map(str::to_owned), data: data.to_owned() };
        vec![
            event(None, "{\"a\":\"é😀\"}"),
            event(Some("ping"), ""),
            event(None, "one\ntwo"),
            event(None, " two spaces"),
            event(None, "[DONE]"),
        ]
    }

    fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<SseEvent> {
        let mut reader = SseReader::default();
        let mut events = Vec::new();
        for piece in pieces {
            events.extend(reader.push(piece).unwrap());
        }
        events.extend(reader.finish().unwrap());
        events
    }

    #[test]
    fn fields_comments_and_every_line_end_are_read() {
        assert_eq!(read([SAMPLE.as_bytes()]), expected());
    }

    #[test]
    fn every_single_byte_may_come_alone() {
        assert_eq!(read(SAMPLE.as_bytes().chunks(1)), expected());
        for cut in 0..=SAMPLE.len() {
            let (first, second) = SAMPLE.as_bytes().split_at(cut);
            assert_eq!(read([first, second]), expected(), "cut at {cut}");
        }
    }

    /// A stream made by chance, and what another reader found in it: see `tests/peers/events.mjs`.
    #[derive(serde::Deserialize)]
    struct ReferenceStream {
        bytes: String,
        events: Vec<(Option<String>, String)>,
    }

    /// Only at the end of a stream we read more than that reader: an event whose closing empty line is missing counts here, because
    /// some services leave it out, and by the standard it is lost.
    #[test]
    fn an_independent_reader_finds_the_same_events() {
        let streams: Vec<ReferenceStream> =
            serde_json::from_str(include_str!("../../tests/model/events.json")).unwrap();
        assert!(streams.len() > 200);
        for ReferenceStream { bytes, events } in streams {
            let bytes = STANDARD.decode(bytes).unwrap();
            let shown = String::from_utf8_lossy(&bytes).into_owned();
            let expected: Vec<_> = events.into_iter().map(|(name, data)| SseEvent { name, data }).collect();
            for size in [1, 2, 3, 7, bytes.len().max(1)] {
                let mut reader = SseReader::default();
                let found: Vec<_> = bytes.chunks(size).flat_map(|piece| reader.push(piece).unwrap()).collect();
                assert_eq!(found, expected, "{shown:?} in pieces of {size}");
            }
        }
    }

    #[test]
    fn lines_may_be_cut_anywhere() {
        let sample = "\u{feff}{\"a\":\"é😀\"}\r\n\n{\"b\":1}\n{\"c\":2}";
        let expected = ["{\"a\":\"é😀\"}", "{\"b\":1}", "{\"c\":2}"];
        let read = |pieces: &[&[u8]]| {
            let mut reader = LineReader::default();
            let mut lines: Vec<String> = pieces.iter().flat_map(|piece| reader.push(piece).unwrap()).collect();
            lines.extend(reader.finish());
            lines
        };
        for cut in 0..=sample.len() {
            let (first, second) = sample.as_bytes().split_at(cut);
            assert_eq!(read(&[first, second]), expected, "cut at {cut}");
        }
        let single: Vec<&[u8]> = sample.as_bytes().chunks(1).collect();
        assert_eq!(read(&single), expected);
    }

    #[test]
    fn a_line_without_end_is_refused_in_time() {
        let mut reader = SseReader::default();
        let piece = vec![b'x'; EVENT_MAX_BYTES / 2];
        assert!(reader.push(&piece).is_ok());
        assert!(reader.push(&piece).is_ok());
        assert_eq!(reader.push(b"x"), Err(TooLong));
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_give_the_same_events(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b':'), Just(b' '), Just(b'd'), any::<u8>()], 0..60),
            cut in 0usize..60,
        ) {
            let cut = cut.min(bytes.len());
            let whole = read([bytes.as_slice()]);
            let (first, second) = bytes.split_at(cut);
            prop_assert_eq!(&read([first, second]), &whole);
            prop_assert_eq!(&read(bytes.chunks(1)), &whole);
        }
    }
}
