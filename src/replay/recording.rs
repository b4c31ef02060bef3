//! A recording: the events of a session by address, with the queries that the ports of a replay need.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::PathBuf;

use crate::engine::{InterruptedProgram, RecordedTurn};
use crate::event::{
    Address, AnswerGiven, CallStatus, Class, Edit, Envelope, Event, Interrupt, NoticeLevel, ProgramEnd, QuestionAsked,
    QuestionKind, RepeatedReply, ReplyStatus, RunStart, SentMessage, ToolCall, ToolEnd, TurnStart, elapsed_ms,
};
use crate::record::{Attempts, MessageLog};
use crate::session::{Header, Session};

/// The events of a session by address, each list in order.
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
    /// Turns whose reply was asked from the user by a question.
    asked_replies: HashSet<Address>,
    /// Name and version of the program that wrote the file.
    program: Option<String>,
}

impl Recording {
    /// Reads all events of a session. Fails on damage other than a torn last line, with a summary of what could be
    /// read.
    pub fn of(session: &Session) -> Result<Self, String> {
        if let Some(captured) = &session.header.captured {
            return Err(format!(
                "{0} was captured from requests of another program to {captured} and cannot be replayed or continued: `proxy --replay {0}` \
                 answers that program from the recording, `sessions agent {0}` makes an agent of a request",
                session.header.id
            ));
        }
        if let Some(imported) = &session.header.imported {
            return Err(format!(
                "{} was imported from {imported}: it can be viewed and exported but not replayed, because the inputs of its runs are incomplete",
                session.header.id
            ));
        }
        if session.damage.iter().any(|damage| !damage.torn) {
            let report = session.damage_report().unwrap_or_default();
            return Err(format!("{} is damaged and cannot be replayed: {report}", session.path.display()));
        }
        let mut recording = Self::empty(session.header.id.to_string(), session.path.clone());
        recording.program = Some(session.header.program.clone());
        for index in 0..session.len() {
            let envelope = session.event(index).ok_or_else(|| {
                let event = index + 1;
                format!("{}: event {event} has data that this program cannot read", session.path.display())
            })?;
            recording.add(envelope);
        }
        Ok(recording)
    }

    /// Creates a recording of events without a file.
    pub fn of_events(events: impl IntoIterator<Item = Envelope>) -> Self {
        let mut recording = Self::empty("unsaved".to_owned(), PathBuf::new());
        events.into_iter().for_each(|envelope| recording.add(envelope));
        recording
    }

    fn empty(id: String, path: PathBuf) -> Self {
        let (events, messages) = (HashMap::new(), HashMap::new());
        let (runs, all) = (Vec::new(), Vec::new());
        Self { id, path, events, runs, all, messages, asked_replies: HashSet::new(), program: None }
    }

