//! The images, sounds and documents of a captured request, as inputs of its agent.
//!
//! In: the body and the messages of a request. Out: files, and the differences that they make to the messages.

use crate::agent::InputFile;
use crate::event::{Role, SentMessage, SentPart};
use crate::model::{MediaPart, media_of, media_type};

/// The parts of a request that are not text.
pub(super) struct Media {
    /// Those whose bytes are known, with the names of their inputs.
    pub(super) files: Vec<(String, InputFile)>,
    /// For each part, in the order of the request: true if its bytes are known.
    are_sent: Vec<bool>,
    /// The kinds of the others.
    pub(super) unsent: Vec<String>,
}

impl Media {
    pub(super) fn of(body: &str, messages: &[SentMessage], name: &str) -> Self {
        let kinds: Vec<String> = media_kinds(messages).map(ToOwned::to_owned).collect();
        let of_body = media_of(body.as_bytes());
        // Messages that the service keeps come first, and are not in the body.
        let kept = kinds.len().saturating_sub(of_body.len());
        let mut media = Self { files: Vec::new(), are_sent: vec![false; kept], unsent: kinds[..kept].to_vec() };
        for MediaPart { kind, bytes } in of_body {
            let file = bytes.and_then(|bytes| media.file(name, bytes));
            media.are_sent.push(file.is_some());
            match file {
                Some(file) => media.files.push(file),
                None => media.unsent.push(kind),
            }
        }
        media.unsent.extend(sections(messages).filter(|section| ITEMS.contains(section)).map(ToOwned::to_owned));
        media
    }

    /// The next input, and its file; `None` for a file that cannot be an input.
    fn file(&self, name: &str, bytes: Vec<u8>) -> Option<(String, InputFile)> {
        let media_type = media_type(&bytes)?;
        let (kind, subtype) = media_type.split_once('/')?;
        let kind = match (kind, subtype) {
            ("image", _) => "image",
            ("audio", _) => "sound",
            _ => "document",
        };
        let ending = match subtype {
            "jpeg" => "jpg",
            "plain" => "txt",
            other => other,
        };
        let number = self.files.len() + 1;
        let file = InputFile::new(&format!("{name}-{kind}-{number}.{ending}"), bytes).ok()?;
        Some((format!("{kind}_{number}"), file))
    }

    /// The differences that files make to the messages of the request.
    pub(super) fn differences(&self, messages: &[SentMessage]) -> Vec<String> {
        let last = messages.iter().rposition(|message| message.role == Role::User).unwrap_or_default();
        let mut found = Vec::new();
        if !self.files.is_empty() && messages.get(last).is_some_and(has_text_before_media) {
            found.push("files come before the text of a message".to_owned());
        }
        if !self.files.is_empty() && media_kinds(&messages[..last]).next().is_some() {
            found.push("files of earlier messages are sent with the last message of the user".to_owned());
        }
        if !self.unsent.is_empty() {
            found.push(format!("parts that are sent by name only: {}", self.unsent.join(", ")));
        }
        found
    }

    /// The messages without the placeholder texts of sent files.
    pub(super) fn without_sent(&self, messages: &[SentMessage]) -> Vec<SentMessage> {
        let mut are_sent = self.are_sent.iter();
        let mut messages = messages.to_vec();
        for message in messages.iter_mut().filter(|message| message.role == Role::User) {
            message.parts.retain(|part| {
                let is_media = matches!(part, SentPart::Text { section, .. } if is_media(section));
                !(is_media && are_sent.next().copied().unwrap_or_default())
            });
        }
        messages
    }
}

/// Items of the user in a request of the Responses API that are neither texts nor files.
const ITEMS: [&str; 2] = ["mcp_approval_response", "compaction_trigger"];

/// Returns whether an image, a sound or a document of a message follows a text.
fn has_text_before_media(message: &SentMessage) -> bool {
    let sections: Vec<&str> = sections(std::slice::from_ref(message)).collect();
    let text = sections.iter().position(|section| !is_media(section));
    sections.iter().rposition(|section| is_media(section)).zip(text).is_some_and(|(media, text)| text < media)
}

/// Returns whether a text with this section is the placeholder of an image, a sound or a document.
fn is_media(section: &str) -> bool {
    section != Role::User.name() && !ITEMS.contains(&section)
}

/// The sections of the texts in the messages of the user.
fn sections(messages: &[SentMessage]) -> impl Iterator<Item = &str> {
    let parts = messages.iter().filter(|message| message.role == Role::User).flat_map(|message| &message.parts);
    parts.filter_map(|part| match part {
        SentPart::Text { section, .. } => Some(section.as_str()),
        _ => None,
    })
}

/// The kinds of the images, sounds and documents in the messages of the user.
fn media_kinds(messages: &[SentMessage]) -> impl Iterator<Item = &str> {
    sections(messages).filter(|section| is_media(section))
}
