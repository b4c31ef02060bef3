//! JSON with one level of escapes too many: `"{\"a\": 1}"` as a whole, or `{\"a\": 1}` without the outer quotes.
//!
//! In: the same as the tolerant reader. Out: the tree of the unescaped text, its spans mapped back to the original.

use super::string::unicode_escape;
use super::{Edge, FixKind, Read, Recovery, Stop, read};
use crate::reply::fixes::Fix;
use crate::text::Span;
use crate::value::Json;
use crate::value::json::{JsonError, Node, escaped};

/// A text with one level of escapes removed.
struct UnescapedText {
    text: String,
    /// Starts of runs with equal distance: offset in `text`, offset in the original.
    runs: Vec<(usize, usize)>,
    /// The end of the part of the original that was read.
    end: usize,
}

/// Reads JSON that is escaped at `start`: a string that contains it, or a bracket followed by an escaped quote.
pub(in crate::reply) fn read_escaped(source: &str, start: usize, level: Recovery, edge: Edge) -> Result<Read, Stop> {
    let quoted = source.as_bytes().get(start) == Some(&b'"');
    let from = start + usize::from(quoted);
    let stop = |message: &str, offset: usize, visited: usize| {
        let error = JsonError { message: message.to_owned(), offset, incomplete: offset >= source.len() };
        Stop { error, resume: Some(from), has_member: false, visited }
    };
    if FixKind::EscapedJson.row().level > level {
        return Err(stop("expected JSON that is not escaped", start, 1));
    }
    let unescaped = unescape(source, from, quoted);
    let seen = unescaped.end - start;
    let closed = source.as_bytes().get(unescaped.end) == Some(&b'"');
    if quoted && !closed {
        return Err(stop("the text ends inside a string", source.len(), seen));
    }
    if quoted && !unescaped.text.trim_start().starts_with(['{', '[']) {
        return Err(stop("expected an object or a list", start, seen));
    }
    let edge = if quoted { Edge::Closed } else { edge };
    let inner = read(&unescaped.text, 0, Recovery::Strict, edge).or_else(|_| read(&unescaped.text, 0, level, edge));
    let mut read = inner.map_err(|mut stop| {
        stop.error.offset = unescaped.original(stop.error.offset);
        stop.resume = stop.resume.map(|_| from);
        stop.visited += seen;
        stop
    })?;
    if quoted && unescaped.text.get(read.end..).is_some_and(|rest| !rest.trim().is_empty()) {
        return Err(stop("expected the end of the string", unescaped.original(read.end), seen + read.visited));
    }
    unescaped.map_back(&mut read.json);
    for fix in &mut read.fixes {
        fix.at = unescaped.span(fix.at);
    }
    let end = if quoted { unescaped.end + 1 } else { unescaped.original(read.end) };
    read.fixes.insert(0, Fix { kind: FixKind::EscapedJson, at: Span::new(start, end) });
    Ok(Read { end, visited: 2 * read.visited + seen, ..read })
}

/// Removes one level of escapes, up to an unescaped quote if `quoted`, else to the end.
fn unescape(source: &str, from: usize, quoted: bool) -> UnescapedText {
    let mut out = UnescapedText { text: String::new(), runs: vec![(0, from)], end: from };
    let mut rest = source.get(from..).unwrap_or_default();
    loop {
        let plain = rest.find(|c| c == '\\' || (quoted && c == '"')).unwrap_or(rest.len());
        out.text.push_str(&rest[..plain]);
        out.end += plain;
        rest = &rest[plain..];
        let Some((c, length)) = rest.strip_prefix('\\').and_then(|behind| escape_of(rest, behind)) else { break };
        out.text.push(c);
        out.end += length;
        rest = rest.get(length..).unwrap_or_default();
        out.runs.push((out.text.len(), out.end));
    }
    out
}

/// The character of the escape at the start of `escape`, and its length; a single backslash stays a backslash.
fn escape_of(escape: &str, behind: &str) -> Option<(char, usize)> {
    match behind.bytes().next()? {
        b'u' => unicode_escape(escape.as_bytes()).or(Some(('\\', 1))),
        byte => Some(escaped(byte).map_or(('\\', 1), |c| (c, 2))),
    }
}

impl UnescapedText {
    fn original(&self, offset: usize) -> usize {
        let run = self.runs.partition_point(|(start, _)| *start <= offset).saturating_sub(1);
        self.runs.get(run).map_or(self.end, |(start, original)| original + (offset - start)).min(self.end)
    }

    fn span(&self, span: Span) -> Span {
        Span::new(self.original(span.start), self.original(span.end))
    }

    /// Maps the spans of a tree back to the original (at most `json_depth` levels deep).
    fn map_back(&self, json: &mut Json) {
        json.span = self.span(json.span);
        match &mut json.node {
            Node::List(items) => items.iter_mut().for_each(|item| self.map_back(item)),
            Node::Object(members) => {
                for member in members {
                    member.key_span = self.span(member.key_span);
                    self.map_back(&mut member.value);
                }
            }
            _ => {}
        }
    }
}
