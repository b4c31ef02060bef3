//! Colours of the small languages on screen: JSON, templates, signatures, TOML.
//!
//! In: a text, complete or not. Out: byte ranges with roles, in order and without overlaps. Broken text is coloured as far
//! as it makes sense; nothing here fails.

use std::ops::Range;

use super::theme::Role;

/// What a text is written in.
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
}

/// A coloured part of a text.
pub type Coloured = (Range<usize>, Role);

/// The coloured parts of a text.
pub fn colours(language: Language, text: &str) -> Vec<Coloured> {
    match language {
        Language::Plain => Vec::new(),
        Language::Json => json(text, &mut InString::default()),
        Language::Template => template(text),
        Language::Signature => signature(text),
        Language::Toml => toml(text),
    }
}

/// Whether a piece of JSON starts inside a string.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InString(bool);

/// The coloured parts of a piece of JSON that may start inside a string.
pub fn json(text: &str, state: &mut InString) -> Vec<Coloured> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        if state.0 || bytes[at] == b'"' {
            at += usize::from(!state.0);
            at = string_end(bytes, at);
            state.0 = bytes.get(at) != Some(&b'"');
            at += usize::from(!state.0);
            let key = !state.0 && bytes[at..].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':');
            out.push((start..at, if key { Role::JsonKey } else { Role::JsonString }));
        } else if is_word_byte(bytes[at]) || bytes[at] == b'-' {
            at += bytes[at..].iter().skip(1).position(|byte| !is_number_byte(*byte)).map_or(bytes.len() - at, |n| n + 1);
            if matches!(&text[start..at], "true" | "false" | "null") || is_number(&bytes[start..at]) {
                out.push((start..at, Role::JsonNumber));
            }
        } else {
            at += 1;
            while !text.is_char_boundary(at) {
                at += 1;
            }
        }
    }
    out
}

/// The byte of the closing quote, or the end of the text.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at.min(bytes.len())
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_number_byte(byte: u8) -> bool {
    is_word_byte(byte) || matches!(byte, b'.' | b'+' | b'-')
}

fn is_number(bytes: &[u8]) -> bool {
    bytes.iter().any(u8::is_ascii_digit) && bytes.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'+' | b'-' | b'e' | b'E'))
}

fn template(text: &str) -> Vec<Coloured> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(open) = text[at..].find("{{").map(|found| at + found) {
        let end = text[open..].find("}}").map_or(text.len(), |found| open + found + 2);
        let end = if text[end..].starts_with('}') && text[open..].starts_with("{{{") { end + 1 } else { end };
        let comment = text[open + 2..].starts_with('!');
        out.push((open..end, if comment { Role::Dim } else { Role::Tag }));
        at = end;
    }
    out
}

fn signature(text: &str) -> Vec<Coloured> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let length = if rest.starts_with("->") {
            out.push((at..at + 2, Role::Accent));
            2
        } else if rest.starts_with(':') {
            let name = rest[1..].find(|c: char| !c.is_alphanumeric() && c != '_').map_or(rest.len(), |n| n + 1);
            out.push((at..at + name, Role::Type));
            name
        } else if rest.starts_with('"') {
            let end = (string_end(rest.as_bytes(), 1) + 1).min(rest.len());
            out.push((at..at + end, Role::JsonString));
            end
        } else {
            rest.chars().next().map_or(1, char::len_utf8)
        };
        at += length;
    }
    out
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
            let parts = json(&text[value..from + bare.len()], &mut InString::default());
            let comment = comment_start(&text[value..from + bare.len()]);
            out.extend(parts.into_iter().filter(|(range, _)| range.start < comment).map(|(range, role)| {
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

/// Where the comment of a TOML value starts, or the text's length.
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
    fn json_tells_keys_from_strings() {
        assert_eq!(
            parts(Language::Json, r#"{"a": "b\"c", "n" : -1.5e3, "t":true} word"#),
            [
                ("\"a\"", Role::JsonKey),
                (r#""b\"c""#, Role::JsonString),
                ("\"n\"", Role::JsonKey),
                ("-1.5e3", Role::JsonNumber),
                ("\"t\"", Role::JsonKey),
                ("true", Role::JsonNumber),
            ]
        );
    }

    #[test]
    fn the_other_languages_colour_what_matters() {
        assert_eq!(parts(Language::Template, "a {{b}} {{! c}} {{d"), [("{{b}}", Role::Tag), ("{{! c}}", Role::Dim), ("{{d", Role::Tag)]);
        assert_eq!(
            parts(Language::Signature, "(a :string) -> :enum[\"x\"]"),
            [(":string", Role::Type), ("->", Role::Accent), (":enum", Role::Type), ("\"x\"", Role::JsonString)]
        );
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
    }

    proptest! {
        #[test]
        fn any_text_gives_ordered_ranges_on_character_boundaries(text in "[\\PC\\n\"\\\\{}:#=\\[-]{0,60}") {
            for language in [Language::Plain, Language::Json, Language::Template, Language::Signature, Language::Toml] {
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
