//! JSON Schema → types: the subset that signatures can express, plus narrowing keywords, which are kept for checking.
//!
//! In: an external schema (tools, raw schemas). Out: a type of bounded depth, or an error that names the keyword.

use std::collections::HashMap;
use std::fmt;

use super::super::names::{KEYWORD_PATTERN, underscored};
use super::super::narrow;
use super::super::{Field, Type};
use crate::limits::SIGNATURE_DEPTH;
use crate::text::Span;
use crate::value::Json;
use crate::value::json::{Member, Node};

/// The reason why a schema cannot be converted to a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaError {
    /// The schema that contains the keyword, as a JSON pointer: `#/properties/a`.
    pub path: String,
    /// The keyword; empty for an error of the whole schema.
    pub keyword: String,
    /// The problem.
    pub message: String,
    /// Its span in the schema's text.
    pub span: Span,
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

impl std::error::Error for SchemaError {}

/// Converts a schema to a type: scalar types, arrays with one item schema, objects with properties, `required` and
/// boolean `additionalProperties`, string enums, nullable types; keeps description, format, minimum, maximum, minItems
/// and maxItems. Any other keyword is an error.
pub fn from_json_schema(schema: &Json) -> Result<Type, SchemaError> {
    read(schema, "#", 1)
}

/// A schema under conversion.
struct Reader<'a> {
    path: &'a str,
    depth: u64,
    schema: &'a Json,
    members: &'a [Member],
}

const STRUCTURE: &[&str] = &["type", "enum", "items", "properties", "required", "additionalProperties"];

type Read<T> = Result<T, SchemaError>;

fn read(schema: &Json, path: &str, depth: u64) -> Read<Type> {
    if depth > SIGNATURE_DEPTH.max {
        let message = format!("schemas are nested deeper than {} levels", SIGNATURE_DEPTH.max);
        return Err(SchemaError { path: path.to_owned(), keyword: String::new(), message, span: schema.span });
    }
    match &schema.node {
        Node::Bool(true) => Ok(Type::Any),
        Node::Object(members) => Reader { path, depth, schema, members }.ty(),
        _ => {
            let message = "a schema must be an object".to_owned();
            Err(SchemaError { path: path.to_owned(), keyword: String::new(), message, span: schema.span })
        }
    }
}

