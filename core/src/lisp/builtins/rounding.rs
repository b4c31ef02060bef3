//! Signs, whole numbers, floats, roots and powers.

use super::argument::hinted;
use super::{Arity, Builtin, Clojure, Cost};
use crate::lisp::arithmetic::{self, failed};
use crate::lisp::machine::Machine;
use crate::lisp::{Error, EvalResult, Halt, described};
use crate::reasons::Reason;
use crate::value::Value;
use crate::value::number::{self, NumberError, Rounding};

const MATH: Clojure = Clojure::Differs("also for integers, and returns an integer");

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    unary("abs", |machine, args| arithmetic::unary(machine, number::abs, &args[0], Reason::RuntimeError))
        .calls_nothing()
        .doc(&["(abs x)"], "The absolute value.")
        .examples(&[("(abs -5)", "5"), ("(abs -1.5)", "1.5")]),
    unary("floor", |_, args| rounded(&args[0], Rounding::Floor))
        .doc(&["(floor x)"], "The largest integer that is at most the number.")
        .examples(&[("(floor 1.5)", "1"), ("(floor -1.5)", "-2"), ("(floor ##Inf)", "##Inf")])
        .clojure(MATH),
    unary("ceil", |_, args| rounded(&args[0], Rounding::Ceil))
        .doc(&["(ceil x)"], "The smallest integer that is at least the number.")
        .examples(&[("(ceil 1.2)", "2"), ("(ceil -1.5)", "-1")])
        .clojure(MATH),
    unary("round", |_, args| rounded(&args[0], Rounding::Nearest))
        .doc(&["(round x)"], "The nearest integer, halves away from zero.")
        .examples(&[("(round 2.5)", "3"), ("(round -0.5)", "-1"), ("(round ##NaN)", "##NaN")])
        .clojure(MATH),
    unary("trunc", |_, args| rounded(&args[0], Rounding::Trunc))
        .doc(&["(trunc x)"], "The integer part of the number.")
        .examples(&[("(trunc 1.9)", "1"), ("(trunc -1.9)", "-1")])
        .clojure(Clojure::Extension),
    unary("int", |_, args| integer(&args[0], i64::from(i32::MIN)..=i64::from(i32::MAX)))
        .doc(&["(int x)"], "The integer part, which must fit 32 bits; of a one-character string its code point.")
        .examples(&[("(int 3.9)", "3"), ("(int -1.5)", "-1"), ("(int \"A\")", "65"), ("(int ##NaN)", "0")])
        .clojure(Clojure::Differs("characters are strings")),
    unary("long", |_, args| integer(&args[0], i64::MIN..=i64::MAX))
        .doc(&["(long x)"], "The integer part, which must fit 64 bits; of a one-character string its code point.")
        .examples(&[("(long 3.7)", "3"), ("(long 3.7e10)", "37000000000"), ("(long \"A\")", "65")])
        .clojure(Clojure::Differs("characters are strings")),
    unary("double", |_, args| to_double(&args[0]))
        .doc(&["(double x)"], "The number as a float.")
        .examples(&[("(double 3)", "3.0"), ("(double 1.5)", "1.5")]),
    unary("float", |_, args| to_double(&args[0]))
        .doc(&["(float x)"], "The number as a float.")
        .examples(&[("(float 3)", "3.0"), ("(float -5)", "-5.0")])
        .clojure(Clojure::Differs("floats have 64 bits")),
    unary("sqrt", |_, args| of_float(&args[0], f64::sqrt))
        .doc(&["(sqrt x)"], "The square root as a float, NaN for a negative number.")
        .examples(&[("(sqrt 9)", "3.0"), ("(sqrt 2)", "1.4142135624"), ("(sqrt -1)", "##NaN")])
        .clojure(Clojure::Named("clojure.math/sqrt")),
    Builtin::new("pow", Arity::exactly(2), pow)
        .cost(Cost::Constant)
        .doc(&["(pow base exponent)"], "The power as a float.")
        .examples(&[("(pow 2 10)", "1024.0"), ("(pow 2 -1)", "0.5"), ("(pow 10 400)", "##Inf")])
        .clojure(Clojure::Named("clojure.math/pow")),
];

const fn unary(name: &'static str, run: fn(&mut Machine<'_>, &mut [Value]) -> EvalResult) -> Builtin {
    Builtin::new(name, Arity::exactly(1), run).cost(Cost::Constant)
}

fn to_double(value: &Value) -> EvalResult {
    number::to_double(value).map_err(|error| not_converted(error, value))
}

fn rounded(value: &Value, rounding: Rounding) -> EvalResult {
    number::whole(value, rounding).map_err(|error| not_converted(error, value))
}

/// The error of a conversion; of a string it names the function that reads a number.
#[cold]
fn not_converted(error: NumberError, value: &Value) -> Box<Halt> {
    let halt = failed(error, Reason::RuntimeError, 0, &[value]);
    if value.as_str().is_some() { hinted(halt, "parse-double reads a number from text") } else { halt }
}

fn of_float(value: &Value, compute: fn(f64) -> f64) -> EvalResult {
    float(value, 1).map(|float| Value::Float(compute(float)))
}

fn pow(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let (base, exponent) = (float(&args[0], 1)?, float(&args[1], 2)?);
    // As in Java; IEEE 754 gives 1 for a base of 1.
    let one = |number: f64| matches!(number.total_cmp(&1.0), std::cmp::Ordering::Equal);
    let unknown = (exponent.is_infinite() && one(base.abs())) || (one(base) && exponent.is_nan());
    Ok(Value::Float(if unknown { f64::NAN } else { base.powf(exponent) }))
}

fn float(value: &Value, position: u8) -> EvalResult<f64> {
    number::as_float(value).ok_or_else(|| {
        let problem = format!("argument {position} must be a number, got {}", described(value));
        Error::new(Reason::RuntimeError, problem).into()
    })
}

fn integer(value: &Value, range: std::ops::RangeInclusive<i64>) -> EvalResult {
    let whole = match value {
        Value::Str(text) => return code_point(text, value),
        Value::Float(float) if float.is_nan() => return Ok(Value::Int(0)),
        other => rounded(other, Rounding::Trunc)?,
    };
    match whole {
        Value::Int(int) if range.contains(&int) => Ok(Value::Int(int)),
        _ => {
            let (from, to) = range.into_inner();
            let problem = format!("argument 1 must be between {from} and {to}");
            Error::new(Reason::ArithmeticError, problem).hint("Use trunc for integers of any size").halt()
        }
    }
}

fn code_point(text: &str, value: &Value) -> EvalResult {
    let mut chars = text.chars();
    if let (Some(one), None) = (chars.next(), chars.next()) {
        return Ok(Value::Int(i64::from(u32::from(one))));
    }
    let problem = format!("argument 1 must be a number or a string of one character, got {}", described(value));
    Error::new(Reason::RuntimeError, problem).hint("parse-long reads a number from text").halt()
}
