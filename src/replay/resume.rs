//! Resumes a waiting or interrupted run: the same engine, answered by the recording as far as it goes and by the live
//! ports after it.
//!
//! In: an adopted recording, live ports, answers to its questions. Out: ports. Recorded events are computed again, but
//! the recorded version is used where they differ.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::ports::RecordedModel;
use super::{RecordedEdits, Recording};
use crate::engine::{
    EditedInputs, History, InterruptedProgram, ModelSource, Models, Ports, RecordedCall, RecordedTurn, SettledEvent,
    WorkDone,
};
use crate::event::{
    Address, AnswerGiven, Class, Edit, Envelope, Event, Interrupt, ModelRecord, QuestionAsked, QuestionKind, ReplyEnd,
    ReplyStatus, ToolCall,
};
use crate::model::{Call, Model, ModelError, ModelEvent, Reply, Request};
use crate::port::{Checkpoint, Human, Question, Sink, SinkError, Stop};

/// Queue length for events of a new reply.
const QUEUE: usize = 256;

/// Ports that answer from a recording first.
pub struct ResumePorts<'a> {
    recording: Arc<Recording>,
    recorded: RecordedModel,
    live: Ports<'a>,
    answers: Mutex<Answers>,
    edits: Option<&'a RecordedEdits>,
    /// Recorded events that have not been repeated yet; `None` when all events are emitted.
    unrepeated: Option<Mutex<HashMap<Address, Vec<Envelope>>>>,
    /// Recorded waiting time for answers, plus the time since the last event, in ms.
    waited_ms: u64,
}

/// Answers given before the run is resumed.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    /// Answers by question address.
    pub by_address: HashMap<Address, String>,
    /// Answers to all other questions, in the order of asking.
    pub in_order: VecDeque<String>,
}

impl<'a> ResumePorts<'a> {
    /// Creates the ports of the run at this address. The sink gets every event.
    pub fn new(recording: Arc<Recording>, run: Address, live: Ports<'a>, answers: Answers) -> Self {
        let waited_ms = recording.waited_ms().saturating_add(recording.age_ms(live.clock.now_ms(&run)));
        let recorded = RecordedModel::new(Arc::clone(&recording), run);
        let answers = Mutex::new(answers);
        Self { recording, recorded, live, answers, edits: None, unrepeated: None, waited_ms }
    }

    /// For a sink that appends to the recording: it gets only new events.
    #[must_use]
    pub fn appending(self) -> Self {
        Self { unrepeated: Some(Mutex::new(self.recording.all())), ..self }
    }

    /// Applies the edits of the recording.
    #[must_use]
    pub fn edited_by(self, edits: &'a RecordedEdits) -> Self {
        Self { edits: Some(edits), ..self }
    }

    /// Returns the ports of the run.
    pub fn ports<'s>(&'s self, events: &'s dyn Sink, stop: Stop) -> Ports<'s> {
        Ports { model: self, models: self, human: self, history: self, events, stop, ..self.live.clone() }
    }

    /// Returns the recorded event that this one repeats.
    fn take_repeated(&self, address: &Address, event: &Event) -> Option<Envelope> {
        if matches!(event, Event::RunWait(_)) {
            // Waiting again is a new event, also for the same question: the last line names the current question.
            return None;
        }
        let mut unrepeated = self.unrepeated.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        let events = unrepeated.get_mut(address)?;
        let of_reply = matches!(
            event,
            Event::ReplyPart(_) | Event::ReplyEnd(_) | Event::Sent(_) | Event::Wire(_) | Event::RetryWait(_)
        );
        match (event, has_reply(&self.recording, address)) {
            (Event::ReplyPart(part), true) if self.recording.interrupted_attempt(address) >= part.attempt => {
                let at_ms = events.first().map_or(0, |first| first.at_ms);
                return Some(Envelope { seq: 0, at_ms, address: address.clone(), event: event.clone() });
            }
            (Event::ReplyPart(_), true) => return None,
            // The reply was interrupted: all events of its replacement are new.
            (_, false) if of_reply => return None,
            _ => {}
        }
        let repeats = |known: &Envelope| match event.class() {
            // An earlier stop that ended nothing is not the one that ends the run now.
            Class::Input if matches!(event, Event::Interrupt(_)) => known.event == *event,
            Class::Note => known.event == *event,
            Class::Input | Class::Derived => known.event.kind() == event.kind(),
        };
        let index = events.iter().position(repeats)?;
        Some(events.remove(index))
    }
}

