//! The strict check, the coercions, input modes and the normalized form of returned values.

use super::{joined, json, table, ty};
use crate::limits::{JSON_DEPTH, JSON_DIGITS};
use crate::signature::{
    InputMode, Issue, Policy, Type, check, check_inputs, check_json, coerce, error_lines, normalize_keys, parse,
};
use crate::value::{BigInt, Instant, Json, Keyword, Value};

#[test]
fn values_are_checked_strictly_and_all_errors_reported() {
    for (line, case) in table(include_str!("check.txt")) {
        let [of, value, verdict] = case.as_slice() else { panic!("check.txt:{line}: {case:?}") };
        let issues = check(&ty(of), &json(value).to_value());
        let found = if issues.is_empty() { "ok".to_owned() } else { joined(&issues, Issue::to_string) };
        assert_eq!(found, *verdict, "check.txt:{line}");
        assert!(issues.iter().all(Issue::is_error), "check.txt:{line}");
    }
}

#[test]
fn coercions_follow_the_table_of_their_policy() {
    for (line, case) in table(include_str!("coerce.txt")) {
        let [policy, of, value, result, issues] = case.as_slice() else { panic!("coerce.txt:{line}: {case:?}") };
        let policy = match policy.as_str() {
            "inputs" => Policy::Inputs,
            "strict" => Policy::AnswerStrict,
            "standard" => Policy::AnswerStandard,
            "lenient" => Policy::AnswerLenient,
            other => panic!("coerce.txt:{line}: {other}"),
        };
        let coerced = coerce(&ty(of), json(value).to_value(), policy);
        assert_eq!(Json::from(&coerced.value).to_text(), json(result).to_text(), "coerce.txt:{line}");
        assert_eq!(severities(&coerced.issues), *issues, "coerce.txt:{line}");
        assert_eq!(!coerced.issues.iter().any(Issue::is_error), !issues.contains("error"), "coerce.txt:{line}");
    }
}

/// `warning path: message; error path: message`, or `-`.
fn severities(issues: &[Issue]) -> String {
    if issues.is_empty() {
        return "-".to_owned();
    }
    joined(issues, |issue| format!("{} {issue}", if issue.is_error() { "error" } else { "warning" }))
}

#[test]
fn values_that_json_has_not_are_checked_by_their_kind() {
    let messages = |of: &str, value: &Value| joined(&check(&ty(of), value), Issue::to_string);
    let (red, now) = (Value::keyword("red"), Value::Instant(Instant::new(0)));
    let set = Value::set(vec![Value::Int(1), Value::Int(2)]);
    let big = Value::integer(BigInt::from(u64::MAX));
    assert_eq!(messages(":string", &red), "root: expected string, got keyword");
    assert_eq!(messages(":keyword", &red), "");
    assert_eq!(messages(":enum[red]", &red), "root: expected one of \"red\", got keyword");
    assert_eq!(messages(":datetime", &now), "");
    assert_eq!(messages(":string", &now), "root: expected string, got datetime");
    assert_eq!(messages(":map", &now), "root: expected map, got datetime");
    assert_eq!(messages(":map", &set), "root: expected map, got set");
    assert_eq!(messages("[:int]", &set), "");
    assert_eq!(messages("[:string]", &set), "0: expected string, got int; 1: expected string, got int");
    assert_eq!(messages(":int", &big), "");
    assert_eq!(messages(":float", &Value::Float(f64::NAN)), "");
}

#[test]
fn fields_are_found_under_keywords_too() {
    let by_keyword = |name: &str| Value::map([(Value::keyword(name), Value::Int(1))]);
    assert_eq!(check(&ty("{a_b :int}"), &by_keyword("a-b")), []);
    assert_eq!(check(&ty("{a_b :int}"), &by_keyword("a_b")), []);
    let both = Value::map([(Value::keyword("a"), Value::str("x")), (Value::str("a"), Value::Int(1))]);
    assert_eq!(check(&ty("{a :int}"), &both), [], "the string key comes first");
}

#[test]
fn special_floats_are_refused_at_the_json_boundary() {
    let value = Value::record([
        ("a", Value::list([Value::Float(1.5), Value::Float(f64::NAN)])),
        ("b", Value::record([("c", Value::Float(f64::NEG_INFINITY))])),
        ("d", Value::Float(f64::INFINITY)),
    ]);
    assert_eq!(
        joined(&check_json(&value), Issue::to_string),
        "a.1: expected a number that JSON can represent, got NaN; b.c: expected a number that JSON can represent, got -Infinity; \
         d: expected a number that JSON can represent, got Infinity"
    );
    assert_eq!(check_json(&Value::list([Value::Nil, Value::Int(1)])), []);
}

