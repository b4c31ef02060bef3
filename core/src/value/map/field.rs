//! One field of many similar maps: rows of a table have their keys at the same indexes, and share them.
//!
//! In: a keyword, and maps to look it up in. Out: its values, looked up flexibly. The cached position may be wrong for
//! the next map and is always verified.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use super::Map;
use crate::value::{Keyword, Value};

/// A keyword, with the index and the string key where it was last found.
pub(crate) struct Field {
    word: Keyword,
    near: AtomicU32,
    /// A string of the keyword's name that is a key in some map.
    key: OnceLock<Arc<Box<str>>>,
}

impl Field {
    /// The field of this name.
    pub(crate) fn new(word: Keyword) -> Self {
        Self { word, near: AtomicU32::new(0), key: OnceLock::new() }
    }

    /// The value under the keyword, as in [`Map::lookup_key`].
    #[inline]
    pub(crate) fn of<'m>(&self, map: &'m Map) -> Option<&'m Value> {
        let Some(entries) = map.0.small() else { return map.lookup_key(&Value::Keyword(self.word)) };
        match entries.get(self.near.load(Ordering::Relaxed) as usize) {
            Some((Value::Keyword(have), value)) if *have == self.word => Some(value),
            Some((Value::Str(have), value)) if self.is_key(have) && has_only_strings(entries) => Some(value),
            _ => self.search(map, entries),
        }
    }

    #[inline]
    fn is_key(&self, have: &Arc<Box<str>>) -> bool {
        self.key.get().is_some_and(|key| Arc::ptr_eq(key, have))
    }

    #[inline(never)]
    fn search<'m>(&self, map: &'m Map, entries: &'m [(Value, Value)]) -> Option<&'m Value> {
        let name = self.word.name();
        let has_name = |have: &Value| matches!(have, Value::Str(have) if ***have == *name);
        let near = self.near.load(Ordering::Relaxed) as usize;
        let found = match entries.get(near) {
            Some((have, _)) if has_name(have) && has_only_strings(entries) => Some(near),
            _ => entries
                .iter()
                .position(|(have, _)| matches!(have, Value::Keyword(have) if *have == self.word))
                .or_else(|| entries.iter().position(|(have, _)| has_name(have))),
        };
        let Some(at) = found else {
            return if name.contains('-') { map.lookup(name) } else { None };
        };
        self.near.store(u32::try_from(at).unwrap_or(0), Ordering::Relaxed);
        let (key, value) = entries.get(at)?;
        if let Value::Str(key) = key {
            self.key.get_or_init(|| Arc::clone(key));
        }
        Some(value)
    }
}

/// A string matches only if no keyword does. Strings are the last kind in the order.
#[inline]
fn has_only_strings(entries: &[(Value, Value)]) -> bool {
    matches!(entries.first(), Some((Value::Str(_), _)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_finds_what_a_lookup_finds_whatever_it_was_asked_before() {
        let keys = [Value::str("a"), Value::str("b-c"), Value::str("b_c"), Value::keyword("a"), Value::keyword("b_c")];
        let words = ["a", "b-c", "b_c", "d"].map(Keyword::intern);
        let maps: Vec<Map> = (0..32_usize)
            .map(|some| {
                let kept = keys.iter().enumerate().filter(|(at, _)| some & (1 << at) != 0);
                kept.map(|(at, key)| (key.clone(), Value::Int(i64::try_from(at).unwrap_or(0)))).collect()
            })
            .collect();
        let apart = |map: &Map| {
            map.iter().filter_map(|(key, value)| Some((Value::str(key.as_str()?), value.clone()))).collect()
        };
        let apart: Vec<Map> = maps.iter().map(apart).collect();
        let large: Map =
            (0..40).map(|n| (Value::Int(n), Value::Nil)).chain([(Value::str("a"), Value::Int(9))]).collect();
        for word in words {
            let field = Field::new(word);
            for map in maps.iter().zip(&apart).flat_map(|(one, two)| [one, two, one, &large, two]) {
                assert_eq!(field.of(map), map.lookup_key(&Value::Keyword(word)), "{word:?} {map:?}");
            }
        }
    }
}
