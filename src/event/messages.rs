//! Messages as sent: stored once and numbered, rebuilt byte for byte from the ranges that a request names.

use std::borrow::Cow;
use std::collections::HashMap;

use super::{Address, FileRecord, MessageAdded, MessagePart, NativeCall, Opaque, Role, Source};

/// A message of a run with its whole content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentMessage {
    /// Number within the run.
    pub m: u32,
    /// The role.
    pub role: Role,
    /// The origin.
    pub source: Source,
    /// Its content, in parts.
    pub parts: Vec<SentPart>,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SentPart {
    /// Text.
    Text {
        /// Prompt section; `reply` for the text of a reply.
        section: String,
        /// The text as sent.
        text: String,
    },
    /// A file.
    File(FileRecord),
    /// A native tool call of the assistant.
    Call(NativeCall),
    /// The result of a native tool call.
    Result {
        /// The id of the call.
        call: String,
        /// The tool's name.
        name: String,
        /// The result as JSON text.
        result: String,
    },
}

impl SentPart {
    /// The section of the repeated text of a reply.
    const REPLY: &str = "reply";

    /// The name of the part for readers.
    pub fn section(&self) -> &str {
        match self {
            Self::Text { section, .. } => section,
            Self::File(_) => "file",
            Self::Call(_) => "call",
            Self::Result { .. } => "result",
        }
    }

    /// The part as text: a call as its name and arguments, a result as its JSON.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text { text, .. } | Self::Result { result: text, .. } => Cow::Borrowed(text),
            Self::File(file) => Cow::Owned(file.to_string()),
            Self::Call(call) => Cow::Owned(call.to_string()),
        }
    }
}

impl SentMessage {
    /// A message with the replies that it repeats.
    pub fn of(message: &MessageAdded, replies: &impl Replies) -> Self {
        Self { m: message.m, role: message.role, source: message.source, parts: message.parts_with(replies) }
    }

    /// Its text: calls and files are not text.
    pub fn text(&self) -> String {
        self.parts
            .iter()
            .filter(|part| !matches!(part, SentPart::Call(_) | SentPart::File(_)))
            .map(SentPart::text)
            .collect()
    }

    /// All parts as one text, calls among them: to be compared, not to be shown.
    pub fn joined(&self) -> String {
        self.parts.iter().map(SentPart::text).collect()
    }

    /// All parts as text for users: text, calls and results each on lines of their own.
    pub fn lines(&self) -> String {
        let mut out = String::new();
        for part in &self.parts {
            if !out.is_empty() && !out.ends_with('\n') && !matches!(part, SentPart::Text { .. }) {
                out.push('\n');
            }
            out.push_str(&part.text());
        }
        out
    }

    /// Returns whether it repeats a reply and nothing else.
    pub fn is_repeated_reply(&self) -> bool {
        let is_of_reply = |part: &SentPart| match part {
            SentPart::Text { section, .. } => section == SentPart::REPLY,
            SentPart::Call(_) => true,
            SentPart::Result { .. } | SentPart::File(_) => false,
        };
        self.source == Source::Reply && self.parts.iter().all(is_of_reply)
    }
}

/// Numbers as inclusive ranges, in their order.
pub(crate) fn ranges(numbers: impl IntoIterator<Item = u32>) -> Vec<(u32, u32)> {
    let mut found: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match found.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => found.push((number, number)),
        }
    }
    found
}

/// The messages of these inclusive ranges, in the order of the ranges: a fork that edits a prompt records the opening again and sends it
/// before the earlier messages. The messages are those of a run, in the order of their numbers.
pub(crate) fn in_order<'m>(
    messages: &'m [SentMessage],
    ranges: &'m [(u32, u32)],
) -> impl Iterator<Item = &'m SentMessage> {
    ranges.iter().flat_map(move |range| slice(messages, *range))
}

/// The messages of an inclusive range.
pub(crate) fn slice(messages: &[SentMessage], (first, last): (u32, u32)) -> &[SentMessage] {
    let from = messages.partition_point(|message| message.m < first);
    let to = messages.partition_point(|message| message.m <= last);
    messages.get(from..to).unwrap_or_default()
}

impl MessageAdded {
    /// The text as sent, given the replies of the run. Calls are not text.
    pub fn plain_text(&self, replies: &impl Replies) -> String {
        SentMessage::of(self, replies).text()
    }

    /// The parts as sent, given the replies of the run.
    pub fn parts_with(&self, replies: &impl Replies) -> Vec<SentPart> {
        let mut out = Vec::new();
        for part in &self.parts {
            match part {
                MessagePart::Text { section, text, .. } => {
                    out.push(SentPart::Text { section: section.clone(), text: text.clone() });
                }
                MessagePart::File { file } => out.push(SentPart::File(file.clone())),
                MessagePart::Call { call } => out.push(SentPart::Call(call.clone())),
                MessagePart::Result { call, name, result } => {
                    out.push(SentPart::Result { call: call.clone(), name: name.clone(), result: result.clone() });
                }
                MessagePart::Reply { reply } => {
                    let Some((text, calls)) = replies.reply(reply) else { continue };
                    out.push(SentPart::Text { section: SentPart::REPLY.to_owned(), text: text.to_owned() });
                    out.extend(calls.iter().cloned().map(SentPart::Call));
                }
            }
        }
        out
    }
}

/// The model's replies at each turn of a run.
pub type RunText = HashMap<Address, RepeatedReply>;

/// A reply as an assistant message repeats it. Which attempt of a turn counts is decided in [`crate::record`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RepeatedReply {
    /// The attempt that it is of, from 1; 0 before the first. At a gate, a new text of the user is one more.
    pub attempt: u32,
    /// Its text.
    pub text: String,
    /// The tool calls it asks for.
    pub calls: Vec<NativeCall>,
    /// Reasoning that must be sent back to the provider.
    pub opaque: Option<Opaque>,
}

/// The replies that messages of a run repeat.
pub trait Replies {
    /// The text and the native calls of a turn's reply.
    fn reply(&self, turn: &Address) -> Option<(&str, &[NativeCall])>;
}

impl Replies for RunText {
    fn reply(&self, turn: &Address) -> Option<(&str, &[NativeCall])> {
        self.get(turn).map(|reply| (reply.text.as_str(), reply.calls.as_slice()))
    }
}
