//! A recording: the events of a session by address, ready to answer for the ports.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use crate::engine::{InterruptedProgram, RecordedTurn};
use crate::event::{
    Address, AnswerGiven, CallStatus, Class, Edit, Envelope, Event, Interrupt, NoticeLevel, ProgramEnd, QuestionAsked,
    QuestionKind, ReplyStatus, RunStart, Said, SentMessage, ToolEnd, TurnStart, elapsed_ms,
};
use crate::record::{Attempts, MessageLog};
use crate::session::Session;

/// The events of a session, by address and in order.
#[derive(Debug, Clone)]
pub struct Recording {
    /// The session's id.
    pub id: String,
    /// Its file.
    pub path: PathBuf,
    events: HashMap<Address, Vec<Envelope>>,
    runs: Vec<Address>,
    all: Vec<Address>,
    messages: HashMap<Address, MessageLog>,
    /// Turns whose reply a person was asked for by a question.
    asked_replies: HashSet<Address>,
}

impl Recording {
    /// Reads all events of a session. Damage other than a torn end makes it unusable; the text says what could be read.
    pub fn of(session: &Session) -> Result<Self, String> {
        if let Some(imported) = &session.header.imported {
            return Err(format!(
                "{} was imported from {imported}: it can be looked at and exported, but not replayed, because it does not hold everything that its runs were given",
                session.header.id
            ));
        }
        if session.damage.iter().any(|damage| !damage.torn) {
            let report = session.damage_report().unwrap_or_default();
            return Err(format!("{} is damaged and cannot be replayed: {report}", session.path.display()));
        }
        let mut recording = Self::empty(session.header.id.to_string(), session.path.clone());
        for place in 0..session.len() {
            let envelope = session.event(place).ok_or_else(|| {
                let event = place + 1;
                format!("{}: the data of event {event} cannot be read by this program", session.path.display())
            })?;
            recording.add(envelope);
        }
        Ok(recording)
    }

    /// A recording of events that are in no file.
    pub fn of_events(events: impl IntoIterator<Item = Envelope>) -> Self {
        let mut recording = Self::empty("unsaved".to_owned(), PathBuf::new());
        events.into_iter().for_each(|envelope| recording.add(envelope));
        recording
    }

    fn empty(id: String, path: PathBuf) -> Self {
        let (events, messages) = (HashMap::new(), HashMap::new());
        Self { id, path, events, runs: Vec::new(), all: Vec::new(), messages, asked_replies: HashSet::new() }
    }

    fn add(&mut self, envelope: Envelope) {
        if matches!(envelope.event, Event::RunStart(_)) {
            self.all.push(envelope.address.clone());
            if envelope.address.root() == envelope.address {
                self.runs.push(envelope.address.clone());
            }
        }
        if matches!(&envelope.event, Event::QuestionAsked(asked) if asked.kind == QuestionKind::Reply) {
            self.asked_replies.insert(envelope.address.turn_part());
        }
        self.messages.entry(envelope.run()).or_default().apply(&envelope);
        self.events.entry(envelope.address.clone()).or_default().push(envelope);
    }

    /// A root run of which events are recorded and its start is not.
    pub(super) fn without_start(&self) -> Option<Address> {
        let told = |events: &[Envelope]| events.iter().any(|envelope| !matches!(envelope.event, Event::Notice(_)));
        let roots = self.events.iter().filter(|(_, events)| told(events)).map(|(address, _)| address.root());
        roots.filter(|root| !self.runs.contains(root)).min()
    }

    /// The root runs in order.
    pub fn runs(&self) -> Vec<Address> {
        self.runs.clone()
    }

    /// All runs in the order they started, those of agents below included.
    pub fn all_runs(&self) -> &[Address] {
        &self.all
    }

    /// All events by address, in order.
    pub fn all(&self) -> HashMap<Address, Vec<Envelope>> {
        self.events.clone()
    }

