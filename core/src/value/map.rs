//! Maps: entries in canonical key order, looked up by binary search; of equal keys the first given wins.

use super::Value;

/// A map in canonical (strict) key order.
#[derive(Debug, Clone, Default)]
pub struct Map {
    entries: Vec<(Value, Value)>,
}

impl Map {
    /// The entries, sorted by key.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&Value, &Value)> + ExactSizeIterator {
        self.entries.iter().map(|(key, value)| (key, value))
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
        self.find(key).ok().map(|at| &self.entries[at].1)
    }

    /// The value under exactly this string key.
    pub fn get_str(&self, key: &str) -> Option<&Value> {
        self.get(&Value::str(key))
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

    fn find(&self, key: &Value) -> Result<usize, usize> {
        self.entries.binary_search_by(|(have, _)| have.cmp(key))
    }
}

impl FromIterator<(Value, Value)> for Map {
    fn from_iter<I: IntoIterator<Item = (Value, Value)>>(entries: I) -> Self {
        let mut entries: Vec<_> = entries.into_iter().collect();
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        entries.dedup_by(|later, first| later.0 == first.0);
        Self { entries }
    }
}
