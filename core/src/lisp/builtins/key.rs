//! Keys by which items are sorted, grouped and summed: a field, a path of fields, or a function.
//!
//! In: a program's key (a keyword, a string, a key path or a function). Out: an item's value under it.
//! It must never fail on an item without the field: that is nil.

use crate::lisp::machine::{Callee, Machine};
use crate::lisp::{Error, EvalResult, Halt, described, wrong};
use crate::reasons::Reason;
use crate::value::{Field, Value};

/// The expected type in error messages.
const KEY: &str = "a keyword, string, key path or function";

/// A key as an argument of `sort-by`, `group-by`, `sum-by` and similar, resolved once.
pub(super) enum Key<'v> {
    /// A keyword, looked up flexibly in many similar items.
    Word(Field),
    /// A string, looked up flexibly. nil is a field that no item has.
    Field(&'v Value),
    /// Nested fields and list indexes; the empty path is the item itself.
    Path(&'v [Value]),
    /// A set, which is not a key: rejected when it is applied to an item (as in the reference).
    Set(usize, &'v Value),
    /// A function of the item.
    Function(Callee<'v>),
}

impl<'v> Key<'v> {
    /// The key in argument `position`; numbers and other values are a `type_error`, in the dialect `reference` also maps.
    pub(super) fn of(machine: &Machine<'_>, position: usize, key: &'v Value) -> EvalResult<Self> {
        Ok(match key {
            Value::Keyword(word) => Self::Word(Field::new(*word)),
            Value::Str(_) | Value::Nil => Self::Field(key),
            Value::List(path) => Self::Path(path),
            Value::Set(_) => Self::Set(position, key),
            Value::Function(_) | Value::Var(_) => Self::Function(Callee::of(machine, position, key)?),
            Value::Map(_) if !machine.is_reference() => Self::Function(Callee::of(machine, position, key)?),
            other => return Err(wrong(position, KEY, other)),
        })
    }

    /// The item's value under the key; nil if it has none.
    #[inline]
    pub(super) fn of_item(&self, machine: &mut Machine<'_>, item: &Value) -> EvalResult {
        match self {
            Self::Word(field) => Ok(match item {
                Value::Map(map) => field.of(map).cloned().unwrap_or_default(),
                _ => Value::Nil,
            }),
            Self::Field(field) => match item {
                Value::Map(_) | Value::List(_) | Value::Set(_) | Value::Keyword(_) | Value::Nil => {
                    Ok(under(item, field).cloned().unwrap_or_default())
                }
                // A keyword finds nothing there; a string or nil is rejected (as the suite shows).
                other => Err(no_field(field, other)),
            },
            Self::Path(path) => {
                machine.ticks(path.len())?;
                Ok(path.iter().try_fold(item, |at, step| under(at, step)).cloned().unwrap_or_default())
            }
            Self::Set(position, key) => Err(wrong(*position, KEY, key)),
            Self::Function(function) => function.call1_on(machine, item),
        }
    }
}

#[cold]
fn no_field(field: &Value, item: &Value) -> Box<Halt> {
    let problem = format!("items must be maps to look up {}, one is {}", described(field), described(item));
    Error::new(Reason::TypeError, problem).hint("Use a function as the key").into()
}

/// The value at one step of a path: under a map's key (flexibly) or at a list's index.
fn under<'a>(value: &'a Value, step: &Value) -> Option<&'a Value> {
    match (value, step) {
        (Value::Map(map), key) => map.lookup_key(key),
        (Value::List(list), Value::Int(index)) => list.get(usize::try_from(*index).ok()?),
        _ => None,
    }
}
