//! Reading collections in place: counting, iterating, slicing.
//!
//! In: collections of a checked type; a value without items counts as empty. It must never visit more items than it
//! returns, except to count the graphemes of a string.

use std::ops::Range;
use std::sync::Arc;

use unicode_segmentation::UnicodeSegmentation;

use crate::lisp::EvalResult;
use crate::lisp::machine::Machine;
use crate::value::{List, Set, Value};

/// Memory of an item made while iterating over a map or a string, in bytes.
const MADE_BYTES: usize = 96;

/// The items of a collection in order, made one by one; those of a map are `[k v]`.
pub(super) fn view(value: &Value) -> Box<dyn DoubleEndedIterator<Item = Value> + '_> {
    match value {
        Value::List(list) => Box::new(list.iter().cloned()),
        Value::Set(set) => Box::new(set.iter().cloned()),
        Value::Map(map) => Box::new(map.iter().map(|(key, value)| Value::pair(key.clone(), value.clone()))),
        Value::Str(text) => Box::new(text.graphemes(true).map(Value::from)),
        _ => Box::new(std::iter::empty()),
    }
}

/// The number of items.
pub(super) fn count(machine: &mut Machine<'_>, value: &Value) -> EvalResult<usize> {
    Ok(match value {
        Value::List(list) => list.len(),
        Value::Set(set) => set.len(),
        Value::Map(map) => map.len(),
        // Only "\r\n" is a grapheme of more than one ASCII character.
        Value::Str(text) if text.is_ascii() && !text.contains('\r') => {
            machine.ticks(text.len() / 256)?;
            text.len()
        }
        Value::Str(text) => text.graphemes(true).try_fold(0, |count, _| machine.ticks(2).map(|()| count + 1))?,
        _ => 0,
    })
}

/// The item at an index.
pub(super) fn item(machine: &mut Machine<'_>, value: &Value, index: usize) -> EvalResult<Option<Value>> {
    let Value::Str(text) = value else {
        return Ok(match value {
            Value::Map(_) | Value::Set(_) => {
                machine.ticks(index)?;
                view(value).nth(index)
            }
            _ => value.as_list().and_then(|items| items.get(index)).cloned(),
        });
    };
    let mut graphemes = text.graphemes(true);
    for _ in 0..index {
        machine.tick()?;
        if graphemes.next().is_none() {
            return Ok(None);
        }
    }
    Ok(graphemes.next().map(Value::from))
}

/// The last item.
pub(super) fn last(value: &Value) -> Option<Value> {
    match value {
        Value::List(list) => list.last().cloned(),
        other => view(other).next_back(),
    }
}

/// All items as an owned vector. A list with one owner is emptied.
pub(super) fn collect(machine: &mut Machine<'_>, value: Value) -> EvalResult<Vec<Value>> {
    match value {
        Value::List(list) => match Arc::try_unwrap(list) {
            Ok(list) => Ok(list.into_vec()),
            Err(list) => copy(machine, &list),
        },
        Value::Set(set) => match Arc::try_unwrap(set) {
            Ok(set) => Ok(set.into_vec()),
            Err(set) => cloned(machine, &set, 0..set.len()),
        },
        other => {
            let all = 0..count(machine, &other)?;
            made(machine, &other, &all)
        }
    }
}

/// The items of a collection as in [`collect`]; `Err` returns a value that is not a collection.
pub(super) fn items(machine: &mut Machine<'_>, value: Value) -> EvalResult<Result<Vec<Value>, Value>> {
    match value {
        Value::Nil | Value::List(_) | Value::Set(_) | Value::Map(_) | Value::Str(_) => collect(machine, value).map(Ok),
        other => Ok(Err(other)),
    }
}

/// Copies items.
pub(super) fn copy(machine: &mut Machine<'_>, items: &[Value]) -> EvalResult<Vec<Value>> {
    machine.reserve(size_of_val(items))?;
    machine.ticks(items.len())?;
    Ok(items.to_vec())
}

fn cloned(machine: &mut Machine<'_>, set: &Set, range: Range<usize>) -> EvalResult<Vec<Value>> {
    machine.reserve(range.len().saturating_mul(size_of::<Value>()))?;
    machine.ticks(range.end)?;
    Ok(set.iter().skip(range.start).take(range.len()).cloned().collect())
}

/// The items in a range within the collection, as a list. A list with one owner is cut in place.
pub(super) fn slice(machine: &mut Machine<'_>, value: Value, range: Range<usize>) -> EvalResult {
    match value {
        Value::List(list) => sublist(machine, list, range),
        Value::Set(set) => cloned(machine, &set, range).map(Value::from),
        other => made(machine, &other, &range).map(Value::from),
    }
}

fn sublist(machine: &mut Machine<'_>, mut list: Arc<List>, range: Range<usize>) -> EvalResult {
    if range == (0..list.len()) {
        return Ok(Value::List(list));
    }
    let Some(own) = Arc::get_mut(&mut list) else {
        return copy(machine, list.get(range).unwrap_or_default()).map(Value::from);
    };
    machine.ticks(own.len() / 4)?;
    let own = own.grown();
    own.truncate(range.end);
    let start = range.start.min(own.len());
    own.drain(..start);
    if own.len() < own.capacity() / 4 {
        own.shrink_to_fit();
    }
    Ok(Value::List(list))
}

fn made(machine: &mut Machine<'_>, value: &Value, range: &Range<usize>) -> EvalResult<Vec<Value>> {
    machine.reserve(range.len().saturating_mul(MADE_BYTES))?;
    let mut items = Vec::with_capacity(range.len());
    for item in view(value).skip(range.start).take(range.len()) {
        machine.ticks(4)?;
        items.push(item);
    }
    machine.ticks(range.start)?;
    Ok(items)
}

/// The items before an index, and those from it on.
pub(super) fn split(machine: &mut Machine<'_>, mut value: Value, at: usize) -> EvalResult {
    if let Value::List(list) = &mut value
        && let Some(own) = Arc::get_mut(list)
    {
        let at = at.min(own.len());
        let rest = own.grown().split_off(at);
        machine.ticks(rest.len())?;
        return Ok(vec![value, rest.into()].into());
    }
    let total = count(machine, &value)?;
    let at = at.min(total);
    let first = slice(machine, value.clone(), 0..at)?;
    Ok(vec![first, slice(machine, value, at..total)?].into())
}
