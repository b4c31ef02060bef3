//! `format`: a text with values inserted, like `printf`.
//!
//! `%[flags][width][.precision]conversion` with the flags `-`, `0`, `+`, `,` and space, and the conversions
//! `s d f e x X o b c n %`.

use super::position::{length, offset};
use super::strings::text;
use super::text_writer::TextWriter;
use super::{Arity, Builtin, Clojure, Cost};
use crate::lisp::machine::Machine;
use crate::lisp::{Error, EvalResult, Halt, described};
use crate::reasons::Reason;
use crate::value::number::{shortest_fixed, shortest_scientific};
use crate::value::{FloatDigits, Value};

/// All doubles from here on are whole numbers.
const WHOLE_FROM: f64 = 9_007_199_254_740_992.0;
/// Numbers with more decimals than this scale has are written without scaling.
const LARGEST_SCALE: u64 = 10_000_000_000_000_000_000;
/// No double has more decimals than this; further ones are zero.
const MOST_DECIMALS: usize = 1_100;

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[Builtin::new("format", Arity::from(0), format)
    .doc(
        &["(format template & values)"],
        "The template with its directives replaced by the values in order: %s %d %f %.2f %e %x %X %o %b %c %n %%, with \
         width and the flags - 0 + , and space.",
    )
    .examples(&[
        ("(format \"%s is %d\" \"Ann\" 30)", "\"Ann is 30\""),
        ("(format \"%.2f\" 3.14159)", "\"3.14\""),
        ("(format \"%05d|%-5s|%,d\" 3 \"ab\" 1234567)", "\"00003|ab   |1,234,567\""),
        ("(format \"%x %o %e\" 255 8 1234.5)", "\"ff 10 1.234500e+03\""),
    ])
    .cost(Cost::Output)
    .clojure(Clojure::Differs("nil is written as an empty text, and %f takes integers."))];

/// A directive of a template.
#[derive(Default)]
struct Directive<'t> {
    /// Any of `-0+, `.
    flags: &'t str,
    width: usize,
    precision: Option<usize>,
    conversion: char,
}

impl<'t> Directive<'t> {
    /// Parses a directive after its `%`; returns the rest.
    fn read(template: &'t str) -> EvalResult<(Self, &'t str)> {
        let end = template.find(|c| !"-0+, ".contains(c)).unwrap_or(template.len());
        let (flags, mut rest) = template.split_at(end);
        let mut directive = Self { flags, ..Self::default() };
        let width;
        (width, rest) = digits(rest);
        directive.width = width.unwrap_or(0);
        if let Some(after) = rest.strip_prefix('.') {
            let precision;
            (precision, rest) = digits(after);
            if precision.is_none() {
                return Err(fault("a precision needs digits after the dot").hint("Write %.2f").into());
            }
            directive.precision = precision;
        }
        let mut chars = rest.chars();
        let conversion = chars.next();
        let known = conversion.filter(|c| "sdfexXobcn%".contains(*c));
        let Some(known) = known else {
            let used = &template[..template.len() - chars.as_str().len()];
            return Err(fault(format!("the directive %{used} is unknown")).hint(DIRECTIVES).into());
        };
        directive.conversion = known;
        Ok((directive, chars.as_str()))
    }

    fn has(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }
}

const DIRECTIVES: &str =
    "Available: %s %d %f %e %x %X %o %b %c %n %%, with width, precision and the flags - 0 + , and space";

fn fault(problem: impl Into<String>) -> Error {
    Error::new(Reason::RuntimeError, problem)
}

/// Parses a number of any size at the start of a text; returns the rest.
fn digits(text: &str) -> (Option<usize>, &str) {
    let (number, rest) = text.split_at(text.bytes().take_while(u8::is_ascii_digit).count());
    let value = (!number.is_empty()).then(|| number.parse().unwrap_or(usize::MAX));
    (value, rest)
}

pub(super) fn format(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let Some((template, values)) = args.split_first() else {
        return fault("the template is missing").hint("Write (format \"%s items\" n)").halt();
    };
    let mut rest = text(1, template)?;
    let (mut out, mut used) = (TextWriter::default(), 0);
    while let Some(at) = rest.find('%') {
        out.push(machine, &rest[..at])?;
        let directive;
        (directive, rest) = Directive::read(&rest[at + 1..])?;
        match directive.conversion {
            'n' => out.push(machine, "\n")?,
            '%' => pad(machine, &mut out, &directive, "", "%")?,
            _ => {
                let value = values.get(used).ok_or_else(|| missing(used, values.len()))?;
                used += 1;
                write(machine, &mut out, &directive, value).map_err(|halt| numbered(halt, used))?;
            }
        }
    }
    out.push(machine, rest)?;
    Ok(out.finish())
}

