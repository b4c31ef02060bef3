//! The ports of a replay: the history is the recording, and models reply with recorded replies; nothing else replies.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use ptc_core::value::Value;
use tokio::time::{Instant, sleep_until};

use super::compare::Comparer;
use super::{RecordedEdits, Recording};
use crate::engine::{
    EditedInputs, History, InterruptedProgram, ModelSource, Models, Ports, RecordedCall, RecordedTurn, SettledEvent,
};
use crate::event::{
    Address, AnswerGiven, Edit, Event, Interrupt, ModelRecord, NoticeLevel, QuestionAsked, QuestionKind, ReplyEnd,
    ReplyPart, ReplyStatus, ToolCall,
};
use crate::model::{Call, ErrorClass, Finish, Model, ModelError, ModelEvent, Reply, Request};
use crate::port::{Clock, NoAttachments, NoUser, Sink, SinkError, Stop};
use crate::program::Job;
use crate::record::Attempts;
use crate::tool::{Failure, Invocation, Tools};

/// Callback that receives the turn and job of every program before it runs.
pub(super) type ProgramWatch = Arc<dyn Fn(&Address, &Job) + Send + Sync>;

/// The ports of one root run of a recording and its child runs.
pub struct RecordedPorts<'a> {
    recording: Arc<Recording>,
    edits: &'a RecordedEdits,
    model: RecordedModel,
    comparer: Option<&'a Comparer<'a>>,
    watch: Option<ProgramWatch>,
}

impl<'a> RecordedPorts<'a> {
    /// Creates the ports of the root run at this address. `edits` are those of the recording.
    pub fn new(recording: Arc<Recording>, run: Address, edits: &'a RecordedEdits) -> Self {
        let model = RecordedModel::new(Arc::clone(&recording), run);
        Self { recording, edits, model, comparer: None, watch: None }
    }

    /// Compares every derived event with the recording.
    pub(super) fn compared_by(self, comparer: &'a Comparer<'a>) -> Self {
        Self { comparer: Some(comparer), ..self }
    }

    /// Passes every program to `watch` before it runs.
    pub(super) fn watched_by(self, watch: ProgramWatch) -> Self {
        Self { watch: Some(watch), ..self }
    }

    /// Returns the ports with this sink. Only the recording can stop the run.
    pub fn with_sink<'p>(&'p self, events: &'p dyn Sink) -> Ports<'p> {
        Ports {
            model: &self.model,
            models: &self.model,
            tools: &UnrecordedTools,
            human: &NoUser,
            clock: self,
            history: self,
            files: &NoAttachments,
            events,
            stop: Stop::default(),
        }
    }
}

impl Clock for RecordedPorts<'_> {
    /// Returns the time of the first event at this address.
    fn now_ms(&self, at: &Address) -> i64 {
        self.recording.at(at).first().map_or(0, |first| first.at_ms)
    }
}

impl History for RecordedPorts<'_> {
    fn is_replay(&self) -> bool {
        true
    }

    fn settle(&self, address: &Address, event: Event) -> Result<SettledEvent, SinkError> {
        match self.comparer {
            Some(comparer) => comparer.settle(address, event).map(SettledEvent::Recorded),
            None => Ok(SettledEvent::New(event)),
        }
    }

    fn turn(&self, turn: &Address) -> Option<RecordedTurn> {
        self.recording.turn_record(turn)
    }

    fn is_over(&self, _: &Address) -> bool {
        true
    }

    fn interrupt(&self, turn: &Address) -> Option<Interrupt> {
        self.recording.interrupt(turn).cloned()
    }

    fn reply_interrupt(&self, turn: &Address) -> Option<Interrupt> {
        self.recording.interrupted_reply(turn).cloned()
    }

    fn call(&self, at: &Address) -> RecordedCall {
        RecordedCall { begun: false, end: self.recording.tool_end(at).cloned() }
    }

    fn begun_call(&self, at: &Address) -> Option<ToolCall> {
        self.recording.tool_call(at).cloned()
    }

    fn asked(&self, question: &Address, kind: &QuestionKind) -> Option<bool> {
        Some(self.recording.is_asked_as(question, kind))
    }

    fn question(&self, question: &Address) -> Option<QuestionAsked> {
        self.recording.question(question).cloned()
    }

    fn answer(&self, question: &Address) -> Option<AnswerGiven> {
        self.recording.answer(question).cloned()
    }

    fn program(&self, turn: &Address) -> Option<InterruptedProgram> {
        // What the comparison needs of an unfinished program is recorded: it is not computed.
        let unfinished = || self.comparer.and_then(|_| self.recording.unfinished_program(turn));
        self.recording.stopped_program(turn).or_else(unfinished)
    }

    fn watch_program(&self, turn: &Address, job: &Job) {
        if let Some(watch) = &self.watch {
            watch(turn, job);
        }
    }

    fn edited_turn(&self, turn: &Address) -> Option<&EditedInputs> {
        self.edits.turn(turn)
    }

    fn replacement(&self, at: &Address) -> Option<&Edit> {
        self.edits.replacement(at)
    }
}

/// Tools of a replay: fail, because the history returns all recorded results.
struct UnrecordedTools;

impl Tools for UnrecordedTools {
    fn call<'a>(&'a self, call: &'a Invocation<'a>) -> BoxFuture<'a, Result<Value, Failure>> {
        let message = format!("the recording has no result of the call at {}", call.address);
        Box::pin(std::future::ready(Err(Failure::from_message(message))))
    }
}

/// Replies to requests with the recorded replies.
pub(super) struct RecordedModel {
    recording: Arc<Recording>,
    run: Address,
}

impl RecordedModel {
    /// Creates the model of the run at this address.
    pub(super) fn new(recording: Arc<Recording>, run: Address) -> Self {
        Self { recording, run }
    }

