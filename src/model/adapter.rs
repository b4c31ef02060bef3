//! A model with a provider's HTTP interface, in any supported protocol.
//!
//! In: a request. Out: deltas and a reply, streamed or at once; a schema is sent in the strongest way the server accepts.
//! It must never send a key anywhere but to `base_url`, nor take a broken stream for a reply.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use jiff::Timestamp;
use ptc_core::limits::CONCURRENT_REQUESTS;
use ptc_core::value::{Json, json};
use reqwest::Url;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use super::attached_file::refused_file;
use super::calls::Respond;
use super::connection::retries_text;
use super::custom_tools::with_json_arguments;
use super::dialect::{Dialect, UsedFeatures};
use super::endpoint::{Endpoint, StructuredOutput, shown};
use super::gate::Gate;
use super::history::with_unique_ids;
use super::http::{Target, post};
use super::language::{Draft, Framing, Language, UnsignedRequest};
use super::listener::Listener;
use super::outlet::{Failure, Outlet};
use super::protocols::{self, list_url, request_url};
use super::retry::{Attempts, Round};
use super::schema::filled_members;
use super::secret::Secret;
use super::tape::Tape;
use super::{Call, ErrorClass, Finish, Model, ModelError, Reply, Request, Want, fault};
use crate::config::{KeySource, Protocol, Restriction};
use crate::event::{JsonText, ModelRecord, NativeCall, Sent, StructuredBy, hex_sha};

/// A provider's model.
#[derive(Debug)]
pub struct Adapter {
    endpoint: Endpoint,
    language: &'static dyn Language,
    url: Url,
    headers: HeaderMap,
    target: Target,
    gate: Arc<Gate>,
    /// The first guess.
    first: Dialect,
    dialect: Mutex<Dialect>,
    /// Restrictions that were reported.
    has_reported: AtomicBool,
}

impl Adapter {
    /// A model at this endpoint, with a gate of its own. No key is read yet.
    /// Errors: [`ErrorClass::Configuration`] for an unusable `base_url` or header.
    pub fn new(endpoint: Endpoint) -> Result<Self, ModelError> {
        let language = protocols::language(endpoint.protocol);
        let url = request_url(&endpoint)?;
        let mut headers = endpoint.header_map()?;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        language.headers(&endpoint, &mut headers);
        let target = Target {
            provider: endpoint.provider.clone(),
            url: url.clone(),
            check_url: shown(&list_url(&endpoint)?),
            key: key_name(&endpoint, language),
            model: endpoint.id.clone(),
            timeouts: endpoint.timeouts,
            tls: endpoint.tls.clone(),
        };
        let first = Dialect::first(&endpoint, language.ways(), url.host_str());
        let gate = Gate::new(CONCURRENT_REQUESTS.usual());
        let (dialect, has_reported) = (Mutex::new(first), AtomicBool::new(false));
        Ok(Self { endpoint, language, url, headers, target, gate, first, dialect, has_reported })
    }

    /// Shares the gate with the provider's other models.
    #[must_use]
    pub fn gate(self, gate: Arc<Gate>) -> Self {
        Self { gate, ..self }
    }

    /// Checks that the key is available, where one is configured. Errors are of class [`ErrorClass::Auth`] and name the setting.
    pub fn check_key(&self) -> Result<(), ModelError> {
        self.endpoint.key.as_ref().map_or(Ok(()), KeySource::check)
    }

    /// The body that the next attempt would send.
    pub fn body(&self, request: &Request) -> Json {
        let request = with_unique_ids(request);
        let draft = self.draft(&request);
        draft.body(self.language).unwrap_or_else(|_| self.language.body(&draft))
    }

    /// The address that requests go to, without secrets.
    pub fn address(&self) -> String {
        self.target.shown()
    }

    /// The limits of protocol and service for the first request of a run, as text.
    pub fn limits(&self, request: &Request) -> Vec<String> {
        limits(self.language, &self.draft(&with_unique_ids(request)))
    }

