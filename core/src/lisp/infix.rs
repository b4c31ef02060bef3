//! Calls in the notation of other languages, such as `(a > b)`: the hint that shows how to write them.
//!
//! In: a call that failed, because its first part is not a function. Out: the hint, if its second part is an operator.

use super::{Budget, Form, Shape, read};
use crate::value::Keyword;

/// Functions that other languages write between their arguments.
const OPERATORS: &[&str] =
    &["+", "-", "*", "/", ">", "<", ">=", "<=", "=", "==", "not=", "!=", "and", "or", "mod", "rem", "quot"];

/// Bytes shown of a literal.
const BRIEF: usize = 20;

/// The hint for a call with this text.
#[cold]
pub(super) fn hint_of_text(text: &str) -> Option<String> {
    let forms = read(text, Budget::default()).ok()?;
    let (first, rest) = forms.first()?.list()?.split_first()?;
    hint_of(&shown(first), rest)
}

/// The hint for a call of this name with these arguments.
#[cold]
pub(super) fn hint(head: Keyword, args: &[Form]) -> Option<String> {
    hint_of(head.name(), args)
}

fn hint_of(first: &str, rest: &[Form]) -> Option<String> {
    let [operator, second] = rest else { return None };
    let operator = operator.symbol().filter(|name| OPERATORS.contains(name))?;
    Some(format!("A function comes first: ({operator} {first} {})", shown(second)))
}

/// A part of the call, if it is short.
fn shown(form: &Form) -> String {
    match &form.shape {
        Shape::Symbol(name) => name.name().to_owned(),
        Shape::Literal(value) => value.brief(BRIEF),
        Shape::List(parts) => {
            let head = parts.first().and_then(Form::symbol).unwrap_or_default();
            format!("({head} …)")
        }
        _ => "…".to_owned(),
    }
}
