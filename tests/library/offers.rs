//! Library features without an example of their own: models by name, events, conversations, definitions that cannot be run.

use std::sync::{Arc, Mutex};

use ptc_core::value::json::Node;
use ptc_workbench::agent::{Agent, Mode};
use ptc_workbench::engine::ModelList;
use ptc_workbench::event::{Envelope, Event};
use ptc_workbench::model::script;
use ptc_workbench::port::Stop;
use ptc_workbench::{Chat, run};
use serde_json::json;

use super::{kept, last, outcome, p, scripted};
use crate::engine::replays;

/// Scenario 29: the chain is checked before anything is asked; a failure comes first.
#[tokio::test]
async fn a_chain_breaks_before_a_request_is_made() {
    let next = || Agent::builder().mode(Mode::Json).prompt("Use {{z}}").signature("(z :string) -> {r :string}");
    let first = run("Say").signature("{a :string}").model(script([r#"{"a":"x"}"#])).await;
    let (model, requests) = scripted([r#"{"r":"x"}"#]);
    let second = first.then(next()).model(model).await;
    assert_eq!(outcome(&second), "chain_error");
    assert!(second.fail.unwrap().message.contains("`z`"));
    assert!(requests.lock().unwrap().is_empty());
    let failed = run("Say").signature("{a :string}").max_turns(1).model(script(["no"])).await;
    assert_eq!(outcome(&failed.then(next()).model(script(["x"])).await), "chained_failure");
    assert_eq!(outcome(&run(next()).context(&failed).model(script(["x"])).await), "chained_failure");
    assert_eq!(failed.into_answer().unwrap_err().reason, "json_parse_error");
}

/// Scenario 30: no model, a name without a list, a name that is not in it, and one that is.
#[tokio::test]
async fn models_are_found_by_name() {
    let list = || ModelList::default().with("small", script(["hello"]));
    assert_eq!(outcome(&run("Say").await), "llm_required");
    assert_eq!(outcome(&run("Say").model_named("small").await), "llm_registry_required");
    let near = run("Say").model_named("smal").models(list()).await;
    assert_eq!(outcome(&near), "llm_not_found");
    assert!(near.fail.unwrap().message.contains("did you mean `small`"));
    assert_eq!(outcome(&run("Say").model_named("small").models(list()).await), r#""hello""#);
    let own = Agent::builder().mode(Mode::Text).prompt("Say").model("small");
    assert_eq!(outcome(&run(own).models(list()).await), r#""hello""#);
}

#[tokio::test]
async fn events_are_reported_as_they_happen() {
    let kinds: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = Arc::clone(&kinds);
    let step = run("Say")
        .model(script(["hello"]))
        .on_event(move |envelope: &Envelope| kept.lock().unwrap().push(envelope.event.kind().to_owned()))
        .await;
    assert_eq!(outcome(&step), r#""hello""#);
    let kinds = kinds.lock().unwrap().clone();
    assert_eq!((kinds.first().unwrap().as_str(), kinds.last().unwrap().as_str()), ("run.start", "run.end"));
}

#[tokio::test]
async fn events_are_a_stream() {
    let mut events = run("Say").model(script(["hello"])).stream();
    let mut text = String::new();
    while let Some(envelope) = events.next().await {
        if let Event::ReplyPart(part) = envelope.event {
            text.push_str(&part.text);
        }
    }
    assert_eq!(text, "hello");
    assert_eq!(outcome(&events.step().await), r#""hello""#);
}

#[tokio::test]
async fn a_stop_ends_the_run() {
    let stop = Stop::default();
    stop.by_user();
    assert_eq!(outcome(&run("Say").model(script(["hello"])).stop(stop).await), "cancelled");
}

/// A conversation keeps its messages and definitions.
#[tokio::test]
async fn a_conversation_knows_what_was_sent_and_defined() {
    let (model, requests) = scripted([p("(def a 2) (return a)"), p("(return (* a 21))")]);
    let (run, events) = kept(run("You count").mode(Mode::PtcLisp).model(model));
    let mut chat = Chat::new(run);
    assert_eq!(outcome(&chat.send("Keep two").await), "2");
    assert_eq!(outcome(&chat.send("Times {{21}}").await), "42");
    let events = events.lock().unwrap().clone();
    replays(&events).await;
    let requests = requests.lock().unwrap();
    let all: String = requests[1].messages.iter().map(|message| message.joined()).collect();
    assert!(all.contains("Keep two") && all.contains("Times {{21}}"), "{all}");
}

#[tokio::test]
async fn a_definition_that_cannot_be_run_says_why() {
    let step = run(Agent::builder().mode(Mode::Json).prompt("Go")).model(script(["{}"])).await;
    assert_eq!(outcome(&step), "invalid_agent");
    let wrong = run("Go").with(|agent| agent.set("max_trns", Node::Int(3).into())).model(script(["x"])).await;
    let fail = wrong.fail.unwrap();
    assert!(fail.message.contains("max_trns") && fail.message.contains("max_turns"), "{}", fail.message);
}

/// Templates without parameters, plain data, and an agent's own context.
#[tokio::test]
async fn data_comes_from_the_run_or_from_the_agent() {
    let own = Agent::builder().mode(Mode::Text).prompt("Say {{x}}").context(super::parsed(r#"{"x":"own"}"#));
    let (model, requests) = scripted(["a", "b"]);
    run(own.clone()).model(Arc::clone(&model)).await;
    run(own).context(json!({"x": "given"})).model(model).await;
    let requests = requests.lock().unwrap();
    assert!(last(&requests[0]).contains("Say own") && last(&requests[1]).contains("Say given"));
}

/// A finished task is not done again in the run that continues.
#[tokio::test]
async fn a_conversation_keeps_its_journal() {
    let made = Arc::new(Mutex::new(0));
    let count = Arc::clone(&made);
    let counting = Agent::builder()
        .mode(Mode::PtcLisp)
        .prompt("You count")
        .set("journaling", Node::Bool(true).into())
        .tool_fn("count", "() -> :int", "Counts", move |_| {
            let mut made = count.lock().unwrap();
            *made += 1;
            Ok(ptc_core::value::Value::Int(*made))
        });
    let (model, requests) = scripted([
        p("(return (task \"first\" (tool/count)))"),
        p("(return [(task \"first\" (tool/count)) (task \"second\" (tool/count))])"),
    ]);
    let (run, events) = kept(run(counting).model(model));
    let mut chat = Chat::new(run);
    assert_eq!(outcome(&chat.send("Once").await), "1");
    assert_eq!(outcome(&chat.send("Again").await), "[1,2]");
    assert_eq!(*made.lock().unwrap(), 2, "the first task was done once");
    let log = requests.lock().unwrap()[1].system.clone().unwrap();
    assert!(log.contains("- first: 1"), "{log}");
    let events = events.lock().unwrap().clone();
    replays(&events).await;
}

/// The section of a mode counts when that mode is chosen, also for the agent's own mode and in whatever order things are set.
#[tokio::test]
async fn choosing_a_mode_takes_its_section() {
    let toml = "mode = 'ptc_lisp'\nprompt = 'Programs about {{x}}'\nsignature = '(x :string) -> {n :int}'\nmax_turns = 4\n\
                [tools.t]\nkind = 'table'\ndefault = 1\n\
                [modes.json]\nprompt = 'JSON about {{x}}'\ntools = {}\nmax_turns = 2\n\
                [modes.ptc_lisp]\nmax_turns = 1\n";
    let agent = || Agent::from_toml(toml, "test.toml").unwrap();
    let (model, requests) = scripted([r#"{"n":1}"#]);
    let step = run(agent()).mode(Mode::Json).context(json!({"x": "tea"})).model(model).await;
    assert_eq!(outcome(&step), r#"{"n":1}"#);
    assert!(last(&requests.lock().unwrap()[0]).contains("JSON about tea"));
    let failed = run(agent()).mode(Mode::Json).context(json!({"x": "tea"})).model(script(["no"])).await;
    assert_eq!(failed.usage.own.turns, 2);
    let own = run(agent()).context(json!({"x": "tea"})).model(script([p("nil")])).await;
    assert_eq!((outcome(&own), own.usage.own.turns), ("max_turns_exceeded".to_owned(), 1));
    // What is set after the choice wins; a mode without a section keeps what it can.
    let text = run(agent()).mode(Mode::Json).max_turns(3).context(json!({"x": "tea"})).model(script(["no"])).await;
    assert_eq!(text.usage.own.turns, 3);
    let looping = r#"{"thought":"t","final_answer":{"n":5}}"#;
    let other = run(agent()).mode(Mode::JsonLoop).context(json!({"x": "tea"})).model(script([looping])).await;
    assert_eq!(outcome(&other), r#"{"n":5}"#);
}

/// The number of attempts on a failing model is an option of the agent.
#[tokio::test]
async fn an_agent_says_how_often_its_model_is_tried() {
    use ptc_workbench::model::{ClosureModel, ErrorClass, ModelError, Request};
    let failing = |class: ErrorClass| {
        let asked = Arc::new(Mutex::new(0));
        let count = Arc::clone(&asked);
        let model = ClosureModel::new(move |_: &Request| {
            let mut asked = count.lock().unwrap();
            *asked += 1;
            if *asked < 3 { Err(ModelError::new(class, "not now")) } else { Ok("hello".to_owned()) }
        });
        (model, asked)
    };
    let patient = |retry: &str| {
        let toml = format!("mode = 'text'\nprompt = 'Say'\nretry = {retry}\n");
        Agent::from_toml(&toml, "test.toml").unwrap()
    };
    let (model, _) = failing(ErrorClass::Server);
    let (tried, events) = kept(run(patient("{ max_attempts = 3, base_delay_ms = 0 }")).model(model));
    let step = tried.await;
    assert_eq!((outcome(&step).as_str(), step.usage.own.requests, step.usage.own.turns), (r#""hello""#, 3, 1));
    let events = events.lock().unwrap().clone();
    let kinds = events.iter().filter(|envelope| envelope.event.kind() == "retry.wait").count();
    assert_eq!(kinds, 2);
    replays(&events).await;
    let (model, asked) = failing(ErrorClass::Server);
    let refused = "{ max_attempts = 3, base_delay_ms = 0, retryable = ['timeout'] }";
    assert_eq!(outcome(&run(patient(refused)).model(model).await), "llm_error");
    assert_eq!(*asked.lock().unwrap(), 1);
    let (model, asked) = failing(ErrorClass::Server);
    assert_eq!(outcome(&run("Say").model(model).await), "llm_error");
    assert_eq!(*asked.lock().unwrap(), 1, "a closure is asked once by default");
}
