//! Arithmetic in a program: the numbers of `value::number`, with steps counted and errors worded.
//!
//! In: the program's arguments. Out: numbers, or errors that name the argument. Compiled code handles small integers
//! and floats itself and calls this module for the rest.

use super::error::not_integer;
use super::machine::Machine;
use super::{Error, EvalResult, described};
use crate::limits::INTEGER_BITS;
use crate::reasons::Reason;
use crate::value::Value;
use crate::value::number::{self, Computed, NumberError};

/// A function of two numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operation {
    compute: fn(&Value, &Value) -> Computed,
    /// Steps for large integers of this many words.
    steps: fn(usize, usize) -> usize,
}

pub(super) const ADD: Operation = Operation { compute: number::add, steps: in_proportion };
pub(super) const SUB: Operation = Operation { compute: number::sub, steps: in_proportion };
pub(super) const MUL: Operation = Operation { compute: number::mul, steps: by_parts };
pub(super) const DIV: Operation = Operation { compute: number::div, steps: in_proportion };
pub(super) const QUOT: Operation = Operation { compute: number::quot, steps: by_parts };
pub(super) const REM: Operation = Operation { compute: number::rem, steps: by_parts };
pub(super) const MODULO: Operation = Operation { compute: number::modulo, steps: by_parts };
pub(super) const AND: Operation = Operation { compute: number::and, steps: in_proportion };
pub(super) const OR: Operation = Operation { compute: number::or, steps: in_proportion };
pub(super) const XOR: Operation = Operation { compute: number::xor, steps: in_proportion };
pub(super) const AND_NOT: Operation = Operation { compute: number::and_not, steps: in_proportion };

/// The result of a function of one number; charges steps by the size of a large integer.
#[inline]
pub(super) fn unary(
    machine: &mut Machine<'_>,
    compute: fn(&Value) -> Computed,
    a: &Value,
    wrong_kind: Reason,
) -> EvalResult {
    charge(machine, a)?;
    compute(a).map_err(|error| failed(error, wrong_kind, 0, &[a]))
}

/// Charges steps for one pass over a large integer.
#[inline]
pub(super) fn charge(machine: &mut Machine<'_>, a: &Value) -> EvalResult<()> {
    if matches!(a, Value::Big(_)) { machine.ticks(in_proportion(number::words(a), 0)) } else { Ok(()) }
}

fn in_proportion(a: usize, b: usize) -> usize {
    a.max(b) / 8
}

fn by_parts(a: usize, b: usize) -> usize {
    a.max(b).saturating_mul(a.min(b).isqrt())
}

impl Operation {
    /// The result; `wrong_kind` is the reason if an argument is not a number, or not an integer where one is required.
    #[inline]
    pub(super) fn run(self, machine: &mut Machine<'_>, a: &Value, b: &Value, wrong_kind: Reason) -> EvalResult {
        self.at(machine, a, b, wrong_kind, 0)
    }

    /// Like `run`, for a call whose first `skipped` arguments were processed before.
    #[inline]
    pub(super) fn at(
        self,
        machine: &mut Machine<'_>,
        a: &Value,
        b: &Value,
        wrong_kind: Reason,
        skipped: usize,
    ) -> EvalResult {
        if matches!(a, Value::Big(_)) || matches!(b, Value::Big(_)) {
            machine.ticks((self.steps)(number::words(a), number::words(b)))?;
        }
        (self.compute)(a, b).map_err(|error| failed(error, wrong_kind, skipped, &[a, b]))
    }

    /// Applies the operation from left to right to two or more arguments.
    pub(super) fn fold(self, machine: &mut Machine<'_>, args: &[Value], wrong_kind: Reason) -> EvalResult {
        let mut result = args[0].clone();
        for (place, next) in args.iter().skip(1).enumerate() {
            machine.tick()?;
            // The intermediate result is always a number, so a wrong operand is the argument at this position.
            result = self.at(machine, &result, next, wrong_kind, place)?;
        }
        Ok(result)
    }
}

/// The error of a call with these arguments; the first is argument `skipped + 1` of the program's call.
#[cold]
#[expect(clippy::unnecessary_box_returns, reason = "the error of `R`")]
pub(super) fn failed(error: NumberError, wrong_kind: Reason, skipped: usize, args: &[&Value]) -> Box<super::Halt> {
    let wrong = |position: u8, expected: &str| {
        if let Some(Value::Float(float)) = args.get(usize::from(position) - 1)
            && expected.starts_with("an integer")
        {
            let error = not_integer(wrong_kind, skipped + usize::from(position), expected, *float);
            return error.caught_as(Reason::TypeError).into();
        }
        let got = args.get(usize::from(position) - 1).map_or("something else", |value| described(value));
        let problem = format!("argument {} must be {expected}, got {got}", skipped + usize::from(position));
        Error::new(wrong_kind, problem).caught_as(Reason::TypeError).into()
    };
    match error {
        NumberError::NotNumber(position) => wrong(position, "a number"),
        NumberError::NotInteger(position) => wrong(position, "an integer"),
        NumberError::NotBitPosition(position) => wrong(position, "an integer of 0 or more"),
        NumberError::DivisionByZero => {
            Error::new(Reason::ArithmeticError, "division by zero").hint("Test the divisor with zero? first").into()
        }
        NumberError::TooLarge => too_large().into(),
    }
}

/// The error for an integer beyond the limit.
#[cold]
pub(super) fn too_large() -> Error {
    Error::new(Reason::MemoryExceeded, format!("the integer would have more than {} bits", INTEGER_BITS.max))
        .hint("Use floats if the last digits do not matter")
}
