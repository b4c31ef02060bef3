//! Mode `json_loop`: the transport of its history, the end of its turns, and options that it refuses.

use ptc_workbench::agent::Plan;
use ptc_workbench::event::Event;
use ptc_workbench::model::Reply;

use super::json_loop::{TOOLS, agent, answer, call, ran};

/// With the native transport calls and results go back as calls and results.
#[tokio::test]
async fn native_calls_go_back_natively_where_the_tools_are_native() {
    let native = Reply::calling([("price", r#"{"item":"tea"}"#), ("look_up", "")]);
    let replies = [native, call("look_up", "{}").into(), answer(r#""x""#).into()];
    let (ran, requests) = ran(&format!("tools_in = \"native\"\n{TOOLS}"), replies).await;
    assert_eq!(ran.outcome(), r#""x""#);
    let roles: Vec<_> = requests[2].messages.iter().map(|message| message.role.name()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool", "user", "assistant", "user"]);
    assert_eq!(requests[2].messages[5].joined(), call("look_up", "{}"), "an object goes back as an object");
}

/// A reply has one action: a native call next to an answer goes back, and nothing is called.
#[tokio::test]
async fn a_native_call_next_to_another_action_breaks_the_protocol() {
    let price = |text: String| Reply { text, ..Reply::calling([("price", r#"{"item":"tea"}"#)]) };
    let ask = r#"{"thought":"t","awaiting_user_input":{"kind":"text","prompt":"Which?"}}"#;
    let others = [
        (answer(r#""x""#), "final_answer"),
        (call("look_up", "{}"), "tool_call"),
        (ask.to_owned(), "awaiting_user_input"),
    ];
    for tools_in in ["native", "prompt"] {
        for (other, key) in &others {
            let replies = [price(other.clone()), answer(r#""y""#).into()];
            let (ran, requests) = ran(&format!("tools_in = \"{tools_in}\"\n{TOOLS}"), replies).await;
            assert_eq!(ran.turns(), ["protocol_error", "ok"], "{tools_in} {key}");
            assert!(ran.step.calls.is_empty(), "nothing was called");
            let feedback = requests[1].messages.last().unwrap().joined();
            assert!(feedback.contains(&format!("calls a tool natively and sets {key}")), "{feedback}");
            assert_eq!(requests[1].messages[1].joined(), *other, "the object stays in the history");
        }
    }
    let same = [String::new(), "I look it up.".to_owned(), answer(r#""""#), call("price", r#"{"item":"tea"}"#)];
    for text in same {
        let (ran, _) =
            ran(&format!("tools_in = \"native\"\n{TOOLS}"), [price(text.clone()), answer(r#""y""#).into()]).await;
        assert_eq!((ran.turns().len(), ran.step.calls.len()), (2, 1), "one call: {text}");
        assert_eq!(ran.outcome(), r#""y""#);
    }
}

#[tokio::test]
async fn the_last_turn_and_the_end_of_the_tree_announce_no_feedback() {
    let toml = format!("turn_budget = 1\nmax_turns = 4\n{TOOLS}");
    let (over, _) = ran(&toml, ["nope"]).await;
    assert_eq!(over.outcome(), "turn_budget_exhausted");
    assert_eq!(over.step.turns[0].feedback, None);
    let (over, _) = ran("max_turns = 1", [answer("7")]).await;
    assert_eq!((over.outcome().as_str(), over.step.turns[0].feedback.clone()), ("max_turns_exceeded", None));
}

#[test]
fn what_the_mode_cannot_do_is_refused() {
    for option in ["progress = \"(str 1)\"", "journaling = true"] {
        let findings = Plan::new(&agent(option)).unwrap_err();
        assert!(findings[0].message.contains("is for programs"), "{option}: {}", findings[0].message);
    }
    let hidden = format!("{TOOLS}expose = \"ptc_lisp\"\n");
    let plan = Plan::new(&agent(&hidden)).unwrap();
    let warnings: Vec<_> = plan.warnings.iter().map(|warning| warning.message.as_str()).collect();
    assert!(warnings.iter().any(|text| text.contains("hides the tool `look-up` from the model")), "{warnings:?}");
}

#[tokio::test]
async fn a_long_history_is_trimmed_where_the_agent_says_so() {
    let toml = format!(
        "max_turns = 9\n{TOOLS}[compaction]\nstrategy = \"trim\"\nkeep_recent_turns = 1\n[compaction.trigger]\nturns = 3\n"
    );
    let calls = (0..5).map(|n| call("price", &format!(r#"{{"item":"i{n}"}}"#)));
    let (ran, requests) = ran(&toml, calls.chain([answer(r#""x""#)])).await;
    assert_eq!(ran.outcome(), r#""x""#);
    let sizes: Vec<_> = requests.iter().map(|request| request.messages.len()).collect();
    assert_eq!(sizes[..3], [1, 3, 5]);
    assert!(sizes[5] < 5, "{sizes:?}");
    assert!(ran.events.iter().any(|envelope| matches!(envelope.event, Event::CompactionDone(_))));
    let coalesce = Plan::new(&agent("compression = true")).unwrap_err();
    assert!(coalesce[0].message.contains("`trim` only"), "{}", coalesce[0].message);
}

/// A plan is shown with the task; the model keeps account of it in its thoughts.
#[tokio::test]
async fn a_plan_is_part_of_the_opening() {
    let (_, requests) = ran("plan = [\"gather\", \"compare\"]", [answer(r#""x""#)]).await;
    let user = requests[0].messages[0].joined();
    assert!(user.contains("# Plan\n\n- [ ] 1. gather\n- [ ] 2. compare\n"), "{user}");
}
