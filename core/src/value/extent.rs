//! The depth and size of a value, computed without recursion and without visiting shared parts twice.

use std::collections::HashMap;
use std::sync::Arc;

use super::order::address;
use super::{Members, Value, map};

/// The size of a value when printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extent {
    /// Levels of containers; 0 for a value without nested values.
    pub depth: usize,
    /// Number of values, including itself, keys and every repetition of shared parts; saturates at `u64::MAX`.
    pub values: u64,
    /// Bytes it would take without sharing; saturates at `u64::MAX`.
    pub bytes: u64,
}

impl Extent {
    /// The extent of the value alone, without nested values.
    fn of_one(value: &Value) -> Self {
        let text = match value {
            Value::Str(text) => text.len() as u64,
            Value::Big(number) => number.bits() / 8,
            _ => 0,
        };
        Self { depth: 0, values: 1, bytes: text + size_of::<Value>() as u64 }
    }

    fn add(&mut self, part: Self) {
        self.depth = self.depth.max(part.depth + 1);
        self.values = self.values.saturating_add(part.values);
        self.bytes = self.bytes.saturating_add(part.bytes);
    }
}

struct Frame<'a> {
    container: &'a Value,
    parts: Parts<'a>,
    sum: Extent,
}

impl Value {
    /// Depth and size. Values that leave a program are checked with this before they are printed or converted: a value
    /// of a few hundred bytes can be huge when printed, because its parts may be shared.
    pub fn extent(&self) -> Extent {
        let mut shared: HashMap<usize, Extent> = HashMap::new();
        let mut frames = vec![Frame::of(self)];
        let mut whole = Extent::default();
        while let Some(frame) = frames.last_mut() {
            if let Some(part) = frame.parts.next() {
                if !part.is_container() {
                    frame.sum.add(Extent::of_one(part));
                } else if let Some(known) = shared.get(&address(part)) {
                    frame.sum.add(*known);
                } else {
                    frames.push(Frame::of(part));
                }
                continue;
            }
            whole = frame.sum;
            if holders(frame.container) > 1 {
                shared.insert(address(frame.container), whole);
            }
            frames.pop();
            if let Some(outer) = frames.last_mut() {
                outer.sum.add(whole);
            }
        }
        whole
    }
}

impl<'a> Frame<'a> {
    fn of(container: &'a Value) -> Self {
        let depth = usize::from(container.is_container());
        Self { container, parts: Parts::of(container), sum: Extent { depth, ..Extent::of_one(container) } }
    }
}

/// The values directly inside another: items, members, or alternating keys and values.
pub(crate) enum Parts<'a> {
    Items(std::slice::Iter<'a, Value>),
    Members(Members<'a>),
    Entries(map::Iter<'a>, Option<&'a Value>),
}

impl<'a> Parts<'a> {
    /// `None` for a value without nested values.
    pub(crate) fn of(container: &'a Value) -> Self {
        match container {
            Value::List(items) => Self::Items(items.iter()),
            Value::Set(members) => Self::Members(members.iter()),
            Value::Map(map) => Self::Entries(map.iter(), None),
            _ => Self::Items([].iter()),
        }
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a Value;

    fn next(&mut self) -> Option<&'a Value> {
        match self {
            Self::Items(items) => items.next(),
            Self::Members(members) => members.next(),
            Self::Entries(_, waiting @ Some(_)) => waiting.take(),
            Self::Entries(entries, waiting) => {
                let (key, value) = entries.next()?;
                *waiting = Some(value);
                Some(key)
            }
        }
    }
}

/// The number of owners of this container.
pub(crate) fn holders(value: &Value) -> usize {
    match value {
        Value::List(list) => Arc::strong_count(list),
        Value::Set(set) => Arc::strong_count(set),
        Value::Map(map) => Arc::strong_count(map),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extent_counts_levels_and_values() {
        let cases = [
            (Value::Int(1), 0, 1),
            (Value::list([]), 1, 1),
            (Value::list([Value::Int(1), Value::list([Value::Nil])]), 2, 4),
            (Value::record([("a", Value::Int(1)), ("b", Value::set([Value::Nil]))]), 2, 6),
        ];
        for (value, depth, values) in cases {
            let extent = value.extent();
            assert_eq!((extent.depth, extent.values), (depth, values), "{value}");
        }
    }

    #[test]
    fn shared_parts_are_counted_each_time_but_visited_once() {
        let doubled = (0..100).fold(Value::Nil, |inner, _| Value::list([inner.clone(), inner]));
        assert_eq!(doubled.extent(), Extent { depth: 100, values: u64::MAX, bytes: u64::MAX });
        let text = Value::str("x".repeat(1_000));
        assert!(Value::list([text.clone(), text]).extent().bytes > 2_000);
    }
}
