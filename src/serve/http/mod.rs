//! Agents over HTTP: which path does what, who may ask, and errors in one form.
//!
//! In: requests from [`server`](crate::server). Out: replies. `native` speaks of runs and Steps, `chat` the protocol of chat
//! completions. It must never answer without the key where one is set, except `/healthz` and preflight requests of browsers.

mod chat;
mod cors;
mod native;
mod sse;

use std::borrow::Cow;
use std::fmt::Display;
use std::ops::Deref;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use percent_encoding::percent_decode_str;
use ptc_core::reasons::Reason;
use ptc_core::value::Json;
use ptc_core::value::json::{UniqueError, parse_unique};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{RunRefusal, Runs, rounded};
use crate::agent::Step;
use crate::event::ErrorRecord;
use crate::server::{
    Handler, HeaderValue, Method, Reply, Request, StatusCode, TooLarge, TooSlow, header, json_reply, loopback_origin,
    read_body, typed_reply,
};

/// Maximum bytes of a request.
const BODY_BYTES: usize = 16 << 20;

/// Reports one answered request: method, path, status.
pub type Log = dyn Fn(&str) + Send + Sync;

/// Answers the requests of `serve`.
pub struct AgentService {
    runs: Arc<Runs>,
    /// The digest of the key that requests need.
    key: Option<[u8; 32]>,
    log: Box<Log>,
}

/// An error of a request: its status and what is reported.
#[derive(Debug)]
struct Failure {
    status: StatusCode,
    error: Box<ErrorRecord>,
}

impl Failure {
    fn new(status: StatusCode, reason: Reason, message: impl Into<String>) -> Self {
        Self { status, error: Box::new(ErrorRecord { hint: None, ..ErrorRecord::new(reason, message) }) }
    }

    /// A request that cannot be understood.
    fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, Reason::InvalidContext, message)
    }

    fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, Reason::InvalidAgent, message)
    }
}

impl From<RunRefusal> for Failure {
    fn from(refusal: RunRefusal) -> Self {
        let status = match &refusal {
            RunRefusal::Busy { .. } => StatusCode::TOO_MANY_REQUESTS,
            RunRefusal::Ending => StatusCode::SERVICE_UNAVAILABLE,
            RunRefusal::Tools(_) => StatusCode::FORBIDDEN,
            RunRefusal::Session(_) => StatusCode::NOT_FOUND,
            RunRefusal::Conflict => StatusCode::CONFLICT,
            RunRefusal::Ended | RunRefusal::Context(_) => StatusCode::BAD_REQUEST,
            RunRefusal::Start(error) => status_of(error.reason()),
        };
        Self { status, error: Box::new(refusal.record()) }
    }
}

/// The header with the id of the session.
const SESSION: &str = "x-ptc-session";

/// Names the session in a reply.
fn with_session(mut reply: Reply, session: Option<&str>) -> Reply {
    if let Some(session) = session.and_then(|id| HeaderValue::from_str(id).ok()) {
        reply.headers_mut().insert(SESSION, session);
    }
    reply
}

/// The reply to a failed request with this body.
fn failure_reply(failure: &Failure, body: &Value) -> Reply {
    let mut reply = json_reply(failure.status, body);
    if failure.status == StatusCode::TOO_MANY_REQUESTS {
        reply.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    reply
}

/// The status of a run that failed for this reason.
fn status_of(reason: Reason) -> StatusCode {
    match reason {
        Reason::InvalidContext | Reason::ChainError | Reason::SessionUnreadable => StatusCode::BAD_REQUEST,
        Reason::Suspended => StatusCode::ACCEPTED,
        Reason::LlmError => StatusCode::BAD_GATEWAY,
        Reason::MissionTimeout => StatusCode::GATEWAY_TIMEOUT,
        Reason::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
        Reason::InternalError | Reason::RecorderFailed | Reason::InvalidAgent => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    }
}

/// The status of a Step: 200 for an answer, 202 for a run that waits for one.
fn status_of_step(step: &Step) -> StatusCode {
    let Some(fail) = &step.fail else { return StatusCode::OK };
    Reason::from_name(&fail.reason).map_or(StatusCode::UNPROCESSABLE_ENTITY, status_of)
}

impl AgentService {
    /// A service of these runs. Requests need `key`, where there is one; `log` takes a line per request.
    pub fn new(runs: Arc<Runs>, key: Option<&str>, log: Box<Log>) -> Self {
        Self { runs, key: key.map(digest), log }
    }

    /// Returns whether the request has the key. Digests are compared, so that the time depends on no byte of the key.
    fn is_allowed(&self, request: &Request) -> bool {
        let Some(key) = &self.key else { return true };
        let given = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let (scheme, given) = given.and_then(|value| value.split_once(' ')).unwrap_or_default();
        scheme.eq_ignore_ascii_case("bearer") && digest(given.trim()) == *key
    }

    async fn route(&self, request: Request) -> Reply {
        let path = request.uri().path().to_owned();
        let segments: Vec<Cow<'_, str>> = path.split('/').filter(|segment| !segment.is_empty()).map(decoded).collect();
        let segments: Vec<&str> = segments.iter().map(AsRef::as_ref).collect();
        let method = request.method().clone();
        let is_chat = segments.first() == Some(&"v1");
        let failed = |failure: &Failure| if is_chat { chat::failed(failure) } else { native::failed(failure) };
        if segments != ["healthz"] && !self.is_allowed(&request) {
            let message = "the key is missing or wrong: send `Authorization: Bearer KEY`";
            return failed(&Failure::new(StatusCode::UNAUTHORIZED, Reason::InvalidConfig, message));
        }
        if let Some(allowed) = methods(&segments)
            && !allowed.split(", ").any(|allowed| allowed == method.as_str())
        {
            let message = format!("{method} {path} is not served; methods: {allowed}");
            let mut reply = failed(&Failure::new(StatusCode::METHOD_NOT_ALLOWED, Reason::InvalidContext, message));
            reply.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
            return reply;
        }
        // The listener sends no body in a reply to HEAD.
        let method = if method == Method::HEAD { Method::GET } else { method };
        let answered = match (&method, segments.as_slice()) {
            (&Method::GET, ["healthz"]) => return json_reply(StatusCode::OK, &json!({ "status": "ok" })),
            (&Method::GET, ["metrics"]) => {
                return typed_reply(StatusCode::OK, "text/plain; version=0.0.4", self.runs.metrics());
            }
            (&Method::GET, ["agents"]) => Ok(native::list(&self.runs)),
            (&Method::GET, ["agents", name]) => native::show(&self.runs, name),
            (&Method::POST, ["agents", name, "run"]) => native::run(&self.runs, name, request).await,
            (&Method::GET, ["runs", id]) => native::recorded(&self.runs, id),
            (&Method::POST, ["runs", id, "answers"]) => native::answer(&self.runs, id, request).await,
            (&Method::GET, ["v1", "models"]) => Ok(chat::models(&self.runs)),
            (&Method::GET, ["v1", "models", name]) => chat::model(&self.runs, name),
            (&Method::POST, ["v1", "chat", "completions"]) => chat::complete(&self.runs, request).await,
            _ => Err(Failure::not_found(format!("{method} {path} is not served; paths: {}", PATHS.join(", ")))),
        };
        answered.unwrap_or_else(|failure| failed(&failure))
    }
}

/// The methods of a path; `None` for paths that are not served.
fn methods(segments: &[&str]) -> Option<&'static str> {
    match segments {
        ["healthz" | "metrics" | "agents"] | ["agents" | "runs", _] | ["v1", "models"] | ["v1", "models", _] => {
            Some("GET, HEAD")
        }
        ["agents", _, "run"] | ["runs", _, "answers"] | ["v1", "chat", "completions"] => Some("POST"),
        _ => None,
    }
}

