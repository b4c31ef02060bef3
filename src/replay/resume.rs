//! Going on with a run that waits or broke off: the same engine answers from the recording as far as it goes, and from the live
//! ports behind it.
//!
//! In: a recording, live ports, answers to its questions. Out: ports, and a sink that writes only what is new. What the recording
//! holds is made again and compared; a difference ends the run before anything is written.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use ptc_core::value::Value;
use tokio_util::sync::CancellationToken;

use super::Recording;
use super::ports::RecordedPorts;
use crate::engine::{Models, Ports};
use crate::event::{Address, Class, Envelope, Event, ModelRecord, ProgramEnd, ReplyStatus};
use crate::model::{Call, Model, ModelError, Reply, Request};
use crate::port::{Clock, Human, Question, Sink, SinkError, Stop};
use crate::tool::{Failure, Invocation, Tools};

/// Ports that answer from a recording first.
pub struct Resumed<'a> {
    recording: Arc<Recording>,
    recorded: RecordedPorts,
    live: Ports<'a>,
    answers: HashMap<Address, String>,
}

impl<'a> Resumed<'a> {
    /// For the run at this address. `answers`: to its questions, by address.
    pub fn new(
        recording: Arc<Recording>,
        run: Address,
        live: Ports<'a>,
        answers: HashMap<Address, String>,
        stop: Stop,
    ) -> Self {
        let recorded = RecordedPorts::new(Arc::clone(&recording), run, stop);
        Self { recording, recorded, live, answers }
    }

    /// The ports of the run.
    pub fn ports<'s>(&'s self, events: &'s dyn Sink, stop: Stop) -> Ports<'s> {
        Ports { model: self, models: self, tools: self, person: self, clock: self, events, stop }
    }
}

impl Clock for Resumed<'_> {
    fn now_ms(&self, at: &Address) -> i64 {
        self.recording.now_ms(at).unwrap_or_else(|| self.live.clock.now_ms(at))
    }

    fn tree_turns(&self, at: &Address, counted: u32) -> u32 {
        self.recorded.tree_turns(at, counted)
    }
}

impl Model for Resumed<'_> {
    fn info(&self) -> ModelRecord {
        self.recorded.info()
    }

    fn answer<'a>(&'a self, request: &'a Request, call: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>> {
        if has_reply(&self.recording, &request.address) {
            self.recorded.answer(request, call)
        } else {
            self.live.model.answer(request, call)
        }
    }
}

/// Does the recording hold the end of this turn's reply?
fn has_reply(recording: &Recording, turn: &Address) -> bool {
    let ended =
        |envelope: &Envelope| matches!(&envelope.event, Event::ReplyEnd(end) if end.status != ReplyStatus::Discarded);
    recording.at(turn).iter().any(ended)
}

impl Models for Resumed<'_> {
    fn model(&self, run: &Address, alias: Option<&str>) -> Result<Option<Arc<dyn Model>>, ModelError> {
        let waits = self.recording.is_complete(run);
        if waits { self.recorded.model(run, alias) } else { self.live.models.model(run, alias) }
    }
}

impl Tools for Resumed<'_> {
    fn call<'a>(&'a self, call: &'a Invocation<'a>) -> BoxFuture<'a, Result<Value, Failure>> {
        match self.recording.tool_end(call.address) {
            Some(_) => self.recorded.call(call),
            None => self.live.tools.call(call),
        }
    }

    fn interrupted_program(&self, turn: &Address) -> Option<ProgramEnd> {
        self.recorded.interrupted_program(turn)
    }

    fn stop_as_recorded(&self, turn: &Address) {
        self.recorded.stop_as_recorded(turn);
    }

    fn refuses(&self, at: &Address, counted: bool) -> bool {
        self.recorded.refuses(at, counted)
    }
}

impl Human for Resumed<'_> {
    fn ask<'a>(&'a self, question: &'a Question, cancel: &'a CancellationToken) -> BoxFuture<'a, Option<String>> {
        if self.recording.answer(&question.address).is_some() {
            return self.recorded.ask(question, cancel);
        }
        match self.answers.get(&question.address) {
            Some(answer) => Box::pin(async move { Some(answer.clone()) }),
            None => self.live.person.ask(question, cancel),
        }
    }
}

/// A sink that takes what the recording holds as told and writes the rest.
pub struct Appending {
    recording: Arc<Recording>,
    left: Mutex<HashMap<Address, Vec<Envelope>>>,
    sink: Box<dyn Sink>,
}

impl Appending {
    /// Writes what is new to this sink.
    pub fn new(recording: Arc<Recording>, sink: Box<dyn Sink>) -> Self {
        Self { left: Mutex::new(recording.all()), recording, sink }
    }

    /// The recorded event that this one repeats, if there is one.
    fn told(&self, address: &Address, event: &Event) -> Result<Option<Envelope>, SinkError> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(events) = left.get_mut(address) else { return Ok(None) };
        if matches!(event, Event::ReplyPart(_)) && has_reply(&self.recording, address) {
            let at_ms = events.first().map_or(0, |first| first.at_ms);
            return Ok(Some(Envelope { seq: 0, at_ms, address: address.clone(), event: event.clone() }));
        }
        let Some(place) = events.iter().position(|known| known.event.kind() == event.kind()) else { return Ok(None) };
        let known = events.remove(place);
        if event.class() == Class::Derived && known.event != *event {
            return Err(SinkError::Diverged);
        }
        Ok(Some(known))
    }
}

impl Sink for Appending {
    fn emit(&self, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>> {
        Box::pin(async move {
            match self.told(&address, &event)? {
                Some(known) => Ok(known),
                None => self.sink.emit(address, event).await,
            }
        })
    }
}
