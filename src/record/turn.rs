//! The record of one turn.
//!
//! In: the events of the turn in order. Out: everything that happened in it. A new kind of event does not compile before it is handled
//! here.

use std::sync::Arc;

use ptc_core::value::{Json, json};

use super::{Attempt, Attempts, CallRecord, QuestionRecord, count_failed};
use crate::event::{
    Address, AnswerGiven, Check, CompactionDone, Edit, Envelope, ErrorRecord, Event, Extract, ExtractKind, Interrupt,
    IssueRecord, MemoryChange, MessageAdded, ModelRecord, NativeCall, Notice, PlanState, ProgramEnd, ReplyEnd,
    ReplyStatus, RequestMade, RetryWait, RunText, Source, Spending, TasksKept, TextRecord, Tokens, TurnEnd, TurnKind,
    TurnStart, Unknown, elapsed_ms, turn_spending,
};

/// Progress of a turn, in records and in the entries of a session's skeleton.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TurnState {
    /// The request was made, no reply has arrived.
    #[default]
    Waiting,
    /// The reply is arriving.
    Streaming,
    /// The reply is whole and being checked.
    Checking,
    /// It gave the requested result.
    Succeeded,
    /// It failed.
    Failed,
}

impl TurnState {
    /// The state after the end of an attempt.
    pub fn after_reply(end: &ReplyEnd) -> Self {
        if end.status == ReplyStatus::Discarded { Self::Waiting } else { Self::Checking }
    }

    /// The state after the end of the turn.
    pub fn after_turn(end: &TurnEnd) -> Self {
        if end.success { Self::Succeeded } else { Self::Failed }
    }

    /// Returns whether the turn has ended.
    pub fn is_end(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }

    /// Returns whether the turn gave the requested result; `None` before its end.
    pub fn success(self) -> Option<bool> {
        self.is_end().then_some(self == Self::Succeeded)
    }
}

/// Record of a turn, folded from its events.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TurnRecord {
    /// Its address.
    pub address: Address,
    /// Its kind, where the mode distinguishes.
    pub kind: Option<TurnKind>,
    /// Its start was recorded.
    pub is_begun: bool,
    /// Its progress.
    pub state: TurnState,
    /// Unix time in ms.
    pub started_ms: i64,
    /// Unix time in ms of its first event: its start, or an edit in front of it.
    pub first_ms: i64,
    /// Unix time in ms of its last event.
    pub last_ms: i64,
    /// Time of it that its duration excludes, in ms.
    pub excluded_ms: u64,
    /// Edits of a fork that take effect in this turn.
    pub edits: Vec<Edit>,
    /// The request without its messages. Turns of a run that ask for the same share it.
    pub request: Option<Arc<RequestMade>>,
    /// Numbers of the messages that were sent, as inclusive ranges.
    pub sent: Vec<(u32, u32)>,
    /// The compaction of the history in its request.
    pub compaction: Option<CompactionDone>,
    /// Unix time in ms of the request and of the end of the last attempt.
    pub asked_ms: Option<(i64, i64)>,
    /// The network attempts.
    pub attempts: Attempts,
    /// Waits between them.
    pub retries: Vec<Retry>,
    /// The content found in the reply.
    pub extract: Option<Extract>,
    /// Checks of inputs and answers.
    pub checks: Vec<Check>,
    /// Tool calls in the order in which they began.
    pub calls: Vec<CallRecord>,
    /// Questions to the user.
    pub questions: Vec<QuestionRecord>,
    /// The end of the program.
    pub program_end: Option<ProgramEnd>,
    /// The definitions of the program.
    pub memory: Option<MemoryChange>,
    /// Its changes to the journal of finished tasks.
    pub tasks: Option<TasksKept>,
    /// The checklist after the turn.
    pub plan: Option<PlanState>,
    /// The feedback that was sent to the model.
    pub feedback: Option<String>,
    /// Origin of the last message that went back: feedback, or a tool's result.
    pub answered: Option<Source>,
    /// Stops from outside.
    pub interrupts: Vec<Interrupt>,
    /// Notices about the turn.
    pub notices: Vec<Notice>,
    /// Events of kinds that this program does not know.
    pub unknown: Vec<Unknown>,
    /// Its end.
    pub end: Option<TurnEnd>,
}

