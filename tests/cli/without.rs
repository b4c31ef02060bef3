//! `fork --drop`: the model is asked again without a part of a request, in that turn and in those that follow, and the session replays.

use serde_json::Value;

use super::program::{Done, Program};
use crate::openai::server::{Play, Server, answer};

/// A run of two turns and a fork of its second one without a part; the bodies that the server received.
async fn forked(agent: &'static str, plays: Vec<Play>, title: &'static str) -> (Program, Done, Vec<Value>) {
    let server = Server::play(plays).await;
    let program = Program::new();
    let config = format!(
        "[providers.local]\nkind = \"openai\"\nbase_url = \"{}\"\n[models.m]\nprovider = \"local\"\nid = \"m\"\n",
        server.base_url
    );
    program.file("config.toml", config);
    program.file("a.toml", agent);
    let (program, done) = tokio::task::spawn_blocking(move || {
        program.run(["--config", "config.toml", "run", "a.toml"]).exits(0);
        let done = program.run(["--config", "config.toml", "fork", "last", "--at", "r0/t2", "--drop", title, "--json"]);
        (program, done)
    })
    .await
    .unwrap();
    let bodies = server.received().iter().map(crate::openai::server::Received::json).collect();
    (program, done, bodies)
}

const JSON: &str =
    "model = \"m\"\nmode = \"json\"\nprompt = \"Count the blue boats.\"\nsignature = \"{n :int}\"\nmax_turns = 5\n";

fn roles(body: &Value) -> Vec<&str> {
    body["messages"].as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect()
}

/// The texts of the assistant's messages.
fn replies(body: &Value) -> Vec<&str> {
    let messages = body["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "assistant");
    messages.map(|message| message["content"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_not_sent_in_the_turn_nor_in_those_that_follow() {
    let plays = vec![answer("{\"wrong\": 1}"), answer(r#"{"n":7}"#), answer("{}"), answer(r#"{"n":8}"#)];
    let (program, done, bodies) = forked(JSON, plays, "reply").await;
    assert_eq!(done.exits(0).json()["return"]["n"], 8);
    assert_eq!(roles(&bodies[1]), ["system", "user", "assistant", "user"]);
    assert_eq!(roles(&bodies[2]), ["system", "user"], "the feedback follows the task");
    assert_eq!(replies(&bodies[3]), ["{}"], "the reply of the first turn stays away");
    program.run(["replay", "last", "--check"]).exits(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_section_is_cut_from_its_message() {
    let plays = vec![answer("{}"), answer(r#"{"n":7}"#), answer(r#"{"n":8}"#)];
    let (program, done, bodies) = forked(JSON, plays, "task").await;
    assert_eq!(done.exits(0).json()["return"]["n"], 8);
    assert!(bodies[1].to_string().contains("Count the blue boats."));
    assert!(!bodies[2].to_string().contains("Count the blue boats."), "{}", bodies[2]);
    program.run(["replay", "last", "--check"]).exits(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_titles_and_models_that_read_nothing_are_refused() {
    let plays = vec![answer("{}"), answer(r#"{"n":7}"#)];
    let (program, done, _) = forked(JSON, plays, "no such part").await;
    let output = done.exits(2).stderr.clone();
    assert!(output.contains("no part of the request of r0/t2 has the title `no such part`; known: "), "{output}");
    let human = program.run(["fork", "last", "--at", "r0/t2", "--drop", "reply", "--model", "human"]);
    assert!(human.exits(2).stderr.contains("the model human does not depend on the request"), "{}", human.stderr);
    let sessions = program.run(["sessions", "list", "--json"]).exits(0).json();
    let own = sessions.as_array().unwrap().iter().filter(|line| line["path"].is_string());
    assert_eq!(own.count(), 1, "nothing was written");
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_of_one_title_are_chosen_by_their_number() {
    let plays = || vec![answer("{}"), answer(r#"{"n":7}"#), answer(r#"{"n":8}"#)];
    let (_, done, _) = forked(JSON, plays(), "feedback").await;
    let output = done.exits(2).stderr.clone();
    assert!(output.contains("parts of the request of r0/t2 have the title `feedback`"), "{output}");
    assert!(output.contains("write one of `feedback 1`, `feedback 2`"), "{output}");
    let (program, done, bodies) = forked(JSON, plays(), "feedback 1").await;
    assert_eq!(done.exits(0).json()["return"]["n"], 8);
    assert_ne!(bodies[1]["messages"], bodies[2]["messages"]);
    program.run(["replay", "last", "--check"]).exits(0);
}

const TOOLS: &str = r#"model = "m"
mode = "text"
prompt = "Look the price up."
signature = "{n :int}"
max_turns = 5
[model_options]
temperature = 0.25
[tools.price]
kind = "table"
signature = "(name :string) -> :int"
description = "A price"
rows = []
default = 7
[tools.stock]
kind = "table"
signature = "(name :string) -> :int"
description = "How many there are"
rows = []
default = 2
"#;

fn tools(body: &Value) -> Vec<&str> {
    let tools = body["tools"].as_array().into_iter().flatten();
    tools.map(|tool| tool["function"]["name"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_and_the_options_are_dropped_through_the_agent() {
    let plays = || vec![answer("{}"), answer(r#"{"n":7}"#), answer("{}"), answer(r#"{"n":8}"#)];
    let (program, done, bodies) = forked(TOOLS, plays(), "tool · stock").await;
    assert_eq!(done.exits(0).json()["return"]["n"], 8);
    let offered: Vec<_> = bodies.iter().map(tools).collect();
    assert_eq!(offered, [vec!["price", "stock"], vec!["price", "stock"], vec!["price"], vec!["price"]]);
    program.run(["replay", "last", "--check"]).exits(0);

    let (program, done, bodies) = forked(TOOLS, plays(), "options").await;
    assert_eq!(done.exits(0).json()["return"]["n"], 8);
    let set: Vec<bool> = bodies.iter().map(|body| body["temperature"].is_number()).collect();
    assert_eq!(set, [true, true, false, false]);
    program.run(["replay", "last", "--check"]).exits(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_run_needs_is_not_dropped_and_the_error_names_the_reason() {
    let plays = || vec![answer("{}"), answer(r#"{"n":7}"#)];
    let (_, done, _) = forked(JSON, plays(), "schema").await;
    assert!(done.exits(2).stderr.contains("the answer is checked against it"), "{}", done.stderr);
    let (_, done, _) = forked(JSON, plays(), "options").await;
    assert!(done.exits(2).stderr.contains("no option is set"), "{}", done.stderr);
    let one = TOOLS.split("[tools.stock]").next().unwrap();
    let (_, done, _) = forked(Box::leak(one.to_owned().into_boxed_str()), plays(), "tool · price").await;
    assert!(done.exits(2).stderr.contains("it is the only tool"), "{}", done.stderr);
}
