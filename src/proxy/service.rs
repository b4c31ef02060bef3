//! The proxy itself: requests of clients in, the upstream's replies out.
//!
//! In: requests. Out: replies as they come, piece by piece. It must never answer in the upstream's place unless a rule or a recording does,
//! and an upstream that breaks off breaks off for the client too.

use std::sync::Arc;

use futures::future::BoxFuture;
use http_body_util::BodyExt as _;
use hyper::body::Bytes;
use hyper::header::{CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING};
use serde_json::json;

use super::answers::{Answers, RecordedReply};
use super::capture::Capture;
use super::client_secrets::ClientSecrets;
use super::exchange::{Begun, Exchange, ExchangeEnd, PROXY_ENDED};
use super::headers;
use super::held::{self, Asks};
use super::hold::{HeldSide, Holds, Verdict};
use super::rules::{Changed, Rules};
use super::unrecorded::{PendingRequest, UnrecordedReport};
use super::upstreams::{Route, Upstreams};
use crate::config::Protocol;
use crate::model::{CapturedRequest, Scrub, UpstreamBody, UpstreamClient, UpstreamReply};
use crate::server::{
    BodyError, Handler, ListenerEnd, Method, Reply, Request, StatusCode, TooLarge, json_reply, pieces, read_body,
};

/// Largest body of a request that asks a model, in bytes.
const REQUEST_MAX_BYTES: usize = 64 << 20;

/// Longest body of a request that only loads a model, in bytes.
const LOADING_MAX_BYTES: usize = 1 << 10;

/// Where replies come from besides the upstreams.
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
    replies: Replies,
    rules: Rules,
    /// Where requests and replies wait for the user; `None` without a screen.
    holds: Option<Holds>,
    secrets: ClientSecrets,
    /// Gets requests that are not recorded.
    unrecorded: UnrecordedReport,
    /// The end of its listener.
    end: ListenerEnd,
}

impl ProxyService {
    /// A proxy to these upstreams, whose listener `end` ends. `scrub`: secrets that are known here; the keys of each request are added.
    pub fn new(
        upstreams: Upstreams,
        client: UpstreamClient,
        capture: Option<Capture>,
        scrub: Scrub,
        end: ListenerEnd,
    ) -> Self {
        let (replies, rules) = (Replies::default(), Rules::default());
        let (secrets, unrecorded) = (ClientSecrets::new(scrub), Arc::new(|_| {}));
        Self { upstreams, client, capture, replies, rules, holds: None, secrets, unrecorded, end }
    }

    /// The same with replies from recordings.
    #[must_use]
    pub fn with_replies(self, replies: Replies) -> Self {
        Self { replies, ..self }
    }

    /// The same with rules.
    #[must_use]
    pub fn with_rules(self, rules: Rules) -> Self {
        Self { rules, ..self }
    }

    /// The same with gates that a screen shows.
    #[must_use]
    pub fn with_holds(self, holds: Holds) -> Self {
        Self { holds: Some(holds), ..self }
    }

    /// The same with a report of requests that are not recorded.
    #[must_use]
    pub fn with_unrecorded(self, unrecorded: UnrecordedReport) -> Self {
        Self { unrecorded, ..self }
    }

    /// The recordings that it answers from.
    pub fn recorded(&self) -> Option<&Answers> {
        self.replies.recorded.as_ref()
    }

    /// Ends the recording, and waits until it is written. What still passes is recorded as far as it came.
    pub fn close(&self) {
        if let Some(capture) = &self.capture {
            capture.close();
        }
    }

    /// Passes a request; one that is not recorded is reported when its reply has ended.
    async fn pass(&self, request: Request) -> Reply {
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let scrub = self.secrets.of_request(request.headers(), path);
        let mut pending = PendingRequest::begin(request.method().as_str(), path, &scrub, &self.unrecorded, &self.end);
        let reply = self.answer_or_pass(request, &mut pending).await;
        pending.follow(reply)
    }

    async fn answer_or_pass(&self, request: Request, pending: &mut PendingRequest) -> Reply {
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned();
        let Some(route) = self.upstreams.route(&path, request.headers()) else {
            let message = format!("no upstream of this proxy has the path {}", headers::recorded_path(&path));
            return refusal(StatusCode::NOT_FOUND, "no_upstream", &message);
        };
        pending.set_upstream(&route.upstream.name);
        match route.protocol.filter(|_| request.method() == Method::POST) {
            Some(protocol) => self.ask(request, &route, protocol, pending).await,
            None if self.replies.recorded.is_some() && !self.replies.asks_upstream => {
                let message = format!("{} is not recorded: only requests to models are", headers::recorded_path(&path));
                refusal(StatusCode::NOT_FOUND, "not_recorded", &message)
            }
            None => self.pass_through(request, &route, pending).await,
        }
    }

