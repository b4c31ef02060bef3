//! The fold from events to a Step: the same for a live run and for a file.

use ptc_core::value::{Json, json};

use super::{Agent, CallEntry, Step, Turn, Usage};
use crate::event::{
    Address, Envelope, Event, Gaps, Kept, MemoryChange, MessageLog, Price, Role, RunEnd, RunStart, RunText, Said, Sent,
    SentMessage, Source, Totals, cost_of, elapsed_ms,
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
    price: Option<Price>,
    log: MessageLog,
    /// The turn that has not ended, without its reply.
    turn: Option<Turn>,
    /// The reply of that turn.
    said: Said,
    /// What left the machine in its last attempt.
    sent: Option<Sent>,
    turn_started_ms: i64,
    gaps: Gaps,
    /// What the turns that ended used.
    totals: Totals,
    last_ms: i64,
    ended: bool,
}

impl StepFold {
    /// Takes the next event.
    pub fn apply(&mut self, envelope: &Envelope) {
        let gap_ms = self.gaps.before(envelope);
        if gap_ms > 0 {
            self.leave_out(gap_ms);
        }
        self.take(envelope);
    }

    /// Time in which nobody ran does not count.
    fn leave_out(&mut self, gap_ms: i64) {
        self.started_ms = self.started_ms.saturating_add(gap_ms);
        self.turn_started_ms = self.turn_started_ms.saturating_add(gap_ms);
        self.below.iter_mut().for_each(|(_, fold)| fold.leave_out(gap_ms));
    }

    fn take(&mut self, envelope: &Envelope) {
        let run = self.run.get_or_insert_with(|| envelope.run());
        if envelope.run() != *run {
            let Some(child) = envelope.run().child_of(run) else { return };
            return self.apply_below(&child, envelope);
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
            Event::RunWait(wait) => self.step.waits_for = Some(Address::from(wait.question.as_str())),
            Event::PlanState(plan) => {
                let done = plan.items.iter().filter_map(|(id, _, summary)| Some((id.clone(), summary.clone()?)));
                self.step.summaries = done.collect();
            }
            Event::RunStart(start) => self.start(start, envelope.at_ms),
            Event::TurnStart(start) if start.stop.is_none() => {
                self.turn_started_ms = envelope.at_ms;
                self.said = Said::default();
                self.sent = None;
                self.turn = Some(Turn {
                    number: envelope.address.turn_number().unwrap_or_default(),
                    address: Some(envelope.address.clone()),
                    kind: Some(start.kind.clone()).filter(|kind| !kind.is_empty()),
                    ..Turn::default()
                });
            }
            Event::TurnEnd(_) | Event::RunEnd(_) => self.end(envelope),
            event => {
                if let Some(turn) = &mut self.turn {
                    self.said.apply(event);
                    in_turn(turn, &self.said, event);
                    match event {
                        Event::Sent(sent) => self.sent = Some(sent.clone()),
                        Event::ReplyEnd(end) => {
                            turn.other_model = self.sent.as_ref().and_then(|sent| OtherModel::of(sent, end));
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    fn apply_below(&mut self, child: &Address, envelope: &Envelope) {
        let place = self.below.iter().position(|(address, _)| address == child).unwrap_or_else(|| {
            self.below.push((child.clone(), Self::default()));
            self.below.len() - 1
        });
        let (_, fold) = &mut self.below[place];
        fold.take(envelope);
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
        self.price = start.model.price;
        self.step.name.clone_from(&start.agent.name);
        if let Ok(agent) = Agent::recorded(&start.agent.toml) {
            self.describe(&agent);
        }
        // A run that went on after waiting starts over in the same file.
        self.step.waits_for = None;
    }

    /// Names what only the definition knows.
    fn describe(&mut self, agent: &Agent) {
        self.step.signature.clone_from(&agent.signature);
        self.step.original_prompt = Some(agent.prompt.clone());
        self.step.field_descriptions.clone_from(&agent.field_descriptions);
    }

    fn end(&mut self, envelope: &Envelope) {
        match &envelope.event {
            Event::TurnEnd(end) => {
                let Some(mut turn) = self.turn.take() else { return };
                turn.raw_response = std::mem::take(&mut self.said).text;
                turn.success = end.success;
                turn.reason.clone_from(&end.reason);
                turn.tokens = end.usage;
                turn.cost = cost_of(self.price, turn.tokens);
                turn.latency_ms = elapsed_ms(self.turn_started_ms, envelope.at_ms);
                self.totals = end.totals;
                self.step.turns.push(turn);
            }
            Event::RunEnd(end) => self.finish_run(end, envelope.at_ms),
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
            duration_ms: elapsed_ms(self.started_ms, at_ms),
            turns: usage.totals.turns,
            llm_requests: usage.totals.requests,
            children: usage.children,
            tokens: usage.totals.tokens,
            cost: cost_of(self.price, usage.totals.tokens),
            schema_used: usage.schema_used,
            schema_bytes: usage.schema_bytes,
            structured_output: usage.structured_output,
            system_prompt_tokens: usage.system_prompt_tokens,
        };
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
            cost: cost_of(self.price, turn.tokens),
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
            duration_ms: elapsed_ms(self.started_ms, self.last_ms),
            turns: totals.turns,
            llm_requests: totals.requests,
            children: self.adopted.iter().map(|(_, step)| step.usage.totals()).reduce(|one, other| one.plus(&other)),
            tokens: totals.tokens,
            cost: cost_of(self.price, totals.tokens),
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
            turn.finish_reason.clone_from(&end.finish);
            turn.first_ms = end.first_ms;
            turn.error.clone_from(&end.error);
        }
        Event::Extract(extract) => {
            turn.fixes = extract.fixes.iter().map(|(name, ..)| name.clone()).collect();
            turn.error.clone_from(&extract.error);
            if extract.kind == "program" {
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
