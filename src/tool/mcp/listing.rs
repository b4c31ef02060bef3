//! A tool as its server lists it, converted: a valid name, a signature, and the schema parts that it cannot express.
//!
//! In: the server's JSON Schemas. Out: a parseable signature with valid names, and the mapping of arguments back to the
//! server's names.

use ptc_core::signature::{Field, Signature, Type, json_schema, parse};
use ptc_core::value::json::to_json;
use ptc_core::value::{Json, Value};
use rmcp::model::{JsonObject, Tool};
use serde::{Deserialize, Serialize};

use super::reduce::{field_name, reduce_schema};
use crate::model::Scrub;
use crate::tool::provider_name;

/// Maximum bytes of a description.
const DESCRIPTION_BYTES: usize = 4_000;

/// A tool of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// Its name on the server.
    pub name: String,
    /// The server's description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its signature.
    pub signature: String,
    /// Paths of its schemas that the signature does not express, with the keyword; the server checks them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
}

impl Listing {
    /// Returns whether this name refers to the tool.
    pub fn is_named(&self, name: &str) -> bool {
        is_same_name(&self.name, name)
    }

    /// Removes secrets from everything but the name, which is needed for calls.
    pub(super) fn without_secrets(self, scrub: &Scrub) -> Self {
        let description = self.description.map(|text| scrub.text(&text));
        let lost = self.lost.iter().map(|text| scrub.text(text)).collect();
        Self { description, signature: scrub.text(&self.signature), lost, ..self }
    }

    /// Converts a listed tool.
    pub(super) fn of(tool: &Tool) -> Self {
        let mut lost = Vec::new();
        let input = schema(&tool.input_schema);
        let params = match type_of(&input, "arguments", &mut lost) {
            Type::Record { fields, .. } => fields,
            _ => Vec::new(),
        };
        let output = tool.output_schema.as_ref().map(|output| type_of(&schema(output), "result", &mut lost));
        let signature = Signature { params: Some(params), output: Some(output.unwrap_or(Type::String)) };
        let text = signature.render();
        let text = if parse(&text).is_ok() {
            text
        } else {
            lost.push("arguments: they cannot be written as a signature".to_owned());
            format!("(arguments :map?) -> {}", if tool.output_schema.is_some() { ":any" } else { ":string" })
        };
        let description = tool.description.as_ref().map(|text| {
            let end = text.floor_char_boundary(DESCRIPTION_BYTES);
            text[..end].trim().to_owned()
        });
        Self { name: tool.name.to_string(), description, signature: text, lost }
    }
}

/// Renames the arguments of a call to the server's names. Absent optional arguments are not sent.
pub(super) fn arguments(tool: &Tool, args: &Value) -> JsonObject {
    let properties = tool.input_schema.get("properties").and_then(serde_json::Value::as_object);
    let required = tool.input_schema.get("required").and_then(serde_json::Value::as_array);
    let mut out = JsonObject::new();
    for (key, value) in args.as_map().into_iter().flat_map(|map| map.iter()) {
        let Some(key) = key.as_str() else { continue };
        let is_meant = |name: &&String| **name == *key || field_name(name) == field_name(key);
        let exact = properties.and_then(|known| known.keys().find(|name| **name == *key));
        let name = exact.or_else(|| properties?.keys().find(is_meant)).map_or_else(|| key.to_owned(), Clone::clone);
        let is_required = required.is_some_and(|names| names.iter().any(|known| known.as_str() == Some(name.as_str())));
        if value.is_nil() && !is_required {
            continue;
        }
        // serde_json can parse all of our JSON.
        let value = serde_json::from_str(&Json::from(value).to_text()).unwrap_or_default();
        out.insert(name, value);
    }
    out
}

fn schema(object: &JsonObject) -> Json {
    to_json(object)
}

fn type_of(schema: &Json, place: &str, lost: &mut Vec<String>) -> Type {
    let plain = reduce_schema(schema, place, lost);
    match json_schema::from_json_schema(&plain) {
        Ok(ty) => named(ty),
        Err(error) => {
            lost.push(format!("{place}: {error}"));
            Type::Any
        }
    }
}