impl History for ResumePorts<'_> {
    fn settle(&self, address: &Address, event: Event) -> Result<SettledEvent, SinkError> {
        Ok(self.take_repeated(address, &event).map_or(SettledEvent::New(event), SettledEvent::Recorded))
    }

    fn work_done(&self, run: &Address) -> WorkDone {
        let turns = self.recording.turns_of(self.recorded.run());
        WorkDone { turns, calls: self.recording.calls_of(run), waited_ms: self.waited_ms }
    }

    fn turn(&self, turn: &Address) -> Option<RecordedTurn> {
        self.recording.turn_record(turn)
    }

    fn is_over(&self, at: &Address) -> bool {
        // A recorded program ends as recorded; the rest of its turn does not wait.
        let is_end = |event: &Event| match event {
            Event::TurnEnd(_) | Event::RunEnd(_) => true,
            Event::ProgramEnd(end) => !end.interrupted,
            _ => false,
        };
        self.recording.at(at).iter().any(|envelope| is_end(&envelope.event))
    }

    fn interrupt(&self, turn: &Address) -> Option<Interrupt> {
        self.recording.interrupt(turn).cloned()
    }

    fn reply_interrupt(&self, turn: &Address) -> Option<Interrupt> {
        self.recording.interrupted_reply(turn).cloned()
    }

    fn call(&self, at: &Address) -> RecordedCall {
        RecordedCall { begun: self.recording.has_call(at), end: self.recording.tool_end(at).cloned() }
    }

    fn begun_call(&self, at: &Address) -> Option<ToolCall> {
        self.recording.tool_call(at).cloned()
    }

    fn asked(&self, question: &Address, kind: &QuestionKind) -> Option<bool> {
        let recording = &self.recording;
        let asker = question.asker();
        let holds = |is_one: fn(&Event) -> bool| recording.at(&asker).iter().any(|envelope| is_one(&envelope.event));
        // If later events are recorded, the recording decides.
        let is_past = match kind {
            QuestionKind::GateResult => recording.tool_end(&asker).is_some(),
            QuestionKind::GateSend | QuestionKind::GateApply => has_reply(recording, &question.turn_part()),
            QuestionKind::Consent => recording.has_call(&asker),
            QuestionKind::Breakpoint => holds(|event| matches!(event, Event::ToolCall(_) | Event::ProgramEnd(_))),
            _ => false,
        };
        (is_past || recording.is_asked(question)).then(|| recording.is_asked_as(question, kind))
    }

    fn question(&self, question: &Address) -> Option<QuestionAsked> {
        self.recording.question(question).cloned()
    }

    fn answer(&self, question: &Address) -> Option<AnswerGiven> {
        self.recording.answer(question).cloned()
    }

    fn program(&self, turn: &Address) -> Option<InterruptedProgram> {
        self.recording.stopped_program(turn)
    }

    fn edited_turn(&self, turn: &Address) -> Option<&EditedInputs> {
        self.edits?.turn(turn)
    }

    fn replacement(&self, at: &Address) -> Option<&Edit> {
        self.edits?.replacement(at)
    }
}

impl Model for ResumePorts<'_> {
    fn info(&self) -> ModelRecord {
        self.recorded.info()
    }

    fn is_human(&self) -> bool {
        self.live.model.is_human()
    }

    fn answer<'a>(&'a self, request: &'a Request, call: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>> {
        answer(&self.recording, &self.recorded, self.live.model, request, call)
    }
}

/// The model of a child run that had not ended.
struct ChildModel {
    recording: Arc<Recording>,
    recorded: RecordedModel,
    live: Arc<dyn Model>,
}

impl Model for ChildModel {
    fn info(&self) -> ModelRecord {
        if self.recording.run_start(self.recorded.run()).is_some() { self.recorded.info() } else { self.live.info() }
    }

    fn is_human(&self) -> bool {
        self.live.is_human()
    }

    fn answer<'a>(&'a self, request: &'a Request, call: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>> {
        answer(&self.recording, &self.recorded, &*self.live, request, call)
    }
}

