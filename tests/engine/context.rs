//! Contexts: checked against the parameters, filled into the template, or given as a Step.

use super::*;

#[tokio::test]
async fn the_request_holds_the_filled_task_and_the_expected_output() {
    let (model, requests) = recorded_script(&[r#"{"sentiment":"good"}"#]);
    let mut classify = agent("Classify: {{text}}", "(text :string) -> {sentiment :string}");
    classify.field_descriptions = vec![("sentiment".to_owned(), "the mood".to_owned())];
    run(&classify, r#"{"text":"I love <this>!"}"#, &model).await;
    let request = requests.lock().unwrap()[0].clone();
    let user = request.messages[0].joined();
    assert!(user.contains("Classify: I love <this>!"), "{user}");
    assert!(user.contains("sentiment (string) - the mood"), "{user}");
    assert!(user.contains(r#"{"sentiment":"..."}"#), "{user}");
    assert!(request.system.unwrap().contains("exactly one JSON value"));
    assert_eq!(request.want.name(), "json");
    assert_eq!(request.mode, "json");
}

#[tokio::test]
async fn inputs_that_the_template_does_not_use_are_appended() {
    let (model, requests) = recorded_script(&[r#"{"summary":"s"}"#]);
    let ran = run(
        &agent("Summarize the data", "(data [:map], sources [:string]) -> {summary :string}"),
        r#"{"data":[{"a":1}],"sources":["x"]}"#,
        &model,
    )
    .await;
    assert_eq!(ran.outcome(), r#"{"summary":"s"}"#);
    let user = requests.lock().unwrap()[0].messages[0].joined();
    assert!(user.contains(r#"[{"a":1}]"#) && user.contains(r#"["x"]"#), "{user}");
}

#[tokio::test]
async fn a_missing_or_wrong_input_fails_without_asking_the_model() {
    let (model, requests) = recorded_script(&["{}"]);
    let ran = run(&agent("{{n}}", "(n :int) -> {a :int}"), r#"{"m":1}"#, &model).await;
    assert_eq!(ran.outcome(), "invalid_context");
    assert!(ran.step.fail.unwrap().message.contains("`n` is missing"));
    assert!(requests.lock().unwrap().is_empty());
    assert_eq!(ran.step.turns.len(), 0);
}

#[tokio::test]
async fn inputs_are_coerced_with_a_warning() {
    let (model, requests) = recorded_script(&[r#"{"a":1}"#]);
    let ran = run(&agent("n is {{n}}", "(n :int) -> {a :int}"), r#"{"n":"42"}"#, &model).await;
    assert_eq!(ran.outcome(), r#"{"a":1}"#);
    assert!(requests.lock().unwrap()[0].messages[0].joined().contains("n is 42"));
}

#[tokio::test]
async fn json_feeds_json_through_a_step() {
    let first = run(
        &agent("Extract", "(text :string) -> {entities [:string]}"),
        r#"{"text":"t"}"#,
        &recorded_script(&[r#"{"entities":["apple","banana"]}"#]).0,
    )
    .await;
    let signature = ptc_core::signature::parse("(entities [:string]) -> {category :string}").unwrap();
    let context =
        ptc_workbench::agent::Context::chained(&first.step, &signature).expect("a Step that returned is a context");
    assert_eq!(context.json.to_text(), r#"{"entities":["apple","banana"]}"#);
    let second = run(
        &agent("Classify {{#entities}}{{.}}, {{/entities}}", "(entities [:string]) -> {category :string}"),
        &context.json.to_text(),
        &recorded_script(&[r#"{"category":"fruits"}"#]).0,
    )
    .await;
    assert_eq!(second.outcome(), r#"{"category":"fruits"}"#);
}

#[tokio::test]
async fn a_failed_step_is_no_context() {
    let one = Agent { max_turns: 1, ..agent("go", "{a :int}") };
    let failed = run(&one, "{}", &recorded_script(&["no"]).0).await;
    let signature = ptc_core::signature::parse("(z :int) -> {b :int}").unwrap();
    let error = ptc_workbench::agent::Context::chained(&failed.step, &signature).unwrap_err();
    assert_eq!(error.reason, "chained_failure", "the failure is reported before the missing keys");
}

#[tokio::test]
async fn a_step_without_the_needed_fields_is_no_context() {
    let first = run(&agent("go", "{a :int}"), "{}", &recorded_script(&[r#"{"a":1}"#]).0).await;
    let signature = ptc_core::signature::parse("(z :int) -> {b :int}").unwrap();
    let error = ptc_workbench::agent::Context::chained(&first.step, &signature).unwrap_err();
    assert_eq!(error.reason, "chain_error");
    assert!(error.message.contains("`z`"), "{}", error.message);
}

#[tokio::test]
async fn an_absent_optional_input_renders_empty() {
    let (model, requests) = recorded_script(&[r#"{"a":1}"#]);
    let ran = run(&agent("x={{x}} y=[{{y}}]", "(x :string, y :int?) -> {a :int}"), r#"{"x":"one"}"#, &model).await;
    assert_eq!(ran.outcome(), r#"{"a":1}"#);
    let user = requests.lock().unwrap()[0].messages[0].joined();
    assert!(user.contains("x=one y=[]"), "{user}");
    assert!(!ran.events.iter().any(|envelope| matches!(envelope.event, Event::Notice(_))));
}
