//! Lists: items that are dropped without recursion. Up to three items are stored inline: most lists are pairs, short
//! rows and small groups, and need no second allocation.

use std::ops::{Deref, DerefMut};

use super::Value;
use super::drop::dismantle;

/// Maximum number of items stored inline.
const INLINE: usize = 3;
/// Capacity of a list that outgrows the inline storage.
const GROWN: usize = 8;
/// Scanning this many items twice costs nothing noticeable.
const FEW: usize = 256;

/// The items of a list; used like the slice it dereferences to.
pub struct List(Items);

enum Items {
    /// This many items, followed by nil.
    Few([Value; INLINE], u8),
    Many(Vec<Value>),
}

impl List {
    /// The items as a plain vector.
    pub fn into_vec(mut self) -> Vec<Value> {
        std::mem::take(self.grown())
    }

    /// A list of nils.
    #[inline]
    pub(crate) fn nils(len: usize) -> Self {
        match u8::try_from(len) {
            Ok(few) if len <= INLINE => Self(Items::Few([const { Value::Nil }; INLINE], few)),
            _ => {
                let mut items = Vec::with_capacity(len);
                items.resize_with(len, Value::default);
                Self(Items::Many(items))
            }
        }
    }

    /// A list of a key and a value.
    #[inline]
    pub(crate) fn pair(key: Value, value: Value) -> Self {
        Self(Items::Few([key, value, Value::Nil], 2))
    }

    /// Adds an item at the end.
    #[inline]
    pub fn push(&mut self, item: Value) {
        match &mut self.0 {
            Items::Few(items, len) if usize::from(*len) < INLINE => {
                items[usize::from(*len)].put(item);
                *len += 1;
            }
            _ => self.grown().push(item),
        }
    }

    /// The items as a growable vector.
    pub fn grown(&mut self) -> &mut Vec<Value> {
        if let Items::Few(items, len) = &mut self.0 {
            let mut grown = Vec::with_capacity(GROWN);
            grown.extend(items.iter_mut().take(usize::from(*len)).map(std::mem::take));
            self.0 = Items::Many(grown);
        }
        let Items::Many(items) = &mut self.0 else { unreachable!("the items have just become many") };
        items
    }
}

impl Drop for List {
    fn drop(&mut self) {
        match &mut self.0 {
            Items::Few(items, _) => {
                if items.iter().any(Value::holds_values) {
                    dismantle(items.iter_mut().map(std::mem::take));
                }
            }
            // Many items are not in the cache: they are scanned only once.
            Items::Many(items) => {
                if items.len() > FEW || items.iter().any(Value::holds_values) {
                    dismantle(items.drain(..));
                }
            }
        }
    }
}

impl Deref for List {
    type Target = [Value];

    #[inline]
    fn deref(&self) -> &[Value] {
        match &self.0 {
            Items::Few(items, len) => &items[..usize::from(*len)],
            Items::Many(items) => items,
        }
    }
}

impl DerefMut for List {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Value] {
        match &mut self.0 {
            Items::Few(items, len) => &mut items[..usize::from(*len)],
            Items::Many(items) => items,
        }
    }
}

impl Default for List {
    #[inline]
    fn default() -> Self {
        Self::nils(0)
    }
}

impl Clone for List {
    fn clone(&self) -> Self {
        self.iter().cloned().collect()
    }
}

impl PartialEq for List {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for List {}

impl std::hash::Hash for List {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl std::fmt::Debug for List {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl From<Vec<Value>> for List {
    fn from(items: Vec<Value>) -> Self {
        Self(Items::Many(items))
    }
}

impl FromIterator<Value> for List {
    fn from_iter<I: IntoIterator<Item = Value>>(items: I) -> Self {
        let items = items.into_iter();
        if items.size_hint().1.is_none_or(|most| most > INLINE) {
            return Self(Items::Many(items.collect()));
        }
        let mut list = Self::default();
        for item in items {
            list.push(item);
        }
        list
    }
}

impl IntoIterator for List {
    type Item = Value;
    type IntoIter = std::vec::IntoIter<Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.into_vec().into_iter()
    }
}

impl<'a> IntoIterator for &'a List {
    type Item = &'a Value;
    type IntoIter = std::slice::Iter<'a, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_the_same_however_it_came_to_its_items() {
        for len in 0..12 {
            let items: Vec<Value> = (0..len).map(Value::Int).collect();
            let mut pushed = List::default();
            for item in &items {
                pushed.push(item.clone());
            }
            let mut filled = List::nils(items.len());
            filled.iter_mut().zip(&items).for_each(|(place, item)| place.put(item.clone()));
            for mut list in [pushed, filled, items.iter().cloned().collect(), List::from(items.clone())] {
                assert_eq!(list, List::from(items.clone()));
                assert_eq!(
                    (list.len(), list.to_vec(), list.clone().into_vec()),
                    (items.len(), items.clone(), items.clone())
                );
                list.grown().truncate(2);
                assert_eq!(*list, items[..items.len().min(2)]);
            }
        }
        assert_eq!(*List::pair(Value::Nil, Value::Int(1)), [Value::Nil, Value::Int(1)]);
    }

    #[test]
    fn short_lists_may_be_nested_a_million_deep() {
        let pair = |inner: Value| Value::List(std::sync::Arc::new(List::pair(Value::Int(1), inner)));
        drop((0..1_000_000).fold(Value::Nil, |inner, _| pair(inner)));
    }
}
