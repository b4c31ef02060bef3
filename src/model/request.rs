//! Requests and replies, free of any protocol.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ptc_core::value::Json;

use super::Retry;
use crate::event::{
    Address, FileRecord, ModelRecord, NativeCall, Opaque, Options, Role, SentMessage, SentPart, StructuredBy, Tokens,
    ToolSchema, Want,
};

/// One question to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The turn it belongs to.
    pub address: Address,
    /// The agent's name.
    pub agent: String,
    /// The mode's name.
    pub mode: String,
    /// Kind of answer that is wanted.
    pub want: Want,
    /// System text.
    pub system: Option<String>,
    /// The other messages, oldest first. The requests of a run share them.
    pub messages: Vec<Arc<Message>>,
    /// The bytes of the files in them.
    pub files: FileBytes,
    /// JSON Schema of the answer, for a JSON answer.
    pub schema: Option<Json>,
    /// Tools that the model may call natively.
    pub tools: Vec<ToolSchema>,
    /// Restricts native calls of those tools; `None` leaves it to the provider's default. Agents do not set it.
    pub tool_choice: Option<ToolChoice>,
    /// Names of the tools that may be used, natively or in programs and control objects.
    pub tool_names: Vec<String>,
    /// The signatures of those tools, by name, for models that call them from programs and control objects.
    pub tool_signatures: Vec<(String, String)>,
    /// The agent's signature as written, for models that answer from it.
    pub signature: Option<String>,
    /// Options asked for.
    pub options: Options,
    /// The policy after a failure, if the agent sets one.
    pub retry: Retry,
    /// Hint that the provider should cache the prompt.
    pub cache: bool,
    /// Seed of the run, for models that need chance.
    pub seed: u64,
}

impl Request {
    /// The turn's number, from 1.
    pub fn turn(&self) -> u32 {
        self.address.turn_number().unwrap_or(1)
    }

    /// Returns whether the result of a call has an image.
    pub(super) fn has_result_images(&self) -> bool {
        let results = self.messages.iter().filter(|message| message.role == Role::Tool);
        results.flat_map(|message| &message.parts).any(|part| matches!(part, Content::File(_)))
    }
}

/// Bytes of files by their SHA-256. Clones share them.
#[derive(Clone, PartialEq, Default)]
pub struct FileBytes(BTreeMap<String, Arc<[u8]>>);

impl FileBytes {
    /// Adds a file.
    pub fn insert(&mut self, sha256: impl Into<String>, bytes: Arc<[u8]>) {
        self.0.insert(sha256.into(), bytes);
    }

    /// The bytes of a file.
    pub fn get(&self, sha256: &str) -> Option<&[u8]> {
        self.0.get(sha256).map(|bytes| &**bytes)
    }
}

impl fmt::Debug for FileBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// A restriction of native tool calls.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// The model must call at least one tool.
    Required,
    /// The model must not call a tool.
    None,
    /// The model must call the tool of this name.
    Tool(String),
}

impl ToolChoice {
    /// The name of the tool that must be called.
    pub fn tool(&self) -> Option<&str> {
        match self {
            Self::Tool(name) => Some(name),
            Self::Auto | Self::Required | Self::None => None,
        }
    }
}

/// A message of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Role of the message.
    pub role: Role,
    /// The parts.
    pub parts: Vec<Content>,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Text.
    Text(String),
    /// A file; its bytes are those of the request.
    File(FileRecord),
    /// Reasoning, for the provider it came from and no other.
    Reasoning(Opaque),
    /// A tool call that the model asked for.
    Call(NativeCall),
    /// The result of one.
    Result {
        /// The model's id of the call.
        call: String,
        /// The tool's name.
        name: String,
        /// The result as JSON text.
        result: String,
    },
}

impl From<&SentMessage> for Message {
    /// The message as a model gets it: its text in one part, then calls and results. Reasoning is not part of what is shown.
    fn from(sent: &SentMessage) -> Self {
        let (mut parts, mut others): (Vec<Content>, Vec<Content>) = Default::default();
        for part in &sent.parts {
            match part {
                SentPart::Text { text: more, .. } => match parts.last_mut() {
                    Some(Content::Text(text)) => text.push_str(more),
                    _ => parts.push(Content::Text(more.clone())),
                },
                SentPart::File(file) => others.push(Content::File(file.clone())),
                SentPart::Call(call) => others.push(Content::Call(call.clone())),
                SentPart::Result { call, name, result } => {
                    others.push(Content::Result { call: call.clone(), name: name.clone(), result: result.clone() });
                }
            }
        }
        parts.append(&mut others);
        Self { role: sent.role, parts }
    }
}

