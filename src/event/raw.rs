//! JSON data inside events: kept as text so that key order and every digit survive. Escapes that files need for characters that a terminal
//! could act on are undone, so that equal data has equal text.

use ptc_core::value::{Json, Value, json};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::escapes::unescape_json;

/// A JSON value as text. Equality is equality of the text.
#[derive(Clone, PartialEq, Eq)]
pub struct JsonText(Box<str>);

impl JsonText {
    /// The compact text of a tree.
    pub fn of(json: &Json) -> Self {
        Self(json.to_text().into())
    }

    /// Serializes data; null where that fails.
    pub fn of_data(data: &impl Serialize) -> Self {
        serde_json::to_string(data).map(|text| Self(text.into())).unwrap_or_default()
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The tree. Text that came in through serde is JSON; nested deeper than the reader allows it reads as null.
    pub fn json(&self) -> Json {
        json::parse(&self.0).unwrap_or_default()
    }

    /// The value.
    pub fn value(&self) -> Value {
        self.json().to_value()
    }
}

impl std::fmt::Debug for JsonText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Default for JsonText {
    fn default() -> Self {
        Self("null".into())
    }
}

impl Serialize for JsonText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.0.to_string()).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(|raw| Self(unescape_json(raw.get()).into()))
    }
}

#[cfg(test)]
impl schemars::JsonSchema for JsonText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "JsonText".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        true.into()
    }
}

/// Reads a field that is there, null included: `null` is a value, a missing field is none.
pub(super) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<JsonText>, D::Error> {
    JsonText::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_serde_writes_is_data_too() {
        let data = std::collections::BTreeMap::from([("a", vec![Some(u64::MAX), None])]);
        assert_eq!(JsonText::of_data(&data).json().to_text(), r#"{"a":[18446744073709551615,null]}"#);
        assert_eq!(JsonText::of_data(&std::collections::BTreeMap::from([(vec![1], 1)])).as_str(), "null");
    }

    #[test]
    fn order_and_digits_survive() {
        let text = r#"{"b":123456789012345678901234567890,"a":1.10}"#;
        let read: JsonText = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        assert_eq!(read.json().to_text(), r#"{"b":123456789012345678901234567890,"a":1.1}"#);
    }
}
