//! Colours of PTC-Lisp.

use super::{Bracket, Lexeme, Lexemes};
use crate::text::lex::{Lexer, Token, TokenKind};

/// The tokens of a program. Brackets that belong together have the same depth.
pub fn lisp(source: &str) -> Vec<Token> {
    let mut lexer = Lexer::new(source);
    let mut open: Vec<Bracket> = Vec::new();
    for (span, lexeme) in Lexemes::new(source) {
        let kind = match lexeme {
            Lexeme::Space => TokenKind::Plain,
            Lexeme::Comment | Lexeme::Discard => TokenKind::Comment,
            Lexeme::Open(opener) => {
                open.push(opener.bracket());
                depth(open.len())
            }
            Lexeme::Close(bracket) => {
                let level = depth(open.len());
                if open.pop() == Some(bracket) { level } else { TokenKind::Error }
            }
            Lexeme::String(_) => TokenKind::String,
            Lexeme::Regex(_) => TokenKind::Regex,
            Lexeme::Char => TokenKind::Char,
            Lexeme::Integer | Lexeme::Float | Lexeme::SpecialFloat => TokenKind::Number,
            Lexeme::Constant => TokenKind::Literal,
            Lexeme::Keyword => TokenKind::Keyword,
            Lexeme::Symbol => TokenKind::Symbol,
            Lexeme::Placeholder => TokenKind::Placeholder,
            Lexeme::Quoted | Lexeme::Var => TokenKind::Quote,
            Lexeme::Unknown => TokenKind::Error,
        };
        lexer.token(span.end - span.start, kind);
    }
    lexer.tokens
}

/// The kind of a bracket at a level, from 1.
fn depth(level: usize) -> TokenKind {
    TokenKind::Bracket(u8::try_from(level).unwrap_or(u8::MAX))
}
