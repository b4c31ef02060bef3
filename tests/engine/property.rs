//! The property that replay rests on: whatever a model answers, whatever fails, whenever a run is stopped,
//! the session that was written replays without a difference.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use ptc_workbench::agent::StepFold;
use ptc_workbench::event::{ModelRecord, PartKind, ReplyEnd, ReplyStatus, RetryWait, Tokens};
use ptc_workbench::model::{Call, ErrorClass, Finish, ModelError, ModelEvent, Reply};
use ptc_workbench::port::{Checkpoint, Gate, Human, Question, SystemClock};
use ptc_workbench::replay::{Recording, ReplayOutcome, replay};
use ptc_workbench::session::{Header, Recorder, Session, SessionId};

use tokio_util::sync::CancellationToken;

use super::*;

/// An action of the model in one turn.
#[derive(Debug, Clone)]
enum Act {
    Answer { text: String, calls: Vec<(String, String)>, cut: bool, usage: Option<(u64, u64)> },
    Fail(u8),
    RetryThenAnswer { partial: String, text: String, calls: Vec<(String, String)> },
    StopMidway { text: String },
}

struct Player {
    acts: Vec<Act>,
    asked: Mutex<Vec<Request>>,
    stop: Stop,
}

impl Model for Player {
    fn info(&self) -> ModelRecord {
        ModelRecord { alias: "player".into(), ..ModelRecord::default() }
    }

