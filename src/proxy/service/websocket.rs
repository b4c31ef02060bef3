//! WebSockets: the handshake, and what passes after it.
//!
//! In: a request for a WebSocket. Out: the service's reply to it; after status 101 the bytes pass in both directions, or, where a model is
//! asked, the messages, each request with its reply as an exchange. It must never offer the service an extension that changes messages which
//! are read here.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyper::Version;
use hyper::body::Bytes;
use hyper::header::{
    CONNECTION, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_EXTENSIONS, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_PROTOCOL, UPGRADE,
};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::connection::{relay, socket};
use super::handshake::Handshake;
use super::{ProxyService, failed, live, no_address, not_recorded, refusal, unreachable, wait};
use crate::config::Protocol;
use crate::model::{UpstreamBody, UpstreamReply, Url};
use crate::proxy::answers::Answers;
use crate::proxy::exchange::{CLIENT_LEFT, PROXY_ENDED, RULE_CUT, left_text};
use crate::proxy::headers;
use crate::proxy::reply_body::dropped;
use crate::proxy::unrecorded::PendingRequest;
use crate::proxy::upstreams::{Route, shown_address};
use crate::server::{ListenerEnd, Method, Reply, Request, StatusCode, upgrading, whole};

/// Largest piece of a WebSocket that is not read, in bytes.
const PIECE_BYTES: usize = 16 << 10;

/// Longest time for one direction of it after the other has ended.
const HALF_CLOSED_TIME: Duration = Duration::from_secs(2);

/// Returns whether a request asks for a WebSocket. Over HTTP/1.0 there are none.
pub(super) fn is_handshake(request: &Request) -> bool {
    let has = |name: HeaderName, word: &str| {
        let values = request.headers().get_all(name).into_iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).any(|item| item.trim().eq_ignore_ascii_case(word))
    };
    request.method() == Method::GET
        && request.version() == Version::HTTP_11
        && has(UPGRADE, "websocket")
        && has(CONNECTION, "upgrade")
}

impl ProxyService {
    /// Answers a request for a WebSocket.
    pub(super) async fn answer_websocket(
        self: &Arc<Self>,
        request: Request,
        route: &Route<'_>,
        pending: &mut PendingRequest,
    ) -> Reply {
        let Some(url) = route.upstream.url(&route.path) else { return no_address(route) };
        if route.protocol == Some(Protocol::Responses) {
            self.answer_messages(request, route, url, pending).await
        } else {
            self.answer_bytes(request, route, url, pending).await
        }
    }

    /// Answers a request for a WebSocket whose messages ask models.
    async fn answer_messages(
        self: &Arc<Self>,
        mut request: Request,
        route: &Route<'_>,
        url: Url,
        pending: &mut PendingRequest,
    ) -> Reply {
        let client = hyper::upgrade::on(&mut request);
        let asked = request.headers().clone();
        let recorded = self.replies.recorded.as_ref();
        let has_messages = recorded.is_some_and(Answers::has_messages);
        let mut no_service = None;
        if recorded.is_none() || self.replies.asks_upstream {
            let mut sent = upgrade_headers(&asked);
            sent.remove(SEC_WEBSOCKET_EXTENSIONS);
            match self.client.send(Method::GET, url.clone(), sent, UpstreamBody::Whole(Bytes::new())).await {
                Ok(reply) if is_switching(&reply) => {
                    pending.set_recorded();
                    let mut answered = reply.headers().clone();
                    // The proxy offered none.
                    answered.remove(SEC_WEBSOCKET_EXTENSIONS);
                    let handshake = self.handshake(route, &url, asked, answered.clone(), pending);
                    return switching(&answered, async move {
                        // A client that has left needs no connection to the service.
                        let (Ok(client), Ok(service)) = (client.await, reply.upgraded().await) else { return };
                        let service = socket(service, Role::Client).await;
                        relay(handshake, socket(client, Role::Server).await, Some(service)).await;
                    });
                }
                // What is recorded needs no service.
                Ok(reply) if has_messages => no_service = Some(format!("it answered with status {}", reply.status())),
                Err(error) if recorded.is_some_and(|recorded| !recorded.is_empty()) => no_service = Some(error.why),
                Ok(reply) => return live(reply, None, None),
                Err(error) => return unreachable(route, &error.why),
            }
        }
        if !has_messages {
            // Clients that get this status send the request over HTTP, as they did when it was recorded.
            let message = "no message of a WebSocket is recorded";
            return refusal(StatusCode::UPGRADE_REQUIRED, "not_recorded", message);
        }
        let Some(answered) = accepted(&asked) else {
            return refusal(StatusCode::BAD_REQUEST, "bad_handshake", "the header Sec-WebSocket-Key is missing");
        };
        pending.set_recorded();
        let no_service = no_service.map(|why| format!("{} cannot be reached: {why}", route.upstream.name));
        let handshake = Handshake { no_service, ..self.handshake(route, &url, asked, answered.clone(), pending) };
        switching(&answered, async move {
            if let Ok(client) = client.await {
                relay(handshake, socket(client, Role::Server).await, None).await;
            }
        })
    }

    fn handshake(
        self: &Arc<Self>,
        route: &Route<'_>,
        url: &Url,
        asked: HeaderMap,
        answered: HeaderMap,
        pending: &PendingRequest,
    ) -> Handshake {
        let mut url = shown_address(url);
        // The schemes of WebSockets have the same default ports: each address has a form with them.
        _ = url.set_scheme(if url.scheme() == "https" { "wss" } else { "ws" });
        Handshake {
            service: Arc::clone(self),
            upstream: route.upstream.name.clone(),
            path: route.path.clone(),
            url: url.to_string(),
            asked,
            answered: Arc::new(answered),
            scrub: pending.scrub().clone(),
            no_service: None,
            end: Arc::default(),
        }
    }