impl Reader<'_> {
    fn ty(&self) -> Read<Type> {
        let keywords = self.narrowing()?;
        let (name, nullable) = self.type_name()?;
        let base = match name {
            _ if self.schema.get("enum").is_some() => self.choices(name)?,
            Some("string") if self.is_keyword() => Type::Keyword,
            Some("string") => Type::String,
            Some("integer") => Type::Int,
            Some("number") => Type::Float,
            Some("boolean") => Type::Bool,
            Some("array") => self.list()?,
            Some("object") => self.object()?,
            Some(other) => return self.fail("type", &format!("the type {other:?} is not supported")),
            None => Type::Any,
        };
        let (base, keywords) = datetime(base, keywords);
        let ty = if keywords.is_empty() { base } else { Type::Narrowed { base: Box::new(base), keywords } };
        Ok(if nullable { Type::Optional(Box::new(ty)) } else { ty })
    }

    /// The pattern of keywords.
    fn is_keyword(&self) -> bool {
        self.schema.get("pattern").and_then(Json::as_str) == Some(KEYWORD_PATTERN)
    }

    fn fail<T>(&self, keyword: &str, message: &str) -> Read<T> {
        let at = self.members.iter().find(|member| member.key == keyword);
        let span = at.map_or(self.schema.span, |member| member.key_span);
        Err(SchemaError { path: self.path.to_owned(), keyword: keyword.to_owned(), message: message.to_owned(), span })
    }

    /// The keywords that only narrow or describe; any keyword that is neither these nor structure is an error.
    fn narrowing(&self) -> Read<Vec<(String, Json)>> {
        let mut kept = Vec::new();
        for Member { key, value, .. } in self.members {
            let valid = match key.as_str() {
                known if STRUCTURE.contains(&known) => continue,
                "pattern" if self.is_keyword() => continue,
                "description" | "format" => value.as_str().is_some(),
                "minimum" | "maximum" => narrow::limit(value).is_some(),
                "minItems" | "maxItems" => narrow::count(value).is_some(),
                other => return self.fail(other, &format!("the keyword {other:?} is not supported")),
            };
            if !valid {
                return self.fail(key, &format!("{key:?} has a value of the wrong kind: {}", value.to_text()));
            }
            kept.push((key.clone(), value.clone()));
        }
        Ok(kept)
    }

    /// The type's name and whether null is allowed too; without `type` it follows from the other keywords.
    fn type_name(&self) -> Read<(Option<&str>, bool)> {
        // An enum without null excludes it, whatever the type says.
        let values = self.schema.get("enum").and_then(Json::items);
        let may_be_null = values.is_none_or(|values| values.iter().any(|value| value.node == Node::Null));
        let Some(ty) = self.schema.get("type") else {
            let has = |key: &str| self.schema.get(key).is_some();
            let object = ["properties", "required", "additionalProperties"].into_iter().any(has);
            let name = if object { Some("object") } else { has("items").then_some("array") };
            return Ok((name, has("enum") && may_be_null));
        };
        let names = match &ty.node {
            Node::Str(name) => vec![Some(name.as_str())],
            Node::List(names) => names.iter().map(Json::as_str).collect(),
            _ => Vec::new(),
        };
        match names.as_slice() {
            [Some(name)] => Ok((Some(*name), false)),
            [Some(name), Some("null")] | [Some("null"), Some(name)] if *name != "null" => {
                Ok((Some(*name), may_be_null))
            }
            _ => self.fail("type", "\"type\" must be one type, or one type and \"null\""),
        }
    }

    fn choices(&self, name: Option<&str>) -> Read<Type> {
        let values = self.schema.get("enum").and_then(Json::items).unwrap_or_default();
        let texts = values.iter().filter(|value| value.node != Node::Null).map(Json::as_str);
        let texts: Option<Vec<String>> = texts.map(|text| text.map(str::to_owned)).collect();
        match texts {
            _ if !matches!(name, None | Some("string")) => self.fail("enum", "only enums of strings are supported"),
            Some(texts) if texts.is_empty() => self.fail("enum", "\"enum\" must list at least one string"),
            Some(texts) if (1..texts.len()).any(|at| texts[..at].contains(&texts[at])) => {
                self.fail("enum", "\"enum\" lists a value twice")
            }
            Some(texts) => Ok(Type::Enum(texts)),
            None => self.fail("enum", "only enums of strings are supported"),
        }
    }

    fn list(&self) -> Read<Type> {
        let item = match self.schema.get("items") {
            None => Type::Any,
            Some(Json { node: Node::List(_), .. }) => return self.fail("items", "\"items\" must be one schema"),
            Some(item) => read(item, &format!("{}/items", self.path), self.depth + 1)?,
        };
        Ok(Type::List(Box::new(item)))
    }

    fn object(&self) -> Read<Type> {
        let closed = match self.schema.get("additionalProperties").map(|value| &value.node) {
            None | Some(Node::Bool(true)) => false,
            Some(Node::Bool(false)) => true,
            Some(_) => return self.fail("additionalProperties", "\"additionalProperties\" must be true or false"),
        };
        let required = self.required()?;
        let properties = match self.schema.get("properties") {
            None if required.is_empty() && !closed => return Ok(Type::Map),
            None => &[],
            Some(properties) => match properties.members() {
                Some(members) => members,
                None => return self.fail("properties", "\"properties\" must be an object"),
            },
        };
        if let Some(name) = required.iter().find(|name| properties.iter().all(|member| member.key != **name)) {
            return self.fail("required", &format!("\"required\" names {name:?}, which is not in \"properties\""));
        }
        let mut names: HashMap<String, &str> = HashMap::new();
        for Member { key, .. } in properties {
            if let Some(first) = names.insert(underscored(key), key) {
                return self
                    .fail("properties", &format!("\"properties\" has {first:?} and {key:?}, which are the same name"));
            }
        }
        let field = |member: &Member| {
            let path = format!("{}/properties/{}", self.path, member.key.replace('~', "~0").replace('/', "~1"));
            let (ty, description) = undescribed(read(&member.value, &path, self.depth + 1)?);
            let optional = !required.contains(&member.key.as_str()) && !ty.is_optional();
            let ty = if optional { Type::Optional(Box::new(ty)) } else { ty };
            Ok(Field { name: member.key.clone(), ty, description, span: member.key_span })
        };
        Ok(Type::Record { fields: properties.iter().map(field).collect::<Read<_>>()?, closed })
    }

    fn required(&self) -> Read<Vec<&str>> {
        let Some(required) = self.schema.get("required") else { return Ok(Vec::new()) };
        let names = required.items().and_then(|names| names.iter().map(Json::as_str).collect());
        names.map_or_else(|| self.fail("required", "\"required\" must be a list of names"), Ok)
    }
}

/// Converts a string in format date-time to a datetime.
fn datetime(base: Type, mut keywords: Vec<(String, Json)>) -> (Type, Vec<(String, Json)>) {
    let is_format = |(key, value): &(String, Json)| key == "format" && value.as_str() == Some("date-time");
    if base == Type::String && keywords.iter().any(is_format) {
        keywords.retain(|keyword| !is_format(keyword));
        return (Type::Datetime, keywords);
    }
    (base, keywords)
}

/// The type without its description, which moves to the field.
fn undescribed(ty: Type) -> (Type, Option<String>) {
    match ty {
        Type::Optional(inner) => {
            let (inner, description) = undescribed(*inner);
            (Type::Optional(Box::new(inner)), description)
        }
        Type::Narrowed { base, mut keywords } => {
            let place = keywords.iter().position(|(key, _)| key == "description");
            let description = place.and_then(|place| keywords.remove(place).1.as_str().map(str::to_owned));
            let ty = if keywords.is_empty() { *base } else { Type::Narrowed { base, keywords } };
            (ty, description)
        }
        other => (other, None),
    }
}
