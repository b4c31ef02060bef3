//! The request of a turn: it is recorded, deltas of the reply are merged into parts, and its end is recorded.
//!
//! In: what the mode asks for and the messages that are sent. Out: the reply, or the failure of the run. It ends within a second of a stop
//! even when the model does not, and a reply that comes in spite of a stop is not used.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use ptc_core::reasons::Reason;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::parts::Parts;
use super::state::{Driver, Halt};
use crate::event::{
    Address, ErrorRecord, Event, Interrupt, InterruptReason, InterruptSource, JsonText, ReplyEnd, ReplyStatus,
    RequestMade,
};
use crate::model::{
    Call, Content, ErrorClass, FileBytes, Finish, ManualReply, Message, Model, ModelError, ModelEvent, Reply, Request,
    typed,
};
use crate::port::SinkError;
use crate::prompt::{self, RequestOptions};

/// Longest time in which a model may notice a stop before its reply is given up.
const GRACE: Duration = Duration::from_secs(1);
/// A timer that is never due.
const FAR: Duration = Duration::from_hours(24);
/// Deltas that may wait for the driver before the model does.
const QUEUE: usize = 256;

impl Driver<'_> {
    /// Sends the messages of these inclusive ranges and returns the reply, as the gates leave both.
    pub(super) async fn send(
        &mut self,
        at: &Address,
        options: &RequestOptions,
        ranges: Vec<(u32, u32)>,
    ) -> Result<Reply, Halt> {
        let edited = self.edited_reply(at).await?;
        let was_edited = edited.is_some();
        let ranges = if was_edited { ranges } else { self.gate_of_request(at, ranges).await? };
        let messages = self.conversation.of_ranges(&ranges);
        let request = prompt::request(self.plan, at.clone(), self.input.seed, &messages, options);
        let request = Request { files: self.file_bytes(&messages), ..request };
        let made = RequestMade {
            messages: ranges,
            tools: request.tools.clone(),
            tool_names: request.tool_names.clone(),
            want: request.want,
            schema: request.schema.as_ref().map(JsonText::of),
            options: request.options.clone(),
            cache: request.cache,
        };
        self.emit(at, made).await?;
        let reply = self.reply(at, &request, edited).await?;
        if was_edited {
            return Ok(reply);
        }
        if reply.usage.is_none() && self.estimates() {
            self.usage.estimate(&request, &reply);
        }
        self.gate_of_reply(at, &request, reply).await
    }

    /// The bytes of the files in messages, as far as they are known.
    fn file_bytes(&self, messages: &[Arc<Message>]) -> FileBytes {
        let mut files = FileBytes::default();
        for part in messages.iter().flat_map(|message| &message.parts) {
            let Content::File(file) = part else { continue };
            let own = self.plan.agent.files.iter().find(|known| known.record.sha256 == file.sha256);
            let bytes = own.map(|known| Arc::clone(&known.bytes)).or_else(|| self.ports.files.bytes(&file.sha256));
            if let Some(bytes) = bytes {
                files.insert(file.sha256.as_str(), bytes);
            }
        }
        files
    }

    /// The reply of a turn, when it was edited.
    async fn edited_reply(&self, turn: &Address) -> Result<Option<Reply>, SinkError> {
        let Some(edit) = self.ports.history.replacement(turn) else { return Ok(None) };
        self.emit(turn, edit.clone()).await?;
        let reply = ManualReply::of_json(&edit.after.json()).unwrap_or_else(|_| ManualReply::text(edit.text()));
        Ok(Some(Reply { model: Some(ReplyEnd::EDITOR.to_owned()), ..Reply::from(reply) }))
    }

    /// Waits for the reply and records it as it arrives. `edited`: what replaces the model's.
    async fn reply(&mut self, at: &Address, request: &Request, edited: Option<Reply>) -> Result<Reply, Halt> {
        let (model, stop) = (self.ports.model, self.ports.stop.clone());
        // A run that was stopped before makes no request. (A recorded stop that ended a reply came while it arrived, also where a
        // parallel branch is stopped earlier now.)
        let was_stopped = stop.reason().is_some();
        let recorded = self.ports.history.reply_interrupt(at);
        if let Some(interrupt) = &recorded {
            stop.now(interrupt.clone());
        }
        let is_over = recorded.is_none() && was_stopped;

        let (sender, mut events) = mpsc::channel(QUEUE);
        let call = Call { events: sender, cancel: stop.token().clone() };
        let mut answer = match edited {
            _ if is_over => Box::pin(std::future::ready(Err(ModelError::cancelled()))),
            Some(reply) => edited_answer(reply, &call),
            None => caught(model, request, &call),
        };
        let mut parts = Parts::new();
        let mut grace: Option<Instant> = None;
        let tree = self.input.tree.clone();
        let wait = model.is_human().then(|| tree.waiting());
        let result = loop {
            let far = Instant::now() + FAR;
            let due = self.due().filter(|_| stop.reason().is_none());
            tokio::select! {
                biased;
                Some(event) = events.recv() => self.on_model_event(at, event, &mut parts).await?,
                () = stop.token().cancelled(), if grace.is_none() => {
                    grace = Some(Instant::now() + GRACE);
                    let interrupt = stop.reason().cloned().unwrap_or_default();
                    self.emit(at, interrupt).await?;
                }
                result = &mut answer => break result,
                () = sleep_until(parts.due), if parts.pending.is_some() => self.flush(at, &mut parts).await?,
                () = sleep_until(due.unwrap_or(far)), if due.is_some() => self.stop_when_due(),
                () = sleep_until(grace.unwrap_or(far)), if grace.is_some() => break Err(ModelError::cancelled()),
            }
        };
        drop(answer);
        drop(wait);
        let result = if stop.reason().is_some() { Err(discarded(result)) } else { result };
        let result = match result {
            Err(error) if error.class == ErrorClass::Waiting => {
                while let Ok(event) = events.try_recv() {
                    self.on_model_event(at, event, &mut parts).await?;
                }
                let reply = typed(request, self.ask_for_reply(at, request).await?);
                parts.restart(error.attempt);
                call.text(error.attempt, reply.text.clone()).await;
                call.calls(error.attempt, &reply.calls).await;
                Ok(Reply { attempt: error.attempt, ..reply })
            }
            other => other,
        };
        let is_cancelled = matches!(&result, Err(error) if error.class == ErrorClass::Cancelled);
        if is_cancelled
            && grace.is_none()
            && let Some(interrupt) = stop.reason().cloned()
        {
            self.emit(at, interrupt).await?;
        }
        while let Ok(event) = events.try_recv() {
            self.on_model_event(at, event, &mut parts).await?;
        }
        self.flush(at, &mut parts).await?;
        match result {
            Ok(reply) => Ok(self.end_reply(at, reply, parts.first_ms).await?),
            Err(error) => Err(self.fail_reply(at, &error, &parts, stop.reason()).await?),
        }
    }

    /// Records what a model reports while it answers.
    async fn on_model_event(&mut self, at: &Address, event: ModelEvent, parts: &mut Parts) -> Result<(), SinkError> {
        let event: Event = match event {
            ModelEvent::Delta { attempt, kind, text } => {
                return match parts.take(attempt, kind, &text) {
                    Some(full) => self.emit(at, full).await,
                    None => Ok(()),
                };
            }
            ModelEvent::Sent(sent) => {
                parts.attempt_started = (sent.attempt, Instant::now());
                parts.structured_by = sent.structured_by;
                sent.into()
            }
            ModelEvent::Wire(wire) => wire.into(),
            ModelEvent::RetryWait(wait) => wait.into(),
            ModelEvent::Discarded(end) => {
                self.usage.count_attempt(end.usage);
                (*end).into()
            }
            ModelEvent::Notice(text) => {
                self.flush(at, parts).await?;
                return self.warn(at, text).await;
            }
        };
        self.flush(at, parts).await?;
        self.emit(at, event).await
    }

    async fn flush(&self, at: &Address, parts: &mut Parts) -> Result<(), SinkError> {
        match parts.pending.take() {
            Some(part) => self.emit(at, part).await,
            None => Ok(()),
        }
    }

    /// Records the end of a reply.
    async fn end_reply(&mut self, at: &Address, reply: Reply, first_ms: Option<u64>) -> Result<Reply, SinkError> {
        let reply = self.conversation.with_ids(reply);
        self.usage.add_request(reply.requests, reply.structured_by);
        self.usage.count_attempt(reply.usage);
        let status = if reply.finish == Some(Finish::Length) { ReplyStatus::Cut } else { ReplyStatus::Ok };
        let end = ReplyEnd {
            finish: reply.finish.as_ref().map(|finish| finish.name().to_owned()),
            usage: reply.usage,
            calls: reply.calls.clone(),
            opaque: reply.opaque.clone().map(Box::new),
            model: reply.model.clone(),
            by: reply.by.clone(),
            structured_by: reply.structured_by,
            requests: reply.requests,
            queued_ms: reply.queued_ms,
            first_ms: reply.first_ms.or(first_ms),
            cached: reply.cached,
            ..ReplyEnd::new(reply.attempt, status)
        };
        self.emit(at, end).await?;
        self.conversation.add_reply(at, &reply);
        Ok(reply)
    }

    /// Records the failure of a request, which ends the turn and the run.
    async fn fail_reply(
        &mut self,
        at: &Address,
        error: &ModelError,
        parts: &Parts,
        stopped: Option<&Interrupt>,
    ) -> Result<Halt, SinkError> {
        let (status, record) = match error.class {
            ErrorClass::Cancelled => (ReplyStatus::Cancelled, self.stopped(stopped)),
            _ => (ReplyStatus::Error, advised(error)),
        };
        let usage = error.usage.as_deref().copied();
        let structured_by = error.structured_by.or(parts.structured_by);
        self.usage.add_request(error.requests, structured_by);
        self.usage.count_attempt(usage);
        let end = ReplyEnd {
            error: Some(record.clone()),
            by: error.by.clone(),
            requests: error.requests,
            usage,
            structured_by,
            ..ReplyEnd::new(error.attempt, status)
        };
        self.emit(at, end).await?;
        self.end_turn(at, Some(&record.reason)).await?;
        Ok(Halt::Fail(record))
    }

    /// The failure of a run that was stopped.
    pub(super) fn stopped(&self, interrupt: Option<&Interrupt>) -> ErrorRecord {
        match interrupt {
            Some(Interrupt { reason: InterruptReason::MissionTimeout, by: InterruptSource::Server }) => ErrorRecord {
                hint: Some("Start the server with a longer --timeout.".to_owned()),
                ..ErrorRecord::new(Reason::MissionTimeout, "the run did not end within the --timeout of the server")
            },
            Some(interrupt) if interrupt.reason == InterruptReason::MissionTimeout => self.mission_over(),
            Some(interrupt) => {
                ErrorRecord::new(Reason::Cancelled, format!("the run was stopped by the {}", interrupt.by))
            }
            None => ErrorRecord::new(Reason::Cancelled, "the run was stopped"),
        }
    }
}

