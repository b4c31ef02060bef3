//! A secret in a text, also with escapes in place of its letters: `\u0073`, `\/`, `%2F`, and escapes of escapes.
//!
//! In: bytes and a secret. Out: the positions of the secret, or whether more of the text could complete one.
//! What is decoded later must not bring back a key that was looked for only as it is spelled.

use std::ops::Range;

/// Whether a text begins with something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// It does, over so many bytes.
    Whole(usize),
    /// The text ends before this is decided.
    Begun,
    /// It does not.
    Other,
}

/// Most bytes that are taken for one letter: `\\\\u0073` is an escape within two texts.
const LETTER_MAX_BYTES: usize = 12;

/// The positions of the secret: in order, without overlaps.
pub(super) fn places(text: &[u8], secret: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = next(text, secret, at) {
        match text.get(start..).map(|rest| fit(rest, secret)) {
            Some(Fit::Whole(len)) => {
                found.push(start..start + len);
                at = start + len;
            }
            _ => at = start + 1,
        }
    }
    found
}

/// Bytes at the end of a text that could be the start of a secret.
pub(super) fn begun(text: &[u8], secret: &[u8]) -> usize {
    let mut at = text.len().saturating_sub(secret.len().saturating_mul(LETTER_MAX_BYTES));
    while let Some(start) = next(text, secret, at) {
        if text.get(start..).is_some_and(|rest| fit(rest, secret) == Fit::Begun) {
            return text.len() - start;
        }
        at = start + 1;
    }
    0
}

/// The next place where a secret could begin.
fn next(text: &[u8], secret: &[u8], from: usize) -> Option<usize> {
    let first = secret.first()?;
    let place = text.get(from..)?.iter().position(|byte| byte == first || matches!(byte, b'\\' | b'%'))?;
    Some(from + place)
}

fn fit(text: &[u8], secret: &[u8]) -> Fit {
    if text.starts_with(secret) {
        return Fit::Whole(secret.len());
    }
    if secret.starts_with(text) {
        return Fit::Begun;
    }
    let mut at = 0;
    for wanted in secret {
        match letter(text.get(at..).unwrap_or_default(), *wanted) {
            Fit::Whole(len) => at += len,
            other => return other,
        }
    }
    Fit::Whole(at)
}

fn letter(text: &[u8], wanted: u8) -> Fit {
    let bars = text.iter().take_while(|byte| **byte == b'\\').count();
    let behind = text.get(bars..).unwrap_or_default();
    match behind {
        _ if bars > LETTER_MAX_BYTES => Fit::Other,
        _ if bars > 0 && wanted == b'\\' => Fit::Whole(bars),
        [] => Fit::Begun,
        [b'u', digits @ ..] if bars > 0 => escape(digits, 4, bars + 1, wanted),
        [next @ (b'/' | b'"'), ..] if bars > 0 && *next == wanted => Fit::Whole(bars + 1),
        _ if bars > 0 => Fit::Other,
        [b'%', digits @ ..] => match escape(digits, 2, 1, wanted) {
            Fit::Other if wanted == b'%' => Fit::Whole(1),
            fit => fit,
        },
        [next, ..] if *next == wanted => Fit::Whole(1),
        _ => Fit::Other,
    }
}

/// A letter as a number of so many hexadecimal digits, with the prefix before them.
fn escape(digits: &[u8], count: usize, before: usize, wanted: u8) -> Fit {
    let digits = digits.get(..count).unwrap_or(digits);
    let code = std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
    match code {
        Some(code) if code.len() < count => Fit::Begun,
        Some(code) if u32::from_str_radix(code, 16) == Ok(u32::from(wanted)) => Fit::Whole(before + count),
        _ => Fit::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &[u8] = b"sk/a%b\"c";

    #[test]
    fn a_secret_is_found_however_its_letters_are_written() {
        for text in [
            r#"sk/a%b"c"#,
            r#"sk\/a%b\"c"#,
            r"\u0073\u006B\u002f\u0061\u0025\u0062\u0022\u0063",
            r#"\\\\u0073k\\\/a%b\\\"c"#,
            "%73k%2Fa%25b%22c",
        ] {
            assert_eq!(places(text.as_bytes(), SECRET), std::slice::from_ref(&(0..text.len())), "{text}");
            let within = format!(r"\\ %7 sk/ {text}{text} s\u00");
            let start = within.find(text).unwrap();
            let both = [start..start + text.len(), start + text.len()..start + 2 * text.len()];
            assert_eq!(places(within.as_bytes(), SECRET), both, "{within}");
        }
        for text in ["sk/a%b'c", r"s\k/a%b", r"\u0073\u006b\u002g", "", "sk/a%b"] {
            assert!(places(text.as_bytes(), SECRET).is_empty(), "{text}");
        }
    }

    #[test]
    fn every_beginning_of_a_secret_is_withheld() {
        for text in [r#"sk\/a%b"c"#, r"\u0073\u006B\u002f\u0061\u0025\u0062\u0022\u0063", "%73k%2Fa%25b%22c"] {
            for end in 1..text.len() {
                let cut = format!("x y {}", &text[..end]);
                assert_eq!(begun(cut.as_bytes(), SECRET), end, "{cut}");
            }
            assert_eq!(begun(text.as_bytes(), SECRET), 0, "{text}");
        }
        assert_eq!(begun(b"a b c", SECRET), 0);
    }
}
