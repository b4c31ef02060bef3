//! Whole strings: case, white space, lines, and tests for substrings.

use super::position::next;
use super::{Arity, Builtin, Clojure};
use crate::lisp::machine::Machine;
use crate::lisp::{EvalResult, wrong};
use crate::value::Value;

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    Builtin::new("upper-case", Arity::exactly(1), upper_case)
        .calls_nothing()
        .doc(&["(upper-case s)"], "The string in upper case.")
        .examples(&[("(upper-case \"abc\")", "\"ABC\""), ("(upper-case \"straße\")", "\"STRASSE\"")])
        .clojure(Clojure::Named("clojure.string/upper-case")),
    Builtin::new("upcase", Arity::exactly(1), upper_case)
        .doc(&["(upcase s)"], "The string in upper case.")
        .examples(&[("(upcase \"abc\")", "\"ABC\""), ("(upcase \"\")", "\"\"")])
        .clojure(Clojure::Extension),
    Builtin::new("lower-case", Arity::exactly(1), lower_case)
        .calls_nothing()
        .doc(&["(lower-case s)"], "The string in lower case.")
        .examples(&[("(lower-case \"ABC\")", "\"abc\""), ("(lower-case \"ÀB\")", "\"àb\"")])
        .clojure(Clojure::Named("clojure.string/lower-case")),
    Builtin::new("downcase", Arity::exactly(1), lower_case)
        .doc(&["(downcase s)"], "The string in lower case.")
        .examples(&[("(downcase \"ABC\")", "\"abc\""), ("(downcase \"\")", "\"\"")])
        .clojure(Clojure::Extension),
    Builtin::new("capitalize", Arity::exactly(1), capitalize)
        .doc(&["(capitalize s)"], "The first character in upper case, the others in lower case.")
        .examples(&[("(capitalize \"hELLO world\")", "\"Hello world\""), ("(capitalize \"\")", "\"\"")])
        .clojure(Clojure::Named("clojure.string/capitalize")),
    Builtin::new("trim", Arity::exactly(1), trim)
        .calls_nothing()
        .doc(&["(trim s)"], "The string without white space at both ends.")
        .examples(&[("(trim \"  a b \")", "\"a b\""), ("(trim \"a\\n\")", "\"a\"")])
        .clojure(Clojure::Named("clojure.string/trim")),
    Builtin::new("triml", Arity::exactly(1), triml)
        .doc(&["(triml s)"], "The string without white space at its start.")
        .examples(&[("(triml \"  a \")", "\"a \""), ("(triml \"\")", "\"\"")])
        .clojure(Clojure::Named("clojure.string/triml")),
    Builtin::new("trimr", Arity::exactly(1), trimr)
        .doc(&["(trimr s)"], "The string without white space at its end.")
        .examples(&[("(trimr \"  a \")", "\"  a\""), ("(trimr \"a\\n\\n\")", "\"a\"")])
        .clojure(Clojure::Named("clojure.string/trimr")),
    Builtin::new("trim-newline", Arity::exactly(1), trim_newline)
        .doc(&["(trim-newline s)"], "The string without newlines and carriage returns at its end.")
        .examples(&[("(trim-newline \"a\\r\\n\\n\")", "\"a\""), ("(trim-newline \" a \")", "\" a \"")])
        .clojure(Clojure::Named("clojure.string/trim-newline")),
    Builtin::new("split-lines", Arity::exactly(1), split_lines)
        .doc(&["(split-lines s)"], "The lines of a string; empty ones at the end are dropped.")
        .examples(&[("(split-lines \"a\\nb\\r\\nc\\n\\n\")", "[\"a\" \"b\" \"c\"]"), ("(split-lines \"\")", "[\"\"]")])
        .clojure(Clojure::Named("clojure.string/split-lines")),
    Builtin::new("blank?", Arity::exactly(1), is_blank)
        .doc(&["(blank? s)"], "True if the string is nil, empty or only white space.")
        .examples(&[("(blank? \" \\n\")", "true"), ("(blank? nil)", "true"), ("(blank? \"a\")", "false")])
        .clojure(Clojure::Named("clojure.string/blank?")),
    Builtin::new("starts-with?", Arity::exactly(2), starts_with)
        .calls_nothing()
        .doc(&["(starts-with? s start)"], "True if the string begins with another.")
        .examples(&[("(starts-with? \"hello\" \"he\")", "true"), ("(starts-with? \"\" \"a\")", "false")])
        .clojure(Clojure::Named("clojure.string/starts-with?")),
    Builtin::new("ends-with?", Arity::exactly(2), ends_with)
        .calls_nothing()
        .doc(&["(ends-with? s end)"], "True if the string ends with another.")
        .examples(&[("(ends-with? \"hello\" \"lo\")", "true"), ("(ends-with? \"hello\" \"he\")", "false")])
        .clojure(Clojure::Named("clojure.string/ends-with?")),
    Builtin::new("includes?", Arity::exactly(2), includes)
        .calls_nothing()
        .doc(&["(includes? s part)"], "True if the string contains another.")
        .examples(&[("(includes? \"hello\" \"ell\")", "true"), ("(includes? \"hello\" \"\")", "true")])
        .clojure(Clojure::Named("clojure.string/includes?")),
];

