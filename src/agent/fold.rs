//! The fold from events to a Step: the same for a live run and for a file.

use ptc_core::value::{Json, json};

use super::{CallEntry, Inputs, QuestionEntry, Step, Turn, Usage};
use crate::event::{
    Address, Bill, Edit, Envelope, Event, ExtractKind, Kept, MemoryChange, MessageLog, Role, RunEnd, RunStart, RunText,
    Said, Sent, SentMessage, Source, Totals, Waits, elapsed_ms,
};
use crate::model::OtherModel;

/// Folds the events of one run and of the runs below it.
#[derive(Debug, Clone, Default)]
pub struct StepFold {
    step: Step,
    run: Option<Address>,
    below: Vec<(Address, StepFold)>,
    adopted: Vec<(Address, Step)>,
    started_ms: i64,
    bill: Bill,
    /// What the run is asked for, when its agent can be read.
    inputs: Option<Inputs>,
    /// Edits whose turn has not begun.
    edits: Vec<Edit>,
    log: MessageLog,
    /// The turn that has not ended, without its reply.
    turn: Option<Turn>,
    /// The reply of that turn.
    said: Said,
    /// What left the machine in its last attempt.
    sent: Option<Sent>,
    turn_started_ms: i64,
    /// The waits of the whole session, at the outermost fold of a file.
    waits: Waits,
    /// What of the time so far was waited, in ms.
    waited_ms: u64,
    /// What the turns that ended used.
    totals: Totals,
    last_ms: i64,
    ended: bool,
}

impl StepFold {
    /// Takes the next event.
    pub fn apply(&mut self, envelope: &Envelope) {
        let mut waits = std::mem::take(&mut self.waits);
        waits.apply(envelope);
        self.apply_among(&waits, envelope);
        self.waits = waits;
    }

