//! Digest of a session for the index: its summary, tool calls, failures, and all searchable texts.
//!
//! In: an open session. Out: a digest. It must never store more text than [`MAX_TEXT`]; [`Facts::partial`] reports
//! truncation.

use std::collections::HashMap;
use std::path::Path;

use ptc_core::text::cut;
use ptc_core::value::Json;
use ptc_core::value::json::{self, Node};
use serde::{Deserialize, Serialize};

use super::failure::{Failure, limited};
use crate::event::{
    Address, Envelope, ErrorRecord, Event, ExtractKind, IssueSeverity, JsonText, Line, MessagePart, ReplyEnd,
    ReplyStatus, Source,
};
use crate::record::Attempts;
use crate::session::{ReadError, Session, Summary, summarize};

/// Maximum bytes of text stored per session.
pub(super) const MAX_TEXT: usize = 16 << 20;

/// Maximum characters of the answer in the summary.
const RESULT_CHARS: usize = 1_000;

/// Kinds of events that contain searchable text.
const KINDS: &[&str] = &[
    "run.end",
    "turn.end",
    "message",
    "reply.part",
    "reply.end",
    "extract",
    "check",
    "program.end",
    "tool.call",
    "tool.end",
];

/// Kind of a searchable text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// A message from the agent's prompt or from the user.
    Prompt,
    /// A reply of the model.
    Reply,
    /// The program in a reply.
    Program,
    /// The arguments of a tool call.
    Args,
    /// The result of a tool call.
    Result,
    /// An error in a reply, program, tool, answer or run.
    Error,
    /// Feedback to the model about its turn.
    Feedback,
    /// A user's note.
    Note,
}

impl Field {
    /// Every field.
    pub const ALL: &[Self] =
        &[Self::Prompt, Self::Reply, Self::Program, Self::Args, Self::Result, Self::Error, Self::Feedback, Self::Note];

    /// The name in queries and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Reply => "reply",
            Self::Program => "program",
            Self::Args => "args",
            Self::Result => "result",
            Self::Error => "error",
            Self::Feedback => "feedback",
            Self::Note => "note",
        }
    }
}

/// Maximum characters of an error's message in a failure.
const MESSAGE_CHARS: usize = 200;

/// Facts that filters need in addition to the summary.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Names of the root agents.
    #[serde(default)]
    pub agents: Vec<String>,
    /// Names of the tools that were called.
    pub tools: Vec<String>,
    /// Reasons of failures.
    pub reasons: Vec<String>,
    /// Failures in order; each is listed once, even if it was recorded several times.
    #[serde(default)]
    pub failures: Vec<Failure>,
    /// Not all text was stored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
}

/// A text of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) field: Field,
    pub(super) at: Address,
    pub(super) body: String,
    /// Byte range of the program in a reply.
    pub(super) program: Option<(usize, usize)>,
}

/// The indexed data of a session.
#[derive(Debug)]
pub(super) struct Digest {
    pub(super) summary: Summary,
    pub(super) facts: Facts,
    pub(super) texts: Vec<Text>,
}

impl Digest {
    /// Creates the digest of an open session.
    pub(super) fn of(session: &Session) -> Self {
        let mut digester = Digester::default();
        session.visit(|_, line| digester.add_line(line, None));
        digester.finish(session)
    }

    /// Reads a file once and creates its digest.
    pub(super) fn read(path: &Path) -> Result<Self, ReadError> {
        let mut digester = Digester::default();
        let session = Session::open_with(path, |line, event| digester.add_line(line, event))?;
        Ok(digester.finish(&session))
    }
}

/// Creates the summary of a session, with the beginning of its result.
pub(super) fn short_summary(session: &Session) -> Summary {
    let mut summary = summarize(session);
    if let Some((end, _)) = summary.result.char_indices().nth(RESULT_CHARS) {
        summary.result.truncate(end);
        summary.result.push('…');
    }
    summary
}

/// State while lines are read.
#[derive(Debug, Default)]
struct Digester {
    facts: Facts,
    texts: Vec<Text>,
    replies: HashMap<Address, Reply>,
    /// Invalid paths of turns and runs that have not ended, each with its first message.
    invalid_paths: HashMap<Address, Vec<(String, String)>>,
    /// The message of the last error of each turn that has not ended: of its reply or program, not of its tools.
    turn_errors: HashMap<Address, String>,
    /// Tool names by call address, until the call ends.
    called: HashMap<Address, String>,
    /// The last turn of each run.
    last: HashMap<Address, Address>,
    /// Positions of the failures of each turn.
    failed: HashMap<Address, Vec<usize>>,
    /// Bytes of event data so far.
    data_bytes: usize,
}

impl Digester {
    /// Adds a line; parses its event unless that was done before.
    fn add_line(&mut self, line: &Line<'_>, event: Option<Envelope>) {
        if !KINDS.contains(&&*line.k) {
            return;
        }
        let Some(envelope) = event.or_else(|| line.envelope().ok()) else { return };
        let data_bytes = self.data_bytes + line.d.get().len();
        if data_bytes > MAX_TEXT {
            self.facts.partial = true;
            return;
        }
        self.data_bytes = data_bytes;
        self.add_event(envelope);
    }

