//! The forms in which known secrets are recognised: plain, reversed, hexadecimal, base64 at any alignment, and pieces of these.
//!
//! In: secrets; decoded texts. Out: the positions of secrets, and the end of a text that could become one. A secret that looks random is
//! searched by its letters and digits alone, whatever separates them; another one (a word) as it is spelled, and only as a whole.
//! It must never print what it looks for.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use super::decoded_text::DecodedText;

/// Bytes of a needle by which places are looked up.
const GRAM: usize = 6;
/// Bits of the filter in front of the table of grams.
const FILTER_BITS: usize = 1 << 16;
/// Shortest and longest piece of a plain secret that is recognised: two fifths of its letters and digits, within these.
const PIECE: (usize, usize) = (12, 24);
/// Letters and digits that a secret needs to be searched without its separators.
const RANDOM_MIN: usize = 12;
/// Minimum bits per character at which letters and digits count as random, and those of pieces of encoded secrets.
const RANDOM_BITS: f64 = 3.0;
const PIECE_BITS: f64 = 2.8;
/// Letters at the end of a text that are held back because they occur within a secret.
const HELD_MIN: usize = 3;

/// One form of one secret.
struct Needle {
    letters: Vec<u8>,
    /// Fewest letters of it that count as found.
    least: usize,
    form: Form,
    /// Bytes of the secret that precede and follow the letters.
    edges: (Vec<u8>, Vec<u8>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain,
    Encoded,
    Base64,
}

/// All forms of all secrets that are searched in one view of a text.
#[derive(Default)]
struct Forms {
    needles: Vec<Needle>,
    /// Needle and offset of every gram that a match may begin with.
    grams: HashMap<u64, Vec<(usize, usize)>>,
    filter: Vec<u64>,
}

/// Index of the forms of secrets.
#[derive(Default)]
pub(super) struct SecretIndex {
    /// Secrets as they are spelled.
    spelled: Forms,
    /// Letters and digits of secrets and of their encodings.
    alphanumeric: Forms,
}

impl std::fmt::Debug for SecretIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretIndex")
    }
}

impl SecretIndex {
    /// An index of these secrets.
    pub(super) fn of<'s>(secrets: impl Iterator<Item = &'s str>) -> Self {
        let mut index = Self::default();
        secrets.for_each(|secret| index.add(secret));
        index
    }

    fn add(&mut self, secret: &str) {
        let decoded = DecodedText::of(secret.as_bytes());
        let letters = decoded.alphanumeric().bytes;
        let reversed = |letters: &[u8]| letters.iter().rev().copied().collect::<Vec<u8>>();
        let is_random = letters.len() >= RANDOM_MIN && looks_random(&letters, RANDOM_BITS);
        let piece = |length: usize, times: usize| {
            let half = (length * 2 / 5).clamp(PIECE.0 * times / 2, PIECE.1 * times / 2);
            if is_random { half.min(length) } else { length }
        };
        if is_random {
            let is_edge = |byte: &u8| !byte.is_ascii_alphanumeric();
            let before: Vec<u8> = secret.bytes().take_while(is_edge).collect();
            let after: Vec<u8> =
                secret.bytes().rev().take_while(is_edge).collect::<Vec<_>>().into_iter().rev().collect();
            let least = piece(letters.len(), 2);
            self.alphanumeric.add(Needle { least, form: Form::Encoded, ..Needle::whole(reversed(&letters)) });
            self.alphanumeric.add(Needle { least, edges: (before, after), ..Needle::whole(letters) });
        } else {
            self.spelled.add(Needle { form: Form::Encoded, ..Needle::whole(reversed(&decoded.bytes)) });
            self.spelled.add(Needle::whole(decoded.bytes));
        }
        let lower = hex(secret.as_bytes());
        for digits in [lower.to_ascii_uppercase(), lower] {
            let least = piece(digits.len(), 4);
            self.alphanumeric.add(Needle { least, form: Form::Encoded, ..Needle::whole(digits.into_bytes()) });
        }
        for shift in 0..3 {
            let letters = base64_core(secret.as_bytes(), shift);
            let least = piece(letters.len(), 3);
            self.alphanumeric.add(Needle { least, form: Form::Base64, ..Needle::whole(letters) });
        }
    }

    /// Returns whether no secret is indexed.
    pub(super) fn is_empty(&self) -> bool {
        self.alphanumeric.needles.is_empty() && self.spelled.needles.is_empty()
    }

    /// The positions of secrets in a text: in order, without overlaps.
    pub(super) fn find(&self, text: &[u8]) -> Vec<Range<usize>> {
        if self.is_empty() || text.len() < GRAM {
            return Vec::new();
        }
        let decoded = DecodedText::of(text);
        let mut found = self.spelled.find_in(&decoded, text);
        if !self.alphanumeric.needles.is_empty() {
            found.extend(self.alphanumeric.find_in(&decoded.alphanumeric(), text));
        }
        apart(found)
    }

    /// The positions of secrets that several adjacent texts make together, by text.
    pub(super) fn find_across(&self, texts: &[&str]) -> Vec<Vec<Range<usize>>> {
        let mut found = vec![Vec::new(); texts.len()];
        if self.alphanumeric.needles.is_empty() || texts.len() < 2 {
            return found;
        }
        let views: Vec<DecodedText> =
            texts.iter().map(|text| DecodedText::of(text.as_bytes()).alphanumeric()).collect();
        let joined: Vec<u8> = views.iter().flat_map(|view| view.bytes.iter().copied()).collect();
        for (place, _) in self.alphanumeric.matches(&joined) {
            let mut start = 0;
            for (number, view) in views.iter().enumerate() {
                let end = start + view.bytes.len();
                let (from, to) = (place.start.max(start), place.end.min(end));
                if from < to && (place.start < start || place.end > end) {
                    found[number].push(view.source(&(from - start..to - start)));
                }
                start = end;
            }
        }
        found.into_iter().map(apart).collect()
    }

    /// Returns the offset from which the end of a text could become a secret when more follows.
    pub(super) fn growing_from(&self, text: &[u8]) -> usize {
        let decoded = DecodedText::of(text);
        let end = decoded.cut_escape.unwrap_or(text.len());
        let view = decoded.alphanumeric();
        [self.spelled.growing(&decoded), self.alphanumeric.growing(&view)].into_iter().flatten().fold(end, usize::min)
    }
}

