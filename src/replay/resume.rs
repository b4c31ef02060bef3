//! Going on with a run that waits or broke off: the same engine answers from the recording as far as it goes, and from the live
//! ports behind it.
//!
//! In: a recording that was adopted, live ports, answers to its questions. Out: ports, and a sink that writes only what is new. What
//! the recording holds is made again and stands as it is recorded, also where it comes out differently.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use ptc_core::value::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Recording;
use super::ports::RecordedPorts;
use crate::engine::{Models, Ports};
use crate::event::{Address, Class, Envelope, Event, ModelRecord, ProgramEnd, ReplyEnd, ReplyStatus};
use crate::model::{Call, Model, ModelError, ModelEvent, Reply, Request};
use crate::port::{Breakpoint, Clock, Gate, Human, Question, Sink, SinkError, Stop};
use crate::tool::{Decision, Failure, Invocation, Ruling, Tools};

/// Events of a new reply that may wait.
const QUEUE: usize = 256;

/// Ports that answer from a recording first.
pub struct Resumed<'a> {
    recording: Arc<Recording>,
    recorded: RecordedPorts,
    live: Ports<'a>,
    answers: Mutex<Answers>,
    /// What the recording says was waited for persons, and the time since its last event, in ms.
    waited_ms: u64,
}

/// What a waiting run is told.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    /// Answers by the address of their question.
    pub by_address: HashMap<Address, String>,
    /// Answers to the other questions, in the order in which they are asked.
    pub in_order: VecDeque<String>,
}

impl<'a> Resumed<'a> {
    /// For the run at this address.
    pub fn new(recording: Arc<Recording>, run: Address, live: Ports<'a>, answers: Answers) -> Self {
        let waited_ms = recording.waited_ms().saturating_add(recording.age_ms(live.clock.now_ms(&run)));
        let recorded = RecordedPorts::new(Arc::clone(&recording), run);
        Self { recording, recorded, live, answers: Mutex::new(answers), waited_ms }
    }

    /// The ports of the run.
    pub fn ports<'s>(&'s self, events: &'s dyn Sink, stop: Stop) -> Ports<'s> {
        Ports {
            model: self,
            models: self,
            tools: self,
            person: self,
            edits: self.live.edits,
            clock: self,
            events,
            stop,
        }
    }
}

impl Resumed<'_> {
    /// Was an answer to this question given with the order to go on?
    fn has_answer(&self, question: &Address) -> bool {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.by_address.contains_key(question) || !answers.in_order.is_empty()
    }
}

impl Clock for Resumed<'_> {
    fn now_ms(&self, at: &Address) -> i64 {
        self.recording.now_ms(at).unwrap_or_else(|| self.live.clock.now_ms(at))
    }

    fn tree_turns(&self, at: &Address, counted: u32) -> u32 {
        self.recorded.tree_turns(at, counted)
    }

    fn turns_held(&self) -> u32 {
        self.recording.turns_of(self.recorded.run())
    }

    fn holds_turn(&self, turn: &Address) -> bool {
        self.recording.turn_start(turn).is_some()
    }

    fn is_over(&self, at: &Address) -> bool {
        // A program whose end is recorded ends so again; what is left of its turn waits for nothing.
        let is_end = |event: &Event| match event {
            Event::TurnEnd(_) | Event::RunEnd(_) => true,
            Event::ProgramEnd(end) => !end.interrupted,
            _ => false,
        };
        self.recording.at(at).iter().any(|envelope| is_end(&envelope.event))
    }

    fn waited_ms(&self, at: &Address, counted: u64) -> u64 {
        self.recorded.waited_ms(at, self.waited_ms.saturating_add(counted))
    }
}

impl Model for Resumed<'_> {
    fn info(&self) -> ModelRecord {
        self.recorded.info()
    }

    fn is_person(&self) -> bool {
        self.live.model.is_person()
    }

    fn answer<'a>(&'a self, request: &'a Request, call: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>> {
        answer(&self.recording, &self.recorded, self.live.model, request, call)
    }
}

/// The model of an agent below that had not ended.
struct Unended {
    recording: Arc<Recording>,
    recorded: RecordedPorts,
    live: Arc<dyn Model>,
}

impl Model for Unended {
    fn info(&self) -> ModelRecord {
        if self.recording.run_start(self.recorded.run()).is_some() { self.recorded.info() } else { self.live.info() }
    }

    fn is_person(&self) -> bool {
        self.live.is_person()
    }

    fn answer<'a>(&'a self, request: &'a Request, call: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>> {
        answer(&self.recording, &self.recorded, &*self.live, request, call)
    }
}

