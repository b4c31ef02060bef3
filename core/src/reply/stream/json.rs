//! The push parser: turns JSON text that arrives in pieces into a state and a partial tree.
//!
//! In: pieces of text. Out: the number of bytes consumed, [`JsonState`], [`PartialJson`]. A finished text gives the same tree
//! as the strict reader. Raw control characters in strings and commas before closers are accepted, as most such replies
//! will be repaired later; any other invalid JSON ends the reading.

use super::state::{JsonState, JsonToken, LevelParts, OpenLevel, OuterKind, PartialJson, PathStep, Phase};
use crate::limits::JSON_DEPTH;
use crate::text::Span;
use crate::value::Json;
use crate::value::json::{JsonError, Member, Members, Node, escaped, parse};

/// An incremental JSON reader.
#[derive(Debug, Clone, Default)]
pub struct JsonPush {
    /// The offset of the text in its source.
    start: usize,
    /// Bytes consumed, plus that offset.
    at: usize,
    bytes_examined: usize,
    stack: Vec<Frame>,
    expect: Expect,
    lexeme: Option<Lexeme>,
    root: Option<Json>,
    error: Option<JsonError>,
}

/// An open object or list.
#[derive(Debug, Clone)]
struct Frame {
    start: usize,
    body: Body,
}

#[derive(Debug, Clone)]
enum Body {
    Object { members: Members, key: Option<(String, Span)> },
    List(Vec<Json>),
}

/// The tokens that may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Expect {
    #[default]
    Value,
    ValueOrEnd,
    KeyOrEnd,
    Colon,
    CommaOrEnd,
    Nothing,
}

/// The token being read.
#[derive(Debug, Clone)]
struct Lexeme {
    token: JsonToken,
    start: usize,
    /// The text so far: decoded for strings and keys, unchanged for others.
    text: String,
    escape: Escape,
    /// A high surrogate that needs its second half.
    high: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    None,
    Backslash,
    Unicode { digits: u8, code: u32 },
}

impl JsonPush {
    /// A reader for a text that begins at byte `offset` of its source; spans refer to the source.
    pub fn at(offset: usize) -> Self {
        Self { start: offset, at: offset, ..Self::default() }
    }

    /// Takes the next piece. Returns the number of bytes consumed: less than all if the value was complete or invalid.
    pub fn push(&mut self, piece: &str) -> usize {
        let begin = self.at;
        let mut rest = piece;
        while !rest.is_empty() && self.error.is_none() && self.expect != Expect::Nothing {
            let taken = match &self.lexeme {
                None => self.between(rest),
                Some(lexeme) => match lexeme.token {
                    JsonToken::Key | JsonToken::String => self.in_string(rest),
                    JsonToken::Number | JsonToken::Word => self.in_plain(rest),
                },
            };
            self.bytes_examined += taken + 1;
            self.at += taken;
            rest = rest.get(taken..).unwrap_or_default();
        }
        self.at - begin
    }

    /// Ends the text: a number at the end is complete, anything else open remains open.
    pub fn finish(&mut self) {
        if self.error.is_none()
            && self.lexeme.as_ref().is_some_and(|lexeme| matches!(lexeme.token, JsonToken::Number | JsonToken::Word))
        {
            self.end_plain();
        }
    }

    /// The progress of reading.
    pub fn phase(&self) -> Phase {
        if self.error.is_some() {
            Phase::Failed
        } else if self.expect == Expect::Nothing {
            Phase::Complete
        } else if self.stack.is_empty() && self.lexeme.is_none() {
            Phase::Empty
        } else {
            Phase::Open
        }
    }

    /// Bytes examined so far; grows with the text, not with the number of pieces.
    pub fn bytes_examined(&self) -> usize {
        self.bytes_examined
    }

    /// The error that stopped the reading.
    pub fn error(&self) -> Option<&JsonError> {
        self.error.as_ref()
    }

    /// The part of the source that was consumed.
    pub fn span(&self) -> Span {
        Span::new(self.start, self.at)
    }

