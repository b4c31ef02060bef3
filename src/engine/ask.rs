//! One question to the model: the request is told, deltas are merged into parts, the end is told.
//!
//! In: the messages so far. Out: the reply, or the record of what went wrong. Ends within a second of a stop even when
//! the model does not, and a reply that came in spite of a stop is not used.

use std::time::Duration;

use ptc_core::reasons::Reason;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::cycle::Cycle;
use super::{Halt, edit};
use crate::event::{
    Address, ErrorRecord, Event, Interrupt, JsonText, PartKind, ReplyEnd, ReplyPart, ReplyStatus, RequestMade,
    StructuredBy,
};
use crate::model::{Call, Content, ErrorClass, Finish, ModelError, ModelEvent, Reply, typed};
use crate::port::SinkError;
use crate::prompt::{self, Asked};

/// Deltas are merged for at most this time, in ms.
pub const PART_MS: u64 = 50;
/// Deltas are merged up to this size, in bytes.
pub const PART_BYTES: usize = 16 * 1024;
/// How long a model may take to notice a stop before it is left behind.
const GRACE: Duration = Duration::from_secs(1);
/// A timer that is never due.
const FAR: Duration = Duration::from_hours(24);
/// Deltas that may wait for the engine before the model does.
const QUEUE: usize = 256;

/// The deltas that were not told yet.
struct Parts {
    pending: Option<ReplyPart>,
    due: Instant,
    attempt_started: (u32, Instant),
    first_ms: Option<u64>,
    /// How the schema of the last attempt travels.
    structured_by: Option<StructuredBy>,
}

impl Parts {
    fn new() -> Self {
        let now = Instant::now();
        Self { pending: None, due: now, attempt_started: (1, now), first_ms: None, structured_by: None }
    }

    /// Takes a delta; returns the part that is complete because of it.
    fn take(&mut self, attempt: u32, kind: PartKind, text: &str) -> Option<ReplyPart> {
        let now = Instant::now();
        if self.attempt_started.0 != attempt {
            self.attempt_started = (attempt, now);
            self.first_ms = None;
        }
        let ms = since(self.attempt_started.1, now);
        self.first_ms.get_or_insert(ms);
        let same = |part: &ReplyPart| {
            part.attempt == attempt && part.kind == kind && part.text.len() + text.len() <= PART_BYTES
        };
        let full = match &self.pending {
            Some(part) if !same(part) => self.pending.take(),
            _ => None,
        };
        let part = self.pending.get_or_insert_with(|| {
            self.due = now + Duration::from_millis(PART_MS);
            ReplyPart { attempt, kind, text: String::new(), lens: Vec::new(), ms: Vec::new() }
        });
        part.text.push_str(text);
        part.lens.push(u32::try_from(text.len()).unwrap_or(u32::MAX));
        part.ms.push(u32::try_from(ms).unwrap_or(u32::MAX));
        full
    }
}

fn since(start: Instant, now: Instant) -> u64 {
    u64::try_from(now.duration_since(start).as_millis()).unwrap_or(u64::MAX)
}

