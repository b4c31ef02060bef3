//! The way out of an adapter: everything it emits passes here and loses its secrets.
//!
//! In: pieces of text, events and errors. Out: the same through the call, cleaned.
//! It must never wait for a reader after a cancel.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::scrub::{CleanPiece, Scrub, Stream};
use super::surrogate::{Joiner, Utf16Text};
use super::tape::Tape;
use super::{Call, ErrorClass, ModelError, ModelEvent};
use crate::event::{PartKind, ReplyEnd, ReplyStatus, RetryWait, Sent, Tokens};

/// The events that one attempt may emit.
#[derive(Debug)]
pub(super) struct Outlet<'a> {
    call: &'a Call,
    /// Filter for the secrets that must not leave.
    pub(super) scrub: &'a Scrub,
    /// Attempt, from 1.
    pub(super) attempt: u32,
    /// Secrets that the reply contained.
    echoes: AtomicUsize,
    /// Tokens that the provider has counted so far: they are paid for however the attempt ends.
    counted: Mutex<Option<Tokens>>,
    /// One of them arrived in several deltas: the raw frames do not show it as a whole.
    is_joined: AtomicBool,
}

impl<'a> Outlet<'a> {
    /// The outlet of an attempt.
    pub(super) fn new(call: &'a Call, scrub: &'a Scrub, attempt: u32) -> Self {
        Self {
            call,
            scrub,
            attempt,
            echoes: AtomicUsize::new(0),
            counted: Mutex::default(),
            is_joined: AtomicBool::new(false),
        }
    }

    /// Takes the provider's count of this attempt, when there is one.
    pub(super) fn count(&self, tokens: Option<Tokens>) {
        if tokens.is_some() {
            *self.counted.lock().unwrap_or_else(PoisonError::into_inner) = tokens;
        }
    }

    /// The provider's last count of this attempt.
    pub(super) fn counted(&self) -> Option<Tokens> {
        *self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Emits an event whose texts are already clean.
    async fn emit(&self, event: ModelEvent) {
        tokio::select! {
            biased;
            () = self.call.emit(event) => {}
            () = self.call.cancel.cancelled() => tracing::debug!("an event found no reader after a cancel"),
        }
    }

    /// An attempt leaves the machine.
    pub(super) async fn sent(&self, sent: Sent) {
        self.emit(ModelEvent::Sent(Sent { attempt: self.attempt, ..sent })).await;
    }

    /// Counts the secrets that a piece of the reply contained.
    fn count_echoes(&self, clean: &CleanPiece) {
        self.echoes.fetch_add(clean.found, Ordering::Relaxed);
        self.is_joined.fetch_or(clean.is_joined, Ordering::Relaxed);
    }

    /// A notice.
    pub(super) async fn notice(&self, text: &str) {
        self.emit(ModelEvent::Notice(self.scrub.text(text))).await;
    }

    /// The raw bytes of the attempt, if any came.
    pub(super) async fn wire(&self, tape: Tape) {
        let is_joined = self.is_joined.load(Ordering::Relaxed);
        let echoes = if is_joined { usize::MAX } else { self.echoes.load(Ordering::Relaxed) };
        let Some(wire) = tape.wire(self.attempt, self.scrub, echoes) else { return };
        if wire.frames.is_empty() && wire.bytes > 0 {
            self.notice("the raw frames of this reply are not recorded: it contains a secret split across frames")
                .await;
        }
        self.emit(ModelEvent::Wire(wire)).await;
    }

    /// The attempt failed and another follows.
    pub(super) async fn discarded(&self, error: &ModelError, queued_ms: u64) {
        let end = ReplyEnd {
            usage: error.usage.as_deref().copied(),
            requests: self.attempt,
            error: Some(error.record()),
            queued_ms: Some(queued_ms),
            ..ReplyEnd::new(self.attempt, ReplyStatus::Discarded)
        };
        self.emit(ModelEvent::Discarded(Box::new(end))).await;
    }

    /// Reports a wait before the next attempt; `of` is the maximum number of attempts.
    pub(super) async fn waiting(&self, error: &ModelError, wait_ms: u64, asked_by_server: Option<u64>, of: u32) {
        let wait = RetryWait {
            attempt: self.attempt,
            wait_ms,
            class: error.class.name().to_owned(),
            retry_after: asked_by_server.is_some(),
            message: error.message.clone(),
            of: Some(of),
        };
        self.emit(ModelEvent::RetryWait(wait)).await;
    }

    /// Waits for `work`, or for the cancel.
    pub(super) async fn unless_cancelled<T>(&self, work: impl Future<Output = T>) -> Result<T, ModelError> {
        tokio::select! {
            biased;
            () = self.call.cancel.cancelled() => Err(ModelError::cancelled()),
            done = work => Ok(done),
        }
    }
}

/// The reply as it is spoken: joins UTF-16 halves, masks secrets, sends deltas, and keeps the text.
#[derive(Debug)]
pub(super) struct StreamFilter<'a> {
    outlet: &'a Outlet<'a>,
    voices: [Voice; KINDS.len()],
    text: String,
}

