//! The data of each event kind. Field names are the stored names; absent means unknown or not applicable.

use serde::{Deserialize, Serialize};

use super::{Address, JsonText};

/// `run.start`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunStart {
    /// The agent.
    pub agent: AgentRecord,
    /// The mode's name.
    pub mode: String,
    /// The model.
    pub model: ModelRecord,
    /// Limits in force: name and value, only those that are on.
    pub limits: Vec<(String, u64)>,
    /// The context as a JSON object.
    pub context: JsonText,
    /// Descriptions of the context's fields that came with a Step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context_descriptions: Vec<(String, String)>,
    /// Seed of the run's randomness.
    pub seed: u64,
}

/// The agent of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AgentRecord {
    /// Its name.
    pub name: String,
    /// Its effective definition as an agent file.
    pub toml: String,
    /// SHA-256 of `toml`, hexadecimal.
    pub sha: String,
}

/// The model of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ModelRecord {
    /// What the developer wrote.
    pub alias: String,
    /// The provider's name: demo, sample, human, recorded, closure or a configured one.
    pub provider: String,
    /// The model's id at the provider.
    pub id: String,
    /// Price per million tokens, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}

/// Prices in the provider's currency unit per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Price {
    /// Input tokens.
    pub input: f64,
    /// Output tokens.
    pub output: f64,
    /// Input tokens read from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<f64>,
}

impl Price {
    /// The cost of these tokens.
    pub fn cost(&self, tokens: &Tokens) -> f64 {
        let cached = tokens.cache_read.unwrap_or_default().min(tokens.input);
        let cached_price = self.cached_input.unwrap_or(self.input);
        let per_million = |count: u64, price: f64| u32::try_from(count).map_or(0.0, f64::from) * price / 1e6;
        per_million(tokens.input - cached, self.input)
            + per_million(cached, cached_price)
            + per_million(tokens.output, self.output)
    }
}

/// `turn.start`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TurnStart {
    /// Unix time in ms: the only clock a turn reads.
    pub now: i64,
    /// What is left of every budget.
    pub left: Left,
    /// The budget that does not allow this turn: nothing is asked, the run ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<String>,
}

/// What is left of the budgets when a turn starts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Left {
    /// Turns, this one included.
    pub turns: u32,
    /// Tokens, when limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Mission time in ms, when limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mission_ms: Option<u64>,
}

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
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

/// Why a message exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Built from the agent's definition.
    Prompt,
    /// An earlier reply of the model.
    Reply,
    /// Feedback after a turn.
    Feedback,
}

/// `message`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Number within the run, from 0.
    pub m: u32,
    /// Who speaks.
    pub role: Role,
    /// Why it exists.
    pub source: Source,
    /// Its parts in order; the message's text is their concatenation.
    pub parts: Vec<MessagePart>,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum MessagePart {
    /// Text written by the prompt builder.
    Text {
        /// Prompt section: `card`, `task`, `context`, `output`, `feedback`.
        section: String,
        /// The text, with its own line ends.
        text: String,
        /// The text holds data from outside.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        untrusted: bool,
    },
    /// The reply text of a turn, never repeated.
    Reply {
        /// Address of that turn.
        reply: Address,
    },
}

/// `request`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestMade {
    /// Message numbers of this run, inclusive ranges, in order.
    pub messages: Vec<(u32, u32)>,
    /// What is wanted: program, json, text, control_json.
    pub want: String,
    /// JSON Schema of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<JsonText>,
    /// Model options as asked for.
    pub options: Options,
    /// Hint that the provider should cache the prompt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cache: bool,
}

/// Model options; absent means the provider's default.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
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
}

/// `sent`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Sent {
    /// Attempt within the turn, from 1.
    pub attempt: u32,
    /// Provider.
    pub provider: String,
    /// Where to, without query or secrets.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// The body without its messages.
    pub frame: JsonText,
    /// Size of the body.
    pub bytes: u64,
    /// SHA-256 of the body, hexadecimal.
    pub sha: String,
    /// How the schema travels in this attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_by: Option<StructuredBy>,
}

/// How a schema travels to a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StructuredBy {
    /// The provider enforces the schema.
    JsonSchema,
    /// A forced tool whose parameters are the schema.
    Tool,
    /// The provider enforces JSON, not the schema.
    JsonObject,
    /// Only the prompt says it.
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

/// `retry.wait`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RetryWait {
    /// The attempt that failed.
    pub attempt: u32,
    /// How long until the next.
    pub wait_ms: u64,
    /// Why: the error's class.
    pub class: String,
    /// The wait was asked for by the server.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retry_after: bool,
    /// What failed, in words.
    pub message: String,
}

/// What a piece of a reply is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartKind {
    /// The answer.
    Text,
    /// Reasoning that the provider shows.
    Reasoning,
}

/// `reply.part`: up to 50 ms or 16 KB of deltas.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplyPart {
    /// Attempt within the turn, from 1.
    pub attempt: u32,
    /// What it is.
    pub kind: PartKind,
    /// The text of the deltas joined.
    pub text: String,
    /// Byte lengths of the original deltas.
    pub lens: Vec<u32>,
    /// Milliseconds from the start of the attempt to each delta.
    pub ms: Vec<u32>,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplyStatus {
    /// A whole reply.
    Ok,
    /// No usable reply, and no further attempt.
    Error,
    /// The reply was cut by its length limit.
    Cut,
    /// The attempt failed and another follows; its text does not count.
    Discarded,
    /// Stopped by a person or a limit.
    Cancelled,
}

