//! Floats to integers and to fewer decimals, and integers to floats.

use num_bigint::BigInt;
use num_traits::FromPrimitive;

use super::{Computed, NumberError, as_float};
use crate::value::Value;

/// Beyond this a double has no fraction.
const WHOLE_FROM: f64 = 9_007_199_254_740_992.0;
/// Most decimals that make a difference to a double.
const MOST_DECIMALS: u32 = 15;

/// A way to an integer.
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

/// The number as an integer; infinities and NaN stay.
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

/// A float without a fraction as an integer; infinities and NaN stay.
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

/// The float with at most so many decimals, halves away from zero. What counts is the exact value of the float: 1.005 is
/// a little less than it looks and becomes 1.0.
pub fn decimals(float: f64, places: u32) -> f64 {
    if !float.is_finite() || float.abs() >= WHOLE_FROM || places > MOST_DECIMALS {
        return float;
    }
    fixed(float, places).parse().unwrap_or(float)
}

/// The float written with exactly so many decimals, at most 15, halves away from zero; never an exponent.
pub fn fixed(float: f64, places: u32) -> String {
    let digits = places.min(MOST_DECIMALS) as usize;
    // A half has one binary and so one decimal place more than are kept, and then it is written exactly. The formatter
    // would round it to even; its neighbour further from zero is rounded away.
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
