//! Tables: values by distinct keys, iterated in canonical key order. The implementation of maps, sets and groups.
//!
//! Small tables (almost all are) are sorted vectors. Larger ones are hashed while they are built, and sorted on the
//! first read in order. Those that are changed after such a read become B-trees, and so do those with nested or long
//! keys: hashing examines only a part of such a key, so that many could have the same hash. The representation is not
//! observable.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::Value;
use super::index_map::IndexMap;
use super::table_iter::{IntoIter, Iter};

/// Maximum number of entries kept in a sorted vector.
const SMALL: usize = 32;
/// Up to this many entries a linear search is faster than a binary search.
const FEW: usize = 8;

/// Values by key; of equal keys the first given is kept. Keys are strict.
#[derive(Clone)]
pub(crate) struct Table<V>(Entries<V>);

#[derive(Clone)]
enum Entries<V> {
    /// At most [`SMALL`], sorted.
    Small(Vec<(Value, V)>),
    /// All keys are [hashable](is_hashable).
    Hashed(Box<IndexMap<V>>),
    Tree(BTreeMap<Value, V>),
}

impl<V> Default for Table<V> {
    fn default() -> Self {
        Self(Entries::Small(Vec::new()))
    }
}

impl<V> Table<V> {
    /// A table of sorted entries with distinct keys.
    pub(crate) fn from_sorted(entries: Vec<(Value, V)>) -> Self {
        debug_assert!(entries.is_sorted_by(|a, b| a.0 < b.0), "keys are sorted and different");
        if entries.len() <= SMALL { Self(Entries::Small(entries)) } else { Self::large(entries) }
    }

