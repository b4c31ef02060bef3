//! Values as text, and names: `str`, `pr-str`, `name`, `keyword`.

use super::text_writer::TextWriter;
use super::{Arity, Builtin, Clojure, Cost};
use crate::lisp::machine::Machine;
use crate::lisp::{Error, EvalResult, described, wrong};
use crate::reasons::Reason;
use crate::value::Value;

/// Longest name of a keyword made at run time. Keywords are kept until the process ends.
const NAME_BYTES: usize = 255;

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    Builtin::new("str", Arity::from(0), str)
        .calls_nothing()
        .doc(&["(str & xs)"], "The values as one text: strings without quotes, nothing for nil.")
        .examples(&[
            ("(str \"a\" 1 :k nil)", "\"a1:k\""),
            ("(str 0.5 [1 \"x\"])", "\"0.5[1 \\\"x\\\"]\""),
            ("(str 1e20)", "\"1.0e20\""),
            ("(str)", "\"\""),
        ])
        .cost(Cost::Output)
        .clojure(Clojure::Differs("large and small floats are written like 1.0e20")),
    Builtin::new("pr-str", Arity::from(0), pr_str)
        .doc(&["(pr-str & xs)"], "The values in readable form, with spaces between them.")
        .examples(&[("(pr-str \"a\" 1 nil)", "\"\\\"a\\\" 1 nil\""), ("(pr-str {:a \"x\"})", "\"{:a \\\"x\\\"}\"")])
        .cost(Cost::Output)
        .clojure(Clojure::Differs("maps are sorted and have no commas; floats have at most 10 decimals")),
    Builtin::new("prn-str", Arity::from(0), prn_str)
        .doc(&["(prn-str & xs)"], "Like pr-str, with a line break at the end.")
        .examples(&[("(prn-str \"a\" 1)", "\"\\\"a\\\" 1\\n\"")])
        .cost(Cost::Output)
        .clojure(Clojure::Differs("maps are sorted and have no commas; floats have at most 10 decimals"))
        .current(),
    Builtin::new("name", Arity::exactly(1), name)
        .calls_nothing()
        .doc(&["(name x)"], "The name of a keyword or symbol without its namespace; a string unchanged.")
        .examples(&[("(name :a)", "\"a\""), ("(name \"s\")", "\"s\"")])
        .cost(Cost::Constant)
        .clojure(Clojure::Same),
    Builtin::new("namespace", Arity::exactly(1), namespace)
        .doc(&["(namespace k)"], "The part of a keyword or symbol before the slash, or nil.")
        .examples(&[("(namespace :order/id)", "\"order\""), ("(namespace :id)", "nil")])
        .cost(Cost::Constant)
        .current(),
    Builtin::new("keyword", Arity::between(1, 2), keyword)
        .calls_nothing()
        .takes_in_reference(Arity::exactly(1))
        .doc(
            &["(keyword name)", "(keyword namespace name)"],
            "The keyword of a name, which is a text without control characters.",
        )
        .examples(&[("(keyword \"user-id\")", ":user-id"), ("(keyword :a)", ":a"), ("(keyword nil)", "nil")])
        .cost(Cost::Constant)
        .clojure(Clojure::Differs("other names are an error")),
];

fn str(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if let [Value::Str(_)] = args {
        return Ok(std::mem::take(&mut args[0]));
    }
    joined(machine, args.iter())
}

/// `str` of several values, which are not consumed.
pub(crate) fn joined<'v>(machine: &mut Machine<'_>, values: impl Iterator<Item = &'v Value> + Clone) -> EvalResult {
    let mut text = TextWriter::of(values.clone());
    for value in values {
        text.plain(machine, value)?;
    }
    Ok(text.finish())
}

fn pr_str(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    readable(machine, args, "")
}

fn prn_str(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    readable(machine, args, "\n")
}

/// The values in readable form with spaces between them, and `end` after them.
fn readable(machine: &mut Machine<'_>, args: &[Value], end: &str) -> EvalResult {
    let mut text = TextWriter::default();
    for (place, arg) in args.iter().enumerate() {
        if place > 0 {
            text.push(machine, " ")?;
        }
        text.readable(machine, arg)?;
    }
    text.push(machine, end)?;
    Ok(text.finish())
}

fn name(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    match std::mem::take(&mut args[0]) {
        Value::Keyword(word) => Ok(Value::str(local_name(word.name()))),
        Value::Symbol(word) if !machine.is_reference() => Ok(Value::str(local_name(word.name()))),
        text @ Value::Str(_) => Ok(text),
        other => Error::new(
            Reason::RuntimeError,
            format!("argument 1 must be a keyword or string, got {}", described(&other)),
        )
        .hint("str converts any value to text")
        .halt(),
    }
}

/// The namespace of a name and the name in it.
fn split(name: &str) -> Option<(&str, &str)> {
    name.split_once('/').filter(|(namespace, _)| !namespace.is_empty())
}

/// A name without its namespace.
fn local_name(name: &str) -> &str {
    split(name).map_or(name, |(_, local)| local)
}

fn namespace(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    match &args[0] {
        Value::Keyword(word) | Value::Symbol(word) => {
            Ok(split(word.name()).map_or(Value::Nil, |(namespace, _)| Value::str(namespace)))
        }
        other => Err(wrong(1, "a keyword or symbol", other)),
    }
}

pub(super) fn keyword(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if let [namespace, name] = args {
        let whole = match (&*namespace, &*name) {
            (Value::Nil, Value::Str(name)) => name.to_string(),
            (Value::Str(namespace), Value::Str(name)) => format!("{namespace}/{name}"),
            (Value::Str(_), other) => return Err(wrong(2, "a string", other)),
            (other, _) => return Err(wrong(1, "a string", other)),
        };
        return keyword(machine, &mut [whole.into()]);
    }
    match &args[0] {
        Value::Nil | Value::Keyword(_) => Ok(std::mem::take(&mut args[0])),
        Value::Str(name) if is_name(name) => machine.keyword(name).map(Value::Keyword),
        Value::Str(name) if !machine.is_reference() && is_free_name(name) => machine.keyword(name).map(Value::Keyword),
        Value::Symbol(name) if !machine.is_reference() => machine.keyword(name.name()).map(Value::Keyword),
        Value::Str(name) if name.len() > NAME_BYTES => {
            let problem = format!("the name of a keyword has at most {NAME_BYTES} bytes, got {}", name.len());
            Error::new(Reason::RuntimeError, problem).hint("Use strings as keys").halt()
        }
        Value::Str(name) => {
            Error::new(Reason::RuntimeError, format!("{} is not a valid keyword name", args[0])).hint(hint(name)).halt()
        }
        other => {
            let problem = format!("argument 1 must be a string, got {}", described(other));
            Error::new(Reason::RuntimeError, problem).halt()
        }
    }
}

fn is_name(name: &str) -> bool {
    name.len() <= NAME_BYTES
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_?!".contains(&byte))
}

/// True for any name that data may have as a key.
fn is_free_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= NAME_BYTES && !name.contains(char::is_control)
}

/// The hint for a name with invalid characters.
fn hint(name: &str) -> String {
    let close: String = name.chars().map(|one| if one.is_ascii_alphanumeric() { one } else { '-' }).collect();
    let close = close.trim_matches('-');
    if is_name(close) {
        format!("Use the string as key, or a name like {close:?}")
    } else {
        "Use the string as key".to_owned()
    }
}
