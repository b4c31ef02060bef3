//! Data of the events about replies: parts as they arrive, waits, ends, tokens, errors.
//! Field names are the stored names; absent means unknown or not applicable.

use ptc_core::reasons::Reason;
use serde::{Deserialize, Serialize};

use crate::event::raw::present;
use crate::event::{JsonText, ModelRecord, NativeCall, StructuredBy};

/// `retry.wait`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RetryWait {
    /// The attempt that failed.
    pub attempt: u32,
    /// Time until the next attempt.
    pub wait_ms: u64,
    /// Class of the error.
    pub class: String,
    /// The wait was asked for by the server.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retry_after: bool,
    /// Description of the failure.
    pub message: String,
    /// Maximum number of attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u32>,
}

/// Kind of a piece of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum PartKind {
    /// The answer.
    Text,
    /// Reasoning that the provider shows.
    Reasoning,
    /// Arguments of a tool call, after its name in the first piece: for the screen; `reply.end` has the calls.
    Call,
}

/// `reply.part`: up to 50 ms or 16 KB of deltas.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReplyPart {
    /// Attempt within the turn, from 1.
    pub attempt: u32,
    /// Kind of the piece.
    pub kind: PartKind,
    /// The text of the deltas joined.
    pub text: String,
    /// Byte lengths of the original deltas.
    pub lens: Vec<u32>,
    /// Milliseconds from the start of the attempt to each delta.
    pub ms: Vec<u32>,
}

/// Outcome of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    /// Stopped by the user or a limit.
    Cancelled,
}

/// `reply.end`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReplyEnd {
    /// Attempt within the turn, from 1.
    pub attempt: u32,
    /// The outcome.
    pub status: ReplyStatus,
    /// The provider's finish reason, in our words: stop, length, `content_filter`, refusal, `tool_calls`, or the provider's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<String>,
    /// Tokens as the provider counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Tokens>,
    /// The model that answered, as the provider names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The model that was asked, where it differs from the model that the run began with: the run was continued with it, or it is the
    /// fallback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Box<ModelRecord>>,
    /// Method by which the schema was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_by: Option<StructuredBy>,
    /// Tool calls that the model asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<NativeCall>,
    /// Reasoning that the provider wants to have back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Box<Opaque>>,
    /// HTTP requests this turn cost so far.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub requests: u32,
    /// The error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorRecord>,
    /// Time of waiting in the provider's gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_ms: Option<u64>,
    /// Time from sending to the first delta.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_ms: Option<u64>,
    /// The reply was stored by an earlier trial (`--cache`): no model was called.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
}

impl ReplyEnd {
    /// The name in place of the model where the user wrote the reply of another.
    pub const EDITOR: &str = "edit";

    /// An attempt that ended so, with nothing else known.
    pub fn new(attempt: u32, status: ReplyStatus) -> Self {
        Self {
            attempt,
            status,
            finish: None,
            usage: None,
            model: None,
            by: None,
            structured_by: None,
            calls: Vec::new(),
            opaque: None,
            requests: 0,
            error: None,
            queued_ms: None,
            first_ms: None,
            cached: false,
        }
    }
}

/// Reasoning in the form of the provider it came from. It goes back only to that provider.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Opaque {
    /// The provider's name.
    pub provider: String,
    /// Its parts, as that provider's protocol has them.
    pub parts: JsonText,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape serde asks for")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Token counts of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    /// Input and output together.
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Returns whether nothing is counted.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// The difference, part by part; 0 where the other has more.
    #[must_use]
    pub fn minus(&self, less: &Self) -> Self {
        let subtract = |a: Option<u64>, b: Option<u64>| a.map(|a| a.saturating_sub(b.unwrap_or_default()));
        Self {
            input: self.input.saturating_sub(less.input),
            output: self.output.saturating_sub(less.output),
            cache_creation: subtract(self.cache_creation, less.cache_creation),
            cache_read: subtract(self.cache_read, less.cache_read),
            reasoning: subtract(self.reasoning, less.reasoning),
        }
    }

    /// The sum, part by part.
    #[must_use]
    pub fn plus(&self, more: &Self) -> Self {
        let add = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or_default().saturating_add(b.unwrap_or_default())),
        };
        Self {
            input: self.input.saturating_add(more.input),
            output: self.output.saturating_add(more.output),
            cache_creation: add(self.cache_creation, more.cache_creation),
            cache_read: add(self.cache_read, more.cache_read),
            reasoning: add(self.reasoning, more.reasoning),
        }
    }
}

impl ErrorRecord {
    /// An error with the advice that its reason's table row gives.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            reason: reason.name().to_owned(),
            message: message.into(),
            hint: Some(reason.row().next.to_owned()),
            class: None,
            status: None,
            details: None,
        }
    }

    /// Returns the message with the hint, if there is one.
    pub fn with_hint(&self) -> String {
        let hint = self.hint.as_ref().map(|hint| format!(". {hint}")).unwrap_or_default();
        format!("{}{hint}", self.message)
    }
}

impl std::fmt::Display for ErrorRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.reason, self.with_hint())
    }
}

impl std::error::Error for ErrorRecord {}

/// An error as data.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ErrorRecord {
    /// Stable reason name.
    pub reason: String,
    /// Description of the error, with its position.
    pub message: String,
    /// Advice: the next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Class of a model error: `rate_limit`, timeout, `server_error`, `client_error`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// HTTP status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Text that the program printed in addition to the message; `{spent, limit}` where a budget ended the run.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub details: Option<JsonText>,
}
