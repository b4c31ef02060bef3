//! Which brackets of a program belong together, and what is missing at its end. For editors, the console and the search
//! for programs in replies; any text will do.

use super::{Ending, Lexeme, Lexemes, Opener};
use crate::text::Span;

/// How far a text is a sequence of whole forms.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Balance {
    /// The brackets that are open at the end, the outermost first.
    pub open: Vec<(Opener, Span)>,
    /// The string or regular expression that is open at the end: its opening quote.
    pub text: Option<Span>,
    /// The first place that can never be right: a closing bracket of the wrong kind, or a character that begins nothing.
    pub fault: Option<Span>,
}

impl Balance {
    /// Of a text. Brackets behind a fault are not looked at.
    pub fn of(source: &str) -> Self {
        let mut balance = Self::default();
        for (span, lexeme) in Lexemes::new(source) {
            match lexeme {
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

    /// Would more text help? False for a whole program, and for one that more text cannot mend.
    pub fn is_open(&self) -> bool {
        self.fault.is_none() && (self.text.is_some() || !self.open.is_empty())
    }

    /// Nothing is open and nothing is wrong.
    pub fn is_whole(&self) -> bool {
        self.fault.is_none() && !self.is_open()
    }
}

/// The bracket at byte `at` and the one that belongs to it, opening one first. `None` when none stands there, or it is
/// alone.
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
