//! A session as it is told: its runs in the order they started, each with its Step and the times of its turns and calls.

use std::collections::HashMap;

use ptc_core::value::Json;

use crate::agent::{CallEntry, Step, StepFold, Turn};
use crate::event::{
    Address, AnswerGiven, Envelope, Event, ModelRecord, NativeCall, Options, PartKind, QuestionAsked, ReplyStatus,
    RunStart, StructuredBy, ToolSchema, elapsed_ms,
};

/// What an export is made of: a session's events after redaction, and where they come from.
#[derive(Debug, Clone, Default)]
pub struct Content {
    /// The session's id.
    pub session: String,
    /// When it was made, Unix time in ms.
    pub created_ms: i64,
    /// Name and version of the program that recorded it.
    pub program: String,
    /// What it was imported from, when it was.
    pub imported: Option<String>,
    /// What of it could not be read.
    pub damage: Option<String>,
    /// The events in order.
    pub events: Vec<Envelope>,
}

/// One run.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) address: Address,
    pub(super) start: RunStart,
    pub(super) started_ms: i64,
    /// Its end, or its last event.
    pub(super) ended_ms: i64,
    pub(super) step: Step,
    /// What was noticed outside of its turns.
    pub(super) notices: Vec<String>,
    turns: HashMap<Address, Told>,
    calls: HashMap<Address, Span>,
    fold: StepFold,
}

/// From when to when, Unix time in ms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) from_ms: i64,
    pub(super) to_ms: i64,
}

/// What a turn's events tell beside the Step.
#[derive(Debug, Clone, Default)]
pub(super) struct Told {
    pub(super) turn: Span,
    /// From the request to the end of the last attempt.
    pub(super) reply: Span,
    pub(super) reasoning: String,
    /// Calls that the model asked for in its reply.
    pub(super) asked: Vec<NativeCall>,
    pub(super) options: Options,
    pub(super) tools: Vec<ToolSchema>,
    pub(super) want: String,
    pub(super) structured_by: Option<StructuredBy>,
    pub(super) url: String,
    pub(super) memory: Vec<(String, String)>,
    pub(super) questions: Vec<(QuestionAsked, Option<AnswerGiven>)>,
    pub(super) notices: Vec<String>,
}

impl Run {
    fn new(envelope: &Envelope) -> Self {
        Self {
            address: envelope.run(),
            start: RunStart::default(),
            started_ms: envelope.at_ms,
            ended_ms: envelope.at_ms,
            step: Step::default(),
            notices: Vec::new(),
            turns: HashMap::new(),
            calls: HashMap::new(),
            fold: StepFold::default(),
        }
    }

    /// The model that was asked at a turn.
    pub(super) fn asked<'a>(&'a self, turn: &'a Turn) -> &'a ModelRecord {
        turn.by.as_deref().unwrap_or(&self.start.model)
    }

    /// Its inputs, with the edits of a fork.
    pub(super) fn context(&self) -> Json {
        self.fold.inputs().map_or_else(|| self.start.context.json(), |inputs| inputs.context.clone())
    }

    /// Names of the models that answered.
    pub(super) fn models(&self) -> String {
        self.fold.bill().names()
    }

    /// The model that answered last.
    pub(super) fn last_model(&self) -> &ModelRecord {
        self.fold.bill().model()
    }

    /// What the events of a turn tell.
    pub(super) fn told(&self, turn: &Turn) -> Told {
        turn.address.as_ref().and_then(|address| self.turns.get(address)).cloned().unwrap_or_default()
    }

    /// From when to when a call ran.
    pub(super) fn span(&self, call: &CallEntry) -> Span {
        call.address.as_ref().and_then(|address| self.calls.get(address)).copied().unwrap_or_default()
    }

    /// The calls made at a turn.
    pub(super) fn calls_of(&self, turn: &Turn) -> impl Iterator<Item = &CallEntry> {
        let at = turn.address.clone();
        self.step.calls.iter().filter(move |call| call.address.as_ref().map(Address::turn_part) == at)
    }

