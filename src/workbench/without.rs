//! Asking again without a part of a request: a fork whose request lacks one section, tool definition or set of options.
//!
//! In: a session, a turn, the place of a part. Out: a run in the background, as of a fork. Sections are edited at the gate of the request,
//! as a user would edit them; content that is sent next to the messages is removed by an edit of the agent. The new session records both,
//! and replays. Parts that belong together, a call and its results, are dropped together. It must never change the recorded session.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::BoxFuture;
use ptc_core::value::Json;
use tokio_util::sync::CancellationToken;

use super::inspect::RequestPlace;
use super::inspect::sent::{Section, agent_without, sent};
use super::resume::unusable;
use super::{BackgroundRun, ForkChange, ForkSpec, StartError, Workbench};
use crate::event::{Address, Role};
use crate::port::{Checkpoint, Gate, Human, Question};
use crate::replay::Recording;
use crate::session::Session;

impl Workbench {
    /// Forks a session at a turn whose request lacks a part, in the turns that follow too. `human` answers questions.
    ///
    /// Errors: nothing would be left to send, the run needs the part, or the session cannot be forked there.
    pub async fn ask_without(
        &self,
        session: &Session,
        place: RequestPlace,
        spec: ForkSpec,
        human: Arc<dyn Human>,
    ) -> Result<BackgroundRun, StartError> {
        let turn = Address::from(spec.at.split(':').next().unwrap_or_default());
        let recorded = Recording::of(session).map_err(unusable)?.model_of(&turn.root());
        if spec.model.as_deref().or(recorded.as_deref()) == Some("human") {
            let message =
                "the model human does not depend on the request: name another model, or fork with another reply";
            return Err(unusable(message));
        }
        if !matches!(place, RequestPlace::Section { .. }) {
            let made = sent(session, &turn).ok_or_else(|| unusable(format!("{turn} made no request")))?.made;
            let agent = agent_without(&self.agent_at(session, &spec.at)?, &made, &place).map_err(unusable)?;
            let changes = vec![ForkChange::new("agent", Json::str(agent.to_toml()))];
            return self.fork(session, ForkSpec { changes, ..spec }, human).await;
        }
        let removal = Removal::of(session, &turn, &place).map_err(unusable)?;
        let is_made = AtomicBool::new(false);
        self.fork(session, spec, Arc::new(Remover { turn, removal, is_made, human })).await
    }

    /// Returns the place of the part with this title in the request of a turn. Equal titles are numbered in the order of the request:
    /// `feedback 1`, `feedback 2`.
    ///
    /// Errors: no part or several have it; the titles that are there.
    pub fn request_place(&self, session: &Session, turn: &Address, title: &str) -> Result<RequestPlace, StartError> {
        let mut parts = Vec::new();
        if let Some(sent) = sent(session, turn) {
            parts.extend(sent.sections.iter().map(|section| (super::inspect::title(section), section.place())));
            let tools = sent.made.tools.iter().map(|tool| &tool.name);
            parts.extend(tools.map(|name| (format!("tool · {name}"), RequestPlace::Tool(name.clone()))));
            parts.extend(sent.made.schema.map(|_| ("schema".to_owned(), RequestPlace::Schema)));
            parts.push(("options".to_owned(), RequestPlace::Options));
        }
        let equal = parts.iter().filter(|(name, _)| name == title).count();
        number_equal_titles(&mut parts);
        if let Some((_, place)) = parts.iter().find(|(name, _)| name == title) {
            return Ok(place.clone());
        }
        if equal > 1 {
            let numbered: Vec<String> = (1..=equal).map(|number| format!("`{title} {number}`")).collect();
            let message = format!("{equal} parts of the request of {turn} have the title `{title}`");
            let numbered = numbered.join(", ");
            return Err(unusable(format!("{message}: write one of {numbered}, in the order of the request")));
        }
        let mut known: Vec<String> = parts.iter().map(|(name, _)| format!("`{name}`")).collect();
        known.sort_unstable();
        let known = known.join(", ");
        Err(unusable(format!("no part of the request of {turn} has the title `{title}`; known: {known}")))
    }
}

