//! The texts of a card for search and for copying. Exact texts, never rows.

use std::collections::HashMap;

use super::card::{CapturedHead, Card, MessageStore, Messages, RequestCard, TurnCard};
use crate::event::{Address, ErrorRecord, JsonText, SentMessage, Source};
use crate::record::{Attempt, QuestionRecord};
use crate::workbench::wording::{describe_issue, in_plain_words};
use ptc_core::value::Json;

/// The messages that requests contained so far, by run: later requests repeat them.
#[derive(Debug, Default)]
pub(super) struct SentSoFar(HashMap<Address, SentRanges>);

/// Inclusive ranges of message numbers: sorted, with gaps between them.
#[derive(Debug, Default)]
struct SentRanges(Vec<(u32, u32)>);

impl SentRanges {
    /// Returns the parts of a range that were not sent before, and records them. A long run has one range, so a request that repeats
    /// thousands of messages costs as much as its new ones.
    fn take_new(&mut self, (from, to): (u32, u32)) -> Vec<(u32, u32)> {
        let mut new = Vec::new();
        let mut next = Some(from);
        for (start, end) in self.0.iter().copied().filter(|(_, end)| *end >= from) {
            let Some(first) = next.filter(|first| start <= to && *first <= to) else { break };
            if start > first {
                new.push((first, start - 1));
            }
            next = end.checked_add(1);
        }
        new.extend(next.filter(|first| *first <= to).map(|first| (first, to)));
        if !new.is_empty() {
            self.0.extend(&new);
            self.0.sort_unstable();
            self.0.dedup_by(|range, before| {
                let joins = range.0 <= before.1.saturating_add(1);
                before.1 = if joins { before.1.max(range.1) } else { before.1 };
                joins
            });
        }
        new
    }
}

/// Visits the messages of a request that are new content: neither repeated nor shown by another card.
fn new_messages(
    card: &RequestCard,
    at: &Address,
    store: &MessageStore,
    sent: &mut SentSoFar,
    add: &mut dyn FnMut(&SentMessage),
) {
    let run = at.run_part();
    let ranges = sent.0.entry(run.clone()).or_default();
    let is_own = |message: &&SentMessage| matches!(message.source, Source::Prompt | Source::User);
    match &card.messages {
        Messages::Ranges(all) => {
            for range in all {
                let new = ranges.take_new(*range);
                store.ranges(&run, &new).filter(is_own).for_each(&mut *add);
            }
        }
        Messages::Read(all) => {
            let mut is_new = |message: &&SentMessage| !ranges.take_new((message.m, message.m)).is_empty();
            all.iter().filter(|message| is_new(message)).filter(is_own).for_each(add);
        }
    }
}

/// Visits each text of a card with its kind, in the order in which the card shows them. With `sent`, the messages of earlier requests, only
/// the new texts of a request are visited; without it, all of them.
pub(super) fn visit(
    card: &Card,
    at: &Address,
    store: &MessageStore,
    sent: Option<&mut SentSoFar>,
    add: &mut dyn FnMut(&'static str, &str),
) {
    match card {
        Card::Start(start) => {
            add("agent", &start.agent.name);
            add("inputs", start.context.as_str());
        }
        Card::Request(Some(card)) => {
            card.bare().iter().for_each(|head| add("request", &head.line()));
            let mut add_message =
                |message: &SentMessage| message.parts.iter().for_each(|part| add("prompt", &part.text()));
            match sent {
                Some(sent) => new_messages(card, at, store, sent, &mut add_message),
                None => messages(card, at, store, &mut add_message),
            }
        }
        Card::Reasoning(text) => add("reasoning", text),
        Card::Feedback(text) => add("feedback", text),
        Card::Notice(notice) => add("notice", &notice.text),
        Card::Turn(card) => turn(card, add),
        Card::End(card) => {
            if let Some(value) = &card.end.value {
                // A text is shown without quotes.
                let json = value.as_str().starts_with('"').then(|| value.json());
                add("answer", json.as_ref().and_then(Json::as_str).unwrap_or(value.as_str()));
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_new_once() {
        let mut sent = SentRanges::default();
        assert_eq!(sent.take_new((0, 2)), [(0, 2)]);
        assert_eq!(sent.take_new((0, 4)), [(3, 4)]);
        assert_eq!(sent.take_new((8, 9)), [(8, 9)]);
        assert_eq!(sent.take_new((1, 11)), [(5, 7), (10, 11)]);
        assert_eq!(sent.take_new((3, 9)), []);
        assert_eq!(sent.0, [(0, 11)], "one range without gaps");
    }
}
