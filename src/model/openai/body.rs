//! The body of a chat-completions request.
//!
//! In: a protocol-neutral request and what the server is known to accept. Out: the body, and how the schema travels in it.
//! It must never send a parameter that was not asked for, except those for streaming.

use ptc_core::value::json::{Member, Node};
use ptc_core::value::{BigInt, Json, Value};

use super::dialect::{Dialect, TokensKey};
use super::messages::{accepted, messages};
use crate::event::StructuredBy;
use crate::model::Request;

/// The tool that a model is made to call when its parameters carry the schema.
pub(super) const RESPOND: &str = "respond";

/// The body for this model, and how the schema travels (`None` without a schema).
pub(super) fn build(request: &Request, model: &str, stream: bool, dialect: Dialect) -> (Json, Option<StructuredBy>) {
    let mut members = vec![("model", Json::str(model)), ("messages", messages(request))];
    if stream {
        members.push(("stream", Node::Bool(true).into()));
        if dialect.stream_usage {
            members.push(("stream_options", Json::object([("include_usage", Node::Bool(true).into())])));
        }
    } else {
        members.push(("stream", Node::Bool(false).into()));
    }
    members.extend(options(request, dialect.tokens));
    members.extend(tools(request, dialect.structured));
    let structured = request.schema.as_ref().map(|schema| {
        members.extend(structure(request, schema, dialect.structured));
        dialect.structured
    });
    (Json::object(members), structured)
}

/// The body without its messages, for the record.
pub(super) fn frame(body: &Json) -> Json {
    let members = body.members().unwrap_or_default().iter().filter(|member| member.key != "messages");
    Json::object(members.map(|Member { key, value, .. }| (key.clone(), value.clone())))
}

fn options(request: &Request, tokens: TokensKey) -> Vec<(&'static str, Json)> {
    let options = &request.options;
    let mut members = Vec::new();
    members.extend(options.temperature.map(|number| ("temperature", Node::Float(number).into())));
    members.extend(options.max_tokens.map(|number| (tokens.name(), whole(number))));
    members.extend(options.top_p.map(|number| ("top_p", Node::Float(number).into())));
    if !options.stop.is_empty() {
        members.push(("stop", Json::list(options.stop.iter().map(|text| Json::str(text.clone())))));
    }
    members.extend(options.seed.map(|number| ("seed", whole(number))));
    members.extend(options.reasoning.as_ref().map(|word| ("reasoning_effort", Json::str(word.clone()))));
    members
}

fn whole(number: u64) -> Json {
    Json::from(&Value::integer(BigInt::from(number)))
}

/// The tools that may be called, and what the model must do with them. The tool that carries the schema is the only one to be
/// called when there is no other.
fn tools(request: &Request, way: StructuredBy) -> Vec<(&'static str, Json)> {
    let tagged = |inner: Json| Json::object([("type", Json::str("function")), ("function", inner)]);
    let named = |name: &str| ("name", Json::str(name));
    let mut all: Vec<Json> = Vec::new();
    for tool in &request.tools {
        let mut members = vec![named(&tool.name)];
        members.extend(tool.description.as_ref().map(|text| ("description", Json::str(text.as_str()))));
        members.push(("parameters", tool.parameters.json()));
        all.push(tagged(Json::object(members)));
    }
    let mut members = Vec::new();
    if let Some(schema) = request.schema.as_ref().filter(|_| way == StructuredBy::Tool) {
        let choice = if all.is_empty() { tagged(Json::object([named(RESPOND)])) } else { Json::str("required") };
        let about = ("description", Json::str("Gives the answer."));
        all.push(tagged(Json::object([named(RESPOND), about, ("parameters", schema.clone())])));
        members.push(("tool_choice", choice));
    }
    if !all.is_empty() {
        members.insert(0, ("tools", Json::list(all)));
    }
    members
}

fn structure(request: &Request, schema: &Json, way: StructuredBy) -> Vec<(&'static str, Json)> {
    let object = |members: Vec<(&'static str, Json)>| Json::object(members);
    match way {
        StructuredBy::JsonSchema => {
            let mut inner = vec![("name", Json::str(accepted(&request.agent, "answer"))), ("schema", schema.clone())];
            if is_strict(schema) {
                inner.push(("strict", Node::Bool(true).into()));
            }
            vec![("response_format", object(vec![("type", Json::str("json_schema")), ("json_schema", object(inner))]))]
        }
        StructuredBy::JsonObject => vec![("response_format", object(vec![("type", Json::str("json_object"))]))],
        StructuredBy::Tool | StructuredBy::Prompt => Vec::new(),
    }
}

/// May the schema be sent with `strict`? Services demand there that the root is an object, that every object lists all its
/// properties as required and forbids others, and that every place has a type.
fn is_strict(schema: &Json) -> bool {
    schema.get("type").and_then(Json::as_str) == Some("object") && fits_strict(schema)
}

/// Schemas come from the JSON reader or from a signature, so their depth is bounded.
fn fits_strict(schema: &Json) -> bool {
    const KNOWN: [&str; 11] = [
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
        "title",
    ];
    let Some(members) = schema.members() else { return false };
    if members.is_empty() || !members.iter().all(|member| KNOWN.contains(&member.key.as_str())) {
        return false;
    }
    if let Some(arms) = schema.get("anyOf") {
        return arms.items().is_some_and(|arms| !arms.is_empty() && arms.iter().all(fits_strict));
    }
    let types: Vec<&str> = match schema.get("type").map(|found| (&found.node, found)) {
        Some((Node::Str(name), _)) => vec![name],
        Some((Node::List(names), _)) => names.iter().filter_map(Json::as_str).collect(),
        _ => return schema.get("enum").is_some() || schema.get("const").is_some(),
    };
    types.iter().all(|name| match *name {
        "object" => {
            let properties = schema.get("properties").and_then(Json::members).unwrap_or_default();
            let required = schema.get("required").and_then(Json::items).unwrap_or_default();
            schema.get("additionalProperties").map(|value| &value.node) == Some(&Node::Bool(false))
                && properties.iter().all(|property| {
                    required.iter().any(|name| name.as_str() == Some(&property.key)) && fits_strict(&property.value)
                })
        }
        "array" => schema.get("items").is_some_and(fits_strict),
        _ => true,
    })
}

#[cfg(test)]
mod tests {
    use ptc_core::value::json;

    use super::*;

    #[test]
    fn strict_is_for_schemas_that_say_everything() {
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
        ];
        for (schema, expected) in cases {
            assert_eq!(is_strict(&json::parse(schema).unwrap()), expected, "{schema}");
        }
    }

    #[test]
    fn the_schema_is_named_for_its_agent() {
        let cases = [
            ("reviews", "reviews"),
            ("my agent/2", "my_agent_2"),
            ("émoi", "_moi"),
            ("", "answer"),
            ("日本", "answer"),
        ];
        for (agent, expected) in cases {
            assert_eq!(accepted(agent, "answer"), expected);
        }
        assert_eq!(accepted(&"x".repeat(100), "answer").len(), 64);
    }
}
