//! Bits of integers of any size, in two's complement of infinite length.

use num_bigint::BigInt;

use super::{Computed, NumberError, as_integer, sized};
use crate::limits::INTEGER_BITS;
use crate::value::Value;

/// The change of one bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bit {
    /// It becomes 1.
    Set,
    /// It becomes 0.
    Clear,
    /// It changes.
    Flip,
}

/// Bitwise and.
pub fn and(a: &Value, b: &Value) -> Computed {
    bitwise(a, b, |x, y| x & y, |x, y| x & y)
}

/// Bitwise or.
pub fn or(a: &Value, b: &Value) -> Computed {
    bitwise(a, b, |x, y| x | y, |x, y| x | y)
}

/// Bitwise exclusive or.
pub fn xor(a: &Value, b: &Value) -> Computed {
    bitwise(a, b, |x, y| x ^ y, |x, y| x ^ y)
}

/// Bits of `a` that are not in `b`.
pub fn and_not(a: &Value, b: &Value) -> Computed {
    bitwise(a, b, |x, y| x & !y, |x, y| x & !y.clone())
}

/// Bitwise complement.
pub fn not(a: &Value) -> Computed {
    match a {
        Value::Int(x) => Ok(Value::Int(!x)),
        Value::Big(x) => Ok(Value::integer(!(**x).clone())),
        _ => Err(NumberError::NotInteger(1)),
    }
}

/// `a` times two to the power of `bits`.
pub fn shift_left(a: &Value, bits: &Value) -> Computed {
    let number = as_integer(a).ok_or(NumberError::NotInteger(1))?;
    let bits = bit_position(bits)?;
    if number.bits() == 0 {
        return Ok(Value::Int(0));
    }
    if number.bits().saturating_add(bits) > INTEGER_BITS.max {
        return Err(NumberError::TooLarge);
    }
    Ok(Value::integer(&*number << bits))
}

/// `a` divided by two to the power of `bits`, rounded down.
pub fn shift_right(a: &Value, bits: &Value) -> Computed {
    let number = as_integer(a).ok_or(NumberError::NotInteger(1))?;
    // Past its own bits only the sign remains.
    let bits = bit_position(bits)?.min(number.bits() + 1);
    Ok(Value::integer(&*number >> bits))
}

/// `a` with the bit at `at` changed.
pub fn set_bit(a: &Value, at: &Value, to: Bit) -> Computed {
    let number = as_integer(a).ok_or(NumberError::NotInteger(1))?;
    let at = bit_position(at)?;
    let old = number.bit(at);
    let new = match to {
        Bit::Set => true,
        Bit::Clear => false,
        Bit::Flip => !old,
    };
    if old == new {
        return Ok(a.clone());
    }
    if at >= INTEGER_BITS.max {
        return Err(NumberError::TooLarge);
    }
    let mut number = number.into_owned();
    number.set_bit(at, new);
    sized(number)
}

/// True if the bit at `at` is 1.
pub fn test_bit(a: &Value, at: &Value) -> Computed {
    let number = as_integer(a).ok_or(NumberError::NotInteger(1))?;
    Ok(Value::Bool(number.bit(bit_position(at)?)))
}

fn bitwise(
    a: &Value,
    b: &Value,
    small: impl FnOnce(i64, i64) -> i64,
    large: impl FnOnce(&BigInt, &BigInt) -> BigInt,
) -> Computed {
    if let (Value::Int(x), Value::Int(y)) = (a, b) {
        return Ok(Value::Int(small(*x, *y)));
    }
    let x = as_integer(a).ok_or(NumberError::NotInteger(1))?;
    let y = as_integer(b).ok_or(NumberError::NotInteger(2))?;
    Ok(Value::integer(large(&x, &y)))
}

/// A bit position as second argument. Positions beyond 64 bits equal the last one.
fn bit_position(value: &Value) -> Result<u64, NumberError> {
    match value {
        Value::Int(at) => u64::try_from(*at).map_err(|_| NumberError::NotBitPosition(2)),
        Value::Big(at) if at.sign() != num_bigint::Sign::Minus => Ok(u64::MAX - 1),
        Value::Big(_) => Err(NumberError::NotBitPosition(2)),
        _ => Err(NumberError::NotInteger(2)),
    }
}
