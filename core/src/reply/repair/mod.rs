//! The tolerant JSON reader: text from a bracket on → tree and repairs.
//!
//! In: a text, a start offset, the recovery level, the meaning of the end of the text. Out: [`Read`] or [`Stop`]. At
//! level strict it reads exactly RFC 8259 (like `value::json::parse`). It must never panic, never read a byte more than
//! a few times, and never invent content that a truncated reply does not have.

mod attempt;
mod collection;
mod escaped;
mod number;
mod string;
mod word;

use super::fixes::{Fix, FixKind};
use super::options::Recovery;
use crate::limits::JSON_DEPTH;
use crate::text::Span;
use crate::value::Json;
use crate::value::json::{JsonError, Node};

pub(super) use attempt::attempt;
pub(super) use word::{is_literal, word_of};

/// The meaning of the end of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge {
    /// A mark closed it: the text before the end is complete.
    Closed,
    /// The end of a reply that the model finished.
    Reply,
    /// The end of a truncated reply.
    Cut,
}

/// A string of a value that ends later than where it first could, and the number of such places that it passes.
#[derive(Debug, Clone, Copy)]
pub(super) struct PutOff {
    /// The number of string values before it; keys do not count.
    pub(super) string: usize,
    /// Places where it could end and does not.
    pub(super) ends: usize,
}

/// A value that was read.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) json: Json,
    pub(super) fixes: Vec<Fix>,
    /// One past its last byte.
    pub(super) end: usize,
    /// Bytes examined, look-ahead included.
    pub(super) visited: usize,
}

/// The reason why no value was read.
#[derive(Debug)]
pub(super) struct Stop {
    pub(super) error: JsonError,
    /// The offset at which a search for another value may continue; `None` if the rest belongs to this one.
    pub(super) resume: Option<usize>,
    /// A key with its colon was read before the error: the bracket begins JSON, not prose.
    pub(super) has_member: bool,
    pub(super) visited: usize,
}

/// The position of a value; decides which quote ends a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueContext {
    Root,
    Key,
    Member,
    Item,
}

type Result<T> = std::result::Result<T, Fault>;

/// An error on its way to the caller.
struct Fault {
    error: JsonError,
    resume: Option<usize>,
}

/// Reads the value that starts at `start` (after white space); the text after it is ignored.
pub(super) fn read(text: &str, start: usize, level: Recovery, edge: Edge) -> std::result::Result<Read, Stop> {
    finished(Reader::new(text, start, level, edge), start)
}

/// [`read`] with one string that ends later than where it first could.
///
/// Errors: also if the string has no such end.
pub(super) fn read_otherwise(
    text: &str,
    start: usize,
    level: Recovery,
    edge: Edge,
    put_off: PutOff,
) -> std::result::Result<Read, Stop> {
    let reader = Reader { put_off: Some(put_off), ..Reader::new(text, start, level, edge) };
    finished(reader, start)
}

