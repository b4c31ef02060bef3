//! Division: `/` gives floats, `quot`, `rem` and `mod` give integers where possible.

use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive, Zero};

use super::{Computed, NumberError, as_float, as_integer, both_floats, mixed};
use crate::value::Value;

/// Bits of an integer that are converted to a float before its exponent is applied.
const TOP_BITS: u64 = 64;

/// `a / b`, always a float. Division by the integer zero is an error; by the float zero it gives infinities or NaN.
#[inline]
pub fn div(a: &Value, b: &Value) -> Computed {
    match (a, b) {
        (Value::Float(x), Value::Float(y)) => Ok(Value::Float(x / y)),
        _ => div_mixed(a, b),
    }
}

fn div_mixed(a: &Value, b: &Value) -> Computed {
    let (x, y) = both_floats(a, b)?;
    if matches!(b, Value::Int(0)) {
        return if x.is_nan() { Ok(Value::Float(x)) } else { Err(NumberError::DivisionByZero) };
    }
    match (a, b) {
        (Value::Int(_) | Value::Big(_), Value::Int(_) | Value::Big(_)) if x.is_infinite() || y.is_infinite() => {
            Ok(Value::Float(ratio(a, b)))
        }
        _ => Ok(Value::Float(x / y)),
    }
}

/// The quotient of integers of which at least one exceeds the range of floats.
fn ratio(a: &Value, b: &Value) -> f64 {
    let (x, x_exponent) = scaled(a);
    let (y, y_exponent) = scaled(b);
    let exponent = i32::try_from(x_exponent - y_exponent).unwrap_or(i32::MAX).clamp(-4_000, 4_000);
    // In two steps, so that neither exceeds the range of floats before the result does.
    x / y * 2_f64.powi(exponent / 2) * 2_f64.powi(exponent - exponent / 2)
}

/// A float and the power of two to multiply it with.
fn scaled(value: &Value) -> (f64, i64) {
    let Some(whole) = as_integer(value) else { return (f64::NAN, 0) };
    let shift = whole.bits().saturating_sub(TOP_BITS);
    let top: BigInt = &*whole >> shift;
    (top.to_f64().unwrap_or(f64::NAN), i64::try_from(shift).unwrap_or(i64::MAX))
}

/// The truncated quotient, an integer also for floats; NaN if an operand is infinite or NaN.
#[inline]
pub fn quot(a: &Value, b: &Value) -> Computed {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) if *y != 0 && *y != -1 => Ok(Value::Int(x / y)),
        _ => divided(a, b, |x, y| Ok(Value::integer(x / y)), |x, y| super::round::integer((x / y).trunc())),
    }
}

/// The remainder of `quot`, with the sign of `a`.
#[inline]
pub fn rem(a: &Value, b: &Value) -> Computed {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) if *y != 0 && *y != -1 => Ok(Value::Int(x % y)),
        _ => divided(a, b, |x, y| Ok(Value::integer(x % y)), |x, y| Value::Float(x % y)),
    }
}

/// The remainder of division rounding down, with the sign of `b`.
#[inline]
pub fn modulo(a: &Value, b: &Value) -> Computed {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) if *y > 0 => Ok(Value::Int(x.rem_euclid(*y))),
        _ => divided(a, b, |x, y| Ok(Value::integer(floored(x % y, y))), |x, y| Value::Float(floored_float(x % y, y))),
    }
}

/// Integer division where both are integers; floats are checked for zero and for special values first.
fn divided(
    a: &Value,
    b: &Value,
    integers: impl FnOnce(&BigInt, &BigInt) -> Computed,
    floats: impl FnOnce(f64, f64) -> Value,
) -> Computed {
    if !(matches!(a, Value::Float(_)) || matches!(b, Value::Float(_))) {
        if matches!(b, Value::Int(0)) && as_float(a).is_some() {
            return Err(NumberError::DivisionByZero);
        }
        return mixed(a, b, integers, |x, _| x);
    }
    let (x, y) = both_floats(a, b)?;
    let special = |value: &Value| matches!(value, Value::Float(float) if !float.is_finite());
    if special(a) || special(b) {
        return Ok(Value::Float(f64::NAN));
    }
    if y == 0.0 { Err(NumberError::DivisionByZero) } else { Ok(floats(x, y)) }
}

fn floored(rest: BigInt, divisor: &BigInt) -> BigInt {
    if !rest.is_zero() && rest.is_negative() != divisor.is_negative() { rest + divisor } else { rest }
}

fn floored_float(rest: f64, divisor: f64) -> f64 {
    if rest != 0.0 && (rest < 0.0) != (divisor < 0.0) { rest + divisor } else { rest }
}
