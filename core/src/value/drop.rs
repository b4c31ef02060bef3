//! Dropping containers without recursion: a value nested a million deep may be dropped on a small stack.
//!
//! Every kind of value that holds other values must be known to [`Value::is_container`] and taken apart here.

use std::sync::Arc;

use super::{Map, Set, Value};

impl Value {
    /// Does it hold other values?
    pub(crate) fn is_container(&self) -> bool {
        matches!(self, Self::List(_) | Self::Set(_) | Self::Map(_))
    }

    /// Does dropping it drop other values? Functions hold values as well, but show none of them.
    pub(super) fn holds_values(&self) -> bool {
        self.is_container() || matches!(self, Self::Function(_))
    }
}

/// Drops values; containers that nobody else holds are emptied into a queue before they go.
pub(crate) fn dismantle(values: impl Iterator<Item = Value>) {
    let mut pending: Vec<Value> = values.filter(Value::holds_values).collect();
    while let Some(value) = pending.pop() {
        match value {
            Value::List(list) => {
                if let Some(list) = Arc::into_inner(list).filter(|list| list.iter().any(Value::holds_values)) {
                    pending.extend(list.into_iter().filter(Value::holds_values));
                }
            }
            Value::Set(set) => {
                if let Some(set) = Arc::into_inner(set).filter(Set::has_containers) {
                    pending.extend(set.into_unordered().filter(Value::holds_values));
                }
            }
            Value::Map(map) => {
                if let Some(map) = Arc::into_inner(map).filter(Map::has_containers) {
                    let entries = map.into_unordered().flat_map(|(key, value)| [key, value]);
                    pending.extend(entries.filter(Value::holds_values));
                }
            }
            Value::Function(function) => {
                if let Some(mut function) = Arc::into_inner(function) {
                    pending.extend(function.take_values().into_iter().filter(Value::holds_values));
                }
            }
            _ => {}
        }
    }
}
