//! The strict check: does a value satisfy a type? No coercion; every error is reported.
//!
//! In: a type and a value. Out: issues, depth first in declaration order; none = valid. Recursion follows the type, whose depth is bounded.

use super::issue::{Issue, Path};
use super::{Field, Type, names, narrow, render};
use crate::value::{Keyword, Kind, Map, Value};

/// Checks a value against a type (signature contract §3 and §6). All issues are errors.
pub fn check(ty: &Type, value: &Value) -> Vec<Issue> {
    let mut issues = Vec::new();
    check_at(ty, value, &Path::default(), &mut issues);
    issues
}

/// Finds what JSON cannot hold (NaN and infinities, anywhere in the value): the check where a value leaves a program.
pub fn check_json(value: &Value) -> Vec<Issue> {
    let mut issues = Vec::new();
    let mut open = vec![(Path::default(), value)];
    while let Some((path, value)) = open.pop() {
        match value {
            Value::Float(float) if !float.is_finite() => {
                issues.push(Issue::mismatch(&path, "a number that JSON can hold", special(*float)));
            }
            Value::List(items) | Value::Set(items) => {
                open.extend(items.iter().enumerate().rev().map(|(place, item)| (path.index(place), item)));
            }
            Value::Map(map) => open.extend(map.iter().rev().map(|(key, item)| (path.field(&key_name(key)), item))),
            _ => {}
        }
    }
    issues
}

fn special(float: f64) -> &'static str {
    match float {
        f64::INFINITY => "Infinity",
        f64::NEG_INFINITY => "-Infinity",
        _ => "NaN",
    }
}

fn check_at(ty: &Type, value: &Value, path: &Path, issues: &mut Vec<Issue>) {
    match (ty, value) {
        (Type::Optional(_), Value::Nil) => {}
        (Type::Optional(inner), _) => check_at(inner, value, path, issues),
        (Type::Narrowed { base, keywords }, _) => {
            let before = issues.len();
            check_at(base, value, path, issues);
            if issues.len() == before {
                narrow::check(keywords, value, path, issues);
            }
        }
        (Type::List(item), Value::List(items) | Value::Set(items)) => {
            for (place, value) in items.iter().enumerate() {
                check_at(item, value, &path.index(place), issues);
            }
        }
        (Type::Record { fields, closed }, Value::Map(map)) => {
            check_fields(fields, map, path, issues);
            if *closed {
                check_closed(fields, map, path, issues);
            }
        }
        (Type::Enum(values), Value::Str(text)) => {
            if !values.iter().any(|choice| **choice == ***text) {
                issues.push(Issue::mismatch(path, ty.word(), render::quoted(text)));
            }
        }
        _ if fits(ty, value) => {}
        _ => issues.push(Issue::mismatch(path, ty.word(), value.kind().name())),
    }
}

/// The scalar rows of the contract's table.
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
        Type::Enum(_) | Type::List(_) | Type::Record { .. } | Type::Optional(_) | Type::Narrowed { .. } => false,
    }
}

fn check_fields(fields: &[Field], map: &Map, path: &Path, issues: &mut Vec<Issue>) {
    for field in fields {
        match names::find(map, &field.name) {
            Some((_, value)) => check_at(&field.ty, value, &path.field(&field.name), issues),
            None if field.ty.is_optional() => {}
            None => issues.push(Issue::mismatch(&path.field(&field.name), "field", "nil")),
        }
    }
}

fn check_closed(fields: &[Field], map: &Map, path: &Path, issues: &mut Vec<Issue>) {
    let declared: Vec<Value> =
        fields.iter().filter_map(|field| names::find(map, &field.name).map(|(key, _)| key)).collect();
    for (key, value) in map.iter().filter(|(key, _)| !declared.contains(key)) {
        let issue = Issue::mismatch(&path.field(&key_name(key)), "no such field", value.kind().name());
        issues.push(Issue { message: "unexpected field".to_owned(), ..issue });
    }
}

/// A key in a path.
fn key_name(key: &Value) -> String {
    match key {
        Value::Str(text) => text.to_string(),
        Value::Keyword(word) => Keyword::name(*word).to_owned(),
        other => crate::value::Json::from(other).to_text(),
    }
}
