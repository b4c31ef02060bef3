//! Literals: converts the text of one token to a value.

use std::borrow::Cow;

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

/// The contents of a string literal with escapes resolved; unknown escapes are unchanged.
pub(super) fn unescaped(text: &str) -> Cow<'_, str> {
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
            Some(c) => out.extend(['\\', c]),
            None => out.push('\\'),
        }
    }
    out.into()
}
