//! The record of one run.
//!
//! In: the events of the run in order, without those of its child runs. Out: its start, messages and turns, its ledger, its end. A new
//! kind of event does not compile before it is handled here.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::{TurnAttempts, TurnRecord};
use crate::event::{
    Address, Edit, Envelope, ErrorRecord, Event, MemoryChange, NativeCall, Notice, PlanState, Replies, RunEnd,
    RunLedger, RunStart, SentMessage, TextRecord, TurnStart, Waits, elapsed_ms, in_order,
};

/// Record of a run, folded from its events.
#[derive(Debug, Clone, Default)]
pub struct RunRecord {
    /// Its address.
    pub address: Address,
    /// Its start; the default when that was lost.
    pub start: RunStart,
    /// Its start was recorded.
    pub is_begun: bool,
    /// Unix time in ms of its start, else of its first event.
    pub started_ms: i64,
    /// Unix time in ms of its last event.
    pub last_ms: i64,
    /// Time of it that its duration excludes, in ms.
    pub excluded_ms: u64,
    /// The models that answered, and the usage of all attempts.
    pub ledger: RunLedger,
    /// Its messages, each once.
    pub messages: Vec<SentMessage>,
    /// Its turns by number, those whose start was lost among them.
    pub turns: BTreeMap<u32, Arc<TurnRecord>>,
    /// All edits, in order.
    pub edits: Vec<Edit>,
    /// Edits whose turn has not started: address, Unix time in ms, edit.
    pending: Vec<(Address, i64, Edit)>,
    /// Notices outside of its turns.
    pub notices: Vec<Notice>,
    /// Definitions: names with their values as PTC-Lisp text.
    pub memory: BTreeMap<String, String>,
    /// The checklist.
    pub plan: Option<PlanState>,
    /// Error of the last tool call that failed.
    pub last_call_error: Option<ErrorRecord>,
    /// The question whose answer it waits for.
    pub waits_for: Option<Address>,
    /// Its end.
    pub end: Option<RunEnd>,
}

impl Replies for RunRecord {
    fn reply(&self, turn: &Address) -> Option<(&str, &[NativeCall])> {
        let attempts = &self.turn(turn).filter(|known| known.address == *turn)?.attempts;
        (attempts.made() > 0).then(|| attempts.reply())
    }
}

impl RunRecord {
    /// A run of which nothing but the time of its first event is known.
    pub fn new(address: Address, at_ms: i64) -> Self {
        Self { address, started_ms: at_ms, last_ms: at_ms, ..Self::default() }
    }

    /// Takes the next event of the run.
    pub fn apply(&mut self, envelope: &Envelope) {
        if self.end.is_none() {
            self.last_ms = self.last_ms.max(envelope.at_ms);
        }
        self.ledger.apply(&envelope.event);
        match &envelope.event {
            Event::RunStart(start) => self.begin(start, envelope.at_ms),
            Event::TurnStart(start) => return self.begin_turn(start, envelope),
            Event::Edit(edit) => return self.take_edit(edit, envelope),
            Event::RequestMade(_) => {
                self.in_turn(envelope);
                return self.share_request(envelope);
            }
            Event::MessageAdded(message) => self.messages.push(SentMessage::of(message, self)),
            Event::ToolEnd(end) => {
                if end.error.is_some() {
                    self.last_call_error.clone_from(&end.error);
                }
            }
            Event::MemoryChange(change) => self.remember(change),
            Event::PlanState(plan) => self.plan = Some(plan.clone()),
            Event::Notice(notice) => {
                if envelope.address == self.address {
                    self.notices.push(notice.clone());
                }
            }
            Event::RunWait(wait) => self.waits_for = Some(Address::from(wait.question.as_str())),
            Event::RunEnd(end) => {
                self.waits_for = None;
                self.end = Some(end.clone());
            }
            // Events of turns alone, or of nothing.
            Event::CompactionDone(_)
            | Event::Sent(_)
            | Event::Wire(_)
            | Event::RawRequest(_)
            | Event::RawReply(_)
            | Event::RetryWait(_)
            | Event::ReplyPart(_)
            | Event::ReplyEnd(_)
            | Event::TurnEnd(_)
            | Event::Extract(_)
            | Event::Check(_)
            | Event::ProgramEnd(_)
            | Event::ToolCall(_)
            | Event::QuestionAsked(_)
            | Event::AnswerGiven(_)
            | Event::TasksKept(_)
            | Event::Interrupt(_)
            | Event::Unknown(_)
            | Event::Resume(_) => {}
        }
        self.in_turn(envelope);
    }

