//! Words: lexemes with the atoms that follow each without a separator, as Clojure reads them.
//!
//! In: a text. Out: its lexemes; `1N`, `0x1F`, `:order/id`, `2x` and `\u0041` are one item each.

use std::iter::Peekable;

use super::{Lexeme, Lexemes};
use crate::text::Span;

/// The words of a text.
pub struct Words<'a> {
    source: &'a str,
    lexemes: Peekable<Lexemes<'a>>,
}

/// A lexeme, or several that are one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// All of it.
    pub span: Span,
    /// Its first lexeme.
    pub first: Lexeme,
    /// It has more than one lexeme.
    pub is_joined: bool,
}

impl<'a> Words<'a> {
    /// The words from the start of a text.
    pub fn new(source: &'a str) -> Self {
        Self { source, lexemes: Lexemes::new(source).peekable() }
    }
}

impl Iterator for Words<'_> {
    type Item = Word;

    #[inline]
    fn next(&mut self) -> Option<Word> {
        let (mut span, first) = self.lexemes.next()?;
        let mut is_joined = false;
        if begins_word(first, span.text(self.source)) {
            while let Some((next, _)) = self.lexemes.next_if(|(_, next)| is_atom(*next)) {
                span.end = next.end;
                is_joined = true;
            }
        }
        Some(Word { span, first, is_joined })
    }
}

fn begins_word(lexeme: Lexeme, text: &str) -> bool {
    match lexeme {
        Lexeme::Unknown => text == ":",
        Lexeme::Char => text == "\\u",
        other => is_atom(other),
    }
}

fn is_atom(lexeme: Lexeme) -> bool {
    use Lexeme::{Constant, Float, Integer, Keyword, Placeholder, Symbol};
    matches!(lexeme, Integer | Float | Symbol | Keyword | Constant | Placeholder)
}
