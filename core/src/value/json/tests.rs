//! Tests of reading, writing and converting JSON: tables under `cases/`, limits, properties of random trees and texts.

use proptest::prelude::*;

use super::*;
use crate::text::LineCol;
use crate::value::{Instant, Value};

/// The rows of a table: lines that are not comments, split at tabs.
fn rows(table: &str) -> impl Iterator<Item = Vec<&str>> {
    table.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect())
}

/// The text in a table cell, which is a JSON string (read by `serde_json` here).
fn cell(text: &str) -> String {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn read(text: &str) -> Json {
    parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

#[test]
fn every_invalid_text_is_refused_at_its_place() {
    let mut count = 0;
    for row in rows(include_str!("cases/invalid.tsv")) {
        let [text, offset, state, words] = row[..] else { panic!("{row:?}") };
        let text = cell(text);
        let error = parse(&text).err().unwrap_or_else(|| panic!("{text:?} was accepted"));
        assert_eq!(error.offset.to_string(), offset, "{text:?}: {error}");
        assert_eq!(if error.incomplete { "incomplete" } else { "wrong" }, state, "{text:?}: {error}");
        assert!(error.message.contains(words), "{text:?}: {error}");
        count += 1;
    }
    assert!(count > 80);
}

#[test]
fn every_valid_text_is_written_back_as_expected() {
    for row in rows(include_str!("cases/valid.tsv")) {
        let [text, expected] = row[..] else { panic!("{row:?}") };
        let (text, expected) = (cell(text), cell(expected));
        assert_eq!(read(&text).to_text(), expected, "{text:?}");
        assert_eq!(read(&expected).to_text(), expected, "{expected:?}");
    }
}

#[test]
fn errors_know_their_line_and_column() {
    let source = "{\n  \"é\": x\n}";
    let error = parse(source).err();
    assert_eq!(error.map(|error| error.line_col(source)), Some(LineCol { line: 2, column: 8 }));
}

#[test]
fn parts_know_where_they_was() {
    let source = r#" {"a" : [1, "é"]} "#;
    let json = read(source);
    assert_eq!(json.span.text(source), r#"{"a" : [1, "é"]}"#);
    assert_eq!(json.members().map(|members| members[0].key_span.text(source)), Some(r#""a""#));
    assert_eq!(json.at("a.1").map(|part| part.span.text(source)), Some(r#""é""#));
}

#[test]
fn nesting_of_512_is_read_and_513_refused() {
    let nested = |open: &str, inner: &str, close: &str, levels| open.repeat(levels) + inner + &close.repeat(levels);
    for (open, inner, close) in [("[", "", "]"), ("{\"a\":", "1", "}")] {
        let json = read(&nested(open, inner, close, 512));
        assert_eq!(Json::from(&json.to_value()), json);
        let error = parse(&nested(open, inner, close, 513)).err();
        let error = error.unwrap_or_else(|| panic!("513 levels were accepted"));
        assert_eq!((error.offset, error.incomplete), (512 * open.len(), false));
        assert!(error.message.contains("512"), "{error}");
    }
    assert!(parse(&"[".repeat(1_000_000)).is_err());
}

#[test]
fn whole_numbers_are_exact_up_to_the_digit_limit() {
    let digits = "9".repeat(10_000);
    assert_eq!(read(&digits).to_text(), digits);
    assert_eq!(read(&format!("-{digits}")).to_value().to_string(), format!("-{digits}"));
    assert!(parse(&format!("{digits}9")).is_err_and(|error| error.message.contains("10000 digits")));
}

#[test]
fn large_objects_are_read_and_built_with_the_first_of_equal_keys() {
    let members: Vec<_> = (0..100_000).map(|n| (format!("k{}", n % 60_000), Json::from(Node::Int(n)))).collect();
    let text: Vec<_> = members.iter().map(|(key, value)| format!("\"{key}\":{}", value.to_text())).collect();
    let built = Json::object(members);
    assert_eq!(built.members().map(<[Member]>::len), Some(60_000));
    assert_eq!(built.get("k59999"), Some(&Node::Int(59_999).into()));
    assert_eq!(read(&format!("{{{}}}", text.join(","))), built);
}

#[test]
fn pretty_text_is_indented_by_two() {
    assert_eq!(
        read(r#"{"a":[1,{"b":[]}],"c":{}}"#).to_pretty(),
        "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    }\n  ],\n  \"c\": {}\n}"
    );
}

#[test]
fn values_without_a_json_form_become_text() {
    let value = Value::list([
        Value::Float(f64::NAN),
        Value::Float(f64::INFINITY),
        Value::Float(f64::NEG_INFINITY),
        Value::keyword("k"),
        Value::set([Value::Int(2), Value::Int(1)]),
        Value::Instant(Instant::new(0)),
        Value::map([(Value::list([Value::Int(1)]), Value::Nil), (Value::Instant(Instant::new(0)), Value::Nil)]),
    ]);
    assert_eq!(
        Json::from(&value).to_text(),
        r#"["NaN","Infinity","-Infinity","k",[1,2],"1970-01-01T00:00:00Z",{"1970-01-01T00:00:00Z":null,"[1]":null}]"#
    );
}

fn tree() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Node::Null),
        any::<bool>().prop_map(Node::Bool),
        any::<i64>().prop_map(Node::Int),
        "-?[1-9][0-9]{19,60}".prop_map(|digits| Node::Big(Box::new(digits.parse().unwrap_or_default()))),
        any::<f64>().prop_filter("finite", |float| float.is_finite()).prop_map(Node::Float),
        any::<String>().prop_map(Node::Str),
    ];
    leaf.prop_map(Json::from).prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::list),
            prop::collection::vec(("[a-f_-]{0,3}", inner), 0..20).prop_map(Json::object),
        ]
    })
}

proptest! {
    #[test]
    fn trees_survive_being_written_and_read(json in tree()) {
        prop_assert_eq!(&read(&json.to_text()), &json);
        prop_assert_eq!(&read(&json.to_pretty()), &json);
        prop_assert_eq!(&Json::in_order_of(&json.to_value(), &json), &json);
        prop_assert_eq!(Json::from(&json.to_value()).to_value(), json.to_value());
    }

    #[test]
    fn every_start_of_a_json_text_is_incomplete_or_whole(json in tree(), cut in any::<prop::sample::Index>()) {
        let text = json.to_text();
        let mut cut = cut.index(text.len() + 1);
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        if let Err(error) = parse(&text[..cut]) {
            prop_assert!(error.incomplete, "{:?}: {}", &text[..cut], error);
        }
    }

    #[test]
    fn texts_are_accepted_as_by_another_reader(text in "[\\[\\]{},:\"a\\\\n0-9.eE+ \n-]{0,16}|\\[(-?[0-9]{1,3}(\\.[0-9]{1,2})?,?){0,4}\\]|\\{(\"[ab]{1,2}\":(1|\\[\\]|\"\\\\n\"),?){0,4}\\}") {
        let theirs = serde_json::from_str::<serde_json::Value>(&text);
        let ours = parse(&text);
        prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?}", text);
    }
}

