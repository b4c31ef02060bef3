//! Agents over HTTP: which path does what, who may ask, and errors in one form.
//!
//! In: requests from [`server`](crate::server). Out: replies. `native` speaks of runs and Steps, `chat` the protocol of chat
//! completions. It must never answer without the key where one is set, except `/healthz`.

mod chat;
mod native;
mod sse;

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use ptc_core::reasons::Reason;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{RunRefusal, Runs};
use crate::agent::Step;
use crate::event::ErrorRecord;
use crate::server::{
    Handler, HeaderValue, Method, Reply, Request, StatusCode, TooLarge, header, json_reply, read_body, typed_reply,
};

/// Most bytes of a request.
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

    /// Has the request the key? Digests are compared, so that the time depends on no byte of the key.
    fn is_allowed(&self, request: &Request) -> bool {
        let Some(key) = &self.key else { return true };
        let given = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        given.and_then(|value| value.strip_prefix("Bearer ")).is_some_and(|given| digest(given.trim()) == *key)
    }

    async fn route(&self, request: Request) -> Reply {
        let path = request.uri().path().to_owned();
        let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        let method = request.method().clone();
        if segments == ["healthz"] {
            return json_reply(StatusCode::OK, &json!({ "status": "ok" }));
        }
        let is_chat = segments.first() == Some(&"v1");
        if !self.is_allowed(&request) {
            let message = "the key is missing or wrong: send `Authorization: Bearer KEY`";
            let failure = Failure::new(StatusCode::UNAUTHORIZED, Reason::InvalidConfig, message);
            return if is_chat { chat::failed(&failure) } else { native::failed(&failure) };
        }
        let answered = match (&method, segments.as_slice()) {
            (&Method::GET, ["metrics"]) => {
                return typed_reply(StatusCode::OK, "text/plain; version=0.0.4", self.runs.metrics());
            }
            (&Method::GET, ["agents"]) => Ok(native::list(&self.runs)),
            (&Method::GET, ["agents", name]) => native::show(&self.runs, name),
            (&Method::POST, ["agents", name, "run"]) => native::run(&self.runs, name, request).await,
            (&Method::GET, ["runs", id]) => native::step(&self.runs, id),
            (&Method::POST, ["runs", id, "answers"]) => native::answer(&self.runs, id, request).await,
            (&Method::GET, ["v1", "models"]) => Ok(chat::models(&self.runs)),
            (&Method::POST, ["v1", "chat", "completions"]) => chat::complete(&self.runs, request).await,
            _ => Err(Failure::not_found(format!("{method} {path} is not served; paths: {}", PATHS.join(", ")))),
        };
        answered.unwrap_or_else(|failure| if is_chat { chat::failed(&failure) } else { native::failed(&failure) })
    }
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
    "POST /v1/chat/completions",
];

impl Handler for AgentService {
    fn answer(&self, request: Request) -> BoxFuture<'_, Reply> {
        async move {
            let what = format!("{} {}", request.method(), request.uri().path());
            let reply = self.route(request).await;
            (self.log)(&format!("{what} {}", reply.status().as_u16()));
            reply
        }
        .boxed()
    }
}

fn digest(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

/// The body of a request as a JSON object.
async fn read_object(request: Request) -> Result<serde_json::Map<String, Value>, Failure> {
    let bytes = read_body(request.into_body(), BODY_BYTES).await.map_err(|error| {
        let status = if error.is::<TooLarge>() { StatusCode::PAYLOAD_TOO_LARGE } else { StatusCode::BAD_REQUEST };
        Failure::new(status, Reason::InvalidContext, error.to_string())
    })?;
    match serde_json::from_slice(&bytes) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(Failure::bad_request("the body is not a JSON object")),
        Err(error) => Err(Failure::bad_request(format!("the body is not JSON: {error}"))),
    }
}
