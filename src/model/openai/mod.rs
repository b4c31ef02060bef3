//! The protocol `openai`: chat completions, as the service and its many compatible servers speak it.
//!
//! In: a request. Out: deltas and a reply, streamed or at once; a schema travels in the strongest way the server accepts.
//! It must never send a key anywhere but to `base_url`, nor take a broken stream for a reply.

mod body;
mod calls;
mod chunk;
mod dialect;
mod messages;

use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use jiff::Timestamp;
use ptc_core::limits::CONCURRENT_REQUESTS;
use ptc_core::value::Json;
use reqwest::Url;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use sha2::{Digest, Sha256};

use self::calls::Respond;
use self::chunk::{Assembly, Odd};
use self::dialect::{Dialect, Used};
use super::endpoint::{Endpoint, StructuredOutput, shown};
use super::gate::Gate;
use super::http::{Response, Target, post};
use super::outlet::{Failure, Outlet, Speech};
use super::retry::{Attempts, Round};
use super::secret::{Scrub, Secret};
use super::stream::{SseEvent, SseReader};
use super::surrogate::Joiner;
use super::tape::Tape;
use super::{Call, Content, ErrorClass, Finish, Model, ModelError, Reply, Request, fault};
use crate::event::{JsonText, ModelRecord, NativeCall, Sent, StructuredBy};

/// How long a stream may go on after the model has stopped, in ms: token counts and the end mark come at once or never.
const AFTER_FINISH_MS: u64 = 5_000;

/// A model behind a chat-completions server.
#[derive(Debug)]
pub struct OpenAi {
    endpoint: Endpoint,
    url: Url,
    headers: HeaderMap,
    target: Target,
    gate: Arc<Gate>,
    dialect: Mutex<Dialect>,
}

impl OpenAi {
    /// A model at this endpoint, with a gate of its own. No key is read yet.
    /// Errors: [`ErrorClass::Configuration`] for an unusable `base_url` or header.
    pub fn new(endpoint: Endpoint) -> Result<Self, ModelError> {
        let url = endpoint.url(&["chat", "completions"])?;
        let mut headers = endpoint.header_map()?;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let target = Target {
            provider: endpoint.provider.clone(),
            url: url.clone(),
            check_url: shown(&endpoint.url(&["models"])?),
            key: endpoint.key.as_ref().map(|key| (key.name(), key.advice())),
            model: endpoint.id.clone(),
            timeouts: endpoint.timeouts,
        };
        let dialect = Mutex::new(Dialect::first(endpoint.structured_output, url.host_str()));
        Ok(Self { endpoint, url, headers, target, gate: Gate::new(CONCURRENT_REQUESTS.usual()), dialect })
    }

    /// Shares the gate with the provider's other models.
    #[must_use]
    pub fn gate(self, gate: Arc<Gate>) -> Self {
        Self { gate, ..self }
    }

    /// Is there a key, when one is needed? Errors are of class [`ErrorClass::Auth`] and say what to set.
    pub fn check_key(&self) -> Result<(), ModelError> {
        self.key().map(drop)
    }

    /// The body that the next attempt would send.
    pub fn body(&self, request: &Request) -> Json {
        body::build(request, &self.endpoint.id, self.endpoint.stream, self.dialect()).0
    }

    fn key(&self) -> Result<Option<Secret>, ModelError> {
        self.endpoint.key.as_ref().map(crate::config::KeySource::read).transpose()
    }

    fn dialect(&self) -> Dialect {
        *self.dialect.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Model for OpenAi {
    fn info(&self) -> ModelRecord {
        self.endpoint.record()
    }

    fn answer<'a>(&'a self, request: &'a Request, call: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let key = self.key()?;
            let scrub = self.endpoint.scrub(key.as_ref(), &self.url);
            let answer = Answer { model: self, request, key, used: Mutex::new(self.dialect()) };
            Round { request, call, scrub: &scrub, gate: &self.gate, policy: self.endpoint.retry }.run(&answer).await
        })
    }
}

/// One question to the model, over all its attempts.
struct Answer<'a> {
    model: &'a OpenAi,
    request: &'a Request,
    key: Option<Secret>,
    /// What the last attempt asked for.
    used: Mutex<Dialect>,
}