    /// From its start to its end without the time in which nobody ran, in ms; without an end, to its last event.
    pub(super) fn took_ms(&self) -> u64 {
        let until_last = elapsed_ms(self.started_ms, self.ended_ms);
        if self.fold.is_complete() { self.step.usage.duration_ms } else { until_last }
    }

    fn apply(&mut self, envelope: &Envelope) {
        self.fold.apply(envelope);
        self.ended_ms = self.ended_ms.max(envelope.at_ms);
        let at = &envelope.address;
        let turn = at.turn_part();
        match &envelope.event {
            Event::RunStart(start) => {
                self.start = start.clone();
                self.started_ms = self.started_ms.min(envelope.at_ms);
            }
            Event::ToolCall(_) => {
                self.calls.insert(at.clone(), Span { from_ms: envelope.at_ms, to_ms: envelope.at_ms });
            }
            Event::ToolEnd(_) => {
                self.calls.entry(at.clone()).or_insert(Span { from_ms: envelope.at_ms, to_ms: 0 }).to_ms =
                    envelope.at_ms;
            }
            Event::Notice(notice) if *at == self.address => self.notices.push(notice.text.clone()),
            _ => {}
        }
        if turn.turn_number().is_none() || turn.run_part() != self.address {
            return;
        }
        let fresh = Told { turn: Span { from_ms: envelope.at_ms, to_ms: envelope.at_ms }, ..Told::default() };
        let told = self.turns.entry(turn).or_insert(fresh);
        told.turn.to_ms = told.turn.to_ms.max(envelope.at_ms);
        told.apply(envelope);
    }
}

impl Told {
    fn apply(&mut self, envelope: &Envelope) {
        match &envelope.event {
            Event::RequestMade(request) => {
                self.reply = Span { from_ms: envelope.at_ms, to_ms: envelope.at_ms };
                self.options = request.options.clone();
                self.tools.clone_from(&request.tools);
                request.want.name().clone_into(&mut self.want);
            }
            Event::Sent(sent) => self.url.clone_from(&sent.url),
            Event::ReplyPart(part) if part.kind == PartKind::Reasoning => self.reasoning.push_str(&part.text),
            Event::ReplyEnd(end) => {
                self.reply.to_ms = envelope.at_ms;
                if end.status == ReplyStatus::Discarded {
                    self.reasoning.clear();
                } else {
                    self.asked.clone_from(&end.calls);
                    self.structured_by = end.structured_by;
                }
            }
            Event::MemoryChange(change) if !change.rolled_back => {
                self.memory = change.set.iter().map(|(name, value)| (name.clone(), value.text().to_owned())).collect();
            }
            Event::QuestionAsked(question) => self.questions.push((question.clone(), None)),
            Event::AnswerGiven(answer) => {
                if let Some((_, given)) = self.questions.last_mut() {
                    *given = Some(answer.clone());
                }
            }
            Event::Notice(notice) => self.notices.push(notice.text.clone()),
            Event::Unknown(unknown) => {
                self.notices.push(format!("{}: {}", unknown.kind, unknown.data.get()));
            }
            _ => {}
        }
    }
}

/// The runs of a session in the order they started, those of agents below included.
pub(super) fn runs(content: &Content) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut places: HashMap<Address, usize> = HashMap::new();
    for envelope in &content.events {
        let address = envelope.run();
        let place = *places.entry(address).or_insert_with(|| {
            runs.push(Run::new(envelope));
            runs.len() - 1
        });
        runs[place].apply(envelope);
    }
    for run in &mut runs {
        run.step = run.fold.step();
        run.step.session = Some(content.session.clone());
    }
    runs
}

/// The runs right below this one.
pub(super) fn below<'r>(runs: &'r [Run], above: &'r Run) -> impl Iterator<Item = &'r Run> {
    runs.iter().filter(|run| {
        run.address != above.address && run.address.child_of(&above.address).as_ref() == Some(&run.address)
    })
}

/// The root runs.
pub(super) fn roots(runs: &[Run]) -> impl Iterator<Item = &Run> {
    runs.iter().filter(|run| run.address == run.address.root())
}
