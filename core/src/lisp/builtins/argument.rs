//! Reading the arguments of sequence functions: which collections are accepted, integers, and hints for arguments in
//! the wrong order.
//!
//! In: arguments of a call. Out: what they must be, or the `type_error` that says so.

use crate::lisp::machine::Callable;
use crate::lisp::machine::Callee;
use crate::lisp::{Error, Halt, R, described, wrong};
use crate::reasons::Reason;
use crate::value::Value;

/// Which collections a function goes through; nil is one that has no items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sources {
    /// Lists, strings, maps as `[k v]`, and sets.
    All,
    /// All but sets.
    NotSets,
    /// Lists and strings: what has an order of its own.
    Ordered,
    /// Lists.
    Lists,
}

impl Sources {
    /// Checks that argument `position` is a collection of these kinds.
    pub(super) fn check(self, position: usize, value: &Value) -> R<()> {
        let accepted = match value {
            Value::Nil | Value::List(_) => true,
            Value::Str(_) => self != Self::Lists,
            Value::Map(_) => matches!(self, Self::All | Self::NotSets),
            Value::Set(_) => self == Self::All,
            _ => false,
        };
        if accepted { Ok(()) } else { Err(self.refuse(position, value)) }
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

/// Is it a keyword, date, duration or builtin? For some functions these are records, whose entries they do not find (as
/// the suite shows).
pub(super) fn is_record(value: &Value) -> bool {
    match value {
        Value::Keyword(_) | Value::Date(_) | Value::Instant(_) | Value::Duration(_) => true,
        other => matches!(Callable::of_value(other), Some(Callable::Builtin(_))),
    }
}

/// A keyword, date, duration or builtin where a collection is needed. Some functions take them for records, whose entries they
/// then do not find (as the suite shows): a `runtime_error`.
#[cold]
pub(super) fn no_entries(position: usize, expected: &str, value: &Value) -> Box<Halt> {
    let problem = format!("argument {position} must be {expected}, got {}", described(value));
    Error::new(Reason::RuntimeError, problem).into()
}

/// The arguments by value; nil for those that were not given.
pub(super) fn taken<const N: usize>(args: &mut [Value]) -> [Value; N] {
    std::array::from_fn(|place| args.get_mut(place).map(std::mem::take).unwrap_or_default())
}

/// The integer that is argument `position`. One beyond 64 bits becomes the nearest that is not: no collection is longer.
pub(super) fn integer(position: usize, value: &Value) -> R<i64> {
    clamped(value).ok_or_else(|| wrong(position, "an integer", value))
}

/// An integer, moved into 64 bits; `None` for everything else.
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

/// The function of `(f function coll)`, with a hint when the two look swapped. `call` shows the right order.
pub(super) fn callee<'v>(function: &'v Value, coll: &Value, call: &str) -> R<Callee<'v>> {
    Callee::of(1, function).map_err(|halt| match Callee::of(2, coll) {
        Ok(_) if Sources::All.check(1, function).is_ok() => swapped(halt, call),
        _ => halt,
    })
}

/// The error, with the hint that arguments look swapped.
#[cold]
pub(super) fn swapped(halt: Box<Halt>, call: &str) -> Box<Halt> {
    hinted(halt, format!("The arguments look swapped; write {call}"))
}

/// The error, with a hint.
#[cold]
pub(super) fn hinted(mut halt: Box<Halt>, hint: impl Into<String>) -> Box<Halt> {
    if let Halt::Error(error) = &mut *halt {
        error.hint = Some(hint.into());
    }
    halt
}