/// Adds a number to the titles that several parts have, from 1.
fn number_equal_titles(parts: &mut [(String, RequestPlace)]) {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for (title, _) in &*parts {
        *counts.entry(title.clone()).or_default() += 1;
    }
    counts.retain(|_, count| *count > 1);
    // From here on, a count is the number of the last part with the title.
    for (title, _) in parts.iter_mut().rev() {
        if let Some(number) = counts.get_mut(title) {
            *title = format!("{title} {number}");
            *number -= 1;
        }
    }
}

/// Removal of a part from a request.
#[derive(Debug)]
struct Removal {
    /// Messages as a whole, by number.
    messages: Vec<u32>,
    /// A text in a message: the number of the message, the byte offset of the text, the text.
    text: Option<(u32, usize, String)>,
}

impl Removal {
    fn of(session: &Session, turn: &Address, place: &RequestPlace) -> Result<Self, String> {
        let sections = sent(session, turn).map(|sent| sent.sections).unwrap_or_default();
        let missing = || format!("the request of {turn} has no such part");
        let at = sections.iter().position(|section| section.place() == *place).ok_or_else(missing)?;
        let removal = Self::of_section(&sections, at);
        let is_left = |section: &&Section| {
            section.role != Role::System && !removal.messages.contains(&section.key.0) && section.place() != *place
        };
        if sections.iter().any(|section| is_left(&section)) {
            Ok(removal)
        } else {
            Err("nothing else would be sent: it is the only part that is not a system prompt".to_owned())
        }
    }

    fn of_section(sections: &[Section], at: usize) -> Self {
        let (message, _) = sections[at].key;
        let of_message = |number: u32| sections.iter().filter(move |section| section.key.0 == number);
        let has = |number: u32, name: &str| of_message(number).any(|section| section.name == name);
        let is_result = |number: u32| has(number, "result");
        if has(message, "call") || is_result(message) {
            let mut numbers: Vec<u32> = sections.iter().map(|section| section.key.0).collect();
            numbers.dedup();
            let here = numbers.iter().position(|number| *number == message).unwrap_or_default();
            let calls = numbers[..=here].iter().rposition(|number| has(*number, "call")).unwrap_or(here);
            let results = numbers[calls + 1..].iter().take_while(|number| is_result(**number));
            let messages = std::iter::once(numbers[calls]).chain(results.copied()).collect();
            return Self { messages, text: None };
        }
        let is_alone = of_message(message).all(|other| other.key == sections[at].key || other.text.trim().is_empty());
        if is_alone {
            return Self { messages: vec![message], text: None };
        }
        let before = of_message(message).take_while(|section| section.key != sections[at].key);
        let start = before.map(|section| section.text.len()).sum();
        Self { messages: Vec::new(), text: Some((message, start, sections[at].text.clone())) }
    }

    /// The messages of a request as the gate shows them, each under its heading, without the removed part; `None` if they do not contain
    /// it.
    fn apply(&self, shown: &str) -> Option<String> {
        let rule = &shown[..shown.len() - shown.trim_start_matches('-').len()];
        let number = |line: &str| -> Option<u32> {
            line.strip_prefix(rule)?.strip_prefix(' ')?.split([' ', '\n']).next()?.parse().ok()
        };
        let mut messages: Vec<(u32, String, String)> = Vec::new();
        for line in shown.split_inclusive('\n') {
            match (number(line), messages.last_mut()) {
                (Some(number), _) => messages.push((number, line.to_owned(), String::new())),
                (None, Some((.., body))) => body.push_str(line),
                (None, None) => return None,
            }
        }
        let mut is_changed = false;
        let mut left = String::with_capacity(shown.len());
        for (number, heading, mut body) in messages {
            if self.messages.contains(&number) {
                is_changed = true;
                continue;
            }
            if let Some((_, start, text)) = self.text.as_ref().filter(|(message, ..)| *message == number) {
                let at_start = body.get(*start..).is_some_and(|rest| rest.starts_with(text.as_str()));
                let at = if at_start { *start } else { body.find(text.as_str())? };
                body.replace_range(at..at + text.len(), "");
                is_changed = true;
            }
            left.push_str(&heading);
            left.push_str(&body);
        }
        is_changed.then_some(left)
    }
}

/// A user who takes the part out of the request of a turn and of those that follow in its run; other questions go to the user whom it
/// wraps.
struct Remover {
    turn: Address,
    removal: Removal,
    /// A text was taken out of its message: later requests repeat the message as it is now.
    is_made: AtomicBool,
    human: Arc<dyn Human>,
}

