//! The digest of a run's inputs, which `turn.end` and `run.end` record: a changed input is noticed even where nothing is
//! computed from it.
//!
//! In: the events of one run, in the order of the engine. Out: a hash of the input fields by address. It is the same for a
//! live run, its replay and a resumed run: parts of a reply are joined, and durations, discarded attempts, interrupts and the
//! calls of an interrupted program do not count.

use std::collections::HashMap;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{Address, AgentRecord, Class, Envelope, Event, PartKind, ReplyPart, ReplyStatus, RunStart, class_of_field};

/// A byte that no text contains: it ends an event, or a part of a reply.
const END: [u8; 1] = [0xff];

/// The inputs of a run so far.
#[derive(Debug, Clone, Default)]
pub struct InputDigest {
    /// The hash of everything before the last call of [`Self::advance`].
    before: String,
    /// The inputs since then by address, so that the order of parallel branches does not count.
    inputs: HashMap<Address, AddressInputs>,
}

#[derive(Debug, Clone, Default)]
struct AddressInputs {
    ended: Sha256,
    /// The parts of the reply whose attempt has not ended: attempt and kind of the last one, and all of them hashed.
    open: Option<(u32, PartKind, Sha256)>,
}

impl InputDigest {
    /// Adds an event of the run; events of other classes do not count.
    pub fn add(&mut self, envelope: &Envelope) {
        match &envelope.event {
            // Replay does not run an interrupted program: its calls are not emitted again.
            Event::ProgramEnd(end) if end.interrupted => self.drop_calls(&envelope.address),
            // Which of parallel branches records a stop is not deterministic; the end of the run has its reason.
            Event::Interrupt(_) => {}
            Event::ReplyPart(part) => self.inputs.entry(envelope.address.clone()).or_default().add_part(part),
            // A resumed run does not emit discarded attempts again.
            Event::ReplyEnd(end) if end.status == ReplyStatus::Discarded => {
                if let Some(known) = self.inputs.get_mut(&envelope.address) {
                    known.open = None;
                }
            }
            Event::ReplyEnd(_) => {
                let known = self.inputs.entry(envelope.address.clone()).or_default();
                if let Some((.., parts)) = known.open.take() {
                    known.ended.update(parts.finalize());
                }
                known.add_event(&envelope.event);
            }
            // The agent has a hash of its own, and another version of the program may write its text in another form.
            Event::RunStart(start) => {
                let start = RunStart { agent: AgentRecord::default(), ..start.clone() };
                self.inputs.entry(envelope.address.clone()).or_default().add_event(&start.into());
            }
            event if event.class() == Class::Input => {
                self.inputs.entry(envelope.address.clone()).or_default().add_event(event);
            }
            _ => {}
        }
    }

    /// Drops the calls of the program of this turn. Questions of the turn itself stay.
    fn drop_calls(&mut self, turn: &Address) {
        self.inputs.retain(|at, _| at == turn || !at.is_within(turn) || at.asker() == *turn && at.is_question());
    }

    /// Ends a turn or the run: returns the hash of all inputs so far, in hexadecimal.
    pub fn advance(&mut self) -> String {
        let mut inputs: Vec<(Address, AddressInputs)> = self.inputs.drain().collect();
        inputs.sort_by(|(one, _), (other, _)| one.as_str().cmp(other.as_str()));
        let mut all = std::mem::take(&mut self.before).into_bytes();
        for (at, inputs) in inputs {
            all.extend(at.as_str().as_bytes());
            all.extend(END);
            all.extend(inputs.ended.finalize());
        }
        self.before = super::hex_sha(&all);
        self.before.clone()
    }
}

impl AddressInputs {
    fn add_part(&mut self, part: &ReplyPart) {
        let (attempt, kind, parts) = self.open.get_or_insert_with(|| (0, part.kind, Sha256::default()));
        if (*attempt, *kind) != (part.attempt, part.kind) {
            (*attempt, *kind) = (part.attempt, part.kind);
            parts.update(END);
            parts.update(format!("{attempt} {kind:?} "));
        }
        parts.update(&part.text);
    }

