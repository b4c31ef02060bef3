//! The outline of a session that lists, screens and navigation need: its runs and turns without message bodies.
//!
//! In: events with their index in the session. Out: states, usage, and the range of events of each turn.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::event::{Address, Envelope, Event, Gaps, Line, Role, RunLedger, RunText, Tokens, TotalUsage, elapsed_ms};
use crate::record::TurnState;

/// Kinds whose data the skeleton does not parse; most lines of a file are of these kinds.
const UNREAD: &[&str] = &["reply.part", "wire", "sent", "request", "tool.call", "tool.end", "program.end", "memory"];

/// Maximum number of characters stored of a run's task.
const TASK_CHARS: usize = 400;

/// State of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// It has not ended, or its end was not recorded.
    #[default]
    Open,
    /// It returned.
    Returned,
    /// It failed.
    Failed,
}

impl RunState {
    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Returned => "returned",
            Self::Failed => "failed",
        }
    }
}

/// All runs of a session.
#[derive(Debug, Clone, Default)]
pub struct Skeleton {
    /// All runs in the order of their start, child runs included.
    pub runs: Vec<RunEntry>,
    gaps: Gaps,
}

/// One run.
#[derive(Debug, Clone)]
pub struct RunEntry {
    /// Its address.
    pub address: Address,
    /// The agent's name.
    pub agent: String,
    /// Name of the pipeline that starts with this run.
    pub pipeline: Option<String>,
    /// Mode.
    pub mode: String,
    /// The models that answered, and the usage of all attempts.
    pub ledger: RunLedger,
    /// The first characters of the task.
    pub task: String,
    /// Turn limit.
    pub max_turns: Option<u64>,
    /// Unix time in ms.
    pub started_ms: i64,
    /// Unix time in ms of its end, or of its last event so far.
    pub last_ms: i64,
    /// Time in ms during which the program did not run, between the last recorded event and resuming.
    pub gap_ms: i64,
    /// State of the run.
    pub state: RunState,
    /// The answer as JSON text, when it returned.
    pub answer: Option<String>,
    /// Reason and message, when it failed.
    pub fail: Option<(String, String)>,
    /// The question that the run is waiting for.
    pub waits_for: Option<String>,
    /// Its turns.
    pub turns: Vec<Arc<TurnEntry>>,
    /// Indexes of the run's events in the session.
    pub events: Range<usize>,
    /// Indexes of its messages, by message number.
    pub messages: Vec<usize>,
    /// Index of the first edit of a turn that has not started.
    edited: Option<usize>,
}

/// One turn as an index of its lines: where its events are, and what lists show without reading them. Its content is a
/// [`TurnRecord`](crate::record::TurnRecord), which is made of these events when the turn is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEntry {
    /// Its address.
    pub address: Address,
    /// State of the turn.
    pub state: TurnState,
    /// Start of the turn, Unix time in ms, shifted by the time during which the program did not run.
    pub started_ms: i64,
    /// Unix time in ms of its end, or of its last event so far.
    pub last_ms: i64,
    /// Tokens of all attempts of the turn.
    pub tokens: Option<Tokens>,
    /// Reason of its failure.
    pub reason: Option<Box<str>>,
    /// Indexes of its events.
    pub events: EventRange,
    /// Indexes from the first part of its reply to the end of the reply; events of other runs may lie between them.
    pub reply: EventRange,
}

/// A compact range of event indexes; long sessions store two per turn. Indexes above `u32::MAX` are clamped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EventRange {
    start: u32,
    end: u32,
}

impl EventRange {
    /// Creates a range.
    pub fn new(indexes: Range<usize>) -> Self {
        let short = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
        Self { start: short(indexes.start), end: short(indexes.end) }
    }

    /// Returns the range.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Extends the range to this index; an empty range starts there.
    fn extend_to(&mut self, index: usize) {
        let start = if self.start == self.end { index } else { self.range().start };
        *self = Self::new(start..index + 1);
    }
}