#[test]
fn closed_maps_name_every_unexpected_field() {
    let Type::Record { fields, .. } = ty("{a_b :int, c :int?}") else { panic!("a record") };
    let closed = Type::List(Box::new(Type::Record { fields, closed: true }));
    let issues = check(&closed, &json(r#"[{"a-b": 1}, {"a_b": 1, "a-b": 2, "x": 3}]"#).to_value());
    assert_eq!(joined(&issues, Issue::to_string), "1.a-b: unexpected field; 1.x: unexpected field");
}

#[test]
fn two_keys_that_a_returned_map_has_under_one_name_are_an_error() {
    let messages = |of: &str, value: &str| joined(&check(&ty(of), &json(value).to_value()), Issue::to_string);
    let both = "expected one of the keys \"a-b\" and \"a_b\", got both";
    assert_eq!(messages("{a-b :int}", r#"{"a_b": 1, "a-b": 2}"#), format!("a-b: {both}"));
    assert_eq!(messages("{x {a-b :int?}}", r#"{"x": {"a_b": "kept", "a-b": null}}"#), format!("x.a-b: {both}"));
    // The key with `-` is another one here, and is returned as it is.
    assert_eq!(messages("{a_b :int}", r#"{"a_b": 1, "a-b": 2}"#), "");
    assert_eq!(messages("{a-b :int}", r#"{"a_b": 1}"#), "");
}

#[test]
fn narrowing_keywords_are_checked_after_the_type() {
    let cases = [
        (r#"{"type":"integer","minimum":1,"maximum":5}"#, "1", ""),
        (r#"{"type":"integer","minimum":1,"maximum":5}"#, "0", "root: expected at least 1, got 0"),
        (r#"{"type":"integer","minimum":1,"maximum":5}"#, "6", "root: expected at most 5, got 6"),
        (r#"{"type":"integer","minimum":1.0}"#, "1", ""),
        (r#"{"type":"number","maximum":0.5}"#, "0.75", "root: expected at most 0.5, got 0.75"),
        (r#"{"type":"integer","minimum":1}"#, "\"x\"", "root: expected int, got string"),
        (r#"{"type":"array","minItems":1}"#, "[]", "root: expected at least 1 items, got 0"),
        (r#"{"type":"array","maxItems":1}"#, "[1,2]", "root: expected at most 1 items, got 2"),
        (
            r#"{"type":"string","format":"date"}"#,
            "\"2026-02-29\"",
            "root: expected text in format date, got \"2026-02-29\"",
        ),
        (r#"{"type":"string","format":"date"}"#, "\"2026-02-28\"", ""),
        (r#"{"type":"string","format":"email"}"#, "\"ada\"", "root: expected text in format email, got \"ada\""),
        (r#"{"type":"string","format":"uuid"}"#, "\"123e4567-e89b-42d3-a456-426614174000\"", ""),
        (
            r#"{"type":"string","format":"uuid"}"#,
            "\"123e4567\"",
            "root: expected text in format uuid, got \"123e4567\"",
        ),
        (r#"{"type":"string","format":"uri"}"#, "\"no uri\"", "root: expected text in format uri, got \"no uri\""),
        (r#"{"type":"string","format":"own"}"#, "\"anything\"", ""),
    ];
    for (schema, value, expected) in cases {
        let of = crate::signature::from_json_schema(&json(schema)).expect(schema);
        assert_eq!(joined(&check(&of, &json(value).to_value()), Issue::to_string), expected, "{schema} {value}");
    }
}

#[test]
fn program_values_are_coerced_as_inputs() {
    let coerced = |of: &str, value: Value| {
        let coerced = coerce(&ty(of), value, Policy::Inputs);
        (coerced.value, severities(&coerced.issues))
    };
    let none = || "-".to_owned();
    let noted = |text: &str| text.to_owned();
    assert_eq!(
        coerced(":string", Value::keyword("red")),
        (Value::str("red"), noted("warning root: converted keyword :red to string \"red\""))
    );
    assert_eq!(coerced(":string", Value::Instant(Instant::new(0))), (Value::str("1970-01-01T00:00:00Z"), none()));
    assert_eq!(
        coerced(":enum[Red]", Value::keyword("red")),
        (Value::str("Red"), noted("warning root: converted keyword :red to string \"Red\""))
    );
    let set = Value::set(vec![Value::Int(1), Value::Int(2)]);
    assert_eq!(coerced("[:int]", set), (Value::list([Value::Int(1), Value::Int(2)]), none()));
    let by_keyword = Value::map([(Value::keyword("a-b"), Value::Int(1))]);
    assert_eq!(coerced("{a_b :int}", by_keyword), (Value::record([("a_b", Value::Int(1))]), none()));
    assert!(matches!(coerced(":keyword", Value::str("red")).0, Value::Keyword(word) if word == Keyword::intern("red")));
    let eve = "2026-01-31T00:30:00.5+01:00";
    assert_eq!(coerced(":datetime", Value::str(eve)).0, Value::Instant(Instant::new(1_769_815_800_500_000)));
}

#[test]
fn input_modes_differ_in_coercion_and_weight() {
    let params = parse("(a :int, b :bool) -> :any").expect("valid").params.expect("a list");
    let context = json(r#"{"a": "1", "b": 2, "c": 3}"#).to_value();
    let run = |mode| {
        let (value, issues) = check_inputs(&params, &context, mode);
        (Json::from(&value).to_text(), severities(&issues))
    };
    let text = |value: &str, issues: &str| (value.to_owned(), issues.to_owned());
    let converted = r#"{"a":1,"b":2,"c":3}"#;
    let as_given = r#"{"a":"1","b":2,"c":3}"#;
    assert_eq!(
        run(InputMode::Enabled),
        text(converted, "warning a: converted string \"1\" to int 1; error b: expected bool, got int")
    );
    assert_eq!(
        run(InputMode::WarnOnly),
        text(converted, "warning a: converted string \"1\" to int 1; warning b: expected bool, got int")
    );
    assert_eq!(
        run(InputMode::Strict),
        text(as_given, "error a: expected int, got string; error b: expected bool, got int")
    );
    assert_eq!(run(InputMode::Disabled), text(as_given, "-"));
    let (_, issues) = check_inputs(&params, &Value::Int(1), InputMode::default());
    assert_eq!(severities(&issues), "error root: expected map, got int");
}

#[test]
fn returned_maps_get_underscores_where_the_signature_declares_the_name() {
    let normal = |of: &str, value: &str| Json::from(&normalize_keys(&ty(of), json(value).to_value())).to_text();
    assert_eq!(normal("{a-b :int}", r#"{"a-b": 1, "c-d": 2}"#), r#"{"a_b":1,"c-d":2}"#);
    assert_eq!(normal("{a_b {c_d :int}?}", r#"{"a-b": {"c-d": 1, "e-f": 2}}"#), r#"{"a_b":{"c_d":1,"e-f":2}}"#);
    assert_eq!(normal("[{a_b :int}]", r#"[{"a-b": 1}, {"a_b": 2}]"#), r#"[{"a_b":1},{"a_b":2}]"#);
    assert_eq!(normal("{a :map, b :any}", r#"{"a": {"x-y": 1}, "b": {"x-y": 1}}"#), r#"{"a":{"x-y":1},"b":{"x-y":1}}"#);
    assert_eq!(normal(":map", r#"{"x-y": 1}"#), r#"{"x-y":1}"#);
    assert_eq!(normal("{a_b :int}", r#"{"a_b": 1, "a-b": 2}"#), r#"{"a-b":2,"a_b":1}"#, "the exact name wins");
    let set = Value::record([("ids", Value::set(vec![Value::Int(1)]))]);
    assert_eq!(normalize_keys(&ty("{ids [:int]}"), set), json(r#"{"ids": [1]}"#).to_value());
    let by_keyword = Value::map([(Value::keyword("a-b"), Value::Int(1))]);
    assert_eq!(normalize_keys(&ty("{a_b :int}"), by_keyword), json(r#"{"a_b": 1}"#).to_value());
}

#[test]
fn paths_print_dotted_and_for_programs_in_brackets() {
    let issues = check(&ty("{line_items [{_unit_price :int}]}"), &json(r#"{"line_items": [{}]}"#).to_value());
    assert_eq!(issues[0].path.to_string(), "line_items.0._unit_price");
    assert_eq!(issues[0].path.to_program(), "[line-items.0._unit-price]");
    assert_eq!(check(&Type::Int, &Value::Nil)[0].path.to_program(), "[root]");
}

#[test]
fn a_model_sees_the_first_errors_and_how_many_more() {
    let coerced = coerce(&ty("[:int]"), json(r#"["1", "a", "b", "c"]"#).to_value(), Policy::Inputs);
    assert_eq!(coerced.issues.len(), 4);
    let message = "expected int, got string";
    assert_eq!(
        error_lines(&coerced.issues, 2, Issue::to_program),
        [format!("[1] {message}"), format!("[2] {message}"), "and 1 more".to_owned()]
    );
    assert_eq!(error_lines(&coerced.issues, 3, Issue::to_string).len(), 3);
}

#[test]
fn a_text_becomes_an_integer_up_to_the_limit_of_digits() {
    let digits = "9".repeat(usize::try_from(JSON_DIGITS.max).unwrap());
    for (text, fits) in [(digits.clone(), true), (format!("-{digits}"), true), (format!("{digits}9"), false)] {
        let coerced = coerce(&ty(":int"), Value::str(text), Policy::AnswerLenient);
        assert_eq!(!coerced.issues.iter().any(Issue::is_error), fits);
    }
}

#[test]
fn long_text_is_cut_in_messages() {
    let long = Value::str("x".repeat(100_000));
    assert!(check(&ty(":enum[a]"), &long)[0].message.len() < 200);
}

#[test]
fn nesting_beyond_the_limit_of_json_is_found() {
    let nested = |levels: u64| (0..levels).fold(Value::Nil, |inner, _| Value::list([inner]));
    assert_eq!(check_json(&nested(JSON_DEPTH.max)), []);
    assert_eq!(check_json(&nested(JSON_DEPTH.max + 1))[0].message, "expected at most 512 levels of nesting, got more");
    assert_eq!(check_json(&nested(100_000)).len(), 1);
}
