//! What the index keeps of a session: its line in the list, what was called and what failed, and every text that can be searched.
//!
//! In: an open session. Out: a digest. It must never keep more text than [`MOST_TEXT`]; what is left out is told.

use std::collections::HashMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::event::{
    Address, Envelope, ErrorRecord, Event, ExtractKind, IssueSeverity, Line, MessagePart, ReplyEnd, Source,
};
use crate::record::Attempts;
use crate::session::{ReadError, Session, Summary, summarize};

/// Bytes of text that are kept of one session.
pub(super) const MOST_TEXT: usize = 16 << 20;

/// Characters of the answer that the index keeps for the list.
const RESULT_CHARS: usize = 1_000;

/// Kinds of events that hold text to be searched.
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

/// Where a text stands in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// A message built from the agent's definition, or of a person.
    Prompt,
    /// What the model said.
    Reply,
    /// The program in a reply.
    Program,
    /// The arguments of a tool call.
    Args,
    /// What a tool answered.
    Result,
    /// What was wrong: in a reply, a program, a tool, an answer, a run.
    Error,
    /// What was told to the model about its turn.
    Feedback,
    /// A person's note.
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

/// Failures that are kept of one session.
const MOST_FAILURES: usize = 1_000;

/// Something that failed in a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The stable reason.
    pub reason: String,
    /// What of: the path in an answer with `*` for numbers of items, or the name of a tool; empty where it is of the whole.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The turn or call; of a run that failed by itself its last turn.
    pub at: Address,
}

/// What filters ask of a session beside its summary.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Names of the agents that ran, those below others left out.
    #[serde(default)]
    pub agents: Vec<String>,
    /// Names of the tools that were called.
    pub tools: Vec<String>,
    /// Reasons that something failed with.
    pub reasons: Vec<String>,
    /// What failed, turn by turn; each once, however often it was told.
    #[serde(default)]
    pub failures: Vec<Failure>,
    /// Not all text was kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
}

/// A text of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) field: Field,
    pub(super) at: Address,
    pub(super) body: String,
    /// Bytes of a reply that are a program.
    pub(super) program: Option<(usize, usize)>,
}

/// What the index keeps of a session.
#[derive(Debug)]
pub(super) struct Digest {
    pub(super) summary: Summary,
    pub(super) facts: Facts,
    pub(super) texts: Vec<Text>,
}

impl Digest {
    /// Of an open session.
    pub(super) fn of(session: &Session) -> Self {
        let mut digester = Digester::default();
        session.visit(|_, line| digester.see(line, None));
        digester.digest(session)
    }

    /// Of a file, read once.
    pub(super) fn read(path: &Path) -> Result<Self, ReadError> {
        let mut digester = Digester::default();
        let session = Session::open_seeing(path, |line, event| digester.see(line, event))?;
        Ok(digester.digest(&session))
    }
}

/// What there is of a digest while lines are read.
#[derive(Debug, Default)]
struct Digester {
    facts: Facts,
    texts: Vec<Text>,
    replies: HashMap<Address, Reply>,
    /// Paths that did not fit, of turns and runs that have not ended.
    unfit: HashMap<Address, Vec<String>>,
    /// Tools by the address of their call, until it ends.
    called: HashMap<Address, String>,
    /// The last turn of each run.
    last: HashMap<Address, Address>,
    /// Bytes of data that were taken.
    taken: usize,
}

impl Digester {
    /// Takes a line; its event is read here unless it was read before.
    fn see(&mut self, line: &Line<'_>, event: Option<Envelope>) {
        if !KINDS.contains(&&*line.k) {
            return;
        }
        let Some(envelope) = event.or_else(|| line.envelope().ok()) else { return };
        let taken = self.taken + line.d.get().len();
        if taken > MOST_TEXT {
            self.facts.partial = true;
            return;
        }
        self.taken = taken;
        self.take(envelope);
    }

