//! Exact comparison of numbers of different kinds: no integer is rounded to a float on the way.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};
use num_traits::FromPrimitive;

use crate::value::Value;
use crate::value::order::Rule;

/// 2^63, the first float beyond every `i64`.
const BEYOND_I64: f64 = 9_223_372_036_854_775_808.0;

/// Is it the float NaN?
pub(in crate::value) fn is_nan(value: &Value) -> bool {
    matches!(value, Value::Float(float) if float.is_nan())
}

/// Numbers by value, NaN last; under the strict rule ties go to integers, then to the smaller bit pattern (`-0.0`).
/// Values that are not numbers are equal.
pub(in crate::value) fn compare(a: &Value, b: &Value, rule: Rule) -> Ordering {
    let by_value = match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Big(a), Value::Big(b)) => a.cmp(b),
        (Value::Int(_), Value::Big(big)) => zero_and(big).reverse(),
        (Value::Big(big), Value::Int(_)) => zero_and(big),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan())),
        (Value::Int(a), Value::Float(b)) => int_and_float(*a, *b),
        (Value::Float(a), Value::Int(b)) => int_and_float(*b, *a).reverse(),
        (Value::Big(a), Value::Float(b)) => big_and_float(a, *b),
        (Value::Float(a), Value::Big(b)) => big_and_float(b, *a).reverse(),
        _ => Ordering::Equal,
    };
    match rule {
        Rule::Strict => by_value.then_with(|| kind(a).cmp(&kind(b))),
        Rule::Loose | Rule::Sorting => by_value,
    }
}

/// Integers, then -0.0, then other floats.
fn kind(value: &Value) -> u8 {
    match value {
        Value::Float(float) if *float == 0.0 && float.is_sign_negative() => 1,
        Value::Float(_) => 2,
        _ => 0,
    }
}

/// A big integer never fits 64 bits, so against a small one its sign decides.
fn zero_and(big: &BigInt) -> Ordering {
    if big.sign() == Sign::Minus { Ordering::Less } else { Ordering::Greater }
}

fn int_and_float(int: i64, float: f64) -> Ordering {
    if float.is_nan() || float >= BEYOND_I64 {
        return Ordering::Less;
    }
    if float < -BEYOND_I64 {
        return Ordering::Greater;
    }
    #[expect(clippy::cast_possible_truncation, reason = "whole and within the range of i64, so exact")]
    let whole = float.trunc() as i64;
    int.cmp(&whole).then_with(|| zero_and_rest(float))
}

fn big_and_float(big: &BigInt, float: f64) -> Ordering {
    match BigInt::from_f64(float.trunc()) {
        Some(whole) => big.cmp(&whole).then_with(|| zero_and_rest(float)),
        None if float == f64::NEG_INFINITY => Ordering::Greater,
        None => Ordering::Less,
    }
}

/// How the whole part of a float compares with the float.
fn zero_and_rest(float: f64) -> Ordering {
    0.0.partial_cmp(&float.fract()).unwrap_or(Ordering::Equal)
}
