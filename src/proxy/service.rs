//! The proxy itself: requests of clients in, the upstream's replies out.
//!
//! In: requests. Out: replies as they come, piece by piece. It must never answer in the upstream's place unless a rule, the user or a
//! recording does; it answers only the check whether its address answers (`HEAD /`).

mod connection;
mod decision;
mod handshake;
mod other;
mod relay;
mod websocket;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use hyper::body::Bytes;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::json;

use self::decision::{Decided, Decision};
use super::answers::{Answers, RecordedReply};
use super::capture::Capture;
use super::client_secrets::ClientSecrets;
use super::exchange::{Begun, Exchange, ExchangeEnd, client_of};
use super::headers;
use super::held::{self, Asks};
use super::hold::{HeldSide, Holds};
use super::reply_body::{After, Pieces, dropped, passing, with_reason};
use super::request_body::read_request_body;
use super::rules::{RuleEffects, Rules};
use super::unrecorded::{PendingRequest, UnrecordedReport};
use super::upstreams::{Route, Upstreams, shown_address};
use crate::config::Protocol;
use crate::model::{CapturedRequest, Scrub, UpstreamBody, UpstreamClient, UpstreamReply};
use crate::server::{Handler, ListenerEnd, Method, Reply, Request, StatusCode, TooLarge, TooSlow, json_reply, whole};

/// Largest body of a request that asks a model, in bytes.
const REQUEST_MAX_BYTES: usize = 64 << 20;

/// Sources of replies other than the upstreams.
#[derive(Default)]
pub struct Replies {
    /// Recorded replies.
    pub recorded: Option<Answers>,
    /// Requests that are not recorded are sent to the upstream.
    pub asks_upstream: bool,
}

/// The handler of the proxy's listener.
pub struct ProxyService {
    upstreams: Upstreams,
    client: UpstreamClient,
    capture: Option<Capture>,
    /// Non-chat requests are recorded too.
    records_all: bool,
    replies: Replies,
    rules: Rules,
    /// Gates at which requests and replies wait for the user; `None` without a screen.
    holds: Option<Holds>,
    secrets: ClientSecrets,
    /// Gets requests that are not recorded.
    unrecorded: UnrecordedReport,
    /// The end of its listener.
    end: ListenerEnd,
}

impl ProxyService {
    /// A proxy to these upstreams, whose listener `end` ends. `scrub`: secrets that are known here; the passwords of the upstreams'
    /// addresses and the keys of each request are added.
    pub fn new(
        upstreams: Upstreams,
        client: UpstreamClient,
        capture: Option<Capture>,
        scrub: Scrub,
        end: ListenerEnd,
    ) -> Self {
        let (replies, rules) = (Replies::default(), Rules::default());
        // A service may repeat the password in its reply.
        let scrub = scrub.knowing(upstreams.secrets());
        let (secrets, unrecorded) = (ClientSecrets::new(scrub), Arc::new(|_| {}));
        Self { upstreams, client, capture, records_all: false, replies, rules, holds: None, secrets, unrecorded, end }
    }

    /// Also records non-chat requests.
    #[must_use]
    pub fn recording_all(self) -> Self {
        Self { records_all: true, ..self }
    }

    /// Answers from recordings.
    #[must_use]
    pub fn with_replies(self, replies: Replies) -> Self {
        Self { replies, ..self }
    }

    /// Applies rules.
    #[must_use]
    pub fn with_rules(self, rules: Rules) -> Self {
        Self { rules, ..self }
    }

    /// Adds gates that a screen shows.
    #[must_use]
    pub fn with_holds(self, holds: Holds) -> Self {
        Self { holds: Some(holds), ..self }
    }

    /// Reports requests that are not recorded.
    #[must_use]
    pub fn with_unrecorded(self, unrecorded: UnrecordedReport) -> Self {
        Self { unrecorded, ..self }
    }

    /// The recordings that it answers from.
    pub fn recorded(&self) -> Option<&Answers> {
        self.replies.recorded.as_ref()
    }

    /// Returns the number of requests whose end is not recorded yet.
    pub(super) fn remaining_requests(&self) -> u64 {
        self.capture.as_ref().map_or(0, Capture::remaining)
    }

    /// Ends the recording, and waits until it is written. What still passes is recorded as far as it came.
    pub fn close(&self) {
        if let Some(capture) = &self.capture {
            capture.close();
        }
    }

    /// Passes a request; one that is not recorded is reported when its reply has ended.
    async fn pass(self: &Arc<Self>, request: Request) -> Reply {
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let scrub = self.secrets.of_request(request.headers(), path);
        let mut pending = PendingRequest::begin(request.method().as_str(), path, scrub, &self.unrecorded, &self.end);
        let reply = self.answer_or_pass(request, &mut pending).await;
        pending.follow(reply)
    }