impl Message {
    /// A message of one text.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self { role, parts: vec![Content::Text(text.into())] }
    }

    /// Its parts as one text: calls as name and arguments, results as their JSON. Files are not text.
    pub fn joined(&self) -> String {
        self.written(|_| String::new()).concat()
    }

    /// Like `joined`, for users: text, files, calls and results on separate lines.
    pub fn lines(&self) -> String {
        let written = self.written(|file| format!("[file {file}]"));
        let parts: Vec<&str> = written.iter().map(|part| part.trim_end()).filter(|part| !part.is_empty()).collect();
        parts.join("\n")
    }

    fn written(&self, file: fn(&FileRecord) -> String) -> Vec<String> {
        self.parts
            .iter()
            .map(|part| match part {
                Content::Text(text) | Content::Result { result: text, .. } => text.clone(),
                Content::Call(call) => call.to_string(),
                Content::File(record) => file(record),
                Content::Reasoning(_) => String::new(),
            })
            .collect()
    }
}

/// Finish reason of a model.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Finish {
    /// It was done.
    Stop,
    /// Its length limit was reached: the reply is cut.
    Length,
    /// A filter withheld the rest.
    ContentFilter,
    /// It refused.
    Refusal,
    /// It wants tools.
    ToolCalls,
    /// The provider's own word.
    Other(String),
}

impl Finish {
    /// The stored name.
    pub fn name(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ContentFilter => "content_filter",
            Self::Refusal => "refusal",
            Self::ToolCalls => "tool_calls",
            Self::Other(word) => word,
        }
    }

    /// The finish of a stored name.
    pub fn from_name(name: &str) -> Self {
        match name {
            "stop" => Self::Stop,
            "length" => Self::Length,
            "content_filter" => Self::ContentFilter,
            "refusal" => Self::Refusal,
            "tool_calls" => Self::ToolCalls,
            other => Self::Other(other.to_owned()),
        }
    }
}

/// A whole reply. The text was already sent as deltas; `text` is their concatenation for the successful attempt.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reply {
    /// The answer's text.
    pub text: String,
    /// Tool calls that it asks for.
    pub calls: Vec<NativeCall>,
    /// Reasoning that the provider wants to have back.
    pub opaque: Option<Opaque>,
    /// The attempt that succeeded, from 1.
    pub attempt: u32,
    /// Finish reason, if it is known.
    pub finish: Option<Finish>,
    /// Tokens as the provider counted them.
    pub usage: Option<Tokens>,
    /// The answering model's id.
    pub model: Option<String>,
    /// The model that was asked, where it is not the one that the run began with.
    pub by: Option<Box<ModelRecord>>,
    /// Way in which the schema was sent.
    pub structured_by: Option<StructuredBy>,
    /// HTTP requests it took, 0 for models that make none.
    pub requests: u32,
    /// Time in the provider's gate.
    pub queued_ms: Option<u64>,
    /// From sending to the first delta.
    pub first_ms: Option<u64>,
    /// It comes from the cache: no model was called.
    pub cached: bool,
}

impl From<String> for Reply {
    fn from(text: String) -> Self {
        Self { text, attempt: 1, ..Self::default() }
    }
}

impl Reply {
    /// A reply that asks for tool calls, each with a name and its arguments as JSON text.
    pub fn calling<N: Into<String>, A: Into<String>>(calls: impl IntoIterator<Item = (N, A)>) -> Self {
        let call = |(place, (name, args)): (usize, (N, A))| NativeCall {
            id: format!("tc_{}", place + 1),
            name: name.into(),
            args: args.into(),
        };
        Self { calls: calls.into_iter().enumerate().map(call).collect(), ..Self::from("") }
    }
}

impl From<&str> for Reply {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_reads_each_call_on_a_line_of_its_own() {
        let call =
            |name: &str| Content::Call(NativeCall { id: "tc_1".into(), name: name.into(), args: "{\"a\":1}".into() });
        let parts = vec![Content::Text("I look.\n".into()), call("ok"), call("boom")];
        let message = Message { role: Role::Assistant, parts };
        assert_eq!(message.lines(), "I look.\nok {\"a\":1}\nboom {\"a\":1}");
    }
}
