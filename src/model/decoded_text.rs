//! A text as its readers decode it: without invisible characters, with the escapes of its letters undone.
//!
//! In: bytes. Out: the decoded bytes, each with the part of the source that it comes from, so that what is found in them can be removed
//! from the source. Escapes of escapes are decoded too. It must never lose a visible letter.

use std::ops::Range;

use ptc_core::text::safe::hides;

/// Maximum digits of a numeric character reference (`&#x1F600;`) or of `\u{…}`.
const REFERENCE_DIGITS: usize = 8;

/// The decoded bytes of a text and their places in the source.
#[derive(Debug, Default)]
pub(super) struct DecodedText {
    /// Decoded bytes: UTF-8 where the source is.
    pub(super) bytes: Vec<u8>,
    /// For each decoded byte the range of the source.
    spans: Vec<(u32, u32)>,
    /// Start of an escape that the end of the source cuts.
    pub(super) cut_escape: Option<usize>,
}

/// Result of one step of the decoder.
enum Step {
    Char(char),
    /// A byte that is not UTF-8.
    Byte(u8),
    Nothing,
    /// The source ends within an escape.
    Cut,
}

impl DecodedText {
    /// Decodes a text.
    pub(super) fn of(source: &[u8]) -> Self {
        let mut decoded = Self::default();
        decoded.bytes.reserve(source.len());
        decoded.spans.reserve(source.len());
        let mut at = 0;
        while at < source.len() {
            let (step, length) = step(&source[at..]);
            let end = at + length.max(1);
            match step {
                Step::Char(c) => decoded.push_char(c, at..end),
                Step::Byte(byte) => decoded.push(byte, at..end),
                Step::Nothing => {}
                Step::Cut => {
                    decoded.cut_escape.get_or_insert(at);
                }
            }
            at = end;
        }
        decoded
    }

    /// Only the ASCII letters and digits of the text: whatever separates them is skipped.
    pub(super) fn alphanumeric(&self) -> Self {
        let kept = self.bytes.iter().zip(&self.spans).filter(|(byte, _)| byte.is_ascii_alphanumeric());
        let (bytes, spans) = kept.map(|(byte, span)| (*byte, *span)).unzip();
        Self { bytes, spans, cut_escape: self.cut_escape }
    }

    /// The decoded text, if decoding changed anything. Its bytes are at the places of the decoded bytes.
    fn changed(&self, source: &str) -> Option<String> {
        if self.bytes == source.as_bytes() {
            return None;
        }
        let ascii =
            |bytes: Vec<u8>| bytes.iter().map(|byte| if byte.is_ascii() { char::from(*byte) } else { '?' }).collect();
        Some(String::from_utf8(self.bytes.clone()).unwrap_or_else(|error| ascii(error.into_bytes())))
    }

    /// The part of the source that these decoded bytes come from.
    pub(super) fn source(&self, decoded: &Range<usize>) -> Range<usize> {
        let start = self.spans.get(decoded.start).map_or(0, |span| span.0);
        let end = decoded.end.checked_sub(1).and_then(|last| self.spans.get(last)).map_or(start, |span| span.1);
        start as usize..(end.max(start)) as usize
    }

    fn push_char(&mut self, c: char, span: Range<usize>) {
        if is_invisible(c) {
            return;
        }
        let mut buffer = [0; 4];
        for byte in plain_letter(c).encode_utf8(&mut buffer).bytes() {
            self.push(byte, span.clone());
        }
    }

    fn push(&mut self, byte: u8, span: Range<usize>) {
        let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        self.bytes.push(byte);
        self.spans.push((place(span.start), place(span.end)));
    }
}

/// Returns the matches of a search in a text and in its decoded form, as byte ranges of the text.
pub(crate) fn search_decoded<T: PartialEq>(
    text: &str,
    search: impl Fn(&str) -> Vec<(Range<usize>, T)>,
) -> Vec<(Range<usize>, T)> {
    let mut found = search(text);
    let decoded = DecodedText::of(text.as_bytes());
    let Some(plain) = decoded.changed(text) else { return found };
    for (place, what) in search(&plain) {
        let place = decoded.source(&place);
        let place = text.floor_char_boundary(place.start)..text.ceil_char_boundary(place.end);
        if !place.is_empty() && !found.iter().any(|(known, same)| *known == place && *same == what) {
            found.push((place, what));
        }
    }
    found
}

/// Control characters except line ends and tabs, and characters without a picture of their own.
fn is_invisible(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\r' | '\t') || hides(c)
}