    fn digest(self, session: &Session) -> Digest {
        let Self { mut facts, mut texts, replies, .. } = self;
        let mut summary = summarize(session);
        if let Some((end, _)) = summary.result.char_indices().nth(RESULT_CHARS) {
            summary.result.truncate(end);
            summary.result.push('…');
        }
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

    fn say(&mut self, field: Field, at: &Address, text: impl Into<String>) {
        let text = text.into();
        if !text.trim().is_empty() {
            self.texts.push(Text { field, at: at.clone(), body: text, program: None });
        }
    }

    fn fail(&mut self, at: &Address, error: &ErrorRecord) {
        self.facts.reasons.push(error.reason.clone());
        self.say(Field::Error, at, format!("{}: {}", error.reason, error.message));
    }

    /// Keeps a failure. What a turn or a run ends with was mostly told before, where it happened.
    fn keep_failure(&mut self, reason: &str, path: &str, at: &Address) {
        if self.facts.failures.len() < MOST_FAILURES {
            let (reason, path) = (reason.to_owned(), path.to_owned());
            self.facts.failures.push(Failure { reason, path, at: at.clone() });
        }
    }

    /// The same for the end of a turn or run, with the paths that did not fit there.
    fn end(&mut self, reason: &str, told: &Address, at: &Address) {
        let unfit = self.unfit.remove(told).unwrap_or_default();
        let turn = at.turn_part();
        let known = |failure: &Failure| failure.reason == reason && failure.at.turn_part() == turn;
        if self.facts.failures.iter().rev().any(known) {
            return;
        }
        if unfit.is_empty() {
            self.keep_failure(reason, "", at);
        }
        for path in &unfit {
            self.keep_failure(reason, path, at);
        }
    }

    fn take(&mut self, envelope: Envelope) {
        if envelope.address.turn_number().is_some() {
            self.last.insert(envelope.run(), envelope.address.turn_part());
        }
        let at = &envelope.address;
        match envelope.event {
            Event::Message(message) => {
                let field = match message.source {
                    Source::Prompt | Source::User => Field::Prompt,
                    Source::Feedback => Field::Feedback,
                    // Said and told already, where they happened.
                    Source::Reply | Source::Tool => return,
                };
                for part in message.parts {
                    if let MessagePart::Text { text, .. } = part {
                        self.say(field, at, text);
                    }
                }
            }
            ref event @ (Event::ReplyPart(_) | Event::ReplyEnd(_)) => {
                self.replies.entry(at.clone()).or_default().attempts.apply(event);
                if let Event::ReplyEnd(ReplyEnd { error: Some(error), .. }) = event {
                    self.fail(at, error);
                }
            }
            Event::Extract(extract) => {
                if extract.kind == ExtractKind::Program {
                    match &extract.repaired {
                        Some(program) => self.say(Field::Program, at, program.text()),
                        None => self.replies.entry(at.clone()).or_default().program = extract.span,
                    }
                }
                extract.error.iter().for_each(|error| self.fail(at, error));
            }
            Event::Check(check) => {
                for issue in check.issues.iter().filter(|issue| issue.severity == IssueSeverity::Error) {
                    let place = if issue.path.is_empty() { String::new() } else { format!("{}: ", issue.path) };
                    self.say(Field::Error, at, format!("{place}{}", issue.message));
                    let unfit = self.unfit.entry(at.turn_part()).or_default();
                    let path = any_item(&issue.path);
                    if !unfit.contains(&path) {
                        unfit.push(path);
                    }
                }
            }
            Event::ProgramEnd(end) => end.error.iter().for_each(|error| self.fail(at, error)),
            Event::ToolCall(call) => {
                self.called.insert(at.clone(), call.name.clone());
                self.facts.tools.push(call.name);
                self.say(Field::Args, at, call.args.as_str());
            }
            Event::ToolEnd(end) => {
                end.result.iter().for_each(|result| self.say(Field::Result, at, result.as_str()));
                let tool = self.called.remove(at).unwrap_or_default();
                if let Some(error) = &end.error {
                    self.fail(at, error);
                    self.keep_failure(&error.reason, &tool, at);
                }
            }
            Event::TurnEnd(end) => {
                if let Some(reason) = end.reason {
                    self.end(&reason, at, at);
                    self.facts.reasons.push(reason);
                }
                self.unfit.remove(at);
            }
            Event::RunEnd(end) => {
                if let Some(error) = &end.fail {
                    self.fail(at, error);
                    let last = self.last.get(at).unwrap_or(at).clone();
                    self.end(&error.reason, at, &last);
                }
            }
            _ => {}
        }
    }
}

/// A path with `*` for the numbers of items, so that what is wrong with every item is one thing.
fn any_item(path: &str) -> String {
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = path.split('.').map(|part| if is_number(&part) { "*" } else { part }).collect();
    parts.join(".")
}

/// A reply as its parts come.
#[derive(Debug, Default)]
struct Reply {
    attempts: Attempts,
    program: Option<(usize, usize)>,
}
