//! The part of a value that a model may see: map entries whose key starts with `_` are omitted.
//!
//! In: any value, also deep ones and ones with shared parts. Out: a copy of bounded size. Only printed forms are
//! affected: programs and returned values keep everything.

use crate::value::Value;

/// Levels that are copied; deeper ones are omitted.
const LEVELS: usize = 512;
/// Parts that are copied: far more than any text for a model shows.
const PARTS: usize = 20_000;

/// True if the firewall hides this name.
pub fn is_hidden(name: &str) -> bool {
    name.starts_with('_')
}

/// True if the firewall hides the entry with this key.
pub fn hides(key: &Value) -> bool {
    is_hidden(&plain(key))
}

/// A prefix of the value without hidden entries, on every level: as much as any text for a model shows.
pub fn visible(value: &Value) -> Value {
    copy(value, LEVELS, &mut PARTS.clone())
}

/// A complete value from JSON without hidden entries.
pub fn stripped(value: &Value) -> Value {
    copy(value, LEVELS, &mut usize::MAX.clone())
}

fn copy(value: &Value, levels: usize, parts: &mut usize) -> Value {
    if levels == 0 || *parts == 0 {
        return Value::Nil;
    }
    *parts -= 1;
    match value {
        Value::Map(map) => Value::map(
            map.iter()
                .filter(|(key, _)| !hides(key))
                .map(|(key, item)| (key.clone(), copy(item, levels - 1, parts)))
                .collect::<Vec<_>>(),
        ),
        Value::List(items) => Value::list(items.iter().map(|item| copy(item, levels - 1, parts)).collect::<Vec<_>>()),
        Value::Set(items) => Value::set(items.iter().map(|item| copy(item, levels - 1, parts)).collect::<Vec<_>>()),
        _ => value.clone(),
    }
}

/// A key as a name.
fn plain(key: &Value) -> String {
    match key {
        Value::Str(text) => text.to_string(),
        Value::Keyword(word) => word.name().to_owned(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::json;

    #[test]
    fn entries_with_hidden_names_are_omitted_on_every_level() {
        let value = json::parse(r#"{"_id":1,"rows":[{"_key":"x","n":2}],"a_b":3}"#).unwrap().to_value();
        assert_eq!(visible(&value).to_string(), r#"{"a_b" 3 "rows" [{"n" 2}]}"#);
    }

    #[test]
    fn what_is_deep_or_endless_on_paper_stays_small() {
        let mut value = Value::list(vec![Value::Int(1)]);
        for _ in 0..100 {
            value = Value::list(vec![value.clone(), value]);
        }
        assert!(visible(&value).as_list().is_some());
        let mut deep = Value::Nil;
        for _ in 0..100_000 {
            deep = Value::list(vec![deep]);
        }
        assert!(visible(&deep).as_list().is_some());
    }
}
