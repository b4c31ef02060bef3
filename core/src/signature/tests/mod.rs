//! Tests of signatures: tables of cases (one file per concern) and properties.

mod check;
mod parse;
mod properties;
mod schema;

use super::{Issue, Type};
use crate::value::Json;

/// The cases of a table: lines of cells separated by ` | `; `\n` in a cell is a line break; lines starting with `#` are comments.
fn table(text: &str) -> impl Iterator<Item = (usize, Vec<String>)> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    lines.map(|(at, line)| (at + 1, line.split(" | ").map(|cell| cell.trim().replace("\\n", "\n")).collect()))
}

/// Parses a type of a table.
fn ty(text: &str) -> Type {
    let signature = super::parse(text).unwrap_or_else(|error| panic!("{text}: {}", error.render(text)));
    signature.output.expect("a signature has an output")
}

/// Parses JSON of a table.
fn json(text: &str) -> Json {
    crate::value::json::parse(text).unwrap_or_else(|error| panic!("{text}: {}", error.message))
}

fn joined(issues: &[Issue], text: impl Fn(&Issue) -> String) -> String {
    issues.iter().map(text).collect::<Vec<_>>().join("; ")
}
