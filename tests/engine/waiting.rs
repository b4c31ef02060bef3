//! Runs that wait for a person: suspended, written to a file, resumed with the answer, and replayed as one.

use std::collections::HashMap;

use ptc_workbench::agent::Agent;
use ptc_workbench::model::Reply;
use ptc_workbench::replay::{Appending, Resumed};

use super::*;

/// A sink that others may look into.
struct Shared(Arc<Memory>);

impl Sink for Shared {
    fn emit(&self, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>> {
        self.0.emit(address, event)
    }
}

/// Runs until it waits, and goes on with an answer; all events of the file, and the last Step.
async fn resumed(toml: &str, before: Vec<Reply>, answer: &str, after: Vec<Reply>) -> (Vec<Envelope>, Step) {
    let agent = Agent::from_toml(toml, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    let plan = Plan::new(&agent).unwrap();
    let (model, _) = recorded_replies(before);
    let first = run(&agent, "{}", &model).await;
    assert_eq!(first.outcome(), "suspended");
    let question = first.step.waits_for.clone().unwrap();

    let dir = tempfile::tempdir().unwrap();
    let header = Header::new(SessionId::new(0, 7), 0);
    let path = dir.path().join(format!("{}.jsonl", header.id));
    let lines = first.events.iter().map(|envelope| envelope.to_line(None).unwrap() + "\n");
    std::fs::write(&path, serde_json::to_string(&header).unwrap() + "\n" + &lines.collect::<Vec<_>>().concat())
        .unwrap();
    let recording = Arc::new(Recording::of(&Session::open(&path).unwrap()).unwrap());

    let (model, _) = recorded_replies(after);
    let new = Arc::new(Memory::default());
    let sink = Appending::new(Arc::clone(&recording), Box::new(Shared(Arc::clone(&new))));
    let clock = Ticks(10);
    let stop = Stop::default();
    let live = Ports::new(&model, &clock, &sink, stop.clone());
    let answers = HashMap::from([(question, answer.to_owned())]);
    let ports = Resumed::new(
        recording,
        Address::run(0),
        live,
        ptc_workbench::replay::Answers { by_address: answers, ..ptc_workbench::replay::Answers::default() },
    );
    let step = engine::run(&plan, Input::new(parsed("{}")), &ports.ports(&sink, stop)).await;
    let mut events = first.events;
    for envelope in new.events() {
        let seq = events.len() as u64 + 1;
        events.push(Envelope { seq, ..envelope });
    }
    (events, step)
}

const ASK: &str = r#"{"thought":"which?","awaiting_user_input":{"kind":"text","prompt":"Which colour?"}}"#;
const CALL: &str = r#"{"thought":"look","tool_call":{"name":"look","arguments":{}}}"#;
const DONE: &str = r#"{"thought":"done","final_answer":"Blue it is."}"#;
const LOOK: &str = "mode = 'json_loop'\nprompt = 'go'\n[tools.look]\nkind = 'table'\ndefault = 'seen'\n";

#[tokio::test]
async fn a_question_of_a_control_object_goes_on_with_its_answer() {
    let (events, step) = resumed(LOOK, vec![CALL.into(), ASK.into()], "blue", vec![DONE.into()]).await;
    assert_eq!(step.answer.as_ref().and_then(Json::as_str), Some("Blue it is."), "{:?}", step.fail);
    assert_eq!(step.usage.turns, 3);
    let calls = events.iter().filter(|envelope| matches!(envelope.event, Event::ToolCall(_))).count();
    assert_eq!(calls, 1, "what was done before is not done again");
    assert!(step.messages.iter().any(|message| message.text().contains("<answer>\nblue\n</answer>")));
    replays(&events).await;
}

#[tokio::test]
async fn a_question_asked_by_a_tool_of_text_mode_goes_on_with_its_answer() {
    let toml = "mode = 'text'\nprompt = 'go'\nbuiltin_tools = ['ask_user']\n";
    let ask = Reply::calling([("ask_user", r#"{"question":"Which colour?"}"#)]);
    let (events, step) = resumed(toml, vec![ask], "blue", vec!["Blue it is.".into()]).await;
    assert_eq!(step.answer.as_ref().and_then(Json::as_str), Some("Blue it is."), "{:?}", step.fail);
    assert_eq!(step.calls[0].result.as_ref().unwrap().as_str(), "\"blue\"");
    replays(&events).await;
}
