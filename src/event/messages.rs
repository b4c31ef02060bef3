//! Messages as sent: stored once and numbered, rebuilt byte for byte from the ranges that a request names.

use std::borrow::Cow;

use super::{Message, MessagePart, NativeCall, Replies, Role, Source};

/// A message of a run with its whole text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentMessage {
    /// Number within the run.
    pub m: u32,
    /// Who speaks.
    pub role: Role,
    /// Why it exists.
    pub source: Source,
    /// Its text as sent, in parts: prompt section and text.
    pub parts: Vec<(String, String)>,
    /// The native tool calls in it; the text shows them as well.
    pub calls: Vec<NativeCall>,
    /// The id of the native call whose result it is.
    pub answers: Option<String>,
}

impl SentMessage {
    /// A message with the replies that it repeats.
    pub fn of(message: &Message, replies: &impl Replies) -> Self {
        Self {
            m: message.m,
            role: message.role,
            source: message.source,
            parts: message.sections(replies),
            calls: message.calls(replies),
            answers: message.answers().map(ToOwned::to_owned),
        }
    }

    /// Its text as sent.
    pub fn text(&self) -> String {
        self.parts.iter().map(|(_, text)| text.as_str()).collect()
    }
}

/// The messages of these inclusive ranges, in the order of the ranges: a fork that edits a prompt records the opening again and sends it before
/// the earlier messages. The messages are those of a run, in the order of their numbers.
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

impl Message {
    /// The text as sent, given the reply texts of the run.
    pub fn plain_text(&self, replies: &impl Replies) -> String {
        self.pieces(replies).into_iter().map(|(_, text)| text).collect()
    }

    /// Section name and text of each part.
    pub fn sections(&self, replies: &impl Replies) -> Vec<(String, String)> {
        self.pieces(replies).into_iter().map(|(name, text)| (name.to_owned(), text.into_owned())).collect()
    }

    /// The native calls in it, given the replies of the run.
    fn calls(&self, replies: &impl Replies) -> Vec<NativeCall> {
        let of = |part: &MessagePart| match part {
            MessagePart::Call { call } => vec![call.clone()],
            MessagePart::Reply { reply } => replies.reply(reply).map(|(_, calls)| calls.to_vec()).unwrap_or_default(),
            MessagePart::Text { .. } | MessagePart::Result { .. } => Vec::new(),
        };
        self.parts.iter().flat_map(of).collect()
    }

    /// The id of the native call whose result it is.
    fn answers(&self) -> Option<&str> {
        self.parts.iter().find_map(|part| match part {
            MessagePart::Result { call, .. } => Some(call.as_str()),
            _ => None,
        })
    }

    fn pieces<'a>(&'a self, replies: &'a impl Replies) -> Vec<(&'a str, Cow<'a, str>)> {
        let mut out = Vec::new();
        for part in &self.parts {
            match part {
                MessagePart::Text { section, text, .. } => out.push((section.as_str(), Cow::from(text))),
                MessagePart::Call { call } => out.push(("call", call.to_string().into())),
                MessagePart::Result { result, .. } => out.push(("result", result.into())),
                MessagePart::Reply { reply } => {
                    let Some((text, calls)) = replies.reply(reply) else { continue };
                    out.push(("reply", Cow::from(text)));
                    out.extend(calls.iter().map(|call| ("call", call.to_string().into())));
                }
            }
        }
        out
    }
}