    /// A turn whose start was lost has a record from its first event on.
    fn in_turn(&mut self, envelope: &Envelope) {
        let Some(number) = self.number_of(&envelope.address) else { return };
        let lost = || Arc::new(TurnRecord::new(envelope.address.turn_part()));
        Arc::make_mut(self.turns.entry(number).or_insert_with(lost)).apply(envelope);
    }

    fn begin(&mut self, start: &RunStart, at_ms: i64) {
        self.start = start.clone();
        self.is_begun = true;
        (self.started_ms, self.excluded_ms) = (at_ms, 0);
        self.ledger = RunLedger::new(start.model.clone());
        self.waits_for = None;
    }

    /// A turn that a budget does not allow does not begin: the end of the run gives the reason.
    fn begin_turn(&mut self, start: &TurnStart, envelope: &Envelope) {
        let Some(number) = self.number_of(&envelope.address).filter(|_| start.is_allowed()) else { return };
        let mut turn = TurnRecord::new(envelope.address.clone());
        let pending = std::mem::take(&mut self.pending);
        let here = pending.iter().filter(|(at, ..)| *at == envelope.address).map(|(_, at_ms, _)| *at_ms);
        turn.first_ms = here.min().unwrap_or(envelope.at_ms);
        turn.edits = pending.into_iter().map(|(.., edit)| edit).collect();
        turn.apply(envelope);
        self.turns.insert(number, Arc::new(turn));
    }

    /// An edit belongs to the open turn that it is made in, else to the one that begins next.
    fn take_edit(&mut self, edit: &Edit, envelope: &Envelope) {
        self.edits.push(edit.clone());
        match self.turn_mut(&envelope.address).filter(|turn| turn.is_begun && turn.end.is_none()) {
            Some(turn) => turn.apply(envelope),
            None => self.pending.push((envelope.address.clone(), envelope.at_ms, edit.clone())),
        }
    }

    /// A request that asks for the same as the one before shares it.
    fn share_request(&mut self, envelope: &Envelope) {
        let number = self.number_of(&envelope.address).unwrap_or_default();
        let before = self.turns.range(..number).next_back().and_then(|(_, turn)| turn.request.clone());
        if let (Some(before), Some(turn)) = (before, self.turn_mut(&envelope.address))
            && turn.request.as_ref() == Some(&before)
        {
            turn.request = Some(before);
        }
    }

    fn remember(&mut self, change: &MemoryChange) {
        if change.rolled_back {
            return;
        }
        change.del.iter().for_each(|name| _ = self.memory.remove(name));
        self.memory.extend(
            change.set.iter().map(|(name, value): &(String, TextRecord)| (name.clone(), value.text().to_owned())),
        );
    }

    /// The number of the turn of this run that an address lies in. The address of a child run lies in a turn of its parent run only.
    fn number_of(&self, at: &Address) -> Option<u32> {
        let turn = at.as_str().strip_prefix(self.address.as_str())?.strip_prefix("/t")?;
        if turn.contains("/t") { None } else { turn.split('/').next()?.parse().ok() }
    }

    /// The turn of this run that an address lies in.
    pub fn turn(&self, at: &Address) -> Option<&TurnRecord> {
        self.turns.get(&self.number_of(at)?).map(|turn| &**turn)
    }