impl Attempts for Answer<'_> {
    async fn attempt(&self, outlet: &Outlet<'_>, tape: &mut Tape) -> Result<Reply, Failure> {
        let Endpoint { id, provider, stream, .. } = &self.model.endpoint;
        let dialect = self.model.dialect();
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = dialect;
        let (body, structured_by) = body::build(self.request, id, *stream, dialect);
        let text = body.to_text();
        let sent = Sent {
            attempt: outlet.attempt,
            provider: provider.clone(),
            url: self.model.target.shown(),
            frame: JsonText::of(&body::frame(&body)),
            bytes: u64::try_from(text.len()).unwrap_or(u64::MAX),
            sha: hex(&Sha256::digest(&text)),
            structured_by,
        };
        outlet.sent(sent).await;
        let mut response = post(&self.model.target, self.headers()?, text, tape).await?;
        if !(200..300).contains(&response.status) {
            let body = response.error_body(tape).await;
            let now = Timestamp::now().as_millisecond();
            let (status, target) = (response.status, &self.model.target);
            return Err(fault::of_status(target, status, response.headers(), &body, outlet.scrub, now));
        }
        if response.is_type("html") {
            return Err(self.not_the_api().into());
        }
        let listener = Listener {
            target: &self.model.target,
            scrub: outlet.scrub,
            speech: Speech::new(outlet),
            assembly: Assembly::new(self.respond(structured_by)),
            calls_before: self.calls_before(),
            first_ms: None,
        };
        // Some servers ignore `stream` and answer at once.
        let reply = if response.is_type("json") {
            listener.whole(response, tape).await
        } else {
            listener.stream(response, tape).await
        };
        reply.map(|reply| Reply { structured_by, ..reply })
    }

    fn concede(&self, failure: &Failure) -> Option<String> {
        let Endpoint { provider, structured_output, stream, .. } = &self.model.endpoint;
        let status = failure.error.status?;
        let refused = failure.refused.as_ref()?;
        let before = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let used = Used {
            structured: self.request.schema.is_some() && *structured_output == StructuredOutput::Auto,
            tokens: self.request.options.max_tokens.is_some(),
            stream: *stream,
        };
        let (next, words) = before.concede(status, refused, used)?;
        let mut current = self.model.dialect.lock().unwrap_or_else(PoisonError::into_inner);
        // A parallel question may have learned it meanwhile; its knowledge stands.
        if *current == before {
            *current = next;
        }
        Some(format!("{provider} {words} from now on ({})", failure.error.message))
    }
}

impl Answer<'_> {
    fn headers(&self) -> Result<HeaderMap, ModelError> {
        let mut headers = self.model.headers.clone();
        let accept = if self.model.endpoint.stream { "text/event-stream" } else { "application/json" };
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        if let Some(key) = &self.key {
            let mut value = HeaderValue::try_from(format!("Bearer {}", key.expose()))
                .map_err(|_| ModelError::new(ErrorClass::Auth, "the API key holds characters that cannot be sent"))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        Ok(headers)
    }

    /// What a call of the tool that carries the schema means here.
    fn respond(&self, structured_by: Option<StructuredBy>) -> Respond {
        match structured_by {
            Some(StructuredBy::Tool) if self.request.tools.is_empty() => Respond::Alone,
            Some(StructuredBy::Tool) => Respond::Among,
            _ => Respond::Absent,
        }
    }

    /// Calls in the history: made-up ids count on from there.
    fn calls_before(&self) -> usize {
        let parts = self.request.messages.iter().flat_map(|message| &message.parts);
        parts.filter(|part| matches!(part, Content::Call(_))).count()
    }

    fn not_the_api(&self) -> ModelError {
        let Target { provider, check_url, .. } = &self.model.target;
        let message = format!("{provider} answered with a web page at {}, not with the API", self.model.target.shown());
        ModelError::new(ErrorClass::Configuration, message)
            .hint(format!("base_url usually ends in /v1; check with: curl {check_url}"))
    }
}

/// Reads one reply.
struct Listener<'a> {
    target: &'a Target,
    scrub: &'a Scrub,
    speech: Speech<'a>,
    assembly: Assembly,
    calls_before: usize,
    first_ms: Option<u64>,
}

