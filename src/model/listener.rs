//! Reading one reply from a response: events, lines or one JSON text, whatever was sent.
//!
//! In: the response and the protocol's reader. Out: deltas while it comes, and the reply, or why there is none.
//! It must never take what ended early for a reply.

use super::assembly::{Assembly, ChunkError, joined};
use super::bedrock::FrameReader;
use super::calls::Respond;
use super::custom_tools::has_custom;
use super::history::calls_before;
use super::http::{Response, Target};
use super::language::{Language, Reader};
use super::outlet::{Failure, Outlet, StreamFilter};
use super::scrub::Scrub;
use super::stream::{LineReader, SseEvent, SseReader, TooLong, is_event_stream};
use super::tape::Tape;
use super::{ErrorClass, Finish, ModelError, Reply, Request, fault};
use crate::event::{JsonText, NativeCall, Opaque, PartKind};

/// Maximum time that a stream may continue after the model has stopped, in ms: token counts and the end mark come at once or never.
const AFTER_FINISH_MS: u64 = 5_000;
/// Finish reasons of servers for a failed reply.
const BROKEN: [&str; 6] = [
    "error",
    "malformed_function_call",
    "malformed_model_output",
    "malformed_tool_use",
    "unexpected_tool_call",
    "network_error",
];

/// Reads one reply.
pub(super) struct Listener<'a> {
    target: &'a Target,
    outlet: &'a Outlet<'a>,
    scrub: &'a Scrub,
    speech: StreamFilter<'a>,
    reader: Box<dyn Reader>,
    assembly: Assembly,
    calls_before: usize,
    first_ms: Option<u64>,
    /// A part of the reply arrived since the last read.
    is_extended: bool,
}

impl<'a> Listener<'a> {
    /// A listener that has received nothing.
    pub(super) fn new(
        language: &dyn Language,
        target: &'a Target,
        outlet: &'a Outlet<'a>,
        request: &Request,
        respond: Respond,
    ) -> Self {
        Self {
            target,
            outlet,
            scrub: outlet.scrub,
            speech: StreamFilter::new(outlet),
            reader: language.reader(),
            assembly: Assembly { reads_client_tools: has_custom(request), ..Assembly::new(respond) },
            calls_before: calls_before(request),
            first_ms: None,
            is_extended: false,
        }
    }

    /// Reads a body that is one JSON text.
    pub(super) async fn whole(mut self, mut response: Response<'_>, tape: &mut Tape) -> Result<Reply, Failure> {
        let mut body = Vec::new();
        while let Some(piece) = response.next(tape).await? {
            body.extend(piece);
            // Some servers name a stream of events JSON.
            if is_event_stream(&body) {
                return self.events_after(body, response, tape).await;
            }
        }
        self.take_event(ptc_core::text::without_mark(&String::from_utf8_lossy(&body)), tape).await?;
        if !self.assembly.heard {
            return Err(self.malformed("it contains no reply").into());
        }
        self.assembly.done = true;
        self.end().await
    }

    /// Reads a body of events.
    pub(super) async fn events(self, response: Response<'_>, tape: &mut Tape) -> Result<Reply, Failure> {
        self.events_after(Vec::new(), response, tape).await
    }

    /// Like `events`, after the first bytes were read.
    async fn events_after(
        mut self,
        first: Vec<u8>,
        mut response: Response<'_>,
        tape: &mut Tape,
    ) -> Result<Reply, Failure> {
        let mut reader = SseReader::default();
        let mut next = Some(first);
        while let Some(piece) = next {
            for event in reader.push(&piece).map_err(|error| self.too_long(error))? {
                self.event(&event, tape).await?;
            }
            next = self.next(&mut response, tape).await?;
        }
        if let Some(event) = reader.finish().map_err(|error| self.too_long(error))? {
            self.event(&event, tape).await?;
        }
        self.end().await
    }

    /// Reads a body of one JSON text a line.
    pub(super) async fn lines(mut self, mut response: Response<'_>, tape: &mut Tape) -> Result<Reply, Failure> {
        let mut reader = LineReader::default();
        while let Some(piece) = self.next(&mut response, tape).await? {
            for line in reader.push(&piece).map_err(|error| self.too_long(error))? {
                self.line(&line, tape).await?;
            }
        }
        if let Some(line) = reader.finish() {
            self.line(&line, tape).await?;
        }
        self.end().await
    }

    /// Reads a body of binary frames.
    pub(super) async fn frames(mut self, mut response: Response<'_>, tape: &mut Tape) -> Result<Reply, Failure> {
        let mut reader = FrameReader::default();
        while let Some(piece) = self.next(&mut response, tape).await? {
            for event in reader.push(&piece).map_err(|why| self.malformed(&why))? {
                self.line(&event, tape).await?;
            }
        }
        self.end().await
    }

    /// The next piece of a stream; `None` when there is none, or when none is needed any more.
    async fn next(&mut self, response: &mut Response<'_>, tape: &mut Tape) -> Result<Option<Vec<u8>>, Failure> {
        if self.assembly.done {
            return Ok(None);
        }
        let is_extended = std::mem::take(&mut self.is_extended);
        if self.assembly.is_whole() {
            response.end_within(AFTER_FINISH_MS);
        } else if is_extended {
            response.extend();
        }
        match response.next(tape).await {
            // The model had stopped: only the token counts or the end mark are missing.
            Err(_) if self.assembly.is_whole() => Ok(None),
            read => read,
        }
    }

