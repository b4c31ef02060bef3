//! The texts of a card for search and for copying. Exact texts, never rows.

use std::collections::{BTreeSet, HashMap};

use super::card::{CapturedHead, Card, MessageStore, Messages, RequestCard, TurnCard};
use crate::event::{Address, ErrorRecord, JsonText, SentMessage, Source};
use crate::record::{Attempt, QuestionRecord};
use crate::workbench::wording::{describe_issue, in_plain_words};

/// The messages that requests contained so far, by run: later requests repeat them.
#[derive(Debug, Default)]
pub(super) struct SentSoFar(HashMap<Address, BTreeSet<u32>>);

impl SentSoFar {
    /// Returns whether the message is new content, neither repeated nor shown by another card, and records it as sent.
    fn is_new(&mut self, run: &Address, message: &SentMessage) -> bool {
        let is_first = self.0.entry(run.clone()).or_default().insert(message.m);
        is_first && matches!(message.source, Source::Prompt | Source::User)
    }
}

/// Visits each text of a card with its kind, in the order in which the card shows them. With `sent`, the messages of earlier requests, only
/// the new texts of a request are visited; without it, all of them.
pub(super) fn visit(
    card: &Card,
    at: &Address,
    store: &MessageStore,
    mut sent: Option<&mut SentSoFar>,
    add: &mut dyn FnMut(&'static str, &str),
) {
    match card {
        Card::Start(start) => {
            add("agent", &start.agent.name);
            add("inputs", start.context.as_str());
        }
        Card::Request(Some(card)) => {
            card.bare().iter().for_each(|head| add("request", &head.line()));
            messages(card, at, store, &mut |message| {
                if sent.as_mut().is_none_or(|sent| sent.is_new(&at.run_part(), message)) {
                    message.parts.iter().for_each(|part| add("prompt", &part.text()));
                }
            });
        }
        Card::Reasoning(text) => add("reasoning", text),
        Card::Feedback(text) => add("feedback", text),
        Card::Notice(notice) => add("notice", &notice.text),
        Card::Turn(card) => turn(card, add),
        Card::End(card) => {
            card.end.value.iter().for_each(|value| add("answer", value.as_str()));
            card.end.fail.iter().for_each(|fail| error(fail, add));
        }
        Card::Request(None) | Card::Unread(..) => {}
        Card::Unknown(unknown) => add("event", unknown.data.get()),
    }
}

/// Reason, class and message of an error.
fn error(error: &ErrorRecord, add: &mut dyn FnMut(&'static str, &str)) {
    add("error", &error.reason);
    error.class.iter().for_each(|class| add("error", class));
    add("error", &in_plain_words(&error.message));
}

/// The messages of a request that are known.
fn messages(card: &RequestCard, at: &Address, store: &MessageStore, add: &mut dyn FnMut(&SentMessage)) {
    match &card.messages {
        Messages::Ranges(ranges) => store.ranges(&at.run_part(), ranges).for_each(add),
        Messages::Read(messages) => messages.iter().for_each(add),
    }
}

fn turn(card: &TurnCard, add: &mut dyn FnMut(&'static str, &str)) {
    let record = &card.record;
    for attempt in record.attempts.iter() {
        if attempt.is_discarded() {
            add("attempt", &format!("attempt {} discarded", attempt.number));
        }
        add("reply", &attempt.text);
        attempt.end.iter().filter_map(|end| end.error.as_ref()).for_each(|found| error(found, add));
    }
    for retry in &record.retries {
        add("attempt", &retry.wait.class);
        add("attempt", &retry.wait.message);
    }
    for call in &card.calls {
        add("call", &call.name);
        add("call", &call.args);
        add("tool result", &call.outcome);
        call.result.iter().for_each(|result| add("tool result", result.as_str()));
    }
    for call in card.asked_calls() {
        add("call", &call.args);
    }
    for QuestionRecord { asked, answer, .. } in &record.questions {
        add("question", &asked.text);
        if let Some(answer) = answer {
            add("question", answer.value.as_str());
        }
    }
    if let Some(end) = &record.program_end {
        end.prints.iter().for_each(|print| add("print", print));
        end.value.iter().for_each(|value| add("value", value.text()));
        end.error.iter().for_each(|found| error(found, add));
    }
    for (name, value) in record.memory.iter().flat_map(|change| &change.set) {
        add("memory", name);
        add("memory", value.text());
    }
    for issue in record.checks.iter().flat_map(|check| &check.issues) {
        add("check", &issue.path);
        add("check", &describe_issue(issue));
    }
    record.notices.iter().for_each(|notice| add("notice", &notice.text));
    record.extract.iter().filter_map(|extract| extract.error.as_ref()).for_each(|found| error(found, add));
    card.reason().iter().for_each(|reason| add("error", reason));
}

/// Returns the exact text of a card, for copying.
pub(super) fn copied(card: &Card, at: &Address, store: &MessageStore) -> String {
    match card {
        Card::Start(start) => pretty(&start.context),
        Card::Request(Some(card)) => {
            let mut parts: Vec<String> = card.bare().map(CapturedHead::line).into_iter().collect();
            messages(card, at, store, &mut |message| {
                let text = message.text();
                parts.push(format!("[{}]\n{text}", message.role.name()));
            });
            parts.join("\n")
        }
        Card::Reasoning(text) | Card::Feedback(text) => text.clone(),
        Card::Notice(notice) => notice.text.clone(),
        Card::Turn(card) => reply(card),
        Card::End(card) => match (&card.end.value, &card.end.fail) {
            (Some(value), _) => pretty(value),
            (None, Some(fail)) => format!("{}: {}", fail.reason, fail.message),
            (None, None) => String::new(),
        },
        Card::Request(None) | Card::Unread(..) => String::new(),
        Card::Unknown(unknown) => unknown.data.get().to_owned(),
    }
}

fn pretty(text: &JsonText) -> String {
    text.json().to_pretty()
}

/// The reply; with calls only, the calls.
fn reply(card: &TurnCard) -> String {
    let attempt = card.last_attempt();
    let calls = |attempt: &Attempt| {
        let calls = attempt.end.iter().flat_map(|end| &end.calls).map(ToString::to_string);
        calls.collect::<Vec<_>>().join("\n")
    };
    match attempt {
        Some(attempt) if attempt.text.is_empty() => calls(attempt),
        Some(attempt) => attempt.text.clone(),
        None => String::new(),
    }
}
