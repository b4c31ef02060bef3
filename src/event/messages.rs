//! Messages as sent: stored once and numbered, rebuilt byte for byte from the ranges that a request names.

use std::collections::HashMap;

use super::{Address, Envelope, Event, Message, MessagePart, PartKind, Role, Source};

/// The reply texts of a run by turn address.
pub type RunText = HashMap<Address, String>;

/// A message of a request with its whole text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentMessage {
    /// Number within the run.
    pub m: u32,
    /// Who speaks.
    pub role: Role,
    /// Why it exists.
    pub source: Source,
    /// Its text as sent.
    pub text: String,
    /// Its parts: prompt section and text.
    pub parts: Vec<(String, String)>,
}

/// Collects the messages and reply texts of one run.
#[derive(Debug, Clone, Default)]
pub(crate) struct MessageLog {
    messages: Vec<Message>,
    replies: RunText,
    attempts: HashMap<Address, u32>,
}

impl MessageLog {
    pub(crate) fn apply(&mut self, envelope: &Envelope) {
        match &envelope.event {
            Event::Message(message) => self.messages.push(message.clone()),
            Event::ReplyPart(part) if part.kind == PartKind::Text => {
                let text = self.replies.entry(envelope.address.clone()).or_default();
                let attempt = self.attempts.entry(envelope.address.clone()).or_default();
                if part.attempt > *attempt {
                    text.clear();
                    *attempt = part.attempt;
                }
                text.push_str(&part.text);
            }
            _ => {}
        }
    }

    /// The messages of these inclusive ranges.
    pub(crate) fn expand(&self, ranges: &[(u32, u32)]) -> Vec<SentMessage> {
        let inside = |m: u32| ranges.iter().any(|(first, last)| (*first..=*last).contains(&m));
        self.messages
            .iter()
            .filter(|message| inside(message.m))
            .map(|message| SentMessage {
                m: message.m,
                role: message.role,
                source: message.source,
                text: message.plain_text(&self.replies),
                parts: message.sections(&self.replies),
            })
            .collect()
    }

    /// The text of the first message of this kind.
    pub(crate) fn text_of(&self, source: Source, role: Role) -> Option<String> {
        let message = self.messages.iter().find(|message| message.source == source && message.role == role)?;
        Some(message.plain_text(&self.replies))
    }
}

impl Message {
    /// The text as sent, given the reply texts of the run.
    pub fn plain_text(&self, replies: &RunText) -> String {
        self.sections(replies).into_iter().map(|(_, text)| text).collect()
    }

    /// Section name and text of each part.
    pub fn sections(&self, replies: &RunText) -> Vec<(String, String)> {
        self.parts
            .iter()
            .map(|part| match part {
                MessagePart::Text { section, text, .. } => (section.clone(), text.clone()),
                MessagePart::Reply { reply } => ("reply".to_owned(), replies.get(reply).cloned().unwrap_or_default()),
            })
            .collect()
    }
}

/// The messages of the request that these events of one run hold for a turn.
pub fn expand_requests(events: &[Envelope], turn: &Address) -> Option<Vec<SentMessage>> {
    let mut log = MessageLog::default();
    for envelope in events {
        log.apply(envelope);
    }
    events.iter().find_map(|envelope| match &envelope.event {
        Event::RequestMade(request) if envelope.address == *turn => Some(log.expand(&request.messages)),
        _ => None,
    })
}