/// The ASCII character that a full-width or mathematical one looks like.
fn plain_letter(c: char) -> char {
    let code = u32::from(c);
    let ascii = |start: u8, place: u32| u8::try_from(place).ok().map(|place| char::from(start.saturating_add(place)));
    let plain = match code {
        0xff01..=0xff5e => ascii(b'!', code - 0xff01),
        0x1d400..=0x1d6a3 => match (code - 0x1d400) % 52 {
            place @ 0..26 => ascii(b'A', place),
            place => ascii(b'a', place - 26),
        },
        0x1d7ce..=0x1d7ff => ascii(b'0', (code - 0x1d7ce) % 10),
        _ => None,
    };
    plain.unwrap_or(c)
}

/// The first letter of a text and its length in bytes.
fn step(text: &[u8]) -> (Step, usize) {
    match text {
        [b'\\', ..] => backslash(text),
        [b'%', rest @ ..] => percent(text, rest),
        [b'&', ..] => reference(text),
        [byte, ..] if byte.is_ascii() => (Step::Char(char::from(*byte)), 1),
        _ => utf8(text)
            .map_or((Step::Byte(text.first().copied().unwrap_or_default()), 1), |c| (Step::Char(c), c.len_utf8())),
    }
}

/// The character at the start of these bytes.
fn utf8(text: &[u8]) -> Option<char> {
    let most = text.get(..4).unwrap_or(text);
    let valid = match std::str::from_utf8(most) {
        Ok(valid) => valid,
        Err(error) => std::str::from_utf8(most.get(..error.valid_up_to())?).ok()?,
    };
    valid.chars().next()
}

/// The number given by `count` hexadecimal digits; `None` when other bytes are among them, `Err` when the text ends first.
fn hex(text: &[u8], count: usize) -> Result<Option<u32>, ()> {
    let digits = text.get(..count).unwrap_or(text);
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return Ok(None);
    }
    if digits.len() < count {
        return Err(());
    }
    Ok(std::str::from_utf8(digits).ok().and_then(|digits| u32::from_str_radix(digits, 16).ok()))
}

/// An escape of JSON, of a program or of a shell: backslashes, however many, and what they escape.
fn backslash(text: &[u8]) -> (Step, usize) {
    let bars = text.iter().take_while(|byte| **byte == b'\\').count();
    let rest = text.get(bars..).unwrap_or_default();
    let escape = |count: usize, after: usize| match hex(rest.get(after..).unwrap_or_default(), count) {
        Err(()) => (Step::Cut, text.len()),
        Ok(None) => (Step::Nothing, bars),
        Ok(Some(code)) => (Step::Char(char::from_u32(code).unwrap_or('\0')), bars + after + count),
    };
    match rest {
        [] => (Step::Cut, text.len()),
        [b'u', b'{', digits @ ..] => match braces(digits) {
            Some((code, length)) => (Step::Char(char::from_u32(code).unwrap_or('\0')), bars + 2 + length),
            None if digits.len() <= REFERENCE_DIGITS && digits.iter().all(u8::is_ascii_hexdigit) => {
                (Step::Cut, text.len())
            }
            // No escape, such as `\u{}`: what follows is text.
            None => (Step::Nothing, bars),
        },
        [b'u', ..] => match (escape(4, 1), hex(rest.get(1..).unwrap_or_default(), 4)) {
            ((Step::Char(_), length), Ok(Some(high @ 0xd800..=0xdbff))) => surrogates(text, length, high),
            (other, _) => other,
        },
        [b'x', ..] => escape(2, 1),
        [b'n', ..] => (Step::Char('\n'), bars + 1),
        [b'r', ..] => (Step::Char('\r'), bars + 1),
        [b't', ..] => (Step::Char('\t'), bars + 1),
        [next @ (b'/' | b'"' | b'\''), ..] => (Step::Char(char::from(*next)), bars + 1),
        _ => (Step::Nothing, bars),
    }
}

/// The code between braces, and the length up to the closing one.
fn braces(text: &[u8]) -> Option<(u32, usize)> {
    let end = text.iter().take(REFERENCE_DIGITS + 1).position(|byte| *byte == b'}')?;
    let digits = std::str::from_utf8(text.get(..end)?).ok()?;
    Some((u32::from_str_radix(digits, 16).ok()?, end + 1))
}

/// The second half of a character that two escapes spell.
fn surrogates(text: &[u8], length: usize, high: u32) -> (Step, usize) {
    let rest = text.get(length..).unwrap_or_default();
    let bars = rest.iter().take_while(|byte| **byte == b'\\').count();
    if rest.is_empty() || bars == rest.len() {
        return (Step::Cut, text.len());
    }
    let Some(digits) = rest.get(bars..).and_then(|rest| rest.strip_prefix(b"u")).filter(|_| bars > 0) else {
        return (Step::Nothing, length);
    };
    match hex(digits, 4) {
        Err(()) => (Step::Cut, text.len()),
        Ok(Some(low @ 0xdc00..=0xdfff)) => {
            let code = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
            (Step::Char(char::from_u32(code).unwrap_or('\0')), length + bars + 5)
        }
        Ok(_) => (Step::Nothing, length),
    }
}

