//! Attempts: the network tries inside a turn, and which of their replies counts.
//!
//! In: attempts as sent, parts and ends of replies. Out: every attempt, and the reply that counts, as an assistant message repeats it. The
//! reply that is shown is the one that is sent: only this module decides which attempt counts.

use std::collections::HashMap;
use std::ops::Deref;

use crate::event::{
    Address, Event, NativeCall, PartKind, RawReply, RepeatedReply, Replies, ReplyEnd, ReplyPart, ReplyStatus, Sent,
    Wire,
};

/// A try to get a reply. A reply that the user changed at a gate is one more.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Attempt {
    /// From 1.
    pub number: u32,
    /// The request as sent.
    pub sent: Option<Sent>,
    /// The reply's text so far.
    pub text: String,
    /// Reasoning that the provider shows, so far.
    pub reasoning: String,
    /// Native tool calls as they arrive: names, and arguments so far.
    pub calling: String,
    /// Its end.
    pub end: Option<ReplyEnd>,
    /// The raw frames, in order. A long captured reply has several parts.
    pub wires: Vec<Wire>,
    /// The head of a captured reply.
    pub raw_reply: Option<RawReply>,
    /// A part or the end of a reply arrived, however empty.
    has_reply: bool,
}

impl Attempt {
    /// Returns whether its reply does not count, because another attempt follows.
    pub fn is_discarded(&self) -> bool {
        self.end.as_ref().is_some_and(|end| end.status == ReplyStatus::Discarded)
    }
}

/// The attempts of a turn, by rising number.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Attempts(Vec<Attempt>);

impl Deref for Attempts {
    type Target = [Attempt];

    fn deref(&self) -> &[Attempt] {
        &self.0
    }
}

impl Attempts {
    /// The attempt of this number, added when it is new. Mostly it is the last one.
    fn at(&mut self, number: u32) -> &mut Attempt {
        let before = self.0.iter().rposition(|attempt| attempt.number <= number);
        let place = before.filter(|place| self.0[*place].number == number).unwrap_or_else(|| {
            let place = before.map_or(0, |before| before + 1);
            self.0.insert(place, Attempt { number, ..Attempt::default() });
            place
        });
        &mut self.0[place]
    }

    /// Takes the next event of the turn. Most kinds are not about attempts and change nothing.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::Sent(sent) => self.take_sent(sent),
            Event::Wire(wire) => self.take_wire(wire),
            Event::ReplyPart(part) => self.take_part(part),
            Event::ReplyEnd(end) => self.take_end(end),
            _ => {}
        }
    }

    /// Takes an attempt as sent.
    pub(super) fn take_sent(&mut self, sent: &Sent) {
        self.at(sent.attempt).sent = Some(sent.clone());
    }

    /// Takes raw frames.
    pub(super) fn take_wire(&mut self, wire: &Wire) {
        self.at(wire.attempt).wires.push(wire.clone());
    }

    /// Takes the head of a captured reply.
    pub(super) fn take_raw_reply(&mut self, reply: &RawReply) {
        self.at(reply.attempt).raw_reply = Some(reply.clone());
    }

    /// Takes a part of a reply.
    pub(super) fn take_part(&mut self, part: &ReplyPart) {
        let attempt = self.at(part.attempt);
        attempt.has_reply = true;
        let text = match part.kind {
            PartKind::Text => &mut attempt.text,
            PartKind::Reasoning => &mut attempt.reasoning,
            PartKind::Call => &mut attempt.calling,
        };
        text.push_str(&part.text);
    }

    /// Takes the end of an attempt.
    pub(super) fn take_end(&mut self, end: &ReplyEnd) {
        let attempt = self.at(end.attempt);
        attempt.has_reply = true;
        attempt.end = Some(end.clone());
    }

    /// The last attempt of which anything arrived, unless it was discarded.
    pub fn counted(&self) -> Option<&Attempt> {
        self.0.iter().rfind(|attempt| attempt.has_reply).filter(|attempt| !attempt.is_discarded())
    }

    /// The text of the reply that counts.
    pub fn text(&self) -> &str {
        self.counted().map_or("", |attempt| &attempt.text)
    }

    /// The text and the native calls of the reply that counts.
    pub fn reply(&self) -> (&str, &[NativeCall]) {
        let calls = self.counted().and_then(|attempt| attempt.end.as_ref()).map_or(&[][..], |end| &end.calls);
        (self.text(), calls)
    }

    /// Returns the number of the last attempt of which anything arrived; 0 before.
    pub fn made(&self) -> u32 {
        self.0.iter().rfind(|attempt| attempt.has_reply).map_or(0, |attempt| attempt.number)
    }

    /// Reasoning after the last attempt that was discarded.
    pub fn reasoning(&self) -> String {
        let first = self.0.iter().rposition(Attempt::is_discarded).map_or(0, |discarded| discarded + 1);
        self.0[first..].iter().map(|attempt| attempt.reasoning.as_str()).collect()
    }

    /// The reply that counts, as an assistant message repeats it.
    pub fn repeated(&self) -> RepeatedReply {
        let (text, calls) = self.reply();
        let opaque = self.counted().and_then(|attempt| attempt.end.as_ref()?.opaque.as_deref());
        RepeatedReply { attempt: self.made(), text: text.to_owned(), calls: calls.to_vec(), opaque: opaque.cloned() }
    }
}

