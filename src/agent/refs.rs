//! Refs as an agent declares them: named parts of the answer, each by a path or an expression.
//!
//! In: the option `refs`, the type of the answer. Out: [`Ref`]s, and findings about those that cannot be read or lead nowhere.
//! It must never evaluate one.

use ptc_core::signature::{Type, underscored};
use ptc_core::value::Json;
use ptc_core::value::json::Node;

use super::{Agent, Diagnostic};
use crate::config::document::advice;
use crate::program::expression;
use crate::program::path::{self, PathStep};

/// A reference to a part of the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ref {
    /// Its name.
    pub name: String,
    /// The source of its value.
    pub source: RefSource,
    /// It may be nil.
    pub optional: bool,
}

/// The source of the value of a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefSource {
    /// A path such as `items[0].id` or `items[*].id`.
    Path(String),
    /// A PTC-Lisp expression over `result`.
    Expression(String),
}

impl RefSource {
    /// Returns the problem of a source that can never give a value; `None` when it can.
    fn unreadable(&self) -> Option<String> {
        match self {
            Self::Path(path) => {
                path::steps(path).err().map(|error| format!("the path {path:?} cannot be read: {error}"))
            }
            Self::Expression(text) => expression::check(text).err().map(|error| {
                let place = error.span.map(|span| format!("{}: ", span.line_col(text))).unwrap_or_default();
                format!("the expression cannot be used: {place}{}", error.problem)
            }),
        }
    }
}

/// Paths, or tables `{path, optional}` and `{expr, optional}`.
pub(super) fn read(agent: &Agent, findings: &mut Vec<Diagnostic>) -> Vec<Ref> {
    let mut out = Vec::new();
    for member in agent.option("refs").and_then(Json::members).unwrap_or_default() {
        let text = |key: &str| member.value.get(key).and_then(Json::as_str).map(str::to_owned);
        let source = match (member.value.as_str(), text("path"), text("expr")) {
            (Some(path), ..) => RefSource::Path(path.to_owned()),
            (None, Some(path), None) => RefSource::Path(path),
            (None, None, Some(expression)) => RefSource::Expression(expression),
            _ => {
                let message = "a ref is a path such as \"items[0].id\", or a table with `path` or `expr`";
                findings.push(Diagnostic::option(&key(&member.key), message));
                continue;
            }
        };
        findings.extend(source.unreadable().map(|problem| Diagnostic::option(&key(&member.key), problem)));
        let optional = member.value.get("optional").is_some_and(|flag| flag.node == Node::Bool(true));
        out.push(Ref { name: member.key.clone(), source, optional });
    }
    out
}

/// Paths that lead to nothing in an answer of this type: likely typos, but answers may have undeclared fields.
pub(super) fn astray(refs: &[Ref], output: &Type) -> Vec<Diagnostic> {
    let found = refs.iter().filter_map(|one| {
        let RefSource::Path(path) = &one.source else { return None };
        let problem = outside(output, &path::steps(path).ok()?)?;
        Some(
            Diagnostic::option(&key(&one.name), format!("the path {path:?} does not exist in the answer: {problem}"))
                .warning(),
        )
    });
    found.collect()
}

fn key(name: &str) -> String {
    format!("refs.{name}")
}

/// Returns the reason why a path leads out of a type; `None` where the type does not describe its content. (The depth is that of the path.)
fn outside(ty: &Type, steps: &[PathStep<'_>]) -> Option<String> {
    let (step, rest) = steps.split_first()?;
    match (step, ty.base()) {
        (_, Type::Any | Type::Map) => None,
        (_, Type::Record { fields, .. }) if fields.is_empty() => None,
        (PathStep::Key(name), Type::Record { fields, .. }) => {
            let same = |field: &&ptc_core::signature::Field| underscored(&field.name) == underscored(name);
            if let Some(field) = fields.iter().find(same) {
                return outside(&field.ty, rest);
            }
            let known: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
            Some(format!("the answer declares no `{name}` there{}", advice(name, &known)))
        }
        (PathStep::Index(_) | PathStep::Every, Type::List(item)) => outside(item, rest),
        (PathStep::Key(name), Type::List(item)) if path::index_of(name).is_some() => outside(item, rest),
        (PathStep::Key(name), Type::List(_)) => Some(format!("`{name}` follows a list; write [0] or [*] before it")),
        (PathStep::Index(_) | PathStep::Every, _) => Some("[ ] needs a list".to_owned()),
        (PathStep::Key(name), other) => Some(format!("{} has no fields, so `{name}` does not exist", other.render())),
    }
}

#[cfg(test)]
mod tests {
    use crate::agent::{Agent, Plan};

    /// Key, severity and message of what is found about these refs.
    fn found(refs: &str) -> Vec<String> {
        let toml = format!(
            "mode = \"json\"\nprompt = \"p\"\nsignature = \"() -> {{a :int, items [{{id :int}}], more :map}}\"\n[refs]\n{refs}\n"
        );
        let agent = Agent::from_toml(&toml, "a.toml").unwrap();
        let all = Plan::new(&agent).map_or_else(|findings| findings, |plan| plan.warnings);
        let all = all.iter().filter(|finding| finding.key.starts_with("refs"));
        all.map(|found| {
            format!("{} {} {}", if found.is_error() { "error" } else { "warning" }, found.key, found.message)
        })
        .collect()
    }

    #[test]
    fn a_ref_that_can_never_be_read_is_an_error() {
        let cases = [
            ("x = \"a[[\"", "error refs.x the path \"a[[\" cannot be read: `[` at character 2 is not closed"),
            (
                "x = { path = \"items[]\", optional = true }",
                "error refs.x the path \"items[]\" cannot be read: the brackets are empty at character 6",
            ),
            ("x = { expr = \"(+ 1\" }", "error refs.x the expression cannot be used: line 1, column"),
            (
                "x = { expr = \"(cuont result)\", optional = true }",
                "error refs.x the expression cannot be used: line 1, column 2",
            ),
        ];
        for (refs, expected) in cases {
            let messages = found(refs);
            assert!(messages.len() == 1 && messages[0].starts_with(expected), "{refs}: {messages:?}");
        }
    }

    #[test]
    fn a_path_that_leads_out_of_the_declared_answer_is_a_warning() {
        let cases = [
            (
                "x = \"nope\"",
                "warning refs.x the path \"nope\" does not exist in the answer: the answer declares no `nope` there",
            ),
            (
                "x = \"item[0].id\"",
                "warning refs.x the path \"item[0].id\" does not exist in the answer: the answer declares no `item` there; did you mean `items`?",
            ),
            (
                "x = \"items.id\"",
                "warning refs.x the path \"items.id\" does not exist in the answer: `id` follows a list",
            ),
            ("x = \"a[0]\"", "warning refs.x the path \"a[0]\" does not exist in the answer: [ ] needs a list"),
            (
                "x = \"a.b\"",
                "warning refs.x the path \"a.b\" does not exist in the answer: :int has no fields, so `b` does not exist",
            ),
        ];
        for (refs, expected) in cases {
            let messages = found(refs);
            assert!(messages.len() == 1 && messages[0].starts_with(expected), "{refs}: {messages:?}");
        }
        for refs in [
            "x = \"items[*].id\"",
            "x = \"items.0.id\"",
            "x = \"\"",
            "x = \"more.anything[0]\"",
            "x = { expr = \"(:a result)\" }",
        ] {
            assert_eq!(found(refs), Vec::<String>::new(), "{refs}");
        }
    }
}
