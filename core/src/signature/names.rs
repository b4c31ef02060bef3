//! Names of fields: the flexible lookup in maps, and which names count as the same.
//!
//! In: a declared name and a map. Out: the key it is found under. Only declared names are interned, never keys of data.

use crate::value::{Keyword, Map, Value};

/// The name with every `-` as `_`: the form of returned maps and of names that providers see.
pub fn underscored(name: &str) -> String {
    name.replace('-', "_")
}

/// Do two names mean the same field? `-` and `_` are interchangeable.
pub(super) fn same(a: &str, b: &str) -> bool {
    a == b || underscored(a) == underscored(b)
}

/// The key and value of the declared field `name`: the exact string key, then with `-` and `_` exchanged,
/// then the same as keywords (signature contract §3).
pub(super) fn find<'a>(map: &'a Map, name: &str) -> Option<(Value, &'a Value)> {
    let spellings = [name.to_owned(), underscored(name), name.replace('_', "-")];
    let strings = spellings.iter().map(|spelling| Value::str(spelling.as_str()));
    let keywords = spellings.iter().map(|spelling| Value::Keyword(Keyword::intern(spelling)));
    strings.chain(keywords).find_map(|key| map.get(&key).map(|value| (key, value)))
}

/// Can this text be the name of a keyword? Letters, digits and `+ - * < > = ? ! _` (language contract §3), not starting with a digit.
pub(super) fn is_keyword_name(text: &str) -> bool {
    let letter = |c: char| c.is_alphabetic() || "+-*<>=?!_".contains(c);
    text.chars().next().is_some_and(letter) && text.chars().all(|c| letter(c) || c.is_numeric())
}