/// The text in argument `position`; anything but a string is a `type_error`.
pub(super) fn text(position: usize, value: &Value) -> EvalResult<&str> {
    value.as_str().ok_or_else(|| wrong(position, "a string", value))
}

/// Charges steps for one pass over a text.
pub(super) fn pass(machine: &mut Machine<'_>, text: &str) -> EvalResult<()> {
    machine.ticks(1 + text.len() / 16)
}

/// A part of the string in `value`: the value itself if the part is all of it.
fn part(value: &Value, part: &str) -> Value {
    match value {
        Value::Str(whole) if whole.len() == part.len() => value.clone(),
        _ => Value::from(part),
    }
}

pub(super) fn upper_case(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let s = text(1, &args[0])?;
    pass(machine, s)?;
    Ok(s.to_uppercase().into())
}

pub(super) fn lower_case(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let s = text(1, &args[0])?;
    pass(machine, s)?;
    // Character by character: the sigma at the end of a word gets no special form (as in the suite's reference).
    Ok(s.chars().flat_map(char::to_lowercase).collect::<String>().into())
}

fn capitalize(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let s = text(1, &args[0])?;
    pass(machine, s)?;
    let (first, rest) = s.split_at(next(s));
    Ok(Value::from(first.to_uppercase() + &rest.to_lowercase()))
}

pub(super) fn trim(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let s = text(1, &args[0])?;
    pass(machine, s)?;
    Ok(part(&args[0], s.trim_matches(char::is_whitespace)))
}

fn triml(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let s = text(1, &args[0])?;
    pass(machine, s)?;
    Ok(part(&args[0], s.trim_start_matches(char::is_whitespace)))
}

fn trimr(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let s = text(1, &args[0])?;
    pass(machine, s)?;
    Ok(part(&args[0], s.trim_end_matches(char::is_whitespace)))
}

fn trim_newline(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let s = text(1, &args[0])?;
    pass(machine, s)?;
    Ok(part(&args[0], s.trim_end_matches(['\n', '\r'])))
}

fn split_lines(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let s = text(1, &args[0])?;
    pass(machine, s)?;
    let mut lines: Vec<Value> = Vec::new();
    for line in s.split('\n') {
        machine.tick()?;
        lines.push(line.strip_suffix('\r').unwrap_or(line).into());
    }
    // The last part has no newline after it, so a carriage return there belongs to it.
    if let (Some(last), Some(tail)) = (lines.last_mut(), s.rsplit('\n').next()) {
        *last = tail.into();
    }
    while lines.len() > 1 && lines.last().is_some_and(|line| line.as_str() == Some("")) {
        lines.pop();
    }
    if !s.is_empty() && lines.len() == 1 && lines.last().is_some_and(|line| line.as_str() == Some("")) {
        lines.clear();
    }
    Ok(lines.into())
}

fn is_blank(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if args[0].is_nil() {
        return Ok(Value::Bool(true));
    }
    let s = text(1, &args[0])?;
    pass(machine, s)?;
    Ok(Value::Bool(s.chars().all(char::is_whitespace)))
}

pub(super) fn starts_with(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    Ok(Value::Bool(text(1, &args[0])?.starts_with(text(2, &args[1])?)))
}

pub(super) fn ends_with(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    Ok(Value::Bool(text(1, &args[0])?.ends_with(text(2, &args[1])?)))
}

pub(super) fn includes(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let (s, other) = (text(1, &args[0])?, text(2, &args[1])?);
    pass(machine, s)?;
    Ok(Value::Bool(s.contains(other)))
}
