//! Colours of JSON, also of the kinds of not-quite-JSON that models write (comments).

use super::{Lexer, Token, TokenKind, run};

/// The tokens of a JSON text.
pub fn json(source: &str) -> Vec<Token> {
    let mut lexer = Lexer::new(source);
    while let Some(c) = lexer.peek() {
        match c {
            '"' => string(&mut lexer),
            '{' | '}' | '[' | ']' | ',' | ':' => lexer.token(1, TokenKind::Punct),
            '-' | '0'..='9' => number(&mut lexer),
            '/' => comment(&mut lexer),
            c if c.is_alphabetic() || c == '_' => word(&mut lexer),
            c if c.is_whitespace() => lexer.token_while(TokenKind::Plain, char::is_whitespace),
            c => lexer.token(c.len_utf8(), TokenKind::Error),
        }
    }
    lexer.tokens
}

/// A string is a key when a colon follows.
fn string(lexer: &mut Lexer<'_>) {
    lexer.string(TokenKind::String);
    if lexer.rest().trim_start().starts_with(':')
        && let Some((_, kind @ TokenKind::String)) = lexer.tokens.last_mut()
    {
        *kind = TokenKind::Key;
    }
}

fn number(lexer: &mut Lexer<'_>) {
    let rest = lexer.rest();
    let bytes = run(rest, |c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    let good = rest[..bytes].parse::<f64>().is_ok();
    lexer.token(bytes, if good { TokenKind::Number } else { TokenKind::Error });
}

fn word(lexer: &mut Lexer<'_>) {
    let rest = lexer.rest();
    let bytes = run(rest, |c| c.is_alphanumeric() || c == '_');
    let known = matches!(&rest[..bytes], "true" | "false" | "null");
    lexer.token(bytes, if known { TokenKind::Literal } else { TokenKind::Error });
}

fn comment(lexer: &mut Lexer<'_>) {
    let rest = lexer.rest();
    if rest.starts_with("//") {
        lexer.token_while(TokenKind::Comment, |c| c != '\n');
    } else if rest.starts_with("/*") {
        let bytes = rest.find("*/").map_or(rest.len(), |at| at + 2);
        lexer.token(bytes, TokenKind::Comment);
    } else {
        lexer.token(1, TokenKind::Error);
    }
}
