//! JSON Schema in both directions, the wrapping of answers, and the texts for prompts and inventories.

use super::{joined, json, table, ty};
use crate::limits::SIGNATURE_DEPTH;
use crate::signature::json_schema::{Wrap, answer, returned_answer, strict_answer, tool, unwrap};
use crate::signature::{
    Issue, Type, chain, example, field_lines, from_json_schema, json_type_name, parse, parse_inputs, render_inventory,
};

fn pairs(descriptions: &[(&str, &str)]) -> Vec<(String, String)> {
    descriptions.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn answer_schemas() {
    for (line, case) in table(include_str!("schema.txt")) {
        let [of, expected] = case.as_slice() else { panic!("schema.txt:{line}: {case:?}") };
        let schema = answer(&ty(of), &[]).map_or("none".to_owned(), |schema| schema.json.to_text());
        assert_eq!(schema, *expected, "schema.txt:{line}");
    }
}

#[test]
fn the_wrapping_is_known_and_can_wrap_an_example() {
    let wrap = |of: &str| answer(&ty(of), &[]).map(|schema| schema.wrap);
    assert_eq!(wrap("[:int]"), Some(Wrap::Items));
    assert_eq!(wrap(":int?"), Some(Wrap::Value));
    assert_eq!(wrap("{a :int}?"), Some(Wrap::Value));
    assert_eq!(wrap("{a :int}"), Some(Wrap::None));
    assert_eq!(Wrap::Items.around(example(&ty("[:int]"))).to_text(), r#"{"items":[0]}"#);
    assert_eq!(Wrap::Value.around(example(&ty(":int"))).to_text(), r#"{"value":0}"#);
    assert_eq!(Wrap::None.around(example(&ty("{a :int}"))).to_text(), r#"{"a":0}"#);
}

#[test]
fn answers_are_taken_wrapped_and_bare() {
    for (line, case) in table(include_str!("unwrap.txt")) {
        let [of, reply, expected] = case.as_slice() else { panic!("unwrap.txt:{line}: {case:?}") };
        let reply = json(reply);
        let found = match unwrap(&ty(of), &reply) {
            Ok(answer) => answer.to_text(),
            Err(issue) => format!("error: {}", issue.message),
        };
        assert_eq!(found, *expected, "unwrap.txt:{line}");
    }
}

#[test]
fn strict_schemas_require_every_field_and_let_optional_ones_be_null() {
    let text = |of: &str| strict_answer(&ty(of), &[]).map(|schema| schema.json.to_text());
    assert_eq!(
        text("{a :int?, b {c :enum[x]?}?, d [:int]?}").as_deref(),
        Some(concat!(
            r#"{"type":"object","properties":{"a":{"type":["integer","null"]},"#,
            r#""b":{"type":["object","null"],"properties":{"c":{"type":["string","null"],"enum":["x",null]}},"#,
            r#""required":["c"],"additionalProperties":false},"#,
            r#""d":{"type":["array","null"],"items":{"type":"integer"}}},"#,
            r#""required":["a","b","d"],"additionalProperties":false}"#
        ))
    );
    assert_eq!(text("{a :int}"), answer(&ty("{a :int}"), &[]).map(|schema| schema.json.to_text()));
    for open in [":any", ":map", "{}", "{a :any}", "[{a [:map?]}]"] {
        assert_eq!(text(open), None, "{open}: a strict provider takes no open schema");
    }
}

#[test]
fn schemas_of_returned_answers_allow_what_the_check_of_an_answer_allows() {
    let text = |of: &str| returned_answer(&ty(of), &[]).map(|schema| schema.json.to_text());
    assert_eq!(
        text("{a-b :int?, b {c :enum[x]?}?, k :keyword}").as_deref(),
        Some(concat!(
            r#"{"type":"object","properties":{"a_b":{"type":["integer","null"]},"#,
            r#""b":{"type":["object","null"],"properties":{"c":{"type":["string","null"],"enum":["x",null]}},"required":[]},"#,
            r#""k":{"type":"string"}},"required":["k"]}"#
        ))
    );
    for same in ["[:int]", ":string?", ":map", "{}", ":any"] {
        assert_eq!(text(same), answer(&ty(same), &[]).map(|schema| schema.json.to_text()), "{same}");
    }
    let closed =
        from_json_schema(&json(r#"{"type":"object","properties":{},"additionalProperties":false}"#)).expect("a type");
    assert!(returned_answer(&closed, &[]).expect("a schema").json.get("additionalProperties").is_some());
}

#[test]
fn tool_schemas_have_names_with_underscores() {
    let params = |text: &str| parse(text).expect("valid").params.unwrap_or_default();
    assert_eq!(
        tool(&params("(user-id :int \"who\", opts {max-n :int?}?) -> :any")).to_text(),
        concat!(
            r#"{"type":"object","properties":{"user_id":{"type":"integer","description":"who"},"#,
            r#""opts":{"type":"object","properties":{"max_n":{"type":"integer"}},"required":[],"additionalProperties":false}},"#,
            r#""required":["user_id"],"additionalProperties":false}"#
        )
    );
    assert_eq!(
        tool(&params(":any")).to_text(),
        r#"{"type":"object","properties":{},"required":[],"additionalProperties":false}"#
    );
}

#[test]
fn descriptions_come_from_the_list_by_dotted_path_or_from_the_signature() {
    let of = ty("{score :float \"own\", items [{unit_price :float}], n :int}");
    let listed =
        pairs(&[("score", "listed"), ("items.unit-price", "in euros"), ("n", "how many"), ("unit_price", "not this")]);
    let schema = answer(&of, &listed).expect("a schema").json;
    let description = |path: &[&str]| {
        let found = path.iter().try_fold(&schema, |json, key| json.get(key));
        found.and_then(|json| json.as_str()).map(str::to_owned)
    };
    assert_eq!(description(&["properties", "score", "description"]).as_deref(), Some("listed"));
    let nested = ["properties", "items", "items", "properties", "unit_price", "description"];
    assert_eq!(description(&nested).as_deref(), Some("in euros"));
    assert_eq!(
        field_lines(&of, &listed),
        [
            "- score (number) - listed",
            "- items (array of object)",
            "  - unit_price (number) - in euros",
            "- n (integer) - how many"
        ]
    );
    assert_eq!(field_lines(&of, &[])[0], "- score (number) - own");
}

#[test]
fn field_lines_show_nesting_and_what_is_optional() {
    assert_eq!(
        field_lines(&ty("[{id :int?, tags [:string]?, at {day :datetime}?}]"), &[]),
        [
            "- id (integer) (optional)",
            "- tags (array of string) (optional)",
            "- at (object) (optional)",
            "  - day (string, ISO 8601 date and time with offset)"
        ]
    );
    assert!(field_lines(&Type::Int, &[]).is_empty());
}

#[test]
fn type_names_in_json_words() {
    for (line, case) in table(include_str!("outline.txt")) {
        let [of, expected] = case.as_slice() else { panic!("outline.txt:{line}: {case:?}") };
        assert_eq!(json_type_name(&ty(of)), *expected, "outline.txt:{line}");
    }
}

#[test]
fn examples_hold_every_field_in_order() {
    assert_eq!(
        example(&ty(
            "{s :string, i :int, f :float, b :bool, k :keyword, l [:int], o :int?, e :enum[x y], d :datetime}"
        ))
        .to_text(),
        r#"{"s":"...","i":0,"f":0.0,"b":true,"k":"keyword","l":[0],"o":0,"e":"x","d":"2026-01-31T09:30:00Z"}"#
    );
    assert_eq!(
        example(&ty("{z :any, a :map, m {b :int}}")).to_text(),
        r#"{"z":{"key":"value"},"a":{"key":"value"},"m":{"b":0}}"#
    );
}

#[test]
fn inventory_lines_drop_colons_and_write_names_in_kebab_case() {
    let line = |name: &str, text: &str| render_inventory(name, &parse_inputs(text).expect("valid"));
    assert_eq!(
        line("get_weather", "(city :string, max_days :int?) -> {summary :string}"),
        "tool/get-weather(city string, max-days int?) -> {summary string}"
    );
    assert_eq!(line("t", "(_raw_id :int \"hidden\") -> [:enum[a b]]?"), "tool/t(_raw-id int) -> [enum[\"a\" \"b\"]]?");
    assert_eq!(line("t", ":any"), "tool/t() -> any");
    assert_eq!(line("t", "(a {b_c :map})"), "tool/t(a {b-c map})");
}

#[test]
fn types_from_schemas_and_what_is_refused() {
    for (line, case) in table(include_str!("from_schema.txt")) {
        let [schema, expected] = case.as_slice() else { panic!("from_schema.txt:{line}: {case:?}") };
        let found = match from_json_schema(&json(schema)) {
            Ok(ty) => ty.render(),
            Err(error) => format!("error: {error}"),
        };
        assert_eq!(found, *expected, "from_schema.txt:{line}");
    }
}

#[test]
fn narrowing_keywords_survive_reading_and_writing() {
    let schema = concat!(
        r#"{"type":"object","properties":{"n":{"type":"integer","minimum":1,"maximum":9,"description":"how many"},"#,
        r#""tags":{"type":"array","items":{"type":"string","description":"one word"},"maxItems":3}},"#,
        r#""required":["n"],"additionalProperties":false}"#
    );
    let of = from_json_schema(&json(schema)).expect("supported");
    assert_eq!(answer(&of, &[]).expect("a schema").json.to_text(), schema);
    let issues = crate::signature::check(&of, &json(r#"{"n": 0, "x": 1, "tags": ["a","b","c","d"]}"#).to_value());
    assert_eq!(
        joined(&issues, Issue::to_string),
        "n: expected at least 1, got 0; tags: expected at most 3 items, got 4; x: unexpected field"
    );
}

#[test]
fn refused_schemas_name_the_keyword_and_its_place_in_the_text() {
    let text = r#"{"type":"array","items":{"type":"string","pattern":"x"}}"#;
    let error = from_json_schema(&json(text)).expect_err("pattern");
    assert_eq!((error.path.as_str(), error.keyword.as_str()), ("#/items", "pattern"));
    assert_eq!(error.span.text(text), "\"pattern\"");
    let levels = usize::try_from(SIGNATURE_DEPTH.max).expect("fits");
    let nested = |levels: usize| format!("{}{{}}{}", r#"{"items":"#.repeat(levels - 1), "}".repeat(levels - 1));
    assert!(from_json_schema(&json(&nested(levels))).is_ok());
    let error = from_json_schema(&json(&nested(levels + 1))).expect_err("too deep");
    assert_eq!(error.message, "schemas are nested deeper than 64 levels");
}

#[test]
fn an_agent_can_follow_another_when_its_parameters_are_returned() {
    for (line, case) in table(include_str!("chain.txt")) {
        let [from, to, expected] = case.as_slice() else { panic!("chain.txt:{line}: {case:?}") };
        let params = parse_inputs(to).expect("valid").params.expect("parameters");
        let issues = chain(&ty(from), &params);
        let word = |issue: &Issue| format!("{} {issue}", if issue.is_error() { "error" } else { "warning" });
        let found = if issues.is_empty() { "-".to_owned() } else { joined(&issues, word) };
        assert_eq!(found, *expected, "chain.txt:{line}");
    }
}
