//! Parsing and printing numbers, for `parse-long`, `parse-double` and `str`.

use crate::value::Value;

/// From here on floats are written with an exponent.
const EXPONENT_FROM: f64 = 1e16;

/// Optional sign and digits, 64 bits; no surrounding text.
pub fn parse_long(text: &str) -> Option<Value> {
    // The parser accepts an optional sign of either kind and ASCII digits, and nothing else.
    text.parse().ok().map(Value::Int)
}

/// Optional sign, digits, optionally a fraction and an exponent, or `Infinity` and `NaN`; a dot needs digits on both
/// sides. A number beyond the range of doubles is infinite.
pub fn parse_double(text: &str) -> Option<Value> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned == "Infinity" || text == "NaN" {
        return text.parse().ok().map(Value::Float);
    }
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let exponent = exponent.map(|text| text.strip_prefix(['+', '-']).unwrap_or(text));
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits(whole) && fraction.is_none_or(digits) && exponent.is_none_or(digits) {
        text.parse().ok().filter(|float: &f64| float.is_finite()).map(Value::Float)
    } else {
        None
    }
}

/// The shortest text that parses to this float, as in `str`: `0.1`, `1.0e20`, `Infinity`. Fractions are written in the
/// shorter of the two notations, whole numbers below 10^16 always without an exponent.
pub fn shortest(float: f64) -> String {
    if float.is_nan() {
        return "NaN".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let (plain, scientific) = forms(float);
    let is_plain = float.abs() < EXPONENT_FROM && (float.fract() == 0.0 || plain.len() <= scientific.len());
    if is_plain { plain } else { scientific }
}

/// The shortest text that parses to this finite float, as in JSON written by programs: `0.1`, `1.0e3`.
pub fn compact(float: f64) -> String {
    let (plain, scientific) = forms(float);
    if plain.len() <= scientific.len() { plain } else { scientific }
}

/// The fewest digits that parse to this finite float, rounded as text to exactly this many decimals, halves away from
/// zero: 1.005 becomes 1.01, as its text says, although the double is slightly less. Never an exponent.
pub fn shortest_fixed(float: f64, places: usize) -> String {
    round_text(float.to_string(), places)
}

/// As [`shortest_fixed`], with one digit before the point and an exponent: the two parts.
pub fn shortest_scientific(float: f64, places: usize) -> (String, i32) {
    let text = format!("{float:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent = exponent.parse().unwrap_or(0);
    let digits = round_text(digits.to_owned(), places);
    if !digits.trim_start_matches('-').starts_with("10") {
        return (digits, exponent);
    }
    (round_text(digits.replacen("10", "1", 1), places), exponent + 1)
}

/// A decimal number rounded to exactly this many decimals, halves away from zero.
fn round_text(mut text: String, places: usize) -> String {
    let dot = text.find('.').unwrap_or(text.len());
    if dot == text.len() && places > 0 {
        text.push('.');
    }
    let end = if places == 0 { dot } else { dot + 1 + places };
    if end >= text.len() {
        text.extend(std::iter::repeat_n('0', end - text.len()));
        return text;
    }
    let first_dropped = if places == 0 { end + 1 } else { end };
    let is_up = text.as_bytes().get(first_dropped).is_some_and(|digit| *digit >= b'5');
    text.truncate(end);
    if is_up { one_more(&text) } else { text }
}

/// A decimal number with its last digit raised by one, away from zero.
fn one_more(number: &str) -> String {
    let kept = number.trim_end_matches(['9', '.']);
    let (sign, digits) = kept.strip_prefix('-').map_or(("", kept), |digits| ("-", digits));
    let nines: String = number[kept.len()..].chars().map(|c| if c == '9' { '0' } else { c }).collect();
    let Some(last) = digits.chars().next_back().and_then(|digit| digit.to_digit(10)) else {
        return format!("{sign}1{nines}");
    };
    let raised = char::from_digit(last + 1, 10).unwrap_or('0');
    format!("{sign}{}{raised}{nines}", &digits[..digits.len() - 1])
}

/// A finite float with the fewest digits that parse back, without and with an exponent.
fn forms(float: f64) -> (String, String) {
    // `{:e}` gives those digits: `1.5e10`, `1e-7`.
    let text = format!("{float:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let scientific = {
        let dot = if digits.contains('.') { "" } else { ".0" };
        format!("{digits}{dot}e{exponent}")
    };
    let plain = {
        let text = format!("{float}");
        if text.contains('.') { text } else { text + ".0" }
    };
    (plain, scientific)
}
