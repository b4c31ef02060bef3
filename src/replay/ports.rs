//! Ports answered from a recording: the model and the clock.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use ptc_core::reasons::Reason;
use ptc_core::value::Value;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::Recording;
use crate::engine::{Edits, Models, Ports};
use crate::event::{
    Address, CallStatus, Envelope, Event, ModelRecord, ProgramEnd, QuestionAsked, ReplyEnd, ReplyPart, ReplyStatus,
    Said, ToolEnd,
};
use crate::model::{Call, ErrorClass, Finish, Model, ModelError, ModelEvent, Reply, Request};
use crate::port::{Breakpoint, Clock, Gate, Human, Question, Sink, Stop};
use crate::program::Job;
use crate::tool::{Decision, Failure, Invocation, Ruling, Tools};

/// Is shown the turn and the program of every turn that runs one.
pub(super) type Seen = Arc<dyn Fn(&Address, &Job) + Send + Sync>;

/// Answers for one run.
pub struct RecordedPorts {
    recording: Arc<Recording>,
    run: Address,
    seen: Option<Seen>,
}

impl RecordedPorts {
    /// For the root run at this address, and those below it.
    pub fn new(recording: Arc<Recording>, run: Address) -> Self {
        Self { recording, run, seen: None }
    }

    /// The same, showing every program before it runs.
    pub(super) fn watched(self, seen: Seen) -> Self {
        Self { seen: Some(seen), ..self }
    }

    /// All of them, with these edits and this sink, and nothing that stops the run but the recording.
    pub fn doors<'a>(&'a self, edits: &'a dyn Edits, events: &'a dyn Sink) -> Ports<'a> {
        let stop = Stop::default();
        Ports { model: self, models: self, tools: self, person: self, clock: self, edits, events, stop }
    }

    pub(super) fn run(&self) -> &Address {
        &self.run
    }
}

impl Clock for RecordedPorts {
    fn now_ms(&self, at: &Address) -> i64 {
        let told = || self.recording.at(at).first().map(|first| first.at_ms);
        self.recording.now_ms(at).or_else(told).unwrap_or_default()
    }

    fn tree_turns(&self, at: &Address, counted: u32) -> u32 {
        self.recording.turn_start(at).and_then(|start| start.left.tree).unwrap_or(counted)
    }

    fn is_over(&self, _: &Address) -> bool {
        true
    }

    fn waited_ms(&self, at: &Address, counted: u64) -> u64 {
        self.recording.turn_start(at).map_or(counted, |start| start.waited)
    }
}

impl Tools for RecordedPorts {
    fn call<'a>(&'a self, call: &'a Invocation<'a>) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(async move {
            let Some(end) = self.recording.tool_end(call.address) else {
                return Err(Failure::said(format!("the recording has no result of the call at {}", call.address)));
            };
            match (end.status, &end.result, &end.error) {
                (CallStatus::Cancelled, ..) => Err(Failure::Cancelled),
                (_, Some(result), _) => Ok(result.value()),
                (_, None, Some(error)) => Err(Failure::Error(error.clone())),
                (_, None, None) => Err(Failure::said("the recording does not say how the call ended")),
            }
        })
    }

    fn interrupted_program(&self, turn: &Address) -> Option<ProgramEnd> {
        self.recording.interrupted_program(turn).cloned()
    }

    fn sees_program(&self, turn: &Address, job: &Job) {
        if let Some(seen) = &self.seen {
            seen(turn, job);
        }
    }

    fn done_in_program(&self, turn: &Address) -> Vec<Envelope> {
        self.recording.below(turn)
    }

    fn stop_as_recorded(&self, turn: &Address, stop: &Stop) {
        if let Some(interrupt) = self.recording.interrupt(turn) {
            stop.now(&interrupt.reason, &interrupt.by);
        }
    }

    fn stop_reply_as_recorded(&self, turn: &Address, stop: &Stop) -> bool {
        let ended = self.recording.interrupted_reply(turn);
        if let Some(interrupt) = ended {
            stop.now(&interrupt.reason, &interrupt.by);
        }
        ended.is_some()
    }

    fn remembered(&self, at: &Address, known: Option<Value>) -> Option<Value> {
        let Some(end) = self.recording.tool_end(at) else { return known };
        end.cached.then(|| end.result.as_ref().map(|result| result.json().to_value()).unwrap_or_default())
    }

    fn asks_consent(&self, at: &Address, _: bool) -> bool {
        self.recording.is_asked(&at.question(0))
    }

    fn ruling(&self, question: &Address, _: &str) -> Option<Ruling> {
        let answer = self.recording.answer(question)?;
        let decision = answer.value.json().as_str().and_then(Decision::read).unwrap_or(Decision::Deny);
        Some(Ruling::new(answer.by.clone(), decision))
    }

    fn is_unknown(&self, at: &Address) -> bool {
        self.recording.is_asked(&at.question(1))
    }

    fn refuses(&self, at: &Address, counted: bool) -> bool {
        let limit = Reason::ToolCallLimitExceeded.name();
        let told = |end: &ToolEnd| end.error.as_ref().is_some_and(|error| error.reason == limit);
        self.recording.tool_end(at).map_or(counted, |end| end.status == CallStatus::Refused && told(end))
    }
}

