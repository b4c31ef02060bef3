//! Small lexers for syntax highlighting: JSON, signatures, templates, programs.
//!
//! In: a text in an editor or a reply, valid or not. Out: tokens that cover all of it, in order, without gaps or
//! overlaps, on character boundaries. They must never fail and never interpret a text.

pub mod lisp;
mod notations;

use super::Span;

pub use notations::{json, signature, template};

/// The kind of a piece of text, for its colour.
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
    /// A bracket of a program and its depth, from 1; 255 includes all deeper ones.
    Bracket(u8),
    /// Invalid text.
    Error,
    /// Anything else.
    Plain,
}

/// A piece of text and its kind.
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

    /// Makes the next `bytes` one token; no token for 0. Adjacent plain tokens are merged.
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

    /// Makes all leading characters that match one token.
    fn token_while(&mut self, kind: TokenKind, belongs: impl Fn(char) -> bool) {
        self.token(run(self.rest(), belongs), kind);
    }

    /// At a double quote: the string up to its end; an error if the line ends before it, a string if only the text does
    /// (it may be incomplete).
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

/// Length in bytes of the leading characters that match.
fn run(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests;
