//! The texts of a card: what search looks through and what copying gives. Exact texts, never rows.

use super::card::{Card, MessageStore, Messages, RequestCard, TurnCard};
use crate::event::{Address, JsonText, SentMessage};
use crate::record::{Attempt, QuestionRecord};

/// Visits each text of a card, in the order in which the card shows them.
pub(super) fn visit(card: &Card, at: &Address, store: &MessageStore, add: &mut dyn FnMut(&str)) {
    match card {
        Card::Start(start) => {
            add(&start.agent.name);
            add(start.context.as_str());
        }
        Card::Request(Some(card)) => messages(card, at, store, &mut |message| {
            message.parts.iter().for_each(|(_, text)| add(text));
        }),
        Card::Reasoning(text) | Card::Feedback(text) => add(text),
        Card::Notice(notice) => add(&notice.text),
        Card::Turn(card) => turn(card, add),
        Card::End(card) => {
            card.end.value.iter().for_each(|value| add(value.as_str()));
            if let Some(fail) = &card.end.fail {
                add(&fail.reason);
                add(&fail.message);
            }
        }
        Card::Request(None) | Card::Unread(..) => {}
        Card::Unknown(unknown) => add(unknown.data.get()),
    }
}

/// The messages of a request that are known.
fn messages(card: &RequestCard, at: &Address, store: &MessageStore, add: &mut dyn FnMut(&SentMessage)) {
    match &card.messages {
        Messages::Ranges(ranges) => store.ranges(&at.run_part(), ranges).for_each(add),
        Messages::Read(messages) => messages.iter().for_each(add),
    }
}

fn turn(card: &TurnCard, add: &mut dyn FnMut(&str)) {
    card.record.attempts.iter().for_each(|attempt| add(&attempt.text));
    for call in &card.calls {
        add(&call.name);
        add(&call.args);
        add(&call.outcome);
    }
    for call in card.asked_calls() {
        add(&call.args);
    }
    for QuestionRecord { asked, answer, .. } in &card.record.questions {
        add(&asked.text);
        if let Some(answer) = answer {
            add(answer.value.as_str());
        }
    }
    if let Some(end) = &card.record.program_end {
        end.prints.iter().for_each(|print| add(print));
        end.value.iter().for_each(|value| add(value.text()));
        end.error.iter().for_each(|error| add(&error.message));
    }
    for (name, value) in card.record.memory.iter().flat_map(|change| &change.set) {
        add(name);
        add(value.text());
    }
    for issue in card.record.checks.iter().flat_map(|check| &check.issues) {
        add(&issue.path);
        add(&issue.message);
    }
    card.record.notices.iter().for_each(|notice| add(&notice.text));
    card.record.extract.iter().filter_map(|extract| extract.error.as_ref()).for_each(|error| add(&error.message));
}

/// What copying a card gives: the exact text of what it is about.
pub(super) fn copied(card: &Card, at: &Address, store: &MessageStore) -> String {
    match card {
        Card::Start(start) => pretty(&start.context),
        Card::Request(Some(card)) => {
            let mut parts = Vec::new();
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
