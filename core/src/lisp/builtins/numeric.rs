//! Predicates of numbers. They are false for other values, never an error.

use num_traits::Zero;

use super::predicates::question;
use super::{Arity, Builtin, Clojure, Cost};
use crate::value::Value;

const LENIENT: Clojure = Clojure::Differs("false for values that are not numbers, not an error");
const NO_SUCH_THING: Clojure = Clojure::Differs("always false: there are no ratios or decimals");

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    question!("number?", crate::value::number::is_number)
        .doc(&["(number? x)"], "True for a number, including infinities and NaN.")
        .examples(&[("(number? 1.5)", "true"), ("(number? ##NaN)", "true"), ("(number? \"1\")", "false")]),
    question!("int?", is_integer)
        .doc(&["(int? x)"], "True for an integer.")
        .examples(&[("(int? 1)", "true"), ("(int? 1.0)", "false")])
        .clojure(Clojure::Differs("true for integers of any size")),
    question!("integer?", is_integer)
        .doc(&["(integer? x)"], "True for an integer.")
        .examples(&[("(integer? 1)", "true"), ("(integer? 1.0)", "false")]),
    question!("float?", is_finite_float)
        .doc(&["(float? x)"], "True for a float except infinities and NaN.")
        .examples(&[("(float? 1.5)", "true"), ("(float? 1)", "false"), ("(float? ##Inf)", "false")])
        .clojure(Clojure::Differs("false for infinities and NaN")),
    question!("double?", is_finite_float)
        .doc(&["(double? x)"], "True for a float except infinities and NaN.")
        .examples(&[("(double? 1.5)", "true"), ("(double? 1)", "false")])
        .clojure(Clojure::Differs("false for infinities and NaN")),
    question!("rational?", is_integer)
        .doc(&["(rational? x)"], "True for an integer.")
        .examples(&[("(rational? 1)", "true"), ("(rational? 1.5)", "false")])
        .clojure(Clojure::Differs("there are no ratios and decimals")),
    question!("decimal?", |_| false)
        .doc(&["(decimal? x)"], "Always false: there are no decimals.")
        .examples(&[("(decimal? 1.5)", "false"), ("(decimal? 1)", "false")])
        .clojure(NO_SUCH_THING),
    question!("ratio?", |_| false)
        .doc(&["(ratio? x)"], "Always false: there are no ratios.")
        .examples(&[("(ratio? (/ 1 2))", "false"), ("(ratio? 1)", "false")])
        .clojure(NO_SUCH_THING),
    question!("nat-int?", |value| is_integer(value) && !is_negative(value))
        .doc(&["(nat-int? x)"], "True for an integer of 0 or more.")
        .examples(&[("(nat-int? 0)", "true"), ("(nat-int? -1)", "false")]),
    question!("neg-int?", |value| is_integer(value) && is_negative(value))
        .doc(&["(neg-int? x)"], "True for a negative integer.")
        .examples(&[("(neg-int? -1)", "true"), ("(neg-int? 0)", "false")]),
    question!("pos-int?", |value| is_integer(value) && is_positive(value))
        .doc(&["(pos-int? x)"], "True for a positive integer.")
        .examples(&[("(pos-int? 1)", "true"), ("(pos-int? 0)", "false")]),
    question!("infinite?", |value| matches!(value, Value::Float(float) if float.is_infinite()))
        .doc(&["(infinite? x)"], "True for ##Inf and ##-Inf.")
        .examples(&[("(infinite? ##Inf)", "true"), ("(infinite? 1)", "false")])
        .clojure(LENIENT),
    question!("NaN?", |value| matches!(value, Value::Float(float) if float.is_nan()))
        .doc(&["(NaN? x)"], "True for ##NaN.")
        .examples(&[("(NaN? ##NaN)", "true"), ("(NaN? 1)", "false")])
        .clojure(LENIENT),
    question!("zero?", |value| matches!(value, Value::Int(0))
        || matches!(value, Value::Float(float) if float.is_zero()))
    .doc(&["(zero? x)"], "True for 0.")
    .examples(&[("(zero? 0)", "true"), ("(zero? 0.0)", "true"), ("(zero? nil)", "false")])
    .clojure(LENIENT),
    question!("pos?", is_positive)
        .doc(&["(pos? x)"], "True for a positive number.")
        .examples(&[("(pos? 1)", "true"), ("(pos? 0)", "false"), ("(pos? nil)", "false")])
        .clojure(LENIENT),
    question!("neg?", is_negative)
        .doc(&["(neg? x)"], "True for a negative number.")
        .examples(&[("(neg? -1)", "true"), ("(neg? 0)", "false")])
        .clojure(LENIENT),
    question!("even?", |value| parity(value) == Some(Parity::Even))
        .doc(&["(even? x)"], "True for an even number, including floats without a fraction.")
        .examples(&[("(even? 2)", "true"), ("(even? 2.0)", "true"), ("(even? 3)", "false")])
        .clojure(LENIENT),
    question!("odd?", |value| parity(value) == Some(Parity::Odd))
        .doc(&["(odd? x)"], "True for an odd number, including floats without a fraction.")
        .examples(&[("(odd? 3)", "true"), ("(odd? 2)", "false"), ("(odd? nil)", "false")])
        .clojure(LENIENT),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parity {
    Even,
    Odd,
}

/// `None` for anything but a whole number.
fn parity(value: &Value) -> Option<Parity> {
    let odd = match value {
        Value::Int(int) => int & 1 == 1,
        Value::Big(big) => big.bit(0),
        Value::Float(float) if float.is_finite() && float.fract() == 0.0 => float % 2.0 != 0.0,
        _ => return None,
    };
    Some(if odd { Parity::Odd } else { Parity::Even })
}

fn is_integer(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::Big(_))
}

fn is_finite_float(value: &Value) -> bool {
    matches!(value, Value::Float(float) if float.is_finite())
}

fn is_positive(value: &Value) -> bool {
    match value {
        Value::Int(int) => *int > 0,
        Value::Float(float) => *float > 0.0,
        Value::Big(big) => big.sign() == num_bigint::Sign::Plus,
        _ => false,
    }
}

fn is_negative(value: &Value) -> bool {
    match value {
        Value::Int(int) => *int < 0,
        Value::Float(float) => *float < 0.0,
        Value::Big(big) => big.sign() == num_bigint::Sign::Minus,
        _ => false,
    }
}
