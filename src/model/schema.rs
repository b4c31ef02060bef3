//! Schemas in the forms that services demand. Parts that a form cannot express are not sent in it.
//!
//! In: a JSON Schema from a signature, a developer or a server. Out: the same in another form, or `None` when that form cannot express it.
//! Schemas come from the JSON reader or from a signature, so their depth is bounded.

use ptc_core::value::Json;
use ptc_core::value::json::Node;

use super::dialect::SchemaForm;

/// Words that strict schemas may hold.
const STRICT: [&str; 13] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "anyOf",
    "description",
    "format",
    "pattern",
    "title",
    "$schema",
];
/// Formats that strict schemas may name.
const STRICT_FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];
/// Words that strict schemas may hold next to `anyOf`.
const ANNOTATIONS: [&str; 3] = ["description", "title", "$schema"];

/// The schema in a form.
pub(super) fn written(schema: &Json, form: SchemaForm) -> Json {
    let other = match form {
        SchemaForm::Plain => None,
        SchemaForm::Strict => strict(schema),
        SchemaForm::OpenApi => open_api(schema),
    };
    other.unwrap_or_else(|| schema.clone())
}

/// Returns whether the schema is strict: every object lists all its properties as required and forbids others.
pub(super) fn is_strict(schema: &Json) -> bool {
    schema.get("type").and_then(Json::as_str) == Some("object") && strict(schema).as_ref() == Some(schema)
}

/// Every property required, optional ones as null, no others allowed, no defaults; `None` when a part does not describe its values.
pub(super) fn strict(schema: &Json) -> Option<Json> {
    schema.members()?;
    let schema = &schema.clone().without("default");
    let members = schema.members().filter(|members| !members.is_empty())?;
    let are_all = |words: &[&str]| members.iter().all(|member| words.contains(&member.key.as_str()));
    let has_format = |format: &Json| format.as_str().is_some_and(|name| STRICT_FORMATS.contains(&name));
    if !are_all(&STRICT) || !schema.get("format").is_none_or(has_format) {
        return None;
    }
    if let Some(arms) = schema.get("anyOf") {
        if !are_all(&[&ANNOTATIONS[..], &["anyOf"]].concat()) {
            return None;
        }
        let arms = arms.items().filter(|arms| !arms.is_empty())?.iter().map(strict).collect::<Option<Vec<_>>>()?;
        return Some(schema.clone().with("anyOf", Json::list(arms)));
    }
    let names = types(schema);
    if names.is_empty() && schema.get("enum").is_none() && schema.get("const").is_none() {
        return None;
    }
    let mut strict_schema = schema.clone();
    if names.contains(&"object") {
        if !matches!(schema.get("additionalProperties").map(|more| &more.node), None | Some(Node::Bool(false))) {
            return None;
        }
        let properties = schema.get("properties").and_then(Json::members)?;
        let required = required(schema);
        if required.iter().any(|name| properties.iter().all(|property| property.key != *name)) {
            return None;
        }
        let kept = properties.iter().map(|property| {
            let inner = strict(&property.value)?;
            Some((
                property.key.clone(),
                if required.contains(&property.key.as_str()) { inner } else { nullable(&inner) },
            ))
        });
        let kept = kept.collect::<Option<Vec<_>>>()?;
        let all = Json::list(kept.iter().map(|(key, _)| Json::str(key.as_str())));
        if kept.iter().any(|(key, _)| !required.contains(&key.as_str())) || schema.get("required").is_none() {
            strict_schema = strict_schema.with("required", all);
        }
        let properties = Json::object(kept);
        strict_schema = strict_schema.with("properties", properties).with("additionalProperties", false.into());
    }
    if names.contains(&"array") {
        strict_schema = strict_schema.with("items", strict(schema.get("items")?)?);
    }
    Some(strict_schema)
}

/// A value without the members that are null and optional in its schema; `None` when there are none.
pub(super) fn filled_members(schema: &Json, value: &Json) -> Option<Json> {
    match &value.node {
        Node::List(items) => {
            let inner = schema.get("items")?;
            let filled: Vec<Option<Json>> = items.iter().map(|item| filled_members(inner, item)).collect();
            let is_changed = filled.iter().any(Option::is_some);
            let all = filled.into_iter().zip(items).map(|(filled, item)| filled.unwrap_or_else(|| item.clone()));
            is_changed.then(|| Json::list(all.collect::<Vec<_>>()))
        }
        Node::Object(members) => {
            let (properties, required) = (schema.get("properties")?, required(schema));
            let (mut kept, mut is_changed) = (Vec::new(), false);
            for member in members {
                let inner = properties.get(&member.key);
                if member.value.node == Node::Null && inner.is_some() && !required.contains(&member.key.as_str()) {
                    is_changed = true;
                    continue;
                }
                let filled = inner.and_then(|inner| filled_members(inner, &member.value));
                is_changed |= filled.is_some();
                kept.push((member.key.clone(), filled.unwrap_or_else(|| member.value.clone())));
            }
            is_changed.then(|| Json::object(kept))
        }
        _ => None,
    }
}

