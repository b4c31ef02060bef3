//! Types → JSON Schema. Key order is fixed; fields keep their order.

use super::super::names::{self, underscored};
use super::super::{Field, Type};
use super::{Schema, Wrap};
use crate::value::Json;
use crate::value::json::Node;

/// The schema of an answer; `None` if any JSON is allowed (`:any`). Optional fields are not in `required`.
///
/// `descriptions` are keyed by field name, nested ones by dotted path; they override the text in the signature.
pub fn answer(ty: &Type, descriptions: &[(String, String)]) -> Option<Schema> {
    wrapped(ty, Style::Answer, descriptions)
}

/// Like `answer`, for providers that require every field to be listed: optional fields are required and may be null. `None`
/// also if the type contains `:any` or `:map`, which such providers reject.
pub fn strict_answer(ty: &Type, descriptions: &[(String, String)]) -> Option<Schema> {
    if is_open(ty) { None } else { wrapped(ty, Style::StrictAnswer, descriptions) }
}

/// The schema of answers as runs return them, for their readers; `None` if any JSON is allowed.
///
/// It allows everything that the check of an answer lets through: optional fields may be missing or null, open records may have more
/// fields, keywords may have letters of any language. Names have `_` for `-`, as [`normalize_keys`](crate::signature::normalize_keys)
/// writes them.
pub fn returned_answer(ty: &Type, descriptions: &[(String, String)]) -> Option<Schema> {
    wrapped(ty, Style::ReturnedAnswer, descriptions)
}

/// The schema of a tool's arguments: an object of the parameters, `-` in names as `_`.
pub fn tool(params: &[Field]) -> Json {
    let writer = Writer { style: Style::Tool, descriptions: &[] };
    Json::object(writer.record(params, true, &mut Vec::new()))
}

/// The description of the field at the end of `path`: from the list, else from the signature.
pub(in super::super) fn describe<'a>(
    field: &'a Field,
    path: &[&str],
    descriptions: &'a [(String, String)],
) -> Option<&'a str> {
    let dotted = path.join(".");
    let listed = descriptions.iter().find(|(key, _)| names::same(key, &dotted)).map(|(_, text)| text.as_str());
    listed.or(field.description.as_deref())
}

fn is_open(ty: &Type) -> bool {
    match ty.base() {
        Type::Any | Type::Map => true,
        Type::List(item) => is_open(item),
        Type::Record { fields, closed: false } if fields.is_empty() => true,
        Type::Record { fields, .. } => fields.iter().any(|field| is_open(&field.ty)),
        _ => false,
    }
}

fn wrapped(ty: &Type, style: Style, descriptions: &[(String, String)]) -> Option<Schema> {
    let writer = Writer { style, descriptions };
    let wrap = Wrap::of(ty);
    let json = match wrap.key() {
        None if matches!(ty.base(), Type::Any) => return None,
        None => Json::object(writer.members(ty.required(), &mut Vec::new())),
        Some(key) => {
            let inner = Json::object(writer.members(ty, &mut Vec::new()));
            Json::object(closed_object(vec![(key.to_owned(), inner)], vec![Json::str(key)]))
        }
    };
    Some(Schema { json, wrap })
}

/// Purpose of the schema.
#[derive(Clone, Copy, PartialEq)]
enum Style {
    Answer,
    StrictAnswer,
    ReturnedAnswer,
    Tool,
}

type Members = Vec<(String, Json)>;

struct Writer<'a> {
    style: Style,
    descriptions: &'a [(String, String)],
}

impl Writer<'_> {
    fn members<'t>(&self, ty: &'t Type, path: &mut Vec<&'t str>) -> Members {
        let named = |name: &str| vec![("type".to_owned(), Json::str(name))];
        match ty {
            Type::String => named("string"),
            Type::Keyword if self.style == Style::ReturnedAnswer => named("string"),
            Type::Keyword => with(named("string"), "pattern", Json::str(names::KEYWORD_PATTERN)),
            Type::Int => named("integer"),
            Type::Float | Type::Number => named("number"),
            Type::Bool => named("boolean"),
            Type::Map | Type::File => named("object"),
            Type::Any => Vec::new(),
            Type::Datetime => with(named("string"), "format", Json::str("date-time")),
            Type::Enum(values) => with(named("string"), "enum", Json::list(values.iter().map(Json::str))),
            Type::List(item) => with(named("array"), "items", Json::object(self.members(item, path))),
            // `{}` is a map with any fields.
            Type::Record { fields, closed: false } if fields.is_empty() => named("object"),
            Type::Record { fields, closed } => {
                self.record(fields, *closed || self.style != Style::ReturnedAnswer, path)
            }
            Type::Optional(inner) => nullable(self.members(inner, path)),
            Type::Narrowed { base, keywords } => {
                self.members(base, path).into_iter().chain(keywords.iter().cloned()).collect()
            }
        }
    }

    fn record<'t>(&self, fields: &'t [Field], is_closed: bool, path: &mut Vec<&'t str>) -> Members {
        let (has_underscores, is_nullable) = match self.style {
            Style::Answer => (false, false),
            Style::StrictAnswer => (false, true),
            Style::ReturnedAnswer => (true, true),
            Style::Tool => (true, false),
        };
        let mut properties = Vec::new();
        let mut required = Vec::new();
        for field in fields {
            let name = if has_underscores { underscored(&field.name) } else { field.name.clone() };
            path.push(&field.name);
            let mut members = self.members(if is_nullable { &field.ty } else { field.ty.required() }, path);
            if let Some(text) = describe(field, path, self.descriptions) {
                members.retain(|(key, _)| key != "description");
                members.push(("description".to_owned(), Json::str(text)));
            }
            path.pop();
            if !field.ty.is_optional() || self.style == Style::StrictAnswer {
                required.push(Json::str(name.as_str()));
            }
            properties.push((name, Json::object(members)));
        }
        if is_closed { closed_object(properties, required) } else { open_object(properties, required) }
    }
}

fn with(mut members: Members, key: &str, value: Json) -> Members {
    members.push((key.to_owned(), value));
    members
}

fn open_object(properties: Members, required: Vec<Json>) -> Members {
    vec![
        ("type".to_owned(), Json::str("object")),
        ("properties".to_owned(), Json::object(properties)),
        ("required".to_owned(), Json::list(required)),
    ]
}

fn closed_object(properties: Members, required: Vec<Json>) -> Members {
    with(open_object(properties, required), "additionalProperties", Node::Bool(false).into())
}

/// The schema that also accepts null.
fn nullable(members: Members) -> Members {
    let or_null = |(key, value): (String, Json)| match (key.as_str(), value.node) {
        ("type", node) => (key, Json::list([node.into(), Json::str("null")])),
        ("enum", Node::List(mut values)) => {
            values.push(Json::default());
            (key, Json::list(values))
        }
        (_, node) => (key, node.into()),
    };
    members.into_iter().map(or_null).collect()
}