/// A wait before the next attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct Retry {
    /// Duration and reason.
    pub wait: RetryWait,
    /// End of the wait, Unix time in ms.
    pub until_ms: i64,
    /// Nothing has followed it yet.
    pub is_pending: bool,
}

impl TurnRecord {
    /// A turn of which nothing is known yet.
    pub fn new(address: Address) -> Self {
        Self { address, ..Self::default() }
    }

    /// Takes the next event of the turn.
    pub fn apply(&mut self, envelope: &Envelope) {
        if self.end.is_none() {
            self.last_ms = self.last_ms.max(envelope.at_ms);
        }
        match &envelope.event {
            Event::TurnStart(start) => self.start(start, envelope.at_ms),
            Event::MessageAdded(message) => self.take_message(message),
            Event::RequestMade(made) => self.take_request(made, envelope.at_ms),
            Event::CompactionDone(done) => self.compaction = Some(done.clone()),
            Event::Sent(sent) => {
                self.end_wait();
                self.attempts.take_sent(sent);
            }
            Event::Wire(wire) => self.attempts.take_wire(wire),
            Event::RawReply(reply) => self.attempts.take_raw_reply(reply),
            Event::RetryWait(wait) => {
                self.end_wait();
                let until_ms = envelope.at_ms.saturating_add_unsigned(wait.wait_ms);
                self.retries.push(Retry { wait: wait.clone(), until_ms, is_pending: true });
            }
            Event::ReplyPart(part) => {
                self.end_wait();
                self.state = TurnState::Streaming;
                self.attempts.take_part(part);
            }
            Event::ReplyEnd(end) => {
                self.end_wait();
                self.state = TurnState::after_reply(end);
                self.asked_ms = Some((self.asked_ms.map_or(0, |(from_ms, _)| from_ms), envelope.at_ms));
                self.attempts.take_end(end);
            }
            Event::Extract(extract) => self.extract = Some(extract.clone()),
            Event::Check(check) => self.checks.push(check.clone()),
            Event::ProgramEnd(end) => self.program_end = Some(end.clone()),
            Event::ToolCall(call) => self.calls.push(CallRecord::new(envelope, call)),
            Event::ToolEnd(end) => {
                if let Some(call) = self.call_mut(&envelope.address) {
                    call.end(envelope.at_ms, end);
                }
            }
            Event::QuestionAsked(asked) => {
                // A run that continues after waiting asks again.
                self.questions.retain(|known| known.address != envelope.address);
                let (address, asked) = (envelope.address.clone(), asked.clone());
                self.questions.push(QuestionRecord { address, asked, answer: None });
            }
            Event::AnswerGiven(answer) => self.take_answer(&envelope.address, answer),
            Event::MemoryChange(change) => self.memory = Some(change.clone()),
            Event::TasksKept(tasks) => self.tasks = Some(tasks.clone()),
            Event::PlanState(plan) => self.plan = Some(plan.clone()),
            Event::Edit(edit) => self.edits.push(edit.clone()),
            Event::Interrupt(interrupt) => self.interrupts.push(interrupt.clone()),
            Event::Notice(notice) => match self.call_mut(&envelope.address) {
                Some(call) => call.notices.push(notice.clone()),
                None => self.notices.push(notice.clone()),
            },
            Event::TurnEnd(end) => {
                self.end_wait();
                self.state = TurnState::after_turn(end);
                self.end = Some(end.clone());
            }
            Event::Unknown(unknown) => self.unknown.push(unknown.clone()),
            // Events of the run.
            Event::RunStart(_) | Event::RunEnd(_) | Event::RunWait(_) | Event::Resume(_)
            // `sent` has its size; the bytes are for the proxy.
            | Event::RawRequest(_) => {}
        }
    }

    fn start(&mut self, start: &TurnStart, at_ms: i64) {
        self.is_begun = true;
        self.kind.clone_from(&start.kind);
        self.started_ms = at_ms;
    }

