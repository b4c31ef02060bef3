//! Conversions between values and JSON trees.
//!
//! Both directions stop at [`JSON_DEPTH`] levels: deeper content is replaced by the string [`TOO_DEEP`]. Check
//! [`Value::extent`] first to avoid losing content.

use std::collections::HashMap;

use super::texts::SharedTexts;
use super::{Json, Node};
use crate::limits::JSON_DEPTH;
use crate::value::{Map, Value};

/// The replacement for a container nested deeper than JSON may be.
pub const TOO_DEEP: &str = "…";

impl Json {
    /// Converts to a value: keys become strings, maps are sorted. Equal short texts share one string, which saves
    /// memory in tables and speeds up lookups and grouping.
    pub fn to_value(&self) -> Value {
        self.with_texts(&mut SharedTexts::default())
    }

    fn with_texts<'a>(&'a self, texts: &mut SharedTexts<'a>) -> Value {
        match &self.node {
            Node::Null => Value::Nil,
            Node::Bool(value) => Value::Bool(*value),
            Node::Int(value) => Value::Int(*value),
            Node::Big(value) => Value::integer((**value).clone()),
            Node::Float(value) => Value::Float(*value),
            Node::Str(text) => texts.value(text),
            Node::List(items) => Value::list(items.iter().map(|item| item.with_texts(texts))),
            Node::Object(members) => Value::map(members.iter().map(|member| {
                let key = texts.key(&member.key);
                (key, member.value.with_texts(texts))
            })),
        }
    }

    /// The JSON of `value` with map keys in the order of `shape`, the JSON that the value was made from. A key is
    /// matched to the same key of `shape`, or to the same with `-` and `_` exchanged; all others follow in canonical
    /// order. Items of arrays are matched by index. A `shape` of another type is ignored.
    pub fn in_order_of(value: &Value, shape: &Self) -> Self {
        view(value, Some(shape), 0)
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Node::Bool(value).into()
    }
}

impl From<i64> for Json {
    fn from(number: i64) -> Self {
        Node::Int(number).into()
    }
}

impl From<u64> for Json {
    /// Every number is exact.
    fn from(number: u64) -> Self {
        i64::try_from(number).map_or_else(|_| Node::Big(Box::new(number.into())), Node::Int).into()
    }
}

impl From<i32> for Json {
    fn from(number: i32) -> Self {
        i64::from(number).into()
    }
}

impl From<u32> for Json {
    fn from(number: u32) -> Self {
        u64::from(number).into()
    }
}

impl From<usize> for Json {
    fn from(number: usize) -> Self {
        (number as u64).into()
    }
}

impl From<f64> for Json {
    /// Infinities and NaN become strings, as in the JSON of a value.
    fn from(number: f64) -> Self {
        float(number).into()
    }
}

impl From<&Value> for Json {
    /// The JSON of a value (boundary conversion): keywords become strings, sets arrays, times ISO strings, special
    /// floats the strings "Infinity", "-Infinity" and "NaN". Keys that are not names become readable text; of keys that
    /// become equal, a string key wins, then the first in canonical order.
    fn from(value: &Value) -> Self {
        view(value, None, 0)
    }
}

fn view(value: &Value, shape: Option<&Json>, depth: u64) -> Json {
    let nested = matches!(value, Value::List(_) | Value::Set(_) | Value::Map(_));
    let depth = depth + u64::from(nested);
    if depth > JSON_DEPTH.max {
        return Json::str(TOO_DEEP);
    }
    let node = match value {
        Value::Nil => Node::Null,
        Value::Bool(value) => Node::Bool(*value),
        Value::Int(value) => Node::Int(*value),
        Value::Big(value) => Node::Big(Box::new((**value).clone())),
        Value::Float(value) => float(*value),
        Value::Keyword(word) => Node::Str(word.name().to_owned()),
        Value::Str(text) => Node::Str(text.to_string()),
        Value::List(items) => {
            let shapes = shape.and_then(Json::items).unwrap_or_default();
            Node::List(items.iter().enumerate().map(|(index, item)| view(item, shapes.get(index), depth)).collect())
        }
        Value::Set(members) => Node::List(members.iter().map(|member| view(member, None, depth)).collect()),
        Value::Map(map) => return object(map, shape, depth),
        Value::Instant(at) => Node::Str(at.to_string()),
        Value::Date(day) => Node::Str(day.to_string()),
        Value::Duration(_) | Value::Function(_) | Value::Regex(_) | Value::Var(_) | Value::Symbol(_) => {
            Node::Str(value.to_string())
        }
    };
    node.into()
}

