//! Examples of output modes.

use std::sync::{Arc, Mutex};

use ptc_workbench::agent::{Agent, Mode};
use ptc_workbench::model::{ClosureModel, Reply, Request, Want, script};
use ptc_workbench::{RunOutcome, run};
use serde_json::json;

use super::{kept, outcome, p, value};
use crate::engine::replays;

/// Overview: which modes write programs, and which give data.
#[test]
fn modes_of_programs_and_of_data() {
    assert!(Mode::PtcLisp.is_program() && !Mode::PtcLisp.is_data());
    assert!([Mode::Json, Mode::Text, Mode::JsonLoop].into_iter().all(|mode| mode.is_data() && !mode.is_program()));
}

/// One prompt in each mode: only the JSON mode sends a schema, only programs and loops list tools.
#[tokio::test]
async fn each_mode_asks_for_its_own_kind_of_reply() {
    for (mode, want, schema) in [
        (Mode::PtcLisp, Want::Program, false),
        (Mode::Json, Want::Json, true),
        (Mode::Text, Want::Json, true),
        (Mode::JsonLoop, Want::ControlJson, true),
    ] {
        let asked: Arc<Mutex<Option<Request>>> = Arc::default();
        let seen = Arc::clone(&asked);
        let model = ClosureModel::new(move |request: &Request| {
            *seen.lock().unwrap() = Some(request.clone());
            match request.want {
                Want::Program => p("(return {:label \"a\"})"),
                Want::ControlJson => r#"{"thought":"t","final_answer":{"label":"a"}}"#.into(),
                Want::Json | Want::Text => Reply::from(r#"{"label":"a"}"#),
            }
        });
        let step = run("Classify this review").mode(mode).signature("{label :string}").model(model).await;
        assert_eq!(outcome(&step), r#"{"label":"a"}"#, "{mode}");
        let request = asked.lock().unwrap().clone().unwrap();
        assert_eq!((request.want, request.schema.is_some()), (want, schema), "{mode}");
        assert_eq!(request.mode, mode.name());
    }
}

/// Text without a signature is returned as it came, and never asked for again.
#[tokio::test]
async fn plain_text_is_returned_as_it_came() {
    let (model, requests) = super::scripted(["  Two lines\nof text.\n"]);
    let step = run("Summarize this text").max_turns(5).model(model).await;
    assert_eq!(step.answer.as_ref().unwrap().as_str(), Some("  Two lines\nof text.\n"));
    assert_eq!((step.signature, requests.lock().unwrap().len()), (None, 1));
}

/// A chain: a classification, then a decision.
#[tokio::test]
async fn json_feeds_a_program() {
    let first = run("Classify: {{review}}")
        .mode(Mode::Json)
        .signature("() -> {sentiment :string}")
        .context(json!({"review": "Great!"}))
        .model(script([r#"{"sentiment":"positive"}"#]))
        .await;
    let second = run("Decide action based on sentiment")
        .mode(Mode::PtcLisp)
        .tool_fn("reply", "(text :string) -> :string", "Replies", |args| {
            Ok(args.lookup("text").cloned().unwrap_or_default())
        })
        .context(&first)
        .model(script([p("(return (tool/reply {:text (str \"so \" data/sentiment)}))")]))
        .await;
    assert_eq!(outcome(&second), r#""so positive""#);
}

/// A text reaches an agent with one parameter under its name.
#[tokio::test]
async fn text_feeds_a_program() {
    let first = run("Write about tea").model(script(["Tea is hot."])).await;
    let count = Agent::builder().mode(Mode::PtcLisp).prompt("Count").signature("(note :string) -> {n :int}");
    let second = first.then(count).model(script([p("(return {:n (count data/note)})")])).await;
    assert_eq!(outcome(&second), r#"{"n":11}"#);
}

/// Every mode feeds every other one.
#[tokio::test]
async fn every_mode_feeds_every_mode() {
    let reply = |mode: Mode| match mode {
        Mode::PtcLisp => p("(return {:word \"a\"})"),
        Mode::JsonLoop => r#"{"thought":"t","final_answer":{"word":"a"}}"#.into(),
        Mode::Json | Mode::Text => Reply::from(r#"{"word":"a"}"#),
    };
    let agent = |mode: Mode| {
        Agent::builder().mode(mode).prompt("Again: {{word}}").signature("(word :string) -> {word :string}")
    };
    for one in Mode::ALL {
        let first = run(agent(one)).context(json!({"word": "x"})).model(script([reply(one)])).await;
        for other in Mode::ALL {
            let second = first.then(agent(other)).model(script([reply(other)])).await;
            assert_eq!(outcome(&second), r#"{"word":"a"}"#, "{one} to {other}");
        }
    }
}

/// A callback that knows only system text and messages.
#[tokio::test]
async fn a_closure_may_look_at_as_little_as_it_likes() {
    let model = ClosureModel::new(|request: &Request| {
        assert!(request.system.is_some() && !request.messages.is_empty());
        "{\"label\": \"a\"}"
    });
    let step = run("Classify").signature("{label :string}").model(model).await;
    assert_eq!(outcome(&step), r#"{"label":"a"}"#);
}

const CONTACTS: &str = r#"["John Smith","John Miller"]"#;

/// The agent that asks which of two people is meant.
fn mailer() -> ptc_workbench::agent::AgentBuilder {
    Agent::builder()
        .mode(Mode::PtcLisp)
        .prompt("Send an email to John")
        .set("builtin_tools", ptc_core::value::Json::list([ptc_core::value::Json::str("ask_user")]))
        .tool_fn("search", "(name :string) -> [:string]", "Finds people", |_| Ok(value(CONTACTS)))
        .tool_fn("send_email", "(to :string) -> :string", "Sends", |args| {
            Ok(format!("sent to {}", args.lookup("to").and_then(|to| to.as_str()).unwrap_or_default()).into())
        })
}

fn mails() -> impl ptc_workbench::model::Model + 'static {
    script([
        p("(def who (let [found (tool/search {:name \"John\"})] \
           (if (> (count found) 1) (tool/ask_user {:question \"Which John?\" :options found}) (first found))))"),
        p("(return (tool/send_email {:to who}))"),
    ])
}

/// A question suspends the run; the answer continues it where it was, and nothing is done twice.
#[tokio::test]
async fn a_question_suspends_the_run_and_the_answer_resumes_it() {
    let (run, events) = kept(run(mailer()).model(mails()));
    let RunOutcome::Waits(waiting) = run.hold().await else { panic!("the run asks") };
    assert_eq!(outcome(&waiting.step), "suspended");
    let question = waiting.question().unwrap();
    assert_eq!((question.text.as_str(), question.options.len()), ("Which John?", 2));
    let RunOutcome::Ended(step) = waiting.resume("John Smith").await else { panic!("nothing more is asked") };
    assert_eq!(outcome(&step), r#""sent to John Smith""#);
    assert_eq!(step.calls.iter().filter(|call| call.name == "search").count(), 1);
    let events = events.lock().unwrap().clone();
    assert_eq!(events.iter().filter(|envelope| envelope.event.kind() == "tool.call").count(), 3);
    replays(&events).await;
}

/// With a user who answers the same agent runs through.
#[tokio::test]
async fn a_user_may_answer_at_once() {
    let step = run(mailer())
        .model(mails())
        .on_question(|question| question.text.contains("John Miller").then(|| "John Miller".to_owned()));
    assert_eq!(outcome(&step.await), r#""sent to John Miller""#);
}

/// Limitations: memory is not carried through a step in another mode.
#[tokio::test]
async fn memory_is_not_carried_between_agents() {
    let agent = |prompt: &str| Agent::builder().mode(Mode::PtcLisp).prompt(prompt).signature("{n :int}");
    let first = run(agent("Start")).model(script([p("(def kept 7) (return {:n kept})")])).await;
    assert_eq!(first.memory, [("kept".to_owned(), "7".to_owned())]);
    let middle =
        first.then(Agent::builder().mode(Mode::Json).prompt("Pass {{n}} on").signature("(n :int) -> {n :int}"));
    let middle = middle.model(script([r#"{"n":8}"#])).await;
    assert!(middle.memory.is_empty());
    let last = run(agent("End").max_turns(1)).context(&middle).model(script([p("(return {:n kept})")])).await;
    assert_eq!(outcome(&last), "unbound_var");
}
