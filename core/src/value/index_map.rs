//! A hash table that keeps its entries in order of insertion; their key order is computed on demand.
//!
//! Keys must be hashable. The seed of the hashes differs between tables and is not observable.

use std::hash::BuildHasher;
use std::mem::discriminant;
use std::sync::OnceLock;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::Value;
use super::table::is_hashable;
use super::table_iter::Iter;

/// Entries with an index by hash.
#[derive(Clone)]
pub(super) struct IndexMap<V> {
    entries: Vec<(Value, V)>,
    index: HashTable<Slot>,
    seed: DefaultHashBuilder,
    order: OnceLock<Order>,
    only_strings: bool,
}

/// An entry of the index. It contains the hash, so that growing needs no key, and most mismatches are detected without
/// comparing keys.
#[derive(Clone, Copy)]
struct Slot {
    hash: u32,
    entry: u32,
}

impl Slot {
    fn entry(self) -> usize {
        self.entry as usize
    }
}

/// The order of the entries by key.
#[derive(Clone)]
enum Order {
    AsGiven,
    /// Their indexes, in order.
    Indexes(Box<[u32]>),
}

/// Equality of two keys; of integers without a call.
#[inline]
fn is_same(have: &Value, key: &Value) -> bool {
    match (have, key) {
        (Value::Int(have), Value::Int(key)) => have == key,
        _ => have == key,
    }
}

/// Spreads the hash over all bits, as the index requires.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn short(hash: u64) -> u32 {
    (hash >> 32) as u32
}

impl<V> IndexMap<V> {
    /// A table of entries with distinct keys.
    pub(super) fn new(entries: Vec<(Value, V)>) -> Self {
        let mut table = Self::with_capacity(entries.len());
        for (key, value) in entries {
            table.push(table.hash(&key), key, value);
        }
        table
    }

    /// Of equal keys the first wins.
    pub(super) fn from_iter(entries: Vec<(Value, V)>) -> Self {
        let mut table = Self::with_capacity(0);
        table.entries.reserve(entries.len());
        for (key, value) in entries {
            let hash = table.hash(&key);
            if table.find(hash, |have| is_same(have, &key)).is_none() {
                table.push(hash, key, value);
            }
        }
        table
    }

    fn with_capacity(capacity: usize) -> Self {
        Self {
            entries: Vec::with_capacity(capacity),
            index: HashTable::with_capacity(capacity),
            seed: DefaultHashBuilder::default(),
            order: OnceLock::new(),
            only_strings: true,
        }
    }

    #[inline]
    fn hash(&self, key: &Value) -> u32 {
        match key {
            // Most keys are strings.
            Value::Str(text) => self.hash_text(text),
            Value::Int(int) => short(self.seed.hash_one(int)),
            key => short(self.seed.hash_one(key)),
        }
    }

    fn hash_text(&self, text: &str) -> u32 {
        short(self.seed.hash_one(text))
    }

    #[inline]
    fn find(&self, hash: u32, is: impl Fn(&Value) -> bool) -> Option<usize> {
        let slot = self.index.find(spread(hash), |slot| {
            slot.hash == hash && self.entries.get(slot.entry()).is_some_and(|(have, _)| is(have))
        });
        slot.map(|slot| slot.entry())
    }

    #[inline]
    fn index_of(&self, key: &Value) -> Option<usize> {
        self.find(self.hash(key), |have| is_same(have, key))
    }

    fn push(&mut self, hash: u32, key: Value, value: V) -> usize {
        let at = self.entries.len();
        // Memory is exhausted before there are more entries.
        let entry = u32::try_from(at).unwrap_or(u32::MAX);
        self.only_strings &= matches!(key, Value::Str(_));
        self.entries.push((key, value));
        self.index.insert_unique(spread(hash), Slot { hash, entry }, |slot| spread(slot.hash));
        at
    }

    /// The entries in order of insertion.
    pub(super) fn entries(&self) -> &[(Value, V)] {
        &self.entries
    }

    /// The entries in order of insertion; keys must not change.
    pub(super) fn entries_mut(&mut self) -> &mut [(Value, V)] {
        &mut self.entries
    }

    /// The entries in order of insertion.
    pub(super) fn into_entries(self) -> Vec<(Value, V)> {
        self.entries
    }

    /// True if all keys are strings.
    pub(super) fn has_only_strings(&self) -> bool {
        self.only_strings
    }

