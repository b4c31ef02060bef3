//! Maps: entries in canonical key order; of equal keys the first given wins.
//!
//! Small maps (almost all are) are sorted vectors, larger ones B-trees; nobody outside this file can tell.

use std::cmp::Ordering;
use std::collections::{BTreeMap, btree_map};

use super::drop::dismantle;
use super::order::owe_hash;
use super::{Keyword, Value};

/// Most entries kept in a vector.
const SMALL: usize = 32;
/// Up to this many entries going through all of them is faster than a binary search.
const FEW: usize = 8;

/// A map in canonical (strict) key order. `Eq` and `Hash` are strict, as for [`Value`].
#[derive(Clone)]
pub struct Map(Entries);

#[derive(Clone)]
enum Entries {
    Small(Vec<(Value, Value)>),
    Large(BTreeMap<Value, Value>),
}

impl Default for Map {
    fn default() -> Self {
        Self(Entries::Small(Vec::new()))
    }
}

/// The entries of a [`Map`], sorted by key.
#[derive(Clone)]
pub struct Iter<'a>(Inner<'a>);

#[derive(Clone)]
enum Inner<'a> {
    Small(std::slice::Iter<'a, (Value, Value)>),
    Large(btree_map::Iter<'a, Value, Value>),
}

impl Map {
    /// The entries, sorted by key.
    pub fn iter(&self) -> Iter<'_> {
        Iter(match &self.0 {
            Entries::Small(entries) => Inner::Small(entries.iter()),
            Entries::Large(entries) => Inner::Large(entries.iter()),
        })
    }

    /// The keys, sorted.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator {
        self.iter().map(|(key, _)| key)
    }

    /// The values in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator {
        self.iter().map(|(_, value)| value)
    }

    /// A map of entries that are in canonical order already, each key once.
    pub(crate) fn from_sorted(entries: Vec<(Value, Value)>) -> Self {
        debug_assert!(entries.is_sorted_by(|a, b| a.0 < b.0), "keys are sorted and different");
        Self(if entries.len() > SMALL {
            Entries::Large(entries.into_iter().collect())
        } else {
            Entries::Small(entries)
        })
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        match &self.0 {
            Entries::Small(entries) => entries.len(),
            Entries::Large(entries) => entries.len(),
        }
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value under exactly this key.
    pub fn get(&self, key: &Value) -> Option<&Value> {
        match &self.0 {
            Entries::Small(entries) if entries.len() <= FEW => {
                entries.iter().find(|(have, _)| have == key).map(|(_, value)| value)
            }
            Entries::Small(entries) => found(entries, |have| have.cmp(key)),
            Entries::Large(entries) => entries.get(key),
        }
    }

    /// The value under exactly this key, to be changed in place.
    pub fn get_mut(&mut self, key: &Value) -> Option<&mut Value> {
        match &mut self.0 {
            Entries::Small(entries) => {
                let at = place(entries, key).ok()?;
                entries.get_mut(at).map(|(_, value)| value)
            }
            Entries::Large(entries) => entries.get_mut(key),
        }
    }

    /// The value under exactly this string key.
    pub fn get_str(&self, key: &str) -> Option<&Value> {
        match &self.0 {
            Entries::Small(entries) if entries.len() <= FEW => {
                entries.iter().find(|(have, _)| have.as_str() == Some(key)).map(|(_, value)| value)
            }
            Entries::Small(entries) => found(entries, |have| match have {
                Value::Str(text) => (***text).cmp(key),
                // Strings are the last kind in the order.
                _ => Ordering::Less,
            }),
            Entries::Large(entries) => entries.get(&Value::str(key)),
        }
    }

    /// The value under exactly this keyword.
    pub fn get_keyword(&self, key: Keyword) -> Option<&Value> {
        self.get(&Value::Keyword(key))
    }

    /// The value under the keyword of this name; interns nothing.
    fn get_keyword_named(&self, name: &str) -> Option<&Value> {
        // Most maps of data from outside hold strings only; then the table of keywords need not be asked.
        let (first, _) = self.iter().next()?;
        if matches!(first, Value::Str(_)) {
            return None;
        }
        self.get_keyword(Keyword::known(name)?)
    }

    /// The value under a name, flexibly (language contract §13) as the host asks for it: the string key, the keyword,
    /// then the name with `-` replaced by `_` as string and as keyword. The reverse (`_` → `-`) is not tried.
    pub fn lookup(&self, name: &str) -> Option<&Value> {
        owe_hash(name.len());
        let either = |name: &str| self.get_str(name).or_else(|| self.get_keyword_named(name));
        either(name).or_else(|| name.contains('-').then(|| either(&name.replace('-', "_"))).flatten())
    }

    /// The value under `key`, flexibly, as programs ask for it: exactly this key first; a string or keyword then as
    /// [`Map::lookup`] does.
    pub fn lookup_key(&self, key: &Value) -> Option<&Value> {
        self.get(key).or_else(|| match key {
            Value::Str(name) => self.lookup(name),
            Value::Keyword(word) => self.lookup(word.name()),
            _ => None,
        })
    }

    /// The value under a keyword, flexibly as [`Map::lookup_key`], when many maps alike are asked for the same one: `near`
    /// is the place where the last one was found, and is set to where this one is.
    #[inline]
    pub fn lookup_near(&self, word: Keyword, near: &mut usize) -> Option<&Value> {
        let Entries::Small(entries) = &self.0 else { return self.lookup_key(&Value::Keyword(word)) };
        match entries.get(*near) {
            Some((Value::Keyword(have), value)) if *have == word => return Some(value),
            // A string counts only when no keyword comes before it; keywords are first in the order.
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
        let Entries::Small(entries) = &self.0 else { return None };
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

    /// Where the value under exactly this key stands, to be changed; nil when it was not there.
    pub fn slot(&mut self, key: Value) -> &mut Value {
        if let Entries::Small(entries) = &mut self.0
            && entries.len() == SMALL
            && place(entries, &key).is_err()
        {
            self.0 = Entries::Large(std::mem::take(entries).into_iter().collect());
        }
        match &mut self.0 {
            Entries::Small(entries) => {
                let at = match place(entries, &key) {
                    Ok(at) => at,
                    Err(at) => {
                        entries.insert(at, (key, Value::Nil));
                        at
                    }
                };
                &mut entries[at].1
            }
            Entries::Large(entries) => entries.entry(key).or_default(),
        }
    }

    /// The values in the order of their keys, to be changed in place.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        let (small, large) = match &mut self.0 {
            Entries::Small(entries) => (Some(entries), None),
            Entries::Large(entries) => (None, Some(entries)),
        };
        let small = small.into_iter().flatten().map(|(_, value)| value);
        small.chain(large.into_iter().flat_map(BTreeMap::values_mut))
    }

    /// Sets a key, returning the value it had. The key itself stays the one given first.
    pub fn insert(&mut self, key: Value, value: Value) -> Option<Value> {
        let entries = match &mut self.0 {
            Entries::Large(entries) => return entries.insert(key, value),
            Entries::Small(entries) => entries,
        };
        match place(entries, &key) {
            Ok(at) => return Some(std::mem::replace(&mut entries[at].1, value)),
            Err(at) => entries.insert(at, (key, value)),
        }
        if entries.len() > SMALL {
            self.0 = Entries::Large(std::mem::take(entries).into_iter().collect());
        }
        None
    }

    /// Removes exactly this key, returning the value it had.
    pub fn remove(&mut self, key: &Value) -> Option<Value> {
        match &mut self.0 {
            Entries::Small(entries) => {
                let at = place(entries, key).ok()?;
                Some(entries.remove(at).1)
            }
            Entries::Large(entries) => entries.remove(key),
        }
    }

    /// Takes all entries out.
    fn take(&mut self) -> IntoIter {
        IntoIter(match &mut self.0 {
            Entries::Small(entries) => Taken::Small(std::mem::take(entries).into_iter()),
            Entries::Large(entries) => Taken::Large(std::mem::take(entries).into_iter()),
        })
    }

    /// Does an entry hold other values?
    pub(super) fn has_containers(&self) -> bool {
        self.iter().any(|(key, value)| key.holds_values() || value.holds_values())
    }
}