/// The recorded reply, else a live one.
fn answer<'a>(
    recording: &'a Recording,
    recorded: &'a RecordedPorts,
    live: &'a dyn Model,
    request: &'a Request,
    call: &'a Call,
) -> BoxFuture<'a, Result<Reply, ModelError>> {
    match recording.broken_attempt(&request.address) {
        _ if has_reply(recording, &request.address) || recording.asks_for_reply(&request.address) => {
            recorded.answer(request, call)
        }
        broken => Box::pin(answered_live(recorded, live, request, call, broken)),
    }
}

/// A live reply, which says who gave it where that is not the model that the run began with.
async fn answered_live(
    recorded: &RecordedPorts,
    live: &dyn Model,
    request: &Request,
    call: &Call,
    broken: u32,
) -> Result<Reply, ModelError> {
    let now = live.info();
    // A run that begins now says itself who it asks.
    let other = recorded.began_with().filter(|first| *first != now).map(|_| Box::new(now));
    let answer = if broken == 0 { live.answer(request, call).await } else { anew(live, request, call, broken).await };
    answer
        .map(|reply| Reply { by: reply.by.clone().or_else(|| other.clone()), ..reply })
        .map_err(|error| ModelError { by: error.by.clone().or(other), ..error })
}

/// Asks again where a reply broke off in the middle: what came of it is discarded, attempts are counted on.
async fn anew(live: &dyn Model, request: &Request, call: &Call, broken: u32) -> Result<Reply, ModelError> {
    call.tell(ModelEvent::Discarded(Box::new(ReplyEnd::new(broken, ReplyStatus::Discarded)))).await;
    let (sender, mut events) = mpsc::channel(QUEUE);
    let inner = Call { events: sender, cancel: call.cancel.clone() };
    let mut answer = live.answer(request, &inner);
    let result = loop {
        tokio::select! {
            biased;
            Some(event) = events.recv() => call.tell(later(event, broken)).await,
            result = &mut answer => break result,
        }
    };
    while let Ok(event) = events.try_recv() {
        call.tell(later(event, broken)).await;
    }
    match result {
        Ok(reply) => Ok(Reply { attempt: reply.attempt + broken, ..reply }),
        Err(error) => Err(ModelError { attempt: error.attempt + broken, ..error }),
    }
}

/// The event with its attempt counted on.
fn later(mut event: ModelEvent, broken: u32) -> ModelEvent {
    match &mut event {
        ModelEvent::Delta { attempt, .. } => *attempt += broken,
        ModelEvent::Sent(sent) => sent.attempt += broken,
        ModelEvent::Wire(wire) => wire.attempt += broken,
        ModelEvent::RetryWait(wait) => wait.attempt += broken,
        ModelEvent::Discarded(end) => end.attempt += broken,
        ModelEvent::Notice(_) => {}
    }
    event
}

/// Does the recording hold the end of this turn's reply?
fn has_reply(recording: &Recording, turn: &Address) -> bool {
    let ended =
        |envelope: &Envelope| matches!(&envelope.event, Event::ReplyEnd(end) if end.status != ReplyStatus::Discarded);
    recording.at(turn).iter().any(ended)
}

/// Does the recording hold anything of this attempt, or of a later one? A person at a gate writes one more.
fn heard(recording: &Recording, turn: &Address, attempt: u32) -> bool {
    recording.broken_attempt(turn) >= attempt
}

impl Models for Resumed<'_> {
    fn model(&self, run: &Address, alias: Option<&str>) -> Result<Option<Arc<dyn Model>>, ModelError> {
        if self.recording.is_complete(run) {
            return self.recorded.model(run, alias);
        }
        let live = self.live.models.model(run, alias)?;
        Ok(live.map(|live| {
            let recorded = RecordedPorts::new(Arc::clone(&self.recording), run.clone());
            Arc::new(Unended { recording: Arc::clone(&self.recording), recorded, live }) as Arc<dyn Model>
        }))
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

    fn calls_held(&self, run: &Address) -> u64 {
        self.recording.calls_of(run)
    }

    fn holds_call(&self, at: &Address) -> bool {
        self.recording.holds_call(at)
    }

    fn done_in_program(&self, turn: &Address) -> Vec<Envelope> {
        self.recorded.done_in_program(turn)
    }

    fn stop_as_recorded(&self, turn: &Address, stop: &Stop) {
        self.recorded.stop_as_recorded(turn, stop);
    }

    fn stop_reply_as_recorded(&self, turn: &Address, stop: &Stop) -> bool {
        self.recorded.stop_reply_as_recorded(turn, stop)
    }

    fn asks_consent(&self, at: &Address, known: bool) -> bool {
        // A call that the file holds asked when it came, or did not need to.
        let is_told = self.recording.holds_call(at) || self.recording.is_asked(&at.question(0));
        if is_told { self.recorded.asks_consent(at, known) } else { self.live.tools.asks_consent(at, known) }
    }

    fn ruling(&self, question: &Address, definition: &str) -> Option<Ruling> {
        if self.recording.answer(question).is_some() {
            return self.recorded.ruling(question, definition);
        }
        if self.has_answer(question) {
            return None;
        }
        // A run that waits for this answer goes on waiting; only whoever allows everything answers it.
        let ruling = self.live.tools.ruling(question, definition);
        ruling.filter(|ruling| ruling.decision != Decision::Deny || !self.recording.is_asked(question))
    }

    fn keep(&self, definition: &str) {
        self.live.tools.keep(definition);
    }

    fn is_unknown(&self, at: &Address) -> bool {
        let is_begun = self.recording.holds_call(at) && self.recording.tool_end(at).is_none();
        is_begun || self.recorded.is_unknown(at)
    }

    fn remembered(&self, at: &Address, known: Option<Value>) -> Option<Value> {
        self.recorded.remembered(at, known)
    }

    fn refuses(&self, at: &Address, counted: bool) -> bool {
        match self.recording.tool_end(at) {
            Some(_) => self.recorded.refuses(at, counted),
            // It was begun: then it was allowed.
            None => counted && !self.recording.holds_call(at),
        }
    }
}

