//! Literals: converts the text of one token to a value.

use std::borrow::Cow;
use std::str::Chars;

use super::fault;
use crate::limits::INTEGER_DIGITS;
use crate::lisp::Error;
use crate::text::Span;
use crate::text::lex::lisp::CHARS;
use crate::value::{BigInt, Value};

/// An integer of any size up to the limit of digits.
pub(super) fn integer(text: &str, span: Span) -> Result<Value, Error> {
    let digits = text.trim_start_matches('-').len();
    let most = INTEGER_DIGITS.usual() as usize;
    if digits > most {
        return Err(fault::too_many_digits(digits, most, span));
    }
    if let Ok(small) = text.parse::<i64>() {
        return Ok(Value::Int(small));
    }
    BigInt::parse_bytes(text.as_bytes(), 10).map(Value::integer).ok_or_else(|| fault::number(span))
}

/// A float; beyond the range of doubles it is an error, below it is 0.
pub(super) fn float(text: &str, span: Span) -> Result<Value, Error> {
    match text.parse::<f64>() {
        Ok(float) if float.is_finite() => Ok(Value::Float(float)),
        _ => Err(fault::number(span)),
    }
}

/// `##Inf`, `##-Inf`, `##NaN`
pub(super) fn special_float(text: &str) -> Value {
    Value::Float(match text {
        "##Inf" => f64::INFINITY,
        "##-Inf" => f64::NEG_INFINITY,
        _ => f64::NAN,
    })
}

/// `nil`, `true`, `false`
pub(super) fn constant(text: &str) -> Value {
    match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => Value::Nil,
    }
}

/// A character literal without its backslash: a name or the character itself.
pub(super) fn character(text: &str) -> Value {
    Value::str(CHARS.iter().find(|(name, _)| *name == text).map_or(text, |(_, char)| char))
}

/// `\u0041`: the character with four hexadecimal digits.
pub(super) fn unicode(text: &str) -> Option<Value> {
    let digits = text.strip_prefix("\\u").filter(|digits| digits.len() == 4)?;
    let character = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)?;
    Some(Value::str(character.to_string()))
}

/// The contents of a string literal of the dialect `reference`, or of a regex, with escapes resolved; unknown escapes
/// are unchanged.
pub(super) fn unescaped(text: &str) -> Cow<'_, str> {
    resolved(text, |_, _| None)
}

/// The contents of a string literal with the escapes of Clojure resolved; unknown escapes are unchanged. `\1` is one of
/// them: it is a group in a replacement.
pub(super) fn string(text: &str) -> Cow<'_, str> {
    resolved(text, |rest, letter| match letter {
        'b' => Some('\u{8}'),
        'f' => Some('\u{c}'),
        'u' => utf16_escape(rest),
        '0' => octal_escape(rest),
        _ => None,
    })
}

/// The character of `\u0041`, or of the two halves `\ud83d\ude00`, after the first letter.
fn utf16_escape(rest: &mut Chars<'_>) -> Option<char> {
    let unit = |text: &str| u16::from_str_radix(text.get(..4).filter(|text| is_hexadecimal(text))?, 16).ok();
    let text = rest.as_str();
    let first = unit(text)?;
    let second = || text.get(4..)?.strip_prefix("\\u").and_then(unit);
    let (units, length) = match char::from_u32(first.into()) {
        Some(_) => ([first, 0], 4),
        None => ([first, second()?], 10),
    };
    let character = char::decode_utf16(units).next()?.ok()?;
    *rest = text[length..].chars();
    Some(character)
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The character of `\033`, after the zero.
fn octal_escape(rest: &mut Chars<'_>) -> Option<char> {
    let text = rest.as_str();
    let digits = text.get(..2).filter(|digits| digits.bytes().all(|digit| matches!(digit, b'0'..=b'7')))?;
    let code = u8::from_str_radix(digits, 8).ok()?;
    *rest = text[2..].chars();
    Some(code.into())
}

/// Resolves `\n \t \r \\ \"` and what `other` finds after the letter of another escape, which it then skips.
fn resolved(text: &str, other: impl Fn(&mut Chars<'_>, char) -> Option<char>) -> Cow<'_, str> {
    let Some(first) = text.find('\\') else { return text.into() };
    let mut out = String::with_capacity(text.len());
    out.push_str(&text[..first]);
    let mut rest = text[first..].chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match rest.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some(c @ ('\\' | '"')) => out.push(c),
            Some(c) => match other(&mut rest, c) {
                Some(character) => out.push(character),
                None => out.extend(['\\', c]),
            },
            None => out.push('\\'),
        }
    }
    out.into()
}