    async fn answer_or_pass(self: &Arc<Self>, request: Request, pending: &mut PendingRequest) -> Reply {
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned();
        if self.answers_check(&request) {
            pending.set_recorded();
            return Reply::new(whole(Bytes::new()));
        }
        let Some(route) = self.upstreams.route(&path, request.headers()) else {
            let names: Vec<&str> = self.upstreams.all().iter().map(|upstream| upstream.name.as_str()).collect();
            let message = format!(
                "no upstream of this proxy has the path {}; /NAME/… chooses one by name: {}",
                headers::recorded_path(&path),
                names.join(", ")
            );
            return refusal(StatusCode::NOT_FOUND, "no_upstream", &message);
        };
        pending.set_upstream(&route.upstream.name);
        if websocket::is_handshake(&request) {
            return self.answer_websocket(request, &route, pending).await;
        }
        match route.protocol.filter(|_| request.method() == Method::POST) {
            Some(protocol) => self.ask(request, &route, protocol, pending).await,
            None => self.answer_other(request, &route, pending).await,
        }
    }

    /// Returns whether a request only checks that the address answers, as Claude Code does at its start: `HEAD /`, which is a path of no
    /// service but Ollama, whose own programs ask whether it runs.
    fn answers_check(&self, request: &Request) -> bool {
        let is_of_ollama = client_of(request.headers()).starts_with("ollama");
        let needs_upstream = self.replies.recorded.is_none() || self.replies.asks_upstream;
        request.method() == Method::HEAD && request.uri().path() == "/" && !(is_of_ollama && needs_upstream)
    }

    /// Passes a request that asks a model.
    async fn ask(
        &self,
        request: Request,
        route: &Route<'_>,
        protocol: Protocol,
        pending: &mut PendingRequest,
    ) -> Reply {
        let Some(url) = route.upstream.url(&route.path) else { return no_address(route) };
        let (head, body) = request.into_parts();
        let (body, trailers) = match read_request_body(&head.headers, body, REQUEST_MAX_BYTES).await {
            Ok(read) => read,
            Err(error) => return broken_body(error.as_ref()),
        };
        let coding = headers::coding(&head.headers);
        let effects = self.effects_of_rules(&route.upstream.name, &route.path, protocol, &coding.plain(&body));
        let came = effects.body.is_some().then(|| body.clone());
        let body = effects.body.clone().map_or(body, Bytes::from);
        let of_trailers = || headers::trailers_text("the client's request", &trailers, pending.scrub());
        let of_trailers = (!trailers.is_empty()).then(of_trailers);
        let begun = Begun {
            upstream: route.upstream.name.clone(),
            protocol,
            method: head.method.to_string(),
            path: route.path.clone(),
            url: shown_address(&url).to_string(),
            headers: head.headers.clone(),
            body,
            came,
            scrub: pending.scrub().clone(),
            notices: effects.notices.iter().cloned().chain(of_trailers).collect(),
            connection: None,
        };
        let Decided { decision, exchange, asks, is_changed } = self.decide(begun, &effects, pending).await;
        let body = match decision {
            Decision::Upstream(body) => body,
            Decision::Recorded(reply) => return answered(reply, effects.cut),
            Decision::NotRecorded(why) => return not_recorded(&why),
            Decision::Loaded => return loaded(&asks.body),
            Decision::Written(text) => return written_reply(exchange, &asks, &text),
            Decision::Dropped(why) => return dropped(exchange, why),
            Decision::Failed(status, message) => return failed(exchange, protocol, status, &message).await,
        };
        let sent = headers::without_length(headers::passed_request(&head.headers));
        let (sent, body) = if is_changed {
            (headers::without_coding(sent), UpstreamBody::Whole(body))
        } else if trailers.is_empty() {
            (sent, UpstreamBody::Whole(body))
        } else {
            (headers::with_trailer_names(sent, &head.headers), UpstreamBody::with_trailers(body, trailers))
        };
        match self.client.send(head.method, url, sent, body).await {
            Ok(reply) => {
                note_retries(reply.retries(), route, exchange.as_ref(), pending);
                if let Some(holds) = self.holds_at(HeldSide::Reply, &effects) {
                    return held::hold_reply(holds, reply, exchange, &asks, &route.upstream.name, effects.cut).await;
                }
                if let Some(exchange) = &exchange {
                    exchange.replied(reply.status(), reply.headers().clone(), None);
                }
                live(reply, exchange, effects.cut)
            }
            Err(error) => {
                note_retries(error.retries, route, exchange.as_ref(), pending);
                let why = &error.why;
                if let Some(exchange) = exchange {
                    exchange.end(ExchangeEnd::NoReply(format!("{} cannot be reached: {why}", route.upstream.name)));
                }
                unreachable(route, why)
            }
        }
    }

    fn effects_of_rules(&self, upstream: &str, path: &str, protocol: Protocol, body: &[u8]) -> RuleEffects {
        if self.rules.is_empty() {
            return RuleEffects::default();
        }
        let request = CapturedRequest::read(protocol, path, body).ok();
        self.rules.apply(upstream, path, body, request.as_ref())
    }
}