/// `reply.end`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplyEnd {
    /// Attempt within the turn, from 1.
    pub attempt: u32,
    /// How it ended.
    pub status: ReplyStatus,
    /// The provider's finish reason, in our words: stop, length, content_filter, refusal, tool_calls, or the provider's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<String>,
    /// Tokens as the provider counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Tokens>,
    /// The model that answered, as the provider names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How the schema travelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_by: Option<StructuredBy>,
    /// HTTP requests this turn cost so far.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub requests: u32,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorRecord>,
    /// Waited in the provider's gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_ms: Option<u64>,
    /// From sending to the first delta.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_ms: Option<u64>,
}

impl ReplyEnd {
    /// An attempt that ended so, with nothing else known.
    pub fn new(attempt: u32, status: ReplyStatus) -> Self {
        Self {
            attempt,
            status,
            finish: None,
            usage: None,
            model: None,
            structured_by: None,
            requests: 0,
            error: None,
            queued_ms: None,
            first_ms: None,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape serde asks for")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Token counts of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tokens {
    /// Input tokens, cached ones included.
    pub input: u64,
    /// Output tokens, reasoning included.
    pub output: u64,
    /// Input tokens written to the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_creation: Option<u64>,
    /// Input tokens read from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    /// Output tokens spent on reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}

impl Tokens {
    /// The sum, part by part.
    #[must_use]
    pub fn plus(&self, more: &Self) -> Self {
        let add = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or_default() + b.unwrap_or_default()),
        };
        Self {
            input: self.input + more.input,
            output: self.output + more.output,
            cache_creation: add(self.cache_creation, more.cache_creation),
            cache_read: add(self.cache_read, more.cache_read),
            reasoning: add(self.reasoning, more.reasoning),
        }
    }
}

/// An error as data.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ErrorRecord {
    /// Stable reason name.
    pub reason: String,
    /// What happened and where.
    pub message: String,
    /// What to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Class of a model error: rate_limit, timeout, server_error, client_error, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// HTTP status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

/// `extract`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Extract {
    /// What was looked for: json.
    pub kind: String,
    /// The rule that found the candidate: whole, json_fence, fence, start, bracket, scalar, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// How many candidates were read.
    pub candidates: u32,
    /// Repairs: stable name, first and one-past-last byte in the reply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixes: Vec<(String, usize, usize)>,
    /// Bytes of the reply that were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<(usize, usize)>,
    /// SHA-256 of the reply text, hexadecimal.
    pub sha: String,
    /// The JSON after repairs, when there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repaired: Option<Kept>,
    /// Why nothing was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorRecord>,
    /// Byte of the reply where the error stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_at: Option<usize>,
}

/// A derived text, cut over 64 KB to its head, length and hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Kept {
    /// All of it.
    Whole(String),
    /// Too long to keep.
    Head {
        /// Its first bytes.
        head: String,
        /// Its length.
        bytes: u64,
        /// SHA-256 of all of it, hexadecimal.
        sha: String,
    },
}

impl Kept {
    /// Bytes of a derived text that are kept whole.
    pub const WHOLE_BYTES: usize = 64 * 1024;

    /// The text, or its head when it is too long.
    pub fn of(text: String) -> Self {
        if text.len() <= Self::WHOLE_BYTES {
            return Self::Whole(text);
        }
        let sha = hex_sha(text.as_bytes());
        let mut end = 1024;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        Self::Head { head: text[..end].to_owned(), bytes: text.len() as u64, sha }
    }
}

/// SHA-256 in hexadecimal.
pub fn hex_sha(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// `check`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Check {
    /// What was checked: args, return, schema, memory.
    pub layer: String,
    /// Did it fit?
    pub ok: bool,
    /// Errors and warnings, in the order of the declaration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<IssueRecord>,
}

/// One validation error or warning.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct IssueRecord {
    /// Path such as `items.2.price`; empty = the root.
    pub path: String,
    /// error or warning
    pub severity: String,
    /// What was expected.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub expected: String,
    /// What was there.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub got: String,
    /// In words.
    pub message: String,
}

/// `interrupt`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Interrupt {
    /// cancelled, mission_timeout
    pub reason: String,
    /// person, signal, limit
    pub by: String,
}

/// `turn.end`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TurnEnd {
    /// Did the turn give what was wanted?
    pub success: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Tokens of this turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Tokens>,
    /// Running totals of the run.
    pub totals: Totals,
}

/// Running totals of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Totals {
    /// Turns so far.
    pub turns: u32,
    /// Model requests so far (HTTP attempts where there are any).
    pub requests: u32,
    /// Tokens so far; absent when no provider count came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
}

/// `run.end`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunEnd {
    /// The answer, keys in the order the model gave them.
    #[serde(rename = "return", default, skip_serializing_if = "Option::is_none")]
    pub value: Option<JsonText>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail: Option<ErrorRecord>,
    /// What it cost.
    pub usage: UsageRecord,
}

/// Usage of a run without its times (those are taken from the envelopes).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct UsageRecord {
    /// Totals.
    #[serde(flatten)]
    pub totals: Totals,
    /// A schema left the machine.
    pub schema_used: bool,
    /// Its size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_bytes: Option<u64>,
    /// How it travelled in the last turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_output: Option<StructuredBy>,
    /// Estimated size of the system text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt_tokens: Option<u64>,
}

/// `notice`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Notice {
    /// info, warning
    pub level: String,
    /// In words.
    pub text: String,
}
