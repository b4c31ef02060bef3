//! The model port: whatever answers a request. Adapters for providers and the built-in models are in this folder.
//!
//! In: a protocol-neutral [`Request`]. Out: deltas and notes while it answers, then a [`Reply`] or a [`ModelError`].
//! Only this folder opens outgoing connections. It must never let a known secret out.

mod adapter;
mod answered;
mod anthropic;
mod assembly;
mod attached_file;
mod bedrock;
mod body;
mod calls;
mod captured;
mod closure;
mod collector;
mod connection;
mod custom_tools;
mod decoded_text;
mod dialect;
mod embedding;
mod endpoint;
mod error;
mod fallback;
mod fault;
mod gate;
mod gemini;
mod history;
mod http;
mod human;
mod key_command;
mod language;
mod listener;
mod listing;
mod manual_reply;
mod ollama;
mod openai;
mod outlet;
mod outside;
mod process_group;
mod protocols;
mod proxy;
mod request;
mod responses;
mod retry;
mod retry_after;
mod sample;
mod schema;
mod scrub;
mod secret;
mod secret_index;
mod stream;
mod surrogate;
mod tape;
mod tls;
mod upstream;
#[doc(hidden)]
pub mod variables;

use futures::future::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub use crate::event::{ModelRecord, Options, Want};
pub use attached_file::{media_type, supported_types};
pub use closure::{ClosureModel, IntoReply, script};
pub use collector::{Collector, DeliveryError};
pub(crate) use decoded_text::search_decoded;
pub use error::{ErrorClass, ModelError};
pub use fallback::WithFallback;
pub use request::{Content, FileBytes, Finish, Message, Reply, Request, ToolChoice};
pub use reqwest::Url;
pub use retry::Retry;
pub(crate) use secret_index::entropy;

pub(crate) use body::rebuild_body;
pub(crate) use captured::{listed_messages, listed_parts};
pub(crate) use connection::retries_text;
pub(crate) use custom_tools::{INPUT, arguments_of, parameters as custom_parameters};
pub(crate) use fault::status_title;
pub(crate) use history::{NAME_MAX_CHARS, accepted, arguments, plain_name, request_lines};
pub(crate) use http::tls_advice;
pub(crate) use outside::HttpClientError;
pub(crate) use process_group::ProcessGroup;
pub(crate) use secret::register_secret;
pub(crate) use tls::check_certificates;

#[doc(hidden)]
pub use {
    crate::config::{Timeouts, is_secret_name},
    adapter::Adapter,
    answered::{OtherModel, asked},
    body::{carries, strict_tools},
    captured::{
        CREATE, CapturedMessage, CapturedReply, CapturedRequest, Coding, DECODED_MAX_BYTES, Echoes, ExtraMembers,
        MediaPart, PendingCalls, ReplyOutcome, body_json, extra_members, frame_differences, is_generate, media_of,
        message_differences, pack_body, protocol_of, unpack_body,
    },
    closure::PinnedProgram,
    embedding::{Embedding, cosine, embedded, has_embeddings, hashed},
    endpoint::{Endpoint, Known, StructuredOutput, shown_address},
    gate::Gate,
    human::{HumanModel, everything},
    listing::{LIST_MS, listed},
    listing::{is_loopback, listens},
    manual_reply::{CALL, ManualReply, typed},
    outside::{IncomingResponse, OutgoingRequest, exchange, speaker},
    protocols::read_frames,
    proxy::password_forms,
    retry::{BASE_DELAY_MS, Backoff, MAX_DELAY_MS, RETRY_AFTER_MAX_MS, RetryPolicy},
    sample::{FAULTS, Fault, Sample},
    scrub::Scrub,
    secret::{MASK, SECRET_MIN_BYTES, Secret, known_secrets},
    tape::{pack, unpack},
    upstream::{UpstreamBody, UpstreamClient, UpstreamReply},
};

use crate::event::{NativeCall, PartKind, ReplyEnd, RetryWait, Sent, Wire};

/// Something that answers requests.
pub trait Model: Send + Sync {
    /// Returns the recorded description of the model.
    fn info(&self) -> ModelRecord;

    /// Returns whether a user replies; that time counts as waiting.
    fn is_human(&self) -> bool {
        false
    }

    /// Answers one request. Retries happen inside; each failed attempt that another follows is reported as
    /// [`ModelEvent::Discarded`]. Returns [`ErrorClass::Cancelled`] within 100 ms of a cancel.
    fn answer<'a>(&'a self, request: &'a Request, call: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>>;
}

impl<M: Model + ?Sized> Model for std::sync::Arc<M> {
    fn info(&self) -> ModelRecord {
        (**self).info()
    }

    fn is_human(&self) -> bool {
        (**self).is_human()
    }

    fn answer<'a>(&'a self, request: &'a Request, call: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>> {
        (**self).answer(request, call)
    }
}

/// The engine's side of one question to a model.
#[derive(Debug)]
pub struct Call {
    /// Channel for deltas and notes, in order.
    pub events: mpsc::Sender<ModelEvent>,
    /// Stops the answer.
    pub cancel: CancellationToken,
}

/// Events of a model while it answers.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// An attempt left the machine.
    Sent(Sent),
    /// A piece of the reply, as the provider cut it.
    Delta {
        /// Attempt, from 1.
        attempt: u32,
        /// Kind of the piece.
        kind: PartKind,
        /// Its text.
        text: String,
    },
    /// The raw frames of an attempt.
    Wire(Wire),
    /// The attempt failed and another follows: what came so far does not count.
    Discarded(Box<ReplyEnd>),
    /// Waiting before the next attempt.
    RetryWait(RetryWait),
    /// A notice.
    Notice(String),
}

impl Call {
    /// Emits an event to the engine. When the receiver is gone the run is over and the event has no reader.
    pub async fn emit(&self, event: ModelEvent) {
        if self.events.send(event).await.is_err() {
            tracing::debug!("a model event arrived after the end of its run");
        }
    }

    /// Sends a piece of the answer's text.
    pub async fn text(&self, attempt: u32, text: impl Into<String>) {
        self.emit(ModelEvent::Delta { attempt, kind: PartKind::Text, text: text.into() }).await;
    }

    /// Shows whole tool calls, one a line.
    pub async fn calls(&self, attempt: u32, calls: &[NativeCall]) {
        for (place, call) in calls.iter().enumerate() {
            let gap = if place == 0 { "" } else { "\n" };
            self.emit(ModelEvent::Delta { attempt, kind: PartKind::Call, text: format!("{gap}{call}") }).await;
        }
    }
}
