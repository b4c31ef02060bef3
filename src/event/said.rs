//! What the model said at a turn, folded from the events of the turn.
//!
//! In: the events of one turn in order. Out: the reply that counts, as an assistant message repeats it. Nothing else may decide which
//! attempt counts: what was sent is what is shown.

use std::collections::HashMap;

use super::{Address, Event, NativeCall, Opaque, PartKind, ReplyStatus};

/// What the model said at each turn of a run.
pub type RunText = HashMap<Address, Said>;

/// A reply as an assistant message repeats it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Said {
    /// The attempt that it is of, from 1; 0 before the first. At a gate, what a person wrote anew is one more.
    pub attempt: u32,
    /// Its text.
    pub text: String,
    /// The tool calls it asks for.
    pub calls: Vec<NativeCall>,
    /// Reasoning that the provider wants to have back.
    pub opaque: Option<Opaque>,
}

impl Said {
    /// Takes the next event of its turn. Of an attempt that was discarded, or that another one follows, nothing is left.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::ReplyPart(part) => {
                self.reach(part.attempt);
                if part.kind == PartKind::Text {
                    self.text.push_str(&part.text);
                }
            }
            Event::ReplyEnd(end) if end.status == ReplyStatus::Discarded => {
                *self = Self { attempt: self.attempt.max(end.attempt), ..Self::default() };
            }
            Event::ReplyEnd(end) => {
                self.reach(end.attempt);
                self.calls.clone_from(&end.calls);
                self.opaque = end.opaque.as_deref().cloned();
            }
            _ => {}
        }
    }

    /// Goes over to a later attempt.
    fn reach(&mut self, attempt: u32) {
        if attempt > self.attempt {
            *self = Self { attempt, ..Self::default() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{ReplyEnd, ReplyPart};

    fn text(attempt: u32, text: &str) -> Event {
        let kind = PartKind::Text;
        ReplyPart { attempt, kind, text: text.to_owned(), lens: Vec::new(), ms: Vec::new() }.into()
    }

    fn end(attempt: u32, status: ReplyStatus, calls: &[&str]) -> Event {
        let call = |name: &&str| NativeCall { id: String::new(), name: (*name).to_owned(), args: "{}".to_owned() };
        ReplyEnd { calls: calls.iter().map(call).collect(), ..ReplyEnd::new(attempt, status) }.into()
    }

    fn said(events: &[Event]) -> (u32, String, Vec<String>) {
        let mut said = Said::default();
        for event in events {
            said.apply(event);
        }
        (said.attempt, said.text, said.calls.into_iter().map(|call| call.name).collect())
    }

    #[test]
    fn only_the_last_attempt_counts() {
        use ReplyStatus::{Discarded, Error, Ok};
        let whole = [text(1, "one "), text(1, "two"), end(1, Ok, &["find"])];
        assert_eq!(said(&whole), (1, "one two".to_owned(), vec!["find".to_owned()]));
        let nothing = |attempt: u32| (attempt, String::new(), Vec::new());
        assert_eq!(said(&[text(1, "half"), end(1, Discarded, &["find"])]), nothing(1));
        let again = [text(1, "half"), end(1, Discarded, &[]), text(2, "whole"), end(2, Ok, &[])];
        assert_eq!(said(&again), (2, "whole".to_owned(), Vec::new()));
        // The second attempt is calls only; at a gate, a person puts calls in the place of a text.
        let calls = [text(1, "half"), end(1, Discarded, &[]), end(2, Ok, &["find"])];
        assert_eq!(said(&calls), (2, String::new(), vec!["find".to_owned()]));
        let gate = [text(1, "words"), end(1, Ok, &["find"]), end(2, Ok, &["other"])];
        assert_eq!(said(&gate), (2, String::new(), vec!["other".to_owned()]));
        // What broke off is shown as far as it came.
        assert_eq!(said(&[text(1, "half"), end(1, Error, &[])]), (1, "half".to_owned(), Vec::new()));
    }
}
