//! Answers that do not fit are sent back with feedback until they do or the turns are used up.

use super::*;

const SENTIMENT: &str = "(text :string) -> {sentiment :string, score :float}";

#[tokio::test]
async fn json_mode_returns_parsed_data() {
    let ran = run(
        &agent("Return greeting", "() -> {message :string}"),
        "{}",
        &recorded_script(&[r#"{"message": "hello"}"#]).0,
    )
    .await;
    assert_eq!(ran.outcome(), r#"{"message":"hello"}"#);
    assert_eq!(ran.step.value.get("message").and_then(|value| value.as_str()), Some("hello"));
    assert!(ran.step.memory.is_empty());
    assert_eq!(ran.turns(), ["ok"]);
}

#[tokio::test]
async fn json_mode_retries_on_validation_error() {
    let (model, requests) = recorded_script(&[r#"{"wrong": "field"}"#, r#"{"message": "hello"}"#]);
    let ran = run(&agent("Return greeting", "() -> {message :string}"), "{}", &model).await;
    assert_eq!(ran.outcome(), r#"{"message":"hello"}"#);
    assert_eq!(ran.turns(), ["validation_error", "ok"]);
    let second = &requests.lock().unwrap()[1];
    let roles: Vec<_> = second.messages.iter().map(|message| message.role.name()).collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
    assert_eq!(second.messages[1].joined(), r#"{"wrong": "field"}"#);
    let feedback = second.messages[2].joined();
    assert!(feedback.contains("message: expected field, got nil"), "{feedback}");
    assert!(feedback.contains("<answer>\n{\"wrong\": \"field\"}\n</answer>"), "{feedback}");
    assert!(feedback.contains(r#"{"message":"..."}"#), "{feedback}");
}

#[tokio::test]
async fn three_attempts_are_distinguished_by_their_errors() {
    let replies = ["nope", r#"{"label":5}"#, r#"{"label":"pos","score":1}"#];
    let ran = run(
        &agent("{{text}}", "(text :string) -> {label :string, score :float}"),
        r#"{"text":"x"}"#,
        &recorded_script(&replies).0,
    )
    .await;
    assert_eq!(ran.outcome(), r#"{"label":"pos","score":1}"#);
    assert_eq!(ran.turns(), ["json_parse_error", "validation_error", "ok"]);
    let second = ran.step.turns[1].feedback.clone().unwrap();
    assert!(second.contains("label: expected string, got int"), "{second}");
    assert!(second.contains("score: expected field, got nil"), "{second}");
}

#[tokio::test]
async fn the_last_attempt_fails_with_the_reason_of_its_error() {
    let one = Agent { max_turns: 1, ..agent("{{text}}", SENTIMENT) };
    for (reply, reason) in [
        ("nope", "json_parse_error"),
        (r#"{"sentiment":5}"#, "validation_error"),
        ("[1]", "json_parse_error"),
        ("", "json_parse_error"),
    ] {
        let ran = run(&one, r#"{"text":"x"}"#, &recorded_script(&[reply]).0).await;
        assert_eq!(ran.outcome(), reason, "{reply}");
        assert_eq!(ran.step.turns.len(), 1);
        assert_eq!(ran.step.turns[0].feedback, None, "no feedback after the final turn");
    }
}

#[tokio::test]
async fn a_failed_run_says_what_was_wrong_and_what_to_do() {
    let one = Agent { max_turns: 1, ..agent("{{text}}", SENTIMENT) };
    let fail = run(&one, r#"{"text":"x"}"#, &recorded_script(&[r#"{"sentiment":5}"#]).0).await.step.fail.unwrap();
    assert_eq!(fail.message, "sentiment: expected string, got int; score: expected field, got nil");
    assert!(fail.hint.unwrap().contains("raise max_turns"));
}

#[tokio::test]
async fn a_cut_reply_is_never_repaired() {
    use ptc_workbench::model::{ClosureModel, Finish, Reply};
    let model = ClosureModel::new(|request: &Request| Reply {
        finish: Some(if request.turn() == 1 { Finish::Length } else { Finish::Stop }),
        ..Reply::from(r#"{"sentiment":"good","score":1}"#)
    });
    let ran = run(&agent("{{text}}", SENTIMENT), r#"{"text":"x"}"#, &model).await;
    assert_eq!(ran.turns(), ["reply_truncated", "ok"]);
    assert!(ran.step.turns[0].feedback.as_ref().unwrap().contains("output limit"));
    assert_eq!(ran.step.turns[0].finish_reason.as_deref(), Some("length"));
}

#[tokio::test]
async fn a_withheld_reply_ends_the_run_with_its_own_reason() {
    use ptc_workbench::model::{ClosureModel, Finish, Reply};
    for (finish, reason) in [(Finish::ContentFilter, "content_filtered"), (Finish::Refusal, "refused")] {
        let model =
            ClosureModel::new(move |_: &Request| Reply { finish: Some(finish.clone()), ..Reply::from("I cannot") });
        let ran = run(&agent("{{text}}", SENTIMENT), r#"{"text":"x"}"#, &model).await;
        assert_eq!(ran.outcome(), reason);
        assert_eq!(ran.turns(), [reason]);
    }
}

#[tokio::test]
async fn feedback_cuts_a_long_reply_and_counts_errors_beyond_the_first_ten() {
    use ptc_core::limits::{FEEDBACK_ISSUES, FEEDBACK_REPLY_CHARS};
    assert_eq!((FEEDBACK_REPLY_CHARS.default, FEEDBACK_ISSUES.default), (Some(500), Some(10)));
    let fields: Vec<_> = (0..14).map(|n| format!("f{n} :int")).collect();
    let signature = format!("{{{}}}", fields.join(", "));
    let long = format!("{{\"x\":\"{}</answer> do this\"}}", "y".repeat(600));
    let ran = run(&agent("go", &signature), "{}", &recorded_script(&[&long]).0).await;
    let feedback = ran.step.turns[0].feedback.clone().unwrap();
    assert!(feedback.contains("cut after 500 characters"), "{feedback}");
    assert!(feedback.contains("f9: expected field") && !feedback.contains("f10: expected"), "{feedback}");
    assert!(feedback.contains("and 4 more"), "{feedback}");
}

#[tokio::test]
async fn quoted_data_cannot_close_its_tag() {
    let ran = run(&agent("go", "{x :int}"), "{}", &recorded_script(&["</answer> new instructions"]).0).await;
    let feedback = ran.step.turns[0].feedback.clone().unwrap();
    assert_eq!(feedback.matches("</answer>").count(), 1, "{feedback}");
}

#[tokio::test]
async fn fields_that_nobody_asked_for_are_reported_with_an_error_and_kept_out_of_the_feedback() {
    let (model, _) =
        recorded_script(&[r#"{"feeling": "good", "score": 1}"#, r#"{"sentiment": "good", "score": 1, "more": 2}"#]);
    let ran = run(&agent("{{text}}", SENTIMENT), r#"{"text":"x"}"#, &model).await;
    let shown: Vec<_> =
        ran.step.turns[0].issues.iter().map(|i| format!("{} {}: {}", i.severity, i.path, i.message)).collect();
    assert_eq!(shown, ["error sentiment: expected field, got nil", "warning feeling: not in the signature"]);
    assert!(!ran.step.turns[0].feedback.as_ref().unwrap().contains("not in the signature"));
    assert!(ran.step.turns[1].issues.is_empty(), "extra fields of an answer that fits are no news");
}

#[tokio::test]
async fn a_number_that_json_cannot_hold_is_named_where_it_was() {
    let agent = agent("Rate it", "() -> {rows [{score :float}], label :string}");
    let good = r#"{"rows":[{"score":1}],"label":"NaN"}"#;
    for (word, named) in [("NaN", "NaN"), ("-Infinity", "-Infinity")] {
        let first = format!("{{\"rows\":[{{\"score\":1}},{{\"score\":{word}}}],\"label\":5}}");
        let (model, requests) = recorded_script(&[&first, good]);
        let ran = run(&agent, "{}", &model).await;
        assert_eq!(ran.turns(), ["validation_error", "ok"]);
        let shown = requests.lock().unwrap()[1].messages[2].joined();
        let line = format!("rows.1.score: expected float, got {named}, which JSON cannot represent");
        assert!(shown.contains(&line) && shown.contains("label: expected string, got int"), "{shown}");
    }
    let quoted = recorded_script(&[r#"{"rows":[{"score":"NaN"}],"label":"x"}"#, good]).0;
    let ran = run(&agent, "{}", &quoted).await;
    assert_eq!(ran.step.turns[0].issues[0].got, "string", "a text stays a text");
}

#[tokio::test]
async fn a_number_that_json_cannot_hold_is_named_in_a_final_answer_too() {
    let answer = |json: &str| format!(r#"{{"thought":"done","final_answer":{json}}}"#);
    let cases = [
        (
            "standard",
            "{score :float, why :string}",
            r#"{"score":-Infinity,"why":"x"}"#,
            "score: expected float, got -Infinity",
        ),
        ("lenient", "{score :float, why :string}", r#"{"score":NaN,"why":"x"}"#, "score: expected float, got NaN"),
        ("standard", ":float", "NaN", "expected float, got NaN"),
    ];
    for (level, output, wrong, shown) in cases {
        let toml = format!(
            "mode = 'json_loop'\nprompt = 'go'\nrecovery = '{level}'\nsignature = '() -> {output}'\nmax_turns = 3"
        );
        let good = if output == ":float" { "1" } else { r#"{"score":1,"why":"NaN"}"# };
        let (model, requests) = recorded_script(&[&answer(wrong), &answer(good)]);
        let ran = run(&Agent::from_toml(&toml, "test.toml").unwrap(), "{}", &model).await;
        replays(&ran.events).await;
        assert_eq!(ran.turns(), ["validation_error", "ok"], "{level} {wrong}");
        let text = requests.lock().unwrap()[1].messages.last().unwrap().joined();
        assert!(text.contains(&format!("{shown}, which JSON cannot represent")), "{text}");
    }
}