/// Returns the recorded reply or a live one.
fn answer<'a>(
    recording: &'a Recording,
    recorded: &'a RecordedModel,
    live: &'a dyn Model,
    request: &'a Request,
    call: &'a Call,
) -> BoxFuture<'a, Result<Reply, ModelError>> {
    match recording.interrupted_attempt(&request.address) {
        _ if has_reply(recording, &request.address) || recording.is_reply_asked(&request.address) => {
            recorded.answer(request, call)
        }
        interrupted => Box::pin(answer_live(recorded, live, request, call, interrupted)),
    }
}

/// Returns a live reply; names its model if that is not the first model of the run.
async fn answer_live(
    recorded: &RecordedModel,
    live: &dyn Model,
    request: &Request,
    call: &Call,
    interrupted: u32,
) -> Result<Reply, ModelError> {
    let now = live.info();
    // The start event of a new run names its model.
    let other = recorded.first_model().filter(|first| *first != now).map(|_| Box::new(now));
    let answer = if interrupted == 0 {
        live.answer(request, call).await
    } else {
        retry_reply(live, request, call, interrupted).await
    };
    answer
        .map(|reply| Reply { by: reply.by.clone().or_else(|| other.clone()), ..reply })
        .map_err(|error| ModelError { by: error.by.clone().or(other), ..error })
}

/// Repeats the request of an interrupted reply: discards its events and continues counting attempts.
async fn retry_reply(live: &dyn Model, request: &Request, call: &Call, interrupted: u32) -> Result<Reply, ModelError> {
    call.emit(ModelEvent::Discarded(Box::new(ReplyEnd::new(interrupted, ReplyStatus::Discarded)))).await;
    let (sender, mut events) = mpsc::channel(QUEUE);
    let inner = Call { events: sender, cancel: call.cancel.clone() };
    let mut answer = live.answer(request, &inner);
    let result = loop {
        tokio::select! {
            biased;
            Some(event) = events.recv() => call.emit(shift_attempt(event, interrupted)).await,
            result = &mut answer => break result,
        }
    };
    while let Ok(event) = events.try_recv() {
        call.emit(shift_attempt(event, interrupted)).await;
    }
    match result {
        Ok(reply) => Ok(Reply { attempt: reply.attempt + interrupted, ..reply }),
        Err(error) => Err(ModelError { attempt: error.attempt + interrupted, ..error }),
    }
}

/// Adds the earlier attempts to the attempt of an event.
fn shift_attempt(mut event: ModelEvent, interrupted: u32) -> ModelEvent {
    match &mut event {
        ModelEvent::Delta { attempt, .. } => *attempt += interrupted,
        ModelEvent::Sent(sent) => sent.attempt += interrupted,
        ModelEvent::Wire(wire) => wire.attempt += interrupted,
        ModelEvent::RetryWait(wait) => wait.attempt += interrupted,
        ModelEvent::Discarded(end) => end.attempt += interrupted,
        ModelEvent::Notice(_) => {}
    }
    event
}

/// Returns whether the end of this turn's reply is recorded.
fn has_reply(recording: &Recording, turn: &Address) -> bool {
    let ended =
        |envelope: &Envelope| matches!(&envelope.event, Event::ReplyEnd(end) if end.status != ReplyStatus::Discarded);
    recording.at(turn).iter().any(ended)
}

impl Models for ResumePorts<'_> {
    fn model(&self, run: &Address, source: ModelSource<'_>) -> Result<Option<Arc<dyn Model>>, ModelError> {
        if self.recording.is_complete(run) {
            return self.recorded.model(run, source);
        }
        let live = self.live.models.model(run, source)?;
        Ok(live.map(|live| {
            let recorded = RecordedModel::new(Arc::clone(&self.recording), run.clone());
            Arc::new(ChildModel { recording: Arc::clone(&self.recording), recorded, live }) as Arc<dyn Model>
        }))
    }
}

/// Given answers are used before live ones.
impl Human for ResumePorts<'_> {
    fn ask<'a>(&'a self, question: &'a Question, cancel: &'a CancellationToken) -> BoxFuture<'a, Option<String>> {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        match answers.by_address.remove(&question.address).or_else(|| answers.in_order.pop_front()) {
            Some(answer) => Box::pin(std::future::ready(Some(answer))),
            None => self.live.human.ask(question, cancel),
        }
    }

    fn has_answer(&self, question: &Address) -> bool {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.by_address.contains_key(question) || !answers.in_order.is_empty()
    }

    fn stops_at(&self, checkpoint: Checkpoint<'_>) -> bool {
        self.live.human.stops_at(checkpoint)
    }
}
