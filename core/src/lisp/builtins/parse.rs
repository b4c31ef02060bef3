//! Numbers and booleans from text.

use super::exceptions::raise_class;
use super::{Arity, Builtin, Clojure};
use crate::lisp::machine::Machine;
use crate::lisp::{EvalResult, wrong};
use crate::value::Value;
use crate::value::number::{parse_double, parse_long};

/// Longest text that is parsed as a number; every number in range fits.
const LONGEST: usize = 90_400;

const LENIENT: Clojure = Clojure::Differs("nil also for values that are not strings");

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    Builtin::new("parse-long", Arity::exactly(1), |machine, args| read(machine, &args[0], parse_long))
        .doc(&["(parse-long s)"], "The integer in a string, within 64 bits; nil if there is none.")
        .examples(&[("(parse-long \"42\")", "42"), ("(parse-long \"-7\")", "-7"), ("(parse-long \"4.2\")", "nil")])
        .clojure(LENIENT),
    Builtin::new("parse-int", Arity::exactly(1), |machine, args| read(machine, &args[0], parse_long))
        .doc(&["(parse-int s)"], "The same as parse-long.")
        .examples(&[("(parse-int \"42\")", "42"), ("(parse-int \"abc\")", "nil")])
        .clojure(Clojure::Named("parse-long")),
    Builtin::new("parse-double", Arity::exactly(1), |machine, args| read(machine, &args[0], parse_double))
        .doc(&["(parse-double s)"], "The float in a string; nil if there is none.")
        .examples(&[
            ("(parse-double \"3.14\")", "3.14"),
            ("(parse-double \"3\")", "3.0"),
            ("(parse-double \"1e3\")", "1000.0"),
            ("(parse-double \".5\")", "nil"),
        ])
        .clojure(LENIENT),
    Builtin::new("parse-boolean", Arity::exactly(1), parse_boolean)
        .doc(&["(parse-boolean s)"], "true for \"true\", false for \"false\", nil for everything else.")
        .examples(&[("(parse-boolean \"true\")", "true"), ("(parse-boolean \"TRUE\")", "nil")])
        .clojure(LENIENT),
    Builtin::new("Double/parseDouble", Arity::exactly(1), |machine, args| {
        let parsed = read(machine, &args[0], parse_double)?;
        number_or_exception(machine, &args[0], parsed)
    })
    .doc(
        &["(Double/parseDouble s)"],
        "The float in a string; if there is none, nil, and inside `try` a NumberFormatException.",
    )
    .examples(&[
        ("(Double/parseDouble \"2.5\")", "2.5"),
        (
            "(try (Double/parseDouble \"x\") (catch NumberFormatException e (ex-message e)))",
            "\"For input string: \\\"x\\\"\"",
        ),
    ])
    .clojure(Clojure::Differs("Without try nil for a text that is not a number."))
    .current(),
    Builtin::new("Boolean/parseBoolean", Arity::exactly(1), java_boolean)
        .doc(&["(Boolean/parseBoolean s)"], "true for \"true\" in any case, false for other strings and nil.")
        .examples(&[("(Boolean/parseBoolean \"TRUE\")", "true"), ("(Boolean/parseBoolean nil)", "false")])
        .clojure(Clojure::Same),
];

fn read(machine: &mut Machine<'_>, value: &Value, parse: fn(&str) -> Option<Value>) -> EvalResult {
    let Some(text) = value.as_str().filter(|text| text.len() <= LONGEST) else { return Ok(Value::Nil) };
    machine.ticks(text.len() / 4)?;
    Ok(parse(text).unwrap_or_default())
}

/// A number that Java would read from a value: inside `try` its absence is an exception, as programs expect that catch it.
/// Elsewhere it is nil, as in the dialect `reference`.
pub(super) fn number_or_exception(machine: &Machine<'_>, source: &Value, parsed: Value) -> EvalResult {
    if parsed.is_nil() && machine.may_catch() {
        return raise_class("NumberFormatException", format!("For input string: {}", source.brief(60)));
    }
    Ok(parsed)
}

fn parse_boolean(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    Ok(match args[0].as_str() {
        Some("true") => Value::Bool(true),
        Some("false") => Value::Bool(false),
        _ => Value::Nil,
    })
}

fn java_boolean(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    match &args[0] {
        Value::Nil => Ok(Value::Bool(false)),
        Value::Str(text) => Ok(Value::Bool(text.eq_ignore_ascii_case("true"))),
        other => Err(wrong(1, "a string or nil", other)),
    }
}