#[test]
fn a_path_leads_through_members_and_indexes() {
    let json = parse(r#"{"items":[{"price":1},{"price":2,"":3}],"0":{"a":4}}"#).unwrap_or_default();
    let cases = [
        ("items.1.price", Some("2")),
        ("items.0", Some(r#"{"price":1}"#)),
        ("items.1.", Some("3")),
        ("0.a", Some("4")),
        ("items.2", None),
        ("items.-1", None),
        ("items.price", None),
        ("nothing", None),
        ("items.0.price.x", None),
    ];
    for (path, expected) in cases {
        assert_eq!(json.at(path).map(Json::to_text).as_deref(), expected, "{path}");
    }
    assert_eq!(json.at(""), Some(&json));
}

#[test]
fn two_members_of_one_name_are_an_error_only_where_they_are_to_be_unique() {
    let many = (0..FEW + 3).map(|number| format!("\"m{number}\":1,")).collect::<Vec<_>>().concat();
    let rows = [
        (r#"{"a":1,"a":2}"#.to_owned(), "an object has the member \"a\" twice (at byte 7)"),
        (r#"[{"b":{"a":1,"\u0061":1}}]"#.to_owned(), "an object has the member \"\\u0061\" twice (at byte 13)"),
        (format!("{{{many}\"m18\":2}}"), "an object has the member \"m18\" twice"),
    ];
    for (text, message) in rows {
        let UniqueError::Duplicate(error) = parse_unique(&text).unwrap_err() else { panic!("{text}") };
        assert!(error.to_string().starts_with(message) && !error.incomplete, "{text}: {error}");
        assert_eq!(read(&text).to_text().matches(":2").count(), 0, "{text}: the first counts");
    }
    for text in [r#"{"a":{"a":1},"b":[{"a":1},{"a":2}]}"#.to_owned(), format!("{{{many}\"n\":1}}")] {
        assert_eq!(parse_unique(&text).ok(), parse(&text).ok(), "{text}");
    }
    assert_eq!(parse_unique("{"), Err(UniqueError::Syntax(parse("{").unwrap_err())));
    assert!(matches!(parse_unique(r#"{"a":1,"a":2"#), Err(UniqueError::Syntax(_))), "it is not JSON at all");
}
