//! Outer shapes: lists and scalars are wrapped in the schema, and accepted both ways; keys and order of the answer.

use ptc_workbench::event::{IssueSeverity, StructuredBy};
use ptc_workbench::model::{ClosureModel, ErrorClass, ModelError};

use super::*;

async fn answer(signature: &str, reply: &str) -> String {
    let one = Agent { max_turns: 1, ..agent("go", signature) };
    run(&one, "{}", &recorded_script(&[reply]).0).await.outcome()
}

#[tokio::test]
async fn a_top_level_list_is_accepted_bare_and_wrapped() {
    assert_eq!(answer("() -> [{id :int}]", r#"{"items":[{"id":1}]}"#).await, r#"[{"id":1}]"#);
    assert_eq!(answer("() -> [{id :int}]", r#"[{"id":1}]"#).await, r#"[{"id":1}]"#);
    assert_eq!(answer("() -> [{id :int}]", r#"{"x":1}"#).await, "json_parse_error");
}

#[tokio::test]
async fn a_top_level_scalar_is_accepted_bare_and_wrapped() {
    assert_eq!(answer("() -> :int", "42").await, "42");
    assert_eq!(answer("() -> :int", r#"{"value": 42}"#).await, "42");
    assert_eq!(answer("() -> :bool", "true").await, "true");
    assert_eq!(answer("() -> :enum[red green]", "green").await, r#""green""#);
    assert_eq!(answer("() -> :int", "no number here").await, "json_parse_error");
}

#[tokio::test]
async fn null_is_the_answer_of_an_optional_type_whatever_its_shape() {
    for optional in ["[{id :int}]?", "{a :int}?", ":map?", ":int?", ":enum[a b]?"] {
        assert_eq!(answer(optional, "null").await, "null", "{optional}");
    }
    assert_eq!(answer("[{id :int}]?", r#"{"items": null}"#).await, "null");
    assert_eq!(answer("[:int]?", "Here: [1, 2]").await, "[1,2]");
    assert_eq!(answer("{a :int}?", "```json\n{\"a\": 1}\n```").await, r#"{"a":1}"#);
    assert_eq!(answer("{a :int}?", "7").await, "json_parse_error");
    assert_eq!(answer("{a :int}", "null").await, "json_parse_error");
}

#[tokio::test]
async fn the_schema_sent_wraps_what_is_not_an_object() {
    for (signature, key) in [("[:string]", Some("items")), (":int", Some("value")), ("{a :int}", None)] {
        let (model, requests) = recorded_script(&["{}"]);
        run(&agent("go", signature), "{}", &model).await;
        let schema = requests.lock().unwrap()[0].schema.clone().unwrap();
        assert_eq!(schema.get("type").and_then(Json::as_str), Some("object"), "{signature}");
        if let Some(key) = key {
            assert!(schema.at(&format!("properties.{key}")).is_some(), "{signature}");
        }
    }
}

#[tokio::test]
async fn a_top_level_any_sends_no_schema() {
    let (model, requests) = recorded_script(&["[1]"]);
    let ran = run(&agent("go", ":any"), "{}", &model).await;
    assert_eq!(ran.outcome(), "[1]");
    assert_eq!(requests.lock().unwrap()[0].schema, None);
    assert!(!ran.step.usage.schema_used);
}

/// `schema_used` records that a schema was sent, `structured_output` how the last one was sent.
#[tokio::test]
async fn usage_says_whether_the_schema_was_sent() {
    use StructuredBy::{JsonObject, JsonSchema, Prompt, Tool};
    let agent = agent("go", "{a :int}");
    for (by, used) in [(JsonSchema, true), (Tool, true), (JsonObject, false), (Prompt, false)] {
        let text = ClosureModel::new(move |_: &Request| Reply { structured_by: Some(by), ..Reply::from(r#"{"a":1}"#) });
        let failed = ClosureModel::new(move |_: &Request| -> Result<Reply, ModelError> {
            Err(ModelError { structured_by: Some(by), ..ModelError::new(ErrorClass::Auth, "no") })
        });
        for model in [&text as &dyn Model, &failed] {
            let ran = run(&agent, "{}", model).await;
            super::replays(&ran.events).await;
            let usage = &ran.step.usage;
            assert_eq!((usage.schema_used, usage.structured_output), (used, Some(by)), "{:?}", ran.outcome());
        }
    }
    // What was sent once stays sent.
    let ways = std::sync::Mutex::new(vec![JsonObject, JsonSchema]);
    let stepping = ClosureModel::new(move |_: &Request| {
        let by = ways.lock().unwrap().pop();
        Reply { structured_by: by, ..Reply::from(if by == Some(JsonSchema) { "no" } else { r#"{"a":1}"# }) }
    });
    let ran = run(&agent, "{}", &stepping).await;
    assert_eq!((ran.step.usage.schema_used, ran.step.usage.structured_output), (true, Some(JsonObject)));
}

#[tokio::test]
async fn json_of_the_wrong_shape_is_called_so() {
    for (signature, reply, expected) in [
        ("{a :int}", "42", "expected an object, got int"),
        ("{a :int}", "null", "expected an object, got nil"),
        ("{a :int}", r#""text""#, "expected an object, got string"),
        ("{a :int}", "```json\ntrue\n```", "expected an object, got bool"),
        ("[:int]", "7", "expected an array, or an object with the array in items, got int"),
    ] {
        let ran = run(&agent("go", signature), "{}", &recorded_script(&[reply]).0).await;
        let fail = ran.step.fail.unwrap();
        assert_eq!(fail.reason, "json_parse_error", "{reply}");
        assert_eq!(fail.message, format!("the JSON has the wrong outer shape: {expected}"), "{reply}");
    }
    assert_eq!(answer(":int", r#"{"value":42,"why":"x"}"#).await, "42");
}

#[tokio::test]
async fn declared_names_get_underscores_and_data_keys_stay() {
    let got = answer("{user-id :int, tags :map}", r#"{"user-id": 7, "tags": {"a-b": 1}, "x-y": 2}"#).await;
    assert_eq!(got, r#"{"user_id":7,"tags":{"a-b":1},"x-y":2}"#);
}

#[tokio::test]
async fn the_answer_keeps_the_order_and_the_extra_fields_of_the_reply() {
    assert_eq!(answer("{a :int, b :int}", r#"{"z":1,"b":2,"a":3}"#).await, r#"{"z":1,"b":2,"a":3}"#);
}

#[tokio::test]
async fn a_whole_float_is_taken_for_an_int_with_a_warning() {
    let ran = run(&agent("go", "{n :int}"), "{}", &recorded_script(&[r#"{"n": 2.0}"#]).0).await;
    assert_eq!(ran.outcome(), r#"{"n":2}"#);
    assert_eq!(ran.step.turns[0].issues[0].severity, IssueSeverity::Warning);
    assert_eq!(answer("{n :int}", r#"{"n": 2.5}"#).await, "validation_error");
}

#[tokio::test]
async fn an_int_stays_an_int_in_a_float_field() {
    assert_eq!(answer("{n :float}", r#"{"n": 2}"#).await, r#"{"n":2}"#);
}

#[tokio::test]
async fn the_untouched_json_stays_in_the_turn() {
    let ran = run(&agent("go", "{user-id :int}"), "{}", &recorded_script(&[r#"{"user-id": 7}"#]).0).await;
    assert_eq!(ran.step.turns[0].json.as_ref().unwrap().to_text(), r#"{"user-id":7}"#);
}

#[tokio::test]
async fn repairs_are_recorded_and_switched_off_in_strict() {
    let reply = "Sure:\n```json\n{'a': 1,}\n```";
    let ran = run(&agent("go", "{a :int}"), "{}", &recorded_script(&[reply]).0).await;
    assert_eq!(ran.outcome(), r#"{"a":1}"#);
    assert_eq!(ran.step.turns[0].fixes, ["single_quotes", "trailing_comma"]);
    assert_eq!(ran.step.turns[0].json.as_ref().unwrap().to_text(), r#"{"a":1}"#);
    let strict = Agent { recovery: Some("strict".to_owned()), max_turns: 1, ..agent("go", "{a :int}") };
    assert_eq!(run(&strict, "{}", &recorded_script(&[reply]).0).await.outcome(), "json_parse_error");
}

#[tokio::test]
async fn the_first_candidate_that_validates_wins() {
    let reply = "```json\n{\"a\": \"draft\"}\n```\nbetter:\n```json\n{\"a\": 5}\n```";
    assert_eq!(answer("{a :int}", reply).await, r#"{"a":5}"#);
}

#[tokio::test]
async fn a_raw_schema_replaces_the_derived_one_and_is_enforced() {
    let schema = parsed(r#"{"type":"object","properties":{"n":{"type":"integer","minimum":3}},"required":["n"]}"#);
    let raw = Agent { schema: Some(schema.clone()), signature: None, max_turns: 2, ..agent("go", "") };
    let (model, requests) = recorded_script(&[r#"{"n":1}"#, r#"{"n":4}"#]);
    let ran = run(&raw, "{}", &model).await;
    assert_eq!(ran.outcome(), r#"{"n":4}"#);
    assert_eq!(ran.turns(), ["validation_error", "ok"]);
    assert_eq!(requests.lock().unwrap()[0].schema.as_ref(), Some(&schema));
}

#[tokio::test]
async fn integers_beyond_64_bits_stay_exact() {
    assert_eq!(
        answer("{n :int}", r#"{"n":123456789012345678901234567890}"#).await,
        r#"{"n":123456789012345678901234567890}"#
    );
}

#[tokio::test]
async fn a_datetime_is_read_and_returned_in_utc() {
    let got = answer("{at :datetime}", r#"{"at":"2026-11-21T12:00:00+02:00"}"#).await;
    assert_eq!(got, r#"{"at":"2026-11-21T10:00:00Z"}"#);
    assert_eq!(answer("{at :datetime}", r#"{"at":"2026-11-21T12:00:00"}"#).await, "validation_error");
}