/// A byte of an address: `%2F`; several make one character.
fn percent(text: &[u8], rest: &[u8]) -> (Step, usize) {
    let first = match hex(rest, 2) {
        Err(()) => return (Step::Cut, text.len()),
        Ok(None) => return (Step::Char('%'), 1),
        Ok(Some(first)) => u8::try_from(first).unwrap_or_default(),
    };
    if first.is_ascii() {
        return (Step::Char(char::from(first)), 3);
    }
    let mut bytes = vec![first];
    let mut rest = rest.get(2..).unwrap_or_default();
    while bytes.len() < 4 {
        if let Some(c) = utf8(&bytes) {
            return (Step::Char(c), bytes.len() * 3);
        }
        let Some(digits) = rest.strip_prefix(b"%") else {
            return if rest.is_empty() { (Step::Cut, text.len()) } else { (Step::Byte(first), 3) };
        };
        match hex(digits, 2) {
            Err(()) => return (Step::Cut, text.len()),
            Ok(Some(byte)) => bytes.push(u8::try_from(byte).unwrap_or_default()),
            Ok(None) => return (Step::Byte(first), 3),
        }
        rest = digits.get(2..).unwrap_or_default();
    }
    utf8(&bytes).map_or((Step::Byte(first), 3), |c| (Step::Char(c), bytes.len() * 3))
}

/// A numeric character reference of HTML or XML: `&#115;`, `&#x73;`.
fn reference(text: &[u8]) -> (Step, usize) {
    let literal = (Step::Char('&'), 1);
    let (digits, radix, before) = match text {
        [b'&'] | [b'&', b'#'] | [b'&', b'#', b'x' | b'X'] => return (Step::Cut, text.len()),
        [b'&', b'#', b'x' | b'X', digits @ ..] => (digits, 16, 3),
        [b'&', b'#', digits @ ..] => (digits, 10, 2),
        _ => return literal,
    };
    let count = digits.iter().take(REFERENCE_DIGITS).take_while(|byte| char::from(**byte).is_digit(radix)).count();
    match digits.get(count) {
        None if count < REFERENCE_DIGITS => (Step::Cut, text.len()),
        Some(b';') if count > 0 => {
            let number = std::str::from_utf8(digits.get(..count).unwrap_or_default()).unwrap_or_default();
            let c = u32::from_str_radix(number, radix).ok().and_then(char::from_u32);
            c.map_or(literal, |c| (Step::Char(c), before + count + 1))
        }
        _ => literal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &str) -> String {
        String::from_utf8_lossy(&DecodedText::of(text.as_bytes()).bytes).into_owned()
    }

    #[test]
    fn escapes_of_json_addresses_and_pages_are_decoded_and_invisible_characters_are_skipped() {
        for (text, expected) in [
            ("plain text 100% & more", "plain text 100% & more"),
            (r"\u0073k\/\\\\u0061\x62\u{63}", "sk/abc"),
            (r#"a\nb\tc\"d"#, "a\nb\tc\"d"),
            ("%73k%2F%E2%80%8Ba%C3%A9", "sk/a\u{e9}"),
            ("&#115;&#x6B;&#x200b;&amp;", "sk&amp;"),
            ("s\u{200b}k\u{feff}-\u{ad}a\u{2060}b\u{fe0f}c\u{202e}d\u{e0041}\u{7f}\u{9b}\u{1b}e", "sk-abcde"),
            (r"s\u200bk\\u202e\udb40\udc41x\u{feff}", "skx"),
            ("ｓｋ－\u{1d41a}\u{1d7d9}", "sk-a1"),
        ] {
            assert_eq!(decoded(text), expected, "{text}");
        }
    }

    #[test]
    fn every_decoded_byte_knows_its_source() {
        let text = "a\u{200b}\\u0062%63";
        let view = DecodedText::of(text.as_bytes());
        assert_eq!(view.bytes, b"abc");
        let of = |range: Range<usize>| &text[view.source(&range)];
        assert_eq!([of(0..1), of(1..2), of(2..3), of(0..3)], ["a", "\\u0062", "%63", text]);
    }

    #[test]
    fn an_escape_that_the_end_cuts_is_known() {
        for (whole, cuts) in [(r"\u0073", 1..6), ("%73", 1..3), ("&#115;", 1..6), (r"\udb40\udc41", 1..12)] {
            for end in cuts {
                let text = format!("ab {}", &whole[..end]);
                assert_eq!(DecodedText::of(text.as_bytes()).cut_escape, Some(3), "{text}");
            }
            assert_eq!(DecodedText::of(format!("ab {whole}").as_bytes()).cut_escape, None, "{whole}");
        }
    }
}
