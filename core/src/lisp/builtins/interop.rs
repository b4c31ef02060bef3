//! Methods of strings in Java notation: `(.length s)`. Positions count grapheme clusters.

use super::parts::{replace_text, split_text};
use super::position::{self, Position, number, offset, position};
use super::regex::{self, Groups};
use super::strings::{self, pass, text};
use super::text_writer::TextWriter;
use super::{Arity, Builtin, Clojure};
use crate::lisp::machine::Machine;
use crate::lisp::{Error, EvalResult};
use crate::reasons::Reason;
use crate::value::Value;
use crate::value::number::{Rounding, whole};

const JAVA: Clojure = Clojure::Differs("Only for strings; indexes count visible characters.");

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    Builtin::new(".length", Arity::exactly(1), java_length)
        .doc(&["(.length s)"], "The number of characters.")
        .examples(&[("(.length \"héllo\")", "5"), ("(.length \"\")", "0")])
        .clojure(JAVA),
    Builtin::new(".substring", Arity::between(2, 3), substring)
        .doc(
            &["(.substring s start)", "(.substring s start end)"],
            "The part from an index up to another; indexes outside of the string are an error.",
        )
        .examples(&[("(.substring \"hello\" 1 3)", "\"el\""), ("(.substring \"hello\" 1)", "\"ello\"")])
        .clojure(JAVA),
    Builtin::new(".indexOf", Arity::between(2, 3), index_of)
        .doc(
            &["(.indexOf s part)", "(.indexOf s part from)"],
            "The index of the first occurrence, at or after `from`; -1 if there is none.",
        )
        .examples(&[("(.indexOf \"hello\" \"l\")", "2"), ("(.indexOf \"abc\" \"z\")", "-1")])
        .clojure(JAVA),
    Builtin::new(".lastIndexOf", Arity::exactly(2), last_index_of)
        .doc(&["(.lastIndexOf s part)"], "The index of the last occurrence; -1 if there is none.")
        .examples(&[("(.lastIndexOf \"hello\" \"l\")", "3"), ("(.lastIndexOf \"abc\" \"z\")", "-1")])
        .clojure(JAVA),
    Builtin::new(".contains", Arity::exactly(2), contains)
        .doc(&["(.contains s part)"], "True if the string contains another.")
        .examples(&[("(.contains \"hello\" \"ell\")", "true"), ("(.contains \"abc\" \"z\")", "false")])
        .clojure(JAVA),
    Builtin::new(".startsWith", Arity::exactly(2), strings::starts_with)
        .doc(&["(.startsWith s start)"], "True if the string begins with another.")
        .examples(&[("(.startsWith \"hello\" \"he\")", "true"), ("(.startsWith \"hello\" \"lo\")", "false")])
        .clojure(JAVA),
    Builtin::new(".endsWith", Arity::exactly(2), strings::ends_with)
        .doc(&["(.endsWith s end)"], "True if the string ends with another.")
        .examples(&[("(.endsWith \"hello\" \"lo\")", "true"), ("(.endsWith \"hello\" \"he\")", "false")])
        .clojure(JAVA),
    Builtin::new(".toLowerCase", Arity::exactly(1), strings::lower_case)
        .doc(&["(.toLowerCase s)"], "The string in lower case.")
        .examples(&[("(.toLowerCase \"ABC\")", "\"abc\""), ("(.toLowerCase \"\")", "\"\"")])
        .clojure(JAVA),
    Builtin::new(".toUpperCase", Arity::exactly(1), strings::upper_case)
        .doc(&["(.toUpperCase s)"], "The string in upper case.")
        .examples(&[("(.toUpperCase \"abc\")", "\"ABC\""), ("(.toUpperCase \"\")", "\"\"")])
        .clojure(JAVA),
    Builtin::new(".trim", Arity::exactly(1), strings::trim)
        .doc(&["(.trim s)"], "The string without white space at both ends.")
        .examples(&[("(.trim \" a \")", "\"a\""), ("(.trim \"\")", "\"\"")])
        .clojure(JAVA),
    Builtin::new(".split", Arity::exactly(2), split)
        .doc(
            &["(.split s regex)"],
            "The parts between the matches of a regex, which may be a string; empty parts at the end are dropped.",
        )
        .examples(&[("(.split \"a,b,,\" \",\")", "[\"a\" \"b\"]"), ("(.split \"a  b\" #\"\\s+\")", "[\"a\" \"b\"]")])
        .clojure(JAVA),
    Builtin::new(".replace", Arity::exactly(3), replace)
        .doc(&["(.replace s part replacement)"], "The string with every occurrence of a text replaced.")
        .examples(&[("(.replace \"a.b.c\" \".\" \"-\")", "\"a-b-c\""), ("(.replace \"abc\" \"z\" \"-\")", "\"abc\"")])
        .clojure(JAVA),
    Builtin::new(".isEmpty", Arity::exactly(1), is_empty)
        .doc(&["(.isEmpty s)"], "True for the empty string.")
        .examples(&[("(.isEmpty \"\")", "true"), ("(.isEmpty \" \")", "false")])
        .clojure(JAVA),
    Builtin::new(".toString", Arity::exactly(1), to_string)
        .doc(&["(.toString value)"], "The value as text, like `str`.")
        .examples(&[("(.toString 5)", "\"5\""), ("(.toString [1 \"a\"])", "\"[1 \\\"a\\\"]\"")])
        .clojure(Clojure::Differs("nil is the empty string.")),
    Builtin::new(".equals", Arity::exactly(2), equals)
        .doc(&["(.equals a b)"], "True if both are equal, including the type of numbers.")
        .examples(&[("(.equals \"a\" \"a\")", "true"), ("(.equals 1 1.0)", "false")]),
];

