//! Finds fenced blocks in a reply: backticks and tildes, with or without tag, on lines of their own or inside one line,
//! closed or not.
//!
//! In: reply text. Out: fences in order. One pass over the lines. A fence mark inside a JSON string is not recognized
//! as such here; the search that reads the content decides that.

use crate::text::Span;

/// A fenced block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence {
    /// The meaning of its tag.
    pub(super) tag: Tag,
    /// The block with its fences.
    pub(super) span: Span,
    /// The text between the fences.
    pub(super) content: Span,
    /// The end of the block.
    pub(super) end: End,
}

/// The end of a fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// By its closing mark.
    Closed,
    /// By the end of the text.
    Open,
}

/// The meaning of the word after the opening mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    /// JSON or a variant of it.
    Json,
    /// No word.
    Untagged,
    /// Another language.
    Other,
}

/// Tags that mean JSON, in lower case.
const JSON_TAGS: [&str; 6] = ["json", "json5", "jsonc", "jsonl", "ndjson", "application/json"];

impl Tag {
    /// The meaning of a fence's tag.
    pub(super) fn of(word: &str) -> Self {
        if word.is_empty() {
            Self::Untagged
        } else if JSON_TAGS.iter().any(|tag| tag.eq_ignore_ascii_case(word)) {
            Self::Json
        } else {
            Self::Other
        }
    }
}

/// Longer runs are decoration. The bound also keeps the search for closing marks linear.
const LONGEST_MARK: usize = 16;

/// A run of at least three fence characters.
#[derive(Debug, Clone, Copy)]
struct Mark {
    byte: u8,
    start: usize,
    end: usize,
}

/// A fence whose end has not been found.
struct OpenFence {
    mark: Mark,
    tag: Tag,
    content: usize,
    /// A mark inside a line that closes the fence if no better one follows.
    inline: Option<Mark>,
}

impl OpenFence {
    fn close(&self, at: Mark) -> Fence {
        Fence {
            tag: self.tag,
            span: Span::new(self.mark.start, at.end),
            content: Span::new(self.content, at.start.max(self.content)),
            end: End::Closed,
        }
    }
}

/// The fences inside `span` of `reply`.
pub(super) fn find(reply: &str, span: Span) -> Vec<Fence> {
    let mut fences = Vec::new();
    let mut opened: Option<OpenFence> = None;
    let mut line = span.start;
    while line < span.end {
        let end = reply[line..span.end].find('\n').map_or(span.end, |found| line + found + 1);
        opened = match opened.take() {
            None => open_in(reply, Span::new(line, end), &mut fences),
            Some(open) => close_in(reply, Span::new(line, end), open, &mut fences),
        };
        line = end;
    }
    if let Some(open) = opened {
        fences.push(match open.inline {
            Some(mark) => open.close(mark),
            None => Fence {
                tag: open.tag,
                span: Span::new(open.mark.start, span.end),
                content: Span::new(open.content.min(span.end), span.end),
                end: End::Open,
            },
        });
    }
    fences
}

/// Reads a line outside of fences: complete fences inside it are added to `fences`, one that remains open is returned.
fn open_in(reply: &str, line: Span, fences: &mut Vec<Fence>) -> Option<OpenFence> {
    let mut from = line.start;
    while let Some(mark) = next_mark(reply, from, line.end) {
        let first = reply[line.start..mark.start].trim_end().is_empty();
        if mark.byte == b'~' && !first {
            from = mark.end;
            continue;
        }
        let word = tag_word(reply, mark.end, line.end);
        if let Some(close) = closing_mark(reply, word.end, line.end, mark) {
            let content = Span::new(word.end, close.start);
            let (tag, content) = if content.text(reply).trim().is_empty() {
                (Tag::Untagged, Span::new(mark.end, close.start))
            } else {
                (Tag::of(word.text(reply)), content)
            };
            fences.push(Fence { tag, span: Span::new(mark.start, close.end), content, end: End::Closed });
            from = close.end;
            continue;
        }
        let tag = Tag::of(word.text(reply));
        let rest = reply[word.end..line.end].trim_start();
        if first || tag == Tag::Json || (tag == Tag::Untagged && rest.is_empty()) {
            let content = if rest.starts_with(['{', '[', '"']) { word.end } else { line.end };
            return Some(OpenFence { mark, tag, content, inline: None });
        }
        from = mark.end;
    }
    None
}