    fn take_message(&mut self, message: &MessageAdded) {
        match message.source {
            Source::Feedback => self.feedback = Some(message.plain_text(&RunText::default())),
            Source::Tool => {}
            Source::Prompt | Source::Reply | Source::User => return,
        }
        self.answered = Some(message.source);
    }

    fn take_request(&mut self, made: &RequestMade, at_ms: i64) {
        self.asked_ms = Some((at_ms, at_ms));
        self.sent.clone_from(&made.messages);
        self.request = Some(Arc::new(RequestMade { messages: Vec::new(), ..made.clone() }));
    }

    fn take_answer(&mut self, at: &Address, answer: &AnswerGiven) {
        if let Some(question) = self.questions.iter_mut().find(|known| known.address == *at) {
            question.answer = Some(answer.clone());
        }
    }

    fn call_mut(&mut self, at: &Address) -> Option<&mut CallRecord> {
        self.calls.iter_mut().rfind(|call| call.address == *at)
    }

    /// Ends a wait when an event follows it.
    fn end_wait(&mut self) {
        if let Some(retry) = self.retries.last_mut() {
            retry.is_pending = false;
        }
    }
}

/// Values derived from what was recorded.
impl TurnRecord {
    /// From 1.
    pub fn number(&self) -> u32 {
        self.address.turn_number().unwrap_or_default()
    }

    /// Returns whether it gave the requested result.
    pub fn success(&self) -> bool {
        self.state == TurnState::Succeeded
    }

    /// Returns the reason of its failure.
    pub fn reason(&self) -> Option<&str> {
        self.end.as_ref()?.reason.as_deref()
    }

    /// The name of its kind; empty where the mode does not distinguish.
    pub fn kind_name(&self) -> &str {
        self.kind.as_ref().map_or("", TurnKind::name)
    }

    /// Returns the form of the requested answer: program, json, text, `control_json`; empty before the request.
    pub fn want(&self) -> &str {
        self.request.as_ref().map_or("", |request| request.want.name())
    }

    /// The text of the reply that counts.
    pub fn reply(&self) -> &str {
        self.attempts.text()
    }

    /// The end of the last attempt.
    pub fn last_end(&self) -> Option<&ReplyEnd> {
        self.attempts.iter().rev().find_map(|attempt| attempt.end.as_ref())
    }

    /// Native calls that the reply asks for.
    pub fn native_calls(&self) -> &[NativeCall] {
        self.attempts.reply().1
    }

    /// The program that was found in the reply, as it was run.
    pub fn program(&self) -> Option<&str> {
        self.extract.as_ref()?.program_in(self.reply())
    }

    /// The JSON that was read from the reply; `None` where it is too long to be kept.
    pub fn json(&self) -> Option<Json> {
        let extract = self.extract.as_ref().filter(|extract| extract.kind != ExtractKind::Program)?;
        let is_cut = matches!(extract.repaired, Some(TextRecord::Head { .. }));
        extract.found_in(self.reply()).filter(|_| !is_cut).and_then(|text| json::parse(text).ok())
    }

    /// The program's value as PTC-Lisp text.
    pub fn value(&self) -> Option<&str> {
        self.program_end.as_ref()?.value.as_ref().map(TextRecord::text)
    }

    /// Returns the texts that the program printed.
    pub fn prints(&self) -> &[String] {
        self.program_end.as_ref().map_or(&[], |end| &end.prints)
    }

    /// Repairs of the reply, by name.
    pub fn fixes(&self) -> impl Iterator<Item = &str> {
        self.extract.iter().flat_map(|extract| extract.fixes.iter().map(|(name, ..)| name.as_str()))
    }

    /// Validation errors and warnings.
    pub fn issues(&self) -> impl Iterator<Item = &IssueRecord> {
        self.checks.iter().flat_map(|check| &check.issues)
    }

    /// Returns the error of the program, else of reading the reply, else of the last attempt.
    pub fn error(&self) -> Option<&ErrorRecord> {
        match (&self.program_end, &self.extract) {
            (Some(end), _) => end.error.as_ref(),
            (None, Some(extract)) => extract.error.as_ref(),
            (None, None) => self.last_end()?.error.as_ref(),
        }
    }

