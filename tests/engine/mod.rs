//! The engine: scripted models, one behaviour a test. In: agents and replies. Out: Steps and events.

mod arrival;
mod attempts;
mod breakpoints;
mod budget;
mod chaos;
mod compaction;
mod context;
mod control_history;
mod correction;
mod firewall;
mod gates;
mod json_loop;
mod modes;
mod native;
mod piping;
mod property;
mod ptc;
mod questions;
mod record;
mod repeats;
mod sample;
mod shape;
mod stop;
mod system;
mod text;
mod tools;
mod turns;
mod waiting;
mod words;

use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use ptc_core::value::{Json, json};
use ptc_workbench::agent::{Agent, Mode, Plan, Step};
use ptc_workbench::engine::{self, Input, Ports};
use ptc_workbench::event::{Address, Envelope, Event, SentMessage};
use ptc_workbench::model::{Model, Reply, Request};
use ptc_workbench::port::{Clock, Sink, SinkError, Stop};
use ptc_workbench::replay::{Recording, ReplayOutcome, replay};
use ptc_workbench::session::{Header, Session, SessionId};

/// Keeps events in memory.
#[derive(Default)]
pub(crate) struct Memory(Mutex<Vec<Envelope>>);

impl Memory {
    pub(crate) fn events(&self) -> Vec<Envelope> {
        self.0.lock().unwrap().clone()
    }
}

impl Sink for Memory {
    fn emit(&self, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>> {
        Box::pin(async move {
            let mut events = self.0.lock().unwrap();
            let seq = events.len() as u64 + 1;
            let envelope = Envelope { seq, at_ms: 1_000 + i64::try_from(seq).unwrap(), address, event };
            events.push(envelope.clone());
            Ok(envelope)
        })
    }
}

/// A clock that advances by a fixed time each turn.
pub(crate) struct Ticks(pub(crate) i64);

impl Clock for Ticks {
    fn now_ms(&self, at: &Address) -> i64 {
        1_000 + self.0 * i64::from(at.turn_number().unwrap_or_default())
    }
}

/// An agent in json mode.
pub(crate) fn agent(prompt: &str, signature: &str) -> Agent {
    let (prompt, signature) = (prompt.to_owned(), Some(signature.to_owned()));
    Agent { mode: Mode::Json, prompt, signature, max_turns: 3, ..Agent::default() }
}

/// A finished run: its Step and its events.
pub(crate) struct Ran {
    pub(crate) step: Step,
    pub(crate) events: Vec<Envelope>,
}

impl Ran {
    /// The answer as compact JSON, or the reason of the failure.
    pub(crate) fn outcome(&self) -> String {
        match (&self.step.answer, &self.step.fail) {
            (Some(answer), None) => answer.to_text(),
            (_, Some(fail)) => fail.reason.clone(),
            (None, None) => "neither".to_owned(),
        }
    }

    /// Reasons of the turns, `ok` for a successful one.
    pub(crate) fn turns(&self) -> Vec<String> {
        self.step.turns.iter().map(|turn| turn.reason.clone().unwrap_or_else(|| "ok".to_owned())).collect()
    }
}

/// Runs an agent to its end.
pub(crate) async fn run(agent: &Agent, context: &str, model: &dyn Model) -> Ran {
    run_with(agent, context, model, &Ticks(10), Stop::default()).await
}

pub(crate) async fn run_with(agent: &Agent, context: &str, model: &dyn Model, clock: &dyn Clock, stop: Stop) -> Ran {
    let plan = Plan::new(agent).expect("the agent of a test is valid");
    let sink = Memory::default();
    let input = Input::new(json::parse(context).expect("the context of a test is JSON"));
    let step = engine::run(&plan, input, &Ports::new(model, clock, &sink, stop)).await;
    Ran { step, events: sink.events() }
}

/// Checks that the session shows what the model got: read as a whole, at its places in the file, and in the Step.
pub(crate) fn shows_what_was_sent(session: &Session, recording: &Recording, step: &Step, got: &[Request]) {
    let shown = |messages: Vec<SentMessage>| -> Vec<_> {
        messages.into_iter().map(|message| (message.role.name().to_owned(), message.joined())).collect()
    };
    for request in got {
        let system = request.system.iter().map(|text| ("system".to_owned(), text.clone()));
        let others = request.messages.iter().map(|message| (message.role.name().to_owned(), message.joined()));
        let sent: Vec<_> = system.chain(others).collect();
        let at = &request.address;
        assert_eq!(recording.request(at).map(shown).unwrap_or_default(), sent, "the recording at {at}");
        assert_eq!(session.request(at).map(shown).unwrap_or_default(), sent, "the file at {at}");
        if let Some(turn) = step.turns.iter().find(|turn| turn.address.as_ref() == Some(at)) {
            assert_eq!(shown(step.sent(turn).cloned().collect()), sent, "the Step at {at}");
        }
    }
}

/// A scripted model and the requests it got.
pub(crate) fn recorded_script(replies: &[&str]) -> (impl Model + use<>, Arc<Mutex<Vec<Request>>>) {
    recorded_replies(replies.iter().map(|text| Reply::from(*text)).collect())
}

/// The same for replies that may call tools natively.
pub(crate) fn recorded_replies(replies: Vec<Reply>) -> (impl Model + use<>, Arc<Mutex<Vec<Request>>>) {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&requests);
    let model = ptc_workbench::model::ClosureModel::new(move |request: &Request| {
        let mut requests = kept.lock().unwrap();
        requests.push(request.clone());
        replies[(requests.len() - 1).min(replies.len() - 1)].clone()
    });
    (model, requests)
}

/// The events as a recording that was written to a file and read again.
pub(crate) fn recorded(events: &[Envelope]) -> Arc<Recording> {
    let dir = tempfile::tempdir().unwrap();
    let header = Header::new(SessionId::new(0, 7), 0);
    let path = dir.path().join(format!("{}.jsonl", header.id));
    let mut text = serde_json::to_string(&header).unwrap() + "\n";
    for envelope in events {
        text += &(envelope.to_line(None).unwrap() + "\n");
    }
    std::fs::write(&path, text).unwrap();
    let session = Session::open(&path).unwrap();
    assert_eq!(session.damage, []);
    assert_eq!(session.events().collect::<Vec<_>>(), events);
    Arc::new(Recording::of(&session).unwrap())
}

/// Writes the events as a session and replays it: nothing may differ.
pub(crate) async fn replays(events: &[Envelope]) {
    let report = replay(&recorded(events), None).await.unwrap();
    assert_eq!(report.outcome, ReplayOutcome::Identical);
}

/// The Step that the events fold to.
pub(crate) fn fold(events: &[Envelope]) -> Step {
    let mut fold = ptc_workbench::agent::StepFold::default();
    for envelope in events {
        fold.apply(envelope);
    }
    fold.step()
}

pub(crate) fn parsed(text: &str) -> Json {
    json::parse(text).unwrap()
}