/// Returns the type with valid parameter names.
fn named(ty: Type) -> Type {
    match ty {
        Type::Record { fields, closed } => {
            let mut seen: Vec<String> = Vec::new();
            let fields = fields.into_iter().filter_map(|field| {
                let name = field_name(&field.name);
                let is_new = !seen.contains(&name);
                seen.push(name.clone());
                is_new.then_some(Field { name, ..field })
            });
            Type::Record { fields: fields.collect(), closed }
        }
        other => other,
    }
}

/// Returns whether two tool names are the same for users, programs and providers, which only know `_`.
pub(super) fn is_same_name(one: &str, other: &str) -> bool {
    provider_name(one) == provider_name(other)
}

#[cfg(test)]
mod tests {
    use ptc_core::value::json;

    use super::*;

    fn tool(input: &str, output: Option<&str>) -> Tool {
        let object = |text: &str| std::sync::Arc::new(serde_json::from_str::<JsonObject>(text).unwrap());
        let mut tool = Tool::new("read-file", "Reads it", object(input));
        tool.output_schema = output.map(object);
        tool
    }

    #[test]
    fn schemas_become_signatures_and_losses_are_listed() {
        let input = r##"{"$schema":"x","type":"object","properties":{
            "path":{"type":"string","description":"Where \"it\" is","minLength":1},
            "dry-run":{"type":"boolean","default":false},
            "_meta":{"type":"object"},
            "sort":{"type":"string","enum":["name","size"],"default":"name"},
            "limit":{"anyOf":[{"type":"integer","minimum":1},{"type":"null"}]},
            "who":{"oneOf":[{"type":"string"},{"type":"integer"}]},
            "edits":{"type":"array","items":{"$ref":"#/$defs/edit"}}},
            "required":["path","edits"],"additionalProperties":false,
            "$defs":{"edit":{"type":"object","properties":{"old":{"type":"string"},"new":{"type":"string"}},"required":["old","new"]}}}"##;
        let listing = Listing::of(&tool(input, None));
        assert_eq!(
            listing.signature,
            r#"(path :string "Where \"it\" is", dry_run :bool?, x_meta :map?, sort :enum["name" "size"]?, limit :int?, who :any?, edits [{old :string, new :string}]) -> :string"#
        );
        assert_eq!(
            listing.lost,
            [
                "arguments.path: minLength",
                "arguments.dry-run: default",
                "arguments.sort: default",
                "arguments.limit: minimum",
                "arguments.who: oneOf"
            ]
        );
        let args = json::parse(r#"{"path":"a","dry_run":true,"x_meta":{"k":1},"limit":null,"edits":[]}"#).unwrap();
        let sent = arguments(&tool(input, None), &args.to_value());
        let sent = serde_json::to_string(&sent).unwrap();
        let mut names: Vec<&str> = ["_meta", "dry-run", "edits", "path"].into();
        names.retain(|name| sent.contains(&format!("\"{name}\"")));
        assert_eq!((names.len(), sent.contains("limit")), (4, false), "{sent}");
    }

    #[test]
    fn every_schema_has_a_signature() {
        for input in [
            "{}",
            r#"{"type":"object"}"#,
            r#"{"type":"object","properties":{"a":{"type":["string","integer"]},"b":{"not":{}},"c":true,"d":{"const":1}}}"#,
            r##"{"type":"object","properties":{"x":{"$ref":"#/properties/x"}}}"##,
            r#"{"type":"array"}"#,
            r#"{"type":"object","properties":{"ä b":{},"1":{}},"required":["zz"]}"#,
        ] {
            let listing = Listing::of(&tool(input, Some(r#"{"type":"object","properties":{"n":{"type":"number"}}}"#)));
            assert!(parse(&listing.signature).is_ok(), "{input}: {}", listing.signature);
        }
    }
}