    /// Returns the restrictions of the service that were learned from its refusals so far.
    pub fn learned(&self) -> Vec<Restriction> {
        self.dialect().learned_since(self.first)
    }

    fn draft<'a>(&'a self, request: &'a Request) -> Draft<'a> {
        Draft { request, endpoint: &self.endpoint, dialect: self.dialect() }
    }

    async fn key(&self) -> Result<Option<Secret>, ModelError> {
        match &self.endpoint.key {
            Some(source) => source.fetch().await.map(Some),
            None => Ok(None),
        }
    }

    /// Uses the next dialect from now on, unless a parallel request has learned something meanwhile: its knowledge is kept.
    fn replace(&self, before: Dialect, next: Dialect) {
        let mut current = self.dialect.lock().unwrap_or_else(PoisonError::into_inner);
        if *current == before {
            *current = next;
        }
    }

    fn dialect(&self) -> Dialect {
        *self.dialect.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Model for Adapter {
    fn info(&self) -> ModelRecord {
        self.endpoint.record()
    }

    fn answer<'a>(&'a self, request: &'a Request, call: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let request = &*with_unique_ids(request);
            let key = tokio::select! {
                biased;
                () = call.cancel.cancelled() => return Err(ModelError::cancelled()),
                key = self.key() => key?,
            };
            let scrub = self.endpoint.scrub(key.as_ref(), &self.url);
            let answer = Answer {
                model: self,
                request,
                key: Mutex::new(key),
                is_key_renewed: AtomicBool::new(false),
                used: Mutex::new(self.dialect()),
                trial: Mutex::default(),
                ignored: Mutex::default(),
            };
            Round { request, call, scrub: &scrub, gate: &self.gate, policy: self.endpoint.retry }.run(&answer).await
        })
    }
}

/// One question to the model, over all its attempts.
struct Answer<'a> {
    model: &'a Adapter,
    request: &'a Request,
    /// The key; none where none is sent, and after the service refused that of a command.
    key: Mutex<Option<Secret>>,
    /// The command was run again after a refusal; that happens once.
    is_key_renewed: AtomicBool,
    /// Dialect of the last attempt.
    used: Mutex<Dialect>,
    /// Dialect that is used for this question only, until a reply shows that it helps.
    trial: Mutex<Option<Trial>>,
    /// Change of the dialect after a reply that ignored the schema and contains no answer: the next attempt follows at once.
    ignored: Mutex<Option<String>>,
}

/// A dialect after a failure that may have had another reason.
#[derive(Debug, Clone, Copy)]
struct Trial {
    /// The dialect that failed.
    before: Dialect,
    next: Dialect,
}

