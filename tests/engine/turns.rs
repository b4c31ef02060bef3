//! Notes to the model about the remaining turns.

use super::ptc::{CHILD, p, ran};
use super::*;

/// The line about turns of a message.
fn turn_lines(text: &str) -> String {
    text.lines()
        .find(|line| line.starts_with("Turn ") || line.starts_with("Correction "))
        .unwrap_or_default()
        .to_owned()
}

#[tokio::test]
async fn what_is_reported_about_turns_counts_those_of_the_whole_tree() {
    let (own, texts) = ran("turn_budget = 3\nmax_turns = 5", "{}", &[&p("1")]).await;
    assert_eq!(own.outcome(), "turn_budget_exhausted");
    let shown: Vec<String> = texts.iter().map(|text| turn_lines(text)).collect();
    let last = "Turn 3, the last one: the turn budget shared by all agents ends after it, end with (return value).";
    let left = |turn: u32, left: u32| format!("Turn {turn}: {left} turns are left in the budget shared by all agents.");
    assert_eq!(shown, [left(1, 3), left(2, 2), last.to_owned()]);

    // The child uses one turn of the five, and may use no more than the four that are left.
    let lasting = CHILD
        .replace("max_turns = 2", "max_turns = 4")
        .replace("mode = \"json\"", "mode = \"ptc_lisp\"\nmax_turns = 9");
    let toml = format!("turn_budget = 5\n{lasting}");
    let child = p("(tool/child {:q \"z\"})");
    let (shared, texts) = ran(&toml, "{}", &[&child, &p("(return {:a \"x\"})"), &p("1"), &p("(return 1)")]).await;
    assert_eq!(shared.outcome(), "1", "{:?}", shared.step.fail);
    let shown: Vec<String> = texts.iter().map(|text| turn_lines(text)).collect();
    assert_eq!(
        shown,
        ["Turn 1 of 4, 4 left.", &left(1, 4), "Turn 2 of 4, 3 left.", "Turn 3 of 4; the one after it is the last."]
    );

    let (_, texts) = ran("turn_budget = 2\nmax_turns = 1\nretry_turns = 5", "{}", &[&p("(/ 1 0)")]).await;
    let shown: Vec<String> = texts.iter().map(|text| turn_lines(text)).collect();
    let first = "Turn 1 of 1, the last one: tools are no longer available, end with (return value). 1 turn for corrections follows it.";
    assert_eq!(shown[0], first);
    assert!(shown[1].starts_with("Correction 1 of 5, this is the last one"), "{}", shown[1]);

    // Where only the last turns are reported, those of the tree count as well.
    let quiet = "max_turns = 5\nformat_options = { minimal_turn_info = true }";
    let (_, texts) = ran(&format!("turn_budget = 4\n{quiet}"), "{}", &[&p("1")]).await;
    let shown: Vec<String> = texts.iter().map(|text| turn_lines(text)).collect();
    assert_eq!(shown[..3], [String::new(), String::new(), left(3, 2)]);
}

#[tokio::test]
async fn the_last_reply_of_a_json_loop_is_announced_by_the_turns_of_the_whole_tree_too() {
    let toml = "mode = 'json_loop'\nprompt = 'go'\nturn_budget = 3\nmax_turns = 9\n[tools.look]\nkind = 'table'\ndefault = 'found'";
    let call = r#"{"thought":"t","tool_call":{"name":"look","arguments":{}}}"#;
    let (model, requests) = recorded_script(&[call]);
    let ran = run(&Agent::from_toml(toml, "test.toml").unwrap(), "{}", &model).await;
    replays(&ran.events).await;
    assert_eq!(ran.outcome(), "turn_budget_exhausted");
    let text = |request: &Request| request.messages.last().unwrap().joined();
    let is_last = |request: &Request| text(request).contains("Your next reply is the last one");
    assert_eq!(requests.lock().unwrap().iter().map(is_last).collect::<Vec<_>>(), [false, false, true]);
}
