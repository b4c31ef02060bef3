//! Matching brackets of a program, and the brackets missing at its end. For editors, the console and the search for
//! programs in replies; works on any text.

use super::{Ending, Lexeme, Lexemes, Opener, Word, Words};
use crate::text::Span;

/// The brackets and strings that are open at the end of a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Balance {
    /// The open brackets, outermost first.
    pub open: Vec<(Opener, Span)>,
    /// The opening quote of an open string or regular expression.
    pub text: Option<Span>,
    /// The first error: a closing bracket of the wrong kind, or a character that begins no token.
    pub fault: Option<Span>,
}

impl Balance {
    /// The balance of a text. Brackets after an error are ignored.
    pub fn of(source: &str) -> Self {
        let mut balance = Self::default();
        for Word { span, first, is_joined } in Words::new(source) {
            match first {
                // `::id`
                Lexeme::Unknown if is_joined => {}
                Lexeme::Open(opener) => balance.open.push((opener, span)),
                Lexeme::Close(bracket) => match balance.open.pop() {
                    Some((opener, _)) if opener.bracket() != bracket => balance.fault = Some(span),
                    _ => {}
                },
                Lexeme::String(Ending::Open) | Lexeme::Regex(Ending::Open) => balance.text = Some(span),
                Lexeme::Unknown => balance.fault = Some(span),
                _ => {}
            }
            if balance.fault.is_some() {
                break;
            }
        }
        balance
    }

    /// True if more text could complete it. False for a complete program, and for one with an error.
    pub fn is_open(&self) -> bool {
        self.fault.is_none() && (self.text.is_some() || !self.open.is_empty())
    }

    /// True if nothing is open and there is no error.
    pub fn is_whole(&self) -> bool {
        self.fault.is_none() && !self.is_open()
    }
}

/// The bracket at byte `at` and its match, opening one first. `None` if there is no bracket, or it has no match.
pub fn matching(source: &str, at: usize) -> Option<(Span, Span)> {
    let mut open: Vec<(Opener, Span)> = Vec::new();
    for (span, lexeme) in Lexemes::new(source) {
        match lexeme {
            Lexeme::Open(opener) => open.push((opener, span)),
            Lexeme::Close(bracket) => {
                let pair = open.pop().filter(|(opener, _)| opener.bracket() == bracket);
                let touches = |span: Span| (span.start..span.end).contains(&at);
                match pair {
                    Some((_, start)) if touches(start) || touches(span) => return Some((start, span)),
                    None if touches(span) => return None,
                    _ => {}
                }
            }
            _ => {}
        }
    }
    None
}