fn missing(used: usize, given: usize) -> Box<Halt> {
    fault(format!("the template needs at least {} values, got {given}", used + 1)).into()
}

/// Adds the number of the value to an error.
fn numbered(mut halt: Box<Halt>, number: usize) -> Box<Halt> {
    if let Halt::Error(error) = &mut *halt
        && error.reason == Reason::RuntimeError
    {
        error.problem = format!("value {number}: {}", error.problem);
    }
    halt
}

fn write(machine: &mut Machine<'_>, out: &mut TextWriter, directive: &Directive<'_>, value: &Value) -> EvalResult<()> {
    if directive.has(' ') && "sbc".contains(directive.conversion) && !machine.is_reference() {
        let problem = format!("the directive `% {}` has a space, which only numbers can have", directive.conversion);
        return fault(problem).hint("Write %% for a percent sign").halt();
    }
    match directive.conversion {
        's' => {
            let mut shown = TextWriter::default();
            shown.plain(machine, value)?;
            let shown = shown.into_text();
            let end = directive.precision.and_then(|most| offset(&shown, most)).unwrap_or(shown.len());
            pad(machine, out, directive, "", &shown[..end])
        }
        'b' => pad(machine, out, directive, "", if value.is_truthy() { "true" } else { "false" }),
        'c' => pad(machine, out, directive, "", &character(value)?),
        'd' => {
            let number = whole(directive, value)?;
            let (sign, digits) = signed(directive, &number);
            pad(machine, out, directive, sign, &grouped(directive, digits))
        }
        'x' | 'X' | 'o' => {
            let number = radix(directive, value)?;
            let (sign, digits) = signed(directive, &number);
            pad(machine, out, directive, sign, digits)
        }
        _ => real(machine, out, directive, value),
    }
}

fn wrong_value(directive: &Directive<'_>, expected: &str, value: &Value) -> Box<Halt> {
    fault(format!("%{} needs {expected}, got {}", directive.conversion, described(value))).into()
}

fn whole(directive: &Directive<'_>, value: &Value) -> EvalResult<String> {
    match value {
        Value::Int(number) => Ok(number.to_string()),
        Value::Big(number) => Ok(number.to_string()),
        Value::Float(number) if number.fract() == 0.0 => Ok(format!("{number:.0}")),
        Value::Float(_) => {
            let hint = "Convert it with int, round or floor, or write %.0f";
            Err(fault("%d needs an integer, got a float").hint(hint).into())
        }
        other => Err(wrong_value(directive, "an integer", other)),
    }
}

fn radix(directive: &Directive<'_>, value: &Value) -> EvalResult<String> {
    let base = if directive.conversion == 'o' { 8 } else { 16 };
    let text = match value {
        Value::Int(number) => num_bigint::BigInt::from(*number).to_str_radix(base),
        Value::Big(number) => number.to_str_radix(base),
        other => return Err(wrong_value(directive, "an integer", other)),
    };
    Ok(if directive.conversion == 'X' { text.to_uppercase() } else { text })
}

fn character(value: &Value) -> EvalResult<String> {
    let code = match value {
        Value::Str(text) if length(text) == 1 => return Ok(text.to_string()),
        Value::Int(code) => u32::try_from(*code).ok().and_then(char::from_u32),
        _ => None,
    };
    let problem = || fault(format!("%c needs one character or its code, got {}", described(value)));
    code.map(String::from).ok_or_else(|| problem().into())
}