/// Reads a line inside a fence; returns the fence that is open after it.
fn close_in(reply: &str, line: Span, mut open: OpenFence, fences: &mut Vec<Fence>) -> Option<OpenFence> {
    let mut from = line.start;
    while let Some(mark) = closing_mark(reply, from, line.end, open.mark) {
        let first = reply[line.start..mark.start].trim_end().is_empty();
        let last = reply[mark.end..line.end].trim_start().is_empty();
        match (first, last, open.inline) {
            (_, true, _) => {
                fences.push(open.close(mark));
                return None;
            }
            (true, false, Some(inline)) => {
                fences.push(open.close(inline));
                return open_in(reply, line, fences);
            }
            (true, false, None) => {}
            (false, false, _) => open.inline = Some(mark),
        }
        from = mark.end;
    }
    Some(open)
}

/// The next run of at least three backticks or tildes.
fn next_mark(reply: &str, from: usize, end: usize) -> Option<Mark> {
    let bytes = &reply.as_bytes()[..end];
    let mut at = from;
    while let Some(found) = bytes.get(at..)?.iter().position(|b| matches!(b, b'`' | b'~')) {
        at += found;
        let byte = bytes[at];
        let run = bytes[at..].iter().take_while(|b| **b == byte).count();
        if (3..=LONGEST_MARK).contains(&run) {
            return Some(Mark { byte, start: at, end: at + run });
        }
        at += run;
    }
    None
}

/// The next run that can close a fence opened by `mark`: the same character, at least as many.
fn closing_mark(reply: &str, from: usize, end: usize, mark: Mark) -> Option<Mark> {
    let mut at = from;
    while let Some(next) = next_mark(reply, at, end) {
        if next.byte == mark.byte && next.end - next.start >= mark.end - mark.start {
            return Some(next);
        }
        at = next.end;
    }
    None
}

/// The tag after an opening mark (blanks before it are allowed).
fn tag_word(reply: &str, from: usize, end: usize) -> Span {
    let text = &reply[from..end];
    let start = from + (text.len() - text.trim_start_matches([' ', '\t']).len());
    let length = reply[start..end]
        .bytes()
        .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'+' | b'#' | b'.' | b'/' | b'-'))
        .count();
    Span::new(start, start + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(reply: &str) -> Vec<(Tag, &str, End)> {
        let fences = find(reply, Span::new(0, reply.len()));
        fences.iter().map(|fence| (fence.tag, fence.content.text(reply).trim(), fence.end)).collect()
    }

    #[test]
    fn fences_of_every_kind_are_found() {
        assert_eq!(contents("a\n```json\n{}\n```\nb"), [(Tag::Json, "{}", End::Closed)]);
        assert_eq!(contents("~~~ JSON5\n{}\n~~~~"), [(Tag::Json, "{}", End::Closed)]);
        assert_eq!(contents("````\n```\n````"), [(Tag::Untagged, "```", End::Closed)]);
        assert_eq!(contents("x: ```json {\"a\":1} ``` y"), [(Tag::Json, "{\"a\":1}", End::Closed)]);
        assert_eq!(contents("```true```"), [(Tag::Untagged, "true", End::Closed)]);
        assert_eq!(contents("```json{\"a\":\n1}```"), [(Tag::Json, "{\"a\":\n1}", End::Closed)]);
        assert_eq!(contents("```json\n{\"a\":1"), [(Tag::Json, "{\"a\":1", End::Open)]);
        assert_eq!(contents("  ```python title=x\nx = {}\n  ```"), [(Tag::Other, "x = {}", End::Closed)]);
    }

    #[test]
    fn a_closing_mark_inside_a_line_counts_when_no_better_one_comes() {
        let two = "```json\n{\"a\":1}``` first\n```json\n{\"b\":2}\n```";
        assert_eq!(contents(two), [(Tag::Json, "{\"a\":1}", End::Closed), (Tag::Json, "{\"b\":2}", End::Closed)]);
        assert_eq!(contents("```\n[1]``` done"), [(Tag::Untagged, "[1]", End::Closed)]);
    }

    #[test]
    fn an_inner_opening_mark_and_marks_in_prose_open_nothing() {
        let nested = "```json\n{\"code\": \"\n```rust\nfn\n\"}\n```";
        assert_eq!(contents(nested), [(Tag::Json, "{\"code\": \"\n```rust\nfn\n\"}", End::Closed)]);
        assert_eq!(contents("use ``` here\nand ~~~ there"), []);
    }
}