    fn add_event(&mut self, event: &Event) {
        let data = event.data().ok().and_then(|data| serde_json::from_str(data.get()).ok()).unwrap_or_default();
        self.ended.update(event.kind());
        self.ended.update(inputs_of(event, data, "").to_string());
        self.ended.update(END);
    }
}

/// Returns the input fields of an event's data.
fn inputs_of(event: &Event, data: Value, path: &str) -> Value {
    let Value::Object(fields) = data else { return data };
    let kept = fields.into_iter().filter_map(|(key, value)| {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        // Only fields that rows of the table name lie below other fields.
        let is_split = super::FIELDS.iter().any(|row| row.path.starts_with(&format!("{path}.")));
        match class_of_field(event, &path) {
            Class::Input if is_split => Some((key, inputs_of(event, value, &path))),
            Class::Input => Some((key, value)),
            Class::Derived | Class::Note => None,
        }
    });
    Value::Object(kept.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{ProgramEnd, ReplyEnd, ToolEnd};

    fn sha(events: &[(&str, Event)]) -> String {
        let mut digest = InputDigest::default();
        for (at, event) in events {
            digest.add(&Envelope { seq: 1, at_ms: 1, address: Address::from(*at), event: event.clone() });
        }
        digest.advance()
    }

    fn part(text: &str, kind: PartKind) -> (&'static str, Event) {
        let lens = vec![u32::try_from(text.len()).unwrap()];
        ("r0/t1", Event::ReplyPart(ReplyPart { attempt: 1, kind, text: text.to_owned(), lens, ms: vec![3] }))
    }

    fn end(status: ReplyStatus) -> (&'static str, Event) {
        ("r0/t1", ReplyEnd::new(1, status).into())
    }

    #[test]
    fn the_division_of_a_reply_and_the_order_of_branches_do_not_count() {
        let (text, ok) = (PartKind::Text, end(ReplyStatus::Ok));
        let whole = sha(&[part("abc", text), ok.clone()]);
        assert_eq!(sha(&[part("a", text), part("bc", text), ok.clone()]), whole);
        assert_ne!(sha(&[part("abd", text), ok.clone()]), whole);
        assert_ne!(sha(&[part("abc", PartKind::Reasoning), ok]), whole);
        let discarded = end(ReplyStatus::Discarded);
        let again = [part("abc", text), end(ReplyStatus::Ok)];
        assert_eq!(sha(&[&[part("x", text), discarded][..], &again].concat()), sha(&again));
        let call = |at: &'static str| (at, Event::from(ToolEnd { cached: at.contains("p1.0"), ..ToolEnd::default() }));
        let [one, other] = ["r0/t1/p1.0/c0", "r0/t1/p1.1/c0"].map(call);
        assert_eq!(sha(&[one.clone(), other.clone()]), sha(&[other, one]));
    }

    #[test]
    fn only_input_fields_count() {
        let start = |seed: u64, mode: &str| {
            ("r0", Event::from(RunStart { seed, mode: mode.to_owned(), ..RunStart::default() }))
        };
        assert_eq!(sha(&[start(1, "json")]), sha(&[start(1, "text")]));
        assert_ne!(sha(&[start(1, "json")]), sha(&[start(2, "json")]));
        let call = |ms: u64, cached: bool| ("r0/t1/c0", Event::from(ToolEnd { cached, ms, ..ToolEnd::default() }));
        assert_eq!(sha(&[call(1, false)]), sha(&[call(2, false)]));
        assert_ne!(sha(&[call(1, false)]), sha(&[call(1, true)]));
    }

    #[test]
    fn the_calls_of_an_interrupted_program_do_not_count() {
        let interrupted = ("r0/t1", Event::from(ProgramEnd { interrupted: true, ..ProgramEnd::default() }));
        let call = ("r0/t1/c0", Event::from(ToolEnd::default()));
        assert_eq!(sha(&[call, interrupted.clone()]), sha(&[interrupted]));
    }
}