impl Cycle<'_> {
    /// Asks the model with all messages said so far.
    pub(super) async fn ask(&mut self, at: &Address, asked: &Asked) -> Result<Reply, Halt> {
        let whole = self.conversation.whole();
        self.ask_with(at, asked, whole).await
    }

    /// Asks the model with the messages of these inclusive ranges.
    pub(super) async fn ask_with(
        &mut self,
        at: &Address,
        asked: &Asked,
        ranges: Vec<(u32, u32)>,
    ) -> Result<Reply, Halt> {
        let (model, stop) = (self.ports.model, self.ports.stop.clone());
        let edited_reply = self.edited_reply(at).await?;
        let ranges = if edited_reply.is_some() { ranges } else { self.gate_of_request(at, ranges).await? };
        let numbers = ranges.iter().flat_map(|(first, last)| *first..=*last);
        let messages: Vec<_> = numbers.filter_map(|number| self.messages.get(number as usize)).cloned().collect();
        let request = prompt::request(self.plan, at.clone(), self.seed, &messages, asked);
        let made = RequestMade {
            messages: ranges,
            tools: request.tools.clone(),
            tool_names: request.tool_names.clone(),
            want: request.want.name().to_owned(),
            schema: request.schema.as_ref().map(JsonText::of),
            options: request.options.clone(),
            cache: request.cache,
        };
        self.emit(at, made).await?;
        // A run that was stopped before asks nobody any more. (What a recording says to have ended a reply came while it was told, also
        // where a parallel branch is stopped earlier now.)
        let was_stopped = stop.reason().is_some();
        let ended_by = self.ports.history.reply_interrupt(at);
        if let Some(interrupt) = &ended_by {
            self.ports.stop.now(&interrupt.reason, &interrupt.by);
        }
        let is_over = ended_by.is_none() && was_stopped;

        let (sender, mut events) = mpsc::channel(QUEUE);
        let call = Call { events: sender, cancel: self.ports.stop.token().clone() };
        let was_edited = edited_reply.is_some();
        let mut answer = match edited_reply {
            _ if is_over => Box::pin(std::future::ready(Err(ModelError::cancelled()))),
            Some(reply) => edit::answer(reply, &call),
            None => model.answer(&request, &call),
        };
        let mut parts = Parts::new();
        let mut grace: Option<Instant> = None;
        let tree = self.tree.clone();
        let wait = model.is_person().then(|| tree.waiting());
        let result = loop {
            let far = Instant::now() + FAR;
            let due = self.due().filter(|_| stop.reason().is_none());
            tokio::select! {
                biased;
                Some(event) = events.recv() => self.hear(at, event, &mut parts).await?,
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
        let result = if stop.reason().is_some() { Err(left_behind(result)) } else { result };
        let result = match result {
            Err(error) if error.class == ErrorClass::Waiting => {
                while let Ok(event) = events.try_recv() {
                    self.hear(at, event, &mut parts).await?;
                }
                let reply = typed(&request, self.ask_for_reply(at, &request).await?);
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
            self.hear(at, event, &mut parts).await?;
        }
        self.flush(at, &mut parts).await?;
        let reply = self.end_reply(at, result, &parts, stop.reason()).await?;
        if was_edited {
            return Ok(reply);
        }
        self.estimate(&request, &reply);
        self.gate_of_reply(at, &request, reply).await
    }

    /// Takes what the model tells.
    async fn hear(&mut self, at: &Address, event: ModelEvent, parts: &mut Parts) -> Result<(), SinkError> {
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
            ModelEvent::Discarded(end) => (*end).into(),
            ModelEvent::Notice(text) => {
                self.flush(at, parts).await?;
                return self.notice(at, text).await;
            }
        };
        self.flush(at, parts).await?;
        self.emit(at, event).await
    }

    async fn flush(&mut self, at: &Address, parts: &mut Parts) -> Result<(), SinkError> {
        match parts.pending.take() {
            Some(part) => self.emit(at, part).await,
            None => Ok(()),
        }
    }

    /// Notes how the schema of a question travelled, when there was one and anything was sent.
    fn travelled(&mut self, by: Option<StructuredBy>) {
        self.structured_by = by.or(self.structured_by);
        self.schema_left |= matches!(by, Some(StructuredBy::JsonSchema | StructuredBy::Tool));
    }

    /// Tells how the reply ended, and turns what is no reply into the failure of the run.
    async fn end_reply(
        &mut self,
        at: &Address,
        result: Result<Reply, ModelError>,
        parts: &Parts,
        stopped: Option<&Interrupt>,
    ) -> Result<Reply, Halt> {
        match result {
            Ok(reply) => {
                let reply = self.with_ids(reply);
                self.totals.requests = self.totals.requests.saturating_add(reply.requests.max(1));
                self.travelled(reply.structured_by);
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
                    first_ms: reply.first_ms.or(parts.first_ms),
                    ..ReplyEnd::new(reply.attempt, status)
                };
                self.emit(at, end).await?;
                self.keep_reply(at, &reply);
                Ok(reply)
            }
            Err(error) => {
                self.totals.requests = self.totals.requests.saturating_add(error.requests.max(1));
                let (status, record) = match error.class {
                    ErrorClass::Cancelled => (ReplyStatus::Cancelled, self.stopped(stopped)),
                    _ => (ReplyStatus::Error, advised(&error)),
                };
                let usage = error.usage.as_deref().copied();
                let structured_by = error.structured_by.or(parts.structured_by);
                self.travelled(structured_by);
                let end = ReplyEnd {
                    error: Some(record.clone()),
                    by: error.by.clone(),
                    requests: error.requests,
                    usage,
                    structured_by,
                    ..ReplyEnd::new(error.attempt, status)
                };
                self.emit(at, end).await?;
                self.end_turn(at, usage, Some(&record.reason)).await?;
                Err(Halt::Fail(record))
            }
        }
    }

    /// Calls without an id get one that no call of the run has.
    pub(super) fn with_ids(&self, mut reply: Reply) -> Reply {
        if reply.calls.iter().all(|call| !call.id.is_empty()) {
            return reply;
        }
        let is_call = |part: &&Content| matches!(part, Content::Call(_));
        let known = self.messages.iter().flat_map(|message| &message.parts).filter(is_call).count();
        for (place, call) in reply.calls.iter_mut().enumerate().filter(|(_, call)| call.id.is_empty()) {
            call.id = format!("tc_{}", known + place + 1);
        }
        reply
    }

    pub(super) fn stopped(&self, interrupt: Option<&Interrupt>) -> ErrorRecord {
        match interrupt {
            Some(interrupt) if interrupt.reason == Reason::MissionTimeout.name() => match self.mission_over() {
                Halt::Fail(record) => record,
                Halt::Sink(_) | Halt::Wait(_) => {
                    ErrorRecord::new(Reason::MissionTimeout, "the time of the run is over")
                }
            },
            Some(interrupt) => {
                ErrorRecord::new(Reason::Cancelled, format!("the run was stopped by a {}", interrupt.by))
            }
            None => ErrorRecord::new(Reason::Cancelled, "the run was stopped"),
        }
    }
}

/// What a model said although the run was stopped: only what it cost counts.
fn left_behind(result: Result<Reply, ModelError>) -> ModelError {
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