    fn finish(self, session: &Session) -> Digest {
        let Self { mut facts, mut texts, replies, .. } = self;
        let summary = short_summary(session);
        facts.failures = limited(facts.failures);
        facts.agents = session.skeleton().roots().map(|run| run.agent.clone()).collect();
        let replies = replies.into_iter().filter(|(_, reply)| !reply.attempts.text().is_empty());
        texts.extend(replies.map(|(at, reply)| Text {
            field: Field::Reply,
            at,
            body: reply.attempts.text().to_owned(),
            program: reply.program,
        }));
        for names in [&mut facts.agents, &mut facts.tools, &mut facts.reasons] {
            names.sort();
            names.dedup();
        }
        Digest { summary, facts, texts }
    }

    fn add_text(&mut self, field: Field, at: &Address, text: impl Into<String>) {
        let text = text.into();
        if !text.trim().is_empty() {
            self.texts.push(Text { field, at: at.clone(), body: text, program: None });
        }
    }

    fn add_error(&mut self, at: &Address, error: &ErrorRecord) {
        self.facts.reasons.push(error.reason.clone());
        self.add_text(Field::Error, at, format!("{}: {}", error.reason, error.message));
    }

    /// Like `add_error`, for an error of a turn itself, whose message explains why the turn failed.
    fn add_turn_error(&mut self, at: &Address, error: &ErrorRecord) {
        self.add_error(at, error);
        self.turn_errors.insert(at.turn_part(), error.message.clone());
    }

    /// Adds a failure.
    fn add_failure(&mut self, reason: &str, path: &str, at: &Address, message: &str) {
        self.failed.entry(at.turn_part()).or_default().push(self.facts.failures.len());
        let (reason, path, message) = (reason.to_owned(), path.to_owned(), first_line(message));
        self.facts.failures.push(Failure { reason, path, at: at.clone(), message, repeated: 0 });
    }

    /// Adds the failure of a turn or run with its invalid paths. One that was recorded where it happened gets the message, if it has none.
    fn add_end(&mut self, reason: &str, scope: &Address, at: &Address, message: &str) {
        let invalid_paths = self.invalid_paths.remove(scope).unwrap_or_default();
        let mut of_turn = self.failed.get(&at.turn_part()).into_iter().flatten().rev().copied();
        let known = of_turn.find(|place| self.facts.failures[*place].reason == reason);
        if let Some(failure) = known.and_then(|place| self.facts.failures.get_mut(place)) {
            if failure.path.is_empty() && failure.message.is_empty() {
                failure.message = first_line(message);
            }
            return;
        }
        if invalid_paths.is_empty() {
            self.add_failure(reason, "", at, message);
        }
        for (path, message) in &invalid_paths {
            self.add_failure(reason, path, at, message);
        }
    }

    fn add_event(&mut self, envelope: Envelope) {
        if envelope.address.turn_number().is_some() {
            self.last.insert(envelope.run(), envelope.address.turn_part());
        }
        let at = &envelope.address;
        match envelope.event {
            Event::MessageAdded(message) => {
                let field = match message.source {
                    Source::Prompt | Source::User => Field::Prompt,
                    Source::Feedback => Field::Feedback,
                    // Recorded with the reply or the tool call.
                    Source::Reply | Source::Tool => return,
                };
                for part in message.parts {
                    if let MessagePart::Text { text, .. } = part {
                        self.add_text(field, at, text);
                    }
                }
            }
            ref event @ (Event::ReplyPart(_) | Event::ReplyEnd(_)) => {
                self.replies.entry(at.clone()).or_default().attempts.apply(event);
                match event {
                    // An attempt that was repeated does not fail the turn.
                    Event::ReplyEnd(ReplyEnd { error: Some(error), status: ReplyStatus::Discarded, .. }) => {
                        self.add_error(at, error);
                    }
                    Event::ReplyEnd(ReplyEnd { error: Some(error), .. }) => self.add_turn_error(at, error),
                    _ => {}
                }
            }
            Event::Extract(extract) => {
                if extract.kind == ExtractKind::Program {
                    match &extract.repaired {
                        Some(program) => self.add_text(Field::Program, at, program.text()),
                        None => self.replies.entry(at.clone()).or_default().program = extract.span,
                    }
                }
                extract.error.iter().for_each(|error| self.add_turn_error(at, error));
            }
            Event::Check(check) => {
                for issue in check.issues.iter().filter(|issue| issue.severity == IssueSeverity::Error) {
                    let path = if issue.path.is_empty() { String::new() } else { format!("{}: ", issue.path) };
                    self.add_text(Field::Error, at, format!("{path}{}", issue.message));
                    let invalid_paths = self.invalid_paths.entry(at.turn_part()).or_default();
                    let path = wildcard_items(&issue.path);
                    if !invalid_paths.iter().any(|(known, _)| *known == path) {
                        invalid_paths.push((path, issue.message.clone()));
                    }
                }
            }
            Event::ProgramEnd(end) => end.error.iter().for_each(|error| self.add_turn_error(at, error)),
            Event::ToolCall(call) => {
                self.called.insert(at.clone(), call.name.clone());
                self.facts.tools.push(call.name);
                self.add_text(Field::Args, at, readable(&call.args));
            }
            Event::ToolEnd(end) => {
                end.result.iter().for_each(|result| self.add_text(Field::Result, at, readable(result)));
                let tool = self.called.remove(at).unwrap_or_default();
                if let Some(error) = &end.error {
                    self.add_error(at, error);
                    self.add_failure(&error.reason, &tool, at, &error.message);
                }
            }
            Event::TurnEnd(end) => {
                let message = self.turn_errors.remove(at).unwrap_or_default();
                if let Some(reason) = end.reason {
                    self.add_end(&reason, at, at, &message);
                    self.facts.reasons.push(reason);
                }
                self.invalid_paths.remove(at);
            }
            Event::RunEnd(end) => {
                if let Some(error) = &end.fail {
                    self.add_error(at, error);
                    let last = self.last.get(at).unwrap_or(at).clone();
                    self.add_end(&error.reason, at, &last, &error.message);
                }
            }
            _ => {}
        }
    }
}

