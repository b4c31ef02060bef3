//! Changes of a turn's card by events: the record takes them, and what only the transcript shows is kept next to it.

use super::card::{CallLine, TurnCard};
use super::partial::Reading;
use crate::event::{Envelope, Event, PartKind, ReplyPart};

impl TurnCard {
    /// Takes an event of this turn, of one of its calls or of one of its questions.
    pub(super) fn apply(&mut self, envelope: &Envelope) {
        self.record.last_ms = self.record.last_ms.max(envelope.at_ms);
        match &envelope.event {
            Event::ToolCall(call) => {
                return self.calls.push(CallLine::begun(&envelope.address, envelope.at_ms, call));
            }
            Event::ToolEnd(end) => {
                let of_end = |call: &&mut CallLine| call.address.as_ref() == Some(&envelope.address);
                return self.calls.iter_mut().rfind(of_end).into_iter().for_each(|call| call.end(end));
            }
            Event::ReplyPart(part) => {
                self.asked = false;
                self.read(part);
            }
            Event::AnswerGiven(_) | Event::ReplyEnd(_) | Event::TurnEnd(_) => self.asked = false,
            _ => {}
        }
        self.record.apply(envelope);
    }

    /// Reads a part of the reply as the request wants it.
    fn read(&mut self, part: &ReplyPart) {
        if part.kind == PartKind::Text {
            let Self { record, reader, readings, .. } = self;
            let schema = record.request.as_ref().and_then(|request| request.schema.as_ref());
            readings.entry(part.attempt).or_insert_with(|| Reading::new(schema, reader.clone())).take(&part.text);
        }
    }

    /// An attempt's reply as far as it can be read; `None` before its first piece.
    pub fn reading(&self, attempt: u32) -> Option<&Reading> {
        self.readings.get(&attempt)
    }
}
