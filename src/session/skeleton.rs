//! The skeleton of a session: what lists, screens and navigation need of each run and turn, without the bodies.
//!
//! In: events with their place in the session. Out: sizes, states and the range of events that hold each turn's body.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::event::{Address, Bill, Envelope, Event, Gaps, Line, Role, RunText, Tokens, elapsed_ms};
use crate::record::TurnState;

/// Kinds whose data the skeleton never looks at: their lines are placed unread, and they are most of a file.
const UNREAD: &[&str] = &["reply.part", "wire", "sent", "request", "tool.call", "tool.end", "program.end", "memory"];

/// Characters of the task that a run keeps.
const TASK_CHARS: usize = 400;

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// It has not ended (or its end was not recorded).
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
    /// The runs in the order they started, agents below others among them.
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
    /// The name of the pipeline that it begins.
    pub pipeline: Option<String>,
    /// Mode.
    pub mode: String,
    /// Who answered, and what it cost.
    pub bill: Bill,
    /// The first words of the task as it was sent.
    pub task: String,
    /// Limit of turns.
    pub max_turns: Option<u64>,
    /// Unix time in ms.
    pub started_ms: i64,
    /// Unix time in ms of its end, or of its last event so far.
    pub last_ms: i64,
    /// Time of it in which nobody ran, in ms: between what was recorded and who went on from there.
    pub gap_ms: i64,
    /// How far it is.
    pub state: RunState,
    /// The answer as JSON text, when it returned.
    pub answer: Option<String>,
    /// Reason and message, when it failed.
    pub fail: Option<(String, String)>,
    /// The question whose answer it waits for.
    pub waits_for: Option<String>,
    /// Tokens so far.
    pub tokens: Option<Tokens>,
    /// Its turns.
    pub turns: Vec<Arc<TurnEntry>>,
    /// Places of the run's events in the session: first to one past the last.
    pub events: Range<usize>,
    /// Places of its messages, in the order of their numbers.
    pub messages: Vec<usize>,
    /// The place of the first edit of a turn that has not begun.
    edited: Option<usize>,
}

/// One turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEntry {
    /// Its address.
    pub address: Address,
    /// How far it is.
    pub state: TurnState,
    /// Unix time in ms, moved on by the time of it in which nobody ran.
    pub started_ms: i64,
    /// Unix time in ms of its end, or of its last event so far.
    pub last_ms: i64,
    /// Tokens of the turn.
    pub tokens: Option<Tokens>,
    /// Why it failed.
    pub reason: Option<Box<str>>,
    /// Places of its events in the session.
    pub events: Places,
    /// Places from the first part of its reply to the reply's end; events of others may stand between.
    pub reply: Places,
}

/// Places of events that stand side by side in a session. Long sessions have two for each turn, so that they are small; events
/// behind the first four thousand million are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Places {
    start: u32,
    end: u32,
}

impl Places {
    /// From the first to one past the last.
    pub fn new(places: Range<usize>) -> Self {
        let short = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
        Self { start: short(places.start), end: short(places.end) }
    }

    /// From the first to one past the last.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Up to this place, and from there where there were none.
    fn reach(&mut self, place: usize) {
        let start = if self.start == self.end { place } else { self.range().start };
        *self = Self::new(start..place + 1);
    }
}

impl Skeleton {
    /// Folds all events in order.
    pub fn of(events: impl IntoIterator<Item = Envelope>) -> Self {
        let mut skeleton = Self::default();
        for (place, envelope) in events.into_iter().enumerate() {
            skeleton.apply(place, &envelope);
        }
        skeleton
    }

    /// Takes the event at this place of the session.
    pub fn apply(&mut self, place: usize, envelope: &Envelope) {
        let gap_ms = self.gaps.before(envelope);
        self.leave_out(gap_ms);
        if let Event::RunStart(start) = &envelope.event {
            self.runs.push(RunEntry {
                address: envelope.address.clone(),
                agent: start.agent.name.clone(),
                pipeline: start.pipeline.as_ref().map(|pipeline| pipeline.name.clone()),
                mode: start.mode.clone(),
                bill: Bill::new(start.model.clone()),
                task: String::new(),
                max_turns: start.limit("max_turns"),
                started_ms: envelope.at_ms,
                last_ms: envelope.at_ms,
                gap_ms: 0,
                state: RunState::Open,
                answer: None,
                fail: None,
                waits_for: None,
                tokens: None,
                turns: Vec::new(),
                events: place..place + 1,
                messages: Vec::new(),
                edited: None,
            });
        }
        if let Some(entry) = self.entry_mut(envelope.run().as_str()) {
            entry.apply(place, envelope);
        }
    }