impl Remover {
    /// The request without the part; `None` where it has none.
    fn without(&self, question: &Question) -> Option<String> {
        let turn = question.address.turn_part();
        let is_due = turn.run_part() == self.turn.run_part() && turn.turn_number() >= self.turn.turn_number();
        let edited = self.removal.apply(&question.text).filter(|_| is_due)?;
        self.is_made.store(true, Ordering::SeqCst);
        Some(edited)
    }
}

impl Human for Remover {
    fn ask<'a>(&'a self, question: &'a Question, cancel: &'a CancellationToken) -> BoxFuture<'a, Option<String>> {
        if question.gate != Some(Gate::Send) {
            return self.human.ask(question, cancel);
        }
        let gate = Checkpoint::Gate(Gate::Send);
        match self.without(question) {
            Some(edited) => Box::pin(std::future::ready(Some(edited))),
            None if self.human.stops_at(gate) => self.human.ask(question, cancel),
            None => Box::pin(std::future::ready(Some(question.text.clone()))),
        }
    }

    fn stops_at(&self, checkpoint: Checkpoint<'_>) -> bool {
        let is_pending = self.removal.text.is_none() || !self.is_made.load(Ordering::SeqCst);
        let is_own = matches!(checkpoint, Checkpoint::Gate(Gate::Send)) && is_pending;
        is_own || self.human.stops_at(checkpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workbench::PromptSizes;

    fn section(key: (u32, usize), role: Role, name: &str, text: &str) -> Section {
        let (name, text) = (name.to_owned(), text.to_owned());
        Section { key, role, name, text, origin: String::new(), untrusted: false, sizes: PromptSizes::default() }
    }

    fn request() -> Vec<Section> {
        vec![
            section((0, 0), Role::System, "role", "You answer.\n"),
            section((0, 1), Role::System, "rules", "--- 9 no heading\n"),
            section((1, 0), Role::User, "task", "Two?"),
            section((2, 0), Role::Assistant, "reply", "I look."),
            section((2, 1), Role::Assistant, "call", "price {}"),
            section((3, 0), Role::Tool, "result", "12"),
            section((4, 0), Role::Tool, "result", "13"),
            section((5, 0), Role::Assistant, "reply", "14"),
        ]
    }

    const SHOWN: &str = "---- 0 system\nYou answer.\n--- 9 no heading\n\n---- 1 user\nTwo?\n---- 2 assistant (read-only)\nI look.\n\
        ---- 3 tool (read-only)\n12\n---- 4 tool (read-only)\n13\n---- 5 assistant\n14\n";

    #[test]
    fn a_section_a_message_or_a_call_with_its_results_is_taken_out() {
        let tail = "---- 5 assistant\n14\n";
        let exchange = &SHOWN[SHOWN.find("---- 2").unwrap()..SHOWN.find("---- 5").unwrap()];
        let cases = [
            (0, SHOWN.replace("You answer.\n", "")),
            (1, SHOWN.replace("--- 9 no heading\n", "")),
            (2, SHOWN.replace("---- 1 user\nTwo?\n", "")),
            (3, SHOWN.replace(exchange, "")),
            (4, SHOWN.replace(exchange, "")),
            (6, SHOWN.replace(exchange, "")),
            (7, SHOWN.replace(tail, "")),
        ];
        for (at, wanted) in cases {
            assert_eq!(Removal::of_section(&request(), at).apply(SHOWN), Some(wanted), "section {at}");
        }
    }

    #[test]
    fn equal_titles_are_numbered_in_their_order() {
        let tool = |name: &str| RequestPlace::Tool(name.to_owned());
        let mut parts: Vec<(String, RequestPlace)> =
            ["task", "feedback", "reply", "feedback"].map(|title| (title.to_owned(), tool(title))).into();
        number_equal_titles(&mut parts);
        let titles: Vec<&str> = parts.iter().map(|(title, _)| title.as_str()).collect();
        assert_eq!(titles, ["task", "feedback 1", "reply", "feedback 2"]);
    }

    #[test]
    fn a_request_without_the_part_does_not_change() {
        let removal = Removal { messages: vec![7], text: None };
        assert_eq!(removal.apply(SHOWN), None);
        let removal = Removal { messages: Vec::new(), text: Some((0, 0, "Another text.".to_owned())) };
        assert_eq!(removal.apply(SHOWN), None);
    }
}