/// The answer of a model. One that panics has failed: the run ends like any other, and its siblings continue.
fn caught<'a>(model: &'a dyn Model, request: &'a Request, call: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>> {
    let answer = AssertUnwindSafe(async move { model.answer(request, call).await });
    Box::pin(answer.catch_unwind().map(|answered| {
        answered.unwrap_or_else(|panic| {
            let message = format!("the model panicked: {}", panic_message(&*panic));
            Err(ModelError::new(ErrorClass::Unknown, message))
        })
    }))
}

/// The message of a panic.
fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message")
}

/// Answers with an edited reply.
fn edited_answer(reply: Reply, call: &Call) -> BoxFuture<'_, Result<Reply, ModelError>> {
    Box::pin(async move {
        call.text(1, reply.text.clone()).await;
        call.calls(1, &reply.calls).await;
        Ok(reply)
    })
}

/// A reply that came although the run was stopped: only what it cost counts.
fn discarded(result: Result<Reply, ModelError>) -> ModelError {
    let (attempt, requests, usage, by) = match result {
        Ok(reply) => (reply.attempt, reply.requests, reply.usage.map(Box::new), reply.by),
        Err(error) => (error.attempt, error.requests, error.usage, error.by),
    };
    ModelError { attempt, requests, usage, by, ..ModelError::cancelled() }
}

fn advised(error: &ModelError) -> ErrorRecord {
    let mut record = error.record();
    record.hint.get_or_insert_with(|| error.class.reason().row().next.to_owned());
    record
}
