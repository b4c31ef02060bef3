//! Maps: entries in canonical key order; of equal keys the first given wins.

mod field;

pub(crate) use field::Field;

use super::drop::dismantle;
use super::order::charge_hash;
use super::table::Table;
use super::table_iter;
use super::{Keyword, Value};

/// A map in canonical (strict) key order. `Eq` and `Hash` are strict, as for [`Value`].
#[derive(Clone, Default)]
pub struct Map(Table<Value>);

/// The entries of a [`Map`], sorted by key.
#[derive(Clone)]
pub struct Iter<'a>(table_iter::Iter<'a, Value>);

impl Map {
    /// The entries, sorted by key.
    pub fn iter(&self) -> Iter<'_> {
        Iter(self.0.iter())
    }

    /// The keys, sorted.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator {
        self.iter().map(|(key, _)| key)
    }

    /// The values in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator {
        self.iter().map(|(_, value)| value)
    }

    /// A map of sorted entries with distinct keys.
    pub(crate) fn from_sorted(entries: Vec<(Value, Value)>) -> Self {
        Self(Table::from_sorted(entries))
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value under exactly this key.
    pub fn get(&self, key: &Value) -> Option<&Value> {
        self.0.entry(key).map(|(_, value)| value)
    }

    /// The value under exactly this key, for writing in place.
    pub fn get_mut(&mut self, key: &Value) -> Option<&mut Value> {
        self.0.get_mut(key)
    }

    /// The value under exactly this string key.
    pub fn get_str(&self, key: &str) -> Option<&Value> {
        self.0.get_str(key)
    }

    /// The value under exactly this keyword.
    pub fn get_keyword(&self, key: Keyword) -> Option<&Value> {
        self.get(&Value::Keyword(key))
    }

    /// The value under the keyword of this name; interns nothing.
    fn get_keyword_named(&self, name: &str) -> Option<&Value> {
        // Most maps of external data have only string keys; then the table of keywords need not be searched.
        if self.0.has_only_strings() {
            return None;
        }
        self.get_keyword(Keyword::known(name)?)
    }

    /// The value under a name, looked up flexibly on behalf of the host: the string key, the keyword, then the name with `-`
    /// replaced by `_` as string and as keyword. The reverse (`_` → `-`) is not tried.
    pub fn lookup(&self, name: &str) -> Option<&Value> {
        charge_hash(name.len());
        let either = |name: &str| self.get_str(name).or_else(|| self.get_keyword_named(name));
        either(name).or_else(|| name.contains('-').then(|| either(&name.replace('-', "_"))).flatten())
    }

    /// The value under `key`, looked up flexibly on behalf of a program: exactly the key first, then a list as a path of
    /// keys, a string or keyword as in [`Map::lookup`].
    pub fn lookup_key(&self, key: &Value) -> Option<&Value> {
        match key {
            Value::List(path) => self.get(key).or_else(|| self.along(path)),
            Value::Str(name) => self.get(key).or_else(|| self.lookup(name)),
            Value::Keyword(word) => self.get(key).or_else(|| self.lookup(word.name())),
            _ => self.get(key),
        }
    }

    /// The key under which a program writes: exactly this key if the map has it, else the key that [`Map::lookup_key`] finds, else the
    /// key itself; a keyword becomes a string where all keys are strings, as in JSON data.
    pub fn written_key(&self, key: Value) -> Value {
        if self.0.entry(&key).is_some() { key } else { other_key(&self.0, key) }
    }

    /// The value at the end of a path of keys and indexes. A step that is itself a list is an exact key.
    pub(crate) fn along(&self, path: &[Value]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        rest.iter().try_fold(self.step(first)?, |at, key| match (at, key) {
            (Value::Map(map), key) => map.step(key),
            (Value::List(list), Value::Int(index)) => list.get(usize::try_from(*index).ok()?),
            _ => None,
        })
    }

    /// One step of a path.
    fn step(&self, key: &Value) -> Option<&Value> {
        if let Value::List(_) = key { self.get(key) } else { self.lookup_key(key) }
    }

    /// The value under a keyword, as in [`Map::lookup_key`], for the same lookup in many similar maps: `near` is the
    /// index where the last value was found, and is updated.
    #[inline]
    pub fn lookup_near(&self, word: Keyword, near: &mut usize) -> Option<&Value> {
        let Some(entries) = self.0.small() else { return self.lookup_key(&Value::Keyword(word)) };
        match entries.get(*near) {
            Some((Value::Keyword(have), value)) if *have == word => return Some(value),
            // A string matches only if no keyword does; keywords come first in the order.
            Some((Value::Str(have), value))
                if ***have == *word.name() && matches!(entries.first(), Some((Value::Str(_), _))) =>
            {
                return Some(value);
            }
            _ => {}
        }
        self.lookup_far(word, near)
    }

    fn lookup_far(&self, word: Keyword, near: &mut usize) -> Option<&Value> {
        let entries = self.0.small()?;
        let found = entries.iter().position(|(have, _)| matches!(have, Value::Keyword(have) if *have == word));
        let found = found
            .or_else(|| entries.iter().position(|(have, _)| have.as_str().is_some_and(|have| have == word.name())));
        match found {
            Some(at) => {
                *near = at;
                entries.get(at).map(|(_, value)| value)
            }
            None if word.name().contains('-') => self.lookup(word.name()),
            None => None,
        }
    }

    /// The slot of exactly this key, for writing; nil if it was missing.
    pub fn slot(&mut self, key: Value) -> &mut Value {
        self.0.slot(key)
    }

    /// The slot of the key that [`Map::written_key`] returns, for writing; nil if it was missing.
    pub(crate) fn written_slot(&mut self, key: Value) -> &mut Value {
        if !matches!(key, Value::Str(_) | Value::Keyword(_)) {
            return self.slot(key);
        }
        self.0.slot_or(key, other_key)
    }

    /// The values in the order of their keys, for writing in place.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        self.0.values_mut()
    }

    /// Sets a key and returns the previous value. The key itself remains the one given first.
    pub fn insert(&mut self, key: Value, value: Value) -> Option<Value> {
        self.0.insert(key, value)
    }

    /// Removes exactly this key and returns its value.
    pub fn remove(&mut self, key: &Value) -> Option<Value> {
        self.0.remove(key)
    }

    /// Its entries by value, in no particular order.
    pub(super) fn into_unordered(mut self) -> impl Iterator<Item = (Value, Value)> {
        std::mem::take(&mut self.0).into_unordered()
    }

    /// True if an entry has nested values.
    pub(super) fn has_containers(&self) -> bool {
        self.0.any(|key, value| key.holds_values() || value.holds_values())
    }
}

