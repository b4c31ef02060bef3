//! Numbers of the tolerant reader: those of JSON, and the notations of other languages.
//!
//! Integers stay exact; a number that does not fit a double is a text that fits no type of numbers.

use num_bigint::BigInt;

use super::{Edge, Fault, FixKind, JsonError, Reader, Result, ValueContext};
use crate::text::Span;
use crate::value::json::{Node, parse};

/// Maximum digits of a hexadecimal number (converting to decimal takes quadratic time).
const LONGEST_HEX: usize = 64;

/// Spellings of numbers that JSON cannot represent, and the strings they become.
const SPECIAL: [(&str, &str); 8] = [
    ("NaN", "NaN"),
    ("nan", "NaN"),
    ("Infinity", "Infinity"),
    ("inf", "Infinity"),
    ("+Infinity", "Infinity"),
    ("-Infinity", "-Infinity"),
    ("-inf", "-Infinity"),
    ("-NaN", "NaN"),
];

impl<'a> Reader<'a> {
    pub(super) fn number(&mut self, context: ValueContext) -> Result<Node> {
        let start = self.at;
        let token = self.number_token();
        let end = start + token.len();
        let span = Span::new(start, end);
        let (node, kind) = if let Ok(json) = parse(token) {
            (json.node, None)
        } else if let Some(node) = special(token) {
            (node, Some(FixKind::SpecialNumber))
        } else {
            match normal_form(token).map(|text| (parse(&text), text)) {
                Some((Ok(json), _)) => (json.node, Some(FixKind::NumberForm)),
                // Out of range: like NaN it becomes a text, and the check names it at its place.
                Some((Err(_), text)) if text.contains(['.', 'e', 'E']) => {
                    (Node::Str(token.to_owned()), Some(FixKind::SpecialNumber))
                }
                // The limit of digits.
                Some((Err(error), _)) => return Err(self.refused_number(end, error.message)),
                None => return self.not_a_number(context, token),
            }
        };
        if context == ValueContext::Item && self.is_thousands_group(start, token) {
            let message = "a number has thousands separators; write 1000, not 1,000".to_owned();
            return Err(self.refused_number(end, message));
        }
        if self.text_continues(end) || (context == ValueContext::Member && self.lenient() && self.unit_after(end)) {
            return self.not_a_number(context, token);
        }
        if let Some(kind) = kind {
            // A number inside brackets that touches the end could have more digits.
            let is_complete = self.edge == Edge::Closed || (self.edge == Edge::Reply && context == ValueContext::Root);
            if end == self.bytes.len() && !is_complete {
                self.at = end;
                return Err(self.error("expected the rest of the number"));
            }
            if !self.allows(kind) {
                return self.not_a_number(context, token);
            }
            self.fix(kind, span)?;
        }
        self.at = end;
        self.number_end = end;
        if context == ValueContext::Member && self.lenient() { self.thousands(start, node) } else { Ok(node) }
    }

    /// The text at the current offset that could be one number.
    fn number_token(&self) -> &'a str {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let mut before = b' ';
        let length = rest
            .iter()
            .position(|b| {
                let sign = matches!(b, b'+' | b'-') && matches!(before, b' ' | b'e' | b'E');
                before = *b;
                !(sign || b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_'))
            })
            .unwrap_or(rest.len());
        Span::new(self.at, self.at + length).text(self.text)
    }

    /// An error at the current offset about a number that ends at `end`.
    fn refused_number(&self, end: usize, message: String) -> Fault {
        Fault { error: JsonError { message, offset: self.at, incomplete: false }, resume: Some(end) }
    }