    /// True if this key can be set here. False for a key that is not hashable, and for a new one once the order is
    /// known: alternating reads and writes would compute the order each time.
    #[inline]
    pub(super) fn takes(&self, key: &Value) -> bool {
        is_hashable(key) && (self.order.get().is_none() || self.index_of(key).is_some())
    }

    /// The index of exactly this key among the entries.
    pub(super) fn position(&self, key: &Value) -> Option<usize> {
        if is_hashable(key) { self.index_of(key) } else { None }
    }

    /// The entry with exactly this key.
    pub(super) fn entry(&self, key: &Value) -> Option<(&Value, &V)> {
        self.entries.get(self.position(key)?).map(|(key, value)| (key, value))
    }

    /// The value under exactly this string.
    pub(super) fn get_str(&self, key: &str) -> Option<&V> {
        let at = self.find(self.hash_text(key), |have| have.as_str() == Some(key))?;
        self.entries.get(at).map(|(_, value)| value)
    }

    /// The value under exactly this key, for writing in place.
    pub(super) fn get_mut(&mut self, key: &Value) -> Option<&mut V> {
        let at = self.position(key)?;
        self.entries.get_mut(at).map(|(_, value)| value)
    }

    /// Sets a key that it [takes](Self::takes); returns the previous value.
    pub(super) fn insert(&mut self, key: Value, value: V) -> Option<V> {
        let hash = self.hash(&key);
        if let Some(at) = self.find(hash, |have| is_same(have, &key)) {
            return self.entries.get_mut(at).map(|(_, have)| std::mem::replace(have, value));
        }
        self.push(hash, key, value);
        None
    }

    /// The slot of a key that it [takes](Self::takes); a default value if it was missing.
    #[inline]
    pub(super) fn slot(&mut self, key: Value) -> &mut V
    where
        V: Default,
    {
        let hash = self.hash(&key);
        let at = self.find(hash, |have| is_same(have, &key)).unwrap_or_else(|| self.push(hash, key, V::default()));
        &mut self.entries[at].1
    }

    /// The same keys with other values.
    pub(super) fn map<W>(self, value: impl Fn(V) -> W) -> IndexMap<W> {
        IndexMap {
            entries: self.entries.into_iter().map(|(key, old)| (key, value(old))).collect(),
            index: self.index,
            seed: self.seed,
            order: self.order,
            only_strings: self.only_strings,
        }
    }

    /// The entries, sorted by key.
    pub(super) fn iter(&self) -> Iter<'_, V> {
        match self.order() {
            Order::AsGiven => Iter::of(&self.entries),
            Order::Indexes(indexes) => Iter::of_indexes(indexes, &self.entries),
        }
    }

    /// The entries by value, sorted by key.
    pub(super) fn into_sorted(self) -> Vec<(Value, V)> {
        self.order();
        match self.order.into_inner() {
            Some(Order::Indexes(indexes)) => {
                let mut entries: Vec<_> = self.entries.into_iter().map(Some).collect();
                indexes.iter().filter_map(|at| entries.get_mut(*at as usize)?.take()).collect()
            }
            _ => self.entries,
        }
    }

    fn order(&self) -> &Order {
        self.order.get_or_init(|| {
            if self.entries.is_sorted_by(|a, b| a.0 < b.0) {
                return Order::AsGiven;
            }
            let kind = self.entries.first().map(|(key, _)| discriminant(key));
            let alike = self.entries.iter().all(|(key, _)| Some(discriminant(key)) == kind);
            let head = |key| if alike { head(key) } else { 0 };
            let keys = (0..).zip(&self.entries).map(|(at, (key, _))| (head(key), at, key));
            let mut keys: Vec<(u64, u32, &Value)> = keys.collect();
            keys.sort_by(|(head, _, key), (other_head, _, other)| head.cmp(other_head).then_with(|| key.cmp(other)));
            Order::Indexes(keys.into_iter().map(|(_, at, _)| at).collect())
        })
    }
}

/// A number that orders most keys of one kind without reading them in memory.
fn head(key: &Value) -> u64 {
    let text = match key {
        Value::Int(int) => return int.cast_unsigned() ^ (1 << 63),
        Value::Str(text) => text.as_bytes(),
        Value::Keyword(word) => word.name().as_bytes(),
        _ => return 0,
    };
    let mut bytes = [0; 8];
    for (byte, given) in bytes.iter_mut().zip(text) {
        *byte = *given;
    }
    u64::from_be_bytes(bytes)
}