    async fn event(&mut self, event: &SseEvent, tape: &Tape) -> Result<(), Failure> {
        match event.name.as_deref() {
            _ if self.assembly.done => Ok(()),
            Some("error") => Err(fault::of_event(self.target, &event.data, self.scrub)),
            _ if event.data.trim() == "[DONE]" => {
                self.assembly.done = true;
                Ok(())
            }
            None | Some("message") => self.take_event(&event.data, tape).await,
            // Named events repeat their name in their data; data that is not JSON is of another protocol.
            Some(other) if !event.data.trim_start().starts_with('{') => {
                tracing::debug!(event = other, "an unknown event was skipped");
                Ok(())
            }
            Some(_) => self.take_event(&event.data, tape).await,
        }
    }

    async fn line(&mut self, line: &str, tape: &Tape) -> Result<(), Failure> {
        if line.trim().is_empty() || self.assembly.done { Ok(()) } else { self.take_event(line, tape).await }
    }

    async fn take_event(&mut self, json: &str, tape: &Tape) -> Result<(), Failure> {
        let taken = self.reader.take(json, &mut self.assembly);
        self.outlet.count(self.assembly.usage);
        let pieces = match taken {
            Ok(pieces) => pieces,
            Err(ChunkError::Error) => return Err(fault::of_event(self.target, json, self.scrub)),
            Err(ChunkError::Malformed(why)) if self.assembly.is_whole() => {
                tracing::debug!(why, "malformed data after the end was skipped");
                return Ok(());
            }
            Err(ChunkError::Malformed(why)) => return Err(self.malformed(&why).into()),
        };
        for (kind, piece) in pieces {
            self.first_ms.get_or_insert_with(|| tape.elapsed_ms());
            self.is_extended = true;
            self.speech.push(kind, &piece).await;
        }
        Ok(())
    }

    fn malformed(&self, why: &str) -> ModelError {
        let message = format!("{} sent something that is not a reply of its protocol: {why}", self.target.provider);
        ModelError::new(ErrorClass::Stream, message).hint("the raw bytes are in the session's wire frames")
    }

    fn too_long(&self, _: TooLong) -> Failure {
        Failure::new(ErrorClass::Stream, format!("{} sent an event that is too large", self.target.provider))
    }

    async fn end(self) -> Result<Reply, Failure> {
        let Self { target, outlet, scrub, speech, assembly, calls_before, first_ms, .. } = self;
        let has_reasoned = speech.has(PartKind::Reasoning);
        let text = speech.finish().await;
        let provider = &target.provider;
        let failed = |class, message: String| ModelError {
            usage: assembly.usage.map(Box::new),
            ..ModelError::new(class, message)
        };
        let other_words = "change the prompt or use another model";
        if !assembly.is_whole() {
            let message = format!("the stream of {provider} ended before the reply did");
            return Err(failed(ErrorClass::Stream, message)
                .hint("run again; the server or a proxy closed the stream")
                .into());
        }
        let refusal = joined(&assembly.refusal);
        if !refusal.is_empty() || assembly.finish == Some(Finish::Refusal) {
            // The text of a reply that began as an answer gives no reason.
            let words = match (refusal.trim(), text.chars().count()) {
                ("", 0) => String::new(),
                ("", begun) => format!(" after {begun} characters of an answer"),
                (reason, _) => format!(": {reason}"),
            };
            return Err(failed(ErrorClass::Refusal, format!("the model refused{words}")).hint(other_words).into());
        }
        let clean = |call: NativeCall| NativeCall {
            id: scrub.text(&call.id),
            name: scrub.text(&call.name),
            args: scrub.json_text(&call.args),
        };
        let calls: Vec<_> = assembly.calls.finish(calls_before + 1).into_iter().map(clean).collect();
        for name in &assembly.server_tools {
            outlet
                .notice(&format!("{provider} ran its own tool {}; it is not a call of this agent", scrub.text(name)))
                .await;
        }
        if has_reasoned && text.trim().is_empty() && calls.is_empty() {
            let limit = if assembly.finish == Some(Finish::Length) { ": max_tokens left no room for one" } else { "" };
            outlet.notice(&format!("{provider} sent reasoning and no answer{limit}")).await;
        }
        match assembly.finish {
            Some(Finish::ContentFilter) => {
                let message = format!("the filter of {provider} withheld the reply");
                Err(failed(ErrorClass::ContentFilter, message).hint(other_words).into())
            }
            Some(Finish::Other(word)) if BROKEN.contains(&word.as_str()) => {
                Err(failed(ErrorClass::Server, format!("{provider} aborted the reply: {word}")).into())
            }
            finish => Ok(Reply {
                text,
                // Some servers send `stop` after calls.
                finish: finish
                    .map(|finish| if finish == Finish::Stop && !calls.is_empty() { Finish::ToolCalls } else { finish })
                    .map(|finish| Finish::from_name(&scrub.text(finish.name()))),
                calls,
                usage: assembly.usage,
                model: assembly.model.map(|model| scrub.text(&model)),
                opaque: opaque(&assembly.opaque, provider, scrub),
                first_ms,
                ..Reply::default()
            }),
        }
    }
}

/// Reasoning to be given back, without secrets.
fn opaque(parts: &[serde_json::Value], provider: &str, scrub: &Scrub) -> Option<Opaque> {
    if parts.is_empty() {
        return None;
    }
    let data = ptc_core::value::json::parse(&serde_json::to_string(parts).ok()?).ok()?;
    let clean = scrub.json(&data).unwrap_or(data);
    Some(Opaque { provider: provider.to_owned(), parts: JsonText::of(&clean) })
}
