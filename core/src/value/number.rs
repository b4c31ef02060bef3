//! Exact arithmetic: integers of any size, doubles, and mixtures.
//!
//! In: values. Out: values, or a [`NumberError`] that the caller words. Integers never overflow: beyond 64 bits they
//! become [`Value::Big`], beyond [`INTEGER_BITS`] they are rejected before the work is done. If either operand is a
//! float both are converted, and floats follow IEEE 754: `Inf - Inf` is NaN. Nothing here counts steps; [`words`]
//! returns the size of a number.

mod bits;
mod division;
mod round;
mod text;

use std::borrow::Cow;
use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};
use num_traits::{FromPrimitive, ToPrimitive};

use super::Value;
use crate::limits::INTEGER_BITS;

pub use bits::{Bit, and, and_not, not, or, set_bit, shift_left, shift_right, test_bit, xor};
pub use division::{div, modulo, quot, rem};
pub use round::{Rounding, decimals, fixed, to_double, whole};
pub use text::{compact, parse_double, parse_long, shortest, shortest_fixed, shortest_scientific};

/// An arithmetic error. Arguments are counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberError {
    /// This argument is not a number.
    NotNumber(u8),
    /// This argument is not an integer.
    NotInteger(u8),
    /// This argument is a negative integer, or a bit position that is not an integer.
    NotBitPosition(u8),
    /// The divisor is zero.
    DivisionByZero,
    /// The result has more than [`INTEGER_BITS`] bits.
    TooLarge,
}

/// A number or an error; 16 bytes.
pub type Computed = Result<Value, NumberError>;

const _: () = assert!(size_of::<Computed>() == 16, "a result of arithmetic is as small as a value");

/// `a + b`
#[inline]
pub fn add(a: &Value, b: &Value) -> Computed {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => match x.checked_add(*y) {
            Some(sum) => Ok(Value::Int(sum)),
            None => sized(BigInt::from(*x) + y),
        },
        (Value::Float(x), Value::Float(y)) => Ok(Value::Float(x + y)),
        _ => mixed(a, b, |x, y| sized(x + y), |x, y| x + y),
    }
}

/// `a - b`
#[inline]
pub fn sub(a: &Value, b: &Value) -> Computed {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => match x.checked_sub(*y) {
            Some(difference) => Ok(Value::Int(difference)),
            None => sized(BigInt::from(*x) - y),
        },
        (Value::Float(x), Value::Float(y)) => Ok(Value::Float(x - y)),
        _ => mixed(a, b, |x, y| sized(x - y), |x, y| x - y),
    }
}

/// `a * b`
#[inline]
pub fn mul(a: &Value, b: &Value) -> Computed {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => match x.checked_mul(*y) {
            Some(product) => Ok(Value::Int(product)),
            None => sized(BigInt::from(*x) * y),
        },
        (Value::Float(x), Value::Float(y)) => Ok(Value::Float(x * y)),
        _ => mixed(a, b, product, |x, y| x * y),
    }
}

/// `-a`
#[inline]
pub fn neg(a: &Value) -> Computed {
    match a {
        Value::Int(x) => Ok(x.checked_neg().map_or_else(|| Value::integer(-BigInt::from(*x)), Value::Int)),
        Value::Float(x) => Ok(Value::Float(-x)),
        Value::Big(x) => Ok(Value::integer(-&**x)),
        _ => Err(NumberError::NotNumber(1)),
    }
}

/// `a + 1`
#[inline]
pub fn inc(a: &Value) -> Computed {
    add(a, &Value::Int(1))
}

/// `a - 1`
#[inline]
pub fn dec(a: &Value) -> Computed {
    sub(a, &Value::Int(1))
}

/// The absolute value.
pub fn abs(a: &Value) -> Computed {
    match a {
        Value::Int(x) if *x < 0 => neg(a),
        Value::Big(x) if x.sign() == num_bigint::Sign::Minus => neg(a),
        Value::Float(x) => Ok(Value::Float(x.abs())),
        Value::Int(_) | Value::Big(_) => Ok(a.clone()),
        _ => Err(NumberError::NotNumber(1)),
    }
}

