//! Schemas in the `OpenAPI` form of Gemini as JSON Schema.
//!
//! In: a schema as a client sent it, in either form. Out: JSON Schema. The clients write types in capitals, `nullable` instead of the type
//! `null`, some names with underscores and some numbers as texts. A schema that is JSON Schema already stays as it is.

use ptc_core::value::Json;

use super::is_true;

/// The names that some clients write with underscores, and how JSON Schema writes them.
const NAMES: [(&str, &str); 10] = [
    ("any_of", "anyOf"),
    ("additional_properties", "additionalProperties"),
    ("min_items", "minItems"),
    ("max_items", "maxItems"),
    ("min_length", "minLength"),
    ("max_length", "maxLength"),
    ("min_properties", "minProperties"),
    ("max_properties", "maxProperties"),
    ("defs", "$defs"),
    ("ref", "$ref"),
];

/// Returns the schema as JSON Schema.
pub(super) fn json_schema(schema: &Json) -> Json {
    let Some(members) = schema.members() else { return schema.clone() };
    let is_nullable = is_true(schema, "nullable");
    let written = members.iter().filter_map(|member| {
        let key = member.key.as_str();
        let name = NAMES.iter().find(|(snake, _)| *snake == key).map_or(key, |(_, camel)| camel);
        let value = &member.value;
        let value = match name {
            // The order of properties has no word in JSON Schema.
            "nullable" | "propertyOrdering" | "property_ordering" => return None,
            "type" => type_of(value, is_nullable),
            "enum" if is_nullable => with_null(value),
            "properties" | "$defs" => value.map_members(|_, schema| json_schema(schema)),
            "items" | "additionalProperties" => json_schema(value),
            "anyOf" => match value.items() {
                Some(items) => Json::list(items.iter().map(json_schema)),
                None => value.clone(),
            },
            "minItems" | "maxItems" | "minLength" | "maxLength" | "minProperties" | "maxProperties" => number(value),
            _ => value.clone(),
        };
        Some((name.to_owned(), value))
    });
    Json::object(written)
}

/// A type in small letters, with `null` next to it where that is allowed.
fn type_of(value: &Json, is_nullable: bool) -> Json {
    let Some(name) = value.as_str() else { return value.clone() };
    let name = Json::str(name.to_ascii_lowercase());
    if is_nullable { Json::list([name, Json::str("null")]) } else { name }
}

fn with_null(values: &Json) -> Json {
    Json::list(values.items().unwrap_or_default().iter().cloned().chain([Json::default()]))
}

/// A number that was written as a text.
fn number(value: &Json) -> Json {
    let read = value.as_str().and_then(|text| text.parse::<u64>().ok());
    read.map_or_else(|| value.clone(), Json::from)
}

#[cfg(test)]
mod tests {
    use ptc_core::value::json;

    use super::*;

    fn converted(text: &str) -> String {
        json_schema(&json::parse(text).unwrap()).to_text()
    }

    #[test]
    fn the_form_of_the_service_becomes_json_schema() {
        let schema = r#"{"type":"OBJECT","property_ordering":["type"],"properties":{"type":{"type":"STRING","nullable":true,"enum":["a"]},
            "list":{"type":"ARRAY","min_items":"1","items":{"any_of":[{"type":"INTEGER"},{"type":"NUMBER"}]}}}}"#;
        assert_eq!(
            converted(schema),
            r#"{"type":"object","properties":{"type":{"type":["string","null"],"enum":["a",null]},"list":{"type":"array","minItems":1,"items":{"anyOf":[{"type":"integer"},{"type":"number"}]}}}}"#
        );
    }

    #[test]
    fn json_schema_stays_as_it_is() {
        let schema = r##"{"type":["object","null"],"properties":{"nullable":{"$ref":"#/$defs/a"}},"$defs":{"a":{"const":"A"}},"required":["nullable"],"additionalProperties":false}"##;
        assert_eq!(converted(schema), schema);
    }
}