/// Data as its reader sees it: a text as it is, other data as JSON in which the texts are not escaped.
fn readable(data: &JsonText) -> String {
    // Data that is nested too deep to be read is searched as it is stored.
    let Ok(tree) = json::parse(data.as_str()) else { return data.as_str().to_owned() };
    let mut out = String::with_capacity(data.as_str().len());
    match &tree.node {
        Node::Str(text) => out.push_str(text),
        _ => push_readable(&tree, &mut out),
    }
    out
}

fn push_readable(tree: &Json, out: &mut String) {
    let separate = |place: usize, out: &mut String| {
        if place > 0 {
            out.push(',');
        }
    };
    match &tree.node {
        Node::Str(text) => push_quoted(text, out),
        Node::List(items) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                separate(place, out);
                push_readable(item, out);
            }
            out.push(']');
        }
        Node::Object(members) => {
            out.push('{');
            for (place, member) in members.iter().enumerate() {
                separate(place, out);
                push_quoted(&member.key, out);
                out.push(':');
                push_readable(&member.value, out);
            }
            out.push('}');
        }
        _ => out.push_str(&tree.to_text()),
    }
}

fn push_quoted(text: &str, out: &mut String) {
    out.push('"');
    out.push_str(text);
    out.push('"');
}

/// The start of an error's message, on one line.
fn first_line(message: &str) -> String {
    cut(message.lines().next().unwrap_or_default(), MESSAGE_CHARS)
}

/// Replaces item numbers in a path by `*`, so that the same error in several items counts as one failure.
fn wildcard_items(path: &str) -> String {
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = path.split('.').map(|part| if is_number(&part) { "*" } else { part }).collect();
    parts.join(".")
}

/// A reply under construction.
#[derive(Debug, Default)]
struct Reply {
    attempts: Attempts,
    program: Option<(usize, usize)>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{RunEnd, TurnEnd};

    fn failures(events: Vec<(&str, Event)>) -> Vec<(String, String)> {
        let mut digester = Digester::default();
        for (seq, (at, event)) in (1..).zip(events) {
            digester.add_event(Envelope { seq, at_ms: 0, address: Address::from(at), event });
        }
        digester.facts.failures.into_iter().map(|failure| (failure.reason, failure.message)).collect()
    }

    fn error(reason: &str, message: &str) -> ErrorRecord {
        ErrorRecord { reason: reason.to_owned(), message: message.to_owned(), ..ErrorRecord::default() }
    }

    fn turn_end(reason: &str) -> Event {
        TurnEnd { reason: Some(reason.to_owned()), ..TurnEnd::default() }.into()
    }

    fn run_end(fail: ErrorRecord) -> Event {
        RunEnd { fail: Some(fail), ..RunEnd::default() }.into()
    }

    fn reply_end(status: ReplyStatus, message: &str) -> Event {
        ReplyEnd { error: Some(error("llm_error", message)), ..ReplyEnd::new(1, status) }.into()
    }

    #[test]
    fn a_failure_keeps_the_message_of_the_reply_that_failed() {
        let found = failures(vec![
            ("r0/t1", reply_end(ReplyStatus::Discarded, "busy")),
            ("r0/t1", reply_end(ReplyStatus::Error, "no such model\nmore")),
            ("r0/t1", turn_end("llm_error")),
            ("r0", run_end(error("llm_error", "the model failed"))),
        ]);
        assert_eq!(found, [("llm_error".to_owned(), "no such model".to_owned())]);
    }

    #[test]
    fn a_failure_without_a_message_gets_that_of_its_run() {
        let found = failures(vec![
            ("r0/t1", reply_end(ReplyStatus::Discarded, "busy")),
            ("r0/t1", turn_end("budget_exceeded")),
            ("r0", run_end(error("budget_exceeded", "no tokens are left"))),
        ]);
        assert_eq!(found, [("budget_exceeded".to_owned(), "no tokens are left".to_owned())]);
    }
}
