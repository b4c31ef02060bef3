//! Names of fields: the flexible lookup in maps, and the equality of names.
//!
//! In: a declared name and a map. Out: the key of the field. Nothing is interned.

use std::borrow::Cow;

use crate::value::{Keyword, Map, Value};

/// The name with every `-` as `_`: the form of returned maps and of names that providers see.
pub fn underscored(name: &str) -> String {
    name.replace('-', "_")
}

/// True if two names mean the same field: `-` and `_` are interchangeable.
pub(crate) fn same(a: &str, b: &str) -> bool {
    a == b || underscored(a) == underscored(b)
}

/// The value of the declared field `name`: under the exact string key, then with `-` and `_` exchanged, then the same
/// as keywords.
pub(crate) fn find<'a>(map: &'a Map, name: &str) -> Option<&'a Value> {
    let keyword = |spelling: Cow<str>| map.get_keyword(Keyword::known(&spelling)?);
    spellings(name).find_map(|spelling| map.get_str(&spelling)).or_else(|| spellings(name).find_map(keyword))
}

/// The key under which [`find`] finds the field.
pub(super) fn key(map: &Map, name: &str) -> Option<Value> {
    let strings = spellings(name).map(Value::str);
    let keywords = spellings(name).filter_map(|spelling| Keyword::known(&spelling)).map(Value::Keyword);
    strings.chain(keywords).find(|key| map.get(key).is_some())
}

/// The two string keys that would become one in a returned map: that of the field `name`, and its form with underscores.
pub(super) fn both(map: &Map, name: &str) -> Option<String> {
    let returned = name.contains('-').then(|| underscored(name))?;
    let is_both = map.get_str(name).is_some() && map.get_str(&returned).is_some();
    is_both.then(|| format!("{name:?} and {returned:?}"))
}

fn spellings(name: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let others = name.contains(['-', '_']).then(|| [underscored(name), name.replace('_', "-")]);
    std::iter::once(Cow::Borrowed(name)).chain(others.into_iter().flatten().map(Cow::Owned))
}

/// The names of keywords as a pattern of JSON Schema. Letters beyond ASCII are not in it: few services know their classes.
pub(super) const KEYWORD_PATTERN: &str = "^[A-Za-z+*<>=?!_-][A-Za-z0-9+*<>=?!_-]*$";

/// Returns whether a text is a keyword name. It has letters, digits and `+ - * < > = ? ! _`, and does not start with a digit.
pub(super) fn is_keyword_name(text: &str) -> bool {
    let letter = |c: char| c.is_alphabetic() || "+-*<>=?!_".contains(c);
    text.chars().next().is_some_and(letter) && text.chars().all(|c| letter(c) || c.is_numeric())
}
