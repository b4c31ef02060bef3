//! Objects and lists of the tolerant reader: separators, closers, keys, duplicates.
//!
//! In: a reader after an opening bracket. Out: the node, with the reader after its closer. At the end of the reply,
//! closers are added only after a complete value: after a comma, a colon, a key, inside a string or a word, or after a
//! number that touches the end (it could have more digits) the reply was cut, and that is an error.

use super::{Edge, FixKind, Reader, Result, ValueContext};
use crate::text::Span;
use crate::value::Json;
use crate::value::json::{Member, Members, Node};

/// The token after a member or an item.
#[derive(PartialEq, Eq)]
enum Next {
    More,
    End,
}

impl Reader<'_> {
    pub(super) fn object(&mut self) -> Result<Node> {
        let mut members = Members::default();
        if self.start_of_collection(b'}')? == Next::End {
            return Ok(Node::Object(members.finish()));
        }
        loop {
            let start = self.at;
            let key = self.key()?;
            let key_span = Span::new(start, self.at);
            self.colon(start)?;
            self.has_member = true;
            let value = if self.missing_value() {
                self.fix(FixKind::MissingValue, Span::new(self.at, self.at))?;
                Json { node: Node::Null, span: Span::new(self.at, self.at) }
            } else {
                self.value(ValueContext::Member)?
            };
            members.push(Member { key, key_span, value });
            if self.after_value(b'}')? == Next::End {
                return Ok(Node::Object(members.finish()));
            }
        }
    }

    pub(super) fn list(&mut self, bracket: u8) -> Result<Node> {
        let closer = closer_of(bracket);
        let mut items = Vec::new();
        if self.start_of_collection(closer)? == Next::End {
            return Ok(Node::List(items));
        }
        loop {
            items.push(self.value(ValueContext::Item)?);
            if self.after_value(closer)? == Next::End {
                return Ok(Node::List(items));
            }
        }
    }

    /// After an opening bracket: detects an empty collection.
    fn start_of_collection(&mut self, closer: u8) -> Result<Next> {
        self.space()?;
        self.skip_extra()?;
        if self.peek() == Some(closer) {
            self.at += 1;
            return Ok(Next::End);
        }
        Ok(Next::More)
    }

    /// Skips commas without a value, and dots for omitted parts, where a value or key is expected; true if there were
    /// any.
    fn skip_extra(&mut self) -> Result<bool> {
        let mut skipped = false;
        loop {
            let start = self.at;
            let kind = match self.peek() {
                Some(b',') if self.allows(FixKind::ExtraComma) => {
                    self.at += 1;
                    FixKind::ExtraComma
                }
                Some(b'.') if self.starts_with(start, "...") => {
                    self.at += self.bytes[start..].iter().take_while(|b| **b == b'.').count();
                    FixKind::Ellipsis
                }
                Some(0xe2) if self.starts_with(start, "…") => {
                    self.at += "…".len();
                    FixKind::Ellipsis
                }
                _ => return Ok(skipped),
            };
            if !self.allows(kind) {
                self.at = start;
                return Ok(skipped);
            }
            self.fix(kind, Span::new(start, self.at))?;
            skipped = true;
            self.space()?;
            if kind == FixKind::Ellipsis && self.peek() == Some(b',') {
                self.at += 1;
                self.space()?;
            }
        }
    }

    /// After a value: reads the separator or the closer.
    fn after_value(&mut self, closer: u8) -> Result<Next> {
        loop {
            self.space()?;
            let start = self.at;
            match self.peek() {
                Some(b',') => {
                    self.at += 1;
                    self.space()?;
                    let skipped = self.skip_extra()?;
                    if !self.allows(FixKind::TrailingComma) || !self.closer_here() {
                        return Ok(Next::More);
                    }
                    if !skipped {
                        self.fix(FixKind::TrailingComma, Span::new(start, start + 1))?;
                    }
                }
                Some(byte) if byte == closer => {
                    self.at += 1;
                    if !self.continues_after_closer(closer) {
                        return Ok(Next::End);
                    }
                    self.fix(FixKind::RedundantCloser, Span::new(start, self.at))?;
                }
                Some(byte @ (b'}' | b']')) => {
                    if !self.allows(FixKind::MissingCloser) {
                        return Err(self.expected_after(closer));
                    }
                    if self.open.contains(&opener_of(byte)) {
                        self.fix(FixKind::MissingCloser, Span::new(start, start))?;
                        return Ok(Next::End);
                    }
                    self.fix(FixKind::RedundantCloser, Span::new(start, start + 1))?;
                    self.at += 1;
                }
                Some(b';') if self.allows(FixKind::MissingComma) => {
                    self.fix(FixKind::MissingComma, Span::new(start, start + 1))?;
                    self.at += 1;
                    self.space()?;
                    return Ok(Next::More);
                }
                None => {
                    if self.edge == Edge::Cut || !self.allows(FixKind::MissingCloser) || self.number_may_continue() {
                        return Err(self.expected_after(closer));
                    }
                    self.fix(FixKind::MissingCloser, Span::new(start, start))?;
                    return Ok(Next::End);
                }
                Some(_) if self.ellipsis_here() => {
                    self.skip_extra()?;
                    if !self.closer_here() {
                        return Ok(Next::More);
                    }
                }
                Some(_) if self.allows(FixKind::MissingComma) && self.value_may_start(closer) => {
                    self.fix(FixKind::MissingComma, Span::new(start, start))?;
                    return Ok(Next::More);
                }
                Some(_) => return Err(self.expected_after(closer)),
            }
        }
    }

    fn closer_here(&self) -> bool {
        matches!(self.peek(), Some(b'}' | b']' | b')'))
    }

    fn expected_after(&self, closer: u8) -> super::Fault {
        self.error(&format!("expected ',' or '{}'", char::from(closer)))
    }

    /// True for a number that touches the end of the reply: it could have more digits.
    fn number_may_continue(&self) -> bool {
        self.edge != Edge::Closed && self.number_end == self.bytes.len()
    }

    /// After a closer: true if the outermost object continues with another member. Then the closer is superfluous.
    fn continues_after_closer(&mut self, closer: u8) -> bool {
        closer == b'}'
            && self.open.len() == 1
            && self.allows(FixKind::RedundantCloser)
            && super::attempt::continues(self.text, self.at, &mut self.visited)
    }

    fn ellipsis_here(&self) -> bool {
        self.allows(FixKind::Ellipsis) && (self.starts_with(self.at, "...") || self.starts_with(self.at, "…"))
    }

    /// True if a key (in an object) or a value (in a list) could start here.
    fn value_may_start(&self, closer: u8) -> bool {
        let Some(byte) = self.peek() else { return false };
        if closer == b'}' {
            return self.quote_here() || self.bare_key_end().is_some();
        }
        matches!(byte, b'{' | b'[' | b'-' | b'0'..=b'9') || self.quote_here() || self.literal_here()
    }

    /// A key, in quotes or bare.
    fn key(&mut self) -> Result<String> {
        if self.peek() == Some(b'"') || (self.allows(FixKind::UnquotedKey) && self.quote_here()) {
            return self.text_value(ValueContext::Key);
        }
        let start = self.at;
        match self.bare_key_end() {
            Some(end) if self.allows(FixKind::UnquotedKey) => {
                self.fix(FixKind::UnquotedKey, Span::new(start, end))?;
                self.at = end;
                Ok(Span::new(start, end).text(self.text).to_owned())
            }
            _ => Err(self.error("expected a key in double quotes")),
        }
    }

    /// The end of a bare key that starts here: a word of letters, digits, `_`, `$`, `-`, `.` followed by a colon.
    fn bare_key_end(&self) -> Option<usize> {
        let rest = self.text.get(self.at..)?;
        let length = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$' | '-' | '.')))?;
        let behind = rest[length..].trim_start_matches([' ', '\t', '\n', '\r']);
        let colon = behind.starts_with(':') || behind.starts_with('=');
        (length > 0 && !rest.starts_with('.') && colon).then_some(self.at + length)
    }

    /// Reads the colon after the key that started at `key`.
    fn colon(&mut self, key: usize) -> Result<()> {
        self.space()?;
        let start = self.at;
        match self.peek() {
            Some(b':') => self.at += 1,
            Some(b'=') if self.allows(FixKind::MissingColon) => {
                self.at += if self.starts_with(start, "=>") { 2 } else { 1 };
                self.fix(FixKind::MissingColon, Span::new(start, self.at))?;
            }
            Some(_) if self.allows(FixKind::MissingColon) && self.value_may_start(b']') => {
                self.fix(FixKind::MissingColon, Span::new(start, start))?;
            }
            _ => {
                let mut fault = self.error("expected ':' after the key");
                fault.resume = fault.resume.map(|_| key + 1);
                return Err(fault);
            }
        }
        self.space()
    }

    fn missing_value(&self) -> bool {
        self.allows(FixKind::MissingValue) && matches!(self.peek(), Some(b',' | b'}' | b']'))
    }
}

fn closer_of(bracket: u8) -> u8 {
    if bracket == b'(' { b')' } else { b']' }
}

fn opener_of(closer: u8) -> u8 {
    if closer == b'}' { b'{' } else { b'[' }
}