    fn answer<'a>(&'a self, request: &'a Request, call: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let at = {
                let mut asked = self.asked.lock().unwrap();
                asked.push(request.clone());
                asked.len() - 1
            };
            let act = self.acts[at.min(self.acts.len() - 1)].clone();
            match act {
                Act::Answer { text, calls, cut, usage } => {
                    for piece in text.split_inclusive(' ') {
                        call.emit(ModelEvent::Delta { attempt: 1, kind: PartKind::Text, text: piece.to_owned() }).await;
                    }
                    let usage = usage.map(|(input, output)| Tokens { input, output, ..Tokens::default() });
                    let finish = Some(if cut { Finish::Length } else { Finish::Stop });
                    Ok(Reply { text, attempt: 1, finish, usage, ..Reply::calling(calls) })
                }
                Act::Fail(n) => {
                    let class = [ErrorClass::Server, ErrorClass::Refusal, ErrorClass::Auth, ErrorClass::ContentFilter]
                        [usize::from(n % 4)];
                    Err(ModelError { requests: 2, ..ModelError::new(class, "as planned") })
                }
                Act::RetryThenAnswer { partial, text, calls } => {
                    call.text(1, partial).await;
                    call.emit(ModelEvent::Discarded(Box::new(ReplyEnd::new(1, ReplyStatus::Discarded)))).await;
                    call.emit(ModelEvent::RetryWait(RetryWait { attempt: 1, ..RetryWait::default() })).await;
                    if !text.is_empty() {
                        call.text(2, text.clone()).await;
                    }
                    Ok(Reply { text, attempt: 2, requests: 2, ..Reply::calling(calls) })
                }
                Act::StopMidway { text } => {
                    call.text(1, text).await;
                    self.stop.by_user();
                    call.cancel.cancelled().await;
                    Err(ModelError::cancelled())
                }
            }
        })
    }
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(r#"{"a": 1, "b": "x"}"#.to_owned()),
        Just(r#"{"a": 1}"#.to_owned()),
        Just("```json\n{'a': 1, b: 'x',}\n```".to_owned()),
        Just(r#"{"a": 2.0, "b": "x"}"#.to_owned()),
        Just("{\"a\": 1, \"b\": \"x".to_owned()),
        Just(String::new()),
        Just(r#"{"thought":"t","final_answer":{"a":1,"b":"x"}}"#.to_owned()),
        Just(r#"{"thought":"t","tool_call":{"name":"find","arguments":{"q":"x"}}}"#.to_owned()),
        Just(r#"{"tool_call":{"name":"break","arguments":{}},"final_answer":null}"#.to_owned()),
        Just(r#"{"thought":"t","tool_call":{"name":"nothing","arguments":{}}}"#.to_owned()),
        Just(r#"{"thought":"t","awaiting_user_input":{"kind":"text","prompt":"which?"}}"#.to_owned()),
        "\\PC{0,60}",
        r#"[\[\]{}",:a-c0-9 \n`'-]{0,60}"#,
    ]
}

fn acts() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => (texts(), calls(), prop::bool::weighted(0.1), prop::option::of((0..1000u64, 0..1000u64)))
            .prop_map(|(text, calls, cut, usage)| Act::Answer { text, calls, cut, usage }),
        1 => any::<u8>().prop_map(Act::Fail),
        1 => (texts(), texts(), calls())
            .prop_map(|(partial, text, calls)| Act::RetryThenAnswer { partial, text, calls }),
        1 => (texts(), calls())
            .prop_map(|(partial, calls)| Act::RetryThenAnswer { partial, text: String::new(), calls }),
        1 => texts().prop_map(|text| Act::StopMidway { text }),
    ]
}

/// Native tool calls, mostly none.
fn calls() -> impl Strategy<Value = Vec<(String, String)>> {
    let names = prop::sample::select(vec!["find", "break", "nothing"]);
    let args = prop::sample::select(vec!["{}", r#"{"q":"x"}"#, r#"{"q":7}"#, "[1]", "{", ""]);
    let call = (names, args).prop_map(|(name, args)| (name.to_owned(), args.to_owned()));
    prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(call, 1..4)]
}

const TOOLS: &str = "
[tools.find]
kind = 'table'
signature = '(q :string) -> :any'
default = [1, 'two']
cache = true
[tools.break]
kind = 'table'
rows = [{ error = 'broken' }]
";

fn agents() -> impl Strategy<Value = Agent> {
    let mode = prop::sample::select(vec!["json", "text", "json_loop"]);
    let recovery = prop::sample::select(vec!["strict", "standard", "lenient"]);
    let more = prop::sample::select(vec![
        "",
        "max_tool_calls = 2\n",
        "on_protocol_failure = 'accept_raw'\n",
        "max_protocol_failures = 1\n",
        "turn_budget = 2\n",
        "tools_in = 'native'\n",
    ]);
    let limits = (1..5u32, prop::option::of(1..3000u64), prop::option::of(1..40u64));
    (mode, recovery, more, limits, any::<bool>()).prop_map(|(mode, recovery, more, limits, has_tools)| {
        let (max_turns, token_limit, mission_timeout_ms) = limits;
        let tools = if has_tools && mode != "json" { TOOLS } else { "" };
        let toml = format!(
            "mode = '{mode}'\nprompt = 'do {{{{x}}}} {{{{y}}}}'\nsignature = '(x :string, y :int?) -> {{a :int, b :string}}'\n\
             recovery = '{recovery}'\n{more}{tools}"
        );
        let agent = Agent::from_toml(&toml, "test.toml").unwrap_or_else(|error| panic!("{error}"));
        Agent { max_turns, token_limit, mission_timeout_ms, ..agent }
    })
}

/// A user who always agrees, and at the gates of the run changes every third text that is shown.
struct Agreeable {
    gates: Vec<Gate>,
    shown: AtomicUsize,
    instead: String,
}

impl Human for Agreeable {
    fn ask<'a>(&'a self, question: &'a Question, _: &'a CancellationToken) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let third = self.shown.fetch_add(1, Ordering::SeqCst).is_multiple_of(3);
            Some(match question.gate {
                None => "yes".to_owned(),
                Some(_) if third => self.instead.clone(),
                Some(_) => question.text.clone(),
            })
        })
    }

    fn stops_at(&self, checkpoint: Checkpoint<'_>) -> bool {
        matches!(checkpoint, Checkpoint::Gate(gate) if self.gates.contains(&gate))
    }
}

async fn record_and_replay(agent: &Agent, acts: Vec<Act>, context: &str, human: Agreeable) {
    let dir = tempfile::tempdir().unwrap();
    let header = Header::new(SessionId::new(0, 7), 0);
    let stop = Stop::default();
    let model = Player { acts, asked: Mutex::default(), stop: stop.clone() };
    let plan = Plan::new(agent).unwrap();
    let recorder = Recorder::create(dir.path(), &header, Arc::new(SystemClock)).unwrap();
    let path = recorder.path().to_owned();
    let ports = Ports { human: &human, ..Ports::new(&model, &Ticks(7), &recorder, stop) };
    let step = engine::run(&plan, Input::new(parsed(context)), &ports).await;
    drop(recorder);

    let before = std::fs::read(&path).unwrap();
    let session = Session::open(&path).unwrap();
    assert_eq!(session.damage, []);
    let mut fold = StepFold::default();
    session.events().for_each(|envelope| fold.apply(&envelope));
    assert!(fold.is_complete());
    assert_eq!(fold.step(), step, "the file folds to the Step of the live run");

    let recording = Arc::new(Recording::of(&session).unwrap());
    shows_what_was_sent(&session, &recording, &step, &model.asked.lock().unwrap());
    let report = replay(&recording, None).await.unwrap();
    assert_eq!(report.outcome, ReplayOutcome::Identical);
    assert!(report.compared > 0);
    assert_eq!(std::fs::read(&path).unwrap(), before, "replay never changes the recording");
}

/// A reply of calls only, as one types it.
const CALL: &str = r#"/call find {"q":"x"}"#;

/// Runs an agent with native tools whose model replies with this, then answers; `instead` is what the user puts in place of the first reply.
async fn native(first: Act, instead: Option<&str>) {
    let toml = format!("mode = 'text'\nprompt = '{{{{x}}}}'\nsignature = '(x :string) -> :string'\n{TOOLS}");
    let agent = Agent::from_toml(&toml, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    let last = Act::Answer { text: "done".to_owned(), calls: Vec::new(), cut: false, usage: None };
    let gates = instead.map(|_| Gate::Apply).into_iter().collect();
    let human = Agreeable { gates, shown: AtomicUsize::new(0), instead: instead.unwrap_or_default().to_owned() };
    record_and_replay(&agent, vec![first, last], r#"{"x":"one"}"#, human).await;
}

#[tokio::test]
async fn the_text_of_a_discarded_attempt_is_not_shown_as_sent() {
    let calls = vec![("find".to_owned(), r#"{"q":"x"}"#.to_owned())];
    native(Act::RetryThenAnswer { partial: "half a repl".to_owned(), text: String::new(), calls }, None).await;
}

#[tokio::test]
async fn the_text_that_a_user_replaced_by_calls_is_not_shown_as_sent() {
    let text = "my own words".to_owned();
    native(Act::Answer { text, calls: Vec::new(), cut: false, usage: None }, Some(CALL)).await;
}

/// Cases, by `PROPTEST_CASES`; `PTC_LONG_TESTS=1` runs the long form.
fn cases() -> u32 {
    if crate::is_long() { 5_000 } else { ProptestConfig::default().cases }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn every_recorded_run_replays_without_a_difference(
        agent in agents(),
        acts in prop::collection::vec(acts(), 1..5),
        context in prop::sample::select(vec![r#"{"x":"one"}"#, r#"{"x":"two","y":"3"}"#, r#"{"y":1}"#]),
        gates in prop::sample::subsequence(Gate::ALL.to_vec(), 0..=2),
        instead in prop_oneof![2 => texts(), 1 => Just(CALL.to_owned())],
    ) {
        let human = Agreeable { gates, shown: AtomicUsize::new(0), instead };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(record_and_replay(&agent, acts, context, human));
    }
}
