//! The ledger of a run's data: how much of it the model was shown.
//!
//! In: the events of a session, or of one of its runs. Out: bytes of the data it had, and bytes that never entered the context.
//!
//! The same value looks different in a template, in a sample of a program's data and in JSON. So the ledger counts *words*: runs of ASCII
//! letters and digits, and every other letter on its own. Signs, spaces and the keys of objects belong to the form and do not count. A word
//! that stands n times in the data and m times in what was sent has entered min(n, m) times. A chance hit (a `1` that meant something else)
//! makes the figure smaller, never larger.

use std::collections::{BTreeMap, HashMap, HashSet};

use ptc_core::value::Json;
use ptc_core::value::json::{self, Node};

use crate::event::{Address, Envelope, Event, Message, MessagePart, Source};

type Words = HashMap<Box<str>, u32>;

/// What a run had, and what of it was sent.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    begun: HashSet<Address>,
    /// The context of runs that have said nothing yet: it may still be edited.
    fresh: HashMap<Address, Json>,
    /// Messages of each run that no request has carried yet, by number.
    unsent: HashMap<Address, BTreeMap<u32, Message>>,
    /// Calls that are agents: what they answer is a model's, not data.
    agents: HashSet<Address>,
    had: Words,
    /// Words of what was sent, as it stands.
    sent: Words,
    /// The same with `\n` and its like read as JSON means them.
    sent_unescaped: Words,
}

impl Ledger {
    /// Takes the next event.
    pub fn apply(&mut self, envelope: &Envelope) {
        let at = &envelope.address;
        match &envelope.event {
            // What an agent below starts with was given by the run above it; a run that goes on starts once.
            Event::RunStart(start) if (self.begun.is_empty() || !at.is_call()) && self.begun.insert(at.clone()) => {
                self.fresh.insert(at.clone(), start.context.json());
            }
            Event::Edit(edit) => {
                let run = envelope.run();
                match self.fresh.get_mut(&run) {
                    Some(context) => *context = edit.of_context(context).unwrap_or_else(|| std::mem::take(context)),
                    None if edit.of_context(&Json::default()).is_some() => self.had(&edit.after.json()),
                    None => {}
                }
            }
            Event::Message(message) => {
                if let Some(context) = self.fresh.remove(&envelope.run()) {
                    self.had(&context);
                }
                self.unsent.entry(envelope.run()).or_default().insert(message.m, message.clone());
            }
            Event::RequestMade(request) => {
                let Some(unsent) = self.unsent.get_mut(&envelope.run()) else { return };
                let is_sent =
                    |m: &u32, _: &mut Message| request.messages.iter().any(|(first, last)| (first..=last).contains(&m));
                // A request repeats what those before it sent: only what is new is looked at.
                let sent: Vec<(u32, Message)> = unsent.extract_if(.., is_sent).collect();
                for (_, message) in &sent {
                    self.send(message);
                }
            }
            Event::ToolCall(call) if ["agent", "llm"].contains(&call.kind.as_str()) => {
                self.agents.insert(at.clone());
            }
            Event::ToolEnd(end) if !self.agents.contains(at) => {
                if let Some(result) = &end.result {
                    self.had(&result.json());
                }
            }
            _ => {}
        }
    }

    /// A request carries this message for the first time.
    fn send(&mut self, message: &Message) {
        // What the model wrote itself is no data that it was shown.
        if message.source == Source::Reply {
            return;
        }
        for part in &message.parts {
            match part {
                MessagePart::Text { text, untrusted: true, .. } => self.sent_text(text),
                MessagePart::Result { result, .. } => match json::parse(result) {
                    Ok(result) => self.sent_json(&result),
                    Err(_) => self.sent_text(result),
                },
                _ => {}
            }
        }
    }

    /// Data that the run has: the scalars of a value.
    fn had(&mut self, data: &Json) {
        scalars(data, &mut |text| count(text, &mut self.had));
    }

    /// Data that a request carried as text of any form.
    fn sent_text(&mut self, text: &str) {
        count(text, &mut self.sent);
        count(&unescaped(text), &mut self.sent_unescaped);
    }