    /// True for `000` in `[1,000]`: a list of 1 and 0, or one number with separators. Without leading zeros both items
    /// are valid JSON.
    fn is_thousands_group(&self, start: usize, token: &str) -> bool {
        let before = self.text.get(..start).and_then(|before| before.strip_suffix(',')).unwrap_or_default();
        let head = before.rsplit(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        let whole = token.split('.').next().unwrap_or_default();
        let is_group = whole.len() == 3 && whole.starts_with('0') && whole.bytes().all(|b| b.is_ascii_digit());
        is_group && (1..=3).contains(&head.len()) && !head.starts_with('0')
    }

    /// True if text such as a unit, an operator or the rest of a date follows the number that ends at `end`.
    fn text_continues(&self, end: usize) -> bool {
        match self.char_at(end) {
            None => false,
            // `7//2` is a division rather than a comment.
            Some('/') => self.bytes.get(end + 1) != Some(&b'*'),
            Some(c) => c.is_alphanumeric() || matches!(c, '-' | '%' | ':' | '$' | '€' | '°' | '*' | '+' | '#'),
        }
    }

    /// True if a word that is not the next key follows on the same line, as in `5 kg`.
    fn unit_after(&mut self, end: usize) -> bool {
        let behind = self.text.get(end..).unwrap_or_default();
        let word = behind.trim_start_matches([' ', '\t']);
        let (key, seen) = self.fits_key(end);
        self.visited += seen - end;
        word.starts_with(char::is_alphabetic) && !key
    }

    fn not_a_number(&mut self, context: ValueContext, token: &str) -> Result<Node> {
        let length = token.len();
        if self.lenient() && matches!(context, ValueContext::Member | ValueContext::Item) && !token.starts_with("...") {
            return self.unquoted(context);
        }
        let offset = self.at;
        self.at += length;
        let incomplete = self.at == self.bytes.len();
        let rest = self.text.get(offset..).unwrap_or_default();
        let shown: String = rest.chars().take_while(|c| !matches!(c, ',' | '}' | ']' | '\n')).take(40).collect();
        let error = JsonError { message: format!("expected a number, found {shown:?}"), offset, incomplete };
        Err(Fault { resume: (!incomplete).then_some(self.at), error })
    }

    /// After a member's number: groups of three digits after commas, unless they are the next key.
    fn thousands(&mut self, start: usize, node: Node) -> Result<Node> {
        let digits = |from: usize| {
            let rest = self.bytes.get(from..).unwrap_or_default();
            rest.iter().take_while(|b| b.is_ascii_digit()).count()
        };
        let head = Span::new(start, self.at).text(self.text);
        let head_digits = head.trim_start_matches('-');
        if head_digits.len() > 3 || !head_digits.bytes().all(|b| b.is_ascii_digit()) {
            return Ok(node);
        }
        let mut end = self.at;
        while self.bytes.get(end) == Some(&b',') && digits(end + 1) == 3 {
            end += 4;
        }
        if end == self.at || self.text_continues(end) {
            return Ok(node);
        }
        let fraction = if self.bytes.get(end) == Some(&b'.') { digits(end + 1) } else { 0 };
        if fraction > 0 {
            end += 1 + fraction;
        }
        let plain = Span::new(start, end).text(self.text).replace(',', "");
        let Ok(json) = parse(&plain) else { return Ok(node) };
        self.fix(FixKind::ThousandsComma, Span::new(start, end))?;
        self.at = end;
        self.number_end = end;
        Ok(json.node)
    }
}

/// The string for a number that JSON cannot represent.
pub(super) fn special(word: &str) -> Option<Node> {
    SPECIAL.iter().find(|(spelling, _)| *spelling == word).map(|(_, text)| Node::Str((*text).to_owned()))
}

/// The JSON form of a number in the notation of another language.
fn normal_form(token: &str) -> Option<String> {
    let (sign, body) = match token.strip_prefix('-') {
        Some(body) => ("-", body),
        None => ("", token.strip_prefix('+').unwrap_or(token)),
    };
    if let Some(hex) = body.strip_prefix("0x").or_else(|| body.strip_prefix("0X")) {
        let digits = hex.len() <= LONGEST_HEX && hex.bytes().all(|b| b.is_ascii_hexdigit());
        return BigInt::parse_bytes(hex.as_bytes(), 16).filter(|_| digits).map(|number| format!("{sign}{number}"));
    }
    let body = body.replace('_', "");
    let (mantissa, exponent) = match body.find(['e', 'E']) {
        Some(at) => (&body[..at], &body[at..]),
        None => (body.as_str(), ""),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(if fraction.is_empty() { "0" } else { fraction })),
        None => (mantissa, None),
    };
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let power = exponent.trim_start_matches(['e', 'E']).trim_start_matches(['+', '-']);
    let empty = mantissa.bytes().all(|b| b == b'.') || exponent.is_empty() != power.is_empty();
    if empty || !digits(whole) || !fraction.is_none_or(digits) || !digits(power) {
        return None;
    }
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let fraction = fraction.map(|digits| format!(".{digits}")).unwrap_or_default();
    Some(format!("{sign}{whole}{fraction}{exponent}"))
}