impl Human for Resumed<'_> {
    fn ask<'a>(&'a self, question: &'a Question, cancel: &'a CancellationToken) -> BoxFuture<'a, Option<String>> {
        if self.recording.answer(&question.address).is_some() {
            return self.recorded.ask(question, cancel);
        }
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        match answers.by_address.remove(&question.address).or_else(|| answers.in_order.pop_front()) {
            Some(answer) => Box::pin(async move { Some(answer) }),
            None => self.live.person.ask(question, cancel),
        }
    }

    fn was_asked(&self, question: &Address) -> bool {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        self.recorded.was_asked(question) || !answers.in_order.is_empty()
    }

    fn intercepts(&self, question: &Address, gate: Gate) -> bool {
        // What the recording holds went on as it is told there.
        let told = match gate {
            Gate::Result => question
                .as_str()
                .rsplit_once('/')
                .is_some_and(|(call, _)| self.recording.tool_end(&Address::from(call)).is_some()),
            Gate::Send | Gate::Apply => has_reply(&self.recording, &question.turn_part()),
        };
        if told || self.recording.is_asked(question) {
            self.recorded.intercepts(question, gate)
        } else {
            self.live.person.intercepts(question, gate)
        }
    }

    fn breaks(&self, question: &Address, met: &[Breakpoint]) -> bool {
        let asker = question.as_str().rsplit_once('/').map_or("", |(asker, _)| asker);
        let is_told = |event: &Event| matches!(event, Event::ToolCall(_) | Event::ProgramEnd(_));
        let told = self.recording.at(&Address::from(asker)).iter().any(|envelope| is_told(&envelope.event));
        if told || self.recording.is_asked(question) {
            self.recorded.breaks(question, met)
        } else {
            self.live.person.breaks(question, met)
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
    fn told(&self, address: &Address, event: &Event) -> Option<Envelope> {
        if matches!(event, Event::RunWait(_)) {
            // Waiting again is new, also for a question that was waited for before: the last line says for which.
            return None;
        }
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let events = left.get_mut(address)?;
        let of_reply = matches!(
            event,
            Event::ReplyPart(_) | Event::ReplyEnd(_) | Event::Sent(_) | Event::Wire(_) | Event::RetryWait(_)
        );
        match (event, has_reply(&self.recording, address)) {
            (Event::ReplyPart(part), true) if heard(&self.recording, address, part.attempt) => {
                let at_ms = events.first().map_or(0, |first| first.at_ms);
                return Some(Envelope { seq: 0, at_ms, address: address.clone(), event: event.clone() });
            }
            (Event::ReplyPart(_), true) => return None,
            // The reply broke off: everything of the new one is new.
            (_, false) if of_reply => return None,
            _ => {}
        }
        let repeats = |known: &Envelope| match event.class() {
            // A stop that ended nothing before the file broke off is not the one that ends the run now.
            Class::Input if matches!(event, Event::Interrupt(_)) => known.event == *event,
            Class::Note => known.event == *event,
            Class::Input | Class::Derived => known.event.kind() == event.kind(),
        };
        let place = events.iter().position(repeats)?;
        Some(events.remove(place))
    }
}

impl Sink for Appending {
    fn emit(&self, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>> {
        Box::pin(async move {
            match self.told(&address, &event) {
                Some(known) => Ok(known),
                None => self.sink.emit(address, event).await,
            }
        })
    }
}
