//! Models that make the same call again and again: `same_calls`. And calls whose arguments hold what JSON cannot.

use ptc_workbench::agent::Agent;
use ptc_workbench::model::Reply;

use super::json_loop::{TOOLS, answer, call, ran};
use super::{recorded_replies, replays, run};

#[tokio::test]
async fn equal_calls_in_a_row_end_a_run_only_where_same_calls_is_written() {
    let same = || Reply::calling([("find", r#"{"id":1}"#)]);
    let other = || Reply::calling([("find", r#"{ "id": 2 }"#)]);
    let polling = || (0..7).map(|_| same()).chain(["done".into()]).collect::<Vec<_>>();
    let agent = |key: &str| {
        let tools = "[tools.find]\nkind = \"table\"\ndefault = 1\n";
        Agent::from_toml(&format!("mode = \"text\"\nprompt = \"go\"\nmax_turns = 20\n{key}\n{tools}"), "a.toml")
            .unwrap()
    };
    for (key, replies, outcome, calls) in [
        ("", polling(), "\"done\"", 7),
        ("same_calls = 0", polling(), "\"done\"", 7),
        ("same_calls = 3", polling(), "loop_detected", 2),
        ("same_calls = 3", vec![same(), same(), other(), same(), same(), "done".into()], "\"done\"", 5),
    ] {
        let (model, _) = recorded_replies(replies);
        let ran = run(&agent(key), "{}", &model).await;
        assert_eq!((ran.outcome().as_str(), ran.step.calls.len()), (outcome, calls), "{key}");
        replays(&ran.events).await;
    }
    let (model, _) = recorded_replies(vec![Reply::calling([("find", "{}"), ("find", "{}"), ("find", "{}")])]);
    let at_once = run(&agent("same_calls = 3"), "{}", &model).await;
    assert_eq!((at_once.outcome().as_str(), at_once.step.calls.len()), ("loop_detected", 0), "none of them is made");
    let message = at_once.step.fail.unwrap().message;
    assert_eq!(message, "the tool find was called 3 consecutive times with the same arguments");
}

#[tokio::test]
async fn same_calls_says_how_many_are_a_loop_and_0_that_none_are() {
    for (key, outcome) in [("same_calls = 2", "loop_detected"), ("same_calls = 0", r#""x""#)] {
        let toml = format!("max_turns = 20\n{key}\n{TOOLS}");
        let replies = (0..7).map(|_| call("look_up", "{}")).chain([answer(r#""x""#)]);
        assert_eq!(ran(&toml, replies).await.0.outcome(), outcome, "{key}");
    }
}

#[tokio::test]
async fn a_number_that_json_cannot_hold_is_named_in_what_the_tool_says() {
    let tools = "recovery = \"standard\"\n[tools.price]\nkind = \"table\"\nsignature = \"(day :float, note :string?) -> :any\"\ndefault = 1\n";
    let (ran, _) = ran(
        tools,
        [
            r#"{"thought":"t","tool_call":{"name":"price","arguments":{"day":NaN}}}"#.to_owned(),
            r#"{"thought":"t","tool_call":{"name":"price","arguments":{"day":1,"note":Infinity}}}"#.to_owned(),
            answer(r#""x""#),
        ],
    )
    .await;
    assert_eq!(ran.outcome(), r#""x""#);
    let text = &ran.step.calls[0].error.as_ref().unwrap().message;
    assert!(text.contains("day: expected a number that JSON can represent, got NaN"), "{text}");
    assert_eq!(ran.step.calls[1].error, None, "as a text it fits");
}
