//! Gates: the user sees a request before it is sent, a reply before it is applied, the result of a tool before it is used, and may change
//! it.
//!
//! In: the messages of a request, a reply, a result. Out: the same as the user leaves it. Whether a run stops at a gate and what the user
//! puts there are inputs, so that a replay meets the same gates and continues with the same texts. A changed message is a new message; a
//! changed reply is one more attempt.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ptc_core::value::{Json, json};

use super::state::{Driver, Halt};
use crate::engine::modes::ToolResult;
use crate::event::{
    Address, JsonText, MessagePart, PartKind, QuestionAsked, ReplyEnd, ReplyPart, ReplyStatus, Role, Source, ToolEnd,
    ranges,
};
use crate::model::{Content, ManualReply, Message, Reply, Request, typed};
use crate::port::{Checkpoint, Gate, Question};

/// The prompt section of a message that was changed at a gate.
const EDITED: &str = "edited";

impl Driver<'_> {
    /// Stops at a gate when the run is intercepted there. `Some`: the text with which the user replaces the one that is shown.
    async fn at_gate(
        &mut self,
        at: &Address,
        gate: Gate,
        shown: impl FnOnce(&Self) -> String,
    ) -> Result<Option<String>, Halt> {
        let asked = at.question(self.questions.load(Ordering::Relaxed));
        // A user who is the model sees the request and writes the reply anyway.
        let is_own_reply = self.ports.model.is_human() && !self.is_awaited(&asked, &gate.question_kind());
        if is_own_reply || !self.intercepts(&asked, gate) {
            return Ok(None);
        }
        self.questions.fetch_add(1, Ordering::Relaxed);
        let asks = QuestionAsked { kind: gate.question_kind(), text: gate.prompt().to_owned(), options: Vec::new() };
        self.emit(&asked, asks).await?;
        let question = Question { address: asked, text: shown(self), options: Vec::new(), gate: Some(gate) };
        let text = question.text.clone();
        match self.answer(at, question).await {
            Ok(answer) => Ok((answer != text).then_some(answer)),
            Err(Halt::Fail(record)) => {
                self.end_turn(at, Some(&record.reason)).await?;
                Err(Halt::Fail(record))
            }
            Err(halt) => Err(halt),
        }
    }

    /// Returns whether the run stops at this gate. `question`: the address that its question would have.
    fn intercepts(&self, question: &Address, gate: Gate) -> bool {
        let recorded = self.ports.history.asked(question, &gate.question_kind());
        recorded.unwrap_or_else(|| self.ports.human.stops_at(Checkpoint::Gate(gate)))
    }

    /// The messages that are sent, by inclusive ranges of numbers, as the user leaves them.
    pub(super) async fn gate_of_request(
        &mut self,
        at: &Address,
        asked: Vec<(u32, u32)>,
    ) -> Result<Vec<(u32, u32)>, Halt> {
        let numbers: Vec<u32> = asked.iter().flat_map(|(first, last)| *first..=*last).collect();
        let shown = |driver: &Self| Sheet::of(driver.conversation.messages(), &numbers).text;
        let Some(changed) = self.at_gate(at, Gate::Send, shown).await? else { return Ok(asked) };
        let sheet = Sheet::of(self.conversation.messages(), &numbers);
        let mut sent = Vec::new();
        for (number, text) in sheet.read(&changed) {
            let Some(text) = text else {
                sent.push(number);
                continue;
            };
            let role = self.conversation.messages().get(number as usize).map_or(Role::User, |message| message.role);
            let part = MessagePart::Text { section: EDITED.to_owned(), text, untrusted: false };
            sent.push(self.conversation.next());
            self.add_message(at, role, Source::User, vec![part]).await?;
            self.conversation.replace(number);
        }
        Ok(ranges(sent))
    }

    /// The reply as the user leaves it. A changed one is recorded as one more attempt, by the editor.
    pub(super) async fn gate_of_reply(&mut self, at: &Address, request: &Request, reply: Reply) -> Result<Reply, Halt> {
        let shown = |_: &Self| ManualReply { text: reply.text.clone(), calls: reply.calls.clone() }.as_typed();
        let Some(changed) = self.at_gate(at, Gate::Apply, shown).await? else { return Ok(reply) };
        let attempt = reply.attempt.saturating_add(1);
        let written = Reply {
            attempt,
            usage: reply.usage,
            requests: reply.requests,
            structured_by: reply.structured_by,
            model: Some(ReplyEnd::EDITOR.to_owned()),
            ..typed(request, changed)
        };
        let written = self.conversation.with_ids(written);
        if !written.text.is_empty() {
            let lens = vec![u32::try_from(written.text.len()).unwrap_or(u32::MAX)];
            let part = ReplyPart { attempt, kind: PartKind::Text, text: written.text.clone(), lens, ms: vec![0] };
            self.emit(at, part).await?;
        }
        let end = ReplyEnd {
            finish: written.finish.as_ref().map(|finish| finish.name().to_owned()),
            calls: written.calls.clone(),
            model: written.model.clone(),
            structured_by: written.structured_by,
            requests: written.requests,
            ..ReplyEnd::new(attempt, ReplyStatus::Ok)
        };
        self.emit(at, end).await?;
        self.conversation.add_reply(at, &written);
        Ok(written)
    }
}

