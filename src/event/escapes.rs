//! JSON text without raw characters that a terminal could act on, and back.
//!
//! In: JSON text. Out: the same data, in which C1 controls, DEL and characters that hide or reorder others are `\u` escapes; or the same
//! with these escapes as characters, the form that events are compared in. It must never change any other character.

use std::borrow::Cow;
use std::fmt::Write as _;

use ptc_core::text::safe::hides;

/// Returns whether the character is escaped in files. (JSON itself escapes C0 controls.) The variation selectors of emoji are not: they
/// occur in many texts and hide nothing.
fn is_escaped(c: char) -> bool {
    matches!(c, '\u{7f}'..='\u{9f}') || hides(c) && !matches!(c, '\u{fe0e}' | '\u{fe0f}')
}

/// JSON text with escapes in place of such characters. They occur only inside its strings.
pub(crate) fn escape_json(json: &str) -> Cow<'_, str> {
    if !json.contains(is_escaped) {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        if is_escaped(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                _ = write!(text, "\\u{unit:04x}");
            }
        } else {
            text.push(c);
        }
    }
    Cow::Owned(text)
}

/// JSON text with such characters in place of their escapes.
pub(super) fn unescape_json(json: &str) -> Cow<'_, str> {
    if !json.contains("\\u") {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        text.push_str(before);
        let (c, length) = escaped_char(escape);
        match c.filter(|c| is_escaped(*c)) {
            Some(c) => text.push(c),
            None => text.push_str(escape.get(..length).unwrap_or(escape)),
        }
        rest = escape.get(length..).unwrap_or_default();
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// The character of a `\u` escape at the start of a text, and the length of the escape.
fn escaped_char(text: &str) -> (Option<char>, usize) {
    let unit = |text: &str| text.strip_prefix("\\u").and_then(|rest| u32::from_str_radix(rest.get(..4)?, 16).ok());
    match (unit(text), text.get(6..).and_then(unit)) {
        (None, _) => (None, 2),
        (Some(high @ 0xd800..=0xdbff), Some(low @ 0xdc00..=0xdfff)) => {
            (char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)), 12)
        }
        (Some(code), _) => (char::from_u32(code), 6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_is_escaped_and_comes_back() {
        let raw = "{\"a\u{9b}\":\"\u{202e}b\u{7f}\u{e0041}\u{3164}é❤\u{fe0f}\\n\\\\u202e\"}";
        let escaped = escape_json(raw);
        assert_eq!(escaped, r#"{"a\u009b":"\u202eb\u007f\udb40\udc41\u3164é❤️\n\\u202e"}"#);
        assert_eq!(unescape_json(&escaped), raw);
        for kept in [r#""\u0041\u001b\ud83d\ude00\ud800 \u00"#, "\"plain\"", r#""\\u202e\"""#] {
            assert_eq!(unescape_json(kept), kept);
        }
    }
}