    /// The same for a fold that does not see all events: these are the waits of all of them, this one included.
    pub fn apply_among(&mut self, waits: &Waits, envelope: &Envelope) {
        let run = self.run.get_or_insert_with(|| envelope.run());
        if envelope.run() != *run {
            let Some(child) = envelope.run().child_of(run) else { return };
            return self.apply_below(&child, waits, envelope);
        }
        self.log.apply(envelope);
        self.last_ms = envelope.at_ms;
        match &envelope.event {
            Event::MemoryChange(change) if !change.rolled_back => remember(&mut self.step.memory, change),
            Event::ToolCall(call) => self.step.calls.push(CallEntry {
                address: Some(envelope.address.clone()),
                name: call.name.clone(),
                kind: call.kind.clone(),
                args: call.args.clone(),
                ..CallEntry::default()
            }),
            Event::ToolEnd(end) => {
                let entry =
                    self.step.calls.iter_mut().rev().find(|call| call.address.as_ref() == Some(&envelope.address));
                if let Some(entry) = entry {
                    entry.status = Some(end.status);
                    entry.result.clone_from(&end.result);
                    entry.error.clone_from(&end.error);
                    entry.cached = end.cached;
                    entry.ms = end.ms;
                }
            }
            Event::QuestionAsked(question) => self.step.questions.push(QuestionEntry {
                address: Some(envelope.address.clone()),
                kind: question.kind.name().to_owned(),
                text: question.text.clone(),
                answer: None,
            }),
            Event::AnswerGiven(answer) => {
                let asked = self.step.questions.iter_mut().rev();
                let asked = asked.into_iter().find(|asked| asked.address.as_ref() == Some(&envelope.address));
                if let Some(asked) = asked {
                    asked.answer = Some(answer.value.clone());
                }
            }
            Event::RunWait(wait) => {
                self.step.waits_for = Some(Address::from(wait.question.as_str()));
                self.waited_ms = waits.within(&envelope.run(), self.started_ms, envelope.at_ms);
            }
            Event::PlanState(plan) => {
                let done = plan.items.iter().filter_map(|(id, _, summary)| Some((id.clone(), summary.clone()?)));
                self.step.summaries = done.collect();
            }
            Event::RunStart(start) => {
                self.step.address = Some(envelope.address.clone());
                self.start(start, envelope.at_ms);
            }
            Event::Edit(edit) => self.edit(&envelope.address.turn_part(), edit),
            Event::TurnStart(start) if start.stop.is_none() => {
                self.turn_started_ms = envelope.at_ms;
                self.said = Said::default();
                self.sent = None;
                self.turn = Some(Turn {
                    number: envelope.address.turn_number().unwrap_or_default(),
                    address: Some(envelope.address.clone()),
                    kind: start.kind.as_ref().map(ToString::to_string),
                    edits: std::mem::take(&mut self.edits),
                    ..Turn::default()
                });
            }
            Event::TurnEnd(_) | Event::RunEnd(_) => self.end(waits, envelope),
            event => {
                if let Some(turn) = &mut self.turn {
                    self.said.apply(event);
                    in_turn(turn, &self.said, event);
                    match event {
                        Event::Sent(sent) => self.sent = Some(sent.clone()),
                        Event::ReplyEnd(end) => {
                            self.bill.answered(end);
                            // What a person puts in its place is one more attempt, and no model's.
                            if let Some(sent) = self.sent.as_ref().filter(|sent| sent.attempt == end.attempt) {
                                turn.other_model = OtherModel::of(sent, end);
                            }
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    fn apply_below(&mut self, child: &Address, waits: &Waits, envelope: &Envelope) {
        let place = self.below.iter().position(|(address, _)| address == child).unwrap_or_else(|| {
            self.below.push((child.clone(), Self::default()));
            self.below.len() - 1
        });
        let (_, fold) = &mut self.below[place];
        fold.apply_among(waits, envelope);
        if fold.is_complete()
            && fold.run == Some(envelope.address.clone())
            && matches!(envelope.event, Event::RunEnd(_))
        {
            let step = fold.step();
            self.below.remove(place);
            self.adopt(child.clone(), step);
        }
    }

    /// Takes the Step of the run below that this call started.
    pub fn adopt(&mut self, call: Address, step: Step) {
        let place = self.adopted.partition_point(|(known, _)| *known < call);
        self.adopted.insert(place, (call, step));
    }

    fn start(&mut self, start: &RunStart, at_ms: i64) {
        self.started_ms = at_ms;
        self.bill = Bill::new(start.model.clone());
        self.step.name.clone_from(&start.agent.name);
        self.inputs = Inputs::of(start).ok();
        self.describe();
        // A run that went on after waiting starts over in the same file.
        self.step.waits_for = None;
    }

    /// What was edited where a session was forked counts from there on.
    fn edit(&mut self, turn: &Address, edit: &Edit) {
        if let Some(inputs) = self.inputs.as_mut().filter(|_| edit.is_of_the_turn()) {
            // Definitions are no inputs; what cannot be taken any more leaves them as they are.
            _ = inputs.edit(edit);
            self.describe();
        }
        match self.turn.as_mut().filter(|open| open.address.as_ref() == Some(turn)) {
            Some(open) => open.edits.push(edit.clone()),
            None => self.edits.push(edit.clone()),
        }
    }

    /// Names what only the definition knows.
    fn describe(&mut self) {
        let Some(Inputs { agent, .. }) = &self.inputs else { return };
        self.step.signature.clone_from(&agent.signature);
        self.step.original_prompt = Some(agent.prompt.clone());
        self.step.field_descriptions.clone_from(&agent.field_descriptions);
    }

    fn end(&mut self, waits: &Waits, envelope: &Envelope) {
        let (run, now) = (envelope.run(), envelope.at_ms);
        self.waited_ms = waits.within(&run, self.started_ms, now);
        match &envelope.event {
            Event::TurnEnd(end) => {
                let Some(mut turn) = self.turn.take() else { return };
                turn.raw_response = std::mem::take(&mut self.said).text;
                turn.success = end.success;
                turn.reason.clone_from(&end.reason);
                turn.tokens = end.usage;
                turn.cost = self.bill.cost_of(turn.tokens);
                self.bill.add(turn.tokens);
                let waited_ms = waits.within(&run, self.turn_started_ms, now);
                turn.latency_ms = elapsed_ms(self.turn_started_ms, now).saturating_sub(waited_ms);
                self.totals = end.totals;
                self.step.turns.push(turn);
            }
            Event::RunEnd(end) => self.finish_run(end, now),
            _ => {}
        }
    }

    fn finish_run(&mut self, end: &RunEnd, at_ms: i64) {
        self.ended = true;
        self.step.answer = end.value.as_ref().map(crate::event::JsonText::json);
        self.step.value = self.step.answer.as_ref().map(Json::to_value).unwrap_or_default();
        self.step.fail.clone_from(&end.fail);
        self.step.summary.clone_from(&end.summary);
        self.step.refs = end.refs.as_ref().map(crate::event::JsonText::json);
        self.step.from_turn = end.from_turn;
        self.step.journal = end.journal.as_ref().map(crate::event::JsonText::json);
        self.step.waits_for = None;
        let is_mission = |message: &&SentMessage| message.source == Source::Prompt && message.role == Role::User;
        self.step.prompt = self.log.messages().iter().find(is_mission).map(SentMessage::text);
        let usage = &end.usage;
        self.step.usage = Usage {
            duration_ms: elapsed_ms(self.started_ms, at_ms).saturating_sub(self.waited_ms),
            turns: usage.totals.turns,
            llm_requests: usage.totals.requests,
            children: usage.children,
            tokens: usage.totals.tokens,
            cost: self.bill.cost(None),
            schema_used: usage.schema_used,
            schema_bytes: usage.schema_bytes,
            structured_output: usage.structured_output,
            system_prompt_tokens: usage.system_prompt_tokens,
        };
    }

    /// What the run is asked for, edits included; `None` when its agent cannot be read.
    pub fn inputs(&self) -> Option<&Inputs> {
        self.inputs.as_ref()
    }

    /// Who answered, and what it cost.
    pub fn bill(&self) -> &Bill {
        &self.bill
    }

    /// Has the run ended?
    pub fn is_complete(&self) -> bool {
        self.ended
    }

    /// The Step so far; a turn that has not ended is its last one.
    pub fn step(&self) -> Step {
        let mut step = self.step.clone();
        let open = self.turn.iter().map(|turn| Turn {
            raw_response: self.said.text.clone(),
            cost: self.bill.cost_of(turn.tokens),
            ..turn.clone()
        });
        step.turns.extend(open);
        step.messages = self.log.messages().to_vec();
        // Branches end in any order; the Step is always the same.
        step.calls.sort_by(|one, other| one.address.cmp(&other.address));
        step.children = self.adopted.iter().map(|(_, step)| step.clone()).collect();
        if !self.ended {
            step.usage = self.used();
        }
        step
    }

    /// What a run that has not ended used so far: the turns that ended, and what the provider told of the one that has not.
    fn used(&self) -> Usage {
        let open = self.turn.as_ref().map(|turn| Totals { turns: 1, requests: turn.attempts, tokens: turn.tokens });
        let totals = open.map_or(self.totals, |open| self.totals.plus(&open));
        Usage {
            duration_ms: elapsed_ms(self.started_ms, self.last_ms).saturating_sub(self.waited_ms),
            turns: totals.turns,
            llm_requests: totals.requests,
            children: self.adopted.iter().map(|(_, step)| step.usage.totals()).reduce(|one, other| one.plus(&other)),
            tokens: totals.tokens,
            cost: self.bill.cost(self.turn.as_ref().and_then(|turn| turn.tokens)),
            ..Usage::default()
        }
    }
}

fn remember(memory: &mut Vec<(String, String)>, change: &MemoryChange) {
    memory.retain(|(name, _)| !change.del.contains(name) && !change.set.iter().any(|(changed, _)| changed == name));
    memory.extend(change.set.iter().map(|(name, value)| (name.clone(), value.text().to_owned())));
    memory.sort();
}

fn in_turn(turn: &mut Turn, said: &Said, event: &Event) {
    turn.attempts = said.attempt;
    match event {
        Event::RequestMade(request) => turn.request.clone_from(&request.messages),
        Event::ReplyEnd(end) => {
            turn.tokens = end.usage.or(turn.tokens);
            turn.model.clone_from(&end.model);
            turn.by.clone_from(&end.by);
            turn.finish_reason.clone_from(&end.finish);
            turn.first_ms = end.first_ms;
            turn.error.clone_from(&end.error);
        }
        Event::Extract(extract) => {
            turn.fixes = extract.fixes.iter().map(|(name, ..)| name.clone()).collect();
            turn.error.clone_from(&extract.error);
            if extract.kind == ExtractKind::Program {
                let whole = || Some(said.text.get(extract.span?.0..extract.span?.1)?.to_owned());
                turn.program = match &extract.repaired {
                    Some(Kept::Whole(text) | Kept::Head { head: text, .. }) => Some(text.clone()),
                    None => whole(),
                };
                return;
            }
            turn.json = match (&extract.repaired, extract.span) {
                (Some(Kept::Whole(text)), _) => json::parse(text).ok(),
                (None, Some((start, end))) => said.text.get(start..end).and_then(|text| json::parse(text).ok()),
                _ => None,
            };
        }
        Event::ProgramEnd(end) => {
            turn.result = end.value.as_ref().map(Kept::text).map(ToOwned::to_owned);
            turn.prints.clone_from(&end.prints);
            turn.error.clone_from(&end.error);
        }
        Event::CompactionDone(done) => turn.compaction = Some(done.clone()),
        Event::Check(check) => turn.issues.extend(check.issues.iter().cloned()),
        Event::Message(message) if message.source == Source::Feedback => {
            turn.feedback = Some(message.plain_text(&RunText::default()));
        }
        _ => {}
    }
}