    /// The events at exactly this address, in order.
    pub fn at(&self, address: &Address) -> &[Envelope] {
        self.events.get(address).map_or(&[], Vec::as_slice)
    }

    /// How a run started.
    pub fn run_start(&self, run: &Address) -> Option<&RunStart> {
        self.at(run).iter().find_map(|envelope| match &envelope.event {
            Event::RunStart(start) => Some(start),
            _ => None,
        })
    }

    /// Did the run end?
    pub fn is_complete(&self, run: &Address) -> bool {
        self.at(run).iter().any(|envelope| matches!(envelope.event, Event::RunEnd(_)))
    }

    /// Is the run over? Its end tells, or a later root run: one begins when the one before has ended.
    pub(super) fn is_over(&self, run: &Address) -> bool {
        self.is_complete(run) || self.runs.iter().skip_while(|known| *known != run).nth(1).is_some()
    }

    /// Did the turn end in which this lies? Its end, a later turn of its run, or the end of what it lies in tell.
    pub(super) fn is_turn_over(&self, address: &Address) -> bool {
        let turn = address.turn_part();
        let Some(number) = turn.turn_number() else { return false };
        let run = turn.run_part();
        self.at(&turn).iter().any(|envelope| matches!(envelope.event, Event::TurnEnd(_)))
            || self.at(&run.turn(number + 1)).iter().any(is_of_begun_turn)
            || self.is_over(&run)
            || run.is_call() && self.is_turn_over(&run)
    }

    /// Why a turn that ended failed; `None` for one that succeeded or has no end.
    pub fn failed_turn(&self, turn: &Address) -> Option<&str> {
        self.at(turn).iter().find_map(|envelope| match &envelope.event {
            Event::TurnEnd(end) if !end.success => Some(end.reason.as_deref().unwrap_or("failed")),
            _ => None,
        })
    }

    /// Did the turn of the root run end in which this lies?
    pub(super) fn is_root_turn_over(&self, address: &Address) -> bool {
        let mut turn = address.turn_part();
        while turn.run_part().is_call() {
            turn = turn.run_part().turn_part();
        }
        self.is_turn_over(&turn)
    }

    /// Number of recorded turns of a run.
    pub fn turns(&self, run: &Address) -> u32 {
        let mut last = 0;
        while self.turn_start(&run.turn(last + 1)).is_some() {
            last += 1;
        }
        last
    }

    /// The time that the turn at this address read.
    pub fn now_ms(&self, turn: &Address) -> Option<i64> {
        self.turn_start(turn).map(|start| start.now)
    }

    /// How the turn at this address started.
    pub fn turn_start(&self, turn: &Address) -> Option<&TurnStart> {
        self.at(turn).iter().find_map(|envelope| match &envelope.event {
            Event::TurnStart(start) => Some(start),
            _ => None,
        })
    }

    /// The start of a turn as the engine reads it.
    pub(super) fn turn_record(&self, turn: &Address) -> Option<RecordedTurn> {
        let start = self.turn_start(turn)?;
        Some(RecordedTurn { now_ms: start.now, waited_ms: start.waited_ms, tree_turns: start.remaining.tree })
    }

    /// How the tool call at this address ended.
    pub fn tool_end(&self, call: &Address) -> Option<&ToolEnd> {
        self.tool_ends(call).next()
    }

    /// What of that counted: at a gate a person may have put another result in its place.
    pub fn counted_end(&self, call: &Address) -> Option<&ToolEnd> {
        self.tool_ends(call).last()
    }

    fn tool_ends(&self, call: &Address) -> impl Iterator<Item = &ToolEnd> {
        self.at(call).iter().filter_map(|envelope| match &envelope.event {
            Event::ToolEnd(end) => Some(end),
            _ => None,
        })
    }