impl Attempts for Answer<'_> {
    async fn attempt(&self, outlet: &Outlet<'_>, tape: &mut Tape) -> Result<Reply, Failure> {
        let Adapter { endpoint, language, target, .. } = self.model;
        let key = self.current_key().await?;
        let dialect = self.trial().map_or_else(|| self.model.dialect(), |trial| trial.next);
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = dialect;
        if let Some(error) = refused_file(self.request, endpoint) {
            return Err(error.into());
        }
        let draft = Draft { request: self.request, endpoint, dialect };
        self.report_limits(&draft, outlet).await;
        let body = draft.body(*language).map_err(|path| {
            ModelError::new(ErrorClass::Configuration, conflict_message(&path))
                .hint("remove it from extra_body, or remove the option that sets it")
        })?;
        let structured_by = draft.structured_by();
        let text = body.to_text();
        let sent = Sent {
            attempt: outlet.attempt,
            provider: endpoint.provider.clone(),
            url: target.shown(),
            frame: JsonText::of(&body.clone().without(language.messages_key())),
            bytes: u64::try_from(text.len()).unwrap_or(u64::MAX),
            sha: hex_sha(text.as_bytes()),
            structured_by,
        };
        outlet.sent(sent).await;
        let mut headers = self.headers(key.as_ref())?;
        if key.is_none() {
            language.sign(
                endpoint,
                &UnsignedRequest { method: "POST", url: &self.model.url, body: &text },
                &mut headers,
            )?;
        }
        let mut response = post(target, headers, text, tape).await?;
        if let Some(text) = retries_text(&target.provider, response.retries) {
            outlet.notice(&text).await;
        }
        if !(200..300).contains(&response.status) {
            let body = response.error_body(tape).await;
            let now = Timestamp::now().as_millisecond();
            return Err(fault::of_status(target, response.status, response.headers(), &body, outlet.scrub, now));
        }
        if response.is_type("html") {
            return Err(self.not_the_api().into());
        }
        let listener = Listener::new(*language, target, outlet, self.request, respond(self.request, structured_by));
        let reply = match language.framing() {
            Framing::Lines if endpoint.stream => listener.lines(response, tape).await,
            // Some servers ignore `stream` and answer at once.
            Framing::Events if !response.is_type("json") => listener.events(response, tape).await,
            Framing::Frames if endpoint.stream && !response.is_type("json") => listener.frames(response, tape).await,
            Framing::Lines | Framing::Events | Framing::Frames => listener.whole(response, tape).await,
        };
        let reply = Reply { structured_by, ..reply? };
        self.keep_trial();
        let reply = if language.has_custom_tools() { with_json_arguments(reply, self.request) } else { reply };
        let reply = if draft.has_strict_tools() { without_added_nulls(reply, self.request) } else { reply };
        if self.request.schema.is_none() || keeps_to_json(&reply) {
            return Ok(reply);
        }
        match self.learn_ignored() {
            // No answer can be read from it: it would cost the run a turn, perhaps its last one.
            Some(change) if reply.finish == Some(Finish::Stop) && !reply.text.contains(['{', '[']) => {
                *self.ignored.lock().unwrap_or_else(PoisonError::into_inner) = Some(change);
                let error = ModelError::new(ErrorClass::Stream, "the reply is not the JSON that was requested");
                Err(ModelError { usage: reply.usage.map(Box::new), ..error }.into())
            }
            Some(change) => {
                outlet.notice(&change).await;
                Ok(reply)
            }
            None => Ok(reply),
        }
    }

    fn concede(&self, failure: &Failure, is_last: bool) -> Option<String> {
        if let Some(change) = self.ignored.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Some(change);
        }
        let provider = &self.model.endpoint.provider;
        let status = failure.error.status?;
        if let Some(change) = self.discard_key(status) {
            return Some(change);
        }
        let refusal = failure.refusal.as_ref()?;
        let before = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let (used, ways, message) = (self.made_use(), self.model.language.ways(), &failure.error.message);
        if let Some((next, words)) = before.concede(status, refusal, used, ways) {
            self.adopt(before, next);
            return Some(format!("{provider} {words} from now on ({message})"));
        }
        // A service that names a time has another reason.
        let is_last = is_last && failure.retry_after_ms.is_none();
        let (next, words) = before.after_crash(refusal, is_last, used, ways).filter(|_| status == 500)?;
        self.try_out(before, next);
        Some(format!("{provider} {words}, from now on if that succeeds ({message})"))
    }
}

