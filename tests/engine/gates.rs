//! Runs that the user intercepts: what continues is what was left there, and a replay meets the same gates.

use ptc_workbench::event::{AnswerGiven, Answerer, QuestionAsked, ReplyEnd};
use ptc_workbench::port::{Checkpoint, Gate, Human, Question};
use tokio_util::sync::CancellationToken;

use super::*;

/// A user at one gate; `None` as a change leaves the text as it is.
struct Editor {
    gate: Gate,
    change: fn(&str) -> Option<String>,
}

impl Human for Editor {
    fn ask<'a>(&'a self, question: &'a Question, _: &'a CancellationToken) -> BoxFuture<'a, Option<String>> {
        let text = (self.change)(&question.text).unwrap_or_else(|| question.text.clone());
        Box::pin(async move { Some(text) })
    }

    fn stops_at(&self, checkpoint: Checkpoint<'_>) -> bool {
        checkpoint == Checkpoint::Gate(self.gate)
    }
}

const WRONG: &str = r#"{"n": "many"}"#;

async fn intercepted(
    replies: &[&str],
    gate: Gate,
    change: fn(&str) -> Option<String>,
) -> (Ran, Arc<Mutex<Vec<Request>>>) {
    let plan = Plan::new(&agent("How many {{what}}?", "(what :string) -> {n :int}")).unwrap();
    let (model, requests) = recorded_script(replies);
    let (sink, human) = (Memory::default(), Editor { gate, change });
    let ports = Ports { human: &human, ..Ports::new(&model, &Ticks(10), &sink, Stop::default()) };
    let step = engine::run(&plan, Input::new(parsed(r#"{"what":"cats"}"#)), &ports).await;
    let ran = Ran { step, events: sink.events() };
    replays(&ran.events).await;
    assert_eq!(fold(&ran.events), ran.step);
    (ran, requests)
}

fn answers(ran: &Ran) -> Vec<&AnswerGiven> {
    let given = ran.events.iter().filter_map(|envelope| match &envelope.event {
        Event::AnswerGiven(given) => Some(given),
        _ => None,
    });
    given.collect()
}

fn kinds(ran: &Ran) -> Vec<&str> {
    let asked = ran.events.iter().filter_map(|envelope| match &envelope.event {
        Event::QuestionAsked(QuestionAsked { kind, .. }) => Some(kind.name()),
        _ => None,
    });
    asked.collect()
}

#[tokio::test]
async fn a_changed_reply_is_the_one_that_is_read_and_stays_next_to_the_model_s_own() {
    let (ran, _) = intercepted(&[WRONG], Gate::Apply, |_| Some(r#"{"n": 3}"#.to_owned())).await;
    assert_eq!((ran.outcome().as_str(), ran.turns()), (r#"{"n":3}"#, vec!["ok".to_owned()]));
    assert_eq!(kinds(&ran), ["gate_apply"]);
    assert!(answers(&ran)[0].edited && answers(&ran)[0].by == Answerer::User);
    let ends: Vec<&ReplyEnd> = ran
        .events
        .iter()
        .filter_map(|envelope| match &envelope.event {
            Event::ReplyEnd(end) => Some(end),
            _ => None,
        })
        .collect();
    assert_eq!(ends.len(), 2, "the model's own reply stays in the record");
    assert_eq!((ends[1].attempt, ends[1].model.as_deref()), (ends[0].attempt + 1, Some(ReplyEnd::EDITOR)));
    assert_eq!(ran.step.turns[0].raw_response, r#"{"n": 3}"#);
}

#[tokio::test]
async fn what_passes_a_gate_unchanged_is_recorded_without_being_repeated() {
    let (ran, requests) = intercepted(&[r#"{"n": 2}"#], Gate::Send, |_| None).await;
    assert_eq!(ran.outcome(), r#"{"n":2}"#);
    assert_eq!((answers(&ran)[0].value.as_str(), answers(&ran)[0].edited), ("true", false));
    assert!(requests.lock().unwrap()[0].messages[0].joined().contains("How many cats?"));
}

#[tokio::test]
async fn a_changed_request_is_what_is_sent_then_and_later() {
    let change = |text: &str| text.contains("cats").then(|| text.replace("cats", "dogs"));
    let (ran, requests) = intercepted(&[WRONG, r#"{"n": 2}"#], Gate::Send, change).await;
    assert_eq!(ran.outcome(), r#"{"n":2}"#);
    assert_eq!(kinds(&ran), ["gate_send", "gate_send"]);
    assert_eq!(answers(&ran).iter().map(|given| given.edited).collect::<Vec<_>>(), [true, false]);
    for request in requests.lock().unwrap().iter() {
        assert!(request.messages[0].joined().contains("How many dogs?"), "{:?}", request.messages);
    }
    let recording = recorded(&ran.events);
    let sent = recording.request(&Address::from("r0/t1")).unwrap();
    assert!(sent.iter().any(|message| message.text().contains("dogs")), "the record shows what was sent");
}

#[tokio::test]
async fn a_run_at_a_gate_waits_in_its_session_when_nobody_is_there() {
    struct Away;
    impl Human for Away {
        fn ask<'a>(&'a self, _: &'a Question, _: &'a CancellationToken) -> BoxFuture<'a, Option<String>> {
            Box::pin(async { None })
        }

        fn stops_at(&self, checkpoint: Checkpoint<'_>) -> bool {
            checkpoint == Checkpoint::Gate(Gate::Apply)
        }
    }
    let toml = "mode = 'json'\nprompt = 'go'\nsignature = '{n :int}'\n";
    let (events, step) = super::waiting::resumed_with(toml, vec![WRONG.into()], r#"{"n": 4}"#, Vec::new(), &Away).await;
    assert_eq!(step.answer.as_ref().map(Json::to_text).as_deref(), Some(r#"{"n":4}"#), "{:?}", step.fail);
    replays(&events).await;
}

const TOOL: &str = "[tools.look]\nkind = 'table'\ndefault = {n = 1}\n[tools.broken]\nkind = 'table'\nrows = [{args = {}, error = 'no'}]\n";

/// A run of one reply whose calls are intercepted.
async fn with_results(toml: &str, replies: Vec<Reply>, change: fn(&str) -> Option<String>) -> Ran {
    let agent = Agent::from_toml(toml, "gates.toml").unwrap_or_else(|error| panic!("{error}"));
    let plan = Plan::new(&agent).unwrap();
    let (model, _) = recorded_replies(replies);
    let (sink, human) = (Memory::default(), Editor { gate: Gate::Result, change });
    let ports = Ports { human: &human, ..Ports::new(&model, &Ticks(10), &sink, Stop::default()) };
    let step = engine::run(&plan, Input::new(parsed("{}")), &ports).await;
    let ran = Ran { step, events: sink.events() };
    replays(&ran.events).await;
    assert_eq!(fold(&ran.events), ran.step);
    ran
}

#[tokio::test]
async fn a_changed_result_is_the_one_that_continues_and_the_tool_s_own_stays_in_the_record() {
    let change = |text: &str| text.contains("\"n\": 1").then(|| "{\"n\": 5}".to_owned());
    let lisp = format!("mode = 'ptc_lisp'\nprompt = 'go'\nsignature = '{{n :int}}'\n{TOOL}");
    let program = "```clojure\n(return {:n (+ (:n (tool/look {})) (:n (tool/look {})))})\n```";
    let ran = with_results(&lisp, vec![program.into()], change).await;
    assert_eq!(ran.outcome(), r#"{"n":10}"#);
    assert_eq!(kinds(&ran), ["gate_result", "gate_result"]);
    let results = ran.events.iter().filter_map(|envelope| match &envelope.event {
        Event::ToolEnd(end) if envelope.address.as_str() == "r0/t1/c0" => end.result.as_ref(),
        _ => None,
    });
    let results: Vec<&str> = results.map(ptc_workbench::event::JsonText::as_str).collect();
    assert_eq!(results, [r#"{"n":1}"#, r#"{"n":5}"#]);
    let text = format!("mode = 'text'\nprompt = 'go'\nsignature = '{{n :int}}'\n{TOOL}");
    let replies = vec![Reply::calling([("look", "{}".to_owned())]), r#"{"n": 2}"#.into()];
    let ran = with_results(&text, replies, change).await;
    let shown = ran.step.messages.iter().any(|message| message.text().contains("\"n\":5"));
    assert!(shown, "the model sees what was put in place: {:?}", ran.step.messages);
}

#[tokio::test]
async fn a_failure_of_a_tool_is_passed_on_or_replaced_by_a_result() {
    let lisp = format!("mode = 'ptc_lisp'\nprompt = 'go'\nsignature = '{{n :int}}'\n{TOOL}");
    let program =
        || vec!["```clojure\n(return {:n (tool/broken {})})\n```".into(), "```clojure\n(return {:n 7})\n```".into()];
    let passed = with_results(&lisp, program(), |_| None).await;
    assert_eq!(
        (passed.outcome().as_str(), passed.turns()),
        (r#"{"n":7}"#, vec!["tool_error".to_owned(), "ok".to_owned()])
    );
    let replaced = with_results(&lisp, program(), |_| Some("3".to_owned())).await;
    assert_eq!((replaced.outcome().as_str(), replaced.turns()), (r#"{"n":3}"#, vec!["ok".to_owned()]));
}

#[tokio::test]
async fn a_result_waits_at_its_gate_and_is_not_asked_for_again() {
    struct Away;
    impl Human for Away {
        fn ask<'a>(&'a self, _: &'a Question, _: &'a CancellationToken) -> BoxFuture<'a, Option<String>> {
            Box::pin(async { None })
        }

        fn stops_at(&self, checkpoint: Checkpoint<'_>) -> bool {
            checkpoint == Checkpoint::Gate(Gate::Result)
        }
    }
    let toml = format!("mode = 'ptc_lisp'\nprompt = 'go'\nsignature = '{{n :int}}'\n{TOOL}");
    let program = "```clojure\n(return {:n (:n (tool/look {}))})\n```";
    let (events, step) =
        super::waiting::resumed_with(&toml, vec![program.into()], r#"{"n": 4}"#, Vec::new(), &Away).await;
    assert_eq!(step.answer.as_ref().map(Json::to_text).as_deref(), Some(r#"{"n":4}"#), "{:?}", step.fail);
    let ends = events.iter().filter(|envelope| matches!(envelope.event, Event::ToolEnd(_))).count();
    assert_eq!(ends, 2, "the tool's own, and the one that was put in its place");
    replays(&events).await;
}
