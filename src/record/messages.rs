//! Messages of one run, for readers that rebuild requests and need nothing else of its turns.

use std::collections::HashMap;

use super::TurnAttempts;
use crate::event::{Address, Envelope, Event, SentMessage, in_order};

/// Collects the messages of one run, each once, and which of them each turn sent.
#[derive(Debug, Clone, Default)]
pub(crate) struct MessageLog {
    messages: Vec<SentMessage>,
    requests: HashMap<Address, Vec<(u32, u32)>>,
    replies: TurnAttempts,
}

impl MessageLog {
    /// Takes the next event of the run.
    pub(crate) fn apply(&mut self, envelope: &Envelope) {
        match &envelope.event {
            Event::Message(message) => self.messages.push(SentMessage::of(message, &self.replies)),
            Event::RequestMade(request) => {
                self.requests.insert(envelope.address.clone(), request.messages.clone());
            }
            event @ (Event::ReplyPart(_) | Event::ReplyEnd(_)) => {
                self.replies.entry(envelope.address.clone()).or_default().apply(event);
            }
            _ => {}
        }
    }

    /// The messages that were sent at a turn.
    pub(crate) fn request(&self, turn: &Address) -> Option<Vec<SentMessage>> {
        self.requests.get(turn).map(|ranges| in_order(&self.messages, ranges).cloned().collect())
    }
}
