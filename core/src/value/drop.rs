//! Dropping containers without recursion: a value nested a million deep may be dropped on a small stack.
//!
//! Every kind of value with nested values must be listed in [`Value::is_container`] and taken apart here.

#![expect(clippy::inline_always, reason = "measured: replacing a small value must not cost a call")]

use std::mem::ManuallyDrop;
use std::sync::Arc;

use super::Value;

impl Value {
    /// True if dropping the value is not trivial.
    #[inline(always)]
    pub(crate) fn is_shared(&self) -> bool {
        matches!(
            self,
            Self::Big(_)
                | Self::Str(_)
                | Self::List(_)
                | Self::Map(_)
                | Self::Set(_)
                | Self::Function(_)
                | Self::Regex(_)
        )
    }

    /// Replaces the value. Small values are written in parts: reading one back as a whole soon after it was written in
    /// parts stalls the processor.
    #[inline(always)]
    pub(crate) fn put(&mut self, value: Self) {
        if self.is_shared() {
            self.clear();
        }
        // Neither the old value nor the rest of the new one needs to be dropped now.
        let value = ManuallyDrop::new(value);
        std::mem::forget(match *value {
            Self::Int(int) => std::mem::replace(self, Self::Int(int)),
            Self::Bool(truth) => std::mem::replace(self, Self::Bool(truth)),
            _ => std::mem::replace(self, ManuallyDrop::into_inner(value)),
        });
    }

    /// Replaces the value by an integer.
    #[inline(always)]
    pub(crate) fn put_int(&mut self, int: i64) {
        if self.is_shared() {
            self.clear();
        }
        std::mem::forget(std::mem::replace(self, Self::Int(int)));
    }

    /// Drops the value and leaves nil.
    #[inline(never)]
    pub(crate) fn clear(&mut self) {
        drop(std::mem::take(self));
    }

    /// True if it has nested values.
    pub(crate) fn is_container(&self) -> bool {
        matches!(self, Self::List(_) | Self::Set(_) | Self::Map(_))
    }

    /// True if dropping it drops other values. Functions hold values as well, but they are not visible.
    pub(super) fn holds_values(&self) -> bool {
        self.is_container() || matches!(self, Self::Function(_))
    }
}

/// True for a container with one owner and nested containers. All other values are dropped directly.
fn is_nested(value: &Value) -> bool {
    match value {
        Value::List(list) => Arc::strong_count(list) == 1 && list.iter().any(Value::holds_values),
        Value::Map(map) => Arc::strong_count(map) == 1 && map.has_containers(),
        Value::Set(set) => Arc::strong_count(set) == 1 && set.has_containers(),
        Value::Function(function) => Arc::strong_count(function) == 1,
        _ => false,
    }
}

/// Drops values; containers with one owner are emptied into a queue first.
///
/// If two threads release the last two references of a container at the same time, it may be dropped in place, which
/// calls this again: one level of the native stack for each such race.
pub(crate) fn dismantle(values: impl Iterator<Item = Value>) {
    let mut pending: Vec<Value> = values.filter(is_nested).collect();
    while let Some(value) = pending.pop() {
        match value {
            Value::List(list) => {
                if let Some(list) = Arc::into_inner(list) {
                    pending.extend(list.into_iter().filter(is_nested));
                }
            }
            Value::Set(set) => {
                if let Some(set) = Arc::into_inner(set) {
                    pending.extend(set.into_unordered().filter(is_nested));
                }
            }
            Value::Map(map) => {
                if let Some(map) = Arc::into_inner(map) {
                    let entries = map.into_unordered().flat_map(|(key, value)| [key, value]);
                    pending.extend(entries.filter(is_nested));
                }
            }
            Value::Function(function) => {
                if let Some(mut function) = Arc::into_inner(function) {
                    pending.extend(function.take_values().into_iter().filter(is_nested));
                }
            }
            _ => {}
        }
    }
}