    /// The entries, sorted by key.
    #[inline]
    pub(crate) fn iter(&self) -> Iter<'_, V> {
        match &self.0 {
            Entries::Small(entries) => Iter::of(entries),
            Entries::Hashed(hashed) => hashed.iter(),
            Entries::Tree(tree) => Iter::of_tree(tree),
        }
    }

    /// The entries as a sorted slice, if they are few.
    #[inline]
    pub(super) fn small(&self) -> Option<&[(Value, V)]> {
        match &self.0 {
            Entries::Small(entries) => Some(entries),
            _ => None,
        }
    }

    /// The number of entries.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        match &self.0 {
            Entries::Small(entries) => entries.len(),
            Entries::Hashed(hashed) => hashed.entries().len(),
            Entries::Tree(tree) => tree.len(),
        }
    }

    /// The entry with exactly this key.
    #[inline]
    pub(crate) fn entry(&self, key: &Value) -> Option<(&Value, &V)> {
        match &self.0 {
            Entries::Small(entries) => {
                let at = seek(entries, key)?;
                entries.get(at).map(|(key, value)| (key, value))
            }
            Entries::Hashed(hashed) => hashed.entry(key),
            Entries::Tree(tree) => tree.get_key_value(key),
        }
    }

    /// The value under exactly this string.
    pub(super) fn get_str(&self, key: &str) -> Option<&V> {
        match &self.0 {
            Entries::Small(entries) if entries.len() <= FEW => {
                entries.iter().find(|(have, _)| have.as_str() == Some(key)).map(|(_, value)| value)
            }
            Entries::Small(entries) => found(entries, |have| match have {
                Value::Str(text) => (***text).cmp(key),
                // Strings are the last kind in the order.
                _ => Ordering::Less,
            })
            .map(|(_, value)| value),
            Entries::Hashed(hashed) => hashed.get_str(key),
            Entries::Tree(tree) => tree.get(&Value::str(key)),
        }
    }

    /// The value under exactly this key, for writing in place.
    pub(crate) fn get_mut(&mut self, key: &Value) -> Option<&mut V> {
        match &mut self.0 {
            Entries::Small(entries) => {
                let at = seek(entries, key)?;
                entries.get_mut(at).map(|(_, value)| value)
            }
            Entries::Hashed(hashed) => hashed.get_mut(key),
            Entries::Tree(tree) => tree.get_mut(key),
        }
    }

    /// True if all keys are strings. Strings are the last kind in the order.
    pub(super) fn has_only_strings(&self) -> bool {
        let is_string = |key: Option<&Value>| key.is_none_or(|key| matches!(key, Value::Str(_)));
        match &self.0 {
            Entries::Small(entries) => is_string(entries.first().map(|(key, _)| key)),
            Entries::Hashed(hashed) => hashed.has_only_strings(),
            Entries::Tree(tree) => is_string(tree.first_key_value().map(|(key, _)| key)),
        }
    }

    /// True if certainly no key is a string; false if it would have to be searched.
    pub(super) fn has_no_strings(&self) -> bool {
        match &self.0 {
            Entries::Small(entries) => !matches!(entries.last(), Some((Value::Str(_), _))),
            Entries::Hashed(_) => false,
            Entries::Tree(tree) => !matches!(tree.last_key_value(), Some((Value::Str(_), _))),
        }
    }

    /// Sets a key and returns the previous value. The key itself remains the one given first.
    pub(crate) fn insert(&mut self, key: Value, value: V) -> Option<V> {
        self.make_room(SMALL, &key);
        match &mut self.0 {
            Entries::Small(entries) => match seek_place(entries, &key) {
                Ok(at) => entries.get_mut(at).map(|(_, have)| std::mem::replace(have, value)),
                Err(at) => {
                    entries.insert(at, (key, value));
                    None
                }
            },
            Entries::Hashed(hashed) => hashed.insert(key, value),
            Entries::Tree(tree) => tree.insert(key, value),
        }
    }

    /// The slot of exactly this key, for writing; a default value if it was missing.
    #[inline]
    pub(crate) fn slot(&mut self, key: Value) -> &mut V
    where
        V: Default,
    {
        self.slot_among(SMALL, key)
    }

    /// Like `slot`; a missing key is first replaced by `other`.
    #[inline]
    pub(super) fn slot_or(&mut self, key: Value, other: impl FnOnce(&Self, Value) -> Value) -> &mut V
    where
        V: Default,
    {
        let found = match &self.0 {
            Entries::Small(entries) => seek(entries, &key),
            Entries::Hashed(hashed) => hashed.position(&key),
            Entries::Tree(tree) if tree.contains_key(&key) => return self.slot(key),
            Entries::Tree(_) => None,
        };
        if let Some(at) = found {
            return match &mut self.0 {
                Entries::Small(entries) => &mut entries[at].1,
                Entries::Hashed(hashed) => &mut hashed.entries_mut()[at].1,
                Entries::Tree(_) => unreachable!("a tree has no positions"),
            };
        }
        let key = other(self, key);
        self.slot(key)
    }

    /// Like `slot`, for a table with recurring keys: it is hashed earlier.
    #[inline]
    pub(crate) fn group(&mut self, key: Value) -> &mut V
    where
        V: Default,
    {
        self.slot_among(FEW, key)
    }

    #[inline]
    fn slot_among(&mut self, small: usize, key: Value) -> &mut V
    where
        V: Default,
    {
        self.make_room(small, &key);
        match &mut self.0 {
            Entries::Small(entries) => {
                let at = seek_place(entries, &key).unwrap_or_else(|at| {
                    entries.insert(at, (key, V::default()));
                    at
                });
                &mut entries[at].1
            }
            Entries::Hashed(hashed) => hashed.slot(key),
            Entries::Tree(tree) => tree.entry(key).or_default(),
        }
    }

    /// Changes the representation if this one, which may have up to `small` entries, cannot take the key.
    #[inline]
    fn make_room(&mut self, small: usize, key: &Value) {
        match &mut self.0 {
            Entries::Small(entries) if entries.len() >= small && seek(entries, key).is_none() => {
                *self = Self::large(std::mem::take(entries));
                self.make_room(small, key);
            }
            Entries::Hashed(hashed) if !hashed.takes(key) => {
                self.as_tree();
            }
            _ => {}
        }
    }

    /// A table of many entries with distinct keys.
    fn large(entries: Vec<(Value, V)>) -> Self {
        Self(if entries.iter().all(|(key, _)| is_hashable(key)) {
            Entries::Hashed(Box::new(IndexMap::new(entries)))
        } else {
            Entries::Tree(entries.into_iter().collect())
        })
    }

    /// Converts to a tree, which keeps its order when it is changed.
    fn as_tree(&mut self) -> &mut BTreeMap<Value, V> {
        if !matches!(self.0, Entries::Tree(_)) {
            self.0 = Entries::Tree(std::mem::take(self).into_iter().collect());
        }
        let Entries::Tree(tree) = &mut self.0 else { unreachable!("the table has just become a tree") };
        tree
    }

    /// Removes exactly this key and returns its value.
    pub(crate) fn remove(&mut self, key: &Value) -> Option<V> {
        match &mut self.0 {
            Entries::Small(entries) => {
                let at = seek(entries, key)?;
                Some(entries.remove(at).1)
            }
            Entries::Hashed(hashed) => {
                hashed.entry(key)?;
                self.as_tree().remove(key)
            }
            Entries::Tree(tree) => tree.remove(key),
        }
    }

    /// The values in the order of their keys, for writing in place.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        if matches!(self.0, Entries::Hashed(_)) {
            *self = Self::large(std::mem::take(self).into_iter().collect());
        }
        let (few, many) = match &mut self.0 {
            Entries::Small(entries) => (&mut entries[..], None),
            Entries::Hashed(hashed) => (hashed.entries_mut(), None),
            Entries::Tree(tree) => (&mut [][..], Some(tree)),
        };
        few.iter_mut().map(|(_, value)| value).chain(many.into_iter().flat_map(BTreeMap::values_mut))
    }

    /// The same keys with other values.
    pub(crate) fn map<W>(self, value: impl Fn(V) -> W) -> Table<W> {
        let changed = |(key, old)| (key, value(old));
        Table(match self.0 {
            Entries::Hashed(hashed) if hashed.entries().len() <= SMALL => {
                Entries::Small(hashed.into_sorted().into_iter().map(changed).collect())
            }
            Entries::Tree(tree) if tree.len() <= SMALL => Entries::Small(tree.into_iter().map(changed).collect()),
            Entries::Small(entries) => Entries::Small(entries.into_iter().map(changed).collect()),
            Entries::Hashed(hashed) => Entries::Hashed(Box::new(hashed.map(value))),
            Entries::Tree(tree) => Entries::Tree(tree.into_iter().map(changed).collect()),
        })
    }

    /// True if an entry passes the test. Entries are tested in no particular order.
    pub(super) fn any(&self, test: impl Fn(&Value, &V) -> bool) -> bool {
        match &self.0 {
            Entries::Small(entries) => entries.iter().any(|(key, value)| test(key, value)),
            Entries::Hashed(hashed) => hashed.entries().iter().any(|(key, value)| test(key, value)),
            Entries::Tree(tree) => tree.iter().any(|(key, value)| test(key, value)),
        }
    }

    /// The entries by value, in no particular order.
    pub(super) fn into_unordered(self) -> IntoIter<V> {
        match self.0 {
            Entries::Small(entries) => IntoIter::of(entries),
            Entries::Hashed(hashed) => IntoIter::of(hashed.into_entries()),
            Entries::Tree(tree) => IntoIter::of_tree(tree),
        }
    }
}

