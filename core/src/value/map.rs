//! Maps: entries in canonical key order, looked up by binary search; of equal keys the first given wins.

use std::cmp::Ordering;

use super::drop::dismantle;
use super::order::rank;
use super::{Keyword, Value};

/// A map in canonical (strict) key order. `Eq` and `Hash` are strict, as for [`Value`].
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Map {
    entries: Vec<(Value, Value)>,
}

impl Map {
    /// The entries, sorted by key.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&Value, &Value)> + ExactSizeIterator {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    /// The keys, sorted.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator {
        self.entries.iter().map(|(key, _)| key)
    }

    /// The values in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator {
        self.entries.iter().map(|(_, value)| value)
    }

    /// The entries as they lie in memory.
    pub(super) fn entries(&self) -> &[(Value, Value)] {
        &self.entries
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The value under exactly this key.
    pub fn get(&self, key: &Value) -> Option<&Value> {
        self.at(self.find(key))
    }

    /// The value under exactly this key, to be changed in place.
    pub fn get_mut(&mut self, key: &Value) -> Option<&mut Value> {
        let at = self.find(key).ok()?;
        self.entries.get_mut(at).map(|(_, value)| value)
    }

    /// The value under exactly this string key.
    pub fn get_str(&self, key: &str) -> Option<&Value> {
        self.at(self.entries.binary_search_by(|(have, _)| match have {
            Value::Str(text) => (***text).cmp(key),
            // Strings are the last kind in the order.
            _ => Ordering::Less,
        }))
    }

    /// The value under exactly this keyword.
    pub fn get_keyword(&self, key: Keyword) -> Option<&Value> {
        self.get(&Value::Keyword(key))
    }

    /// The value under the keyword of this name; interns nothing.
    fn get_keyword_named(&self, name: &str) -> Option<&Value> {
        let wanted = rank(&Value::Keyword(Keyword::known(name)?));
        self.at(self.entries.binary_search_by(|(have, _)| match have {
            Value::Keyword(word) => word.name().cmp(name),
            other => rank(other).cmp(&wanted),
        }))
    }

    /// The value under a name, flexibly (language contract §13) as the host asks for it: the string key, the keyword,
    /// then the name with `-` replaced by `_` as string and as keyword. The reverse (`_` → `-`) is not tried.
    pub fn lookup(&self, name: &str) -> Option<&Value> {
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

    /// Sets a key, returning the value it had.
    pub fn insert(&mut self, key: Value, value: Value) -> Option<Value> {
        match self.find(&key) {
            Ok(at) => Some(std::mem::replace(&mut self.entries[at].1, value)),
            Err(at) => {
                self.entries.insert(at, (key, value));
                None
            }
        }
    }

    /// Removes exactly this key, returning the value it had.
    pub fn remove(&mut self, key: &Value) -> Option<Value> {
        let at = self.find(key).ok()?;
        Some(self.entries.remove(at).1)
    }

    fn find(&self, key: &Value) -> Result<usize, usize> {
        match self.entries.last() {
            // Keys often arrive in order.
            Some((last, _)) if last < key => Err(self.entries.len()),
            _ => self.entries.binary_search_by(|(have, _)| have.cmp(key)),
        }
    }

    fn at(&self, place: Result<usize, usize>) -> Option<&Value> {
        self.entries.get(place.ok()?).map(|(_, value)| value)
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        if self.entries.iter().any(|(key, value)| key.is_container() || value.is_container()) {
            dismantle(self.entries.drain(..).flat_map(|(key, value)| [key, value]));
        }
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
        Self { entries }
    }
}

impl IntoIterator for Map {
    type Item = (Value, Value);
    type IntoIter = std::vec::IntoIter<(Value, Value)>;

    fn into_iter(mut self) -> Self::IntoIter {
        std::mem::take(&mut self.entries).into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(entries: &[(Value, i64)]) -> Map {
        entries.iter().map(|(key, value)| (key.clone(), Value::Int(*value))).collect()
    }

    #[test]
    fn keys_are_strict_and_sorted_and_the_first_of_equal_ones_wins() {
        let mut map = map(&[(Value::str("b"), 1), (Value::Float(1.0), 2), (Value::Int(1), 3), (Value::str("b"), 4)]);
        assert_eq!(map.keys().cloned().collect::<Vec<_>>(), [Value::Int(1), Value::Float(1.0), Value::str("b")]);
        assert_eq!(map.get_str("b"), Some(&Value::Int(1)));
        assert_eq!(map.insert(Value::str("a"), Value::Nil), None);
        assert_eq!(map.insert(Value::str("b"), Value::Nil), Some(Value::Int(1)));
        assert_eq!(map.remove(&Value::Int(1)), Some(Value::Int(3)));
        assert_eq!(map.remove(&Value::Int(1)), None);
        assert_eq!(map.keys().cloned().collect::<Vec<_>>(), [Value::Float(1.0), Value::str("a"), Value::str("b")]);
    }

    #[test]
    fn lookup_is_flexible_in_the_order_of_the_contract() {
        let both = map(&[(Value::str("age"), 1), (Value::keyword("age"), 2)]);
        assert_eq!(both.lookup("age"), Some(&Value::Int(1)));
        assert_eq!(both.lookup_key(&Value::keyword("age")), Some(&Value::Int(2)));
        assert_eq!(both.lookup_key(&Value::str("age")), Some(&Value::Int(1)));

        let under = map(&[(Value::str("user_id"), 7), (Value::keyword("a_b"), 8)]);
        assert_eq!(under.lookup("user-id"), Some(&Value::Int(7)));
        assert_eq!(under.lookup_key(&Value::keyword("user-id")), Some(&Value::Int(7)));
        assert_eq!(under.lookup("a-b"), Some(&Value::Int(8)));
        assert_eq!(under.lookup_key(&Value::str("a_b")), Some(&Value::Int(8)));

        let dashed = map(&[(Value::keyword("a-b"), 1)]);
        assert_eq!(dashed.lookup("a_b"), None);
        assert_eq!(dashed.lookup("a-b"), Some(&Value::Int(1)));
        assert_eq!(dashed.lookup_key(&Value::Int(1)), None);
        assert_eq!(dashed.lookup("no keyword of this name"), None);
    }
}