    pub(super) fn run(&self) -> &Address {
        &self.run
    }

    /// Returns the first model of the run; `None` when its start is not recorded.
    pub(super) fn first_model(&self) -> Option<ModelRecord> {
        self.recording.run_start(&self.run).map(|start| start.model.clone())
    }
}

impl Models for RecordedModel {
    fn model(&self, run: &Address, _: ModelSource<'_>) -> Result<Option<Arc<dyn Model>>, ModelError> {
        // A model that could not be created in the recording fails here too.
        let refused = self.recording.tool_end(run).filter(|_| self.recording.run_start(run).is_none());
        if let Some(record) = refused.and_then(|end| end.error.clone()) {
            return Err(record.into());
        }
        Ok(Some(Arc::new(Self::new(Arc::clone(&self.recording), run.clone()))))
    }
}

impl Model for RecordedModel {
    fn info(&self) -> ModelRecord {
        self.first_model().unwrap_or_default()
    }

    fn answer<'a>(&'a self, request: &'a Request, call: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(play_reply(&self.recording, &request.address, call, ReplyPace::Replay))
    }
}

/// Events of a recorded reply that are repeated, and their timing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyPace {
    /// All recorded events, without delay.
    Replay,
    /// Only the reply, without delay and without transport events.
    Immediate,
    /// Only the reply, with the recorded timing.
    AsRecorded,
}

/// Repeats the recorded reply of a turn, attempts and waits included, and ends as it ended.
pub(super) async fn play_reply(
    recording: &Recording,
    at: &Address,
    call: &Call,
    pace: ReplyPace,
) -> Result<Reply, ModelError> {
    let mut attempts = Attempts::default();
    let mut attempt_start = Instant::now();
    // A question asked the user for this reply: the engine creates it from the answer.
    let asked = pace == ReplyPace::Replay && recording.is_reply_asked(at);
    // What of that reply broke off is repeated.
    let is_discarded = |attempt: u32| {
        let is_end = |end: &ReplyEnd| end.status == ReplyStatus::Discarded && end.attempt == attempt;
        recording.at(at).iter().any(|known| matches!(&known.event, Event::ReplyEnd(end) if is_end(end)))
    };
    let mut is_sent = false;
    for envelope in recording.at(at) {
        attempts.apply(&envelope.event);
        is_sent |= matches!(envelope.event, Event::RequestMade(_));
        match &envelope.event {
            Event::ReplyPart(part) if asked && !is_discarded(part.attempt) => {}
            Event::ReplyEnd(end) if asked && end.status != ReplyStatus::Discarded => {
                return Err(ModelError { attempt: end.attempt, ..ModelError::waiting() });
            }
            Event::Sent(sent) => {
                attempt_start = Instant::now();
                if pace == ReplyPace::Replay {
                    call.emit(ModelEvent::Sent(sent.clone())).await;
                }
            }
            Event::Wire(wire) if pace == ReplyPace::Replay => call.emit(ModelEvent::Wire(wire.clone())).await,
            // Warnings between the request and the end of its reply are those of the model.
            Event::Notice(notice) if is_sent && pace == ReplyPace::Replay && notice.level == NoticeLevel::Warning => {
                call.emit(ModelEvent::Notice(notice.text.clone())).await;
            }
            Event::RetryWait(wait) => call.emit(ModelEvent::RetryWait(wait.clone())).await,
            Event::ReplyPart(part) => play_deltas(part, attempt_start, call, pace).await?,
            Event::ReplyEnd(end) if end.status == ReplyStatus::Discarded => {
                let usage = end.usage.filter(|_| recording.counts_discarded(at));
                call.emit(ModelEvent::Discarded(Box::new(ReplyEnd { usage, ..end.clone() }))).await;
            }
            Event::ReplyEnd(end) => return reply_result(end, attempts.text().to_owned(), pace),
            _ => {}
        }
    }
    if asked {
        let broken = recording.interrupted_attempt(at);
        if broken > 0 {
            call.emit(ModelEvent::Discarded(Box::new(ReplyEnd::new(broken, ReplyStatus::Discarded)))).await;
        }
        return Err(ModelError { attempt: broken + 1, ..ModelError::waiting() });
    }
    Err(ModelError::new(ErrorClass::Miss, format!("the recording {} has no reply for {at}", recording.id)))
}

async fn play_deltas(part: &ReplyPart, start: Instant, call: &Call, pace: ReplyPace) -> Result<(), ModelError> {
    let mut from = 0;
    for (length, ms) in part.lens.iter().zip(&part.ms) {
        let to = from + *length as usize;
        let Some(text) = part.text.get(from..to) else { break };
        from = to;
        if pace == ReplyPace::AsRecorded {
            tokio::select! {
                () = sleep_until(start + Duration::from_millis(u64::from(*ms))) => {}
                () = call.cancel.cancelled() => return Err(ModelError::cancelled()),
            }
        }
        call.emit(ModelEvent::Delta { attempt: part.attempt, kind: part.kind, text: text.to_owned() }).await;
    }
    if from < part.text.len() {
        let rest = part.text[from..].to_owned();
        call.emit(ModelEvent::Delta { attempt: part.attempt, kind: part.kind, text: rest }).await;
    }
    Ok(())
}

fn reply_result(end: &ReplyEnd, text: String, pace: ReplyPace) -> Result<Reply, ModelError> {
    // A reply without delay has no recorded times.
    let recorded = |ms: Option<u64>| ms.filter(|_| pace != ReplyPace::Immediate);
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
            queued_ms: recorded(end.queued_ms),
            first_ms: recorded(end.first_ms),
            cached: end.cached,
        }),
    }
}
