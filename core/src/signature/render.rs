//! Signatures and types as text: the canonical form, and the tool inventory's form.
//!
//! In: types. Out: text. The canonical form parses to an equal signature, except for parts that only a JSON Schema can
//! express (closed maps, narrowing keywords, other names).

use std::fmt::Write as _;

use super::issue::kebab;
use super::{Field, Signature, Type};

impl Signature {
    /// The canonical text: `(a :string, b [:int]?) -> {x :enum["a" "b"]}`; no parameter list = the bare type,
    /// an empty one = `() -> T`, no output = the parameters alone.
    pub fn render(&self) -> String {
        match (&self.params, &self.output) {
            (None, output) => output.as_ref().map(Type::render).unwrap_or_default(),
            (Some(params), None) => format!("({})", fields(params, CANONICAL)),
            (Some(params), Some(output)) => format!("({}) -> {}", fields(params, CANONICAL), output.render()),
        }
    }
}

impl Type {
    /// The canonical text, with colons and the names as written.
    pub fn render(&self) -> String {
        let mut out = String::new();
        write_type(&mut out, self, CANONICAL);
        out
    }
}

/// A tool's line in the inventory of a program's prompt: `tool/get-temp(city string, days int?) -> {summary string}`.
pub fn render_inventory(name: &str, signature: &Signature) -> String {
    let params = signature.params.as_deref().unwrap_or_default();
    let mut out = format!("tool/{}({})", kebab(name), fields(params, INVENTORY));
    if let Some(output) = &signature.output {
        out.push_str(" -> ");
        write_type(&mut out, output, INVENTORY);
    }
    out
}

/// The notation of names, type words and descriptions.
#[derive(Clone, Copy)]
struct Style {
    colon: &'static str,
    name: fn(&str) -> String,
    description: fn(&str) -> String,
}

const CANONICAL: Style = Style { colon: ":", name: str::to_owned, description: |text| format!(" {}", quoted(text)) };
const INVENTORY: Style = Style { colon: "", name: kebab, description: |_| String::new() };

fn fields(fields: &[Field], style: Style) -> String {
    let mut out = String::new();
    for (place, field) in fields.iter().enumerate() {
        if place > 0 {
            out.push_str(", ");
        }
        _ = write!(out, "{} ", (style.name)(&field.name));
        write_type(&mut out, &field.ty, style);
        if let Some(text) = &field.description {
            out.push_str(&(style.description)(text));
        }
    }
    out
}

fn write_type(out: &mut String, ty: &Type, style: Style) {
    match ty {
        Type::List(item) => {
            out.push('[');
            write_type(out, item, style);
            out.push(']');
        }
        Type::Record { fields: list, .. } => _ = write!(out, "{{{}}}", fields(list, style)),
        Type::Optional(inner) => {
            write_type(out, inner, style);
            out.push('?');
        }
        Type::Narrowed { base, .. } => write_type(out, base, style),
        Type::Enum(values) => {
            let values: Vec<String> = values.iter().map(|value| quoted(value)).collect();
            _ = write!(out, "{}enum[{}]", style.colon, values.join(" "));
        }
        scalar => _ = write!(out, "{}{}", style.colon, scalar.word()),
    }
}

/// The text in double quotes, with the escapes of signatures.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
