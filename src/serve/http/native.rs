//! `/agents` and `/runs`: what is served, a run with its Step or its events, answers for a run that waits.
//!
//! In: `{"context": {…}, "seed": 1, "stream": true}`, or `{"answer": "…"}`, `{"answers": {"r0/t1/q1": "…"}}`. Out: a Step as
//! `run --json` prints it, or events as session files have them. Unknown members are refused.

use ptc_core::value::Json;
use ptc_core::value::json::Member;
use serde::Serialize;
use serde_json::{Value, json};

use super::sse::{self, Writer};
use super::{Failure, failure_reply, read_object, status_of_step, with_session};
use crate::agent::Step;
use crate::event::{Address, Envelope};
use crate::export::{self, StepJson};
use crate::serve::{ActiveRun, RecordedRun, Runs, ServedAgent};
use crate::server::{Reply, Request, StatusCode, header, typed_reply};
use crate::workbench::Answers;

/// A failed request.
pub(super) fn failed(failure: &Failure) -> Reply {
    let error = &failure.error;
    let body = json!({ "error": { "reason": error.reason, "message": error.message, "hint": error.hint } });
    failure_reply(failure, &body)
}

pub(super) fn list(runs: &Runs) -> Reply {
    let agents = Json::list(runs.agents.iter().map(ServedAgent::to_json));
    typed_reply(StatusCode::OK, "application/json", Json::empty().with("agents", agents).to_text())
}

pub(super) fn show(runs: &Runs, name: &str) -> Result<Reply, Failure> {
    let served = ServedAgent::named(&runs.agents, name).map_err(Failure::not_found)?;
    Ok(typed_reply(StatusCode::OK, "application/json", served.to_json().to_text()))
}

pub(super) async fn run(runs: &Runs, name: &str, request: Request) -> Result<Reply, Failure> {
    let served = ServedAgent::named(&runs.agents, name).map_err(Failure::not_found)?;
    let accepts = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let accepts_events = accepts.contains("text/event-stream");
    let body = read_object(runs, request).await?;
    refuse_unknown(&body, &["context", "seed", "stream"])?;
    let context = match body.get("context") {
        None | Some(Value::Null) => Json::empty(),
        Some(Value::Object(_)) => body.exact.get("context").cloned().unwrap_or_default(),
        Some(_) => return Err(Failure::bad_request("`context` is not an object of inputs")),
    };
    let seed = match body.get("seed") {
        None | Some(Value::Null) => 0,
        Some(seed) => {
            seed.as_u64().ok_or_else(|| Failure::bad_request("`seed` is not a whole number of at least 0"))?
        }
    };
    let streams = stream(&body, accepts_events)?;
    drop(body);
    Ok(reply(runs.start(served, context, seed)?, streams).await)
}

/// A Step with the state of its run.
#[derive(Serialize)]
struct StateJson<'a> {
    state: &'static str,
    #[serde(flatten)]
    step: StepJson<'a>,
}

/// The Step of a run: of its end, or of where it is.
pub(super) fn recorded(runs: &Runs, id: &str) -> Result<Reply, Failure> {
    let RecordedRun { step, is_running } = runs.recorded(id)?;
    if !is_running {
        return Ok(step_reply(&step));
    }
    let text = serde_json::to_string(&StateJson { state: "running", step: export::step(&step) }).unwrap_or_default();
    Ok(with_session(typed_reply(StatusCode::ACCEPTED, "application/json", text), Some(id)))
}

pub(super) async fn answer(runs: &Runs, id: &str, request: Request) -> Result<Reply, Failure> {
    let body = read_object(runs, request).await?;
    refuse_unknown(&body, &["answer", "answers", "stream"])?;
    let mut answers = Answers::default();
    if let Some(answer) = body.exact.get("answer") {
        answers.in_order.push_back(text_of(answer));
    }
    match body.exact.get("answers").map(Json::members) {
        None => {}
        Some(Some(by_address)) => {
            for Member { key: address, value: answer, .. } in by_address {
                if !Address::is_form(address) {
                    return Err(Failure::bad_request(format!("`{address}` is not an address of a question")));
                }
                answers.by_address.insert(Address::from(address.as_str()), text_of(answer));
            }
        }
        Some(None) => return Err(Failure::bad_request("`answers` is not an object of strings by question address")),
    }
    if answers.in_order.is_empty() && answers.by_address.is_empty() {
        return Err(Failure::bad_request("write `answer` or `answers`"));
    }
    let streams = stream(&body, false)?;
    drop(body);
    Ok(reply(runs.resume(id, answers).await?, streams).await)
}

/// An answer is text; other JSON is written as text.
fn text_of(answer: &Json) -> String {
    answer.as_str().map_or_else(|| answer.to_text(), ToOwned::to_owned)
}

/// Form of the reply: a stream of events, or the Step alone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReplyForm {
    Events,
    Step,
}

fn stream(body: &serde_json::Map<String, Value>, accepts_events: bool) -> Result<ReplyForm, Failure> {
    match body.get("stream") {
        Some(Value::Bool(true)) => Ok(ReplyForm::Events),
        None if accepts_events => Ok(ReplyForm::Events),
        None | Some(Value::Bool(false)) => Ok(ReplyForm::Step),
        Some(_) => Err(Failure::bad_request("`stream` is neither true nor false")),
    }
}

async fn reply(run: ActiveRun, form: ReplyForm) -> Reply {
    match form {
        ReplyForm::Events => sse::reply(run, String::new(), EventWriter).await,
        ReplyForm::Step => step_reply(&run.finish().await),
    }
}

fn step_reply(step: &Step) -> Reply {
    let text = serde_json::to_string(&export::step(step)).unwrap_or_default();
    with_session(typed_reply(status_of_step(step), "application/json", text), step.session.as_deref())
}

fn refuse_unknown(body: &serde_json::Map<String, Value>, known: &[&str]) -> Result<(), Failure> {
    let Some(key) = body.keys().find(|key| !known.contains(&key.as_str())) else { return Ok(()) };
    let near = ptc_core::text::did_you_mean(key, known.iter().copied());
    Err(Failure::bad_request(format!("unknown member `{key}`{near} (members: {})", known.join(", "))))
}

/// Events as session files have them, then the Step.
struct EventWriter;

impl Writer for EventWriter {
    fn event(&mut self, envelope: &Envelope) -> String {
        envelope.to_line(None).map(|line| sse::named(envelope.event.kind(), &line)).unwrap_or_default()
    }

    fn end(&mut self, step: &Step) -> String {
        sse::named("step", &serde_json::to_string(&export::step(step)).unwrap_or_default())
    }
}