    /// The answer to the question at this address.
    pub fn answer(&self, question: &Address) -> Option<&AnswerGiven> {
        self.at(question).iter().find_map(|envelope| match &envelope.event {
            Event::AnswerGiven(answer) => Some(answer),
            _ => None,
        })
    }

    /// Was a person asked for the reply of this turn by a question?
    pub(super) fn asks_for_reply(&self, turn: &Address) -> bool {
        self.asked_replies.contains(turn)
    }

    /// Is a question recorded at this address?
    pub(super) fn is_asked(&self, question: &Address) -> bool {
        self.at(question).iter().any(|envelope| matches!(envelope.event, Event::QuestionAsked(_)))
    }

    /// Is a question of this kind recorded at this address?
    pub(super) fn is_asked_as(&self, question: &Address, kind: &QuestionKind) -> bool {
        let asks = |e: &Envelope| matches!(&e.event, Event::QuestionAsked(asked) if asked.kind == *kind);
        self.at(question).iter().any(asks)
    }

    /// The edits, by the turn or call that meets them.
    pub fn edits(&self) -> HashMap<Address, Vec<Edit>> {
        let mut found: HashMap<Address, Vec<Edit>> = HashMap::new();
        for envelope in self.events.values().flatten() {
            if let Event::Edit(edit) = &envelope.event {
                found.entry(envelope.address.clone()).or_default().push(edit.clone());
            }
        }
        found
    }

    /// The end of this turn's program, when it was ended from outside.
    pub fn interrupted_program(&self, turn: &Address) -> Option<&ProgramEnd> {
        self.at(turn).iter().find_map(|envelope| match &envelope.event {
            Event::ProgramEnd(end) if end.interrupted => Some(end),
            _ => None,
        })
    }

    /// The same with the events of its calls.
    pub(super) fn stopped_program(&self, turn: &Address) -> Option<InterruptedProgram> {
        let end = self.interrupted_program(turn)?.clone();
        Some(InterruptedProgram { end, inside: self.below(turn) })
    }

    /// The stop that ended this turn's reply.
    pub fn interrupted_reply(&self, turn: &Address) -> Option<&Interrupt> {
        let cancelled = |envelope: &Envelope| matches!(&envelope.event, Event::ReplyEnd(end) if end.status == ReplyStatus::Cancelled);
        self.at(turn).iter().any(cancelled).then(|| self.told_interrupt(turn)).flatten()
    }

    /// The stop that came from outside during this turn, when it ended something: a run that was killed right after it may have gone
    /// on.
    pub fn interrupt(&self, turn: &Address) -> Option<&Interrupt> {
        let interrupt = self.told_interrupt(turn)?;
        let ended = self.at(&turn.run_part()).iter().any(|envelope| match &envelope.event {
            Event::RunEnd(end) => end.fail.as_ref().is_some_and(|fail| fail.reason == interrupt.reason.name()),
            _ => false,
        });
        let cut = |events: &[Envelope]| {
            events.iter().any(|envelope| match &envelope.event {
                Event::ToolEnd(end) => end.status == CallStatus::Cancelled,
                Event::ProgramEnd(end) => end.interrupted,
                _ => false,
            })
        };
        let next = turn.run_part().turn(turn.turn_number().unwrap_or_default() + 1);
        let ended = ended && self.turn_start(&next).is_none();
        let below = |address: &Address| address.turn_part() == *turn;
        (ended || self.events.iter().any(|(address, events)| below(address) && cut(events))).then_some(interrupt)
    }

    /// The last stop that was told: one before it ended nothing, or the run would not have gone on.
    fn told_interrupt(&self, turn: &Address) -> Option<&Interrupt> {
        self.at(turn).iter().rev().find_map(|envelope| match &envelope.event {
            Event::Interrupt(interrupt) => Some(interrupt),
            _ => None,
        })
    }

