//! Colours of signatures.

use super::{Lexer, Token, TokenKind, run};

/// The words that name a type.
const TYPES: [&str; 11] =
    ["string", "int", "float", "number", "bool", "boolean", "keyword", "any", "map", "datetime", "enum"];

/// The tokens of a signature.
pub fn signature(source: &str) -> Vec<Token> {
    let mut lexer = Lexer::new(source);
    // Inside the brackets of an enum bare words are its members.
    let mut in_enum = false;
    let mut after_enum = false;
    while let Some(c) = lexer.peek() {
        let was_enum = std::mem::take(&mut after_enum);
        match c {
            '"' => lexer.string(TokenKind::String),
            ':' => after_enum = type_word(&mut lexer),
            '[' | ']' => {
                in_enum = c == '[' && was_enum;
                lexer.token(1, TokenKind::Punct);
            }
            '(' | ')' | '{' | '}' | ',' | '?' => lexer.token(1, TokenKind::Punct),
            '-' if lexer.rest().starts_with("->") => lexer.token(2, TokenKind::Punct),
            c if is_name(c) => lexer.token_while(if in_enum { TokenKind::Literal } else { TokenKind::Name }, is_name),
            c if c.is_whitespace() => lexer.token_while(TokenKind::Plain, char::is_whitespace),
            c => lexer.token(c.len_utf8(), TokenKind::Error),
        }
    }
    lexer.tokens
}

/// At a colon; true when the type is an enum.
fn type_word(lexer: &mut Lexer<'_>) -> bool {
    let word = &lexer.rest()[1..];
    let word = &word[..run(word, char::is_alphanumeric)];
    let kind = if TYPES.contains(&word) { TokenKind::Type } else { TokenKind::Error };
    lexer.token(1 + word.len(), kind);
    word == "enum"
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}