    /// Like `turn`, mutable.
    pub fn turn_mut(&mut self, at: &Address) -> Option<&mut TurnRecord> {
        let number = self.number_of(at)?;
        self.turns.get_mut(&number).map(Arc::make_mut)
    }

    /// Removes a turn that has ended, with the messages of the run so far.
    pub(super) fn forget(&mut self, turn: &Address) {
        self.number_of(turn).and_then(|number| self.turns.remove(&number));
        self.messages.clear();
    }

    /// The turns whose start was recorded, in order.
    pub fn begun_turns(&self) -> impl DoubleEndedIterator<Item = &TurnRecord> {
        self.turns.values().map(|turn| &**turn).filter(|turn| turn.is_begun)
    }

    /// The turn that has not ended.
    pub fn open_turn(&self) -> Option<&TurnRecord> {
        self.begun_turns().next_back().filter(|turn| turn.end.is_none())
    }

    /// Returns the time from its start to its last event without what is excluded, in ms.
    pub fn elapsed_ms(&self) -> u64 {
        elapsed_ms(self.started_ms, self.last_ms).saturating_sub(self.excluded_ms)
    }

    /// Excludes a pause from the duration of the run and of its open turn, unless it has ended.
    pub(super) fn exclude(&mut self, ms: u64) {
        if self.end.is_none() {
            self.excluded_ms = self.excluded_ms.saturating_add(ms);
            if let Some(turn) = self.turns.values_mut().next_back().filter(|turn| turn.end.is_none()) {
                let turn = Arc::make_mut(turn);
                turn.excluded_ms = turn.excluded_ms.saturating_add(ms);
            }
        }
    }

    /// Excludes the waits of the run from a duration that this event ends: that of a turn, or of the run so far.
    pub fn exclude_waits(&mut self, waits: &Waits, envelope: &Envelope) {
        let run = self.address.clone();
        match &envelope.event {
            Event::TurnEnd(_) => {
                if let Some(turn) = self.turn_mut(&envelope.address) {
                    turn.excluded_ms = waits.within(&run, turn.started_ms, envelope.at_ms);
                }
            }
            Event::RunEnd(_) => {
                // A stop ends the run inside a turn.
                if let Some(turn) = self.turns.values_mut().next_back().filter(|turn| turn.end.is_none()) {
                    let turn = Arc::make_mut(turn);
                    turn.excluded_ms = waits.within(&run, turn.started_ms, turn.last_ms);
                }
            }
            Event::RunWait(_) => {}
            _ => return,
        }
        self.excluded_ms = waits.within(&run, self.started_ms, envelope.at_ms);
    }
}

/// Collects the messages of one run, each once, and which of them each turn sent: for readers that rebuild requests and need nothing else
/// of its turns.
#[derive(Debug, Clone, Default)]
pub(crate) struct MessageLog {
    messages: Vec<SentMessage>,
    requests: HashMap<Address, Vec<(u32, u32)>>,
    replies: TurnAttempts,
}

impl MessageLog {
    /// Takes the next event of the run.
    pub(crate) fn apply(&mut self, envelope: &Envelope) {
        match &envelope.event {
            Event::MessageAdded(message) => self.messages.push(SentMessage::of(message, &self.replies)),
            Event::RequestMade(request) => {
                self.requests.insert(envelope.address.clone(), request.messages.clone());
            }
            event @ (Event::ReplyPart(_) | Event::ReplyEnd(_)) => {
                self.replies.entry(envelope.address.clone()).or_default().apply(event);
            }
            _ => {}
        }
    }

    /// The messages that were sent at a turn.
    pub(crate) fn request(&self, turn: &Address) -> Option<Vec<SentMessage>> {
        self.requests.get(turn).map(|ranges| in_order(&self.messages, ranges).cloned().collect())
    }
}
