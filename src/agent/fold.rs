//! The fold from events to a Step: the same for a live run and for a file.

use ptc_core::value::Json;

use super::{Agent, CallEntry, Inputs, QuestionEntry, Step, Turn, Usage};
use crate::event::{Address, Envelope, Event, JsonText, PlanState, Role, SentMessage, Source, TotalUsage, Waits};
use crate::record::RunRecord;

/// The section of texts from an earlier conversation.
pub(crate) const HISTORY: &str = "history";

/// Folds the events of one run and of its child runs.
#[derive(Debug, Clone, Default)]
pub struct StepFold {
    record: RunRecord,
    /// The first event was applied, which sets the run's address.
    is_begun: bool,
    /// The definition and the inputs with the edits of a fork, when its agent can be read.
    inputs: Option<Inputs>,
    /// Child runs that have not ended.
    children: Vec<(Address, StepFold)>,
    /// Steps of ended child runs, by the address of their call.
    adopted: Vec<(Address, Step)>,
    /// The waits of the whole session, at the outermost fold of a file.
    waits: Waits,
}

impl StepFold {
    /// Takes the next event.
    pub fn apply(&mut self, envelope: &Envelope) {
        let mut waits = std::mem::take(&mut self.waits);
        waits.apply(envelope);
        self.apply_among(&waits, envelope);
        self.waits = waits;
    }

    /// Like `apply`, for a fold that does not see all events: these are the waits of all of them, this one included.
    pub fn apply_among(&mut self, waits: &Waits, envelope: &Envelope) {
        if !self.is_begun {
            self.is_begun = true;
            self.record = RunRecord::new(envelope.run(), envelope.at_ms);
        }
        let run = &self.record.address;
        if envelope.run() != *run {
            let Some(child) = envelope.run().child_of(run) else { return };
            return self.apply_to_child(&child, waits, envelope);
        }
        match &envelope.event {
            // Steps hold no raw frames, which are most of what a turn records.
            Event::Wire(_) => return,
            Event::RunStart(start) => self.inputs = Inputs::of(start).ok(),
            Event::Edit(edit) => {
                if let Some(inputs) = self.inputs.as_mut().filter(|_| edit.is_of_the_turn()) {
                    // Definitions are not inputs; an edit that no longer applies leaves them as they are.
                    _ = inputs.edit(edit);
                }
            }
            _ => {}
        }
        self.record.apply(envelope);
        self.record.exclude_waits(waits, envelope);
    }

    fn apply_to_child(&mut self, child: &Address, waits: &Waits, envelope: &Envelope) {
        let place = self.children.iter().position(|(address, _)| address == child).unwrap_or_else(|| {
            self.children.push((child.clone(), Self::default()));
            self.children.len() - 1
        });
        let (_, fold) = &mut self.children[place];
        fold.apply_among(waits, envelope);
        let has_ended = fold.is_complete() && fold.record.address == envelope.address;
        if has_ended && matches!(envelope.event, Event::RunEnd(_)) {
            let step = fold.step();
            self.children.remove(place);
            self.adopt(child.clone(), step);
        }
    }

    /// Takes the Step of the child run that this call started.
    pub fn adopt(&mut self, call: Address, step: Step) {
        let place = self.adopted.partition_point(|(known, _)| *known < call);
        self.adopted.insert(place, (call, step));
    }

    /// The record of the run, without those of its child runs and without raw frames.
    pub fn record(&self) -> &RunRecord {
        &self.record
    }

    /// The definition and the inputs, edits included; `None` when the agent cannot be read.
    pub fn inputs(&self) -> Option<&Inputs> {
        self.inputs.as_ref()
    }

    /// Returns whether the run has ended.
    pub fn is_complete(&self) -> bool {
        self.record.end.is_some()
    }

    /// The Step so far; a turn that has not ended is its last one.
    pub fn step(&self) -> Step {
        let run = &self.record;
        let agent = self.inputs.as_ref().map(|inputs| &inputs.agent);
        let turns = || run.turns.values();
        let mut calls: Vec<CallEntry> = turns().flat_map(|turn| turn.calls.iter().map(CallEntry::of)).collect();
        // Branches end in any order; the Step is always the same.
        calls.sort_by(|one, other| one.address.cmp(&other.address));
        let step = Step {
            address: run.is_begun.then(|| run.address.clone()),
            waits_for: run.waits_for.clone(),
            memory: with_initial(run, agent),
            summaries: run.plan.iter().flat_map(PlanState::finished).collect(),
            calls,
            questions: turns().flat_map(|turn| turn.questions.iter().map(QuestionEntry::of)).collect(),
            children: self.adopted.iter().map(|(_, step)| step.clone()).collect(),
            usage: self.usage(),
            turns: run.begun_turns().map(|turn| Turn::of(turn, run)).collect(),
            messages: run.messages.clone(),
            signature: agent.and_then(|agent| agent.signature.clone()),
            name: run.start.agent.name.clone(),
            context: self.inputs.as_ref().map(|inputs| inputs.context.clone()),
            mode: run.start.mode.clone(),
            models: run.ledger.models(),
            field_descriptions: agent.map(|agent| agent.field_descriptions.clone()).unwrap_or_default(),
            original_prompt: agent.map(|agent| agent.prompt.clone()),
            ..Step::default()
        };
        let Some(end) = &run.end else { return step };
        let answer = end.value.as_ref().map(JsonText::json);
        let is_mission = |message: &&SentMessage| {
            let is_earlier = message.parts.iter().any(|part| part.section() == HISTORY);
            message.source == Source::Prompt && message.role == Role::User && !is_earlier
        };
        Step {
            value: answer.as_ref().map(Json::to_value).unwrap_or_default(),
            answer,
            fail: end.fail.clone(),
            summary: end.summary.clone(),
            refs: end.refs.as_ref().map(JsonText::json),
            from_turn: end.from_turn,
            journal: end.journal.as_ref().map(JsonText::json),
            prompt: run.messages.iter().find(is_mission).map(SentMessage::text),
            ..step
        }
    }

    /// The usage of the run and its child runs so far.
    fn usage(&self) -> Usage {
        let run = &self.record;
        let own = run.ledger.own();
        let open: Vec<TotalUsage> = self.children.iter().map(|(_, fold)| fold.usage().total).collect();
        let total = own.with_children(self.adopted.iter().map(|(_, step)| &step.usage.total).chain(&open));
        let end = run.end.as_ref().map(|end| &end.usage);
        Usage {
            duration_ms: run.elapsed_ms(),
            total,
            own,
            schema_used: end.is_some_and(|end| end.schema_used),
            schema_bytes: end.and_then(|end| end.schema_bytes),
            structured_output: end.and_then(|end| end.structured_output),
            system_prompt_tokens: end.and_then(|end| end.system_prompt_tokens),
        }
    }
}

/// The definitions of a run: those of `[memory]` that no program changed as they are written.
fn with_initial(run: &RunRecord, agent: Option<&Agent>) -> Vec<(String, String)> {
    let mut memory = run.memory.clone();
    let initial = agent.and_then(|agent| agent.option("memory")).and_then(Json::members).unwrap_or_default();
    for (name, text) in initial.iter().filter_map(|member| Some((&member.key, member.value.as_str()?))) {
        memory.entry(name.clone()).or_insert_with(|| text.to_owned());
    }
    memory.into_iter().collect()
}
