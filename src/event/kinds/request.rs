//! Data of the events about requests: messages, options, attempts as sent.
//! Field names are the stored names; absent means unknown or not applicable.

use serde::{Deserialize, Serialize};

use crate::event::raw::present;
use crate::event::{Address, JsonText};

/// Form of the answer that a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Want {
    /// A JSON value.
    #[default]
    Json,
    /// A PTC-Lisp program.
    Program,
    /// Free text.
    Text,
    /// One control object of the mode `json_loop`.
    ControlJson,
}

impl Want {
    /// The stored name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Program => "program",
            Self::Text => "text",
            Self::ControlJson => "control_json",
        }
    }
}

/// Role of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions.
    System,
    /// The task, data, feedback.
    User,
    /// The model.
    Assistant,
    /// A tool's result.
    Tool,
}

impl Role {
    /// The stored name.
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// Origin of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Built from the agent's definition.
    Prompt,
    /// An earlier reply of the model.
    Reply,
    /// Feedback after a turn.
    Feedback,
    /// The result of a tool call.
    Tool,
    /// A message of the user in a conversation.
    User,
}

/// `message`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MessageAdded {
    /// Number within the run, from 0.
    pub m: u32,
    /// The role.
    pub role: Role,
    /// The origin.
    pub source: Source,
    /// Its parts as sent; the message's text is their concatenation.
    pub parts: Vec<MessagePart>,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged, try_from = "PartFields")]
pub enum MessagePart {
    /// Text written by the prompt builder.
    Text {
        /// Prompt section: `card`, `task`, `context`, `output`, `feedback`.
        section: String,
        /// The text, with its own line ends.
        text: String,
        /// The text holds data from outside.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        untrusted: bool,
    },
    /// The reply text of a turn with its tool calls, never repeated.
    Reply {
        /// Address of that turn.
        reply: Address,
    },
    /// A tool call of an earlier run that this one continues.
    Call {
        /// The call.
        call: crate::event::NativeCall,
    },
    /// A file that the model gets, before the texts that follow it.
    File {
        /// The file; its bytes are stored next to the session.
        file: crate::event::FileRecord,
    },
    /// The result of a tool call that the model asked for.
    Result {
        /// The model's id of the call.
        call: String,
        /// The tool's name.
        name: String,
        /// The result as JSON text.
        result: String,
    },
}

/// The fields of all kinds of parts: most lines of the index are texts, and trying one kind after the other reads each of them twice.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PartFields {
    section: Option<String>,
    text: Option<String>,
    #[serde(default)]
    untrusted: bool,
    reply: Option<Address>,
    call: Option<CallOrId>,
    name: Option<String>,
    result: Option<String>,
    file: Option<crate::event::FileRecord>,
}

/// A call, or the id of one.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
enum CallOrId {
    Whole(crate::event::NativeCall),
    Id(String),
}

impl TryFrom<PartFields> for MessagePart {
    type Error = &'static str;

    fn try_from(fields: PartFields) -> Result<Self, Self::Error> {
        let PartFields { section, text, untrusted, reply, call, name, result, file } = fields;
        if let Some(file) = file {
            return Ok(Self::File { file });
        }
        match (section, text, reply, call, name, result) {
            (Some(section), Some(text), ..) => Ok(Self::Text { section, text, untrusted }),
            (_, _, Some(reply), ..) => Ok(Self::Reply { reply }),
            (_, _, _, Some(CallOrId::Whole(call)), ..) => Ok(Self::Call { call }),
            (_, _, _, Some(CallOrId::Id(call)), Some(name), Some(result)) => Ok(Self::Result { call, name, result }),
            _ => Err("a part of a message is a text, a reply, a file, a call or a result"),
        }
    }
}

/// `request`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RequestMade {
    /// Message numbers of this run, inclusive ranges, in order.
    pub messages: Vec<(u32, u32)>,
    /// The form of the answer that is requested.
    pub want: Want,
    /// JSON Schema of the answer.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub schema: Option<JsonText>,
    /// Tools that the model may call natively.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSchema>,
    /// Names of the tools that may be used, wherever they are described.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_names: Vec<String>,
    /// Model options as asked for.
    pub options: Options,
    /// Hint that the provider should cache the prompt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cache: bool,
}

/// A tool as a provider gets it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ToolSchema {
    /// The name that providers accept: `-` is `_`.
    pub name: String,
    /// Its description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON Schema of its arguments.
    pub parameters: JsonText,
    /// Further members of its definition as a custom tool, whose argument is a text; an object. Absent for functions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom: Option<JsonText>,
}

/// Model options; absent means the provider's default.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Sampling temperature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Largest number of tokens in the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Nucleus sampling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Texts that end the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// The provider's seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Reasoning effort in the provider's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Arguments of native tool calls are kept to the schemas of the tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict_tools: Option<bool>,
    /// Form of the schema of the answer: the one that services require for exact adherence, or with `false` the schema as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict_schema: Option<bool>,
    /// Further members of the request's body, an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra_body: Option<JsonText>,
}

/// `sent`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Sent {
    /// Attempt within the turn, from 1.
    pub attempt: u32,
    /// Provider.
    pub provider: String,
    /// Destination, without query or secrets.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// The body without its messages.
    pub frame: JsonText,
    /// Size of the body.
    pub bytes: u64,
    /// SHA-256 of the body, hexadecimal.
    pub sha: String,
    /// Method by which the schema was sent in this attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_by: Option<StructuredBy>,
}

/// Method by which a schema is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StructuredBy {
    /// The provider enforces the schema.
    JsonSchema,
    /// A forced tool whose parameters are the schema.
    Tool,
    /// The provider enforces JSON, not the schema.
    JsonObject,
    /// Only the prompt contains it.
    Prompt,
}

impl StructuredBy {
    /// The stored name.
    pub fn name(self) -> &'static str {
        match self {
            Self::JsonSchema => "json_schema",
            Self::Tool => "tool",
            Self::JsonObject => "json_object",
            Self::Prompt => "prompt",
        }
    }
}

/// `wire`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Wire {
    /// Attempt within the turn, from 1.
    pub attempt: u32,
    /// Status of the response, when one came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Base64 of deflated JSON lines `[ms since sending, base64 of the bytes]`, one per network read.
    pub frames: String,
    /// Bytes before compression.
    pub bytes: u64,
}