    /// The events below a turn, in order.
    pub(super) fn below(&self, turn: &Address) -> Vec<Envelope> {
        let inside = |address: &Address| address != turn && address.is_within(turn);
        let mut below: Vec<Envelope> =
            self.events.iter().filter(|(address, _)| inside(address)).flat_map(|(_, events)| events.clone()).collect();
        below.sort_by_key(|envelope| envelope.seq);
        below
    }

    /// What is said where events of this root run are missing, when the session was recovered from a damaged one.
    pub(super) fn gap(&self, run: &Address) -> Option<&str> {
        self.at(run).iter().find_map(|envelope| match &envelope.event {
            Event::Notice(notice) if notice.level == NoticeLevel::Lost => Some(notice.text.as_str()),
            _ => None,
        })
    }

    /// The last attempt of a reply that broke off: 0 when nothing of a reply is recorded, or the last attempt was ended.
    pub(super) fn broken_attempt(&self, turn: &Address) -> u32 {
        let attempt = |envelope: &Envelope| match &envelope.event {
            Event::ReplyPart(part) => Some(part.attempt),
            Event::ReplyEnd(end) => Some(end.attempt),
            Event::Sent(sent) => Some(sent.attempt),
            _ => None,
        };
        self.at(turn).iter().filter_map(attempt).max().unwrap_or_default()
    }

    /// What the tree of agents had waited for persons when the recording ended, in ms.
    pub(super) fn waited_ms(&self) -> u64 {
        let all = || self.events.values().flatten();
        let told = all().filter_map(|envelope| match &envelope.event {
            Event::TurnStart(start) => Some((envelope.seq, start.waited_ms)),
            _ => None,
        });
        let (after, waited) = told.max_by_key(|(seq, _)| *seq).unwrap_or_default();
        let since = all().filter(|envelope| envelope.seq > after).filter_map(|envelope| match &envelope.event {
            Event::AnswerGiven(_) => {
                let asked = self.at(&envelope.address).iter().find(|e| matches!(e.event, Event::QuestionAsked(_)))?;
                Some((asked.at_ms, envelope.at_ms))
            }
            _ => None,
        });
        let mut waits: Vec<(i64, i64)> = since.collect();
        // A run that waited, was looked at and waited again has waited all that time.
        let suspended = all().filter(|envelope| matches!(envelope.event, Event::RunWait(_)));
        if let Some(until) = suspended.map(|envelope| envelope.at_ms).max() {
            let open = self.open_questions();
            let asked = open.iter().filter_map(|question| Some(self.at(question).first()?.at_ms));
            waits.extend(asked.filter(|from| *from < until).map(|from| (from, until)));
        }
        waits.sort_unstable();
        // Waits at the same time count once.
        let mut counted_to = i64::MIN;
        let sum: u64 = waits
            .into_iter()
            .map(|(from, to)| {
                let new = elapsed_ms(from.max(counted_to), to);
                counted_to = counted_to.max(to);
                new
            })
            .sum();
        waited.saturating_add(sum)
    }

    /// How many turns the tree below a run has begun.
    pub(super) fn turns_of(&self, run: &Address) -> u32 {
        let begun = |envelope: &&Envelope| matches!(&envelope.event, Event::TurnStart(start) if start.stop.is_none());
        let all = self.events.iter().filter(|(address, _)| address.is_within(run)).flat_map(|(_, events)| events);
        u32::try_from(all.filter(begun).count()).unwrap_or(u32::MAX)
    }

    /// Is a call at this address recorded?
    pub(super) fn holds_call(&self, at: &Address) -> bool {
        self.at(at).iter().any(|envelope| matches!(envelope.event, Event::ToolCall(_)))
    }

    /// Every tool call and every question, in no order.
    pub(super) fn calls_and_questions(&self) -> Vec<Address> {
        let is_one = |event: &Event| matches!(event, Event::ToolCall(_) | Event::QuestionAsked(_));
        let hold = |events: &[Envelope]| events.iter().any(|envelope| is_one(&envelope.event));
        self.events.iter().filter(|(_, events)| hold(events)).map(|(address, _)| address.clone()).collect()
    }