impl<V> IntoIterator for Table<V> {
    type Item = (Value, V);
    type IntoIter = IntoIter<V>;

    /// The entries by value, sorted by key.
    fn into_iter(self) -> IntoIter<V> {
        match self.0 {
            Entries::Small(entries) => IntoIter::of(entries),
            Entries::Hashed(hashed) => IntoIter::of(hashed.into_sorted()),
            Entries::Tree(tree) => IntoIter::of_tree(tree),
        }
    }
}

impl<V> FromIterator<(Value, V)> for Table<V> {
    fn from_iter<I: IntoIterator<Item = (Value, V)>>(entries: I) -> Self {
        let mut entries: Vec<_> = entries.into_iter().collect();
        if entries.len() > SMALL && entries.iter().all(|(key, _)| is_hashable(key)) {
            let hashed = IndexMap::from_iter(entries);
            if hashed.entries().len() > SMALL {
                return Self(Entries::Hashed(Box::new(hashed)));
            }
            entries = hashed.into_entries();
        }
        if !entries.is_sorted_by(|a, b| a.0 < b.0) {
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            entries.dedup_by(|later, first| later.0 == first.0);
        }
        Self::from_sorted(entries)
    }
}

/// True for a key that is hashed completely and quickly: names, numbers and short lists of them.
pub(super) fn is_hashable(key: &Value) -> bool {
    match key {
        Value::List(items) => items.len() <= FEW && !items.iter().any(Value::holds_values),
        key => !key.holds_values(),
    }
}

/// The index of a name, found by its address without reading it.
#[inline]
fn same<V>(entries: &[(Value, V)], key: &Value) -> Option<usize> {
    match key {
        Value::Keyword(word) => {
            entries.iter().position(|(have, _)| matches!(have, Value::Keyword(have) if have == word))
        }
        Value::Str(text) => {
            entries.iter().position(|(have, _)| matches!(have, Value::Str(have) if Arc::ptr_eq(have, text)))
        }
        _ => None,
    }
}

/// The index of a key among sorted entries.
#[inline]
fn seek<V>(entries: &[(Value, V)], key: &Value) -> Option<usize> {
    same(entries, key).or_else(|| match key {
        Value::Keyword(_) => None,
        key if entries.len() <= FEW => entries.iter().position(|(have, _)| have == key),
        key => search(entries, key).ok(),
    })
}

/// Like `seek`, or the index where the key would be inserted.
#[inline]
fn seek_place<V>(entries: &[(Value, V)], key: &Value) -> Result<usize, usize> {
    same(entries, key).map_or_else(|| search(entries, key), Ok)
}

fn search<V>(entries: &[(Value, V)], key: &Value) -> Result<usize, usize> {
    match entries.last() {
        // Keys often arrive in order.
        Some((last, _)) if last < key => Err(entries.len()),
        _ => entries.binary_search_by(|(have, _)| have.cmp(key)),
    }
}

fn found<V>(entries: &[(Value, V)], compare: impl Fn(&Value) -> Ordering) -> Option<(&Value, &V)> {
    let at = entries.binary_search_by(|(have, _)| compare(have)).ok()?;
    entries.get(at).map(|(key, value)| (key, value))
}

#[cfg(test)]
mod tests;
