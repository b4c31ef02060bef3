//! Colours of the small languages on screen: JSON, templates, signatures, TOML, PTC-Lisp.
//!
//! In: a text, complete or not. Out: byte ranges with roles, in order and without overlaps. Broken text is coloured as far
//! as it makes sense; nothing here fails.

use std::ops::Range;

use ptc_core::text::lex::{self, Token, TokenKind};

use super::theme::Role;

/// Language of a text, for its colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// No colours.
    Plain,
    /// JSON, or a reply that may hold some.
    Json,
    /// A Mustache template.
    Template,
    /// A signature.
    Signature,
    /// TOML.
    Toml,
    /// PTC-Lisp.
    Lisp,
}

/// A coloured part of a text.
pub type Coloured = (Range<usize>, Role);

/// The coloured parts of a text.
pub fn colours(language: Language, text: &str) -> Vec<Coloured> {
    match language {
        Language::Plain => Vec::new(),
        Language::Json => lexed(lex::json(text)),
        Language::Template => lexed(lex::template(text)),
        Language::Signature => lexed(lex::signature(text)),
        Language::Toml => toml(text),
        Language::Lisp => lexed(lex::lisp::lisp(text)),
    }
}

fn lexed(tokens: Vec<Token>) -> Vec<Coloured> {
    tokens.into_iter().filter_map(|(span, kind)| Some((span.start..span.end, role(kind)?))).collect()
}

/// The role of a token. Errors stay plain: findings have marks of their own, and prose around JSON is not an error.
fn role(kind: TokenKind) -> Option<Role> {
    match kind {
        TokenKind::Key | TokenKind::Name | TokenKind::Keyword | TokenKind::Placeholder => Some(Role::JsonKey),
        TokenKind::String | TokenKind::Regex | TokenKind::Char => Some(Role::JsonString),
        TokenKind::Number | TokenKind::Literal => Some(Role::JsonNumber),
        TokenKind::Type => Some(Role::Type),
        TokenKind::Tag => Some(Role::Tag),
        TokenKind::Comment => Some(Role::Dim),
        TokenKind::Symbol
        | TokenKind::Quote
        | TokenKind::Bracket(_)
        | TokenKind::Punct
        | TokenKind::Error
        | TokenKind::Plain => None,
    }
}

fn toml(text: &str) -> Vec<Coloured> {
    let mut out = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start();
        let from = start + line.len() - trimmed.len();
        let bare = trimmed.trim_end();
        if bare.starts_with('#') {
            out.push((from..from + bare.len(), Role::Dim));
        } else if bare.starts_with('[') {
            out.push((from..from + bare.len(), Role::Title));
        } else if let Some(equals) = bare.find('=') {
            out.push((from..from + bare[..equals].trim_end().len(), Role::JsonKey));
            let value = from + equals + 1;
            let comment = comment_start(&text[value..from + bare.len()]);
            let parts = lexed(lex::json(&text[value..value + comment]));
            out.extend(parts.into_iter().map(|(range, role)| {
                let role = if role == Role::JsonKey { Role::JsonString } else { role };
                (value + range.start..value + range.end, role)
            }));
            if value + comment < from + bare.len() {
                out.push((value + comment..from + bare.len(), Role::Dim));
            }
        }
        start += line.len();
    }
    out
}

/// Returns the byte at which the comment of a TOML value starts, or the text's length.
fn comment_start(value: &str) -> usize {
    let mut quote = None;
    for (at, c) in value.char_indices() {
        match (quote, c) {
            (None, '#') => return at,
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
    }
    value.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parts(language: Language, text: &str) -> Vec<(&str, Role)> {
        colours(language, text).into_iter().map(|(range, role)| (&text[range], role)).collect()
    }

    #[test]
    fn toml_colours_keys_values_and_comments() {
        assert_eq!(
            parts(Language::Toml, "# note\n[t]\nk = \"v # w\" # c\nn = 3\n"),
            [
                ("# note", Role::Dim),
                ("[t]", Role::Title),
                ("k", Role::JsonKey),
                ("\"v # w\"", Role::JsonString),
                ("# c", Role::Dim),
                ("n", Role::JsonKey),
                ("3", Role::JsonNumber)
            ]
        );
        assert_eq!(parts(Language::Toml, "=//#"), [("", Role::JsonKey), ("//", Role::Dim), ("#", Role::Dim)]);
    }

    #[test]
    fn the_parsed_languages_take_the_colours_of_their_tokens() {
        assert!(parts(Language::Json, "{\"a\": \"b\"}").contains(&("\"a\"", Role::JsonKey)));
        assert!(parts(Language::Signature, "(a :string)").contains(&(":string", Role::Type)));
        assert!(parts(Language::Template, "a {{b}}").contains(&("{{", Role::Tag)));
        assert!(parts(Language::Lisp, "(f :a \"b\") ; c").contains(&("; c", Role::Dim)));
        assert!(parts(Language::Plain, "{\"a\": 1}").is_empty());
    }

    proptest! {
        #[test]
        fn any_text_gives_ordered_ranges_on_character_boundaries(text in "[\\PC\\n\"\\\\{}:#=\\[-]{0,60}") {
            for language in [Language::Plain, Language::Json, Language::Template, Language::Signature, Language::Toml, Language::Lisp] {
                let mut end = 0;
                for (range, _) in colours(language, &text) {
                    prop_assert!(end <= range.start && range.start <= range.end, "{language:?}");
                    prop_assert!(text.get(range.clone()).is_some(), "{language:?}");
                    end = range.end;
                }
            }
        }
    }
}
