//! The conversation of a run: its messages, and which of them a request carries in which order.
//!
//! Messages are only ever added. As long as the opening is not edited, they are sent in the order in which they were added; an edited
//! opening replaces the old one. Only requests are shortened: the run keeps every message.

use std::sync::Arc;

use ptc_core::lisp::firewall::stripped;
use ptc_core::text::estimate_tokens;
use ptc_core::value::Json;

use crate::agent::{Compaction, Plan};
use crate::event::{
    self, Address, CompactionDone, CompactionReason, CompactionStrategy, RepeatedReply, Role, RunText, ranges,
};
use crate::model::{Content, Message, Reply};
use crate::prompt;

/// The messages of a run.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    /// All of them, as a model gets them.
    messages: Vec<Arc<Message>>,
    /// For each message the estimated tokens of it and all before it.
    tokens: Vec<u64>,
    /// The replies that assistant messages point at.
    replies: RunText,
    /// The numbers of those that are sent, in order.
    order: Vec<u32>,
    /// The index of the message with the task in this order. The system text is the first, if there is one.
    task: usize,
}

impl Conversation {
    /// The number of the next message.
    pub(super) fn next(&self) -> u32 {
        u32::try_from(self.messages.len()).unwrap_or(u32::MAX)
    }

    /// Adds a message at the end.
    pub(super) fn add(&mut self, message: &event::MessageAdded) {
        let outgoing = prompt::outgoing(message, &self.replies);
        self.order.push(self.next());
        self.tokens.push(self.tokens_before(self.messages.len()) + estimate_tokens(&outgoing.joined()));
        self.messages.push(Arc::new(outgoing));
    }

    /// Keeps a reply, so that an assistant message can point at it.
    pub(super) fn add_reply(&mut self, at: &Address, reply: &Reply) {
        let repeated = RepeatedReply {
            attempt: reply.attempt,
            text: reply.text.clone(),
            calls: reply.calls.clone(),
            opaque: reply.opaque.clone(),
        };
        self.replies.insert(at.clone(), repeated);
    }