/// True for a number.
#[inline]
pub fn is_number(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::Float(_) | Value::Big(_))
}

/// The number of 64-bit words of a large integer; 1 for any other value. Adding takes about a nanosecond per word,
/// multiplying and dividing about ten per word of the longer operand times the square root of the shorter one's words.
pub fn words(value: &Value) -> usize {
    match value {
        Value::Big(big) => usize::try_from(big.bits() / 64).unwrap_or(usize::MAX) + 1,
        _ => 1,
    }
}

/// The number as a float: rounded to the nearest, infinite if out of range.
pub fn as_float(value: &Value) -> Option<f64> {
    match value {
        Value::Float(float) => Some(*float),
        #[expect(clippy::cast_precision_loss, reason = "rounding to the nearest double is what is asked for")]
        Value::Int(int) => Some(*int as f64),
        Value::Big(big) => big.to_f64(),
        _ => None,
    }
}

/// An integer of any size.
fn as_integer(value: &Value) -> Option<Cow<'_, BigInt>> {
    match value {
        Value::Int(int) => Some(Cow::Owned(BigInt::from(*int))),
        Value::Big(big) => Some(Cow::Borrowed(big)),
        _ => None,
    }
}

/// Both as integers, or both as floats if one is a float.
#[cold]
fn mixed(
    a: &Value,
    b: &Value,
    integers: impl FnOnce(&BigInt, &BigInt) -> Computed,
    floats: impl FnOnce(f64, f64) -> f64,
) -> Computed {
    if let (Some(x), Some(y)) = (as_integer(a), as_integer(b)) {
        return integers(&x, &y);
    }
    let (x, y) = both_floats(a, b)?;
    Ok(Value::Float(floats(x, y)))
}

fn both_floats(a: &Value, b: &Value) -> Result<(f64, f64), NumberError> {
    let x = as_float(a).ok_or(NumberError::NotNumber(1))?;
    let y = as_float(b).ok_or(NumberError::NotNumber(2))?;
    Ok((x, y))
}

fn product(a: &BigInt, b: &BigInt) -> Computed {
    if a.bits() + b.bits() > INTEGER_BITS.max + 1 {
        return Err(NumberError::TooLarge);
    }
    sized(a * b)
}

/// An integer within the limit.
fn sized(number: BigInt) -> Computed {
    if number.bits() > INTEGER_BITS.max { Err(NumberError::TooLarge) } else { Ok(Value::integer(number)) }
}

/// 2^63, the first float beyond every `i64`.
const BEYOND_I64: f64 = 9_223_372_036_854_775_808.0;

/// Compares a big integer with any `i64`: it never fits 64 bits, so its sign decides.
pub(super) fn compare_big_int(big: &BigInt) -> Ordering {
    if big.sign() == Sign::Minus { Ordering::Less } else { Ordering::Greater }
}

/// Compares an integer with a float; every integer is less than NaN.
pub(super) fn compare_int_float(int: i64, float: f64) -> Ordering {
    if float.is_nan() || float >= BEYOND_I64 {
        return Ordering::Less;
    }
    if float < -BEYOND_I64 {
        return Ordering::Greater;
    }
    #[expect(clippy::cast_possible_truncation, reason = "integral and within the range of i64, so exact")]
    let integral = float.trunc() as i64;
    int.cmp(&integral).then_with(|| compare_whole(float))
}

/// Compares a big integer with a float; every integer is less than NaN.
pub(super) fn compare_big_float(big: &BigInt, float: f64) -> Ordering {
    match BigInt::from_f64(float.trunc()) {
        Some(integral) => big.cmp(&integral).then_with(|| compare_whole(float)),
        None if float == f64::NEG_INFINITY => Ordering::Greater,
        None => Ordering::Less,
    }
}

/// Compares the whole part of a float with the float.
fn compare_whole(float: f64) -> Ordering {
    0.0.partial_cmp(&float.fract()).unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests;