    /// Data that a request carried as JSON.
    fn sent_json(&mut self, data: &Json) {
        scalars(data, &mut |text| {
            count(text, &mut self.sent);
            count(text, &mut self.sent_unescaped);
        });
    }

    /// Bytes of the data's words.
    pub fn data_bytes(&self) -> u64 {
        self.had.iter().map(|(word, times)| word.len() as u64 * u64::from(*times)).sum()
    }

    /// Bytes of the words that were never sent.
    pub fn kept_out_bytes(&self) -> u64 {
        let times_sent = |word: &str| {
            let times = |words: &Words| words.get(word).copied().unwrap_or_default();
            times(&self.sent).max(times(&self.sent_unescaped))
        };
        let kept_out = |word: &str, times: u32| u64::from(times.saturating_sub(times_sent(word)));
        self.had.iter().map(|(word, times)| word.len() as u64 * kept_out(word, *times)).sum()
    }
}

/// Every scalar of a value as text; null says nothing. Values of runs are at most 512 levels deep.
fn scalars(json: &Json, take: &mut dyn FnMut(&str)) {
    match &json.node {
        Node::Null => {}
        Node::Str(text) => take(text),
        Node::List(items) => items.iter().for_each(|item| scalars(item, take)),
        Node::Object(members) => members.iter().for_each(|member| scalars(&member.value, take)),
        Node::Bool(_) | Node::Int(_) | Node::Big(_) | Node::Float(_) => take(&json.to_text()),
    }
}

fn count(text: &str, words: &mut Words) {
    let mut add = |word: &str| {
        if let Some(times) = words.get_mut(word) {
            *times += 1;
        } else {
            words.insert(word.into(), 1);
        }
    };
    let mut rest = text;
    while let Some(start) = rest.find(char::is_alphanumeric) {
        rest = &rest[start..];
        let run = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let one = rest.chars().next().map_or(1, char::len_utf8);
        let (word, after) = rest.split_at(if run == 0 { one } else { run });
        add(word);
        rest = after;
    }
}

/// The text with JSON's escapes of one letter as a space.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(if c == '\\' {
            chars.next();
            ' '
        } else {
            c
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use ptc_core::value::json::parse;

    use super::*;

    fn ledger(had: &str, sent: &[&str]) -> (u64, u64) {
        let mut ledger = Ledger::default();
        ledger.had(&parse(had).unwrap());
        for text in sent {
            ledger.sent_text(text);
        }
        (ledger.data_bytes(), ledger.kept_out_bytes())
    }

    #[test]
    fn the_form_of_the_data_does_not_matter() {
        let rows = r#"{"rows":[{"region":1,"amount":294},{"region":2,"amount":87}]}"#;
        assert_eq!(ledger(rows, &[]), (7, 7));
        assert_eq!(ledger(rows, &["1 294\n2 87\n"]), (7, 0));
        assert_eq!(ledger(rows, &[r#"[{"amount" 294 "region" 1} .… (cut after 30 characters)"#]), (7, 3));
        assert_eq!(ledger(rows, &["1 294", "2 87"]), (7, 0));
    }

    #[test]
    fn each_time_counts() {
        assert_eq!(ledger(r#"["North","North","North"]"#, &["North, North"]), (15, 5));
        assert_eq!(ledger(r#"["North"]"#, &["North", "North", "North"]), (5, 0));
    }

    #[test]
    fn escapes_and_other_scripts_are_read() {
        assert_eq!(ledger(r#"["one\ntwo"]"#, &[r#"{"text":"one\ntwo"}"#]), (6, 0));
        assert_eq!(ledger(r#"["C:\\new"]"#, &[r"C:\new"]), (4, 0));
        assert_eq!(ledger(r#"["Käse"]"#, &["Kä…"]), (5, 2));
        assert_eq!(ledger(r#"["日本語"]"#, &["日本 (cut)"]), (9, 3));
        assert_eq!(ledger("[null, true, -1.5]", &[]), (6, 6));
    }

    #[test]
    fn a_result_that_is_sent_as_json_has_entered() {
        let mut ledger = Ledger::default();
        let data = parse(r#"{"name":"a\\nb \"quoted\"","id":7}"#).unwrap();
        ledger.had(&data);
        ledger.sent_json(&data);
        assert_eq!(ledger.kept_out_bytes(), 0);
    }
}
