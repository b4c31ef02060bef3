//! Consistency of the table: each example gives the result it states. The laws of sequence functions are in files of
//! their own.

mod sequence;

use super::FunctionUse;
use crate::lisp::Limits;
use crate::lisp::machine::{Callable, PartUse};
use crate::lisp::{CallAddress, Dialect, Error, Failure, Host, Input, run};
use crate::value::Value;

/// A host without tools whose clock does not move.
struct FixedClock;

impl Host for FixedClock {
    fn call(&self, _: &CallAddress, tool: &str, _: &Value) -> Result<Value, Failure> {
        Err(Failure::Tool(format!("there is no tool {tool}")))
    }

    fn interrupt(&self) -> Option<Error> {
        None
    }

    fn now_ms(&self) -> i64 {
        1_700_000_000_000
    }
}

/// The value of a program that reads `data/…` from the context.
fn value(source: &str, context: &Value) -> Result<Value, Error> {
    let limits = Limits::default();
    run(&Input { context, ..Input::new(source, &limits) }, &FixedClock).result.map(|(_, value)| value)
}

/// The outcome of a program in the dialect `reference`.
fn in_reference(source: &str) -> String {
    let limits = Limits::default();
    let input = Input { dialect: Dialect::Reference, ..Input::new(source, &limits) };
    match run(&input, &FixedClock).result {
        Ok((_, value)) => value.to_string(),
        Err(error) => format!("!{}", error.reason),
    }
}

/// The outcome of a program as text: the readable form of its value, or `!` and the reason of its error.
fn outcome(source: &str) -> String {
    match value(source, &Value::Nil) {
        Ok(value) => value.to_string(),
        Err(error) => format!("!{}", error.reason),
    }
}

/// Checks the outcomes of programs; the message lists all mismatches.
#[track_caller]
fn check<'a>(cases: impl IntoIterator<Item = (&'a str, &'a str)>) {
    let broken: Vec<String> = cases
        .into_iter()
        .map(|(source, wanted)| (source, wanted, outcome(source)))
        .filter(|(_, wanted, got)| got != wanted)
        .map(|(source, wanted, got)| format!("{source}\n  wanted {wanted}\n  got    {got}"))
        .collect();
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn every_example_gives_its_stated_result() {
    check(super::rows().flat_map(|row| row.examples).copied());
}

#[test]
fn a_function_of_a_maker_is_marked_as_calling_only_its_parts() {
    for row in super::rows().filter(|row| row.is_maker()) {
        let parts = if row.arity.allows(2) { "inc dec" } else { "inc" };
        let made = value(&format!("({} {parts})", row.name), &Value::Nil);
        let calls = match made.as_ref().map(Callable::of_value) {
            Ok(Some(Callable::Bound(bound))) => bound.calls,
            _ => PartUse::Any,
        };
        assert_eq!(calls, PartUse::Builtins, "{}: {made:?}", row.name);
    }
}

#[test]
fn a_function_argument_is_among_the_arguments_of_its_builtin() {
    for row in super::rows() {
        if let FunctionUse::Argument(at) = row.calls {
            assert!(row.arity.max.is_none_or(|max| at < max), "{}", row.name);
        }
    }
}

#[test]
fn unusual_arguments_have_the_listed_outcomes() {
    let lines = include_str!("tests/inputs.txt").lines().filter(|line| !line.is_empty() && !line.starts_with(';'));
    check(lines.map(|line| line.rsplit_once(" => ").expect("a line is a program and its outcome")));
}
