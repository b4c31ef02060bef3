//! Conversions at the boundary, in readable form.

use super::*;
use crate::lisp::Limits;
use crate::lisp::machine::SharedCounters;
use crate::lisp::{CallAddress, Failure, Host};
use crate::value::{Date, Duration, Instant};

struct NoHost;

impl Host for NoHost {
    fn call(&self, _: &CallAddress, _: &str, _: &Value) -> Result<Value, Failure> {
        Ok(Value::Nil)
    }

    fn interrupt(&self) -> Option<Error> {
        None
    }

    fn now_ms(&self) -> i64 {
        0
    }
}

fn arguments(value: &Value) -> EvalResult<(Value, Vec<String>)> {
    let shared = SharedCounters::default();
    let mut machine = Machine::new(&NoHost, &shared, Limits::default());
    tool_args(&mut machine, value)
}

fn key(name: &str) -> Value {
    Value::keyword(name)
}

fn deep(levels: usize, leaf: Value) -> Value {
    (0..levels).fold(leaf, |inner, _| Value::list([inner]))
}

#[test]
fn keywords_become_names_at_every_depth_and_nothing_else_changes() {
    let value = Value::map([
        (key("user-id"), key("admin")),
        (Value::Int(1), Value::list([Value::set([key("a"), Value::Int(2)]), Value::Float(1.5)])),
        (Value::list([key("k")]), Value::Nil),
    ]);
    let (out, warnings) = externalize(&value);
    assert_eq!(out.to_string(), r#"{1 [#{2 "a"} 1.5] ["k"] nil "user-id" "admin"}"#);
    assert!(warnings.is_empty());
}

#[test]
fn of_a_keyword_and_a_string_key_the_string_wins_and_is_reported() {
    let value = Value::map([(key("age"), Value::Int(1)), (Value::str("age"), Value::Int(2))]);
    let (out, warnings) = externalize(&Value::list([value]));
    assert_eq!(out.to_string(), r#"[{"age" 2}]"#);
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("\"age\""), "{warnings:?}");
}

#[test]
fn floats_are_rounded_in_lists_and_maps_but_not_in_keys_and_sets() {
    let value = Value::map([
        (Value::Float(0.125), Value::list([Value::Float(2.345_67), Value::Float(-0.125), Value::Int(7)])),
        (Value::str("s"), Value::set([Value::Float(1.234)])),
    ]);
    assert_eq!(rounded(&value, 2).to_string(), r#"{0.125 [2.35 -0.13 7] "s" #{1.234}}"#);
    assert_eq!(rounded(&Value::Float(2.5), 0).to_string(), "3.0");
}

#[test]
fn arguments_have_string_keys_with_underscores_and_plain_data() {
    let value = Value::map([
        (key("user-id"), Value::map([(Value::str("x-y"), key("v"))])),
        (Value::Int(1), Value::set([Value::Int(3), key("a"), Value::Int(2)])),
        (key("d"), Value::Date(Date(0))),
        (key("t"), Value::Instant(Instant::new(0))),
        (key("w"), Value::Duration(Duration(1_500))),
        (key("f"), Value::Float(f64::INFINITY)),
    ]);
    let out = arguments(&value).map(|(value, _)| value.to_string());
    let expected = concat!(
        r#"{"1" [2 3 "a"] "d" "1970-01-01" "f" ##Inf "t" "1970-01-01T00:00:00Z" "#,
        r#""user_id" {"x_y" "v"} "w" 1500}"#
    );
    assert_eq!(out, Ok(expected.to_owned()));
}

#[test]
fn of_arguments_that_become_equal_the_string_key_wins() {
    let one = Value::map([(Value::str("a-b"), Value::Int(1)), (key("a_b"), Value::Int(2))]);
    let two = Value::map([(Value::str("a-b"), Value::Int(1)), (Value::str("a_b"), Value::Int(2))]);
    for (value, expected) in [(one, r#"{"a_b" 1}"#), (two, r#"{"a_b" 2}"#)] {
        let (out, warnings) = arguments(&value).unwrap_or_default();
        assert_eq!((out.to_string().as_str(), warnings.len()), (expected, 1));
    }
}

#[test]
fn what_is_no_data_is_no_argument() {
    let inside = |value| Value::map([(key("a"), Value::list([value]))]);
    for value in [Value::Int(1), Value::Nil, Value::list([]), inside(Value::Symbol(crate::value::Keyword::intern("x")))]
    {
        let failed = arguments(&value).map_err(|halt| match *halt {
            crate::lisp::Halt::Error(error) => Some(error.reason),
            _ => None,
        });
        assert_eq!(failed.err(), Some(Some(Reason::InvalidToolArgs)), "{value}");
    }
}

#[test]
fn depth_and_sharing_are_no_danger() {
    let levels = 200_000;
    let nested = deep(levels, key("k"));
    assert_eq!(externalize(&nested).0.extent().depth, levels);
    let doubled = (0..200).fold(key("k"), |inner, _| Value::list([inner.clone(), inner]));
    assert_eq!(externalize(&doubled).0.extent().values, u64::MAX);
    assert_eq!(rounded(&deep(levels, Value::Float(0.111)), 2).extent().depth, levels);
}

#[test]
fn what_does_not_change_is_shared() {
    let inner = Value::record([("a", Value::Float(0.5))]);
    let Value::Map(before) = &inner else { return };
    let Value::Map(after) = externalize(&inner).0 else { return };
    assert!(std::sync::Arc::ptr_eq(before, &after));
}