/// A segment of a path without percent-encoding; as it is when that is not UTF-8.
fn decoded(segment: &str) -> Cow<'_, str> {
    percent_decode_str(segment).decode_utf8().unwrap_or(Cow::Borrowed(segment))
}

/// Every path.
const PATHS: &[&str] = &[
    "GET /healthz",
    "GET /metrics",
    "GET /agents",
    "GET /agents/NAME",
    "POST /agents/NAME/run",
    "GET /runs/ID",
    "POST /runs/ID/answers",
    "GET /v1/models",
    "GET /v1/models/NAME",
    "POST /v1/chat/completions",
];

impl Handler for AgentService {
    fn answer(self: Arc<Self>, request: Request) -> BoxFuture<'static, Reply> {
        async move {
            let what = format!("{} {}", request.method(), request.uri().path());
            let page = loopback_origin(request.headers()).cloned();
            let preflight = if page.is_some() { cors::preflight(&request) } else { None };
            let mut reply = match preflight {
                Some(reply) => reply,
                None => self.route(request).await,
            };
            if let Some(origin) = page {
                cors::allow(origin, &mut reply);
            }
            (self.log)(&format!("{what} {}", reply.status().as_u16()));
            reply
        }
        .boxed()
    }
}

fn digest(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

/// The body of a request, an object: `exact` has every digit of its numbers, `members` those that 64 bits hold.
struct Body {
    exact: Json,
    members: serde_json::Map<String, Value>,
}

impl Deref for Body {
    type Target = serde_json::Map<String, Value>;

    fn deref(&self) -> &Self::Target {
        &self.members
    }
}

/// The body of a request as a JSON object.
async fn read_object(runs: &Runs, request: Request) -> Result<Body, Failure> {
    let read = tokio::select! {
        biased;
        read = read_body(request.into_body(), BODY_BYTES) => read,
        () = runs.ending() => return Err(RunRefusal::Ending.into()),
    };
    let bytes = read.map_err(|error| {
        let status = match &error {
            error if error.is::<TooLarge>() => StatusCode::PAYLOAD_TOO_LARGE,
            error if error.is::<TooSlow>() => StatusCode::REQUEST_TIMEOUT,
            _ => StatusCode::BAD_REQUEST,
        };
        Failure::new(status, Reason::InvalidContext, error.to_string())
    })?;
    let invalid = |error: &dyn Display| Failure::bad_request(format!("the body is not JSON: {error}"));
    let text = std::str::from_utf8(&bytes).map_err(|error| invalid(&error))?;
    // Readers of JSON disagree about which of two members of one name counts.
    let exact = parse_unique(text).map_err(|error| match error {
        UniqueError::Duplicate(error) => Failure::bad_request(format!("the body is ambiguous: {error}")),
        UniqueError::Syntax(error) => invalid(&error),
    })?;
    match serde_json::from_str(&rounded(&exact).to_text()) {
        Ok(Value::Object(members)) => Ok(Body { exact, members }),
        Ok(_) => Err(Failure::bad_request("the body is not a JSON object")),
        Err(error) => Err(invalid(&error)),
    }
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn segments_are_decoded_where_they_are_encoded() {
        for (segment, expected) in [
            ("plain", "plain"),
            ("my%20agent", "my agent"),
            ("gr%C3%BCn", "grün"),
            ("a%2Fb%2fc", "a/b/c"),
            ("50%", "50%"),
            ("%4", "%4"),
            ("%zz%2", "%zz%2"),
            ("%ff", "%ff"),
            ("", ""),
        ] {
            assert_eq!(decoded(segment), expected, "{segment}");
        }
    }
}