impl Skeleton {
    /// Builds the skeleton of a sequence of events.
    pub fn of(events: impl IntoIterator<Item = Envelope>) -> Self {
        let mut skeleton = Self::default();
        for (index, envelope) in events.into_iter().enumerate() {
            skeleton.apply(index, &envelope);
        }
        skeleton
    }

    /// Applies the event at this index.
    pub fn apply(&mut self, index: usize, envelope: &Envelope) {
        let gap_ms = self.gaps.before(envelope);
        self.exclude_gap(gap_ms);
        if let Event::RunStart(start) = &envelope.event {
            self.runs.push(RunEntry {
                address: envelope.address.clone(),
                agent: start.agent.name.clone(),
                pipeline: start.pipeline.as_ref().map(|pipeline| pipeline.name.clone()),
                mode: start.mode.clone(),
                ledger: RunLedger::new(start.model.clone()),
                task: String::new(),
                max_turns: start.limit("max_turns"),
                started_ms: envelope.at_ms,
                last_ms: envelope.at_ms,
                gap_ms: 0,
                state: RunState::Open,
                answer: None,
                fail: None,
                waits_for: None,
                turns: Vec::new(),
                events: index..index + 1,
                messages: Vec::new(),
                edited: None,
            });
        }
        if let Some(entry) = self.entry_mut(envelope.run().as_str()) {
            entry.apply(index, envelope);
        }
    }