    /// Calls without an id, or with one that another call of the run has, get one that none has.
    pub(super) fn with_ids(&self, mut reply: Reply) -> Reply {
        let ids = self.messages.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
            Content::Call(call) => Some(call.id.clone()),
            _ => None,
        });
        let mut known: Vec<String> = ids.collect();
        let first = known.len() + 1;
        for (place, call) in reply.calls.iter_mut().enumerate() {
            if call.id.is_empty() || known.contains(&call.id) {
                let free = (first + place..).map(|number| format!("tc_{number}"));
                call.id = free.into_iter().find(|id| !known.contains(id)).unwrap_or_default();
            }
            known.push(call.id.clone());
        }
        reply
    }

    /// All messages by number.
    pub(super) fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// The messages of these inclusive ranges.
    pub(super) fn of_ranges(&self, ranges: &[(u32, u32)]) -> Vec<Arc<Message>> {
        let numbers = ranges.iter().flat_map(|(first, last)| *first..=*last);
        numbers.filter_map(|number| self.messages.get(number as usize)).cloned().collect()
    }

    /// All of them, as a request names them.
    pub(super) fn whole(&self) -> Vec<(u32, u32)> {
        ranges(self.order.iter().copied())
    }

    /// The last message replaces this one. One that is not sent with every request has no place.
    pub(super) fn replace(&mut self, message: u32) {
        match self.order.iter().position(|known| *known == message) {
            Some(place) => self.replace_at(place),
            None => _ = self.order.pop(),
        }
    }

    /// The last message is the system text from now on.
    pub(super) fn replace_system(&mut self) {
        if self.has_system() {
            self.replace_at(0);
        } else if let Some(last) = self.order.pop() {
            self.order.insert(0, last);
            self.task += 1;
        }
    }

    /// No system text is sent from now on.
    pub(super) fn remove_system(&mut self) {
        if self.has_system() {
            self.order.remove(0);
            self.task = self.task.saturating_sub(1);
        }
    }

    fn has_system(&self) -> bool {
        let first = self.order.first().and_then(|number| self.messages.get(*number as usize));
        first.is_some_and(|message| message.role == Role::System)
    }

    /// The last message is the task from now on.
    pub(super) fn replace_task(&mut self) {
        self.replace_at(self.task);
    }

    /// The last message is the task.
    pub(super) fn mark_task(&mut self) {
        self.task = self.order.len().saturating_sub(1);
    }

    fn replace_at(&mut self, place: usize) {
        if let Some(last) = self.order.pop()
            && let Some(old) = self.order.get_mut(place)
        {
            *old = last;
        }
    }

    /// The tokens of the system text, estimated.
    pub(super) fn system_tokens(&self) -> Option<u64> {
        let system = self.messages.iter().find(|message| message.role == Role::System);
        system.map(|message| estimate_tokens(&message.joined()))
    }

    /// The messages for a run that continues this one. An answer that is in no message gets one; what the firewall hides is left out.
    pub(super) fn carried(&self, plan: &Plan, answer: Option<&Json>) -> Vec<Arc<Message>> {
        let mut messages: Vec<_> =
            self.messages.iter().filter(|message| message.role != Role::System).cloned().collect();
        let missing = answer.filter(|_| messages.last().is_some_and(|message| message.role != Role::Assistant));
        messages.extend(missing.map(|answer| {
            let value = if plan.hides() { Json::from(&stripped(&answer.to_value())) } else { answer.clone() };
            let text = value.as_str().map_or_else(|| value.to_text(), ToOwned::to_owned);
            Arc::new(Message::text(Role::Assistant, text))
        }));
        messages
    }

    /// The messages without the oldest ones, when the agent has `trim` and there are too many turns or tokens; what that leaves out.
    pub(super) fn trimmed(&self, plan: &Plan, turn: u32) -> Option<(Vec<(u32, u32)>, CompactionDone)> {
        let Some(Compaction::Trim { turns, tokens: most, keep_turns, keep_first }) = plan.settings.compaction else {
            return None;
        };
        let whole = self.whole();
        let before = self.tokens(&whole);
        let by_turns = turn > turns;
        let by_tokens = most.is_some_and(|most| before >= most);
        if plan.agent.max_turns <= 1 || !(by_turns || by_tokens) {
            return None;
        }
        // An earlier conversation of the agent is before the task.
        let first = if plan.settings.messages.is_empty() { 1 } else { self.task };
        let kept = self.last_turns(keep_turns, keep_first.then_some(first));
        if kept == whole {
            return None;
        }
        let after = self.tokens(&kept);
        let over = most.is_some_and(|most| after >= most);
        let reason = if by_turns { CompactionReason::TurnPressure } else { CompactionReason::TokenPressure };
        let counts = vec![
            ("kept_recent_turns".to_owned(), keep_turns.into()),
            ("kept_initial_user".to_owned(), u64::from(keep_first)),
            ("over_budget".to_owned(), u64::from(over)),
        ];
        let done = compaction((CompactionStrategy::Trim, reason), (&whole, before), (&kept, after), counts);
        Some((kept, done))
    }

    /// The system text and the last message, which summarizes `before`; what that leaves out.
    pub(super) fn summarized(
        &self,
        before: &[(u32, u32)],
        counts: Vec<(String, u64)>,
    ) -> (Vec<(u32, u32)>, CompactionDone) {
        let kept = ranges(self.order.first().into_iter().chain(self.order.last()).copied());
        let sizes = (self.tokens(before), self.tokens(&kept));
        let done = compaction(
            (CompactionStrategy::Coalesce, CompactionReason::TurnPressure),
            (before, sizes.0),
            (&kept, sizes.1),
            counts,
        );
        (kept, done)
    }

    /// The tokens of the messages in these ranges, estimated.
    fn tokens(&self, ranges: &[(u32, u32)]) -> u64 {
        let between =
            |(from, to): &(u32, u32)| self.tokens_before(*to as usize + 1) - self.tokens_before(*from as usize);
        ranges.iter().map(between).sum()
    }

    /// The tokens of this many messages, from the first, estimated.
    fn tokens_before(&self, count: usize) -> u64 {
        count.checked_sub(1).map_or(0, |last| self.tokens.get(last).copied().unwrap_or_default())
    }

    /// The system text, the message at the place `first`, and the last turns: each starts with a message of the assistant and ends with
    /// what came back; the first kept message after the gap is one of the user.
    fn last_turns(&self, keep_turns: u32, first: Option<usize>) -> Vec<(u32, u32)> {
        let message = |place: usize| self.order.get(place).and_then(|number| self.messages.get(*number as usize));
        let is_user = |place: usize| message(place).is_some_and(|message| message.role == Role::User);
        let last = self.order.len().saturating_sub(1);
        let mut from = last.saturating_sub((keep_turns as usize).saturating_mul(2).saturating_sub(1));
        while from < last && !is_user(from) {
            from += 1;
        }
        let first = first.filter(|first| *first < from);
        if from <= 1 {
            return self.whole();
        }
        let head = [0].into_iter().chain(first).filter_map(|place| self.order.get(place));
        ranges(head.chain(self.order.iter().skip(from)).copied())
    }
}