    /// The reply of a turn.
    pub fn said(&self, turn: &Address) -> Said {
        let mut attempts = Attempts::default();
        self.at(turn).iter().for_each(|envelope| attempts.apply(&envelope.event));
        attempts.repeated()
    }

    /// The model that a fork of a root run named last.
    pub fn named_model(&self, run: &Address) -> Option<String> {
        self.at(run).iter().rev().find_map(|envelope| match &envelope.event {
            Event::Edit(edit) if edit.target == Edit::MODEL => Some(edit.text()),
            _ => None,
        })
    }

    /// The name of the model that a root run was asked from last.
    pub fn model_of(&self, run: &Address) -> Option<String> {
        self.named_model(run).or_else(|| self.run_start(run).map(|start| start.model.alias.clone()))
    }

    /// How many calls of a run are recorded.
    pub(super) fn calls_of(&self, run: &Address) -> u64 {
        let calls = self.events.values().flatten().filter(|e| matches!(e.event, Event::ToolCall(_)));
        calls.filter(|envelope| envelope.run() == *run).count() as u64
    }

    /// The time of the event with this number, in Unix ms.
    pub fn at_ms_of(&self, seq: u64) -> Option<i64> {
        self.events.values().flatten().find(|envelope| envelope.seq == seq).map(|envelope| envelope.at_ms)
    }

    /// The time since the last event, in ms.
    pub(super) fn age_ms(&self, now_ms: i64) -> u64 {
        let last = self.events.values().flatten().map(|envelope| envelope.at_ms).max();
        last.map_or(0, |last| elapsed_ms(last, now_ms))
    }

    /// Questions that nobody has answered, in the order of the run.
    pub fn open_questions(&self) -> Vec<Address> {
        let is_asked = |events: &[Envelope]| events.iter().any(|e| matches!(e.event, Event::QuestionAsked(_)));
        let open = self.events.iter().filter(|(address, events)| is_asked(events) && self.answer(address).is_none());
        let mut open: Vec<Address> = open.map(|(address, _)| address.clone()).collect();
        open.sort();
        open
    }

    /// What was asked at this address.
    pub fn question(&self, at: &Address) -> Option<&QuestionAsked> {
        self.at(at).iter().find_map(|envelope| match &envelope.event {
            Event::QuestionAsked(asked) => Some(asked),
            _ => None,
        })
    }

    /// The messages of the request made at this turn, as they were sent.
    pub fn request(&self, turn: &Address) -> Option<Vec<SentMessage>> {
        self.messages.get(&turn.run_part())?.request(turn)
    }

    /// What happened inside a program that was ended from outside is not made again.
    fn lies_in_interrupted_program(&self, address: &Address) -> bool {
        let mut at = address.clone();
        loop {
            let turn = at.turn_part();
            if turn != *address && self.interrupted_program(&turn).is_some() {
                return true;
            }
            let run = turn.run_part();
            if run == turn || run == at {
                return false;
            }
            at = run;
        }
    }

    /// The derived events of a root run and the runs below it by address, in order.
    pub(super) fn derived(&self, run: &Address) -> HashMap<Address, Vec<Event>> {
        let derived = |envelope: &&Envelope| envelope.event.class() == Class::Derived;
        self.events
            .iter()
            .filter(|(address, _)| address.root() == *run && !self.lies_in_interrupted_program(address))
            .map(|(address, events)| {
                (address.clone(), events.iter().filter(derived).map(|envelope| envelope.event.clone()).collect())
            })
            .collect()
    }
}

/// Is it only told in a turn that has begun? Edits are recorded before.
pub(super) fn is_of_begun_turn(envelope: &Envelope) -> bool {
    !matches!(envelope.event, Event::Edit(_) | Event::Notice(_) | Event::Unknown(_))
}
