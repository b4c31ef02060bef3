//! JSON text from trees: compact and pretty. Integers keep every digit; floats print shortest and round-trip.

use std::fmt::Write as _;

use super::{Json, Node};

impl Json {
    /// Compact JSON text.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        write_node(&mut out, &self.node, None, 0);
        out
    }

    /// JSON text over several lines, two spaces per level.
    pub fn to_pretty(&self) -> String {
        let mut out = String::new();
        write_node(&mut out, &self.node, Some("  "), 0);
        out
    }
}

fn write_node(out: &mut String, node: &Node, indent: Option<&str>, level: usize) {
    match node {
        Node::Null => out.push_str("null"),
        Node::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Node::Int(value) => _ = write!(out, "{value}"),
        Node::Big(value) => _ = write!(out, "{value}"),
        Node::Float(value) => write_float(out, *value),
        Node::Str(text) => write_string(out, text),
        Node::List(items) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                separate(out, place, indent, level + 1);
                write_node(out, &item.node, indent, level + 1);
            }
            close(out, items.is_empty(), indent, level, ']');
        }
        Node::Object(members) => {
            out.push('{');
            for (place, member) in members.iter().enumerate() {
                separate(out, place, indent, level + 1);
                write_string(out, &member.key);
                out.push_str(if indent.is_some() { ": " } else { ":" });
                write_node(out, &member.value.node, indent, level + 1);
            }
            close(out, members.is_empty(), indent, level, '}');
        }
    }
}

fn separate(out: &mut String, place: usize, indent: Option<&str>, level: usize) {
    if place > 0 {
        out.push(',');
    }
    if let Some(indent) = indent {
        out.push('\n');
        out.push_str(&indent.repeat(level));
    }
}

fn close(out: &mut String, empty: bool, indent: Option<&str>, level: usize, bracket: char) {
    if let (Some(indent), false) = (indent, empty) {
        out.push('\n');
        out.push_str(&indent.repeat(level));
    }
    out.push(bracket);
}

/// Shortest text that reads back as the same double, always with a point or an exponent.
fn write_float(out: &mut String, value: f64) {
    if !value.is_finite() {
        out.push_str("null");
        return;
    }
    let size = value.abs();
    if size != 0.0 && !(1e-5..1e16).contains(&size) {
        _ = write!(out, "{value:e}");
    } else {
        _ = write!(out, "{value:?}");
    }
}

/// Writes `text` as a JSON string.
pub(crate) fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < '\u{20}' || c == '\u{7f}' => _ = write!(out, "\\u{:04x}", c as u32),
            c => out.push(c),
        }
    }
    out.push('"');
}
