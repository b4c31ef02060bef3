//! Numbers as Clojure writes them: `1N`, `1.5M`, `1/3`, `0x1F`, `2r101`, `+5`.
//!
//! In: the text of one token that begins with a digit, with or without a sign. Out: an integer or a float, or an error
//! for the whole token. A value is never less exact than it is written.

use super::{fault, literal};
use crate::limits::INTEGER_DIGITS;
use crate::lisp::Error;
use crate::text::Span;
use crate::value::{BigInt, Value};

/// Decimal digits that a float keeps in any case.
const FLOAT_DIGITS: usize = 15;

/// True for a number with a plus sign.
#[inline]
pub(super) fn is_signed(text: &str) -> bool {
    matches!(text.as_bytes(), [b'+', digit, ..] if digit.is_ascii_digit())
}

/// The value of a number token. `parse_error` if it is neither a number nor a name.
pub(super) fn token(text: &str, span: Span) -> Result<Value, Error> {
    let plain = text.strip_prefix('+').unwrap_or(text);
    let (sign, digits) = plain.strip_prefix('-').map_or(("", plain), |digits| ("-", digits));
    if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        return with_radix(sign, hex, 16, text, span);
    }
    if let Some((radix, rest)) = digits.split_once(['r', 'R'])
        && let Ok(radix) = radix.parse()
    {
        return with_radix(sign, rest, radix, text, span);
    }
    if let Some((over, under)) = plain.split_once('/') {
        return ratio(over, under, text, span);
    }
    if let Some(whole) = plain.strip_suffix('N').filter(|_| is_whole(digits.trim_end_matches('N'))) {
        return literal::integer(whole, span);
    }
    if let Some(decimal) = plain.strip_suffix('M').filter(|decimal| decimal.parse::<f64>().is_ok()) {
        return exact(decimal, span);
    }
    if is_whole(digits) {
        return literal::integer(plain, span);
    }
    if plain.ends_with(|c: char| c.is_ascii_digit() || c == '.') && plain.parse::<f64>().is_ok() {
        return literal::float(plain, span);
    }
    Err(fault::token(text, span))
}

fn is_whole(digits: &str) -> bool {
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn with_radix(sign: &str, digits: &str, radix: u32, text: &str, span: Span) -> Result<Value, Error> {
    let most = INTEGER_DIGITS.usual() as usize;
    if digits.len() > most {
        return Err(fault::too_many_digits(digits.len(), most, span));
    }
    let is_valid = (2..=36).contains(&radix) && digits.starts_with(|c: char| c.is_digit(radix));
    let number = is_valid.then(|| BigInt::parse_bytes(format!("{sign}{digits}").as_bytes(), radix)).flatten();
    number.map(Value::integer).ok_or_else(|| fault::token(text, span))
}

/// A quotient: an integer if it is whole, otherwise the nearest float.
fn ratio(over: &str, under: &str, text: &str, span: Span) -> Result<Value, Error> {
    if !is_whole(over.trim_start_matches('-')) || !is_whole(under) {
        return Err(fault::token(text, span));
    }
    match (literal::integer(over, span)?, literal::integer(under, span)?) {
        (_, Value::Int(0)) => Err(fault::zero_ratio(text, span)),
        (Value::Int(over), Value::Int(under)) if over % under == 0 => Ok(Value::Int(over / under)),
        _ => match (over.parse::<f64>(), under.parse::<f64>()) {
            (Ok(over), Ok(under)) => Ok(Value::Float(over / under)),
            _ => Err(fault::token(text, span)),
        },
    }
}

/// A decimal: an integer if it is written as one, otherwise a float that has all its digits.
fn exact(decimal: &str, span: Span) -> Result<Value, Error> {
    if is_whole(decimal.trim_start_matches('-')) {
        return literal::integer(decimal, span);
    }
    let mantissa = decimal.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let significant = digits.trim_matches('0').len();
    if significant > FLOAT_DIGITS {
        return Err(fault::too_exact(significant, FLOAT_DIGITS, span));
    }
    literal::float(decimal, span)
}
