//! The record: what was really sent, in Steps and events.

use super::*;
use ptc_workbench::agent::StepFold;
use ptc_workbench::event::PartKind;
use ptc_workbench::session::{Skeleton, TurnState};

async fn corrected() -> (Ran, Vec<Request>) {
    let (model, requests) = recorded_script(&[r#"{"x":1}"#, r#"{"a":1}"#]);
    let ran = run(&agent("go {{t}}", "(t :string) -> {a :int}"), r#"{"t":"now"}"#, &model).await;
    let requests = requests.lock().unwrap().clone();
    (ran, requests)
}

#[tokio::test]
async fn a_turn_holds_exactly_what_was_sent() {
    let (ran, requests) = corrected().await;
    for (turn, request) in ran.step.turns.iter().zip(&requests) {
        let system = request.system.iter().map(|text| ("system", text.clone()));
        let others = request.messages.iter().map(|m| (m.role.name(), m.joined()));
        let sent: Vec<_> = ran.step.sent(turn).map(|message| (message.role.name(), message.text())).collect();
        assert_eq!(sent, system.chain(others).collect::<Vec<_>>());
    }
    assert_eq!(ran.step.prompt.as_deref(), Some(requests[0].messages[0].joined().as_str()));
}

#[tokio::test]
async fn a_step_keeps_each_message_once_however_many_turns_sent_it() {
    let long = Agent::from_toml(
        "mode = 'json'\nprompt = 'go'\nsignature = '{a :int}'\nmax_turns = 50\nturn_budget = 50",
        "a.toml",
    )
    .unwrap();
    let ran = run(&long, "{}", &recorded_script(&["no"]).0).await;
    let sent: Vec<_> = ran.step.turns.iter().map(|turn| ran.step.sent(turn).count()).collect();
    assert_eq!(sent, (1..=50).map(|turn| 2 * turn).collect::<Vec<_>>());
    assert_eq!(ran.step.messages.len(), 100);
}

#[tokio::test]
async fn messages_are_stored_once_and_replies_never_repeated() {
    let (ran, _) = corrected().await;
    let texts: Vec<_> = ran
        .events
        .iter()
        .filter(|e| matches!(e.event, Event::MessageAdded(_)))
        .map(|e| e.event.data().unwrap().get().to_owned())
        .collect();
    assert_eq!(texts.len(), 4);
    assert!(texts[2].contains(r#"{"reply":"r0/t1"}"#), "{}", texts[2]);
    let mentions = texts.iter().filter(|text| text.contains(r#"{\"x\":1}"#)).count();
    assert_eq!(mentions, 1, "only the feedback quotes the reply");
}

#[tokio::test]
async fn the_fold_of_the_events_is_the_step() {
    let (ran, _) = corrected().await;
    let mut fold = StepFold::default();
    ran.events.iter().for_each(|envelope| fold.apply(envelope));
    assert!(fold.is_complete());
    assert_eq!(fold.step(), ran.step);
}

#[tokio::test]
async fn data_from_outside_is_marked_in_the_message_parts() {
    let (ran, _) = corrected().await;
    let user = ran
        .events
        .iter()
        .find_map(|e| match &e.event {
            Event::MessageAdded(message) if message.m == 1 => Some(message.clone()),
            _ => None,
        })
        .unwrap();
    let marked: Vec<_> = user
        .parts
        .iter()
        .filter_map(|part| match part {
            ptc_workbench::event::MessagePart::Text { text, untrusted: true, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(marked, ["now"]);
}

#[tokio::test]
async fn events_survive_the_way_through_a_line() {
    let (ran, _) = corrected().await;
    for envelope in &ran.events {
        let line = envelope.to_line(None).unwrap();
        assert!(line.starts_with(&format!("{{\"s\":{},\"t\":", envelope.seq)), "{line}");
        assert_eq!(&Envelope::from_line(&line).unwrap(), envelope);
    }
}

#[tokio::test]
async fn the_skeleton_knows_states_and_sizes() {
    let (ran, _) = corrected().await;
    let skeleton = Skeleton::of(ran.events.clone());
    let run = skeleton.last().unwrap();
    assert_eq!(run.turns.iter().map(|turn| turn.state).collect::<Vec<_>>(), [TurnState::Failed, TurnState::Succeeded]);
    let first = &ran.events[run.turns[0].events.range()];
    assert!(matches!(first[0].event, Event::TurnStart(_)) && matches!(first.last().unwrap().event, Event::TurnEnd(_)));
}

#[tokio::test]
async fn deltas_are_merged_and_nothing_is_lost() {
    use ptc_workbench::model::{Call, ModelError, Reply};
    struct Chatty;
    impl Model for Chatty {
        fn info(&self) -> ptc_workbench::event::ModelRecord {
            ptc_workbench::event::ModelRecord::default()
        }
        fn answer<'a>(&'a self, _: &'a Request, call: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>> {
            Box::pin(async move {
                let text = format!("{{\"a\":1,\"pad\":\"{}\"}}", "é".repeat(20_000));
                for c in text.chars() {
                    call.text(1, c.to_string()).await;
                }
                Ok(Reply::from(text))
            })
        }
    }
    let ran = run(&agent("go", "{a :int}"), "{}", &Chatty).await;
    let parts: Vec<_> = ran
        .events
        .iter()
        .filter_map(|e| match &e.event {
            Event::ReplyPart(part) => Some(part.clone()),
            _ => None,
        })
        .collect();
    let text: String = parts.iter().map(|part| part.text.as_str()).collect();
    assert_eq!(text, ran.step.turns[0].raw_response);
    assert_eq!(text.len(), 40_000 + r#"{"a":1,"pad":""}"#.len());
    assert!(parts.len() < 50, "{} parts", parts.len());
    for part in &parts {
        assert_eq!(part.kind, PartKind::Text);
        assert_eq!(part.lens.iter().map(|n| *n as usize).sum::<usize>(), part.text.len());
        assert!(part.text.len() <= ptc_workbench::engine::PART_BYTES);
    }
}

#[tokio::test]
async fn the_preview_is_the_first_request_byte_for_byte() {
    let mut subject = agent("Go {{t}}, {{t}}", "(t :string, extra :int) -> {a :int}");
    subject.context_descriptions = vec![("extra".to_owned(), "a number".to_owned())];
    let context = r#"{"t":"now","extra":7}"#;
    let (model, requests) = recorded_script(&[r#"{"a":1}"#]);
    run(&subject, context, &model).await;
    let plan = Plan::new(&subject).unwrap();
    let preview = engine::preview(&plan, &parsed(context).into()).unwrap();
    assert_eq!(preview.findings, []);
    assert_eq!(preview.request, requests.lock().unwrap()[0]);
}