impl Answer<'_> {
    /// Returns the parts of the dialect that the request makes use of.
    fn made_use(&self) -> UsedFeatures {
        let Endpoint { structured_output, stream, .. } = &self.model.endpoint;
        let options = &self.request.options;
        let structured = self.request.schema.is_some();
        let control = !structured && self.request.want == Want::ControlJson;
        UsedFeatures {
            structured,
            control,
            open: match structured_output {
                StructuredOutput::Auto => true,
                StructuredOutput::Fixed(way) => control && *way != StructuredBy::JsonObject,
            },
            tools: !self.request.tools.is_empty(),
            strict_tools: self.sends_strict_tools(),
            tokens: options.max_tokens.is_some(),
            effort: options.reasoning.is_some(),
            reasoning_items: self.model.endpoint.protocol == Protocol::Responses,
            sampling: options.temperature.is_some() || options.top_p.is_some(),
            stream: *stream,
            result_images: self.request.has_result_images(),
        }
    }

    fn trial(&self) -> Option<Trial> {
        *self.trial.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Uses the next dialect for this question.
    fn try_out(&self, before: Dialect, next: Dialect) {
        let mut trial = self.trial.lock().unwrap_or_else(PoisonError::into_inner);
        *trial = Some(Trial { before: trial.map_or(before, |trial| trial.before), next });
    }

    /// Uses the next dialect from now on; during a trial, if that succeeds.
    fn adopt(&self, before: Dialect, next: Dialect) {
        if self.trial().is_some() {
            self.try_out(before, next);
        } else {
            self.model.replace(before, next);
        }
    }

    /// Uses the dialect of a trial that succeeded from now on.
    fn keep_trial(&self) {
        if let Some(Trial { before, next }) = self.trial.lock().unwrap_or_else(PoisonError::into_inner).take() {
            self.model.replace(before, next);
        }
    }

    /// Returns whether a tool of the last attempt was strict.
    fn sends_strict_tools(&self) -> bool {
        let dialect = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let draft = Draft { request: self.request, endpoint: &self.model.endpoint, dialect };
        self.model.endpoint.protocol.has_strict_tools()
            && self.request.tools.iter().any(|tool| draft.parameters(tool).1)
    }

    /// The server took the schema and did not keep to it: the next question is put in the next way. Returns what changed.
    fn learn_ignored(&self) -> Option<String> {
        let before = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let (next, words) = before.after_ignored(self.made_use(), self.model.language.ways())?;
        self.model.replace(before, next);
        Some(format!("{} {words} from now on", self.model.endpoint.provider))
    }

    /// The key of this attempt.
    async fn current_key(&self) -> Result<Option<Secret>, ModelError> {
        let known = self.key.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if known.is_some() {
            return Ok(known);
        }
        let key = self.model.key().await?;
        self.key.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&key);
        Ok(key)
    }

    /// Forgets the key of a command that the service refused, once; returns what changed.
    fn discard_key(&self, status: u16) -> Option<String> {
        let Endpoint { key: Some(source @ KeySource::Command(command)), provider, .. } = &self.model.endpoint else {
            return None;
        };
        if !matches!(status, 401 | 403) || self.is_key_renewed.swap(true, Ordering::Relaxed) {
            return None;
        }
        let refused = self.key.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        command.discard(&refused);
        Some(format!("{provider} refused the key ({status}): {} runs again", source.name()))
    }

    fn headers(&self, key: Option<&Secret>) -> Result<HeaderMap, ModelError> {
        let mut headers = self.model.headers.clone();
        let accept = match (self.model.endpoint.stream, self.model.language.framing()) {
            (false, _) => "application/json",
            (true, Framing::Events) => "text/event-stream",
            (true, Framing::Lines) => "application/x-ndjson",
            (true, Framing::Frames) => "application/vnd.amazon.eventstream",
        };
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        if let Some(key) = key {
            let (name, scheme) = self.model.language.key_header(&self.model.endpoint);
            let mut value = HeaderValue::try_from(format!("{scheme}{}", key.expose()))
                .map_err(|_| ModelError::new(ErrorClass::Auth, "the API key holds characters that cannot be sent"))?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        Ok(headers)
    }

    /// Reports the limits once.
    async fn report_limits(&self, draft: &Draft<'_>, outlet: &Outlet<'_>) {
        if self.model.has_reported.swap(true, Ordering::Relaxed) {
            return;
        }
        for text in limits(self.model.language, draft) {
            outlet.notice(&text).await;
        }
    }

    fn not_the_api(&self) -> ModelError {
        let Target { provider, check_url, .. } = &self.model.target;
        let message = format!("{provider} answered with a web page at {}, not with the API", self.model.target.shown());
        ModelError::new(ErrorClass::Configuration, message)
            .hint(format!("base_url usually ends in /v1; check with: curl {check_url}"))
    }
}

