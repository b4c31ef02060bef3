//! The body of a chat-completions request.
//!
//! In: a protocol-neutral request and what the server is known to accept. Out: the body, and how the schema travels in it.
//! It must never send a parameter that was not asked for, except those for streaming.

use ptc_core::value::json::{Member, Node};
use ptc_core::value::{BigInt, Json, Value};

use super::dialect::{Dialect, TokensKey};
use crate::event::{Role, StructuredBy};
use crate::model::{Message, Request};

/// The tool that a model is made to call when its parameters carry the schema.
pub(super) const RESPOND: &str = "respond";

/// Longest name of a schema.
const NAME_MAX_CHARS: usize = 64;

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

fn messages(request: &Request) -> Json {
    let system = request.system.iter().map(|text| message("system", text.clone()));
    Json::list(system.chain(request.messages.iter().map(|said: &Message| {
        let role = match said.role {
            Role::System => "system",
            // A tool's result without a native call is told by the user's side.
            Role::User | Role::Tool => "user",
            Role::Assistant => "assistant",
        };
        // Reasoning stays here: this protocol has no place for it in a request.
        message(role, said.joined())
    })))
}

fn message(role: &str, text: String) -> Json {
    Json::object([("role", Json::str(role)), ("content", Json::str(text))])
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

fn structure(request: &Request, schema: &Json, way: StructuredBy) -> Vec<(&'static str, Json)> {
    let object = |members: Vec<(&'static str, Json)>| Json::object(members);
    match way {
        StructuredBy::JsonSchema => {
            let mut inner = vec![("name", Json::str(schema_name(&request.agent))), ("schema", schema.clone())];
            if is_strict(schema) {
                inner.push(("strict", Node::Bool(true).into()));
            }
            vec![("response_format", object(vec![("type", Json::str("json_schema")), ("json_schema", object(inner))]))]
        }
        StructuredBy::Tool => {
            let function = object(vec![
                ("name", Json::str(RESPOND)),
                ("description", Json::str("Gives the answer.")),
                ("parameters", schema.clone()),
            ]);
            let choice = object(vec![("name", Json::str(RESPOND))]);
            let tagged = |inner: Json| object(vec![("type", Json::str("function")), ("function", inner)]);
            vec![("tools", Json::list([tagged(function)])), ("tool_choice", tagged(choice))]
        }
        StructuredBy::JsonObject => vec![("response_format", object(vec![("type", Json::str("json_object"))]))],
        StructuredBy::Prompt => Vec::new(),
    }
}

/// A name that services accept: letters, digits, `_` and `-`.
fn schema_name(agent: &str) -> String {
    let name: String = agent
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
        .take(NAME_MAX_CHARS)
        .collect();
    if name.chars().any(|c| c.is_ascii_alphanumeric()) { name } else { "answer".to_owned() }
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
            assert_eq!(schema_name(agent), expected);
        }
        assert_eq!(schema_name(&"x".repeat(100)).len(), 64);
    }
}
