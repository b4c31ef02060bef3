//! Colours of templates: tags of the Mustache subset of the agent contract §13.

use super::{Lexer, Token, TokenKind, run};

/// The tokens of a template.
pub fn template(source: &str) -> Vec<Token> {
    let mut lexer = Lexer::new(source);
    while !lexer.rest().is_empty() {
        let text = lexer.rest().find("{{").unwrap_or(lexer.rest().len());
        lexer.token(text, TokenKind::Plain);
        if !lexer.rest().is_empty() {
            tag(&mut lexer);
        }
    }
    lexer.tokens
}

/// At two opening braces.
fn tag(lexer: &mut Lexer<'_>) {
    let inside = &lexer.rest()[2..];
    let Some(close) = inside.find("}}") else { return unfinished(lexer) };
    let inside = &inside[..close];
    if inside.starts_with('!') {
        return lexer.token(close + 4, TokenKind::Comment);
    }
    if inside.contains("{{") {
        return unfinished(lexer);
    }
    let sign = usize::from(inside.starts_with(['#', '^', '/']));
    let name = inside[sign..].trim();
    lexer.token(2 + sign, TokenKind::Tag);
    lexer.token_while(TokenKind::Plain, char::is_whitespace);
    let good = !name.is_empty() && !name.contains(['{', '}', '&', '>', '=', '\n']);
    lexer.token(name.len(), if good { TokenKind::Name } else { TokenKind::Error });
    lexer.token_while(TokenKind::Plain, char::is_whitespace);
    lexer.token(2, if name.is_empty() { TokenKind::Error } else { TokenKind::Tag });
}

/// A tag without an end: wrong up to the next tag or the end of the line.
fn unfinished(lexer: &mut Lexer<'_>) {
    let inside = &lexer.rest()[2..];
    let next = inside.find("{{").unwrap_or(inside.len());
    lexer.token(2 + run(inside, |c| c != '\n').min(next), TokenKind::Error);
}
