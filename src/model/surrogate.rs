//! JSON strings whose UTF-16 halves arrive apart.
//!
//! Some servers cut their text by UTF-16 unit, so that one emoji comes as `"\ud83d"` in one event and `"\ude00"` in the next.
//! In: strings as bytes with lone halves in their three-byte form. Out: text.
//! It must never lose or invent a character because of where the cut was.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A JSON string that may hold lone surrogates, each as three bytes `ED A0..BF xx`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Utf16Text(Vec<u8>);

impl Utf16Text {
    /// Returns whether the text is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'de> Deserialize<'de> for Utf16Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Utf16Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Utf16Text, E> {
                Ok(Utf16Text(bytes.to_vec()))
            }
        }
        // As bytes, serde_json is specified to keep lone surrogates; as a string it would refuse them.
        deserializer.deserialize_bytes(Bytes)
    }
}

impl From<&str> for Utf16Text {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

/// Joins the pieces of one text.
#[derive(Debug, Clone, Default)]
pub(super) struct Joiner {
    high: Option<u32>,
}

impl Joiner {
    /// The text of a piece; a first half at its end waits for the next piece. A half without its partner becomes U+FFFD.
    pub(super) fn push(&mut self, piece: &Utf16Text) -> String {
        let mut out = String::new();
        let mut rest = piece.0.as_slice();
        while !rest.is_empty() {
            let Some((at, unit)) = next_half(rest) else {
                self.plain(rest, &mut out);
                break;
            };
            let (before, after) = rest.split_at(at);
            self.plain(before, &mut out);
            rest = after.get(3..).unwrap_or_default();
            match (self.high.take(), unit) {
                (Some(high), 0xDC00..) => {
                    let code = 0x1_0000 + ((high - 0xD800) << 10) + (unit - 0xDC00);
                    out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                (None, 0xDC00..) => out.push(char::REPLACEMENT_CHARACTER),
                (waiting, _) => {
                    out.extend(waiting.map(|_| char::REPLACEMENT_CHARACTER));
                    self.high = Some(unit);
                }
            }
        }
        out
    }

    /// Returns U+FFFD for a first half that still waits, when no piece follows.
    pub(super) fn finish(&mut self) -> Option<char> {
        self.high.take().map(|_| char::REPLACEMENT_CHARACTER)
    }

    fn plain(&mut self, bytes: &[u8], out: &mut String) {
        if !bytes.is_empty() {
            out.extend(self.finish());
            out.push_str(&String::from_utf8_lossy(bytes));
        }
    }
}

/// Place and value of the first lone half.
fn next_half(bytes: &[u8]) -> Option<(usize, u32)> {
    bytes.windows(3).enumerate().find_map(|(at, window)| match window {
        [0xED, second @ 0xA0..=0xBF, third] => {
            Some((at, 0xD000 | (u32::from(*second & 0x3F) << 6) | u32::from(*third & 0x3F)))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join(pieces: &[&str]) -> String {
        let mut joiner = Joiner::default();
        let mut text = String::new();
        for piece in pieces {
            text += &joiner.push(&serde_json::from_str(piece).unwrap());
        }
        text.extend(joiner.finish());
        text
    }

    #[test]
    fn halves_meet_across_pieces() {
        let cases: [(&[&str], &str); 8] = [
            (&[r#""a\ud83d""#, r#""\ude00b""#], "a😀b"),
            (&[r#""\ud83d""#, r#""""#, r#""\ude00""#], "😀"),
            (&[r#""\ud83d\ude00""#], "😀"),
            (&[r#""\ud83d""#, r#""x""#], "\u{fffd}x"),
            (&[r#""\ude00x""#], "\u{fffd}x"),
            (&[r#""\ud83d\ud83d""#, r#""\ude00""#], "\u{fffd}😀"),
            (&[r#""x\ud83d""#], "x\u{fffd}"),
            (&[r#""naïve 日本""#, r#""\u00e9\n""#], "naïve 日本é\n"),
        ];
        for (pieces, expected) in cases {
            assert_eq!(join(pieces), expected, "{pieces:?}");
        }
    }
}