/// The subset of `OpenAPI` 3.0: one type per value, with `nullable`, enums of strings only, nothing about other properties.
pub(super) fn open_api(schema: &Json) -> Option<Json> {
    const KNOWN: [&str; 16] = [
        "type",
        "properties",
        "required",
        "items",
        "enum",
        "anyOf",
        "description",
        "format",
        "pattern",
        "title",
        "minItems",
        "maxItems",
        "minimum",
        "maximum",
        "nullable",
        "additionalProperties",
    ];
    let members = schema.members()?;
    if !members.iter().all(|member| KNOWN.contains(&member.key.as_str())) {
        return None;
    }
    let mut out: Vec<(String, Json)> = Vec::new();
    let all = types(schema);
    let names: Vec<&str> = all.iter().copied().filter(|name| *name != "null").collect();
    let mut is_nullable = all.len() > names.len();
    for member in members {
        let value = match member.key.as_str() {
            "type" => Json::str(*names.first().filter(|_| names.len() == 1)?),
            "additionalProperties" if member.value.node == Node::Bool(false) => continue,
            "additionalProperties" => return None,
            "properties" => {
                let inner =
                    member.value.members()?.iter().map(|inner| Some((inner.key.clone(), open_api(&inner.value)?)));
                Json::object(inner.collect::<Option<Vec<_>>>()?)
            }
            "items" => open_api(&member.value)?,
            "anyOf" => {
                let arms = member.value.items()?;
                let is_null = |arm: &&Json| arm.get("type").and_then(Json::as_str) == Some("null");
                is_nullable |= arms.iter().any(|arm| is_null(&arm));
                Json::list(arms.iter().filter(|arm| !is_null(arm)).map(open_api).collect::<Option<Vec<_>>>()?)
            }
            "enum" => {
                let items = member.value.items()?;
                is_nullable |= items.iter().any(|item| item.node == Node::Null);
                let words: Vec<Json> = items.iter().filter(|item| item.node != Node::Null).cloned().collect();
                if words.iter().any(|word| word.as_str().is_none()) {
                    return None;
                }
                Json::list(words)
            }
            _ => member.value.clone(),
        };
        out.push((member.key.clone(), value));
    }
    if is_nullable && schema.get("nullable").is_none() {
        out.push(("nullable".to_owned(), true.into()));
    }
    Some(Json::object(out))
}

/// Every object without other properties, as services that enforce a schema want it. Optional properties stay optional.
pub(super) fn closed(schema: &Json) -> Json {
    match &schema.node {
        Node::List(items) => Json::list(items.iter().map(closed)),
        Node::Object(_) => {
            let is_object = types(schema).contains(&"object") && schema.get("properties").is_some();
            let inner = schema.map_members(|key, value| match key {
                "enum" | "const" | "default" => value.clone(),
                _ => closed(value),
            });
            let is_open = is_object && schema.get("additionalProperties").is_none();
            if is_open { inner.with("additionalProperties", false.into()) } else { inner }
        }
        _ => schema.clone(),
    }
}

fn types(schema: &Json) -> Vec<&str> {
    match schema.get("type") {
        Some(found) => found.as_str().map_or_else(
            || found.items().unwrap_or_default().iter().filter_map(Json::as_str).collect(),
            |name| vec![name],
        ),
        None => Vec::new(),
    }
}

fn required(schema: &Json) -> Vec<&str> {
    schema.get("required").and_then(Json::items).unwrap_or_default().iter().filter_map(Json::as_str).collect()
}

/// The schema that allows null as well.
fn nullable(schema: &Json) -> Json {
    let null = || Json::empty().with("type", Json::str("null"));
    if let Some(arms) = schema.get("anyOf").and_then(Json::items) {
        if arms.iter().any(|arm| types(arm).contains(&"null")) {
            return schema.clone();
        }
        return schema.clone().with("anyOf", Json::list(arms.iter().cloned().chain([null()])));
    }
    let names = types(schema);
    if names.contains(&"null") {
        return schema.clone();
    }
    if names.is_empty() || schema.get("const").is_some() {
        return Json::empty().with("anyOf", Json::list([schema.clone(), null()]));
    }
    let names = Json::list(names.into_iter().chain(["null"]).map(Json::str));
    let typed = schema.clone().with("type", names);
    match schema.get("enum").and_then(Json::items) {
        Some(values) => typed.with("enum", Json::list(values.iter().cloned().chain([Json::default()]))),
        None => typed,
    }
}

#[cfg(test)]
mod tests {
    use ptc_core::value::json;

    use super::*;

