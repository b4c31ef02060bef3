//! `read-string`: reads text as data, never as a program.
//!
//! In: a text in the notation of values. Out: the first value in it. Calls and functions in the text are refused;
//! nothing is run.

use super::{Arity, Builtin, Clojure, Cost};
use crate::lisp::machine::Machine;
use crate::lisp::read::{Budget, read};
use crate::lisp::{Error, EvalResult, Form, Shape, wrong};
use crate::reasons::Reason;
use crate::value::{Map, Value};

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[Builtin::new("read-string", Arity::between(1, 2), read_string)
    .doc(&["(read-string text)"], "The first value written in a text: data only, nothing is run; nil for a blank text.")
    .examples(&[("(read-string \"{:a [1 2.5 \\\"x\\\"]}\")", "{:a [1 2.5 \"x\"]}"), ("(read-string \" \")", "nil")])
    .clojure(Clojure::Differs("As clojure.edn/read-string; lists and symbols are refused."))
    .cost(Cost::Output)
    .current()];

fn read_string(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    // clojure.edn/read-string may have options before the text.
    let position = args.len();
    let value = args.last_mut().map(std::mem::take).unwrap_or_default();
    if value.is_nil() {
        return Ok(Value::Nil);
    }
    let Value::Str(text) = &value else { return Err(wrong(position, "a string", &value)) };
    machine.reserve(text.len().saturating_mul(FORM_BYTES))?;
    machine.ticks(text.len())?;
    let forms = read(text, Budget::of(machine.limits())).map_err(|error| not_data(&error.problem))?;
    match forms.first() {
        Some(form) => data(machine, form),
        None => Ok(Value::Nil),
    }
}

/// Bytes reserved for each byte of the text.
const FORM_BYTES: usize = 8;

#[cold]
fn not_data(problem: &str) -> Error {
    Error::new(Reason::RuntimeError, format!("the text is not data: {problem}"))
        .hint("Write values only: numbers, strings, keywords, [..], {..}, #{..}. JSON is read by json/parse-string")
}

/// The value of a form. The reader bounds the nesting.
fn data(machine: &mut Machine<'_>, form: &Form) -> EvalResult {
    machine.tick()?;
    match &form.shape {
        Shape::Literal(Value::Keyword(word)) => machine.keyword(word.name()).map(Value::Keyword),
        Shape::Literal(value) => Ok(value.clone()),
        Shape::Vector(parts) => {
            parts.iter().map(|part| data(machine, part)).collect::<EvalResult<Vec<_>>>().map(Value::from)
        }
        Shape::Set(parts) => {
            parts.iter().map(|part| data(machine, part)).collect::<EvalResult<Vec<_>>>().map(Value::set)
        }
        Shape::Map(parts) => {
            let mut map = Map::default();
            for pair in parts.chunks_exact(2) {
                let (key, value) = (data(machine, &pair[0])?, data(machine, &pair[1])?);
                map.insert(key, value);
            }
            Ok(map.into())
        }
        Shape::List(parts) if parts.is_empty() => Ok(Vec::new().into()),
        Shape::List(_) => not_data("it contains a call (…)").halt(),
        Shape::Symbol(name) => not_data(&format!("it contains the name `{}`", name.name())).halt(),
        _ => not_data("it contains a function, regex or quote").halt(),
    }
}
