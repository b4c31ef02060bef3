//! Arithmetic in a program: the numbers of `value::number` with steps counted and errors worded.
//!
//! Compiled code calls these for the operators with two arguments; they are small enough to be inlined.

use super::machine::Machine;
use super::{Error, R, described};
use crate::limits::INTEGER_BITS;
use crate::reasons::Reason;
use crate::value::Value;
use crate::value::number::{self, Computed, NumberError};

/// `(+ a b)`
#[inline]
pub fn add(machine: &mut Machine<'_>, a: &Value, b: &Value) -> R {
    if let (Value::Int(x), Value::Int(y)) = (a, b)
        && let Some(sum) = x.checked_add(*y)
    {
        return Ok(Value::Int(sum));
    }
    binary(machine, number::add, a, b)
}

/// `(- a b)`
#[inline]
pub fn sub(machine: &mut Machine<'_>, a: &Value, b: &Value) -> R {
    if let (Value::Int(x), Value::Int(y)) = (a, b)
        && let Some(difference) = x.checked_sub(*y)
    {
        return Ok(Value::Int(difference));
    }
    binary(machine, number::sub, a, b)
}

/// `(* a b)`
#[inline]
pub fn mul(machine: &mut Machine<'_>, a: &Value, b: &Value) -> R {
    if let (Value::Int(x), Value::Int(y)) = (a, b)
        && let Some(product) = x.checked_mul(*y)
    {
        return Ok(Value::Int(product));
    }
    binary(machine, number::mul, a, b)
}

/// `(/ a b)`
pub fn div(machine: &mut Machine<'_>, a: &Value, b: &Value) -> R {
    binary(machine, number::div, a, b)
}

/// `(quot a b)`
#[inline]
pub fn quot(machine: &mut Machine<'_>, a: &Value, b: &Value) -> R {
    binary_of(machine, number::quot, a, b, Reason::ArithmeticError)
}

/// `(rem a b)`
#[inline]
pub fn rem(machine: &mut Machine<'_>, a: &Value, b: &Value) -> R {
    binary_of(machine, number::rem, a, b, Reason::ArithmeticError)
}

/// `(mod a b)`
#[inline]
pub fn modulo(machine: &mut Machine<'_>, a: &Value, b: &Value) -> R {
    binary_of(machine, number::modulo, a, b, Reason::ArithmeticError)
}

/// `(inc a)`
#[inline]
pub fn inc(a: &Value) -> R {
    number::inc(a).map_err(|error| failed(error, Reason::ArithmeticError, 0, &[a]))
}

/// `(dec a)`
#[inline]
pub fn dec(a: &Value) -> R {
    number::dec(a).map_err(|error| failed(error, Reason::ArithmeticError, 0, &[a]))
}

/// `(= a b)`
#[inline]
pub fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => x == y,
        _ => a.same(b),
    }
}

/// `(< a b)`; `(> a b)` is `less(b, a)`.
#[inline]
pub fn less(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => x < y,
        (Value::Float(x), Value::Float(y)) => x < y,
        _ => a.compare(b).is_some_and(std::cmp::Ordering::is_lt),
    }
}

/// `(<= a b)`; `(>= a b)` is `at_most(b, a)`.
#[inline]
pub fn at_most(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => x <= y,
        (Value::Float(x), Value::Float(y)) => x <= y,
        _ => a.compare(b).is_some_and(std::cmp::Ordering::is_le),
    }
}

/// One of the functions of two numbers for which a wrong kind is a `type_error`.
fn binary(machine: &mut Machine<'_>, compute: fn(&Value, &Value) -> Computed, a: &Value, b: &Value) -> R {
    binary_of(machine, compute, a, b, Reason::TypeError)
}

/// A function of two numbers; `wrong_kind` is the reason when one of them is none.
#[inline]
pub(super) fn binary_of(
    machine: &mut Machine<'_>,
    compute: fn(&Value, &Value) -> Computed,
    a: &Value,
    b: &Value,
    wrong_kind: Reason,
) -> R {
    if matches!(a, Value::Big(_)) || matches!(b, Value::Big(_)) {
        machine.ticks(number::steps(a, b))?;
    }
    compute(a, b).map_err(|error| failed(error, wrong_kind, 0, &[a, b]))
}

/// The error of a call with these arguments, of which the first is argument `skipped + 1` of what the program wrote.
#[cold]
pub(super) fn failed(error: NumberError, wrong_kind: Reason, skipped: usize, args: &[&Value]) -> Box<super::Halt> {
    let wrong = |position: u8, expected: &str| {
        let got = args.get(usize::from(position) - 1).map_or("something else", |value| described(value));
        let problem = format!("argument {} must be {expected}, got {got}", skipped + usize::from(position));
        Error::new(wrong_kind, problem).into()
    };
    match error {
        NumberError::NotNumber(position) => wrong(position, "a number"),
        NumberError::NotInteger(position) => wrong(position, "an integer"),
        NumberError::NotPlace(position) => wrong(position, "an integer of 0 or more"),
        NumberError::DivisionByZero => {
            Error::new(Reason::ArithmeticError, "division by zero").hint("Test the divisor with zero? first").into()
        }
        NumberError::TooLarge => {
            Error::new(Reason::MemoryExceeded, format!("the integer would have more than {} bits", INTEGER_BITS.max))
                .into()
        }
    }
}