fn float(value: f64) -> Node {
    if value.is_nan() {
        Node::Str("NaN".to_owned())
    } else if value.is_infinite() {
        Node::Str(if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned())
    } else {
        Node::Float(value)
    }
}

fn object(map: &Map, shape: Option<&Json>, depth: u64) -> Json {
    let mut entries: Vec<(String, &Value)> = map
        .iter()
        .map(|(key, value)| (key, key_text(key), value))
        .filter(|(key, text, _)| matches!(key, Value::Str(_)) || map.get_str(text).is_none())
        .map(|(_, text, value)| (text, value))
        .collect();
    let Some(members) = shape.and_then(Json::members) else {
        return Json::object(entries.into_iter().map(|(key, value)| (key, view(value, None, depth))));
    };
    let exact: HashMap<&str, usize> =
        members.iter().enumerate().map(|(index, member)| (member.key.as_str(), index)).collect();
    let loose: HashMap<String, usize> =
        members.iter().enumerate().rev().map(|(index, member)| (underscored(&member.key), index)).collect();
    let index = |key: &str| exact.get(key).or_else(|| loose.get(&underscored(key))).copied();
    entries.sort_by_cached_key(|(key, _)| index(key).unwrap_or(usize::MAX));
    Json::object(entries.into_iter().map(|(key, value)| {
        let shape = index(&key).and_then(|index| members.get(index)).map(|member| &member.value);
        (key, view(value, shape, depth))
    }))
}

fn underscored(key: &str) -> String {
    key.replace('-', "_")
}

fn key_text(key: &Value) -> String {
    match key {
        Value::Str(text) => text.to_string(),
        Value::Keyword(word) => word.name().to_owned(),
        Value::Instant(at) => at.to_string(),
        Value::Date(day) => day.to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::json::parse;

    fn ordered(value: &Value, shape: &str) -> String {
        Json::in_order_of(value, &parse(shape).unwrap_or_default()).to_text()
    }

    #[test]
    fn keys_keep_the_order_of_the_shape_and_new_ones_follow_sorted() {
        let inner = Value::record([("y", Value::Int(1)), ("x", Value::Int(2))]);
        let value = Value::map([
            (Value::str("b"), Value::Int(1)),
            (Value::keyword("user-id"), Value::Int(2)),
            (Value::str("a"), Value::list([inner.clone(), inner])),
            (Value::str("c"), Value::Int(4)),
        ]);
        assert_eq!(
            ordered(&value, r#"{"zz":0,"user_id":2,"b":1,"a":[{"y":1,"x":2}]}"#),
            r#"{"user-id":2,"b":1,"a":[{"y":1,"x":2},{"x":2,"y":1}],"c":4}"#
        );
        assert_eq!(ordered(&value, "[1]"), r#"{"user-id":2,"a":[{"x":2,"y":1},{"x":2,"y":1}],"b":1,"c":4}"#);
    }

    #[test]
    fn numbers_lose_nothing() {
        let json =
            [u64::MAX.into(), Json::from(i64::MAX as u64), i64::MIN.into(), 7_u32.into(), 0.5.into(), f64::NAN.into()];
        let text = r#"[18446744073709551615,9223372036854775807,-9223372036854775808,7,0.5,"NaN"]"#;
        assert_eq!(Json::list(json.clone()).to_text(), text);
        assert_eq!(parse(text).unwrap(), Json::list(json));
    }

    #[test]
    fn an_exact_key_comes_before_one_with_exchanged_dashes() {
        let value = Value::record([("a-b", Value::Int(1)), ("a_b", Value::Int(2))]);
        assert_eq!(ordered(&value, r#"{"a_b":0,"a-b":0}"#), r#"{"a_b":2,"a-b":1}"#);
    }

    #[test]
    fn of_two_keys_that_become_one_the_string_wins() {
        let value = Value::map([
            (Value::keyword("age"), Value::Int(1)),
            (Value::str("age"), Value::Int(2)),
            (Value::Int(7), Value::Nil),
        ]);
        assert_eq!(Json::from(&value).to_text(), r#"{"7":null,"age":2}"#);
    }
}
