//! The strings of one JSON text: equal short ones share one string in memory.
//!
//! In: keys and texts in order. Out: string values. The number of shared strings is bounded, so that a table of
//! distinct names costs little.

use hashbrown::HashMap;

use crate::value::Value;

/// Maximum number of distinct texts of each kind that are shared.
const MOST: usize = 1_024;
/// Longest text that is shared, in bytes.
const LONGEST: usize = 64;
/// Number of texts of values after which sharing is given up if it has not paid off.
const TRIAL: u32 = 4_096;

/// Strings made so far.
#[derive(Default)]
pub(super) struct SharedTexts<'a> {
    keys: HashMap<&'a str, Value>,
    values: HashMap<&'a str, Value>,
    looked: u32,
    shared: u32,
}

impl<'a> SharedTexts<'a> {
    /// A key of an object.
    pub(super) fn key(&mut self, text: &'a str) -> Value {
        one_of(&mut self.keys, text).0
    }

    /// A text that is not a key: a repeated name of a group or a state, or a unique text.
    pub(super) fn value(&mut self, text: &'a str) -> Value {
        if self.looked >= TRIAL && self.shared < self.looked / 8 {
            return Value::from(text);
        }
        let (value, known) = one_of(&mut self.values, text);
        self.looked = self.looked.saturating_add(1);
        self.shared = self.shared.saturating_add(u32::from(known));
        value
    }
}

/// The string of this text, and whether it existed already.
fn one_of<'a>(known: &mut HashMap<&'a str, Value>, text: &'a str) -> (Value, bool) {
    if text.len() > LONGEST {
        return (Value::from(text), false);
    }
    if let Some(value) = known.get(text) {
        return (value.clone(), true);
    }
    let value = Value::from(text);
    if known.len() < MOST {
        known.insert(text, value.clone());
    }
    (value, false)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn is_one(a: &Value, b: &Value) -> bool {
        matches!((a, b), (Value::Str(a), Value::Str(b)) if Arc::ptr_eq(a, b))
    }

    #[test]
    fn equal_short_texts_are_one_string() {
        let long = "x".repeat(LONGEST + 1);
        let mut texts = SharedTexts::default();
        assert!(is_one(&texts.key("dept"), &texts.key("dept")));
        assert!(is_one(&texts.value("eng"), &texts.value("eng")));
        assert!(!is_one(&texts.value(&long), &texts.value(&long)));
        assert_eq!(texts.value("eng"), Value::str("eng"));
    }

    #[test]
    fn sharing_ends_for_distinct_texts() {
        let names: Vec<String> = (0..10_000).map(|n| format!("name{n}")).collect();
        let mut texts = SharedTexts::default();
        for name in &names {
            assert_eq!(texts.value(name), Value::str(name.as_str()));
        }
        assert!(texts.values.len() <= MOST && texts.looked <= TRIAL);
    }
}