    #[test]
    fn strict_is_for_complete_schemas() {
        let cases = [
            (
                r#"{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}"#,
                true,
            ),
            (
                r#"{"type":"object","properties":{"a":{"type":"string"}},"required":[],"additionalProperties":false}"#,
                false,
            ),
            (r#"{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}"#, false),
            (r#"{"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":false}"#, false),
            (
                r#"{"type":"object","properties":{"a":{"type":["integer","null"]}},"required":["a"],"additionalProperties":false}"#,
                true,
            ),
            (
                r#"{"type":"object","properties":{"a":{"type":"array"}},"required":["a"],"additionalProperties":false}"#,
                false,
            ),
            (
                r#"{"type":"object","properties":{"a":{"type":"array","items":{"enum":["x"]}}},"required":["a"],"additionalProperties":false}"#,
                true,
            ),
            (
                r#"{"type":"object","properties":{"a":{"type":"object"}},"required":["a"],"additionalProperties":false}"#,
                false,
            ),
            (
                r#"{"type":"object","properties":{"a":{"type":"string","minLength":2}},"required":["a"],"additionalProperties":false}"#,
                false,
            ),
            (r#"{"type":"array","items":{"type":"string"}}"#, false),
            (r"{}", false),
            (
                r#"{"type":"object","properties":{"a":{"type":"string","format":"date"}},"required":["a"],"additionalProperties":false}"#,
                true,
            ),
            (
                r#"{"type":"object","properties":{"a":{"type":"string","format":"uri"}},"required":["a"],"additionalProperties":false}"#,
                false,
            ),
            (
                r#"{"type":"object","properties":{"a":{"type":"string"}},"required":["a","b"],"additionalProperties":false}"#,
                false,
            ),
            (
                r#"{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}]}"#,
                false,
            ),
            (
                r#"{"type":"object","properties":{"a":{"type":"string","default":"x"}},"required":["a"],"additionalProperties":false}"#,
                false,
            ),
        ];
        for (schema, expected) in cases {
            assert_eq!(is_strict(&json::parse(schema).unwrap()), expected, "{schema}");
        }
    }

    #[test]
    fn a_schema_is_written_in_the_form_that_a_service_wants() {
        let schema = r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string","enum":["x"]},"c":{"type":["number","null"]}},"required":["a"],"additionalProperties":false}"#;
        let schema = json::parse(schema).unwrap();
        let cases = [
            (SchemaForm::Plain, schema.to_text()),
            (
                SchemaForm::Strict,
                r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":["string","null"],"enum":["x",null]},"c":{"type":["number","null"]}},"required":["a","b","c"],"additionalProperties":false}"#.into(),
            ),
            (
                SchemaForm::OpenApi,
                r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string","enum":["x"]},"c":{"type":"number","nullable":true}},"required":["a"]}"#.into(),
            ),
        ];
        for (form, expected) in cases {
            assert_eq!(written(&schema, form).to_text(), expected);
        }
    }

    #[test]
    fn the_strict_form_has_no_defaults() {
        let schema = r#"{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null,"title":"A"},"default":{"type":"integer"}},"required":["default"]}"#;
        let expected = r#"{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}],"title":"A"},"default":{"type":"integer"}},"required":["a","default"],"additionalProperties":false}"#;
        let strict = written(&json::parse(schema).unwrap(), SchemaForm::Strict);
        assert!(is_strict(&strict));
        assert_eq!(strict.to_text(), expected);
    }

    #[test]
    fn a_schema_that_a_form_cannot_express_is_sent_unchanged() {
        for schema in [
            r#"{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"required":["a"]},{"type":"object"}]}"#,
            r#"{"type":"object","additionalProperties":{"type":"integer"}}"#,
            r#"{"type":"integer","enum":[1,2],"multipleOf":1}"#,
            "{\"$ref\":\"#/$defs/a\"}",
        ] {
            let schema = json::parse(schema).unwrap();
            for form in [SchemaForm::Strict, SchemaForm::OpenApi] {
                assert_eq!(written(&schema, form), schema);
            }
        }
    }

    #[test]
    fn a_null_is_absent_where_the_schema_lets_the_member_be_absent() {
        let schema = json::parse(
            r#"{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"type":"string"},"c":{"type":"array","items":{"type":"object","properties":{"d":{"type":"integer"}}}},"e":{"type":"object"}},"required":["a"]}"#,
        )
        .unwrap();
        let cases = [
            (r#"{"a":null,"b":null}"#, Some(r#"{"a":null}"#)),
            (r#"{"a":"x","c":[{"d":null},{"d":1}]}"#, Some(r#"{"a":"x","c":[{},{"d":1}]}"#)),
            (r#"{"a":"x","b":"y"}"#, None),
            // What the schema does not describe is data.
            (r#"{"a":"x","e":{"f":null},"g":null}"#, None),
            ("[null]", None),
        ];
        for (value, expected) in cases {
            let filled = filled_members(&schema, &json::parse(value).unwrap()).map(|filled| filled.to_text());
            assert_eq!(filled.as_deref(), expected, "{value}");
        }
    }

    #[test]
    fn closing_a_schema_leaves_data_alone() {
        let schema = json::parse(
            r#"{"type":"array","items":{"type":"object","properties":{"a":{"const":{"type":"object","properties":{}}}}}}"#,
        );
        let expected = r#"{"type":"array","items":{"type":"object","properties":{"a":{"const":{"type":"object","properties":{}}}},"additionalProperties":false}}"#;
        assert_eq!(closed(&schema.unwrap()).to_text(), expected);
    }
}
