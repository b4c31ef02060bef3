//! Equality of results: floats within 1e-9 of each other are equal, maps and sets have no order, and the printed text of functions does not
//! count.
//!
//! In: expected and actual results, as JSON or in readable form. Out: yes or no.

use ptc_core::value::Json;
use ptc_core::value::json::Node;

const TOLERANCE: f64 = 1e-9;

fn close(one: f64, other: f64) -> bool {
    one.total_cmp(&other).is_eq() || (one - other).abs() <= TOLERANCE * one.abs().max(other.abs())
}

/// Compares values in the encoding of the suite.
pub(crate) fn same_json(expected: &Json, got: &Json) -> bool {
    match (&expected.node, &got.node) {
        (Node::Float(one), Node::Float(other)) => close(*one, *other),
        (Node::List(one), Node::List(other)) => same_items(one, other),
        (Node::Object(one), Node::Object(other)) => match (tagged(expected), tagged(got)) {
            (Some(("#set", one)), Some(("#set", other))) => {
                same_members(one.items().unwrap_or_default(), other.items().unwrap_or_default(), same_json)
            }
            (Some(("#obj", one)), Some(("#obj", other))) => {
                same_text(one.as_str().unwrap_or_default(), other.as_str().unwrap_or_default())
            }
            _ => {
                let matches = |key: &str, value: &Json| got.get(key).is_some_and(|got| same_json(value, got));
                one.len() == other.len() && one.iter().all(|member| matches(&member.key, &member.value))
            }
        },
        (one, other) => one == other,
    }
}

fn same_items(one: &[Json], other: &[Json]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same_json(one, other))
}

/// The only member of an object, when its key is a tag.
fn tagged(json: &Json) -> Option<(&str, &Json)> {
    match json.members()? {
        [member] if member.key.starts_with('#') => Some((&member.key, &member.value)),
        _ => None,
    }
}

/// Returns whether two lists have equal items, in any order.
fn same_members<T>(one: &[T], other: &[T], same: fn(&T, &T) -> bool) -> bool {
    let mut left: Vec<&T> = other.iter().collect();
    one.len() == other.len()
        && one.iter().all(|item| {
            left.iter().position(|candidate| same(item, candidate)).is_some_and(|at| {
                left.swap_remove(at);
                true
            })
        })
}

/// Compares values in readable form.
pub(crate) fn same_text(expected: &str, got: &str) -> bool {
    expected == got || Form::read(expected).is_some_and(|one| Form::read(got).is_some_and(|other| one.same(&other)))
}

/// A value in readable form, read back as far as a comparison needs it.
enum Form {
    Atom(String),
    Function,
    Vector(Vec<Form>),
    Set(Vec<Form>),
    Map(Vec<(Form, Form)>),
}

impl Form {
    fn read(text: &str) -> Option<Self> {
        let mut rest = text;
        let node = Self::next(&mut rest)?;
        rest.trim().is_empty().then_some(node)
    }

    fn next(rest: &mut &str) -> Option<Self> {
        *rest = rest.trim_start();
        for function in ["#fn[", "#<"] {
            if rest.starts_with(function) {
                let end = rest.find([']', '>'])? + 1;
                *rest = &rest[end..];
                return Some(Self::Function);
            }
        }
        for (open, close) in [("[", ']'), ("{", '}'), ("#{", '}')] {
            if let Some(inside) = rest.strip_prefix(open) {
                *rest = inside;
                let items = Self::until(close, rest)?;
                return match open {
                    "[" => Some(Self::Vector(items)),
                    "{" => Self::pairs(items),
                    _ => Some(Self::Set(items)),
                };
            }
        }
        let end = if rest.starts_with('"') || rest.starts_with("#\"") { string_end(rest)? } else { atom_end(rest) };
        if end == 0 {
            return None;
        }
        let (atom, after) = rest.split_at(end);
        *rest = after;
        Some(Self::Atom(atom.to_owned()))
    }

    fn until(close: char, rest: &mut &str) -> Option<Vec<Self>> {
        let mut items = Vec::new();
        loop {
            *rest = rest.trim_start();
            if let Some(after) = rest.strip_prefix(close) {
                *rest = after;
                return Some(items);
            }
            items.push(Self::next(rest)?);
        }
    }

    fn pairs(items: Vec<Self>) -> Option<Self> {
        let mut entries = Vec::new();
        let mut items = items.into_iter();
        while let Some(key) = items.next() {
            entries.push((key, items.next()?));
        }
        Some(Self::Map(entries))
    }

    fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Function, Self::Function) => true,
            (Self::Atom(one), Self::Atom(other)) => one == other || same_float(one, other),
            (Self::Vector(one), Self::Vector(other)) => {
                one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.same(other))
            }
            (Self::Set(one), Self::Set(other)) => same_members(one, other, Self::same),
            (Self::Map(one), Self::Map(other)) => {
                same_members(one, other, |one, other| one.0.same(&other.0) && one.1.same(&other.1))
            }
            _ => false,
        }
    }
}

fn same_float(one: &str, other: &str) -> bool {
    let float = |text: &str| text.contains('.').then(|| text.parse::<f64>().ok())?;
    float(one).zip(float(other)).is_some_and(|(one, other)| close(one, other))
}

/// Bytes up to and including the closing quote.
fn string_end(text: &str) -> Option<usize> {
    let start = text.find('"')? + 1;
    let mut escaped = false;
    for (at, c) in text[start..].char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(start + at + 1),
            _ => {}
        }
    }
    None
}

fn atom_end(text: &str) -> usize {
    text.find(|c: char| c.is_whitespace() || "[]{}\"".contains(c)).unwrap_or(text.len())
}
