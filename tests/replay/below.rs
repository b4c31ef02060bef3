//! The models `demo` and `recorded` where tools are called and agents have child agents.

use std::sync::Arc;

use ptc_workbench::agent::Agent;
use ptc_workbench::model::{Reply, script};
use ptc_workbench::replay::{DemoModel, ExactModel, Recording};

use crate::engine::{Ran, recorded, run};

const PARENT: &str = r#"
name = "host"
mode = "text"
prompt = "Greet all in {{place}}."
signature = "(place :string) -> :string"
[tools.greet]
kind = "agent"
agent = { mode = "text", description = "Greets", prompt = "Greet {{who}}.", signature = "(who :string) -> :string" }
"#;

fn parent() -> Agent {
    Agent::from_toml(PARENT, "host.toml").unwrap()
}

/// A recording in which two people are greeted.
async fn two_greetings() -> Arc<Recording> {
    let calls = Reply::calling([("greet", r#"{"who":"Ada"}"#), ("greet", r#"{"who":"Bo"}"#)]);
    let model = script([calls, Reply::from("Hello Ada"), Reply::from("Hi Bo"), Reply::from("Both greeted")]);
    let ran = run(&parent(), r#"{"place":"Oslo"}"#, &model).await;
    assert_eq!(ran.outcome(), r#""Both greeted""#);
    recorded(&ran.events)
}

/// Returns the answers of the child agents.
fn below(ran: &Ran) -> Vec<String> {
    ran.step
        .children
        .iter()
        .map(|child| child.answer.as_ref().map(ptc_core::value::Json::to_text).unwrap_or_default())
        .collect()
}

fn notices(ran: &Ran) -> usize {
    ran.events.iter().filter(|envelope| envelope.event.kind() == "notice").count()
}

#[tokio::test(start_paused = true)]
async fn both_repeat_calls_and_the_runs_below() {
    let recording = two_greetings().await;
    let strict = run(&parent(), r#"{"place":"Oslo"}"#, &ExactModel::new(Arc::clone(&recording))).await;
    let demo = run(&parent(), r#"{"place":"Oslo"}"#, &DemoModel::new(vec![recording])).await;
    for ran in [strict, demo] {
        assert_eq!(
            (ran.outcome().as_str(), below(&ran)),
            (r#""Both greeted""#, vec![r#""Hello Ada""#.into(), r#""Hi Bo""#.into()])
        );
        assert_eq!(notices(&ran), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn the_demo_answers_an_edited_tree_and_says_so() {
    let recording = two_greetings().await;
    let ran = run(&parent(), r#"{"place":"Rome"}"#, &DemoModel::new(vec![Arc::clone(&recording)])).await;
    assert_eq!((below(&ran), notices(&ran)), (vec![r#""Hello Ada""#.into(), r#""Hi Bo""#.into()], 1));

    // The child agent was recorded in another mode: what is at its place in the parent's recording counts.
    let edited = PARENT.replace("agent = { mode = \"text\"", "agent = { mode = \"json\"");
    let edited = Agent::from_toml(&edited, "host.toml").unwrap();
    let ran = run(&edited, r#"{"place":"Oslo"}"#, &DemoModel::new(vec![Arc::clone(&recording)])).await;
    assert_eq!(ran.step.children[0].turns[0].raw_response, "Hello Ada");

    let stranger = Agent { name: "stranger".to_owned(), ..parent() };
    let ran = run(&stranger, r#"{"place":"Oslo"}"#, &DemoModel::new(vec![recording])).await;
    assert!(ran.step.fail.unwrap().message.contains("recorded: greet (text), host (text)"));
}

#[tokio::test(start_paused = true)]
async fn the_run_with_the_same_opening_counts_before_a_later_one() {
    let one = |text: &'static str| async move {
        recorded(&run(&plain(), &format!(r#"{{"x":"{text}"}}"#), &script([text])).await.events)
    };
    let demo = DemoModel::new(vec![one("first").await, one("second").await]);
    assert_eq!(run(&plain(), r#"{"x":"first"}"#, &demo).await.outcome(), r#""first""#);
    assert_eq!(run(&plain(), r#"{"x":"other"}"#, &demo).await.outcome(), r#""second""#);
}

fn plain() -> Agent {
    let text = "name = \"plain\"\nmode = \"text\"\nprompt = \"Say {{x}}.\"\nsignature = \"(x :string) -> :string\"\n";
    Agent::from_toml(text, "plain.toml").unwrap()
}