impl Listener<'_> {
    /// Reads a body that is one JSON text.
    async fn whole(mut self, mut response: Response<'_>, tape: &mut Tape) -> Result<Reply, Failure> {
        let mut body = Vec::new();
        while let Some(piece) = response.next(tape).await? {
            body.extend(piece);
        }
        self.hear(&String::from_utf8_lossy(&body), tape).await?;
        self.assembly.done = true;
        self.end().await
    }

    /// Reads a body of events.
    async fn stream(mut self, mut response: Response<'_>, tape: &mut Tape) -> Result<Reply, Failure> {
        let mut reader = SseReader::default();
        let too_long = |_| Failure::new(ErrorClass::Stream, format!("{} sent an endless event", self.target.provider));
        while !self.assembly.done {
            let events = match response.next(tape).await {
                Ok(Some(piece)) => reader.push(&piece).map_err(too_long)?,
                Ok(None) => break,
                // The model had stopped: only the token counts or the end mark are missing.
                Err(_) if self.assembly.is_whole() => break,
                Err(failure) => return Err(failure),
            };
            for event in events {
                self.event(&event, tape).await?;
            }
            if self.assembly.is_whole() {
                response.hurry(AFTER_FINISH_MS);
            }
        }
        if let Some(event) = reader.finish().map_err(too_long)? {
            self.event(&event, tape).await?;
        }
        self.end().await
    }

    async fn event(&mut self, event: &SseEvent, tape: &Tape) -> Result<(), Failure> {
        match event.name.as_deref() {
            _ if self.assembly.done => Ok(()),
            None | Some("message") if event.data.trim() == "[DONE]" => {
                self.assembly.done = true;
                Ok(())
            }
            None | Some("message") => self.hear(&event.data, tape).await,
            Some("error") => Err(fault::of_event(self.target, &event.data, self.scrub)),
            Some(other) => {
                tracing::debug!(event = other, "an unknown event was read over");
                Ok(())
            }
        }
    }

    async fn hear(&mut self, json: &str, tape: &Tape) -> Result<(), Failure> {
        let pieces = match self.assembly.take(json) {
            Ok(pieces) => pieces,
            Err(Odd::Error) => return Err(fault::of_event(self.target, json, self.scrub)),
            Err(Odd::Malformed(why)) if self.assembly.is_whole() => {
                tracing::debug!(why, "something malformed after the end was read over");
                return Ok(());
            }
            Err(Odd::Malformed(why)) => {
                let message = format!("{} sent something that is no chat completion: {why}", self.target.provider);
                return Err(ModelError::new(ErrorClass::Stream, message)
                    .hint("the raw bytes are in the session's wire frames")
                    .into());
            }
        };
        for (kind, piece) in pieces {
            self.first_ms.get_or_insert_with(|| tape.elapsed_ms());
            self.speech.say(kind, &piece).await;
        }
        Ok(())
    }

    async fn end(self) -> Result<Reply, Failure> {
        let Self { target, scrub, speech, assembly, calls_before, first_ms } = self;
        let text = speech.finish().await;
        let provider = &target.provider;
        let failed = |class, message: String| ModelError {
            usage: assembly.usage.map(Box::new),
            ..ModelError::new(class, message)
        };
        if !assembly.is_whole() {
            let message = format!("the stream of {provider} ended before the reply did");
            return Err(failed(ErrorClass::Stream, message).hint("run again; the server or a proxy cut it").into());
        }
        if !assembly.refusal.is_empty() {
            let mut joiner = Joiner::default();
            let mut words: String = assembly.refusal.iter().map(|piece| joiner.push(piece)).collect();
            words.extend(joiner.finish());
            return Err(failed(ErrorClass::Refusal, format!("the model refused: {words}"))
                .hint("change the prompt or use another model")
                .into());
        }
        let clean = |call: NativeCall| NativeCall {
            id: scrub.text(&call.id),
            name: scrub.text(&call.name),
            args: scrub.text(&call.args),
        };
        let calls: Vec<_> = assembly.calls.finish(calls_before + 1).into_iter().map(clean).collect();
        match assembly.finish {
            Some(Finish::ContentFilter) => {
                let message = format!("the filter of {provider} withheld the reply");
                Err(failed(ErrorClass::ContentFilter, message).hint("change the prompt or use another model").into())
            }
            Some(Finish::Other(word)) if word == "error" => {
                Err(failed(ErrorClass::Server, format!("{provider} broke off the reply with an error")).into())
            }
            finish => Ok(Reply {
                text,
                // Some servers say `stop` behind calls.
                finish: finish
                    .map(|finish| if finish == Finish::Stop && !calls.is_empty() { Finish::ToolCalls } else { finish })
                    .map(|finish| Finish::from_name(&scrub.text(finish.name()))),
                calls,
                usage: assembly.usage,
                model: assembly.model.map(|model| scrub.text(&model)),
                first_ms,
                ..Reply::default()
            }),
        }
    }
}

/// Lower-case hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut digits, byte| {
        _ = write!(digits, "{byte:02x}");
        digits
    })
}
