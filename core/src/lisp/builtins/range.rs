//! Ranges of numbers.

use num_bigint::BigInt;
use num_traits::{FromPrimitive, Signed, ToPrimitive};

use super::argument::{integer, length, taken};
use super::build::repeated;
use super::endless;
use super::{Arity, Builtin, Clojure, Cost};
use crate::lisp::machine::Machine;
use crate::lisp::{Error, EvalResult, Halt, wrong};
use crate::reasons::Reason;
use crate::value::Value;

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[Builtin::new("range", Arity::between(0, 3), range)
    .takes_in_reference(Arity::between(1, 3))
    .doc(
        &["(range end)", "(range start end)", "(range start end step)", "(range)"],
        "The numbers from start (default 0) up to end, exclusive, in steps of step (default 1); without end, an endless sequence.",
    )
    .examples(&[
        ("(range 3)", "[0 1 2]"),
        ("(range 1 4)", "[1 2 3]"),
        ("(range 5 0 -2)", "[5 3 1]"),
        ("(range 0 1 0.25)", "[0 0.25 0.5 0.75]"),
    ])
    .clojure(Clojure::Differs("the step must not be 0: lists are finite"))
    .cost(Cost::Output)];

/// `(take n (range start end step))` as one call, in which the step may be 0: then `start`, `n` times. The analyser
/// inserts it for exactly this form; programs cannot name it.
pub(crate) static TAKE_OF_RANGE: Builtin = Builtin::new("take", Arity::exactly(4), take_of_range);

fn range(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let count = args.len();
    if count == 0 {
        return Ok(endless::numbers());
    }
    for (place, arg) in args.iter().enumerate() {
        match arg {
            Value::Int(_) | Value::Big(_) => {}
            Value::Float(float) if float.is_finite() => {}
            other => return Err(wrong(place + 1, "a finite number", other)),
        }
    }
    let [first, second, third] = taken(args);
    let (start, end, step) = match count {
        1 => (Value::Int(0), first, Value::Int(1)),
        2 => (first, second, Value::Int(1)),
        _ => (first, second, third),
    };
    match (&start, &end, &step) {
        (_, _, step) if is_zero(step) => Err(no_step()),
        (Value::Float(_), ..) | (.., Value::Float(_)) => floats(machine, &start, &end, &step),
        _ => integers(machine, &start, &end, &step),
    }
}

#[cold]
fn no_step() -> Box<Halt> {
    Error::new(Reason::TypeError, "the step must not be 0").hint("Use (repeat n x) for n copies").into()
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Int(int) => *int == 0,
        Value::Float(float) => *float == 0.0,
        _ => false,
    }
}

fn take_of_range(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    match args {
        [n, start, end, step] if is_zero(step) && number(start) && number(end) => {
            repeated(machine, length(integer(1, n)?), start)
        }
        [_, ends @ ..] => {
            args[1] = range(machine, ends).map_err(within_range)?;
            super::slice::take(machine, &mut args[..2])
        }
        [] => Ok(Value::Nil),
    }
}

#[cold]
fn within_range(mut halt: Box<Halt>) -> Box<Halt> {
    if let Halt::Error(error) = &mut *halt {
        error.op.get_or_insert("range".into());
    }
    halt
}

fn number(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::Big(_) | Value::Float(_))
}

/// Items made between two checks of the limits.
const RUN: i64 = 1_024;

/// A range of integers; the end may be a float.
fn integers(machine: &mut Machine<'_>, start: &Value, end: &Value, step: &Value) -> EvalResult {
    if let (&Value::Int(start), &Value::Int(end), Value::Int(1)) = (start, end, step)
        && let Some(count) = end.checked_sub(start)
    {
        let count = length(count);
        machine.reserve(count.saturating_mul(size_of::<Value>()))?;
        let mut items = Vec::with_capacity(count);
        let mut from = start;
        while from < end {
            let to = end.min(from.saturating_add(RUN));
            machine.ticks(length(to - from))?;
            items.extend((from..to).map(Value::Int));
            from = to;
        }
        return Ok(items.into());
    }
    let (start, step) = (whole(start, true), whole(step, true));
    let end = whole(end, step.is_positive());
    let steps: BigInt = (end - &start + &step - step.signum()) / &step;
    let count = if steps.is_negative() { 0 } else { steps.to_usize().unwrap_or(usize::MAX) };
    machine.reserve(count.saturating_mul(size_of::<Value>()))?;
    let mut items = Vec::with_capacity(count);
    let last = &start + &step * count;
    if let (Some(mut at), Some(step), Some(_)) = (start.to_i64(), step.to_i64(), last.to_i64()) {
        for _ in 0..count {
            machine.tick()?;
            items.push(Value::Int(at));
            at += step;
        }
    } else {
        let mut at = start;
        for _ in 0..count {
            machine.ticks(8)?;
            items.push(Value::integer(at.clone()));
            at += &step;
        }
    }
    Ok(items.into())
}

/// A number as an integer; a float is rounded away from the start of the range.
fn whole(value: &Value, upwards: bool) -> BigInt {
    match value {
        Value::Int(int) => BigInt::from(*int),
        Value::Big(big) => (**big).clone(),
        Value::Float(float) => BigInt::from_f64(if upwards { float.ceil() } else { float.floor() }).unwrap_or_default(),
        _ => BigInt::ZERO,
    }
}

/// A range with a float as start or step: each number is the previous one plus the step.
fn floats(machine: &mut Machine<'_>, start: &Value, end: &Value, step: &Value) -> EvalResult {
    let (mut at, end, step) = (float(start), float(end), float(step));
    let mut items = Vec::new();
    if (step > 0.0 && at < end) || (step < 0.0 && at > end) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "an estimate, moved into the range"
        )]
        let count = ((end - at) / step).ceil() as usize;
        machine.reserve(count.saturating_mul(size_of::<Value>()))?;
        items.push(start.clone());
        at += step;
    }
    while (step > 0.0 && at < end) || (step < 0.0 && at > end) {
        machine.tick()?;
        items.push(Value::Float(at));
        at += step;
    }
    Ok(items.into())
}

fn float(value: &Value) -> f64 {
    match value {
        #[expect(clippy::cast_precision_loss, reason = "an integer beside floats counts as one")]
        Value::Int(int) => *int as f64,
        Value::Big(big) => big.to_f64().unwrap_or(f64::NAN),
        Value::Float(float) => *float,
        _ => f64::NAN,
    }
}
