//! Rounding floats to integers and to fewer decimals, and converting integers to floats.

use num_bigint::BigInt;
use num_traits::FromPrimitive;

use super::{Computed, NumberError, as_float};
use crate::value::Value;

/// From here on every double is a whole number.
const WHOLE_FROM: f64 = 9_007_199_254_740_992.0;
/// Maximum decimals that change a double.
const MOST_DECIMALS: u32 = 15;

/// A direction of rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// Down.
    Floor,
    /// Up.
    Ceil,
    /// To the nearest, halves away from zero.
    Nearest,
    /// Toward zero.
    Trunc,
}

/// The number as an integer; infinities and NaN are unchanged.
pub fn whole(value: &Value, rounding: Rounding) -> Computed {
    match value {
        Value::Int(_) | Value::Big(_) => Ok(value.clone()),
        Value::Float(float) => Ok(integer(match rounding {
            Rounding::Floor => float.floor(),
            Rounding::Ceil => float.ceil(),
            Rounding::Nearest => float.round(),
            Rounding::Trunc => float.trunc(),
        })),
        _ => Err(NumberError::NotNumber(1)),
    }
}

/// A float without a fraction as an integer; infinities and NaN are unchanged.
pub(super) fn integer(float: f64) -> Value {
    if float.abs() < WHOLE_FROM {
        #[expect(clippy::cast_possible_truncation, reason = "within 2^53")]
        return Value::Int(float as i64);
    }
    BigInt::from_f64(float).map_or(Value::Float(float), Value::integer)
}

/// The number as a float.
pub fn to_double(value: &Value) -> Computed {
    as_float(value).map(Value::Float).ok_or(NumberError::NotNumber(1))
}

/// The float with at most this many decimals, halves away from zero. The exact value of the float counts: 1.005 is
/// slightly less and becomes 1.0.
pub fn decimals(float: f64, places: u32) -> f64 {
    if !float.is_finite() || float.abs() >= WHOLE_FROM || places > MOST_DECIMALS {
        return float;
    }
    fixed(float, places).parse().unwrap_or(float)
}

/// The float with exactly this many decimals, at most 15, halves away from zero; never an exponent.
pub fn fixed(float: f64, places: u32) -> String {
    let digits = places.min(MOST_DECIMALS) as usize;
    // An exact half has one binary and so one decimal digit more than are kept. The formatter would round it to even;
    // rounding its neighbour further from zero rounds away from zero.
    let short = (float * f64::from(2_u32 << places.min(MOST_DECIMALS))).fract() == 0.0;
    let half = short && float.fract() != 0.0 && format!("{float:.*}", digits + 1).ends_with('5');
    let away = if !half {
        float
    } else if float > 0.0 {
        float.next_up()
    } else {
        float.next_down()
    };
    format!("{away:.digits$}")
}
