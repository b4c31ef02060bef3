//! The port to the recording: the recorded part of the current run.
//!
//! In: addresses and computed events. Out: recorded facts. A live run has none ([`NoHistory`]); a replay and a resumed run answer from a
//! file. The other ports are asked only where the history knows nothing. It must never answer from anything but a recording.

use ptc_core::reasons::Reason;
use ptc_core::value::{Json, Value};

use super::input::EditedInputs;
use crate::event::{
    Address, AnswerGiven, CallStatus, Edit, Envelope, ErrorRecord, Event, Interrupt, ProgramEnd, ProgramStatus,
    QuestionAsked, QuestionKind, ToolCall, ToolEnd,
};
use crate::port::SinkError;
use crate::program::Job;
use crate::tool::Failure;

/// Access to a recording. Every default is the answer of a live run.
pub trait History: Send + Sync {
    /// Compares a computed event with the recording. Errors: the replay ends at this difference.
    fn settle(&self, _address: &Address, event: Event) -> Result<SettledEvent, SinkError> {
        Ok(SettledEvent::New(event))
    }

    /// True if nothing is done beyond the recording: no tool is called, no user asked.
    fn is_replay(&self) -> bool {
        false
    }

    /// Returns the work that a resumed recording holds of the run at this address.
    fn work_done(&self, _run: &Address) -> WorkDone {
        WorkDone::default()
    }

    /// Returns the recorded start of a turn.
    fn turn(&self, _turn: &Address) -> Option<RecordedTurn> {
        None
    }

    /// Returns whether this turn, or run, has ended in the recording. Then what timed out is recorded, and nothing times out now.
    fn is_over(&self, _at: &Address) -> bool {
        false
    }

    /// Returns the stop that ended something during this turn.
    fn interrupt(&self, _turn: &Address) -> Option<Interrupt> {
        None
    }

    /// Returns the stop that ended the reply of this turn.
    fn reply_interrupt(&self, _turn: &Address) -> Option<Interrupt> {
        None
    }

    /// Returns the record of a tool call.
    fn call(&self, _at: &Address) -> RecordedCall {
        RecordedCall::default()
    }

    /// Returns the recorded beginning of a tool call.
    fn begun_call(&self, _at: &Address) -> Option<ToolCall> {
        None
    }

    /// Returns whether a question of this kind was asked at this address; `None` where the recording does not reach that far.
    fn asked(&self, _question: &Address, _kind: &QuestionKind) -> Option<bool> {
        None
    }

    /// Returns the question that is recorded at this address.
    fn question(&self, _question: &Address) -> Option<QuestionAsked> {
        None
    }

    /// Returns the recorded answer to a question.
    fn answer(&self, _question: &Address) -> Option<AnswerGiven> {
        None
    }

    /// Returns the program of this turn, when time, memory or a stop ended it: it is not run again.
    fn program(&self, _turn: &Address) -> Option<InterruptedProgram> {
        None
    }

    /// Sees the program that runs next at this turn.
    fn watch_program(&self, _turn: &Address, _job: &Job) {}

    /// Returns the edited inputs of the turn at this address, if any.
    fn edited_turn(&self, _turn: &Address) -> Option<&EditedInputs> {
        None
    }

    /// Returns the edit that replaces the reply of this turn or the result of this call.
    fn replacement(&self, _at: &Address) -> Option<&Edit> {
        None
    }
}

/// The history of a live run.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHistory;

impl History for NoHistory {}

/// The result of settling a computed event with the recording.
#[derive(Debug, Clone)]
pub enum SettledEvent {
    /// The recording holds it: this event counts, and the sink does not get it.
    Recorded(Envelope),
    /// It is new: the sink takes it.
    New(Event),
}

/// Work that a resumed recording holds. It counts from the start, in whatever order parallel branches repeat it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WorkDone {
    /// Turns of the whole tree of agents.
    pub turns: u32,
    /// Tool calls of the run.
    pub calls: u64,
    /// Milliseconds that the tree waited for answers.
    pub waited_ms: u64,
}

/// The recorded start of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedTurn {
    /// The time it read, Unix ms.
    pub now_ms: i64,
    /// Milliseconds that the tree of agents had waited for answers.
    pub waited_ms: u64,
    /// Turns that were left in the tree.
    pub tree_turns: Option<u32>,
}

/// The record of a tool call.
#[derive(Debug, Clone, Default)]
pub struct RecordedCall {
    /// It was started before the session was resumed.
    pub begun: bool,
    /// Its end; `None` where it is not recorded.
    pub end: Option<ToolEnd>,
}

impl RecordedCall {
    /// Returns whether the call was refused because the run had made too many. `exceeded`: it is one too many by today's count.
    pub(super) fn is_over_limit(&self, exceeded: bool) -> bool {
        let limit = Reason::ToolCallLimitExceeded.name();
        match &self.end {
            Some(end) => {
                end.status == CallStatus::Refused && end.error.as_ref().is_some_and(|error| error.reason == limit)
            }
            None => exceeded && !self.begun,
        }
    }

    /// The value that the run remembered for this call. `known`: the one of today's run.
    pub(super) fn remembered(&self, known: Option<Value>) -> Option<Value> {
        let Some(end) = &self.end else { return known };
        end.cached.then(|| end.result.as_ref().map(|result| result.json().to_value()).unwrap_or_default())
    }

    /// Its result; `None` where its end is not recorded.
    pub(super) fn result(&self) -> Option<Result<Value, Failure>> {
        let end = self.end.as_ref()?;
        Some(match (end.status, &end.result, &end.error) {
            (CallStatus::Cancelled, ..) => Err(Failure::Cancelled),
            (_, Some(result), _) => Ok(result.value()),
            (_, None, Some(error)) => Err(Failure::Error(error.clone())),
            (_, None, None) => Err(Failure::from_message("the recording does not say how the call ended")),
        })
    }
}

/// A program that time, memory or a stop ended.
#[derive(Debug, Clone)]
pub struct InterruptedProgram {
    /// The end of the program.
    pub end: ProgramEnd,
    /// The events of its calls, in order.
    pub inside: Vec<Envelope>,
}

impl InterruptedProgram {
    /// A program that was stopped before its first call.
    pub(crate) fn before_calls() -> Self {
        Self { end: Self::stopped(), inside: Vec::new() }
    }

    /// The end of a program that was stopped.
    pub(super) fn stopped() -> ProgramEnd {
        let error = ErrorRecord::new(Reason::Cancelled, "the program was stopped");
        ProgramEnd { status: ProgramStatus::Error, error: Some(error), interrupted: true, ..ProgramEnd::default() }
    }
}

/// The text of a recorded answer. `shown`: the text at a gate, which an answer without a change passes on.
pub(super) fn answer_text(given: &AnswerGiven, shown: Option<&str>) -> String {
    match shown {
        Some(shown) if !given.edited => shown.to_owned(),
        _ => text_of(&given.value.json()),
    }
}

fn text_of(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_text(), ToOwned::to_owned)
}

/// The kinds of questions that are asked once per call or turn, wherever the recording reaches.
pub(super) fn was_asked(history: &dyn History, question: &Address, kind: &QuestionKind) -> bool {
    history.asked(question, kind) == Some(true)
}

/// Returns whether the outcome of an effectful call is unknown: it was started before the session was resumed, and did not end.
pub(super) fn is_unknown(history: &dyn History, at: &Address) -> bool {
    let call = history.call(at);
    call.begun && call.end.is_none() || was_asked(history, &at.question(1), &QuestionKind::Outcome)
}