    /// Applies the line at this index. Its data is parsed, and returned, only for kinds that the skeleton stores. Lines
    /// with invalid data are ignored.
    pub(super) fn apply_line(&mut self, index: usize, line: &Line<'_>) -> Option<Envelope> {
        let kind = &*line.k;
        let is_repeated_message =
            kind == "message" && self.entry_mut(line.run()).is_some_and(|entry| !entry.task.is_empty());
        if !is_repeated_message && !UNREAD.contains(&kind) {
            let envelope = line.envelope().ok()?;
            self.apply(index, &envelope);
            return Some(envelope);
        }
        let gap_ms = self.gaps.before_line(line.t);
        self.exclude_gap(gap_ms);
        let entry = self.entry_mut(line.run())?;
        entry.extend_to(index, line.t);
        if is_repeated_message {
            entry.messages.push(index);
        }
        let turn = entry.turns.last_mut().filter(|turn| {
            let rest = line.r.strip_prefix(turn.address.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        if let Some(turn) = turn.map(Arc::make_mut) {
            turn.extend_to(index, line.t);
            if kind == "reply.part" {
                turn.add_reply_part(index);
            }
        }
        None
    }

    /// Excludes time during which the program did not run from open runs and turns.
    fn exclude_gap(&mut self, gap_ms: i64) {
        for run in self.runs.iter_mut().filter(|run| gap_ms > 0 && run.state == RunState::Open) {
            run.gap_ms = run.gap_ms.saturating_add(gap_ms);
            let open = |turn: &&mut Arc<TurnEntry>| !turn.state.is_end();
            if let Some(turn) = run.turns.last_mut().filter(open) {
                let turn = Arc::make_mut(turn);
                turn.started_ms = turn.started_ms.saturating_add(gap_ms);
            }
        }
    }

    fn entry_mut(&mut self, run: &str) -> Option<&mut RunEntry> {
        self.runs.iter_mut().rev().find(|entry| entry.address.as_str() == run)
    }

    /// Returns the run at this address.
    pub fn run(&self, run: &Address) -> Option<&RunEntry> {
        self.runs.iter().find(|entry| entry.address == *run)
    }

    /// Returns the turn at this address.
    pub fn turn(&self, turn: &Address) -> Option<&TurnEntry> {
        self.run(&turn.run_part())?.turns.iter().map(|entry| &**entry).find(|entry| entry.address == *turn)
    }

    /// Returns the root runs.
    pub fn roots(&self) -> impl DoubleEndedIterator<Item = &RunEntry> {
        self.runs.iter().filter(|run| !run.address.is_call())
    }

    /// Returns the usage of all runs, child runs included.
    pub fn usage(&self) -> TotalUsage {
        TotalUsage::of_runs(self.runs.iter().map(|run| run.ledger.own()))
    }

    /// Returns the last root run.
    pub fn last(&self) -> Option<&RunEntry> {
        self.roots().next_back()
    }
}

impl RunEntry {
    fn extend_to(&mut self, index: usize, at_ms: i64) {
        self.last_ms = at_ms;
        self.events.end = index + 1;
    }

    fn apply(&mut self, index: usize, envelope: &Envelope) {
        self.extend_to(index, envelope.at_ms);
        if matches!(envelope.event, Event::MessageAdded(_)) {
            self.messages.push(index);
        }
        match &envelope.event {
            Event::Edit(_) if !self.turns.iter().any(|turn| turn.address == envelope.address.turn_part()) => {
                self.edited.get_or_insert(index);
            }
            Event::TurnStart(start) if start.stop.is_none() => self.turns.push(Arc::new(TurnEntry {
                address: envelope.address.clone(),
                state: TurnState::Waiting,
                started_ms: envelope.at_ms,
                last_ms: envelope.at_ms,
                tokens: None,
                reason: None,
                events: EventRange::new(self.edited.take().unwrap_or(index)..index + 1),
                reply: EventRange::default(),
            })),
            Event::MessageAdded(message) if message.role == Role::User && self.task.is_empty() => {
                self.task = message.plain_text(&RunText::default()).chars().take(TASK_CHARS).collect();
            }
            Event::RunWait(wait) => self.waits_for = Some(wait.question.clone()),
            Event::AnswerGiven(_) => self.waits_for = None,
            Event::RunEnd(end) => {
                self.waits_for = None;
                self.state = if end.fail.is_some() { RunState::Failed } else { RunState::Returned };
                self.answer = end.value.as_ref().map(|text| text.as_str().to_owned());
                self.fail = end.fail.as_ref().map(|fail| (fail.reason.clone(), fail.message.clone()));
            }
            _ => {}
        }
        self.ledger.apply(&envelope.event);
        if let Some(turn) = self.turns.last_mut()
            && turn.address == envelope.address.turn_part()
        {
            Arc::make_mut(turn).apply(index, envelope);
        }
    }

    /// Returns the time from its start to its end, or to its last event so far.
    pub fn elapsed_ms(&self) -> u64 {
        elapsed_ms(self.started_ms.saturating_add(self.gap_ms), self.last_ms)
    }
}

impl TurnEntry {
    /// Adds a part of the reply.
    fn add_reply_part(&mut self, index: usize) {
        self.state = TurnState::Streaming;
        self.reply.extend_to(index);
    }

    fn extend_to(&mut self, index: usize, at_ms: i64) {
        self.last_ms = at_ms;
        self.events.extend_to(index);
    }

    fn apply(&mut self, index: usize, envelope: &Envelope) {
        self.extend_to(index, envelope.at_ms);
        match &envelope.event {
            Event::ReplyPart(_) => self.add_reply_part(index),
            Event::ReplyEnd(end) => {
                self.reply.extend_to(index);
                self.state = TurnState::after_reply(end);
                self.tokens = self.tokens.map_or(end.usage, |sum| Some(sum.plus(&end.usage.unwrap_or_default())));
            }
            Event::TurnEnd(end) => {
                self.state = TurnState::after_turn(end);
                self.reason = end.reason.as_deref().map(Box::from);
                self.tokens = self.tokens.or(end.usage);
            }
            _ => {}
        }
    }

    /// Returns the time from its start to its end, or to its last event so far.
    pub fn elapsed_ms(&self) -> u64 {
        elapsed_ms(self.started_ms, self.last_ms)
    }
}
