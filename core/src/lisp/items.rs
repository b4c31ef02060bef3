//! Iteration over any collection: nil, lists, sets, maps as `[k v]`, strings as graphemes.

use std::sync::Arc;

use unicode_segmentation::UnicodeSegmentation;

use crate::value::{List, Map, Value};

/// The items of a collection, by value. A list with one owner is emptied; others are cloned item by item.
pub enum Items {
    /// Owned items.
    Owned(std::vec::IntoIter<Value>),
    /// Items of a shared list, from an index on.
    Shared(Arc<List>, usize),
    /// The graphemes of a text, from a byte offset on. They are made one by one: as strings they take many times the
    /// memory of the text.
    Text(Arc<Box<str>>, usize),
}

impl Items {
    /// The items of a collection; `Err` returns a value that is not a collection.
    pub fn of(value: Value) -> Result<Self, Value> {
        match value {
            Value::List(list) => Ok(match Arc::try_unwrap(list) {
                Ok(list) => Self::Owned(list.into_iter()),
                Err(list) => Self::Shared(list, 0),
            }),
            Value::Str(text) => Ok(Self::Text(text, 0)),
            other => items(other).map(|items| Self::Owned(items.into_iter())),
        }
    }
}

impl Iterator for Items {
    type Item = Value;

    #[inline]
    fn next(&mut self) -> Option<Value> {
        match self {
            Self::Owned(items) => items.next(),
            Self::Shared(list, at) => {
                let item = list.get(*at)?;
                *at += 1;
                Some(item.clone())
            }
            Self::Text(text, at) => next_grapheme(text, at),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::Owned(items) => items.size_hint(),
            Self::Shared(list, at) => {
                let left = list.len().saturating_sub(*at);
                (left, Some(left))
            }
            Self::Text(text, at) => (0, Some(text.len().saturating_sub(*at))),
        }
    }
}

/// The grapheme at an offset, which is advanced. Separate, so that iteration over lists stays small.
#[inline(never)]
fn next_grapheme(text: &str, at: &mut usize) -> Option<Value> {
    let next = text.get(*at..)?.graphemes(true).next()?;
    *at += next.len();
    Some(Value::from(next))
}

/// The items of a collection as an owned vector; `Err` returns a value that is not a collection.
pub fn items(value: Value) -> Result<Vec<Value>, Value> {
    Ok(match value {
        Value::Nil => Vec::new(),
        Value::List(list) => Arc::try_unwrap(list).map_or_else(|list| list.to_vec(), List::into_vec),
        Value::Set(set) => Arc::try_unwrap(set).map_or_else(|set| set.to_vec(), crate::value::Set::into_vec),
        Value::Map(map) => entries(&map),
        Value::Str(text) => graphemes(&text),
        other => return Err(other),
    })
}

/// The entries of a map as `[key value]`, sorted by key.
pub fn entries(map: &Map) -> Vec<Value> {
    map.iter().map(|(key, value)| Value::pair(key.clone(), value.clone())).collect()
}

/// The graphemes of a text as strings.
pub fn graphemes(text: &str) -> Vec<Value> {
    text.graphemes(true).map(Value::from).collect()
}