/// The number of the question at this gate among those of a call.
const AT_CALL: u32 = 2;

impl Driver<'_> {
    /// The result of a call as the user leaves it. A changed one is recorded as one more end of the call: the last one counts.
    pub(super) async fn gate_of_result(&self, at: &Address, result: ToolResult) -> Result<ToolResult, Halt> {
        let asked = at.question(AT_CALL);
        if !self.intercepts(&asked, Gate::Result) {
            return Ok(result);
        }
        let gate = Gate::Result;
        let asks = QuestionAsked { kind: gate.question_kind(), text: gate.prompt().to_owned(), options: Vec::new() };
        self.emit(&asked, asks).await?;
        let shown = match &result {
            Ok(value) => Json::from(value).to_pretty(),
            Err(record) => format!("{}: {}", record.reason, record.message),
        };
        let question = Question { address: asked, text: shown.clone(), options: Vec::new(), gate: Some(gate) };
        let answer = self.answer(at, question).await?;
        if answer == shown {
            return Ok(result);
        }
        // What is not JSON is a text.
        let result = json::parse(&answer).unwrap_or_else(|_| Json::str(answer.as_str()));
        self.emit(at, ToolEnd { result: Some(JsonText::of(&result)), ..ToolEnd::default() }).await?;
        Ok(Ok(result.to_value()))
    }
}

/// The messages of a request as one text: each under a heading that no line of theirs equals.
struct Sheet<'m> {
    text: String,
    /// Number, heading and text of each message; no text for what must stay as it is.
    parts: Vec<(u32, String, Option<&'m str>)>,
}

impl<'m> Sheet<'m> {
    fn of(messages: &'m [Arc<Message>], numbers: &[u32]) -> Self {
        let found: Vec<(u32, &Arc<Message>)> =
            numbers.iter().filter_map(|number| Some((*number, messages.get(*number as usize)?))).collect();
        let dashes = |line: &str| line.len() - line.trim_start_matches('-').len();
        let longest = found.iter().flat_map(|(_, message)| message.joined().lines().map(dashes).collect::<Vec<_>>());
        let rule = "-".repeat(longest.max().map_or(3, |longest| (longest + 1).max(3)));
        let (mut text, mut parts) = (String::new(), Vec::new());
        for (number, message) in found {
            let plain = match message.parts.as_slice() {
                [] => Some(""),
                [Content::Text(text)] => Some(text.as_str()),
                _ => None,
            };
            let fixed = if plain.is_none() { " (read-only)" } else { "" };
            let heading = format!("{rule} {number} {}{fixed}", message.role.name());
            for piece in [heading.as_str(), "\n", &message.joined(), "\n"] {
                text.push_str(piece);
            }
            parts.push((number, heading, plain));
        }
        Self { text, parts }
    }

    /// The numbers of the messages that are left, each with its text where it was changed. A text without any heading replaces
    /// the last message that can be changed.
    fn read(&self, changed: &str) -> Vec<(u32, Option<String>)> {
        let mut found: Vec<(usize, String)> = Vec::new();
        let mut before = String::new();
        for line in changed.split_inclusive('\n') {
            let bare = line.trim_end_matches(['\n', '\r']);
            match self.parts.iter().position(|(_, heading, _)| heading == bare) {
                Some(place) if found.iter().all(|(known, _)| *known != place) => found.push((place, String::new())),
                _ => found.last_mut().map_or(&mut before, |(_, text)| text).push_str(line),
            }
        }
        if found.is_empty() {
            let last = self.parts.iter().rposition(|(.., text)| text.is_some());
            let whole = (0..self.parts.len()).map(|place| {
                let (number, ..) = self.parts[place];
                (number, (Some(place) == last).then(|| before.clone()))
            });
            return whole.collect();
        }
        let left = found.into_iter().map(|(place, text)| {
            let (number, _, old) = &self.parts[place];
            let text = text.strip_suffix('\n').unwrap_or(&text);
            (*number, old.filter(|old| *old != text).map(|_| text.to_owned()))
        });
        left.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages() -> Vec<Arc<Message>> {
        let lines = [
            Message::text(Role::System, "You answer.\n--- 1 user\nNo more.".to_owned()),
            Message::text(Role::User, "Two?\n".to_owned()),
        ];
        lines.map(Arc::new).to_vec()
    }

    #[test]
    fn what_is_not_changed_stays_and_what_is_changed_is_found() {
        let messages = messages();
        let sheet = Sheet::of(&messages, &[0, 1]);
        assert_eq!(sheet.text, "---- 0 system\nYou answer.\n--- 1 user\nNo more.\n---- 1 user\nTwo?\n\n");
        assert_eq!(sheet.read(&sheet.text), [(0, None), (1, None)]);
        let changed = sheet.text.replace("Two?\n", "Three?");
        assert_eq!(sheet.read(&changed), [(0, None), (1, Some("Three?".to_owned()))]);
    }

    #[test]
    fn a_message_without_its_heading_is_omitted_and_a_bare_text_is_the_task() {
        let messages = messages();
        let sheet = Sheet::of(&messages, &[0, 1]);
        assert_eq!(sheet.read("---- 1 user\nTwo?\n\n"), [(1, None)]);
        assert_eq!(sheet.read("Four?"), [(0, None), (1, Some("Four?".to_owned()))]);
    }
}