impl Human for RecordedPorts {
    fn ask<'a>(&'a self, question: &'a Question, _: &'a CancellationToken) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let given = self.recording.answer(&question.address)?;
            if question.gate.is_some() && !given.edited {
                return Some(question.text.clone());
            }
            let value = given.value.json();
            Some(value.as_str().map_or_else(|| value.to_text(), ToOwned::to_owned))
        })
    }

    fn was_asked(&self, question: &Address) -> bool {
        self.recording.is_asked(question)
    }

    fn intercepts(&self, question: &Address, gate: Gate) -> bool {
        self.recording.is_asked_as(question, gate.name())
    }

    fn breaks(&self, question: &Address, _: &[Breakpoint]) -> bool {
        self.recording.is_asked_as(question, QuestionAsked::BREAKPOINT)
    }
}

impl Models for RecordedPorts {
    fn model(&self, run: &Address, _: Option<&str>) -> Result<Option<Arc<dyn Model>>, ModelError> {
        // A model that could not be had then cannot be had now.
        let refused = self.recording.tool_end(run).filter(|_| self.recording.run_start(run).is_none());
        if let Some(record) = refused.and_then(|end| end.error.clone()) {
            return Err(record.into());
        }
        Ok(Some(Arc::new(Self::new(Arc::clone(&self.recording), run.clone()))))
    }
}

impl RecordedPorts {
    /// The model that the run began with; `None` for one that is not recorded.
    pub(super) fn began_with(&self) -> Option<ModelRecord> {
        self.recording.run_start(&self.run).map(|start| start.model.clone())
    }
}

impl Model for RecordedPorts {
    fn info(&self) -> ModelRecord {
        self.began_with().unwrap_or_default()
    }

    fn answer<'a>(&'a self, request: &'a Request, call: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(tell(&self.recording, &request.address, call, Telling::Replay))
    }
}

/// How a recorded reply is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Telling {
    /// Everything that was recorded, without waiting.
    Replay,
    /// The reply, without waiting. Nothing leaves the machine, so nothing says that it did.
    AtOnce,
    /// The reply with the recorded times.
    AsRecorded,
}

/// Tells the reply recorded at a turn again, attempts and waits included, and ends as it ended.
pub(super) async fn tell(recording: &Recording, at: &Address, call: &Call, how: Telling) -> Result<Reply, ModelError> {
    let mut said = Said::default();
    let mut attempt_start = Instant::now();
    // A person was asked for this reply by a question: the engine makes it from the answer.
    let asked = how == Telling::Replay && recording.asks_for_reply(at);
    for envelope in recording.at(at) {
        said.apply(&envelope.event);
        match &envelope.event {
            Event::ReplyPart(_) if asked => {}
            Event::ReplyEnd(end) if asked && end.status != ReplyStatus::Discarded => {
                return Err(ModelError { attempt: end.attempt, ..ModelError::waiting() });
            }
            Event::Sent(sent) => {
                attempt_start = Instant::now();
                if how == Telling::Replay {
                    call.tell(ModelEvent::Sent(sent.clone())).await;
                }
            }
            Event::Wire(wire) if how == Telling::Replay => call.tell(ModelEvent::Wire(wire.clone())).await,
            Event::RetryWait(wait) => call.tell(ModelEvent::RetryWait(wait.clone())).await,
            Event::ReplyPart(part) => deltas(part, attempt_start, call, how).await?,
            Event::ReplyEnd(end) if end.status == ReplyStatus::Discarded => {
                call.tell(ModelEvent::Discarded(Box::new(end.clone()))).await;
            }
            Event::ReplyEnd(end) => return ended(end, said.text),
            _ => {}
        }
    }
    if asked {
        let broken = recording.broken_attempt(at);
        if broken > 0 {
            call.tell(ModelEvent::Discarded(Box::new(ReplyEnd::new(broken, ReplyStatus::Discarded)))).await;
        }
        return Err(ModelError { attempt: broken + 1, ..ModelError::waiting() });
    }
    Err(ModelError::new(ErrorClass::Miss, format!("the recording {} has no reply for {at}", recording.id)))
}

async fn deltas(part: &ReplyPart, start: Instant, call: &Call, how: Telling) -> Result<(), ModelError> {
    let mut from = 0;
    for (length, ms) in part.lens.iter().zip(&part.ms) {
        let to = from + *length as usize;
        let Some(text) = part.text.get(from..to) else { break };
        from = to;
        if how == Telling::AsRecorded {
            tokio::select! {
                () = sleep_until(start + Duration::from_millis(u64::from(*ms))) => {}
                () = call.cancel.cancelled() => return Err(ModelError::cancelled()),
            }
        }
        call.tell(ModelEvent::Delta { attempt: part.attempt, kind: part.kind, text: text.to_owned() }).await;
    }
    if from < part.text.len() {
        let rest = part.text[from..].to_owned();
        call.tell(ModelEvent::Delta { attempt: part.attempt, kind: part.kind, text: rest }).await;
    }
    Ok(())
}

fn ended(end: &ReplyEnd, text: String) -> Result<Reply, ModelError> {
    let failed = |error: ModelError| ModelError {
        attempt: end.attempt,
        requests: end.requests,
        usage: end.usage.map(Box::new),
        structured_by: end.structured_by,
        by: end.by.clone(),
        ..error
    };
    match (end.status, &end.error) {
        (ReplyStatus::Cancelled, _) => Err(failed(ModelError::cancelled())),
        (ReplyStatus::Error, Some(record)) => Err(failed(ModelError::from(record.clone()))),
        _ => Ok(Reply {
            text,
            attempt: end.attempt,
            finish: end.finish.as_deref().map(Finish::from_name),
            usage: end.usage,
            model: end.model.clone(),
            by: end.by.clone(),
            structured_by: end.structured_by,
            calls: end.calls.clone(),
            opaque: end.opaque.as_deref().cloned(),
            requests: end.requests,
            queued_ms: end.queued_ms,
            first_ms: end.first_ms,
        }),
    }
}