fn place(entries: &[(Value, Value)], key: &Value) -> Result<usize, usize> {
    match entries.last() {
        // Keys often arrive in order.
        Some((last, _)) if last < key => Err(entries.len()),
        _ => entries.binary_search_by(|(have, _)| have.cmp(key)),
    }
}

fn found(entries: &[(Value, Value)], compare: impl Fn(&Value) -> Ordering) -> Option<&Value> {
    let at = entries.binary_search_by(|(have, _)| compare(have)).ok()?;
    entries.get(at).map(|(_, value)| value)
}

impl Drop for Map {
    fn drop(&mut self) {
        if self.has_containers() {
            dismantle(self.take().flat_map(|(key, value)| [key, value]));
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
        let mut entries: Vec<_> = entries.into_iter().collect();
        if !entries.is_sorted_by(|a, b| a.0 < b.0) {
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            entries.dedup_by(|later, first| later.0 == first.0);
        }
        Self(if entries.len() > SMALL {
            Entries::Large(entries.into_iter().collect())
        } else {
            Entries::Small(entries)
        })
    }
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a Value, &'a Value);

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Inner::Small(entries) => entries.next().map(|(key, value)| (key, value)),
            Inner::Large(entries) => entries.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            Inner::Small(entries) => entries.size_hint(),
            Inner::Large(entries) => entries.size_hint(),
        }
    }
}

impl DoubleEndedIterator for Iter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Inner::Small(entries) => entries.next_back().map(|(key, value)| (key, value)),
            Inner::Large(entries) => entries.next_back(),
        }
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
pub struct IntoIter(Taken);

enum Taken {
    Small(std::vec::IntoIter<(Value, Value)>),
    Large(btree_map::IntoIter<Value, Value>),
}

impl Iterator for IntoIter {
    type Item = (Value, Value);

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Taken::Small(entries) => entries.next(),
            Taken::Large(entries) => entries.next(),
        }
    }
}

impl IntoIterator for Map {
    type Item = (Value, Value);
    type IntoIter = IntoIter;

    fn into_iter(mut self) -> IntoIter {
        self.take()
    }
}

#[cfg(test)]
mod tests;