    /// Passes a request that asks no model; it is not recorded.
    async fn pass_through(&self, request: Request, route: &Route<'_>, pending: &mut PendingRequest) -> Reply {
        let Some(url) = route.upstream.url(&route.path) else { return no_address(route) };
        let (head, body) = request.into_parts();
        let passed = headers::passed(&head.headers);
        let has_body = head.headers.contains_key(CONTENT_LENGTH) || head.headers.contains_key(TRANSFER_ENCODING);
        let body = if has_body { UpstreamBody::of(body.into_data_stream()) } else { UpstreamBody::Whole(Bytes::new()) };
        match self.client.send(head.method, url, passed, body).await {
            Ok(reply) => {
                pending.set_retries(reply.retries());
                live(reply, None, None)
            }
            Err(error) => {
                pending.set_retries(error.retries);
                unreachable(route, &error.why)
            }
        }
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
        let body = match read_body(body, REQUEST_MAX_BYTES).await {
            Ok(body) => body,
            Err(error) if error.is::<TooLarge>() => {
                return refusal(StatusCode::PAYLOAD_TOO_LARGE, "too_large", &error.to_string());
            }
            Err(error) => return refusal(StatusCode::BAD_REQUEST, "broken_body", &error.to_string()),
        };
        let changed = self.changed(route, protocol, &body);
        let came = changed.body.is_some().then(|| body.clone());
        let body = changed.body.clone().map_or(body, Bytes::from);
        let mut begun = Begun {
            upstream: route.upstream.name.clone(),
            protocol,
            method: head.method.to_string(),
            path: route.path.clone(),
            url: {
                let mut shown = url.clone();
                shown.set_query(None);
                shown.to_string()
            },
            headers: head.headers.clone(),
            body,
            came,
            scrub: self.secrets.of_request(&head.headers, &route.path),
            notices: changed.notices.clone(),
        };
        let mut verdict = Verdict::Pass;
        if let Some(holds) = self.holds_at(HeldSide::Request, &changed) {
            (begun, verdict) = held::hold_request(holds, self.capture.as_ref(), begun, pending).await;
        }
        let body = begun.body.clone();
        let asks = Asks { protocol, path: route.path.clone(), client: begun.client(), body: body.clone() };
        let is_load = is_model_load(protocol, &begun);
        let exchange = match &self.capture {
            Some(capture) if !is_load => {
                let exchange = capture.begin(begun).await;
                pending.set_recorded();
                Some(exchange)
            }
            Some(_) | None => None,
        };
        match verdict {
            Verdict::Answer(text) => return written_reply(exchange, &asks, &text),
            Verdict::Drop => return dropped(exchange, "the user closed the connection"),
            Verdict::Ended => return dropped(exchange, PROXY_ENDED),
            Verdict::Pass | Verdict::Edited(_) => {}
        }
        if !changed.delay.is_zero() {
            tokio::time::sleep(changed.delay).await;
        }
        if changed.is_dropped {
            return dropped(exchange, "a rule of the proxy closed the connection");
        }
        if let Some((status, message)) = changed.fail {
            return failed(exchange, protocol, status, &message).await;
        }
        if is_load && self.replies.recorded.is_some() && !self.replies.asks_upstream {
            return loaded(&body);
        }
        if let Some(recorded) = &self.replies.recorded {
            match recorded.find(&route.path, &body) {
                Ok(reply) => {
                    pending.set_answered_from(&reply.place);
                    return answered(exchange, reply, changed.cut);
                }
                Err(miss) if !self.replies.asks_upstream => {
                    if let Some(exchange) = exchange {
                        exchange.end(ExchangeEnd::NoReply(miss.to_string()));
                    }
                    return refusal(StatusCode::NOT_FOUND, "not_recorded", &miss.to_string());
                }
                Err(_) => {}
            }
        }
        let sent = headers::without_length(headers::passed(&head.headers));
        match self.client.send(head.method, url, sent, UpstreamBody::Whole(body)).await {
            Ok(reply) => {
                note_retries(reply.retries(), route, exchange.as_ref(), pending);
                if let Some(holds) = self.holds_at(HeldSide::Reply, &changed) {
                    return held::hold_reply(holds, reply, exchange, &asks, &route.upstream.name, changed.cut).await;
                }
                if let Some(exchange) = &exchange {
                    exchange.replied(reply.status(), reply.headers().clone(), None);
                }
                live(reply, exchange, changed.cut)
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

    /// Where this request, or its reply, waits for the user.
    fn holds_at(&self, side: HeldSide, changed: &Changed) -> Option<&Holds> {
        self.holds.as_ref().filter(|holds| holds.is_closed(side) || changed.holds.contains(&side))
    }

    fn changed(&self, route: &Route<'_>, protocol: Protocol, body: &[u8]) -> Changed {
        if self.rules.is_empty() {
            return Changed::default();
        }
        let request = CapturedRequest::read(protocol, &route.path, body).ok();
        self.rules.apply(&route.upstream.name, &route.path, body, request.as_ref())
    }
}

/// Records that a request was sent more than once.
fn note_retries(retries: u32, route: &Route<'_>, exchange: Option<&Exchange>, pending: &mut PendingRequest) {
    pending.set_retries(retries);
    if let Some(exchange) = exchange {
        exchange.warn_retries(retries, &route.upstream.name);
    }
}

/// Does the request only load the model? Ollama's clients send it without messages, or without a prompt.
fn is_model_load(protocol: Protocol, begun: &Begun) -> bool {
    protocol == Protocol::Ollama
        && begun.body.len() <= LOADING_MAX_BYTES
        && CapturedRequest::read(protocol, &begun.path, &begun.body).is_ok_and(|request| request.messages.is_empty())
}

impl Handler for ProxyService {
    fn answer(&self, request: Request) -> BoxFuture<'_, Reply> {
        Box::pin(self.pass(request))
    }
}

/// Where the pieces of a body come from.
pub(super) enum Pieces {
    Upstream(Box<UpstreamReply>),
    /// Pieces that are in memory, and what follows them.
    InHand(std::vec::IntoIter<Bytes>, After),
}

/// What follows pieces in memory.
pub(super) enum After {
    /// The end.
    End,
    /// The connection broke: why.
    Broken(String),
    /// More from the upstream.
    Upstream(Box<UpstreamReply>),
}

impl Pieces {
    async fn next(&mut self) -> Result<Option<Bytes>, String> {
        match self {
            Self::Upstream(reply) => reply.chunk().await,
            Self::InHand(pieces, after) => match (pieces.next(), after) {
                (Some(piece), _) => Ok(Some(piece)),
                (None, After::End) => Ok(None),
                (None, After::Broken(why)) => Err(why.clone()),
                (None, After::Upstream(reply)) => reply.chunk().await,
            },
        }
    }
}

/// A body on its way.
struct Passing {
    pieces: Pieces,
    exchange: Option<Exchange>,
    /// Bytes that are still to come, when the head has their number: nothing is read after the last of them.
    expected: Option<u64>,
    /// Bytes after which a rule breaks the connection.
    left: Option<usize>,
    is_over: bool,
}

impl Passing {
    /// The next piece, recorded.
    async fn next(&mut self) -> Option<Result<Bytes, BodyError>> {
        if self.is_over {
            return None;
        }
        let read = if self.left == Some(0) {
            Err("a rule of the proxy cut the reply".to_owned())
        } else {
            self.pieces.next().await
        };
        match read {
            Ok(Some(bytes)) => Some(Ok(self.pass(bytes).await)),
            Ok(None) => {
                self.end(ExchangeEnd::Complete);
                None
            }
            Err(why) => {
                // What came before leaves before the connection is closed.
                tokio::task::yield_now().await;
                self.end(ExchangeEnd::Broken(why.clone()));
                Some(Err(why.into()))
            }
        }
    }

    async fn pass(&mut self, bytes: Bytes) -> Bytes {
        let kept = self.left.map_or(bytes.len(), |left| left.min(bytes.len()));
        let bytes = bytes.slice(..kept);
        if let Some(left) = &mut self.left {
            *left -= kept;
        }
        if let Some(exchange) = &self.exchange {
            exchange.piece(&bytes).await;
        }
        if let Some(expected) = &mut self.expected {
            *expected = expected.saturating_sub(kept as u64);
            if *expected == 0 {
                self.end(ExchangeEnd::Complete);
            }
        }
        bytes
    }

    fn end(&mut self, end: ExchangeEnd) {
        self.is_over = true;
        if let Some(exchange) = self.exchange.take() {
            exchange.end(end);
        }
    }
}

/// A reply as it comes.
pub(super) fn passing(
    pieces_of: Pieces,
    head: (u16, HeaderMap),
    exchange: Option<Exchange>,
    cut: Option<usize>,
) -> Reply {
    let (status, passed) = head;
    let length = headers::content_length(&passed);
    let mut state = Passing { pieces: pieces_of, exchange, expected: length, left: cut, is_over: false };
    let has_body = length != Some(0) && status != StatusCode::NO_CONTENT.as_u16();
    if !has_body {
        state.end(ExchangeEnd::Complete);
    }
    let body = futures::stream::unfold(state, |mut state| async move { Some((state.next().await?, state)) });
    let mut reply = Reply::new(pieces(body));
    *reply.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    *reply.headers_mut() = passed;
    reply
}

/// The upstream's reply as it comes.
fn live(reply: UpstreamReply, exchange: Option<Exchange>, cut: Option<usize>) -> Reply {
    let head = (reply.status(), headers::passed(reply.headers()));
    passing(Pieces::Upstream(Box::new(reply)), head, exchange, cut)
}

/// A recorded reply.
fn answered(exchange: Option<Exchange>, reply: RecordedReply, cut: Option<usize>) -> Reply {
    let pairs = reply.headers.iter().filter_map(|(name, value)| {
        Some((HeaderName::try_from(name.as_str()).ok()?, HeaderValue::try_from(value.as_str()).ok()?))
    });
    let map: HeaderMap = pairs.collect();
    if let Some(exchange) = &exchange {
        exchange.replied(reply.status, map.clone(), Some(reply.place.clone()));
    }
    let pieces: Vec<Bytes> = reply.pieces.into_iter().map(Bytes::from).collect();
    let after = reply.broken.map_or(After::End, After::Broken);
    passing(Pieces::InHand(pieces.into_iter(), after), (reply.status, headers::passed(&map)), exchange, cut)
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

/// A failure that a rule asks for, in the form of the protocol.
async fn failed(exchange: Option<Exchange>, protocol: Protocol, status: u16, message: &str) -> Reply {
    let kind = match status {
        429 => "rate_limit_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    };
    let body = match protocol {
        Protocol::Anthropic => json!({ "type": "error", "error": { "type": kind, "message": message } }),
        Protocol::Gemini => json!({ "error": { "code": status, "message": message, "status": kind } }),
        Protocol::Ollama => json!({ "error": message }),
        _ => json!({ "error": { "message": message, "type": kind, "code": null, "param": null } }),
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let reply = json_reply(status, &body);
    if let Some(exchange) = exchange {
        exchange.replied(status.as_u16(), reply.headers().clone(), Some("a rule of the proxy".to_owned()));
        exchange.piece(body.to_string().as_bytes()).await;
        exchange.end(ExchangeEnd::Complete);
    }
    reply
}

/// A text of the user in the place of the model's reply.
fn written_reply(exchange: Option<Exchange>, asks: &Asks, text: &str) -> Reply {
    let written = asks.written(text);
    if let Some(exchange) = &exchange {
        exchange.replied(200, written.headers.clone(), Some(held::BY_USER.to_owned()));
    }
    passing(Pieces::InHand(written.pieces.into_iter(), After::End), (200, written.headers), exchange, None)
}

/// A connection that is closed: its body breaks off before its first byte.
pub(super) fn dropped(exchange: Option<Exchange>, why: &'static str) -> Reply {
    if let Some(exchange) = exchange {
        exchange.end(ExchangeEnd::NoReply(why.to_owned()));
    }
    let broken = futures::stream::once(async move { Err(why.into()) });
    Reply::new(pieces(broken))
}

fn refusal(status: StatusCode, kind: &str, message: &str) -> Reply {
    json_reply(status, &json!({ "error": { "message": message, "type": kind, "from": "ptc-workbench proxy" } }))
}

fn unreachable(route: &Route<'_>, why: &str) -> Reply {
    let message = format!("{} cannot be reached: {why}", route.upstream.name);
    refusal(StatusCode::BAD_GATEWAY, "upstream_unreachable", &message)
}

fn no_address(route: &Route<'_>) -> Reply {
    refusal(StatusCode::BAD_REQUEST, "bad_path", &format!("the path is not an address of {}", route.upstream.name))
}