    /// Answers a request for another WebSocket.
    async fn answer_bytes(
        &self,
        mut request: Request,
        route: &Route<'_>,
        url: Url,
        pending: &mut PendingRequest,
    ) -> Reply {
        if self.replies.recorded.is_some() && !self.replies.asks_upstream {
            let path = headers::recorded_path(&route.path);
            return not_recorded(&format!("{path} is not recorded: only WebSockets of the Responses API are"));
        }
        let effects = self.rules.apply_to_other(&route.upstream.name, &route.path, &[]);
        wait(effects.delay).await;
        if effects.is_dropped {
            return dropped(None, "a rule of the proxy closed the connection");
        }
        if let Some((status, message)) = effects.fail {
            return failed(None, route.upstream.kind.unwrap_or(Protocol::OpenAi), status, &message).await;
        }
        let client = hyper::upgrade::on(&mut request);
        let sent = upgrade_headers(request.headers());
        match self.client.send(Method::GET, url, sent, UpstreamBody::Whole(Bytes::new())).await {
            Ok(reply) if is_switching(&reply) => {
                let answered = reply.headers().clone();
                switching(&answered, pass_bytes(client, reply, effects.cut, (pending.take(), self.end.clone())))
            }
            Ok(reply) => live(reply, None, None),
            Err(error) => unreachable(route, &error.why),
        }
    }
}

fn is_switching(reply: &UpstreamReply) -> bool {
    reply.status() == StatusCode::SWITCHING_PROTOCOLS
}

/// The headers of a handshake that are passed on.
fn upgrade_headers(asked: &HeaderMap) -> HeaderMap {
    let mut sent = headers::passed_request(asked);
    sent.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    sent.insert(UPGRADE, HeaderValue::from_static("websocket"));
    sent
}

/// The headers of a reply that accepts a WebSocket; `None` for a request without a key.
fn accepted(asked: &HeaderMap) -> Option<HeaderMap> {
    let key = asked.get(SEC_WEBSOCKET_KEY)?;
    let mut headers = HeaderMap::new();
    headers.insert(SEC_WEBSOCKET_ACCEPT, HeaderValue::try_from(derive_accept_key(key.as_bytes())).ok()?);
    // Browsers offer keys as further protocols: the first one is the protocol.
    let offered = asked.get(SEC_WEBSOCKET_PROTOCOL).and_then(|value| value.to_str().ok());
    if let Some(first) = offered.and_then(|offered| HeaderValue::from_str(offered.split(',').next()?.trim()).ok()) {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, first);
    }
    Some(headers)
}

/// The reply that begins a WebSocket, with these headers of the service, and what is done on the connection after it.
fn switching(answered: &HeaderMap, work: impl Future<Output = ()> + Send + 'static) -> Reply {
    let mut reply = Reply::new(whole(Bytes::new()));
    *reply.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    *reply.headers_mut() = headers::passed(answered);
    reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    reply.headers_mut().insert(UPGRADE, HeaderValue::from_static("websocket"));
    upgrading(reply, work)
}

/// Bytes of a WebSocket that is not read, for its line.
struct PassedBytes {
    line: Option<PendingRequest>,
    bytes: Arc<AtomicU64>,
    listener: ListenerEnd,
}

impl PassedBytes {
    fn end(&mut self, problem: Option<String>) {
        if let Some(line) = self.line.take() {
            line.end(101, self.bytes.load(Ordering::Relaxed), problem);
        }
    }
}

impl Drop for PassedBytes {
    fn drop(&mut self) {
        let problem = left_text(&self.listener, &None, CLIENT_LEFT);
        self.end(Some(problem));
    }
}

/// Passes the bytes of a WebSocket that is not read until a side closes its connection or the proxy ends, and reports its end.
async fn pass_bytes(
    client: OnUpgrade,
    reply: UpstreamReply,
    cut: Option<usize>,
    (line, listener): (PendingRequest, ListenerEnd),
) {
    let bytes = Arc::new(AtomicU64::new(0));
    let mut passed = PassedBytes { line: Some(line), bytes: Arc::clone(&bytes), listener: listener.clone() };
    let (Ok(client), Ok(service)) = (client.await, reply.upgraded().await) else { return };
    let (client, service) = (tokio::io::split(TokioIo::new(client)), tokio::io::split(TokioIo::new(service)));
    let up_bytes = AtomicU64::new(0);
    let mut up = pin!(pass(client.0, service.1, &up_bytes, None));
    let mut down = pin!(pass(service.0, client.1, &bytes, cut));
    let (first, is_up) = tokio::select! {
        end = &mut up => (end, true),
        end = &mut down => (end, false),
        () = listener.closed() => return passed.end(Some(PROXY_ENDED.to_owned())),
    };
    // What the other side has on its way.
    let rest = async { if is_up { down.await } else { up.await } };
    let second = tokio::time::timeout(HALF_CLOSED_TIME, rest).await.unwrap_or(Ok(()));
    passed.end(first.and(second).err().map(|error| error.to_string()));
}

/// Passes the bytes of one direction, and counts them. Errors: the connection broke, or a rule cuts it.
async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    count: &AtomicU64,
    cut: Option<usize>,
) -> std::io::Result<()> {
    let mut left = cut;
    let mut buffer = vec![0; PIECE_BYTES];
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 {
            return to.shutdown().await;
        }
        let passed = left.map_or(read, |left| left.min(read));
        to.write_all(&buffer[..passed]).await?;
        to.flush().await?;
        count.fetch_add(passed as u64, Ordering::Relaxed);
        if passed < read {
            return Err(std::io::Error::other(RULE_CUT));
        }
        left = left.map(|left| left - passed);
    }
}