    /// Returns the number of failures in it: reading the reply, checks, the program, tool calls.
    pub fn failures(&self) -> usize {
        let extract = self.extract.as_ref().is_some_and(|extract| extract.error.is_some());
        let program = self.program_end.as_ref().is_some_and(|end| end.error.is_some());
        let checks = self.checks.iter().filter(|check| !check.ok).count();
        let calls = count_failed(self.calls.iter().map(|call| call.status));
        // The error of a program names the call that failed in it.
        usize::from(extract) + checks + calls.max(usize::from(program))
    }

    /// Returns whether something failed that was reported where it happened: reading the reply, the program, a check.
    pub fn has_failure(&self) -> bool {
        self.extract.as_ref().is_some_and(|extract| extract.error.is_some())
            || self.program_end.as_ref().is_some_and(|end| end.error.is_some())
            || self.checks.iter().any(|check| !check.ok)
    }

    /// The usage of all its attempts, in a run that begins with this model.
    pub fn spending(&self, first: &ModelRecord) -> Spending {
        turn_spending(self.attempts.iter().filter_map(|attempt| attempt.end.as_ref()), self.end.as_ref(), first)
    }

    /// The tokens of all its attempts.
    pub fn tokens(&self) -> Option<Tokens> {
        self.spending(&ModelRecord::default()).tokens
    }

    /// The model that was asked, where it is another one than the run began with.
    pub fn other_asked(&self) -> Option<&ModelRecord> {
        let ends = self.attempts.iter().rev().filter_map(|attempt| attempt.end.as_ref());
        ends.filter(|end| end.model.as_deref() != Some(ReplyEnd::EDITOR)).find_map(|end| end.by.as_deref())
    }

    /// The last attempt that left the machine and ended: what the user wrote in its place did not.
    pub fn last_sent(&self) -> Option<&Attempt> {
        self.attempts.iter().rfind(|attempt| attempt.sent.is_some() && attempt.end.is_some())
    }

    /// The wait for the next attempt, while it lasts.
    pub fn pending_retry(&self) -> Option<&Retry> {
        self.retries.last().filter(|retry| retry.is_pending)
    }

    /// Returns the time from its start to its last event without what is excluded, in ms.
    pub fn elapsed_ms(&self) -> u64 {
        self.elapsed_until_ms(self.last_ms)
    }

    /// Returns the time from its start to this time without what is excluded, in ms.
    pub fn elapsed_until_ms(&self, now_ms: i64) -> u64 {
        elapsed_ms(self.started_ms, now_ms).saturating_sub(self.excluded_ms)
    }

    /// Returns the time from its start to its end without what is excluded, in ms; 0 before.
    pub fn latency_ms(&self) -> u64 {
        self.end.as_ref().map_or(0, |_| self.elapsed_ms())
    }

    /// Returns the time from sending the last attempt to its first delta, in ms. It is never longer than the turn: older recordings contain
    /// longer ones, where the user was waited for.
    pub fn time_to_first_ms(&self) -> Option<u64> {
        self.last_end()?.first_ms.map(|first_ms| first_ms.min(self.elapsed_ms()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_text_of_a_reply_is_never_later_than_its_end() {
        let at = Address::run(0).turn(1);
        let mut turn = TurnRecord::new(at.clone());
        let mut apply = |at_ms: i64, event: Event| {
            turn.apply(&Envelope { seq: 1, at_ms, address: at.clone(), event });
            turn.time_to_first_ms()
        };
        assert_eq!(apply(1_000, TurnStart::default().into()), None);
        let end = |first_ms: u64| ReplyEnd { first_ms: Some(first_ms), ..ReplyEnd::new(1, ReplyStatus::Ok) };
        // As in recordings of a user who was waited for.
        assert_eq!(apply(2_901, end(7_187).into()), Some(1_901));
        assert_eq!(apply(2_901, end(300).into()), Some(300));
    }
}
