//! Lookup of names in the data: searches the stack of values of the open sections from the inside out.
//!
//! Fields are looked up as in signatures: the exact name, then with `-` and `_` exchanged, then as a keyword.

use super::DottedName;
use crate::signature::names;
use crate::text::nearest;
use crate::value::{Map, Value};

/// A value and its path from the context, as in `items.0.name`; empty for the context itself.
#[derive(Debug, Clone)]
pub(super) struct FoundValue<'v> {
    pub(super) value: &'v Value,
    pub(super) way: String,
}

impl<'v> FoundValue<'v> {
    /// A part of this value.
    pub(super) fn part(&self, name: impl std::fmt::Display, value: &'v Value) -> Self {
        let way = if self.way.is_empty() { name.to_string() } else { format!("{}.{name}", self.way) };
        Self { value, way }
    }
}

/// A failed lookup.
pub(super) struct MissingName<'v, 'p> {
    /// The values that were searched, innermost first.
    within: Vec<&'v Value>,
    name: &'p str,
}

impl<'v> MissingName<'v, '_> {
    /// An existing name that resembles the missing one.
    pub(super) fn nearest(&self) -> Option<&'v str> {
        let maps = self.within.iter().filter_map(|value| value.as_map());
        nearest(self.name, maps.flat_map(Map::iter).filter_map(|(key, _)| key_name(key)))
    }
}

/// The value of `path`. The first name is searched in the values from the inside out; the other names must exist inside
/// the value found. Inside nil everything is nil.
pub(super) fn find<'v, 'p>(
    stack: &[FoundValue<'v>],
    path: &'p DottedName,
) -> Result<FoundValue<'v>, MissingName<'v, 'p>> {
    let Some((name, rest)) = path.split_first() else {
        return stack.last().cloned().ok_or(MissingName { within: Vec::new(), name: "." });
    };
    let start = stack.iter().rev().find_map(|frame| field(frame, name));
    let start =
        start.ok_or_else(|| MissingName { within: stack.iter().rev().map(|frame| frame.value).collect(), name })?;
    rest.iter().try_fold(start, |at, name| {
        if at.value.is_nil() {
            Ok(at)
        } else {
            field(&at, name).ok_or_else(|| MissingName { within: vec![at.value], name })
        }
    })
}

fn field<'v>(of: &FoundValue<'v>, name: &str) -> Option<FoundValue<'v>> {
    names::find(of.value.as_map()?, name).map(|value| of.part(name, value))
}

fn key_name(key: &Value) -> Option<&str> {
    match key {
        Value::Str(text) => Some(text),
        Value::Keyword(word) => Some(word.name()),
        _ => None,
    }
}