    /// Takes the line at this place of the session; its data is only read where something of it is kept, and given back then. Data
    /// that cannot be read leaves the skeleton as it is.
    pub(super) fn take(&mut self, place: usize, line: &Line<'_>) -> Option<Envelope> {
        let kind = &*line.k;
        let told = kind == "message" && self.entry_mut(line.run()).is_some_and(|entry| !entry.task.is_empty());
        if !told && !UNREAD.contains(&kind) {
            let envelope = line.envelope().ok()?;
            self.apply(place, &envelope);
            return Some(envelope);
        }
        let gap_ms = self.gaps.before_line(line.t);
        self.leave_out(gap_ms);
        let entry = self.entry_mut(line.run())?;
        entry.reach(place, line.t);
        if told {
            entry.messages.push(place);
        }
        let turn = entry.turns.last_mut().filter(|turn| {
            let rest = line.r.strip_prefix(turn.address.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        if let Some(turn) = turn.map(Arc::make_mut) {
            turn.reach(place, line.t);
            if kind == "reply.part" {
                turn.hear(place);
            }
        }
        None
    }

    /// Time in which nobody ran belongs to no run and no turn that was open.
    fn leave_out(&mut self, gap_ms: i64) {
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

    /// The run at this address.
    pub fn run(&self, run: &Address) -> Option<&RunEntry> {
        self.runs.iter().find(|entry| entry.address == *run)
    }

    /// The turn at this address.
    pub fn turn(&self, turn: &Address) -> Option<&TurnEntry> {
        self.run(&turn.run_part())?.turns.iter().map(|entry| &**entry).find(|entry| entry.address == *turn)
    }

    /// The runs that no other run started.
    pub fn roots(&self) -> impl DoubleEndedIterator<Item = &RunEntry> {
        self.runs.iter().filter(|run| !run.address.is_call())
    }

    /// The last of the runs that no other run started.
    pub fn last(&self) -> Option<&RunEntry> {
        self.roots().next_back()
    }
}

impl RunEntry {
    fn reach(&mut self, place: usize, at_ms: i64) {
        self.last_ms = at_ms;
        self.events.end = place + 1;
    }

    fn apply(&mut self, place: usize, envelope: &Envelope) {
        self.reach(place, envelope.at_ms);
        if matches!(envelope.event, Event::Message(_)) {
            self.messages.push(place);
        }
        match &envelope.event {
            Event::Edit(_) if !self.turns.iter().any(|turn| turn.address == envelope.address.turn_part()) => {
                self.edited.get_or_insert(place);
            }
            Event::TurnStart(start) if start.stop.is_none() => self.turns.push(Arc::new(TurnEntry {
                address: envelope.address.clone(),
                state: TurnState::Waiting,
                started_ms: envelope.at_ms,
                last_ms: envelope.at_ms,
                tokens: None,
                reason: None,
                events: Places::new(self.edited.take().unwrap_or(place)..place + 1),
                reply: Places::default(),
            })),
            Event::Message(message) if message.role == Role::User && self.task.is_empty() => {
                self.task = message.plain_text(&RunText::default()).chars().take(TASK_CHARS).collect();
            }
            Event::RunWait(wait) => self.waits_for = Some(wait.question.clone()),
            Event::AnswerGiven(_) => self.waits_for = None,
            Event::RunEnd(end) => {
                self.waits_for = None;
                self.state = if end.fail.is_some() { RunState::Failed } else { RunState::Returned };
                self.answer = end.value.as_ref().map(|text| text.as_str().to_owned());
                self.fail = end.fail.as_ref().map(|fail| (fail.reason.clone(), fail.message.clone()));
                self.tokens = end.usage.totals.tokens;
            }
            _ => {}
        }
        self.bill.apply(&envelope.event);
        if let Event::TurnEnd(end) = &envelope.event {
            self.tokens = end.totals.tokens;
        }
        if let Some(turn) = self.turns.last_mut()
            && turn.address == envelope.address.turn_part()
        {
            Arc::make_mut(turn).apply(place, envelope);
        }
    }

    /// From its start to its end, or to its last event so far.
    pub fn elapsed_ms(&self) -> u64 {
        elapsed_ms(self.started_ms.saturating_add(self.gap_ms), self.last_ms)
    }
}

impl TurnEntry {
    /// A part of the reply.
    fn hear(&mut self, place: usize) {
        self.state = TurnState::Streaming;
        self.reply.reach(place);
    }

    fn reach(&mut self, place: usize, at_ms: i64) {
        self.last_ms = at_ms;
        self.events.reach(place);
    }

    fn apply(&mut self, place: usize, envelope: &Envelope) {
        self.reach(place, envelope.at_ms);
        match &envelope.event {
            Event::ReplyPart(_) => self.hear(place),
            Event::ReplyEnd(end) => {
                self.reply.reach(place);
                self.state = TurnState::after_reply(end);
            }
            Event::TurnEnd(end) => {
                self.state = TurnState::after_turn(end);
                self.reason = end.reason.as_deref().map(Box::from);
                self.tokens = end.usage;
            }
            _ => {}
        }
    }

    /// From its start to its end, or to its last event so far.
    pub fn elapsed_ms(&self) -> u64 {
        elapsed_ms(self.started_ms, self.last_ms)
    }
}