/// Ranges in order, those that overlap as one.
pub(super) fn apart(mut found: Vec<Range<usize>>) -> Vec<Range<usize>> {
    found.sort_by_key(|place| (place.start, place.end));
    let mut out: Vec<Range<usize>> = Vec::new();
    for place in found {
        match out.last_mut() {
            Some(last) if place.start < last.end => last.end = last.end.max(place.end),
            _ => out.push(place),
        }
    }
    out
}

impl Needle {
    fn whole(letters: Vec<u8>) -> Self {
        Self { least: letters.len(), letters, form: Form::Plain, edges: (Vec::new(), Vec::new()) }
    }

    /// The match with what belongs to it in the source.
    fn widened(&self, place: Range<usize>, text: &[u8], is_whole: bool) -> Range<usize> {
        let (mut start, mut end) = (place.start, place.end);
        match self.form {
            Form::Plain if is_whole => {
                let (before, after) = (&self.edges.0, &self.edges.1);
                if text.get(..start).is_some_and(|head| head.ends_with(before)) {
                    start -= before.len();
                }
                if text.get(end..).is_some_and(|tail| tail.starts_with(after)) {
                    end += after.len();
                }
            }
            // The letters at its ends hold a few bits of the secret, and some of its neighbours.
            Form::Base64 => {
                let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
                start -=
                    text.get(..start).map_or(0, |head| head.iter().rev().take(1).take_while(|b| is_digit(b)).count());
                let tail = text.get(end..).unwrap_or_default();
                end += tail.iter().take(1).take_while(|byte| is_digit(byte)).count();
                end += text.get(end..).unwrap_or_default().iter().take(2).take_while(|byte| **byte == b'=').count();
            }
            Form::Plain | Form::Encoded => {}
        }
        start..end
    }
}

impl Forms {
    fn add(&mut self, needle: Needle) {
        if needle.letters.len() < GRAM {
            return;
        }
        let number = self.needles.len();
        // A piece may begin anywhere, a whole form at its start only.
        let starts = needle.letters.len() - needle.least + 1;
        for (offset, gram) in needle.letters.windows(GRAM).take(starts).enumerate() {
            let key = gram.iter().fold(0, |key, byte| key << 8 | u64::from(*byte));
            self.grams.entry(key).or_default().push((number, offset));
            self.filter.resize(FILTER_BITS / 64, 0);
            let (word, bit) = filter_place(key);
            self.filter[word] |= bit;
        }
        self.needles.push(needle);
    }

