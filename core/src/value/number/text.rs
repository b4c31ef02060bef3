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