/// Records that a request was sent more than once.
fn note_retries(retries: u32, route: &Route<'_>, exchange: Option<&Exchange>, pending: &mut PendingRequest) {
    pending.set_retries(retries);
    if let Some(exchange) = exchange {
        exchange.warn_retries(retries, &route.upstream.name);
    }
}

/// Waits for the delay of a rule.
async fn wait(delay: Duration) {
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
}

impl Handler for ProxyService {
    fn answer(self: Arc<Self>, request: Request) -> BoxFuture<'static, Reply> {
        Box::pin(async move { self.pass(request).await })
    }
}

/// The upstream's reply as it comes.
fn live(reply: UpstreamReply, exchange: Option<Exchange>, cut: Option<usize>) -> Reply {
    let head = (reply.status(), headers::passed_reply(reply.headers()));
    let reason = reply.reason();
    with_reason(passing(Pieces::Upstream(Box::new(reply)), head, exchange, cut), reason)
}

/// A recorded reply.
fn answered(reply: RecordedReply, cut: Option<usize>) -> Reply {
    let pairs = reply.headers.iter().filter_map(|(name, value)| {
        Some((HeaderName::try_from(name.as_str()).ok()?, HeaderValue::try_from(value.as_str()).ok()?))
    });
    let map: HeaderMap = pairs.collect();
    let pieces: Vec<Bytes> = reply.pieces.into_iter().map(Bytes::from).collect();
    let after = reply.broken.map_or(After::End, After::Broken);
    passing(Pieces::InHand(pieces.into_iter(), after), (reply.status, headers::passed(&map)), None, cut)
}

/// The reply to a request that only loads a model: a replay has none, and it never differs. `keep_alive: 0` unloads it.
fn loaded(body: &[u8]) -> Reply {
    let request = serde_json::from_slice::<serde_json::Value>(body).unwrap_or_default();
    let reason = if request["keep_alive"] == 0 { "unload" } else { "load" };
    let model = &request["model"];
    let message = json!({ "role": "assistant", "content": "" });
    json_reply(
        StatusCode::OK,
        &json!({ "model": model, "created_at": "1970-01-01T00:00:00Z", "response": "", "message": message, "done": true, "done_reason": reason }),
    )
}

/// Author of a reply of a rule, in a recording.
const BY_RULE: &str = "a rule of the proxy";

/// The type of an error with this status.
fn error_kind(status: u16) -> &'static str {
    match status {
        429 => "rate_limit_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    }
}

/// A failure that a rule asks for, in the form of the protocol.
async fn failed(exchange: Option<Exchange>, protocol: Protocol, status: u16, message: &str) -> Reply {
    let kind = error_kind(status);
    let body = match protocol {
        Protocol::Anthropic => json!({ "type": "error", "error": { "type": kind, "message": message } }),
        Protocol::Gemini => json!({ "error": { "code": status, "message": message, "status": kind } }),
        Protocol::Ollama => json!({ "error": message }),
        _ => json!({ "error": { "message": message, "type": kind, "code": null, "param": null } }),
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let reply = json_reply(status, &body);
    if let Some(exchange) = exchange {
        exchange.replied(status.as_u16(), reply.headers().clone(), Some(BY_RULE.to_owned()));
        exchange.piece(body.to_string().as_bytes()).await;
        exchange.end(ExchangeEnd::Complete);
    }
    reply
}

/// A text of the user instead of the model's reply.
fn written_reply(exchange: Option<Exchange>, asks: &Asks, text: &str) -> Reply {
    let written = asks.written(text);
    if let Some(exchange) = &exchange {
        exchange.replied(200, written.headers.clone(), Some(held::BY_USER.to_owned()));
    }
    passing(Pieces::InHand(written.pieces.into_iter(), After::End), (200, written.headers), exchange, None)
}

/// The refusal of a request that no recording answers.
fn not_recorded(why: &str) -> Reply {
    refusal(StatusCode::NOT_FOUND, "not_recorded", why)
}

fn refusal(status: StatusCode, kind: &str, message: &str) -> Reply {
    json_reply(status, &json!({ "error": { "message": message, "type": kind, "from": "ptc-workbench proxy" } }))
}

/// The refusal of a request whose body cannot be read.
fn broken_body(error: &(dyn std::error::Error + Send + Sync + 'static)) -> Reply {
    if error.is::<TooLarge>() {
        return refusal(StatusCode::PAYLOAD_TOO_LARGE, "too_large", &error.to_string());
    }
    if error.is::<TooSlow>() {
        return refusal(StatusCode::REQUEST_TIMEOUT, "too_slow", &error.to_string());
    }
    refusal(StatusCode::BAD_REQUEST, "broken_body", &error.to_string())
}

fn unreachable(route: &Route<'_>, why: &str) -> Reply {
    let message = format!("{} cannot be reached: {why}", route.upstream.name);
    refusal(StatusCode::BAD_GATEWAY, "upstream_unreachable", &message)
}

fn no_address(route: &Route<'_>) -> Reply {
    refusal(StatusCode::BAD_REQUEST, "bad_path", &format!("the path is not an address of {}", route.upstream.name))
}
