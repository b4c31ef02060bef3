//! What each event changes in a turn's card.

use super::card::{CallLine, TurnCard};
use super::partial::Reading;
use crate::event::{Address, Event, PartKind};

impl TurnCard {
    /// Takes an event of this turn; `at` is its own address, which may be a call or a question of the turn.
    pub(super) fn apply(&mut self, at: &Address, at_ms: i64, event: &Event) {
        self.last_ms = self.last_ms.max(at_ms);
        match event {
            Event::RequestMade(made) => {
                made.want.name().clone_into(&mut self.want);
                self.schema.clone_from(&made.schema);
            }
            Event::CompactionDone(done) => self.compaction = Some(done.clone()),
            Event::ToolCall(call) => self.calls.push(CallLine::begun(at, at_ms, call)),
            Event::ToolEnd(end) => {
                if let Some(call) = self.calls.iter_mut().rev().find(|call| call.address.as_ref() == Some(at)) {
                    call.end(end);
                }
            }
            Event::QuestionAsked(question) => {
                // A run that goes on after waiting asks again.
                self.questions.retain(|(known, ..)| known != at);
                self.questions.push((at.clone(), question.clone(), None));
            }
            Event::AnswerGiven(answer) => {
                self.asked = false;
                if let Some(question) = self.questions.iter_mut().find(|(known, ..)| known == at) {
                    question.2 = Some(answer.clone());
                }
            }
            Event::Edit(edit) => self.edits.push(edit.clone()),
            Event::ProgramEnd(end) => self.program = Some(end.clone()),
            Event::MemoryChange(change) => self.memory = Some(change.clone()),
            Event::TasksKept(tasks) => self.tasks = Some(tasks.clone()),
            Event::PlanState(plan) => self.plan = Some(plan.clone()),
            Event::Sent(sent) => {
                self.wait = None;
                self.attempt(sent.attempt).sent = Some(sent.clone());
            }
            Event::Wire(wire) => self.attempt(wire.attempt).wire = Some(wire.clone()),
            Event::RetryWait(wait) => {
                let until_ms = at_ms.saturating_add_unsigned(wait.wait_ms);
                self.wait = Some((wait.clone(), until_ms));
            }
            Event::ReplyPart(part) => {
                self.wait = None;
                self.asked = false;
                if part.kind == PartKind::Call {
                    self.attempt(part.attempt).calling.push_str(&part.text);
                }
                if part.kind == PartKind::Text {
                    let begun = self.attempt(part.attempt).reading.take();
                    let mut reading = begun.unwrap_or_else(|| Reading::new(self.schema.as_ref(), self.reader.clone()));
                    reading.take(&part.text);
                    let attempt = self.attempt(part.attempt);
                    attempt.text.push_str(&part.text);
                    attempt.reading = Some(reading);
                }
            }
            Event::ReplyEnd(end) => {
                self.wait = None;
                self.asked = false;
                self.attempt(end.attempt).end = Some(end.clone());
            }
            Event::Extract(extract) => self.extract = Some(extract.clone()),
            Event::Check(check) => self.checks.push(check.clone()),
            Event::Interrupt(interrupt) => self.interrupts.push(interrupt.clone()),
            Event::Notice(notice) => self.notices.push((notice.level.name().to_owned(), notice.text.clone())),
            Event::Unknown(unknown) => self.unknown.push((unknown.kind.clone(), unknown.data.get().to_owned())),
            Event::TurnEnd(end) => {
                self.wait = None;
                self.asked = false;
                self.end = Some(end.clone());
            }
            _ => {}
        }
    }
}
