//! Lexers of the small notations: JSON (also with the comments that models write), signatures, and templates.

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

/// A string followed by a colon is a key.
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

/// The type words.
const TYPES: [&str; 11] =
    ["string", "int", "float", "number", "bool", "boolean", "keyword", "any", "map", "datetime", "enum"];

/// The tokens of a signature.
pub fn signature(source: &str) -> Vec<Token> {
    let mut lexer = Lexer::new(source);
    // Inside the brackets of an enum, bare words are its members.
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

/// A type, at its colon; true for an enum.
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

/// A tag, at its two opening braces.
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

/// A tag without an end: an error up to the next tag or the end of the line.
fn unfinished(lexer: &mut Lexer<'_>) {
    let inside = &lexer.rest()[2..];
    let next = inside.find("{{").unwrap_or(inside.len());
    lexer.token(2 + run(inside, |c| c != '\n').min(next), TokenKind::Error);
}