fn java_length(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let s = text(1, &args[0])?;
    pass(machine, s)?;
    Ok(number(position::length(s)))
}

/// The position in this argument; a float is truncated.
fn rough_position(argument: usize, value: &Value) -> EvalResult<Position> {
    match value {
        Value::Float(float) if float.is_finite() => {
            position(argument, &whole(value, Rounding::Trunc).unwrap_or_default())
        }
        other => position(argument, other),
    }
}

fn substring(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let s = text(1, &args[0])?;
    let start = rough_position(2, &args[1])?;
    let end = args.get(2).map(|end| rough_position(3, end)).transpose()?;
    pass(machine, s)?;
    let within = || -> Option<&str> {
        let Position::At(start) = start else { return None };
        let from = offset(s, start)?;
        let to = match end {
            None => s.len(),
            Some(Position::At(end)) => from + offset(&s[from..], end.checked_sub(start)?)?,
            Some(Position::Before) => return None,
        };
        s.get(from..to)
    };
    match within() {
        Some(part) => Ok(part.into()),
        None => Error::new(
            Reason::TypeError,
            format!("the indexes are out of range for a string of {} characters", position::length(s)),
        )
        .hint("subs never fails")
        .halt(),
    }
}

fn contains(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    match &args[0] {
        Value::List(_) | Value::Set(_) if !machine.is_reference() => {
            let found = super::view::view(&args[0]).position(|item| item == args[1]);
            machine.ticks(found.unwrap_or(1))?;
            Ok(Value::Bool(found.is_some()))
        }
        _ => strings::includes(machine, args),
    }
}

fn index_of(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if let (Value::List(list), false) = (&args[0], machine.is_reference()) {
        machine.ticks(list.len())?;
        return Ok(list.iter().position(|item| *item == args[1]).map_or(Value::Int(-1), number));
    }
    let (s, part) = (text(1, &args[0])?, text(2, &args[1])?);
    let from = match args.get(2).map(|from| position(3, from)).transpose()? {
        Some(Position::At(from)) => from,
        _ => 0,
    };
    pass(machine, s)?;
    Ok(position::first(s, part, from).map_or(Value::Int(-1), number))
}

fn last_index_of(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let (s, part) = (text(1, &args[0])?, text(2, &args[1])?);
    pass(machine, s)?;
    Ok(position::last(s, part, usize::MAX).map_or(Value::Int(-1), number))
}

fn split(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let s = text(1, &args[0])?;
    let parts = match &args[1] {
        Value::Str(separator) if !separator.contains(|c: char| "\\[](){}.*+?^$|".contains(c)) => {
            split_text(machine, s, separator, usize::MAX)?
        }
        other => {
            let pattern = regex::regex_or_text(machine, 2, other)?;
            regex::split(machine, &pattern, s, usize::MAX, Groups::of_split(machine))?
        }
    };
    let Value::List(list) = &parts else { return Ok(parts) };
    let kept = list.iter().rposition(|part| part.as_str() != Some("")).map_or(0, |last| last + 1);
    // A string without a separator is its only part, even if it is empty.
    if kept == list.len() || list.len() == 1 { Ok(parts) } else { Ok(Value::list(list[..kept].iter().cloned())) }
}

fn replace(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let parts = [text(1, &args[0])?, text(2, &args[1])?, text(3, &args[2])?];
    replace_text(machine, &args[0], parts, usize::MAX)
}

fn is_empty(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if args[0].is_container() && !machine.is_reference() {
        return Ok(Value::Bool(super::access::has_none(&args[0])));
    }
    Ok(Value::Bool(text(1, &args[0])?.is_empty()))
}

fn to_string(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let mut out = TextWriter::default();
    out.plain(machine, &args[0])?;
    Ok(out.finish())
}

fn equals(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    Ok(Value::Bool(args[0] == args[1]))
}