/// The name of what authenticates requests, and how it is set.
pub(super) fn key_name(endpoint: &Endpoint, language: &dyn Language) -> Option<(String, String)> {
    let configured = endpoint.key.as_ref().map(|key| (key.name(), key.advice()));
    configured.or_else(|| language.account().map(|(name, advice)| (name.to_owned(), advice.to_owned())))
}

/// Returns texts about options that the protocol cannot carry, a schema that is not sent in the strongest way, and a conflict of
/// `extra_body`.
fn limits(language: &dyn Language, draft: &Draft<'_>) -> Vec<String> {
    let endpoint = draft.endpoint;
    let conflict = draft.body(language).err().map(|path| conflict_message(&path));
    let mut left_out = language.unsupported_fields(draft);
    if draft.request.options.strict_tools == Some(true) && !endpoint.protocol.has_strict_tools() {
        left_out.push("strict tools");
    }
    let left_out =
        (!left_out.is_empty()).then(|| format!("{} takes no {}: omitted", endpoint.provider, left_out.join(", ")));
    let best = language.ways().first().copied();
    let chosen = draft.request.schema.is_some()
        && endpoint.structured_output == StructuredOutput::Auto
        && endpoint.known.way.is_some();
    let way = draft.structured_by().filter(|way| chosen && Some(*way) != best).map(|way| {
        format!(
            "structured output by {}, as known for {}; structured_output under [models] overrides it",
            way.name(),
            endpoint.alias
        )
    });
    left_out.into_iter().chain(way).chain(conflict).collect()
}

/// Returns the error text for an `extra_body` with a member that the program sets itself.
fn conflict_message(path: &str) -> String {
    format!("extra_body sets `{path}`, which this program sets itself")
}

/// The reply without the nulls for absent arguments: strict schemas require every property.
fn without_added_nulls(reply: Reply, request: &Request) -> Reply {
    let calls = reply.calls.into_iter().map(|call| {
        let tool = request.tools.iter().find(|tool| tool.name == call.name);
        let args = tool.and_then(|tool| filled_members(&tool.parameters.json(), &json::parse(&call.args).ok()?));
        NativeCall { args: args.map_or(call.args, |args| args.to_text()), ..call }
    });
    Reply { calls: calls.collect(), ..reply }
}

/// Returns whether a reply is the requested JSON or, where its length limit was reached, the beginning of it. Text up to `</think>` is
/// reasoning and ignored; an empty reply and one with tool calls pass.
fn keeps_to_json(reply: &Reply) -> bool {
    let (thought, answer_text) = reply.text.rsplit_once("</think>").unwrap_or(("", &reply.text));
    let answer_text = answer_text.trim_start();
    let is_thinking = thought.is_empty() && answer_text.starts_with("<think>");
    match reply.finish {
        _ if !reply.calls.is_empty() => true,
        // Nothing was answered: that is no other format.
        Some(Finish::Stop) => answer_text.is_empty() || json::parse(answer_text.trim_end()).is_ok(),
        Some(Finish::Length) => is_thinking || answer_text.is_empty() || answer_text.starts_with(begins_json),
        _ => true,
    }
}

fn begins_json(first: char) -> bool {
    matches!(first, '{' | '[' | '"' | '-' | '0'..='9' | 't' | 'f' | 'n')
}

/// Returns the meaning of a call of the tool that carries the schema.
fn respond(request: &Request, structured_by: Option<StructuredBy>) -> Respond {
    match structured_by {
        Some(StructuredBy::Tool) if request.tools.is_empty() => Respond::Alone,
        Some(StructuredBy::Tool) => Respond::Among,
        _ => Respond::Absent,
    }
}
