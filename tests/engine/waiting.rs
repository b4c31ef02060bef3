//! Runs that wait for the user: suspended, written to a file, resumed with the answer, and replayed as one.

use std::collections::HashMap;

use ptc_workbench::agent::Agent;
use ptc_workbench::model::Reply;
use ptc_workbench::replay::ResumePorts;

use super::*;

/// A sink that others may look into.
struct Shared(Arc<Memory>);

impl Sink for Shared {
    fn emit(&self, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>> {
        self.0.emit(address, event)
    }
}

/// Runs until it waits, and continues with an answer; all events of the file, and the last Step.
async fn resumed(toml: &str, before: Vec<Reply>, answer: &str, after: Vec<Reply>) -> (Vec<Envelope>, Step) {
    struct NoUser;
    impl ptc_workbench::port::Human for NoUser {
        fn ask<'a>(
            &'a self,
            _: &'a ptc_workbench::port::Question,
            _: &'a tokio_util::sync::CancellationToken,
        ) -> BoxFuture<'a, Option<String>> {
            Box::pin(async { None })
        }
    }
    resumed_with(toml, before, answer, after, &NoUser).await
}

/// The same with a user.
pub(super) async fn resumed_with(
    toml: &str,
    before: Vec<Reply>,
    answer: &str,
    after: Vec<Reply>,
    human: &dyn ptc_workbench::port::Human,
) -> (Vec<Envelope>, Step) {
    let agent = Agent::from_toml(toml, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    let plan = Plan::new(&agent).unwrap();
    let (model, _) = recorded_replies(before);
    let first = {
        let sink = Memory::default();
        let ports = Ports { human, ..Ports::new(&model, &Ticks(10), &sink, Stop::default()) };
        let step = engine::run(&plan, Input::new(parsed("{}")), &ports).await;
        Ran { step, events: sink.events() }
    };
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
    let sink = Shared(Arc::clone(&new));
    let clock = Ticks(10);
    let stop = Stop::default();
    let live = Ports { human, ..Ports::new(&model, &clock, &sink, stop.clone()) };
    let answers = HashMap::from([(question, answer.to_owned())]);
    let ports = ResumePorts::new(
        recording,
        Address::run(0),
        live,
        ptc_workbench::replay::Answers { by_address: answers, ..ptc_workbench::replay::Answers::default() },
    )
    .appending();
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
async fn a_question_of_a_control_object_continues_with_its_answer() {
    let (events, step) = resumed(LOOK, vec![CALL.into(), ASK.into()], "blue", vec![DONE.into()]).await;
    assert_eq!(step.answer.as_ref().and_then(Json::as_str), Some("Blue it is."), "{:?}", step.fail);
    assert_eq!(step.usage.own.turns, 3);
    let calls = events.iter().filter(|envelope| matches!(envelope.event, Event::ToolCall(_))).count();
    assert_eq!(calls, 1, "what was done before is not done again");
    assert!(step.messages.iter().any(|message| message.text().contains("<answer>\nblue\n</answer>")));
    replays(&events).await;
}

#[tokio::test]
async fn a_question_asked_by_a_tool_of_text_mode_continues_with_its_answer() {
    let toml = "mode = 'text'\nprompt = 'go'\nbuiltin_tools = ['ask_user']\n";
    let ask = Reply::calling([("ask_user", r#"{"question":"Which colour?"}"#)]);
    let (events, step) = resumed(toml, vec![ask], "blue", vec!["Blue it is.".into()]).await;
    assert_eq!(step.answer.as_ref().and_then(Json::as_str), Some("Blue it is."), "{:?}", step.fail);
    assert_eq!(step.calls[0].result.as_ref().unwrap().as_str(), "\"blue\"");
    replays(&events).await;
}

/// A user who needs this long for an answer.
struct Slow(std::time::Duration);

impl ptc_workbench::port::Human for Slow {
    fn ask<'a>(
        &'a self,
        _: &'a ptc_workbench::port::Question,
        _: &'a tokio_util::sync::CancellationToken,
    ) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            tokio::time::sleep(self.0).await;
            Some("blue".to_owned())
        })
    }
}

const BRANCHES: &str = "mode = 'ptc_lisp'\nprompt = 'go'\nmax_turns = 1\npmap_timeout_ms = 300\nprogram_timeout_ms = 300\n\
                        builtin_tools = ['ask_user']\n";
const ASK_ALL: &str = "```clojure\n(return (pmap (fn [x] (str x (tool/ask_user {:question \"Which?\"}))) [1 2]))\n```";

/// Waiting for the user counts neither for the program nor for its parallel branches.
#[tokio::test]
async fn branches_may_wait_for_a_user_longer_than_pmap_timeout() {
    let plan = Plan::new(&Agent::from_toml(BRANCHES, "test.toml").unwrap()).unwrap();
    let (model, _) = recorded_script(&[ASK_ALL]);
    let (sink, human) = (Memory::default(), Slow(std::time::Duration::from_millis(600)));
    let ports = Ports { human: &human, ..Ports::new(&model, &Ticks(10), &sink, Stop::default()) };
    let step = engine::run(&plan, Input::new(parsed("{}")), &ports).await;
    assert_eq!(step.answer.map(|answer| answer.to_text()).as_deref(), Some(r#"["1blue","2blue"]"#), "{:?}", step.fail);
    replays(&sink.events()).await;
}

/// Without a user the run waits for the first branch; its clocks start again with the answer.
#[tokio::test]
async fn a_question_in_a_branch_suspends_the_run() {
    let one = BRANCHES.to_owned();
    let program = "```clojure\n(return (pmap (fn [x] (str x (tool/ask_user {:question \"Which?\"}))) [1]))\n```";
    let (events, step) = resumed(&one, vec![program.into()], "blue", vec!["unused".into()]).await;
    assert_eq!(step.answer.map(|answer| answer.to_text()).as_deref(), Some(r#"["1blue"]"#), "{:?}", step.fail);
    replays(&events).await;
}

/// A user as the model, who may be away.
struct Away;

impl ptc_workbench::port::Human for Away {
    fn ask<'a>(
        &'a self,
        _: &'a ptc_workbench::port::Question,
        _: &'a tokio_util::sync::CancellationToken,
    ) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }
}

/// One moment, in ms.
struct At(i64);

impl Clock for At {
    fn now_ms(&self, _: &Address) -> i64 {
        self.0
    }
}

/// Continues a run of a model that is a user and away, with this answer; all events, and the Step.
async fn replied(plan: &Plan, events: Vec<Envelope>, clock: &At, answer: Option<&str>) -> (Vec<Envelope>, Step) {
    let recording = recorded(&events);
    let model = ptc_workbench::model::HumanModel::new(Arc::new(Away));
    let new = Arc::new(Memory::default());
    let sink = Shared(Arc::clone(&new));
    let stop = Stop::default();
    let live = Ports::new(&model, clock, &sink, stop.clone());
    let in_order = answer.map(ToOwned::to_owned).into_iter().collect();
    let answers = ptc_workbench::replay::Answers { in_order, ..ptc_workbench::replay::Answers::default() };
    let ports = ResumePorts::new(recording, Address::run(0), live, answers).appending();
    let step = engine::run(plan, Input::new(parsed("{}")), &ports.ports(&sink, stop)).await;
    let mut all = events;
    for envelope in new.events() {
        let seq = all.len() as u64 + 1;
        all.push(Envelope { seq, at_ms: clock.0, ..envelope });
    }
    (all, step)
}

/// A model that is a user who is away: the run waits, however long, and continues with the reply.
#[tokio::test]
async fn a_model_that_is_a_user_is_waited_for() {
    let toml = "mode = 'json'\nprompt = 'go'\nsignature = '{a :int}'\nmax_turns = 3\nmission_timeout_ms = 1000\n";
    let agent = Agent::from_toml(toml, "test.toml").unwrap();
    let plan = Plan::new(&agent).unwrap();
    let first = run(&agent, "{}", &ptc_workbench::model::HumanModel::new(Arc::new(Away))).await;
    assert_eq!(first.outcome(), "suspended");
    assert_eq!(first.step.waits_for, Some(Address::from("r0/t1/q0")));
    assert_eq!((first.step.usage.own.turns, first.step.usage.own.requests), (1, 0), "nobody has answered yet");
    assert!(!first.events.iter().any(|envelope| matches!(envelope.event, Event::RunEnd(_) | Event::TurnEnd(_))));
    // Still away: nothing changes but that it was waited for again.
    let (events, step) = replied(&plan, first.events, &At(5_000), None).await;
    assert_eq!(step.waits_for, Some(Address::from("r0/t1/q0")), "{:?}", step.fail);
    // Hours later: the first reply does not fit, the second one is waited for again.
    let (events, step) = replied(&plan, events, &At(9_000_000), Some("no JSON")).await;
    assert_eq!(step.waits_for, Some(Address::from("r0/t2/q1")), "{:?}", step.fail);
    assert_eq!((step.usage.own.turns, step.usage.own.requests), (2, 1), "what was asked for counts");
    let (events, step) = replied(&plan, events, &At(90_000_000), Some(r#"{"a":1}"#)).await;
    assert_eq!(step.answer.as_ref().map(Json::to_text).as_deref(), Some(r#"{"a":1}"#), "{:?}", step.fail);
    assert_eq!(step.turns.iter().map(|turn| turn.raw_response.as_str()).collect::<Vec<_>>(), ["no JSON", r#"{"a":1}"#]);
    assert_eq!(fold(&events).answer, step.answer);
    replays(&events).await;
}

/// A reply typed by the user may contain native calls.
#[tokio::test]
async fn a_user_who_is_waited_for_may_call_tools() {
    let toml = "mode = 'text'\nprompt = 'go'\n[tools.look]\nkind = 'table'\ndefault = 'seen'\n";
    let agent = Agent::from_toml(toml, "test.toml").unwrap();
    let plan = Plan::new(&agent).unwrap();
    let first = run(&agent, "{}", &ptc_workbench::model::HumanModel::new(Arc::new(Away))).await;
    let (events, step) = replied(&plan, first.events, &At(5_000), Some("Let me see.\n/call look {}")).await;
    assert_eq!(step.waits_for, Some(Address::from("r0/t2/q1")), "{:?}", step.fail);
    let (events, step) = replied(&plan, events, &At(6_000), Some("It was seen.")).await;
    assert_eq!(step.answer.as_ref().and_then(Json::as_str), Some("It was seen."), "{:?}", step.fail);
    assert_eq!(step.calls[0].result.as_ref().unwrap().as_str(), "\"seen\"");
    replays(&events).await;
}

const ASKING: &str = "mode = 'ptc_lisp'\nprompt = 'go'\nmax_turns = 1\n[tools.child]\nkind = 'agent'\ndescription = 'Asks'\n\
                      [tools.child.agent]\nmode = 'text'\nprompt = 'ask'\nbuiltin_tools = ['ask_user']\n";

/// Every event takes a millisecond, and so does the answer: only that one does not count, for the agent that asks and for the one above.
#[tokio::test]
async fn the_time_in_which_a_user_thinks_is_no_time_of_the_run_nor_of_the_one_above() {
    let plan = Plan::new(&Agent::from_toml(ASKING, "test.toml").unwrap()).unwrap();
    let ask = Reply::calling([("ask_user", r#"{"question":"Which colour?"}"#)]);
    let call = Reply::from("```clojure\n(return (tool/child {}))\n```");
    let (model, _) = recorded_replies(vec![call, ask, "Blue it is.".into()]);
    let (sink, human) = (Memory::default(), Slow(std::time::Duration::ZERO));
    let ports = Ports { human: &human, ..Ports::new(&model, &Ticks(10), &sink, Stop::default()) };
    let step = engine::run(&plan, Input::new(parsed("{}")), &ports).await;
    let events = sink.events();
    assert_eq!(step.answer.as_ref().and_then(Json::as_str), Some("Blue it is."), "{:?}", step.fail);
    let below = |envelope: &&Envelope| envelope.run() != Address::run(0);
    assert_eq!(step.usage.duration_ms, events.len() as u64 - 2);
    assert_eq!(step.children[0].usage.duration_ms, events.iter().filter(below).count() as u64 - 2);
    assert_eq!(step.turns[0].latency_ms, step.usage.duration_ms - 2, "all but the start and the end");
    assert_eq!(fold(&events), step, "a file tells the same times");
    replays(&events).await;
}

#[tokio::test(start_paused = true)]
async fn the_time_to_the_first_text_of_a_reply_does_not_contain_the_wait_for_the_user() {
    let agent = Agent::from_toml("mode = 'text'\nprompt = 'go'\n", "test.toml").unwrap();
    let plan = Plan::new(&agent).unwrap();
    let first = run(&agent, "{}", &ptc_workbench::model::HumanModel::new(Arc::new(Away))).await;
    assert_eq!(first.outcome(), "suspended");
    let model = ptc_workbench::model::HumanModel::new(Arc::new(Away));
    let new = Arc::new(Memory::default());
    let (sink, stop, clock) = (Shared(Arc::clone(&new)), Stop::default(), Ticks(10));
    let human = Slow(std::time::Duration::from_secs(7));
    let live = Ports { human: &human, ..Ports::new(&model, &clock, &sink, stop.clone()) };
    let answers = ptc_workbench::replay::Answers::default();
    let ports = ResumePorts::new(recorded(&first.events), Address::run(0), live, answers).appending();
    let step = engine::run(&plan, Input::new(parsed("{}")), &ports.ports(&sink, stop)).await;
    assert_eq!(step.answer.as_ref().and_then(Json::as_str), Some("blue"), "{:?}", step.fail);
    let ends = new.events().into_iter().filter_map(|envelope| match envelope.event {
        Event::ReplyEnd(end) => Some(end.first_ms),
        _ => None,
    });
    assert_eq!(ends.collect::<Vec<_>>(), [Some(0)]);
}
