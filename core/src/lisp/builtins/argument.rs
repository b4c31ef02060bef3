//! Checks of the arguments of sequence functions: accepted collections, integers, and hints for swapped arguments.
//!
//! In: the arguments of a call. Out: the typed argument, or a `type_error`.

use crate::lisp::machine::{Callable, Callee, Machine};
use crate::lisp::{Error, EvalResult, Halt, described, wrong};
use crate::reasons::Reason;
use crate::value::Value;

/// The collections that a function accepts; nil counts as empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CollectionKinds {
    /// Lists, strings, maps as `[k v]`, and sets.
    All,
    /// All except sets.
    NotSets,
    /// Lists and strings, which have an order of their own.
    Ordered,
    /// Lists.
    Lists,
}

impl CollectionKinds {
    /// Checks that argument `position` is an accepted collection.
    pub(super) fn check(self, position: usize, value: &Value) -> EvalResult<()> {
        let accepted = match value {
            Value::Nil | Value::List(_) => true,
            Value::Str(_) => self != Self::Lists,
            Value::Map(_) => matches!(self, Self::All | Self::NotSets),
            Value::Set(_) => self == Self::All,
            _ => false,
        };
        if accepted { Ok(()) } else { Err(self.refuse(position, value)) }
    }

    /// Like `check`; only the dialect `reference` refuses maps and sets where an order is needed: they are in key order.
    pub(super) fn accept(self, machine: &Machine<'_>, position: usize, value: &Value) -> EvalResult<()> {
        match value {
            Value::Map(_) | Value::Set(_) if !machine.is_reference() => Ok(()),
            _ => self.check(position, value),
        }
    }

    #[cold]
    fn refuse(self, position: usize, value: &Value) -> Box<Halt> {
        let expected = match self {
            Self::All => "a list, string, map or set",
            Self::NotSets => "a list, string or map",
            Self::Ordered => "a list or string",
            Self::Lists => "a list",
        };
        let hint = match value {
            Value::Map(_) => "A map has no order; use (keys m), (vals m) or (seq m)",
            Value::Set(_) => "A set has no order; use (seq s)",
            Value::Str(_) => "Use (seq s) for the characters of a string",
            _ => return wrong(position, expected, value),
        };
        hinted(wrong(position, expected, value), hint)
    }
}

/// True for a keyword, date, duration or builtin. In the reference some functions treat these as records without
/// entries (as the suite shows).
pub(super) fn is_record(value: &Value) -> bool {
    match value {
        Value::Keyword(_) | Value::Date(_) | Value::Instant(_) | Value::Duration(_) => true,
        other => matches!(Callable::of_value(other), Some(Callable::Builtin(_))),
    }
}

/// The error for a keyword, date, duration or builtin where a collection is required: a `runtime_error` in functions
/// that treat them as records without entries (as the suite shows).
#[cold]
pub(super) fn no_entries(position: usize, expected: &str, value: &Value) -> Box<Halt> {
    let problem = format!("argument {position} must be {expected}, got {}", described(value));
    Error::new(Reason::RuntimeError, problem).into()
}

/// Moves the arguments out; nil for missing ones.
pub(super) fn taken<const N: usize>(args: &mut [Value]) -> [Value; N] {
    std::array::from_fn(|index| args.get_mut(index).map(std::mem::take).unwrap_or_default())
}

/// The integer in argument `position`. An integer beyond 64 bits becomes the nearest `i64`: no collection is longer.
pub(super) fn integer(position: usize, value: &Value) -> EvalResult<i64> {
    clamped(value).ok_or_else(|| wrong(position, "an integer", value))
}

/// An integer, clamped to 64 bits; `None` for any other value.
pub(super) fn clamped(value: &Value) -> Option<i64> {
    match value {
        Value::Int(int) => Some(*int),
        Value::Big(big) if big.sign() == num_bigint::Sign::Minus => Some(i64::MIN),
        Value::Big(_) => Some(i64::MAX),
        _ => None,
    }
}

/// An integer as a length: negative ones are 0.
pub(super) fn length(int: i64) -> usize {
    usize::try_from(int.max(0)).unwrap_or(usize::MAX)
}

/// The function of `(f function coll)`, with a hint if the two look swapped. `call` shows the right order.
pub(super) fn callee<'v>(
    machine: &Machine<'_>,
    function: &'v Value,
    coll: &Value,
    call: &str,
) -> EvalResult<Callee<'v>> {
    match coll {
        // Maps and lists may be called, unless the collection is what should be called.
        Value::Function(_) | Value::Var(_) | Value::Keyword(_) if !Callable::is_endless(coll) => {
            strict_callee(function, coll, call)
        }
        _ if machine.is_reference() => strict_callee(function, coll, call),
        _ => Callee::of(machine, 1, function),
    }
}

/// Like `callee`, but refuses maps and lists, which take one argument.
pub(super) fn strict_callee<'v>(function: &'v Value, coll: &Value, call: &str) -> EvalResult<Callee<'v>> {
    Callee::strict(1, function).map_err(|halt| match Callee::strict(2, coll) {
        Ok(_) if CollectionKinds::All.check(1, function).is_ok() => swapped(halt, call),
        _ => halt,
    })
}

/// Adds the hint that the arguments look swapped.
#[cold]
pub(super) fn swapped(halt: Box<Halt>, call: &str) -> Box<Halt> {
    hinted(halt, format!("The arguments seem swapped; write {call}"))
}

/// Adds a hint to the error.
#[cold]
pub(super) fn hinted(mut halt: Box<Halt>, hint: impl Into<String>) -> Box<Halt> {
    if let Halt::Error(error) = &mut *halt {
        error.hint = Some(hint.into());
    }
    halt
}
