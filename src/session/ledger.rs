//! Measures how much of a run's data entered the model's context.
//!
//! In: the events of a session or of one run. Out: bytes of the run's data, and bytes of it that no request contained.
//!
//! The same value has different forms in a template, in a sample of a program's data and in JSON, so the ledger counts
//! *words*: sequences of ASCII letters and digits, and every other letter separately. Punctuation, spaces and object
//! keys are form and are not counted. A word that occurs n times in the data and m times in the requests has entered
//! min(n, m) times. A coincidental match (a `1` with another meaning) makes the result smaller, never larger.

use std::collections::{BTreeMap, HashMap, HashSet};

use ptc_core::value::Json;
use ptc_core::value::json::{self, Node};

use crate::event::{Address, Envelope, Event, MessageAdded, MessagePart, Source};

type Words = HashMap<Box<str>, u32>;

/// Words of a run's data, and words that were sent.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    started: HashSet<Address>,
    /// Contexts of runs without messages yet: an edit can still replace them.
    unsent_contexts: HashMap<Address, Json>,
    /// Messages of each run that no request contains yet, by message number.
    unsent: HashMap<Address, BTreeMap<u32, MessageAdded>>,
    /// Calls that run an agent: their results are written by a model and are not data.
    agents: HashSet<Address>,
    data: Words,
    /// Words of the sent texts, unmodified.
    sent: Words,
    /// Words of the sent texts with JSON escapes such as `\n` decoded.
    sent_unescaped: Words,
}

impl Ledger {
    /// Applies the next event.
    pub fn apply(&mut self, envelope: &Envelope) {
        let at = &envelope.address;
        match &envelope.event {
            // A child run's context comes from its parent and is not counted again; a resumed run starts once.
            Event::RunStart(start) if (self.started.is_empty() || !at.is_call()) && self.started.insert(at.clone()) => {
                self.unsent_contexts.insert(at.clone(), start.context.json());
            }
            Event::Edit(edit) => {
                let run = envelope.run();
                match self.unsent_contexts.get_mut(&run) {
                    Some(context) => *context = edit.of_context(context).unwrap_or_else(|| std::mem::take(context)),
                    None if edit.of_context(&Json::default()).is_some() => self.add_data(&edit.after.json()),
                    None => {}
                }
            }
            Event::MessageAdded(message) => {
                if let Some(context) = self.unsent_contexts.remove(&envelope.run()) {
                    self.add_data(&context);
                }
                self.unsent.entry(envelope.run()).or_default().insert(message.m, message.clone());
            }
            Event::RequestMade(request) => {
                let Some(unsent) = self.unsent.get_mut(&envelope.run()) else { return };
                let is_sent = |m: &u32, _: &mut MessageAdded| {
                    request.messages.iter().any(|(first, last)| (first..=last).contains(&m))
                };
                // A request repeats the messages of previous requests: only new ones are counted.
                let sent: Vec<(u32, MessageAdded)> = unsent.extract_if(.., is_sent).collect();
                for (_, message) in &sent {
                    self.add_sent(message);
                }
            }
            Event::ToolCall(call) if ["agent", "llm"].contains(&call.kind.as_str()) => {
                self.agents.insert(at.clone());
            }
            Event::ToolEnd(end) if !self.agents.contains(at) => {
                if let Some(result) = &end.result {
                    self.add_data(&result.json());
                }
            }
            _ => {}
        }
    }

    /// Counts a message that a request contains for the first time.
    fn add_sent(&mut self, message: &MessageAdded) {
        // The model wrote this text itself.
        if message.source == Source::Reply {
            return;
        }
        for part in &message.parts {
            match part {
                MessagePart::Text { text, untrusted: true, .. } => self.add_sent_text(text),
                MessagePart::Result { result, .. } => match json::parse(result) {
                    Ok(result) => self.add_sent_json(&result),
                    Err(_) => self.add_sent_text(result),
                },
                _ => {}
            }
        }
    }

    /// Counts the scalars of a value as data of the run.
    fn add_data(&mut self, data: &Json) {
        scalars(data, &mut |text| count_words(text, &mut self.data));
    }

    /// Counts data that was sent as text in any form.
    fn add_sent_text(&mut self, text: &str) {
        count_words(text, &mut self.sent);
        count_words(&unescaped(text), &mut self.sent_unescaped);
    }

    /// Counts data that was sent as JSON.
    fn add_sent_json(&mut self, data: &Json) {
        scalars(data, &mut |text| {
            count_words(text, &mut self.sent);
            count_words(text, &mut self.sent_unescaped);
        });
    }

    /// Returns the bytes of all words of the data.
    pub fn data_bytes(&self) -> u64 {
        self.data.iter().map(|(word, times)| word.len() as u64 * u64::from(*times)).sum()
    }

    /// Returns the bytes of the words that were never sent.
    pub fn kept_out_bytes(&self) -> u64 {
        let sent_times = |word: &str| {
            let times = |words: &Words| words.get(word).copied().unwrap_or_default();
            times(&self.sent).max(times(&self.sent_unescaped))
        };
        let kept_out = |word: &str, times: u32| u64::from(times.saturating_sub(sent_times(word)));
        self.data.iter().map(|(word, times)| word.len() as u64 * kept_out(word, *times)).sum()
    }
}

/// Passes every scalar of a value as text; null has no text. Values are at most 512 levels deep.
fn scalars(json: &Json, take: &mut dyn FnMut(&str)) {
    match &json.node {
        Node::Null => {}
        Node::Str(text) => take(text),
        Node::List(items) => items.iter().for_each(|item| scalars(item, take)),
        Node::Object(members) => members.iter().for_each(|member| scalars(&member.value, take)),
        Node::Bool(_) | Node::Int(_) | Node::Big(_) | Node::Float(_) => take(&json.to_text()),
    }
}

fn count_words(text: &str, words: &mut Words) {
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

/// Replaces each JSON escape (a backslash and one character) by a space.
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

    fn ledger(data: &str, sent: &[&str]) -> (u64, u64) {
        let mut ledger = Ledger::default();
        ledger.add_data(&parse(data).unwrap());
        for text in sent {
            ledger.add_sent_text(text);
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
    fn repeated_words_count_each_time() {
        assert_eq!(ledger(r#"["North","North","North"]"#, &["North, North"]), (15, 5));
        assert_eq!(ledger(r#"["North"]"#, &["North", "North", "North"]), (5, 0));
    }

    #[test]
    fn escapes_and_other_scripts_are_decoded() {
        assert_eq!(ledger(r#"["one\ntwo"]"#, &[r#"{"text":"one\ntwo"}"#]), (6, 0));
        assert_eq!(ledger(r#"["C:\\new"]"#, &[r"C:\new"]), (4, 0));
        assert_eq!(ledger(r#"["Käse"]"#, &["Kä…"]), (5, 2));
        assert_eq!(ledger(r#"["日本語"]"#, &["日本 (cut)"]), (9, 3));
        assert_eq!(ledger("[null, true, -1.5]", &[]), (6, 6));
    }

    #[test]
    fn a_result_sent_as_json_is_counted_as_sent() {
        let mut ledger = Ledger::default();
        let data = parse(r#"{"name":"a\\nb \"quoted\"","id":7}"#).unwrap();
        ledger.add_data(&data);
        ledger.add_sent_json(&data);
        assert_eq!(ledger.kept_out_bytes(), 0);
    }
}
