//! JSON Schema from types (for providers and tools), and types from a subset of JSON Schema.
//!
//! In: types, field descriptions; external schemas. Out: ordered schemas; types. Providers require an object at the
//! top, so other answers are wrapped; [`unwrap`] removes the wrapping and also accepts unwrapped answers.

mod read;
mod write;

pub use read::{SchemaError, from_json_schema};
pub use write::{answer, returned_answer, strict_answer, tool};

pub(super) use write::describe;

use super::issue::{Issue, Trail};
use super::{CoercedValue, Policy, Type, coerce, names, undeclared};
use crate::value::Json;
use crate::value::json::Node;

/// The schema of an answer, and the answer's wrapping.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    /// The schema; an object at the top.
    pub json: Json,
    /// The answer's wrapping.
    pub wrap: Wrap,
}

/// The wrapping that makes an answer an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wrap {
    /// Nothing: the answer is an object itself.
    None,
    /// A list as `{"items": […]}`.
    Items,
    /// A scalar, or an object that may be null, as `{"value": …}`.
    Value,
}

impl Wrap {
    /// The wrapping of answers of this type.
    pub fn of(ty: &Type) -> Self {
        match ty.base() {
            Type::List(_) => Self::Items,
            // `null` is not an object.
            Type::Record { .. } | Type::Map if ty.is_optional() => Self::Value,
            Type::Record { .. } | Type::Map | Type::Any => Self::None,
            _ => Self::Value,
        }
    }

    /// The only key of the wrapping object.
    pub fn key(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Items => Some("items"),
            Self::Value => Some("value"),
        }
    }

    /// Wraps an answer as the schema requires.
    pub fn around(self, answer: Json) -> Json {
        match self.key() {
            Some(key) => Json::empty().with(key, answer),
            None => answer,
        }
    }
}

/// The answer in a reply's JSON: for a list the array, bare or under `items`; for a scalar the scalar, bare, as the
/// only field of an object or under `value`; otherwise the object. An object whose only field is `value` is the wrapping, unless only the
/// object itself has the type. A wrong shape is an error issue at the root.
pub fn unwrap<'a>(ty: &Type, json: &'a Json) -> Result<&'a Json, Issue> {
    let wrong = |expected: &str| Err(Issue::mismatch(&Trail::Root, expected, json.to_value().kind().name()));
    if matches!(ty.base(), Type::Any) || (ty.is_optional() && json.node == Node::Null) {
        return Ok(json);
    }
    match (Wrap::of(ty), &json.node) {
        (Wrap::Value, Node::Object(members)) if is_object(ty) => Ok(match members.as_slice() {
            [only] if only.key == "value" && (fits(ty, &only.value) || !fits(ty, json)) => &only.value,
            _ => json,
        }),
        (Wrap::Value, _) if is_object(ty) => wrong("an object or null"),
        (Wrap::None, Node::Object(_)) | (Wrap::Items, Node::List(_)) => Ok(json),
        (Wrap::None, _) => wrong("an object"),
        (Wrap::Items, Node::Object(members)) => {
            let items = members.iter().find(|member| names::same(&member.key, "items")).map(|member| &member.value);
            match items {
                Some(items) if items.items().is_some() || (ty.is_optional() && items.node == Node::Null) => Ok(items),
                _ => Err(Issue::mismatch(&Trail::Root, "an array, or an object with the array in items", "map")),
            }
        }
        (Wrap::Items, _) => wrong("an array, or an object with the array in items"),
        (Wrap::Value, Node::Object(members)) => match members.as_slice() {
            [only] => Ok(&only.value),
            members => match members.iter().find(|member| names::same(&member.key, "value")) {
                Some(member) => Ok(&member.value),
                None => wrong("a single value, or an object with it in value"),
            },
        },
        (Wrap::Value, Node::List(_)) => wrong("a single value, or an object with it in value"),
        (Wrap::Value, _) => Ok(json),
    }
}

fn is_object(ty: &Type) -> bool {
    matches!(ty.base(), Type::Record { .. } | Type::Map)
}

/// Returns whether a value has this type, and no undeclared fields.
fn fits(ty: &Type, json: &Json) -> bool {
    let CoercedValue { value, issues } = coerce(ty, json.to_value(), Policy::AnswerLenient);
    !issues.iter().any(Issue::is_error) && undeclared(ty, &value).is_empty()
}
