//! Small lexers for colours: JSON, signatures, templates, programs.
//!
//! In: a text as it stands in an editor or a reply, broken or not. Out: tokens that cover all of it, in order, without
//! gaps or overlaps, on character borders. They must never fail, and never decide anything: what a text means is for
//! its parser to say.

pub mod lisp;
mod notations;

use super::Span;

pub use notations::{json, signature, template};

/// What a piece of text is, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// The key of a JSON member.
    Key,
    /// A quoted string.
    String,
    /// A number.
    Number,
    /// true, false, null; the bare words of an enum.
    Literal,
    /// Brackets, commas, colons, arrows.
    Punct,
    /// The name of a parameter, field or variable.
    Name,
    /// A type.
    Type,
    /// The braces of a template tag with its sign.
    Tag,
    /// A comment.
    Comment,
    /// A regular expression of a program.
    Regex,
    /// A character of a program.
    Char,
    /// A keyword of a program.
    Keyword,
    /// A name in a program.
    Symbol,
    /// A quoted name or a var of a program.
    Quote,
    /// An argument of a short function: `%`, `%2`, `%&`.
    Placeholder,
    /// A bracket of a program and how deep it stands, from 1; 255 stands for all that is deeper.
    Bracket(u8),
    /// What cannot be right.
    Error,
    /// Anything else.
    Plain,
}

/// A piece of a text and what it is.
pub type Token = (Span, TokenKind);

/// Reads a text from start to end and collects its tokens.
struct Lexer<'a> {
    source: &'a str,
    at: usize,
    tokens: Vec<Token>,
}

impl<'a> Lexer<'a> {
    fn new(source: &'a str) -> Self {
        Self { source, at: 0, tokens: Vec::new() }
    }

    fn rest(&self) -> &'a str {
        self.source.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// The next `bytes` are one token; nothing when there are none. Neighbours of one plain kind become one token.
    fn token(&mut self, bytes: usize, kind: TokenKind) {
        if bytes == 0 {
            return;
        }
        let end = self.at + bytes;
        match self.tokens.last_mut() {
            Some((span, last)) if *last == kind && matches!(kind, TokenKind::Plain | TokenKind::Error) => {
                span.end = end;
            }
            _ => self.tokens.push((Span::new(self.at, end), kind)),
        }
        self.at = end;
    }

    /// All characters that belong are one token.
    fn token_while(&mut self, kind: TokenKind, belongs: impl Fn(char) -> bool) {
        self.token(run(self.rest(), belongs), kind);
    }

    /// At a double quote: the string up to its end, an error when the line ends before it, a string when only the text
    /// does (it may still be being written).
    fn string(&mut self, kind: TokenKind) {
        let rest = self.rest();
        let mut escaped = false;
        for (at, c) in rest.char_indices().skip(1) {
            match c {
                '\n' => return self.token(at, TokenKind::Error),
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => return self.token(at + 1, kind),
                _ => {}
            }
        }
        self.token(rest.len(), kind);
    }
}

/// Bytes of the longest start in which every character belongs.
fn run(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests;
