//! Functions that builtins apply to every item, and collections that they change in place.
//!
//! In: the program's arguments. Out: functions resolved once, and values with one owner. Nothing here iterates: the
//! builtins do.

use std::sync::Arc;

use super::argument::{self, hinted, swapped};
use crate::lisp::machine::{Callee, Machine};
use crate::lisp::{Error, EvalResult, Halt, Items, described, wrong};
use crate::reasons::Reason;
use crate::value::{Field, Keyword, List, Map, Value};

/// A function of one item, resolved once.
pub(super) enum Each<'v> {
    /// A field of the item, without a call.
    Field(Keyword, Field),
    /// Any other callable value.
    Call(Callee<'v>),
}

impl<'v> Each<'v> {
    /// The function of `(name f coll)`; `call` shows the right order, for the hint when the two look swapped.
    pub(super) fn of(machine: &Machine<'_>, function: &'v Value, coll: &Value, call: &str) -> EvalResult<Self> {
        match function {
            Value::Keyword(word) => Ok(Self::Field(*word, Field::new(*word))),
            _ => argument::callee(machine, function, coll, call).map(Self::Call),
        }
    }

    /// Applies it to an item in place.
    #[inline]
    pub(super) fn of_item(&self, machine: &mut Machine<'_>, item: &Value) -> EvalResult {
        match self {
            Self::Field(word, field) => under(*word, field, item).map(|found| found.cloned().unwrap_or_default()),
            Self::Call(callee) => callee.call1_on(machine, item),
        }
    }

    /// True if the result for the item is truthy.
    #[inline]
    pub(super) fn test(&self, machine: &mut Machine<'_>, item: &Value) -> EvalResult<bool> {
        match self {
            Self::Field(word, field) => Ok(under(*word, field, item)?.is_some_and(Value::is_truthy)),
            Self::Call(callee) => callee.test_on(machine, item),
        }
    }

    /// Applies it to an item that it may consume.
    #[inline]
    pub(super) fn of_owned(&self, machine: &mut Machine<'_>, item: Value) -> EvalResult {
        match self {
            Self::Field(..) => self.of_item(machine, &item),
            Self::Call(callee) => callee.call1(machine, item),
        }
    }
}

/// The field of an item. Unlike `(:key item)`, an item that cannot have fields is a `type_error` (as the suite shows).
#[inline]
fn under<'i>(word: Keyword, field: &Field, item: &'i Value) -> EvalResult<Option<&'i Value>> {
    match item {
        Value::Map(map) => Ok(field.of(map)),
        Value::Nil | Value::List(_) | Value::Set(_) | Value::Keyword(_) => Ok(None),
        other => Err(no_fields(word, other)),
    }
}

#[cold]
fn no_fields(word: Keyword, item: &Value) -> Box<Halt> {
    let problem = format!("items must be maps to look up :{}, one is {}", word.name(), described(item));
    Error::new(Reason::TypeError, problem).hint("Use (fn [item] …) for items of other types").into()
}

/// The function of `(name f … coll)`, called with several arguments: keywords and sets take only one.
pub(super) fn several<'v>(function: &'v Value, coll: &Value, call: &str) -> EvalResult<Callee<'v>> {
    match function {
        Value::Keyword(_) | Value::Set(_) => Err(wrong(1, "a function of several arguments", function)),
        _ => argument::strict_callee(function, coll, call),
    }
}

/// True for a keyword applied to a string: `map`, `filter`, `remove`, `keep` and `split-with` find nothing in its
/// characters; other functions reject it.
pub(super) fn nothing_found(function: &Value, coll: &Value) -> bool {
    matches!((function, coll), (Value::Keyword(_), Value::Str(_)))
}

/// The items of argument `position`.
pub(super) fn each_item(position: usize, coll: Value) -> EvalResult<Items> {
    Items::of(coll).map_err(|other| wrong(position, "a list, string, map or set", &other))
}

/// The items of argument `position` of an aggregator, which does not accept strings.
fn each_record(position: usize, coll: Value) -> EvalResult<Items> {
    match coll {
        Value::Str(_) => Err(hinted(wrong(position, "a list, map or set", &coll), "Use (seq s) for its characters")),
        coll => Items::of(coll).map_err(|other| wrong(position, "a list, map or set", &other)),
    }
}

/// The items of `(name key coll)`, as [`each_record`], with a hint if the two look swapped. `call` shows the right
/// order.
pub(super) fn keyed_records(key: &Value, coll: Value, call: &str) -> EvalResult<Items> {
    let is_swapped = looks_swapped(key, &coll);
    each_record(2, coll).map_err(|halt| if is_swapped { swapped(halt, call) } else { halt })
}

/// True if the key of `(name key coll)` is a collection of items and the collection is a key.
pub(super) fn looks_swapped(key: &Value, coll: &Value) -> bool {
    match (key, coll) {
        (Value::List(_) | Value::Map(_) | Value::Set(_), Value::Keyword(_) | Value::Function(_) | Value::Var(_)) => {
            true
        }
        (Value::List(items), Value::Str(_)) => matches!(items.first(), Some(Value::Map(_))),
        _ => false,
    }
}

/// A map for writing in place: the map itself if it has one owner, else a copy.
#[inline]
pub(super) fn own_map<'m>(machine: &mut Machine<'_>, map: &'m mut Arc<Map>) -> EvalResult<&'m mut Map> {
    if Arc::strong_count(map) > 1 {
        copying(machine, map.len() * size_of::<(Value, Value)>())?;
    }
    Ok(Arc::make_mut(map))
}

/// A list for writing in place: the list itself if it has one owner, else a copy.
#[inline]
pub(super) fn own_list<'m>(machine: &mut Machine<'_>, list: &'m mut Arc<List>) -> EvalResult<&'m mut List> {
    if Arc::strong_count(list) > 1 {
        copying(machine, size_of_val(&***list))?;
    }
    Ok(Arc::make_mut(list))
}

/// Charges for a copy by its size; small copies are part of the current step.
fn copying(machine: &mut Machine<'_>, bytes: usize) -> EvalResult<()> {
    if bytes > 4_096 {
        machine.reserve(bytes)?;
    }
    machine.ticks(bytes / size_of::<Value>())
}