fn real(machine: &mut Machine<'_>, out: &mut TextWriter, directive: &Directive<'_>, value: &Value) -> EvalResult<()> {
    let number = super::text_writer::float(value).ok_or_else(|| wrong_value(directive, "a number", value))?;
    if !number.is_finite() {
        let shown = if number.is_nan() { "NaN" } else { "Infinity" };
        let sign = if number == f64::NEG_INFINITY { "-" } else { "" };
        let flags = if directive.has('-') { "-" } else { "" };
        let plain = Directive { flags, width: directive.width, ..Directive::default() };
        return pad(machine, out, &plain, sign, shown);
    }
    let precision = directive.precision.unwrap_or(6);
    machine.reserve(precision)?;
    let decimals = precision.min(MOST_DECIMALS);
    let shown = match (directive.conversion, machine.float_digits()) {
        ('e', FloatDigits::Binary) => scientific(&format!("{number:.decimals$e}")),
        ('e', FloatDigits::Shortest) => {
            let (mantissa, exponent) = shortest_scientific(number, decimals);
            scientific(&format!("{mantissa}e{exponent}"))
        }
        (_, FloatDigits::Binary) => rounded(number, decimals),
        (_, FloatDigits::Shortest) => shortest_fixed(number, decimals),
    };
    let (sign, digits) = signed(directive, &shown);
    let (mantissa, exponent) = digits.split_at(digits.find('e').unwrap_or(digits.len()));
    let zeros = "0".repeat(precision - decimals);
    pad(machine, out, directive, sign, &format!("{}{zeros}{exponent}", grouped(directive, mantissa)))
}

/// Formats with this many decimals, as in the reference. The scaled fraction is rounded as a double, halves away from
/// zero: 1.115 becomes 1.12, although the double is slightly less, but 1.005 becomes 1.00.
fn rounded(number: f64, decimals: usize) -> String {
    let size = number.abs();
    let scale = u32::try_from(decimals).ok().and_then(|places| 10_u64.checked_pow(places));
    let Some(scale) = scale.filter(|scale| *scale < LARGEST_SCALE && size < WHOLE_FROM) else {
        return format!("{number:.decimals$}");
    };
    let sign = if number < 0.0 { "-" } else { "" };
    if decimals == 0 {
        return format!("{sign}{:.0}", size.round());
    }
    #[expect(clippy::cast_precision_loss, reason = "the scale is far below 2^53")]
    let scale = scale as f64;
    let (whole, fraction) = (size.trunc(), (size.fract() * scale).round());
    let (whole, fraction) = if fraction >= scale { (whole + 1.0, 0.0) } else { (whole, fraction) };
    format!("{sign}{whole:.0}.{fraction:0>decimals$.0}")
}

/// A number with an exponent of at least two digits.
fn scientific(shown: &str) -> String {
    let (mantissa, exponent) = shown.split_once('e').unwrap_or((shown, "0"));
    let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
    format!("{mantissa}e{sign}{digits:0>2}")
}

/// The sign to write, and the rest.
fn signed<'a>(directive: &Directive<'_>, number: &'a str) -> (&'static str, &'a str) {
    match number.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None if directive.has('+') => ("+", number),
        None if directive.has(' ') => (" ", number),
        None => ("", number),
    }
}

/// Adds a comma between groups of three digits before the point, if the directive asks for it.
fn grouped(directive: &Directive<'_>, number: &str) -> String {
    if !directive.has(',') {
        return number.to_owned();
    }
    let (whole, fraction) = number.split_at(number.find('.').unwrap_or(number.len()));
    let mut out = String::with_capacity(number.len() * 4 / 3 + 1);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + fraction
}

/// Writes sign and text in the directive's width.
fn pad(
    machine: &mut Machine<'_>,
    out: &mut TextWriter,
    directive: &Directive<'_>,
    sign: &str,
    shown: &str,
) -> EvalResult<()> {
    let missing = if directive.width == 0 { 0 } else { directive.width.saturating_sub(sign.len() + length(shown)) };
    machine.reserve(missing)?;
    let zeros = directive.has('0') && !directive.has('-') && "dfexXo".contains(directive.conversion);
    let fill = if zeros { "0" } else { " " }.repeat(missing);
    let parts = match (directive.has('-'), zeros) {
        (true, _) => [sign, shown, &fill],
        (false, true) => [sign, &fill, shown],
        (false, false) => [&fill, sign, shown],
    };
    parts.into_iter().try_for_each(|part| out.push(machine, part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_rounded_away_from_zero() {
        let cases = [
            (2.5, 0, "3"),
            (-2.5, 0, "-3"),
            (0.5, 0, "1"),
            (9.5, 0, "10"),
            (-99.5, 0, "-100"),
            (0.25, 1, "0.3"),
            (9.75, 1, "9.8"),
            (9.95, 1, "9.9"),
            (99.875, 2, "99.88"),
            (55.5, 0, "56"),
            (0.555, 2, "0.56"),
            (2.345, 2, "2.35"),
            (1e300, 0, &format!("{:.0}", 1e300)),
            (0.0, 3, "0.000"),
        ];
        for (number, decimals, expected) in cases {
            assert_eq!(rounded(number, decimals), expected, "{number} {decimals}");
        }
    }
}
