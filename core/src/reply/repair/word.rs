//! Words of the tolerant reader: literals in JSON's and other spellings, calls around a value, unquoted strings.

use super::number::special;
use super::{Fault, FixKind, JsonError, Reader, Result, ValueContext};
use crate::limits::JSON_DEPTH;
use crate::text::Span;
use crate::value::json::Node;

/// Literals: spelling, value, required repair.
static LITERALS: [(&str, Node, Option<FixKind>); 11] = [
    ("true", Node::Bool(true), None),
    ("false", Node::Bool(false), None),
    ("null", Node::Null, None),
    ("True", Node::Bool(true), Some(FixKind::LiteralSpelling)),
    ("False", Node::Bool(false), Some(FixKind::LiteralSpelling)),
    ("None", Node::Null, Some(FixKind::LiteralSpelling)),
    ("TRUE", Node::Bool(true), Some(FixKind::LiteralSpelling)),
    ("FALSE", Node::Bool(false), Some(FixKind::LiteralSpelling)),
    ("NULL", Node::Null, Some(FixKind::LiteralSpelling)),
    ("Null", Node::Null, Some(FixKind::LiteralSpelling)),
    ("undefined", Node::Null, Some(FixKind::MissingValue)),
];

/// True if this word is a literal at some level.
pub(in crate::reply) fn is_literal(word: &str) -> bool {
    LITERALS.iter().any(|(spelling, ..)| *spelling == word) || special(word).is_some()
}

/// The word of letters, digits, `_` and `$` at the start of `text`.
pub(in crate::reply) fn word_of(text: &str) -> &str {
    let length = text.bytes().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$')).count();
    text.get(..length).unwrap_or_default()
}

impl Reader<'_> {
    /// True if a literal starts here.
    pub(super) fn literal_here(&self) -> bool {
        self.literal_at(self.at)
    }

    /// True if a literal starts at `at`.
    pub(super) fn literal_at(&self, at: usize) -> bool {
        self.text.get(at..).is_some_and(|rest| is_literal(word_of(rest)))
    }

    pub(super) fn word(&mut self, context: ValueContext) -> Result<Node> {
        let start = self.at;
        let word = word_of(self.text.get(start..).unwrap_or_default());
        let end = start + word.len();
        let known = match LITERALS.iter().find(|(spelling, ..)| *spelling == word) {
            Some((_, node, kind)) => Some((node.clone(), *kind)),
            None => special(word).map(|node| (node, Some(FixKind::SpecialNumber))),
        };
        if let Some((node, kind)) = known {
            if let Some(kind) = kind {
                self.fix(kind, Span::new(start, end))?;
            }
            self.at = end;
            return Ok(node);
        }
        if !word.is_empty() && self.allows(FixKind::Wrapper) && self.bytes.get(end) == Some(&b'(') {
            return self.wrapped(end);
        }
        if self.allows(FixKind::UnquotedString) && matches!(context, ValueContext::Member | ValueContext::Item) {
            return self.unquoted(context);
        }
        let mut fault = self.error("expected a JSON value");
        let cut = end == self.bytes.len() && LITERALS.iter().any(|(spelling, ..)| spelling.starts_with(word));
        if cut && !word.is_empty() {
            fault.error.incomplete = true;
            fault.resume = None;
        }
        Err(fault)
    }

    /// A call such as `ObjectId("…")`: its only argument is the value. `bracket` is the offset of the parenthesis.
    fn wrapped(&mut self, bracket: usize) -> Result<Node> {
        if self.open.len() as u64 >= JSON_DEPTH.max {
            return Err(self.error(&format!("expected at most {} levels", JSON_DEPTH.max)));
        }
        self.fix(FixKind::Wrapper, Span::new(self.at, bracket + 1))?;
        self.open.push(b'(');
        self.at = bracket + 1;
        self.space()?;
        let json = self.value(ValueContext::Item)?;
        self.space()?;
        if self.peek() != Some(b')') {
            return Err(self.error("expected ')'"));
        }
        self.at += 1;
        self.open.pop();
        Ok(json.node)
    }

    /// An unquoted string: up to the end of the line, a closing bracket, or a separating comma.
    pub(super) fn unquoted(&mut self, context: ValueContext) -> Result<Node> {
        let start = self.at;
        let mut end = start;
        loop {
            let rest = self.bytes.get(end..).unwrap_or_default();
            let Some(length) = rest.iter().position(|b| matches!(b, b',' | b'}' | b']' | b'\n' | b'{' | b'[' | b'"'))
            else {
                self.furthest = self.furthest.max(self.bytes.len());
                let error = JsonError {
                    message: "the text ends inside a string without quotes".to_owned(),
                    offset: self.bytes.len(),
                    incomplete: true,
                };
                return Err(Fault { error, resume: None });
            };
            end += length;
            match self.bytes.get(end) {
                Some(b',') if context == ValueContext::Member && !self.separates(end) => end += 1,
                Some(b'{' | b'[' | b'"') => {
                    self.at = end;
                    return Err(self.error("expected a JSON value"));
                }
                _ => break,
            }
        }
        let text = Span::new(start, end).text(self.text).trim_end();
        if text.is_empty() {
            return Err(self.error("expected a JSON value"));
        }
        self.at = start + text.len();
        self.fix(FixKind::UnquotedString, Span::new(start, self.at))?;
        Ok(Node::Str(text.to_owned()))
    }

    /// True if the comma at `at` is followed by a key, or by the end.
    fn separates(&mut self, at: usize) -> bool {
        let (fits, seen) = self.fits_key(at + 1);
        self.visited += seen - at;
        fits
    }
}
