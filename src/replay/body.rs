//! Request bodies rebuilt from a recording.
//!
//! In: events in the order of the session. Out: the bytes that an attempt sent, checked against the recorded hash and size. It must never
//! return a body with another hash.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::event::{
    Address, Envelope, Event, JsonText, MessageAdded, MessagePart, RawBody, RequestMade, Role, RunText, Sent, hex_sha,
};
use crate::model::{self, Content, FileBytes, Request, Retry, rebuild_body, unpack_body};
use crate::port::Attachments;
use crate::prompt::outgoing;
use crate::record::TurnAttempts;

/// The messages, replies and requests that bodies are made of.
pub struct RecordedBodies<'a> {
    files: &'a dyn Attachments,
    messages: HashMap<Address, HashMap<u32, MessageAdded>>,
    attempts: TurnAttempts,
    requests: HashMap<Address, RequestMade>,
    /// Bodies of other programs, as they passed the proxy.
    raw: HashMap<Address, Result<Vec<u8>, String>>,
}

/// The reason why the body of an attempt cannot be rebuilt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyError {
    /// The turn has no request.
    NoRequest,
    /// The bytes of this file are missing.
    File(String),
    /// The rebuilt body has this hash instead of that of the body that was sent.
    Hash(String),
    /// The rebuilt body has this number of bytes instead of the recorded one.
    Bytes(u64),
    /// The recorded bytes cannot be read.
    Raw(String),
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRequest => f.write_str("its turn has no request"),
            Self::File(name) => write!(f, "the bytes of the file {name} are missing next to the session"),
            Self::Hash(hash) => write!(f, "rebuilt from the recorded request it has the SHA-256 {hash}"),
            Self::Raw(why) => f.write_str(why),
            Self::Bytes(bytes) => write!(f, "rebuilt from the recorded request it has {bytes} bytes"),
        }
    }
}

impl<'a> RecordedBodies<'a> {
    /// Bodies with these files.
    pub fn new(files: &'a dyn Attachments) -> Self {
        Self {
            files,
            messages: HashMap::new(),
            attempts: TurnAttempts::default(),
            requests: HashMap::new(),
            raw: HashMap::new(),
        }
    }

    /// Takes the next event of the session.
    pub fn apply(&mut self, envelope: &Envelope) {
        match &envelope.event {
            Event::MessageAdded(message) => {
                self.messages.entry(envelope.run()).or_default().insert(message.m, message.clone());
            }
            Event::RawRequest(request) => {
                let base = request.body.base.as_ref().and_then(|base| self.raw.get(base)?.as_deref().ok());
                let body = unpack_body(&request.body, base);
                self.raw.insert(envelope.address.clone(), body);
            }
            Event::RequestMade(request) => _ = self.requests.insert(envelope.address.clone(), request.clone()),
            event @ (Event::ReplyPart(_) | Event::ReplyEnd(_)) => {
                self.attempts.entry(envelope.address.clone()).or_default().apply(event);
            }
            _ => {}
        }
    }

    /// Returns the request of a turn.
    pub fn request(&self, turn: &Address) -> Option<&RequestMade> {
        self.requests.get(turn)
    }

    /// Rebuilds the body that an attempt of a turn sent.
    pub fn body(&self, turn: &Address, sent: &Sent) -> Result<Vec<u8>, BodyError> {
        if let Some(raw) = self.raw.get(turn) {
            return raw_body(raw, sent);
        }
        let made = self.request(turn).ok_or(BodyError::NoRequest)?;
        let messages = self.messages(turn, made);
        let files = self.files(&messages)?;
        let body = rebuild_body(&Request { files, ..recorded_request(turn, made, messages) }, sent);
        let body = body.map_err(BodyError::Hash)?.into_bytes();
        match body.len() as u64 {
            bytes if bytes == sent.bytes => Ok(body),
            bytes => Err(BodyError::Bytes(bytes)),
        }
    }

    /// The bytes of the files in messages.
    fn files(&self, messages: &[Arc<model::Message>]) -> Result<FileBytes, BodyError> {
        let mut files = FileBytes::default();
        for part in messages.iter().flat_map(|message| &message.parts) {
            let Content::File(file) = part else { continue };
            let bytes = self.files.bytes(&file.sha256).ok_or_else(|| BodyError::File(file.name.clone()))?;
            files.insert(file.sha256.as_str(), bytes);
        }
        Ok(files)
    }

    /// The messages of a request as the model got them.
    fn messages(&self, turn: &Address, made: &RequestMade) -> Vec<Arc<model::Message>> {
        let Some(known) = self.messages.get(&turn.run_part()) else { return Vec::new() };
        // A range may name more numbers than there are messages.
        let ranges = made.messages.iter().flat_map(|(first, last)| {
            let mut numbers: Vec<u32> = known.keys().copied().filter(|m| (*first..=*last).contains(m)).collect();
            numbers.sort_unstable();
            numbers
        });
        let messages: Vec<&MessageAdded> = ranges.filter_map(|m| known.get(&m)).collect();
        let repeated: RunText = messages
            .iter()
            .flat_map(|message| &message.parts)
            .filter_map(|part| match part {
                MessagePart::Reply { reply } => Some((reply.clone(), self.attempts.get(reply)?.repeated())),
                _ => None,
            })
            .collect();
        messages.into_iter().map(|message| Arc::new(outgoing(message, &repeated))).collect()
    }
}

/// The body that the proxy replaced by another one, if it did.
pub fn came_of(event: &Event) -> Option<&RawBody> {
    match event {
        Event::RawRequest(request) => request.came.as_ref(),
        Event::RawReply(reply) => reply.came.as_ref(),
        _ => None,
    }
}

/// The bytes of a body that was replaced. Errors: they cannot be read, or have another hash.
pub fn came_body(came: &RawBody) -> Result<Vec<u8>, String> {
    let body = unpack_body(came, None)?;
    let hash = hex_sha(&body);
    if hash == came.sha { Ok(body) } else { Err(format!("its bytes have the SHA-256 {hash}")) }
}

/// A body of another program, checked.
fn raw_body(raw: &Result<Vec<u8>, String>, sent: &Sent) -> Result<Vec<u8>, BodyError> {
    let body = raw.as_ref().map_err(|why| BodyError::Raw(why.clone()))?;
    let hash = hex_sha(body);
    if hash != sent.sha {
        return Err(BodyError::Hash(hash));
    }
    if body.len() as u64 != sent.bytes {
        return Err(BodyError::Bytes(body.len() as u64));
    }
    Ok(body.clone())
}

/// The request as far as bodies depend on it: their frames are recorded, only their messages are not.
fn recorded_request(turn: &Address, made: &RequestMade, messages: Vec<Arc<model::Message>>) -> Request {
    let (system, messages): (Vec<_>, Vec<_>) = messages.into_iter().partition(|message| message.role == Role::System);
    let system: Vec<String> = system.iter().map(|message| message.joined()).collect();
    Request {
        address: turn.clone(),
        agent: String::new(),
        mode: String::new(),
        want: made.want,
        system: (!system.is_empty()).then(|| system.concat()),
        messages,
        files: FileBytes::default(),
        schema: made.schema.as_ref().map(JsonText::json),
        tools: made.tools.clone(),
        tool_choice: None,
        tool_names: made.tool_names.clone(),
        tool_signatures: Vec::new(),
        signature: None,
        options: made.options.clone(),
        retry: Retry::default(),
        cache: made.cache,
        seed: 0,
    }
}
