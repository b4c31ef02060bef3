//! Dropping containers without recursion: a value nested a million deep may be dropped on a small stack.
//!
//! Every kind of value that holds other values must be known to [`Value::is_container`] and taken apart here.

use std::sync::Arc;

use super::{Map, Value};

impl Value {
    /// Does it hold other values?
    pub(super) fn is_container(&self) -> bool {
        matches!(self, Self::List(_) | Self::Set(_) | Self::Map(_))
    }
}

/// Drops values; containers that nobody else holds are emptied into a queue before they go.
pub(super) fn dismantle(values: impl Iterator<Item = Value>) {
    let mut pending: Vec<Value> = values.filter(Value::is_container).collect();
    while let Some(value) = pending.pop() {
        match value {
            Value::List(list) => {
                if let Some(list) = Arc::into_inner(list).filter(|list| list.iter().any(Value::is_container)) {
                    pending.extend(list.into_iter().filter(Value::is_container));
                }
            }
            Value::Set(set) => {
                if let Some(set) = Arc::into_inner(set).filter(|set| set.iter().any(Value::is_container)) {
                    pending.extend(set.into_vec().into_iter().filter(Value::is_container));
                }
            }
            Value::Map(map) => {
                if let Some(map) = Arc::into_inner(map).filter(Map::has_containers) {
                    let entries = map.into_iter().flat_map(|(key, value)| [key, value]);
                    pending.extend(entries.filter(Value::is_container));
                }
            }
            _ => {}
        }
    }
}