/// Kinds of parts of a reply; each kind is a text of its own.
const KINDS: [PartKind; 3] = [PartKind::Text, PartKind::Reasoning, PartKind::Call];

#[derive(Debug, Default)]
struct Voice {
    joiner: Joiner,
    stream: Stream,
    /// Something of this kind came.
    has_spoken: bool,
}

impl<'a> StreamFilter<'a> {
    /// Nothing emitted yet.
    pub(super) fn new(outlet: &'a Outlet<'a>) -> Self {
        Self { outlet, voices: Default::default(), text: String::new() }
    }

    /// Emits a piece.
    pub(super) async fn push(&mut self, kind: PartKind, piece: &Utf16Text) {
        let Some(voice) = KINDS.iter().position(|known| *known == kind).and_then(|at| self.voices.get_mut(at)) else {
            return;
        };
        voice.has_spoken = true;
        let joined = voice.joiner.push(piece);
        let clean = voice.stream.push(self.outlet.scrub, &joined);
        self.outlet.count_echoes(&clean);
        self.emit(kind, clean.text).await;
    }

    /// Returns whether a piece of this kind came.
    pub(super) fn has(&self, kind: PartKind) -> bool {
        KINDS.iter().zip(&self.voices).any(|(known, voice)| *known == kind && voice.has_spoken)
    }

    /// Nothing follows: emits the held text and returns the whole answer.
    pub(super) async fn finish(mut self) -> String {
        for (place, kind) in KINDS.into_iter().enumerate() {
            let Some(voice) = self.voices.get_mut(place) else { continue };
            let half = voice.joiner.finish().map(String::from).unwrap_or_default();
            let rest = [voice.stream.push(self.outlet.scrub, &half), voice.stream.finish(self.outlet.scrub)];
            for clean in &rest {
                self.outlet.count_echoes(clean);
            }
            self.emit(kind, rest.map(|clean| clean.text).concat()).await;
        }
        self.text
    }

    async fn emit(&mut self, kind: PartKind, text: String) {
        if text.is_empty() {
            return;
        }
        if kind == PartKind::Text {
            self.text.push_str(&text);
        }
        self.outlet.emit(ModelEvent::Delta { attempt: self.outlet.attempt, kind, text }).await;
    }
}

/// Failure of an attempt, with the details that the retry needs.
#[derive(Debug)]
pub(super) struct Failure {
    /// The error as the engine may get it.
    pub(super) error: ModelError,
    /// Wait that the server asks for, in ms.
    pub(super) retry_after_ms: Option<u64>,
    /// The service's answer to a refused request: the named parameter and the whole text.
    pub(super) refusal: Option<Box<ServiceRefusal>>,
}

/// A refusal in the service's words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ServiceRefusal {
    /// The parameter it names.
    pub(super) param: Option<String>,
    /// The whole answer in lower case.
    pub(super) body: String,
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        Self { error, retry_after_ms: None, refusal: None }
    }
}

impl Failure {
    /// A failure of this class.
    pub(super) fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        ModelError::new(class, message).into()
    }
}
