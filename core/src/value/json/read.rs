//! The strict JSON reader: text → tree with spans. RFC 8259, nesting bounded, first of duplicate keys kept or, where it is
//! asked for, duplicate keys refused.

use num_bigint::BigInt;

use super::{Json, Member, Members, Node};
use crate::limits::{JSON_DEPTH, JSON_DIGITS};
use crate::text::{LineCol, Span};

/// Characters of a member's name in a message.
const NAME_CHARS: usize = 100;

/// A syntax error in JSON text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonError {
    /// The problem and what was expected.
    pub message: String,
    /// Byte offset in the text.
    pub offset: usize,
    /// The text ended too early (more input could make it valid).
    pub incomplete: bool,
}

impl std::fmt::Display for JsonError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (at byte {})", self.message, self.offset)
    }
}

impl std::error::Error for JsonError {}

impl JsonError {
    /// Line and column of the error in `source`.
    pub fn line_col(&self, source: &str) -> LineCol {
        LineCol::of(source, self.offset)
    }
}

/// Reads one JSON value; only white space may follow it.
pub fn parse(source: &str) -> Result<Json, JsonError> {
    Reader::new(source).whole()
}

/// Reason why a text is not JSON with unique member names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UniqueError {
    /// It is not JSON.
    Syntax(JsonError),
    /// It is JSON in which an object has two members of one name.
    Duplicate(JsonError),
}

impl UniqueError {
    /// The problem and its place.
    pub fn error(&self) -> &JsonError {
        match self {
            Self::Syntax(error) | Self::Duplicate(error) => error,
        }
    }
}

/// Like [`parse`], but duplicate member names are an error. For JSON of other programs, whose readers disagree about
/// which of them counts.
pub fn parse_unique(source: &str) -> Result<Json, UniqueError> {
    let mut reader = Reader::new(source);
    let json = reader.whole().map_err(UniqueError::Syntax)?;
    let Some(key) = reader.duplicate else { return Ok(json) };
    let name: String = key.text(source).chars().take(NAME_CHARS).collect();
    let message = format!("an object has the member {name} twice");
    Err(UniqueError::Duplicate(JsonError { message, offset: key.start, incomplete: false }))
}

/// A text and the current offset in it.
pub(super) struct Reader<'a> {
    pub(super) source: &'a str,
    bytes: &'a [u8],
    pub(super) at: usize,
    depth: u64,
    /// The first key that its object has twice.
    duplicate: Option<Span>,
}

impl<'a> Reader<'a> {
    /// A reader at the start of a text.
    pub(super) fn new(source: &'a str) -> Self {
        Self { source, bytes: source.as_bytes(), at: 0, depth: 0, duplicate: None }
    }

