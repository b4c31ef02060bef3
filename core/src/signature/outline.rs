//! Types as text for JSON prompts: type names, the list of fields, an example value.
//!
//! In: types and field descriptions. Out: text and ordered JSON for prompts.

use super::json_schema::describe;
use super::render::quoted;
use super::{Field, Type, narrow};
use crate::value::Json;
use crate::value::json::Node;

/// A type in JSON terms: `integer`, `array of string`, `one of "a", "b"`, `number (optional)`.
pub fn json_type_name(ty: &Type) -> String {
    match ty {
        Type::String | Type::Keyword => "string".to_owned(),
        Type::Datetime => "string, ISO 8601 date and time with offset".to_owned(),
        Type::Int => "integer".to_owned(),
        Type::Float | Type::Number => "number".to_owned(),
        Type::Bool => "boolean".to_owned(),
        Type::File => "file".to_owned(),
        Type::Any => "any value".to_owned(),
        Type::Map | Type::Record { .. } => "object".to_owned(),
        Type::Enum(values) => {
            let values: Vec<String> = values.iter().map(|value| quoted(value)).collect();
            format!("one of {}", values.join(", "))
        }
        Type::List(item) => format!("array of {}", json_type_name(item)),
        Type::Optional(inner) => format!("{} (optional)", json_type_name(inner)),
        Type::Narrowed { base, keywords } => {
            let limits = keywords.iter().filter(|(keyword, _)| keyword != "description");
            let limits: Vec<String> =
                limits.map(|(keyword, value)| format!(", {keyword} {}", value.to_text())).collect();
            format!("{}{}", json_type_name(base), limits.concat())
        }
    }
}

/// The fields that a model must fill, one line each: `- name (type) - description`; the fields of a nested object (or
/// of the objects in an array) follow it, indented by two more spaces. Empty for types without declared fields.
///
/// `descriptions` are keyed by field name, nested ones by dotted path; they override the text in the signature.
pub fn field_lines(ty: &Type, descriptions: &[(String, String)]) -> Vec<String> {
    let mut lines = Vec::new();
    add_lines(&mut lines, ty, &mut Vec::new(), descriptions);
    lines
}

fn add_lines<'a>(lines: &mut Vec<String>, ty: &'a Type, path: &mut Vec<&'a str>, descriptions: &[(String, String)]) {
    match ty.base() {
        Type::List(item) => add_lines(lines, item, path, descriptions),
        Type::Record { fields, .. } => {
            for field in fields {
                let indent = "  ".repeat(path.len());
                path.push(&field.name);
                lines.push(format!("{indent}{}", line(field, describe(field, path, descriptions))));
                add_lines(lines, &field.ty, path, descriptions);
                path.pop();
            }
        }
        _ => {}
    }
}

fn line(field: &Field, description: Option<&str>) -> String {
    let optional = if field.ty.is_optional() { " (optional)" } else { "" };
    let text = description.map(|text| format!(" - {text}")).unwrap_or_default();
    format!("- {} ({}){optional}{text}", field.name, json_type_name(field.ty.required()))
}

/// A placeholder value of a type for prompts: "...", 0, 0.0, true, the first choice, one element, all fields.
/// Narrowing keywords are respected.
pub fn example(ty: &Type) -> Json {
    match ty {
        Type::String => Json::str("..."),
        Type::Int | Type::Number => Node::Int(0).into(),
        Type::Float => Node::Float(0.0).into(),
        Type::Bool => Node::Bool(true).into(),
        Type::Keyword => Json::str("keyword"),
        Type::File => Json::empty().with("file", Json::str("FILE.png")),
        Type::Datetime => Json::str("2026-01-31T09:30:00Z"),
        Type::Any | Type::Map => Json::empty().with("key", Json::str("value")),
        Type::Enum(values) => Json::str(values.first().map_or("", String::as_str)),
        Type::List(item) => Json::list([example(item)]),
        Type::Record { fields, .. } => {
            Json::object(fields.iter().map(|field| (field.name.as_str(), example(&field.ty))))
        }
        Type::Optional(inner) => example(inner),
        Type::Narrowed { base, keywords } => narrow::fit(keywords, example(base)),
    }
}