/// Attempts by the address of their turn.
pub type TurnAttempts = HashMap<Address, Attempts>;

impl Replies for TurnAttempts {
    fn reply(&self, turn: &Address) -> Option<(&str, &[NativeCall])> {
        self.get(turn).map(Attempts::reply)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(kind: PartKind, attempt: u32, text: &str) -> ReplyPart {
        ReplyPart { attempt, kind, text: text.to_owned(), lens: Vec::new(), ms: Vec::new() }
    }

    enum Piece {
        Text(u32, &'static str),
        End(u32, ReplyStatus, &'static [&'static str]),
    }

    fn reply(pieces: &[Piece]) -> (u32, String, Vec<String>) {
        let call = |name: &&str| NativeCall { id: String::new(), name: (*name).to_owned(), args: "{}".to_owned() };
        let mut attempts = Attempts::default();
        for piece in pieces {
            match piece {
                Piece::Text(attempt, text) => attempts.take_part(&part(PartKind::Text, *attempt, text)),
                Piece::End(attempt, status, calls) => attempts.take_end(&ReplyEnd {
                    calls: calls.iter().map(call).collect(),
                    ..ReplyEnd::new(*attempt, *status)
                }),
            }
        }
        let repeated = attempts.repeated();
        (repeated.attempt, repeated.text, repeated.calls.into_iter().map(|call| call.name).collect())
    }

    #[test]
    fn only_the_last_attempt_counts() {
        use Piece::{End, Text};
        use ReplyStatus::{Discarded, Error, Ok};
        let whole = [Text(1, "one "), Text(1, "two"), End(1, Ok, &["find"])];
        assert_eq!(reply(&whole), (1, "one two".to_owned(), vec!["find".to_owned()]));
        let nothing = |attempt: u32| (attempt, String::new(), Vec::new());
        assert_eq!(reply(&[Text(1, "half"), End(1, Discarded, &["find"])]), nothing(1));
        let again = [Text(1, "half"), End(1, Discarded, &[]), Text(2, "whole"), End(2, Ok, &[])];
        assert_eq!(reply(&again), (2, "whole".to_owned(), Vec::new()));
        // The second attempt has calls only; at a gate, the user replaces a text by calls.
        let calls = [Text(1, "half"), End(1, Discarded, &[]), End(2, Ok, &["find"])];
        assert_eq!(reply(&calls), (2, String::new(), vec!["find".to_owned()]));
        let gate = [Text(1, "words"), End(1, Ok, &["find"]), End(2, Ok, &["other"])];
        assert_eq!(reply(&gate), (2, String::new(), vec!["other".to_owned()]));
        // A reply that broke off is kept as far as it arrived.
        assert_eq!(reply(&[Text(1, "half"), End(1, Error, &[])]), (1, "half".to_owned(), Vec::new()));
    }

    #[test]
    fn an_attempt_counts_when_something_of_it_has_arrived() {
        let mut attempts = Attempts::default();
        attempts.take_part(&part(PartKind::Reasoning, 1, "hm "));
        attempts.take_part(&part(PartKind::Text, 1, "half"));
        attempts.take_sent(&Sent { attempt: 2, ..Sent::default() });
        assert_eq!((attempts.len(), attempts.made(), attempts.text()), (2, 1, "half"));
        attempts.take_part(&part(PartKind::Reasoning, 2, "so"));
        assert_eq!((attempts.made(), attempts.text(), attempts.reasoning().as_str()), (2, "", "hm so"));
        attempts.take_end(&ReplyEnd::new(1, ReplyStatus::Discarded));
        assert_eq!(attempts.reasoning(), "so");
    }
}