    /// The positions in the source of a decoded text.
    fn find_in(&self, decoded: &DecodedText, text: &[u8]) -> Vec<Range<usize>> {
        let places = self.matches(&decoded.bytes).into_iter();
        places
            .map(|(place, number)| {
                let needle = &self.needles[number];
                needle.widened(decoded.source(&place), text, place.len() == needle.letters.len())
            })
            .collect()
    }

    /// The positions in decoded bytes, each with the number of its needle.
    fn matches(&self, bytes: &[u8]) -> Vec<(Range<usize>, usize)> {
        let mut found = Vec::new();
        if self.filter.is_empty() {
            return found;
        }
        // The last match of each needle: start of the needle relative to the text, and end.
        let mut last: HashMap<usize, (isize, usize)> = HashMap::new();
        let mut window = 0_u64;
        for (at, byte) in bytes.iter().enumerate() {
            window = (window << 8 | u64::from(*byte)) & ((1 << (8 * GRAM)) - 1);
            let (word, bit) = filter_place(window);
            if at + 1 < GRAM || self.filter[word] & bit == 0 {
                continue;
            }
            let start = at + 1 - GRAM;
            for (number, offset) in self.grams.get(&window).into_iter().flatten().copied() {
                let shift = start.cast_signed() - offset.cast_signed();
                if last.get(&number).is_some_and(|(known, end)| *known == shift && start < *end) {
                    continue;
                }
                let needle = &self.needles[number];
                let same = bytes[start..].iter().zip(&needle.letters[offset..]).take_while(|(a, b)| a == b).count();
                let is_whole = same == needle.letters.len();
                if same >= needle.least && (is_whole || looks_random(&bytes[start..start + same], PIECE_BITS)) {
                    last.insert(number, (shift, start + same));
                    found.push((start..start + same, number));
                }
            }
        }
        found
    }

    /// Returns the offset in the source of the longest end of a decoded text that occurs in a needle before the needle's end.
    fn growing(&self, decoded: &DecodedText) -> Option<usize> {
        let bytes = &decoded.bytes;
        let longest = self.needles.iter().map(|needle| needle.growing(bytes)).max().filter(|length| *length > 0)?;
        Some(decoded.source(&(bytes.len() - longest..bytes.len())).start)
    }
}

impl Needle {
    /// Letters at the end of a text that could be the start of this form, or of a piece of it.
    fn growing(&self, bytes: &[u8]) -> usize {
        let Some(last) = bytes.last() else { return 0 };
        let common = |end: usize| {
            let (have, want) = (bytes.iter().rev(), self.letters[..end].iter().rev());
            have.zip(want).take_while(|(a, b)| a == b).count()
        };
        let ends = (1..self.letters.len()).filter(|end| self.letters[end - 1] == *last);
        ends.map(|end| match common(end) {
            same if same == end => same,
            same if same >= HELD_MIN && self.least < self.letters.len() => same,
            _ => 0,
        })
        .max()
        .unwrap_or(0)
    }
}

fn filter_place(key: u64) -> (usize, u64) {
    let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
    (usize::try_from(hash / 64).unwrap_or_default(), 1 << (hash % 64))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        _ = write!(text, "{byte:02x}");
        text
    })
}

/// The base64 letters of a secret that follows `shift` other bytes, without those that depend on neighbouring bytes.
fn base64_core(secret: &[u8], shift: usize) -> Vec<u8> {
    let shifted: Vec<u8> = std::iter::repeat_n(0, shift).chain(secret.iter().copied()).collect();
    let text = STANDARD_NO_PAD.encode(&shifted);
    let (start, end) = ((shift * 8).div_ceil(6), shifted.len() * 8 / 6);
    text.as_bytes()
        .get(start..end)
        .unwrap_or_default()
        .iter()
        .filter(|byte| byte.is_ascii_alphanumeric())
        .copied()
        .collect()
}

/// Letters and digits without much repetition: what a generator makes, and no word.
fn looks_random(bytes: &[u8], bits: f64) -> bool {
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    let letters = bytes.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    digits >= 2 && letters >= 2 && entropy(bytes) >= bits
}

/// Shannon entropy of the bytes, in bits per byte.
pub(crate) fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in bytes {
        counts[usize::from(*byte)] += 1;
    }
    let all = f64::from(u32::try_from(bytes.len()).unwrap_or(u32::MAX)).max(1.0);
    counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / all).map(|part| -part * part.log2()).sum()
}
