//! Words: lexemes with the atoms that follow each without a separator, as Clojure reads them.
//!
//! In: a text. Out: its lexemes; `1N`, `0x1F`, `:order/id`, `2x` and `\u0041` are one item each.

use super::{Lexeme, Lexemes, starts_atom};
use crate::text::Span;

/// The words of a text.
pub struct Words<'a> {
    source: &'a str,
    lexemes: Lexemes<'a>,
    /// Each lexeme is a word.
    are_single: bool,
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
        Self { source, lexemes: Lexemes::new(source), are_single: false }
    }

    /// Like `new`, where each lexeme is a word, as in the dialect `reference`.
    pub fn single(source: &'a str) -> Self {
        Self { are_single: true, ..Self::new(source) }
    }

    /// Joins the atoms that follow a lexeme; returns the end of the word.
    #[cold]
    fn join(&mut self, mut end: usize) -> usize {
        let mut ahead = self.lexemes.clone();
        while let Some((span, next)) = ahead.next()
            && is_atom(next)
        {
            end = span.end;
            self.lexemes = ahead.clone();
        }
        end
    }
}

impl Iterator for Words<'_> {
    type Item = Word;

    #[inline]
    fn next(&mut self) -> Option<Word> {
        let (mut span, first) = self.lexemes.next()?;
        let end = span.end;
        // Most lexemes are spaces and brackets, and most atoms end before one.
        if (is_atom(first) || matches!(first, Lexeme::Char | Lexeme::Unknown))
            && self.lexemes.rest.bytes().next().is_some_and(starts_atom)
            && !self.are_single
            && begins_word(first, span.text(self.source))
        {
            span.end = self.join(end);
        }
        Some(Word { span, first, is_joined: span.end > end })
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
