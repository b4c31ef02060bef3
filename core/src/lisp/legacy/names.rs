//! The names that a program binds anywhere. Old forms of these names are not translated.

use std::collections::HashSet;

use super::parts;
use crate::lisp::{Form, Shape};
use crate::value::{Keyword, Value};

/// All names bound by definitions, functions and binding vectors, at any depth.
pub(super) fn bound(forms: &[Form]) -> HashSet<Keyword> {
    let mut names = HashSet::new();
    let mut left: Vec<&Form> = forms.iter().collect();
    while let Some(form) = left.pop() {
        if let Some([head, rest @ ..]) = form.list()
            && let Some(head) = head.symbol()
        {
            of_form(head, rest, &mut names);
        }
        left.extend(parts(form));
    }
    names
}

fn of_form(head: &str, rest: &[Form], names: &mut HashSet<Keyword>) {
    let vector = rest.iter().find_map(|form| match &form.shape {
        Shape::Vector(items) => Some(&**items),
        _ => None,
    });
    match head {
        "def" | "defonce" | "defn" | "fn" => {
            names.extend(rest.first().and_then(Form::name));
            if matches!(head, "defn" | "fn") {
                vector.unwrap_or_default().iter().for_each(|pattern| of_pattern(pattern, names));
            }
        }
        "let" | "loop" | "for" | "doseq" | "if-let" | "if-some" | "when-let" | "when-some" | "when-first" => {
            of_bindings(vector.unwrap_or_default(), names);
        }
        "as->" => names.extend(rest.get(1).and_then(Form::name)),
        "memory/put" => {
            if let Some(Shape::Literal(Value::Keyword(key))) = rest.first().map(|key| &key.shape) {
                names.insert(*key);
            }
        }
        _ => {}
    }
}

fn of_bindings(bindings: &[Form], names: &mut HashSet<Keyword>) {
    for pair in bindings.chunks(2) {
        match pair {
            [Form { shape: Shape::Literal(_), .. }, Form { shape: Shape::Vector(inner), .. }] => {
                inner.iter().step_by(2).for_each(|pattern| of_pattern(pattern, names));
            }
            [pattern, ..] => of_pattern(pattern, names),
            [] => {}
        }
    }
}

/// Every symbol of a pattern, and every keyword of `:keys [:a]`.
fn of_pattern(pattern: &Form, names: &mut HashSet<Keyword>) {
    let mut left = vec![pattern];
    while let Some(form) = left.pop() {
        match &form.shape {
            Shape::Symbol(name) | Shape::Literal(Value::Keyword(name)) => _ = names.insert(*name),
            _ => left.extend(parts(form)),
        }
    }
}