/// The key of a table that lacks this key under which a program writes; see [`Map::written_key`].
fn other_key(table: &Table<Value>, key: Value) -> Value {
    let name = match &key {
        Value::Str(name) => name.as_ref(),
        // Only a string of its name, or a name with `_`, could match it.
        Value::Keyword(word) if table.has_no_strings() && !word.name().contains('-') => {
            charge_hash(word.name().len());
            return key;
        }
        Value::Keyword(word) => word.name(),
        _ => return key,
    };
    let strings = table.len() > 0 && table.has_only_strings();
    charge_hash(name.len());
    let found = |name: &str| {
        if table.get_str(name).is_some() {
            return Some(Value::str(name));
        }
        let word = if strings { None } else { Keyword::known(name) }?;
        table.entry(&Value::Keyword(word)).map(|_| Value::Keyword(word))
    };
    let other = found(name).or_else(|| name.contains('-').then(|| found(&name.replace('-', "_"))).flatten());
    match (other, &key) {
        (Some(other), _) => other,
        (None, Value::Keyword(word)) if strings => Value::str(word.name()),
        (None, _) => key,
    }
}

impl From<Table<Value>> for Map {
    fn from(table: Table<Value>) -> Self {
        Self(table)
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        if self.has_containers() {
            dismantle(std::mem::take(&mut self.0).into_unordered().flat_map(|(key, value)| [key, value]));
        }
    }
}

impl PartialEq for Map {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for Map {}

impl std::hash::Hash for Map {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.len().hash(state);
        self.iter().for_each(|entry| entry.hash(state));
    }
}

impl std::fmt::Debug for Map {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl FromIterator<(Value, Value)> for Map {
    fn from_iter<I: IntoIterator<Item = (Value, Value)>>(entries: I) -> Self {
        Self(entries.into_iter().collect())
    }
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a Value, &'a Value);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl DoubleEndedIterator for Iter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back()
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl<'a> IntoIterator for &'a Map {
    type Item = (&'a Value, &'a Value);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// The entries of a [`Map`] by value, sorted by key.
pub struct IntoIter(table_iter::IntoIter<Value>);

impl Iterator for IntoIter {
    type Item = (Value, Value);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for IntoIter {}

impl IntoIterator for Map {
    type Item = (Value, Value);
    type IntoIter = IntoIter;

    fn into_iter(mut self) -> IntoIter {
        IntoIter(std::mem::take(&mut self.0).into_iter())
    }
}

#[cfg(test)]
mod tests;
