//! Errors of models: a class that decides about retrying, a message with the service's own words, and what to try.

use ptc_core::reasons::Reason;

use crate::event::{ErrorRecord, ModelRecord, StructuredBy, Tokens};

/// Kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// HTTP 429 or the provider's word for it.
    RateLimit,
    /// No connection, no first byte, or silence for too long.
    Timeout,
    /// HTTP 5xx, overload.
    Server,
    /// The connection broke or could not be made.
    Network,
    /// The stream ended without its proper end, or violated the protocol.
    Stream,
    /// HTTP 4xx: sending it again will not help.
    Client,
    /// A missing or refused key.
    Auth,
    /// Unusable settings.
    Configuration,
    /// The model or recording does not exist.
    NotFound,
    /// A model was named where no list of models was given.
    Registry,
    /// A recorded model has no answer here.
    Miss,
    /// The provider's filter withheld the reply.
    ContentFilter,
    /// The model refused.
    Refusal,
    /// A user is needed and none is present.
    Waiting,
    /// Stopped.
    Cancelled,
    /// Anything else.
    Unknown,
}

impl ErrorClass {
    /// The stored name.
    pub fn name(self) -> &'static str {
        match self {
            Self::RateLimit => "rate_limit",
            Self::Timeout => "timeout",
            Self::Server => "server_error",
            Self::Network => "network",
            Self::Stream => "stream",
            Self::Client => "client_error",
            Self::Auth => "auth",
            Self::Configuration => "configuration",
            Self::NotFound => "not_found",
            Self::Registry => "registry",
            Self::Miss => "miss",
            Self::ContentFilter => "content_filter",
            Self::Refusal => "refusal",
            Self::Waiting => "waiting",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }

    /// The class of a stored name.
    pub fn from_name(name: &str) -> Self {
        const ALL: [ErrorClass; 15] = [
            ErrorClass::RateLimit,
            ErrorClass::Timeout,
            ErrorClass::Server,
            ErrorClass::Network,
            ErrorClass::Stream,
            ErrorClass::Client,
            ErrorClass::Auth,
            ErrorClass::Configuration,
            ErrorClass::NotFound,
            ErrorClass::Registry,
            ErrorClass::Miss,
            ErrorClass::ContentFilter,
            ErrorClass::Refusal,
            ErrorClass::Waiting,
            ErrorClass::Cancelled,
        ];
        ALL.into_iter().find(|class| class.name() == name).unwrap_or(Self::Unknown)
    }

    /// The classes of failures that may pass.
    pub const RETRYABLE: [Self; 5] = [Self::RateLimit, Self::Timeout, Self::Server, Self::Network, Self::Stream];

    /// Returns whether the same request may succeed when it is sent again.
    pub fn is_retryable(self) -> bool {
        Self::RETRYABLE.contains(&self)
    }

    /// The reason a run fails with.
    pub fn reason(self) -> Reason {
        match self {
            Self::NotFound | Self::Miss => Reason::LlmNotFound,
            Self::Registry => Reason::LlmRegistryRequired,
            Self::ContentFilter => Reason::ContentFiltered,
            Self::Refusal => Reason::Refused,
            Self::Cancelled => Reason::Cancelled,
            Self::Waiting => Reason::Suspended,
            _ => Reason::LlmError,
        }
    }
}

/// Error of a model that gave no reply.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelError {
    /// Kind of the failure.
    pub class: ErrorClass,
    /// Description of the failure, with the service's own words.
    pub message: String,
    /// Advice on what to try.
    pub hint: Option<String>,
    /// HTTP status.
    pub status: Option<u16>,
    /// The attempt that failed last, from 1.
    pub attempt: u32,
    /// HTTP requests made.
    pub requests: u32,
    /// Tokens that the failed attempt cost, when the provider counted them.
    pub usage: Option<Box<Tokens>>,
    /// Way in which the schema of the failed attempt was sent, if there was one.
    pub structured_by: Option<StructuredBy>,
    /// The model that was asked, where it is not the one that the run began with.
    pub by: Option<Box<ModelRecord>>,
}

impl ModelError {
    /// An error of this class.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
            hint: None,
            status: None,
            attempt: 1,
            requests: 0,
            usage: None,
            structured_by: None,
            by: None,
        }
    }

    /// Adds advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The error as a record.
    pub fn record(&self) -> ErrorRecord {
        ErrorRecord {
            reason: self.class.reason().name().to_owned(),
            message: self.message.clone(),
            hint: self.hint.clone(),
            class: Some(self.class.name().to_owned()),
            status: self.status,
            details: None,
        }
    }

    /// The model is a user, and none is present.
    pub fn waiting() -> Self {
        Self::new(ErrorClass::Waiting, "the model is `human` and no user is there to answer")
            .hint("run it in a terminal, open the workbench, or give the replies on standard input")
    }

    /// The stop by the user.
    pub fn cancelled() -> Self {
        Self::new(ErrorClass::Cancelled, "stopped")
    }
}

impl std::fmt::Display for ModelError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ModelError {}

impl From<ErrorRecord> for ModelError {
    fn from(record: ErrorRecord) -> Self {
        Self {
            class: ErrorClass::from_name(record.class.as_deref().unwrap_or_default()),
            message: record.message,
            hint: record.hint,
            status: record.status,
            attempt: 1,
            requests: 0,
            usage: None,
            structured_by: None,
            by: None,
        }
    }
}