    /// Reads the whole text.
    fn whole(&mut self) -> Result<Json, JsonError> {
        self.space();
        let json = self.value()?;
        self.space();
        if self.at < self.bytes.len() {
            return Err(self.error("expected the end of the text"));
        }
        Ok(json)
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// An error at the current offset; incomplete at the end of the text.
    pub(super) fn error(&self, what: &str) -> JsonError {
        let found = match self.source.get(self.at..).and_then(|rest| rest.chars().next()) {
            None => "found the end of the text".to_owned(),
            Some(c) => format!("found {c:?}"),
        };
        let (message, incomplete) = (format!("{what}, {found}"), self.at >= self.bytes.len());
        JsonError { message, offset: self.at, incomplete }
    }

    pub(super) fn value(&mut self) -> Result<Json, JsonError> {
        let start = self.at;
        let node = match self.peek() {
            Some(b'{') => self.nested(Self::object)?,
            Some(b'[') => self.nested(Self::list)?,
            Some(b'"') => Node::Str(self.string()?),
            Some(b't') => self.word("true", Node::Bool(true))?,
            Some(b'f') => self.word("false", Node::Bool(false))?,
            Some(b'n') => self.word("null", Node::Null)?,
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => return Err(self.error("expected a JSON value")),
        };
        Ok(Json { node, span: Span::new(start, self.at) })
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Node, JsonError>) -> Result<Node, JsonError> {
        self.enter()?;
        let node = read(self)?;
        self.leave();
        Ok(node)
    }

    /// Skips an opening bracket, unless the nesting is too deep.
    pub(super) fn enter(&mut self) -> Result<(), JsonError> {
        self.depth += 1;
        if self.depth > JSON_DEPTH.max {
            let message = format!("nested deeper than {} levels", JSON_DEPTH.max);
            return Err(JsonError { message, offset: self.at, incomplete: false });
        }
        self.at += 1;
        Ok(())
    }

    /// Leaves a level of nesting.
    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    fn object(&mut self) -> Result<Node, JsonError> {
        let mut members = Members::default();
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Node::Object(members.finish()));
        }
        loop {
            self.space();
            let start = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.error("expected a key in double quotes"));
            }
            let key = self.string()?;
            let key_span = Span::new(start, self.at);
            self.space();
            if self.peek() != Some(b':') {
                return Err(self.error("expected ':' after the key"));
            }
            self.at += 1;
            self.space();
            let value = self.value()?;
            if !members.push(Member { key, key_span, value }) {
                self.duplicate.get_or_insert(key_span);
            }
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Node::Object(members.finish()));
                }
                _ => return Err(self.error("expected ',' or '}'")),
            }
        }
    }

    fn list(&mut self) -> Result<Node, JsonError> {
        let mut items = Vec::new();
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Node::List(items));
        }
        loop {
            self.space();
            items.push(self.value()?);
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Node::List(items));
                }
                _ => return Err(self.error("expected ',' or ']'")),
            }
        }
    }

    fn word(&mut self, word: &str, node: Node) -> Result<Node, JsonError> {
        if self.bytes[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            return Ok(node);
        }
        let rest = &self.bytes[self.at..];
        let incomplete = word.as_bytes().starts_with(rest);
        Err(JsonError { incomplete, ..self.error("expected a JSON value") })
    }

    fn number(&mut self) -> Result<Node, JsonError> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.error("expected a digit")),
        }
        let mut whole = true;
        if self.peek() == Some(b'.') {
            whole = false;
            self.at += 1;
            self.some_digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            whole = false;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.some_digits()?;
        }
        let text = &self.source[start..self.at];
        if whole {
            if let Ok(int) = text.parse::<i64>() {
                return Ok(Node::Int(int));
            }
            if text.trim_start_matches('-').len() as u64 > JSON_DIGITS.max {
                let message = format!("a whole number of more than {} digits", JSON_DIGITS.max);
                return Err(JsonError { message, offset: start, incomplete: false });
            }
            if let Some(big) = BigInt::parse_bytes(text.as_bytes(), 10) {
                return Ok(Node::Big(Box::new(big)));
            }
        }
        match text.parse::<f64>() {
            Ok(float) if float.is_finite() => Ok(Node::Float(float)),
            _ => Err(JsonError { message: "number out of range".to_owned(), offset: start, incomplete: false }),
        }
    }

    fn digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    fn some_digits(&mut self) -> Result<(), JsonError> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.error("expected a digit"));
        }
        self.digits();
        Ok(())
    }

    /// Reads a string without escapes, if one comes next.
    pub(super) fn plain_string(&mut self) -> Option<&'a str> {
        let rest = self.bytes.get(self.at..)?.strip_prefix(b"\"")?;
        let length = rest.iter().position(|b| matches!(b, b'"' | b'\\' | 0..=0x1f))?;
        if rest.get(length) != Some(&b'"') {
            return None;
        }
        let text = self.source.get(self.at + 1..=self.at + length)?;
        self.at += length + 2;
        Some(text)
    }

    pub(super) fn string(&mut self) -> Result<String, JsonError> {
        self.at += 1;
        let mut text = String::new();
        loop {
            let plain = self.bytes[self.at..].iter().position(|b| matches!(b, b'"' | b'\\' | 0..=0x1f));
            let Some(plain) = plain else {
                self.at = self.bytes.len();
                return Err(self.error("expected '\"' to close the string"));
            };
            text.push_str(&self.source[self.at..self.at + plain]);
            self.at += plain;
            match self.bytes[self.at] {
                b'"' => {
                    self.at += 1;
                    return Ok(text);
                }
                b'\\' => self.escape(&mut text)?,
                _ => return Err(self.error("a control character in a string must be escaped")),
            }
        }
    }

    fn escape(&mut self, text: &mut String) -> Result<(), JsonError> {
        self.at += 1;
        if self.peek() == Some(b'u') {
            text.push(self.unicode()?);
            return Ok(());
        }
        let Some(plain) = self.peek().and_then(escaped) else {
            return Err(self.error("expected an escape character after '\\'"));
        };
        self.at += 1;
        text.push(plain);
        Ok(())
    }

    /// Reads a `\uXXXX` escape, at its `u`. An unpaired surrogate becomes U+FFFD.
    fn unicode(&mut self) -> Result<char, JsonError> {
        let first = self.hex4()?;
        if (0xd800..0xdc00).contains(&first) && self.bytes[self.at..].starts_with(b"\\u") {
            let back = self.at;
            self.at += 1;
            let second = self.hex4()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = back;
        }
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex4(&mut self) -> Result<u32, JsonError> {
        self.at += 1;
        let mut code = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|b| char::from(b).to_digit(16)) else {
                return Err(self.error("expected four hexadecimal digits after '\\u'"));
            };
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }
}

/// The character of a backslash and this byte; `\\u` has no single character.
pub(crate) fn escaped(byte: u8) -> Option<char> {
    Some(match byte {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        _ => return None,
    })
}