/// The record of a shortened request: strategy and reason, messages and tokens before and after.
fn compaction(
    (strategy, reason): (CompactionStrategy, CompactionReason),
    (before, tokens_before): (&[(u32, u32)], u64),
    (after, tokens_after): (&[(u32, u32)], u64),
    counts: Vec<(String, u64)>,
) -> CompactionDone {
    let count = |ranges: &[(u32, u32)]| ranges.iter().map(|(from, to)| to - from + 1).sum();
    CompactionDone {
        strategy,
        reason,
        messages_before: count(before),
        messages_after: count(after),
        tokens_before,
        tokens_after,
        counts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{MessagePart, Source};

    #[test]
    fn an_edited_opening_takes_the_place_of_the_old_one() {
        let mut conversation = Conversation::default();
        add(&mut conversation, Role::System);
        add(&mut conversation, Role::User);
        conversation.mark_task();
        add(&mut conversation, Role::Assistant);
        add(&mut conversation, Role::User);
        assert_eq!(conversation.whole(), [(0, 3)]);
        add(&mut conversation, Role::System);
        conversation.replace_system();
        add(&mut conversation, Role::User);
        conversation.replace_task();
        assert_eq!(conversation.whole(), [(4, 5), (2, 3)]);
        add(&mut conversation, Role::Assistant);
        assert_eq!(conversation.whole(), [(4, 5), (2, 3), (6, 6)]);
    }

    #[test]
    fn an_edited_opening_adds_or_removes_the_system_text() {
        let mut conversation = Conversation::default();
        add(&mut conversation, Role::User);
        conversation.mark_task();
        add(&mut conversation, Role::Assistant);
        add(&mut conversation, Role::System);
        conversation.replace_system();
        add(&mut conversation, Role::User);
        conversation.replace_task();
        assert_eq!(conversation.whole(), [(2, 3), (1, 1)]);
        conversation.remove_system();
        add(&mut conversation, Role::User);
        conversation.replace_task();
        assert_eq!(conversation.whole(), [(4, 4), (1, 1)]);
        conversation.remove_system();
        assert_eq!(conversation.whole(), [(4, 4), (1, 1)]);
    }

    fn add(conversation: &mut Conversation, role: Role) {
        let part = MessagePart::Text { section: "task".to_owned(), text: "x".to_owned(), untrusted: false };
        let m = conversation.next();
        conversation.add(&event::MessageAdded { m, role, source: Source::Prompt, parts: vec![part] });
    }
}