fn finished(mut reader: Reader<'_>, start: usize) -> std::result::Result<Read, Stop> {
    let outcome = reader.space().and_then(|()| reader.value(ValueContext::Root));
    match outcome {
        Ok(json) => {
            Ok(Read { json, end: reader.at, visited: reader.visited + (reader.at - start), fixes: reader.fixes })
        }
        Err(fault) => {
            let visited = reader.visited + (reader.furthest.max(reader.at) - start);
            Err(Stop { error: fault.error, resume: fault.resume, has_member: reader.has_member, visited })
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    level: Recovery,
    edge: Edge,
    /// The open brackets.
    open: Vec<u8>,
    fixes: Vec<Fix>,
    /// Look-ahead so far, in bytes.
    visited: usize,
    /// The last byte examined before a string was given up.
    furthest: usize,
    /// The end of the last number.
    number_end: usize,
    /// A key with its colon was read.
    has_member: bool,
    /// String values that were read.
    strings: usize,
    /// The string that ends later than where it first could.
    put_off: Option<PutOff>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, at: usize, level: Recovery, edge: Edge) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at,
            level,
            edge,
            open: Vec::new(),
            fixes: Vec::new(),
            visited: 0,
            furthest: at,
            number_end: usize::MAX,
            has_member: false,
            strings: 0,
            put_off: None,
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn char_at(&self, at: usize) -> Option<char> {
        self.text.get(at..).and_then(|rest| rest.chars().next())
    }

    fn starts_with(&self, at: usize, text: &str) -> bool {
        self.bytes.get(at..).is_some_and(|rest| rest.starts_with(text.as_bytes()))
    }

    fn lenient(&self) -> bool {
        self.level == Recovery::Lenient
    }

    fn allows(&self, kind: FixKind) -> bool {
        kind.row().level <= self.level
    }

    /// Records a repair, or fails if the level does not allow it.
    fn fix(&mut self, kind: FixKind, at: Span) -> Result<()> {
        if self.allows(kind) {
            self.fixes.push(Fix { kind, at });
            return Ok(());
        }
        let found = Span::new(at.start, at.end.max(at.start));
        let shown: String = found.text(self.text).chars().take(20).collect();
        if shown.is_empty() {
            return Err(self.error("expected valid JSON"));
        }
        let message = format!("found {shown:?}, which JSON does not allow");
        let error = JsonError { message, offset: at.start, incomplete: false };
        Err(Fault { error, resume: Some(at.start.max(self.at)) })
    }

    /// An error at the current offset, from which a search may continue, unless the text ends here.
    fn error(&self, expected: &str) -> Fault {
        let error = match self.char_at(self.at) {
            None => JsonError {
                message: format!("{expected}, found the end of the text"),
                offset: self.at,
                incomplete: true,
            },
            Some(c) => JsonError { message: format!("{expected}, found {c:?}"), offset: self.at, incomplete: false },
        };
        let resume = (!error.incomplete).then_some(self.at);
        Fault { error, resume }
    }

    /// Skips white space, and other text that the level allows in its place.
    fn space(&mut self) -> Result<()> {
        loop {
            while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
                self.at += 1;
            }
            let start = self.at;
            let kind = match self.peek() {
                None | Some(b'!'..=b'"' | b'$'..=b'.' | b'0'..=b'~') => return Ok(()),
                Some(b'/') => match self.bytes.get(self.at + 1) {
                    Some(b'/') => {
                        self.skip_line();
                        FixKind::Comment
                    }
                    Some(b'*') => {
                        self.skip_block()?;
                        FixKind::Comment
                    }
                    _ => return Ok(()),
                },
                Some(b'#') => {
                    self.skip_line();
                    FixKind::Comment
                }
                Some(0..=0x1f | 0x7f) => {
                    self.at += 1;
                    FixKind::ControlCharacter
                }
                Some(_) => match self.char_at(self.at) {
                    Some(c @ ('\u{feff}' | '\u{200b}')) => {
                        self.at += c.len_utf8();
                        if c == '\u{feff}' { FixKind::ByteOrderMark } else { FixKind::OddSpace }
                    }
                    Some(c) if c.is_whitespace() => {
                        self.at += c.len_utf8();
                        FixKind::OddSpace
                    }
                    _ => return Ok(()),
                },
            };
            let skipped = Span::new(start, self.at);
            if !self.allows(kind) {
                self.at = start;
                return Ok(());
            }
            self.fix(kind, skipped)?;
        }
    }

    fn skip_line(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
    }

    fn skip_block(&mut self) -> Result<()> {
        let body = self.text.get(self.at + 2..).unwrap_or_default();
        if let Some(end) = body.find("*/") {
            self.at += end + 4;
            return Ok(());
        }
        self.at = self.bytes.len();
        Err(self.error("expected '*/' to end the comment"))
    }

    fn value(&mut self, context: ValueContext) -> Result<Json> {
        let start = self.at;
        let node = match self.peek() {
            Some(b'{') => self.nested(b'{')?,
            Some(b'[') => self.nested(b'[')?,
            Some(b'(') if self.allows(FixKind::Parentheses) => {
                self.fix(FixKind::Parentheses, Span::new(start, start + 1))?;
                self.nested(b'(')?
            }
            Some(b'.') if !self.bytes.get(start + 1).is_some_and(u8::is_ascii_digit) => {
                return Err(self.error("expected a JSON value"));
            }
            Some(b'-' | b'+' | b'.' | b'0'..=b'9') => self.number(context)?,
            Some(_) if self.quote_here() => Node::Str(self.text_value(context)?),
            Some(_) => self.word(context)?,
            None => return Err(self.error("expected a JSON value")),
        };
        Ok(Json { node, span: Span::new(start, self.at) })
    }

    fn nested(&mut self, bracket: u8) -> Result<Node> {
        if self.open.len() as u64 >= JSON_DEPTH.max {
            let error = JsonError {
                message: format!("nested deeper than {} levels", JSON_DEPTH.max),
                offset: self.at,
                incomplete: false,
            };
            return Err(Fault { error, resume: None });
        }
        self.open.push(bracket);
        self.at += 1;
        let node = if bracket == b'{' { self.object()? } else { self.list(bracket)? };
        self.open.pop();
        Ok(node)
    }
}