    fn add(&mut self, envelope: Envelope) {
        if matches!(envelope.event, Event::RunStart(_)) && self.run_start(&envelope.address).is_none() {
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

    /// Returns a root run that has recorded events but no start event.
    pub(super) fn run_without_start(&self) -> Option<Address> {
        let has_content =
            |events: &[Envelope]| events.iter().any(|envelope| !matches!(envelope.event, Event::Notice(_)));
        let roots = self.events.iter().filter(|(_, events)| has_content(events)).map(|(address, _)| address.root());
        roots.filter(|root| !self.runs.contains(root)).min()
    }

    /// Returns the root runs in order.
    pub fn runs(&self) -> Vec<Address> {
        self.runs.clone()
    }

    /// Returns all runs in the order of their start, child runs included.
    pub fn all_runs(&self) -> &[Address] {
        &self.all
    }

    /// Returns all events by address.
    pub fn all(&self) -> HashMap<Address, Vec<Envelope>> {
        self.events.clone()
    }

    /// Returns the events at exactly this address, in order.
    pub fn at(&self, address: &Address) -> &[Envelope] {
        self.events.get(address).map_or(&[], Vec::as_slice)
    }

    /// Returns the start event of a run.
    pub fn run_start(&self, run: &Address) -> Option<&RunStart> {
        self.at(run).iter().find_map(|envelope| match &envelope.event {
            Event::RunStart(start) => Some(start),
            _ => None,
        })
    }

    /// Returns whether the run has an end event.
    pub fn is_complete(&self, run: &Address) -> bool {
        self.at(run).iter().any(|envelope| matches!(envelope.event, Event::RunEnd(_)))
    }

    /// Returns whether the run is over: it has ended, or a later root run follows (root runs do not overlap).
    pub(super) fn is_over(&self, run: &Address) -> bool {
        self.is_complete(run) || self.runs.iter().skip_while(|known| *known != run).nth(1).is_some()
    }

    /// Returns whether the turn that contains this address is over: it, a later turn, or an enclosing run or turn has
    /// an end.
    pub(super) fn is_turn_over(&self, address: &Address) -> bool {
        let turn = address.turn_part();
        let Some(number) = turn.turn_number() else { return false };
        let run = turn.run_part();
        self.at(&turn).iter().any(|envelope| matches!(envelope.event, Event::TurnEnd(_)))
            || self.at(&run.turn(number + 1)).iter().any(is_of_begun_turn)
            || self.is_over(&run)
            || run.is_call() && self.is_turn_over(&run)
    }

    /// Returns the reason of a failed turn; `None` for a turn that succeeded or has not ended.
    pub fn failed_turn(&self, turn: &Address) -> Option<&str> {
        self.at(turn).iter().find_map(|envelope| match &envelope.event {
            Event::TurnEnd(end) if !end.success => Some(end.reason.as_deref().unwrap_or("failed")),
            _ => None,
        })
    }

    /// Returns whether the turn of the root run that contains this address is over.
    pub(super) fn is_root_turn_over(&self, address: &Address) -> bool {
        let mut turn = address.turn_part();
        while turn.run_part().is_call() {
            turn = turn.run_part().turn_part();
        }
        self.is_turn_over(&turn)
    }

    /// Returns the number of recorded turns of a run.
    pub fn turns(&self, run: &Address) -> u32 {
        let mut last = 0;
        while self.turn_start(&run.turn(last + 1)).is_some() {
            last += 1;
        }
        last
    }

    /// Returns the current time that this turn used.
    pub fn now_ms(&self, turn: &Address) -> Option<i64> {
        self.turn_start(turn).map(|start| start.now)
    }

    /// Returns the start event of a turn.
    pub fn turn_start(&self, turn: &Address) -> Option<&TurnStart> {
        self.at(turn).iter().find_map(|envelope| match &envelope.event {
            Event::TurnStart(start) => Some(start),
            _ => None,
        })
    }

    /// Returns the start of a turn for the engine.
    pub(super) fn turn_record(&self, turn: &Address) -> Option<RecordedTurn> {
        let start = self.turn_start(turn)?;
        Some(RecordedTurn { now_ms: start.now, waited_ms: start.waited_ms, tree_turns: start.remaining.tree })
    }

    /// Returns the first end event of a tool call.
    pub fn tool_end(&self, call: &Address) -> Option<&ToolEnd> {
        self.tool_ends(call).next()
    }

    /// Returns the effective end event of a tool call: at a gate the user may have replaced the result.
    pub fn counted_end(&self, call: &Address) -> Option<&ToolEnd> {
        self.tool_ends(call).last()
    }

    fn tool_ends(&self, call: &Address) -> impl Iterator<Item = &ToolEnd> {
        self.at(call).iter().filter_map(|envelope| match &envelope.event {
            Event::ToolEnd(end) => Some(end),
            _ => None,
        })
    }

    /// Returns the answer to the question at this address.
    pub fn answer(&self, question: &Address) -> Option<&AnswerGiven> {
        self.at(question).iter().find_map(|envelope| match &envelope.event {
            Event::AnswerGiven(answer) => Some(answer),
            _ => None,
        })
    }

    /// Returns whether a question asked the user for the reply of this turn.
    pub(super) fn is_reply_asked(&self, turn: &Address) -> bool {
        self.asked_replies.contains(turn)
    }

    /// Returns whether a question is recorded at this address.
    pub(super) fn is_asked(&self, question: &Address) -> bool {
        self.at(question).iter().any(|envelope| matches!(envelope.event, Event::QuestionAsked(_)))
    }

    /// Returns whether a question of this kind is recorded at this address.
    pub(super) fn is_asked_as(&self, question: &Address, kind: &QuestionKind) -> bool {
        let asks = |e: &Envelope| matches!(&e.event, Event::QuestionAsked(asked) if asked.kind == *kind);
        self.at(question).iter().any(asks)
    }

    /// Returns the edits by the turn or call they apply to.
    pub fn edits(&self) -> HashMap<Address, Vec<Edit>> {
        let mut found: HashMap<Address, Vec<Edit>> = HashMap::new();
        for envelope in self.events.values().flatten() {
            if let Event::Edit(edit) = &envelope.event {
                found.entry(envelope.address.clone()).or_default().push(edit.clone());
            }
        }
        found
    }

    /// Returns the end of this turn's program, if it was interrupted.
    pub fn interrupted_program(&self, turn: &Address) -> Option<&ProgramEnd> {
        self.at(turn).iter().find_map(|envelope| match &envelope.event {
            Event::ProgramEnd(end) if end.interrupted => Some(end),
            _ => None,
        })
    }

    /// Returns the end of an interrupted program with the events of its calls.
    pub(super) fn stopped_program(&self, turn: &Address) -> Option<InterruptedProgram> {
        let end = self.interrupted_program(turn)?.clone();
        Some(InterruptedProgram { end, inside: self.events_within(turn) })
    }

    /// Returns the program of a turn as stopped, if the recording ends within it, before its first call.
    pub(super) fn unfinished_program(&self, turn: &Address) -> Option<InterruptedProgram> {
        let ends = |envelope: &Envelope| matches!(envelope.event, Event::ProgramEnd(_) | Event::TurnEnd(_));
        let has_ended = self.is_root_turn_over(turn) || self.at(turn).iter().any(ends);
        // Questions of the turn itself, about its request or its reply, came before its program.
        let is_of_turn = |envelope: &Envelope| envelope.address.is_question() && envelope.address.asker() == *turn;
        (!has_ended && self.events_within(turn).iter().all(is_of_turn)).then(InterruptedProgram::before_calls)
    }

    /// Returns the interrupt that cancelled this turn's reply.
    pub fn interrupted_reply(&self, turn: &Address) -> Option<&Interrupt> {
        let cancelled = |envelope: &Envelope| matches!(&envelope.event, Event::ReplyEnd(end) if end.status == ReplyStatus::Cancelled);
        self.at(turn).iter().any(cancelled).then(|| self.last_interrupt(turn)).flatten()
    }

    /// Returns the interrupt of this turn, if it ended anything. (A run that was killed right after an interrupt may
    /// have continued later.)
    pub fn interrupt(&self, turn: &Address) -> Option<&Interrupt> {
        let interrupt = self.last_interrupt(turn)?;
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
        let is_inside = |address: &Address| address.turn_part() == *turn;
        (ended || self.events.iter().any(|(address, events)| is_inside(address) && cut(events))).then_some(interrupt)
    }

    /// Returns the last interrupt: earlier ones ended nothing, because the run continued.
    fn last_interrupt(&self, turn: &Address) -> Option<&Interrupt> {
        self.at(turn).iter().rev().find_map(|envelope| match &envelope.event {
            Event::Interrupt(interrupt) => Some(interrupt),
            _ => None,
        })
    }

    /// Returns the events within a turn, in order.
    pub(super) fn events_within(&self, turn: &Address) -> Vec<Envelope> {
        let inside = |address: &Address| address != turn && address.is_within(turn);
        let mut found: Vec<Envelope> =
            self.events.iter().filter(|(address, _)| inside(address)).flat_map(|(_, events)| events.clone()).collect();
        found.sort_by_key(|envelope| envelope.seq);
        found
    }

    /// Returns the notice about missing events of this root run, if the session was recovered from a damaged one.
    pub(super) fn gap(&self, run: &Address) -> Option<&str> {
        self.at(run).iter().find_map(|envelope| match &envelope.event {
            Event::Notice(notice) if notice.level == NoticeLevel::Lost => Some(notice.text.as_str()),
            _ => None,
        })
    }

    /// Returns the last attempt of an interrupted reply; 0 when no attempt is recorded.
    pub(super) fn interrupted_attempt(&self, turn: &Address) -> u32 {
        let attempt = |envelope: &Envelope| match &envelope.event {
            Event::ReplyPart(part) => Some(part.attempt),
            Event::ReplyEnd(end) => Some(end.attempt),
            Event::Sent(sent) => Some(sent.attempt),
            _ => None,
        };
        self.at(turn).iter().filter_map(attempt).max().unwrap_or_default()
    }

    /// Returns the time in ms that the run and its child runs had waited for the user when the recording ended.
    pub(super) fn waited_ms(&self) -> u64 {
        let all = || self.events.values().flatten();
        let starts = all().filter_map(|envelope| match &envelope.event {
            Event::TurnStart(start) => Some((envelope.seq, start.waited_ms)),
            _ => None,
        });
        let (after, waited) = starts.max_by_key(|(seq, _)| *seq).unwrap_or_default();
        let since = all().filter(|envelope| envelope.seq > after).filter_map(|envelope| match &envelope.event {
            Event::AnswerGiven(_) => {
                let asked = self.at(&envelope.address).iter().find(|e| matches!(e.event, Event::QuestionAsked(_)))?;
                Some((asked.at_ms, envelope.at_ms))
            }
            _ => None,
        });
        let mut waits: Vec<(i64, i64)> = since.collect();
        // A run that waited, was inspected and waited again has waited all that time.
        let suspended = all().filter(|envelope| matches!(envelope.event, Event::RunWait(_)));
        if let Some(until) = suspended.map(|envelope| envelope.at_ms).max() {
            let open = self.open_questions();
            let asked = open.iter().filter_map(|question| Some(self.at(question).first()?.at_ms));
            waits.extend(asked.filter(|from| *from < until).map(|from| (from, until)));
        }
        waits.sort_unstable();
        // Overlapping waits count once.
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

    /// Returns the number of turns that a run and its child runs have started.
    pub(super) fn turns_of(&self, run: &Address) -> u32 {
        let begun = |envelope: &&Envelope| matches!(&envelope.event, Event::TurnStart(start) if start.stop.is_none());
        let all = self.events.iter().filter(|(address, _)| address.is_within(run)).flat_map(|(_, events)| events);
        u32::try_from(all.filter(begun).count()).unwrap_or(u32::MAX)
    }

    /// Returns the beginning of the tool call at this address.
    pub(super) fn tool_call(&self, at: &Address) -> Option<&ToolCall> {
        self.at(at).iter().find_map(|envelope| match &envelope.event {
            Event::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// Returns whether a tool call is recorded at this address.
    pub(super) fn has_call(&self, at: &Address) -> bool {
        self.at(at).iter().any(|envelope| matches!(envelope.event, Event::ToolCall(_)))
    }

    /// Returns every tool call and question, unordered.
    pub(super) fn calls_and_questions(&self) -> Vec<Address> {
        let is_one = |event: &Event| matches!(event, Event::ToolCall(_) | Event::QuestionAsked(_));
        let hold = |events: &[Envelope]| events.iter().any(|envelope| is_one(&envelope.event));
        self.events.iter().filter(|(_, events)| hold(events)).map(|(address, _)| address.clone()).collect()
    }

    /// Returns the reply of a turn.
    pub fn reply(&self, turn: &Address) -> RepeatedReply {
        let mut attempts = Attempts::default();
        self.at(turn).iter().for_each(|envelope| attempts.apply(&envelope.event));
        attempts.repeated()
    }

    /// Returns the model of the last fork of a root run.
    pub fn named_model(&self, run: &Address) -> Option<String> {
        self.at(run).iter().rev().find_map(|envelope| match &envelope.event {
            Event::Edit(edit) if edit.target == Edit::MODEL => Some(edit.text()),
            _ => None,
        })
    }

    /// Returns the current model of a root run.
    pub fn model_of(&self, run: &Address) -> Option<String> {
        self.named_model(run).or_else(|| self.run_start(run).map(|start| start.model.alias.clone()))
    }

    /// Returns the number of recorded calls of a run.
    pub(super) fn calls_of(&self, run: &Address) -> u64 {
        let calls = self.events.values().flatten().filter(|e| matches!(e.event, Event::ToolCall(_)));
        calls.filter(|envelope| envelope.run() == *run).count() as u64
    }

    /// Returns the time of the event with this sequence number, in Unix ms.
    pub fn at_ms_of(&self, seq: u64) -> Option<i64> {
        self.events.values().flatten().find(|envelope| envelope.seq == seq).map(|envelope| envelope.at_ms)
    }

    /// Returns the time since the last event, in ms.
    pub(super) fn age_ms(&self, now_ms: i64) -> u64 {
        let last = self.events.values().flatten().map(|envelope| envelope.at_ms).max();
        last.map_or(0, |last| elapsed_ms(last, now_ms))
    }

    /// Returns the unanswered questions, in the order of the run.
    pub fn open_questions(&self) -> Vec<Address> {
        let is_asked = |events: &[Envelope]| events.iter().any(|e| matches!(e.event, Event::QuestionAsked(_)));
        let open = self.events.iter().filter(|(address, events)| is_asked(events) && self.answer(address).is_none());
        let mut open: Vec<Address> = open.map(|(address, _)| address.clone()).collect();
        open.sort();
        open
    }

    /// Returns the question at this address.
    pub fn question(&self, at: &Address) -> Option<&QuestionAsked> {
        self.at(at).iter().find_map(|envelope| match &envelope.event {
            Event::QuestionAsked(asked) => Some(asked),
            _ => None,
        })
    }

    /// Returns the messages of this turn's request.
    pub fn request(&self, turn: &Address) -> Option<Vec<SentMessage>> {
        self.messages.get(&turn.run_part())?.request(turn)
    }

    /// Events inside an interrupted program are not computed again.
    fn is_in_interrupted_program(&self, address: &Address) -> bool {
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

    /// Returns the events of this class of a root run and its child runs by address, in order. A replay repeats each.
    pub(super) fn repeated(&self, run: &Address, class: Class) -> HashMap<Address, VecDeque<Envelope>> {
        let is_one = |envelope: &&Envelope| envelope.event.class() == class;
        self.events
            .iter()
            .filter(|(address, _)| address.root() == *run && !self.is_in_interrupted_program(address))
            .map(|(address, events)| (address.clone(), events.iter().filter(is_one).cloned().collect()))
            .collect()
    }

    /// Returns whether the totals of this turn include discarded attempts. Earlier versions, whose turns end without a hash of the
    /// inputs, did not count them.
    pub(super) fn counts_discarded(&self, turn: &Address) -> bool {
        let is_older = |event: &Event| matches!(event, Event::TurnEnd(end) if end.inputs.is_none());
        !self.at(turn).iter().any(|envelope| is_older(&envelope.event))
    }

    /// Returns whether this version of the program wrote the recording.
    pub(super) fn is_of_this_version(&self) -> bool {
        self.program.as_ref().is_none_or(|program| *program == Header::program_name())
    }
}

/// Returns whether this event only occurs in a started turn; edits precede the start.
pub(super) fn is_of_begun_turn(envelope: &Envelope) -> bool {
    !matches!(envelope.event, Event::Edit(_) | Event::Notice(_) | Event::Unknown(_))
}
