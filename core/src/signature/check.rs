//! The strict check of a value against a type. No coercion; every error is reported.
//!
//! In: a type and a value. Out: issues, depth first in declaration order; none = valid. Recursion follows the type, whose depth is bounded.

use super::issue::{Issue, Trail};
use super::{Field, Type, names, narrow};
use crate::limits::JSON_DEPTH;
use crate::value::{Bounds, Instant, Json, Kind, Map, Value};

/// Checks a value against a type. All issues are errors.
pub fn check(ty: &Type, value: &Value) -> Vec<Issue> {
    let mut issues = Vec::new();
    check_at(ty, value, &Trail::Root, &mut issues);
    issues
}

/// Finds content that JSON cannot represent, anywhere in the value: NaN, infinities, nesting deeper than
/// [`JSON_DEPTH`]. Used for values that leave a program.
pub fn check_json(value: &Value) -> Vec<Issue> {
    let mut issues = Vec::new();
    check_numbers(value, &Trail::Root, 0, &mut issues);
    issues
}

fn check_numbers(value: &Value, at: &Trail, depth: u64, issues: &mut Vec<Issue>) {
    match value {
        Value::Float(float) if !float.is_finite() => {
            issues.push(Issue::mismatch(at, "a number that JSON can represent", special(*float)));
        }
        Value::List(_) | Value::Set(_) | Value::Map(_) if depth >= JSON_DEPTH.max => {
            issues.push(Issue::mismatch(at, format!("at most {} levels of nesting", JSON_DEPTH.max), "more"));
        }
        Value::Map(map) => map.iter().for_each(|(key, item)| {
            check_numbers(item, &Trail::Field(at, &key_name(key)), depth + 1, issues);
        }),
        _ => value.elements().into_iter().flatten().enumerate().for_each(|(place, item)| {
            check_numbers(item, &Trail::Index(at, place), depth + 1, issues);
        }),
    }
}

fn special(float: f64) -> &'static str {
    match float {
        f64::INFINITY => "Infinity",
        f64::NEG_INFINITY => "-Infinity",
        _ => "NaN",
    }
}

fn check_at(ty: &Type, value: &Value, at: &Trail, issues: &mut Vec<Issue>) {
    match (ty, value) {
        (Type::Optional(_), Value::Nil) => {}
        (Type::Optional(inner), _) => check_at(inner, value, at, issues),
        (Type::Narrowed { base, keywords }, _) => {
            let before = issues.len();
            check_at(base, value, at, issues);
            if issues.len() == before {
                narrow::check(keywords, value, at, issues);
            }
        }
        (Type::Record { fields, closed }, Value::Map(map)) => {
            check_fields(fields, map, at, issues);
            if *closed {
                check_closed(fields, map, at, issues);
            }
        }
        (Type::Enum(values), Value::Str(text)) => {
            if !values.iter().any(|choice| **choice == ***text) {
                issues.push(Issue::mismatch(at, ty.word(), shown(value)));
            }
        }
        (Type::Datetime, Value::Str(text)) => {
            if let Err(error) = Instant::parse(text) {
                let issue = Issue::mismatch(at, ty.word(), value.kind().name());
                issues.push(Issue { message: format!("{}: {error}", issue.message), ..issue });
            }
        }
        (Type::List(item), _) => match value.elements() {
            Some(items) => items.enumerate().for_each(|(place, value)| {
                check_at(item, value, &Trail::Index(at, place), issues);
            }),
            None => issues.push(Issue::mismatch(at, ty.word(), value.kind().name())),
        },
        _ if fits(ty, value) => {}
        _ => issues.push(Issue::mismatch(at, ty.word(), value.kind().name())),
    }
}

/// A value in a message: readable, long text shortened.
pub(super) fn shown(value: &Value) -> String {
    value.print(Bounds { items: Some(5), chars: Some(80) }).text
}

/// Checks a value against a scalar type; other types never fit.
fn fits(ty: &Type, value: &Value) -> bool {
    match ty {
        Type::Any => true,
        Type::String => value.kind() == Kind::String,
        Type::Int => value.kind() == Kind::Int,
        Type::Float | Type::Number => matches!(value.kind(), Kind::Float | Kind::Int),
        Type::Bool => value.kind() == Kind::Bool,
        Type::Keyword => match value {
            Value::Keyword(_) => true,
            Value::Str(text) => names::is_keyword_name(text),
            _ => false,
        },
        Type::Map => value.kind() == Kind::Map,
        Type::Datetime => value.kind() == Kind::Datetime,
        Type::File => is_file(value),
        Type::Enum(_) | Type::List(_) | Type::Record { .. } | Type::Optional(_) | Type::Narrowed { .. } => false,
    }
}

/// Returns whether a value is the record of a file: its name, type, size and hash.
fn is_file(value: &Value) -> bool {
    let text = |name: &str| value.lookup(name).is_some_and(|value| value.kind() == Kind::String);
    ["name", "type", "sha256"].into_iter().all(text)
        && value.lookup("size").is_some_and(|size| size.kind() == Kind::Int)
}

fn check_fields(fields: &[Field], map: &Map, at: &Trail, issues: &mut Vec<Issue>) {
    for field in fields {
        let here = Trail::Field(at, &field.name);
        if let Some(both) = names::both(map, &field.name) {
            issues.push(Issue::mismatch(&here, format!("one of the keys {both}"), "both"));
            continue;
        }
        match names::find(map, &field.name) {
            Some(value) => check_at(&field.ty, value, &here, issues),
            None if field.ty.is_optional() => {}
            None => issues.push(Issue::mismatch(&here, "field", "nil")),
        }
    }
}

fn check_closed(fields: &[Field], map: &Map, at: &Trail, issues: &mut Vec<Issue>) {
    let declared: Vec<Value> = fields.iter().filter_map(|field| names::key(map, &field.name)).collect();
    for (key, value) in map.iter().filter(|(key, _)| !declared.contains(key)) {
        let issue = Issue::mismatch(&Trail::Field(at, &key_name(key)), "no such field", value.kind().name());
        issues.push(Issue { message: "unexpected field".to_owned(), ..issue });
    }
}

/// A key in a path.
fn key_name(key: &Value) -> String {
    match key {
        Value::Str(text) => text.to_string(),
        Value::Keyword(word) => word.name().to_owned(),
        other => Json::from(other).to_text(),
    }
}