    /// The open objects and lists, outermost first.
    pub fn levels(&self) -> impl Iterator<Item = OpenLevel<'_>> {
        self.stack.iter().map(|frame| {
            let (parts, key) = match &frame.body {
                Body::Object { members, key } => (LevelParts::Object(members.as_slice()), key.as_ref()),
                Body::List(items) => (LevelParts::List(items), None),
            };
            OpenLevel { start: frame.start, parts, key: key.map(|(key, _)| key.as_str()) }
        })
    }

    /// The token being written, as far as it has arrived: decoded for strings and keys. If reading stopped inside a
    /// token, that one.
    pub fn token(&self) -> Option<(JsonToken, &str)> {
        self.lexeme.as_ref().map(|lexeme| (lexeme.token, lexeme.text.as_str()))
    }

    /// The complete value.
    pub fn complete(&self) -> Option<&Json> {
        self.root.as_ref()
    }

    /// A summary for a screen; its cost depends on the number of open levels and of keys of the outermost object.
    pub fn state(&self) -> JsonState<'_> {
        let (outer, keys, items) = match (self.stack.first().map(|frame| &frame.body), &self.root) {
            (Some(Body::Object { members, .. }), _) => (Some(OuterKind::Object), members.as_slice(), 0),
            (Some(Body::List(items)), _) => (Some(OuterKind::List), &[][..], items.len()),
            (None, Some(root)) => match &root.node {
                Node::Object(members) => (Some(OuterKind::Object), members.as_slice(), 0),
                Node::List(items) => (Some(OuterKind::List), &[][..], items.len()),
                _ => (Some(OuterKind::Scalar), &[][..], 0),
            },
            (None, None) => (self.lexeme.as_ref().map(|_| OuterKind::Scalar), &[][..], 0),
        };
        let between = self.expect == Expect::CommaOrEnd && self.lexeme.is_none();
        let path = self.stack.iter().enumerate().filter_map(|(place, frame)| match &frame.body {
            Body::Object { key, .. } => key.as_ref().map(|(key, _)| PathStep::Key(key)),
            Body::List(items) => (!between || place + 1 < self.stack.len()).then_some(PathStep::Index(items.len())),
        });
        JsonState {
            phase: self.phase(),
            depth: self.stack.len(),
            keys: keys.iter().map(|member| member.key.as_str()).collect(),
            items,
            outer,
            path: path.collect(),
            token: self.lexeme.as_ref().map(|lexeme| lexeme.token),
        }
    }

    /// The tree so far (a copy); `None` before there is anything to show.
    pub fn value(&self) -> Option<PartialJson> {
        if let Some(root) = &self.root {
            return Some(PartialJson { json: root.clone(), unfinished: None });
        }
        let mut unfinished = None;
        let mut inner = self.lexeme.as_ref().filter(|lexeme| lexeme.token == JsonToken::String).map(|lexeme| {
            let span = Span::new(lexeme.start, self.at);
            unfinished = Some(span);
            Json { node: Node::Str(lexeme.text.clone()), span }
        });
        for frame in self.stack.iter().rev() {
            let node = match &frame.body {
                Body::Object { members, key } => {
                    let mut members = members.as_slice().to_vec();
                    if let (Some((key, key_span)), Some(value)) = (key, inner)
                        && members.iter().all(|member| member.key != *key)
                    {
                        members.push(Member { key: key.clone(), key_span: *key_span, value });
                    }
                    Node::Object(members)
                }
                Body::List(items) => Node::List(items.iter().cloned().chain(inner).collect()),
            };
            inner = Some(Json { node, span: Span::new(frame.start, self.at) });
        }
        inner.map(|json| PartialJson { json, unfinished })
    }

    fn fail(&mut self, message: String) -> usize {
        self.error = Some(JsonError { message, offset: self.at, incomplete: false });
        0
    }

    /// Between tokens: white space, structure, or the first byte of a token. Returns the bytes consumed.
    fn between(&mut self, rest: &str) -> usize {
        let space = rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
        if space > 0 {
            return space;
        }
        let Some(&byte) = rest.as_bytes().first() else { return 0 };
        match (self.expect, byte) {
            (Expect::Value | Expect::ValueOrEnd, b'{' | b'[') => return self.open(byte),
            (Expect::Value | Expect::ValueOrEnd, b'"') => self.begin(JsonToken::String),
            (Expect::Value | Expect::ValueOrEnd, b'-' | b'0'..=b'9') => {
                self.begin(JsonToken::Number);
                return 0;
            }
            (Expect::Value | Expect::ValueOrEnd, b't' | b'f' | b'n') => {
                self.begin(JsonToken::Word);
                return 0;
            }
            (Expect::KeyOrEnd, b'"') => self.begin(JsonToken::Key),
            (Expect::Colon, b':') => self.expect = Expect::Value,
            (Expect::CommaOrEnd, b',') => {
                let object = matches!(self.stack.last(), Some(Frame { body: Body::Object { .. }, .. }));
                self.expect = if object { Expect::KeyOrEnd } else { Expect::ValueOrEnd };
            }
            (Expect::KeyOrEnd | Expect::ValueOrEnd | Expect::CommaOrEnd, b'}' | b']') => return self.close(byte),
            (expect, _) => {
                let found = rest.chars().next().unwrap_or_default();
                return self.fail(format!("expected {}, found {found:?}", expect.shown()));
            }
        }
        1
    }

    fn begin(&mut self, token: JsonToken) {
        self.lexeme = Some(Lexeme { token, start: self.at, text: String::new(), escape: Escape::None, high: None });
    }

    fn open(&mut self, bracket: u8) -> usize {
        if self.stack.len() as u64 >= JSON_DEPTH.max {
            return self.fail(format!("nested deeper than {} levels", JSON_DEPTH.max));
        }
        let body = if bracket == b'{' {
            self.expect = Expect::KeyOrEnd;
            Body::Object { members: Members::default(), key: None }
        } else {
            self.expect = Expect::ValueOrEnd;
            Body::List(Vec::new())
        };
        self.stack.push(Frame { start: self.at, body });
        1
    }

    fn close(&mut self, closer: u8) -> usize {
        let fits = match self.stack.last().map(|frame| &frame.body) {
            Some(Body::Object { .. }) => closer == b'}',
            Some(Body::List(_)) => closer == b']',
            None => false,
        };
        let Some(frame) = self.stack.pop_if(|_| fits) else {
            return self.fail(format!("found an unmatched '{}'", char::from(closer)));
        };
        let node = match frame.body {
            Body::Object { members, .. } => Node::Object(members.finish()),
            Body::List(items) => Node::List(items),
        };
        self.add(Json { node, span: Span::new(frame.start, self.at + 1) });
        1
    }

    /// Adds a complete value to the innermost open object or list.
    fn add(&mut self, json: Json) {
        self.expect = Expect::CommaOrEnd;
        match self.stack.last_mut().map(|frame| &mut frame.body) {
            None => {
                self.root = Some(json);
                self.expect = Expect::Nothing;
            }
            Some(Body::List(items)) => items.push(json),
            Some(Body::Object { members, key }) => {
                let Some((key, key_span)) = key.take() else { return };
                members.push(Member { key, key_span, value: json });
            }
        }
    }

    /// Inside a string or key. Returns the bytes consumed.
    fn in_string(&mut self, rest: &str) -> usize {
        let Some(lexeme) = &mut self.lexeme else { return 0 };
        let Some(&byte) = rest.as_bytes().first() else { return 0 };
        match lexeme.escape {
            Escape::None => {
                let plain = rest.bytes().position(|b| matches!(b, b'"' | b'\\')).unwrap_or(rest.len());
                if plain > 0 {
                    lexeme.flush();
                    lexeme.text.push_str(&rest[..plain]);
                    return plain;
                }
                if byte == b'\\' {
                    lexeme.escape = Escape::Backslash;
                } else {
                    lexeme.flush();
                    self.end_string();
                }
            }
            Escape::Backslash if byte == b'u' => lexeme.escape = Escape::Unicode { digits: 0, code: 0 },
            Escape::Backslash => {
                let Some(c) = escaped(byte) else {
                    return self.fail("expected an escape character after '\\'".to_owned());
                };
                lexeme.flush();
                lexeme.text.push(c);
                lexeme.escape = Escape::None;
            }
            Escape::Unicode { digits, code } => {
                let Some(digit) = char::from(byte).to_digit(16) else {
                    return self.fail("expected four hexadecimal digits after '\\u'".to_owned());
                };
                let code = code * 16 + digit;
                lexeme.escape = Escape::Unicode { digits: digits + 1, code };
                if digits == 3 {
                    lexeme.escape = Escape::None;
                    lexeme.unicode(code);
                }
            }
        }
        1
    }

    fn end_string(&mut self) {
        let Some(lexeme) = self.lexeme.take() else { return };
        let span = Span::new(lexeme.start, self.at + 1);
        if lexeme.token == JsonToken::String {
            self.add(Json { node: Node::Str(lexeme.text), span });
        } else if let Some(Frame { body: Body::Object { key, .. }, .. }) = self.stack.last_mut() {
            *key = Some((lexeme.text, span));
            self.expect = Expect::Colon;
        }
    }

    /// Inside a number or word. Returns the bytes consumed.
    fn in_plain(&mut self, rest: &str) -> usize {
        let Some(lexeme) = &mut self.lexeme else { return 0 };
        let part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
        let length = rest.bytes().take_while(|b| part(*b)).count();
        if length > 0 {
            lexeme.text.push_str(&rest[..length]);
            return length;
        }
        self.end_plain();
        0
    }

    fn end_plain(&mut self) {
        let Some(lexeme) = self.lexeme.take() else { return };
        match parse(&lexeme.text) {
            Ok(json) => self.add(Json { node: json.node, span: Span::new(lexeme.start, self.at) }),
            Err(error) => {
                self.error = Some(JsonError { offset: lexeme.start + error.offset, incomplete: false, ..error });
                // An invalid word can still be shown.
                self.lexeme = Some(lexeme);
            }
        }
    }
}

impl Lexeme {
    /// An unpaired surrogate becomes U+FFFD, as in the strict reader.
    fn flush(&mut self) {
        if self.high.take().is_some() {
            self.text.push(char::REPLACEMENT_CHARACTER);
        }
    }

    fn unicode(&mut self, code: u32) {
        match self.high {
            Some(high) if (0xdc00..0xe000).contains(&code) => {
                self.high = None;
                let code = 0x10000 + ((high - 0xd800) << 10) + (code - 0xdc00);
                self.text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            _ => {
                self.flush();
                if (0xd800..0xdc00).contains(&code) {
                    self.high = Some(code);
                } else {
                    self.text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
            }
        }
    }
}

impl Expect {
    fn shown(self) -> &'static str {
        match self {
            Self::Value | Self::ValueOrEnd => "a JSON value",
            Self::KeyOrEnd => "a key in double quotes",
            Self::Colon => "':' after the key",
            Self::CommaOrEnd => "',' or a closing bracket",
            Self::Nothing => "the end of the text",
        }
    }
}
