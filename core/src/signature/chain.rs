//! Chaining: checks whether an agent accepts the output of another one.
//!
//! In: an output type and the next agent's parameters. Out: errors for parameters that cannot be filled, warnings for types
//! that may not fit.

use super::issue::{Issue, Trail};
use super::{Field, Type, names};

/// Checks that the fields of `from` fill the parameters `to`: a missing field is an error unless its parameter is
/// optional; types that may not fit are warnings. A value that is not a map is passed as the only parameter of the next
/// agent, whatever its name.
pub fn chain(from: &Type, to: &[Field]) -> Vec<Issue> {
    let root = Trail::Root;
    let mut issues = Vec::new();
    match (from.base(), to) {
        (Type::Record { fields, .. }, _) if !fields.is_empty() => record(fields, to, &root, &mut issues),
        (Type::Record { .. } | Type::Map | Type::Any, _) => {
            for param in to.iter().filter(|param| !param.ty.is_optional()) {
                let message = format!("{} is not declared, so it may be missing", param.name);
                issues.push(Issue::warning(
                    &Trail::Field(&root, &param.name),
                    &param.ty.render(),
                    from.word().as_str(),
                    message,
                ));
            }
        }
        (_, [only]) => record(&[Field { ty: from.clone(), ..only.clone() }], to, &root, &mut issues),
        _ => record(&[], to, &root, &mut issues),
    }
    issues
}

/// At the top a missing field is an error; nested, where only types are compared, a warning.
fn record(from: &[Field], to: &[Field], at: &Trail, issues: &mut Vec<Issue>) {
    for param in to {
        let at = &Trail::Field(at, &param.name);
        match from.iter().find(|field| names::same(&field.name, &param.name)) {
            Some(field) if field.ty.is_optional() && !param.ty.is_optional() => {
                issues.push(Issue::warning(at, "field", "optional field", "may be missing in the earlier output"));
                compare(field.ty.required(), &param.ty, at, issues);
            }
            Some(field) => compare(&field.ty, &param.ty, at, issues),
            None if param.ty.is_optional() => {}
            None => issues.push(Issue::mismatch(at, "field", "nothing: the earlier output has no such field")),
        }
    }
}

fn compare(from: &Type, to: &Type, at: &Trail, issues: &mut Vec<Issue>) {
    match (from.base(), to.base()) {
        (Type::List(from), Type::List(to)) => {
            if from.is_optional() && !to.is_optional() {
                issues.push(Issue::warning(at, &to.render(), &from.render(), "items may be nil"));
            }
            compare(from, to, at, issues);
        }
        (Type::Record { fields: from, .. }, Type::Record { fields: to, .. }) if !from.is_empty() => {
            let before = issues.len();
            record(from, to, at, issues);
            issues[before..].iter_mut().for_each(|issue| issue.severity = super::Severity::Warning);
        }
        (from, to) if fits(from, to) => {}
        (from, to) => {
            let (expected, got) = (to.render(), from.render());
            issues.push(Issue::warning(at, &expected, &got, format!("expected {expected}, got {got}")));
        }
    }
}

/// True if every value of one type satisfies the other, after the coercion of inputs.
fn fits(from: &Type, to: &Type) -> bool {
    match (from, to) {
        (_, Type::Any)
        | (Type::Keyword | Type::Enum(_) | Type::Datetime, Type::String)
        | (Type::Int | Type::Float | Type::Number, Type::Float | Type::Number)
        | (Type::Record { .. }, Type::Map) => true,
        (Type::Map | Type::Record { .. }, Type::Record { fields, .. }) => {
            fields.iter().all(|field| field.ty.is_optional())
        }
        (Type::Enum(from), Type::Enum(to)) => from.iter().all(|value| to.contains(value)),
        (Type::Enum(from), Type::Keyword) => from.iter().all(|value| names::is_keyword_name(value)),
        (from, to) => from == to,
    }
}
