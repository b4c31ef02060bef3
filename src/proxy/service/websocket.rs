//! WebSockets: the handshake, and what passes after it.
//!
//! In: a request for a WebSocket. Out: the service's reply to it; after status 101 the bytes pass in both directions, or, where a model is
//! asked, the messages, each request with its reply as an exchange. It must never offer the service an extension that changes messages which
//! are read here.

use std::sync::Arc;

use hyper::body::Bytes;
use hyper::header::{
    CONNECTION, HeaderMap, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_EXTENSIONS, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_PROTOCOL, UPGRADE,
};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::relay::{Relay, socket};
use super::{ProxyService, failed, live, no_address, not_recorded, refusal, unreachable, wait};
use crate::config::Protocol;
use crate::model::{UpstreamBody, UpstreamReply, Url};
use crate::proxy::headers;
use crate::proxy::reply_body::dropped;
use crate::proxy::unrecorded::PendingRequest;
use crate::proxy::upstreams::{Route, shown_address};
use crate::server::{Method, Reply, Request, StatusCode, upgrading, whole};

/// Returns whether a request asks for a WebSocket.
pub(super) fn is_handshake(request: &Request) -> bool {
    let upgrade = request.headers().get(UPGRADE).and_then(|value| value.to_str().ok());
    request.method() == Method::GET && upgrade.is_some_and(|upgrade| upgrade.eq_ignore_ascii_case("websocket"))
}

impl ProxyService {
    /// Answers a request for a WebSocket.
    pub(super) async fn answer_websocket(
        self: &Arc<Self>,
        mut request: Request,
        route: &Route<'_>,
        pending: &mut PendingRequest,
    ) -> Reply {
        let Some(url) = route.upstream.url(&route.path) else { return no_address(route) };
        let asks_model = route.protocol == Some(Protocol::Responses);
        if !asks_model {
            let effects = self.rules.apply_to_other(&route.upstream.name, &route.path, &[]);
            wait(effects.delay).await;
            if effects.is_dropped {
                return dropped(None, "a rule of the proxy closed the connection");
            }
            if let Some((status, message)) = effects.fail {
                return failed(None, route.upstream.kind.unwrap_or(Protocol::OpenAi), status, &message).await;
            }
        }
        let client = hyper::upgrade::on(&mut request);
        let asked = request.headers();
        let answers = self.replies.recorded.is_some() && !self.replies.asks_upstream;
        if answers {
            if !asks_model {
                let path = headers::recorded_path(&route.path);
                return not_recorded(&format!("{path} is not recorded: only WebSockets of the Responses API are"));
            }
            let Some(answered) = accepted(asked) else {
                return refusal(StatusCode::BAD_REQUEST, "bad_handshake", "the header Sec-WebSocket-Key is missing");
            };
            pending.set_recorded();
            let relay = self.relay(route, &url, asked.clone(), &answered, pending);
            return switching(&answered, async move {
                if let Ok(client) = client.await {
                    relay.run(socket(client, Role::Server).await, None).await;
                }
            });
        }
        let mut sent = headers::passed_request(asked);
        sent.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        sent.insert(UPGRADE, HeaderValue::from_static("websocket"));
        if asks_model {
            sent.remove(SEC_WEBSOCKET_EXTENSIONS);
        }
        let reply = self.client.send(Method::GET, url.clone(), sent, UpstreamBody::Whole(Bytes::new())).await;
        let reply = match reply {
            Ok(reply) if reply.status() == StatusCode::SWITCHING_PROTOCOLS => reply,
            Ok(reply) => return live(reply, None, None),
            Err(error) => return unreachable(route, &error.why),
        };
        let answered = reply.headers().clone();
        if !asks_model {
            let line = pending.take();
            return switching(&answered, pass_bytes(client, reply, line));
        }
        pending.set_recorded();
        let relay = self.relay(route, &url, asked.clone(), &answered, pending);
        switching(&answered, async move {
            // A client that has left needs no connection to the service.
            let (Ok(client), Ok(service)) = (client.await, reply.upgraded().await) else { return };
            relay.run(socket(client, Role::Server).await, Some(socket(service, Role::Client).await)).await;
        })
    }

    fn relay(
        self: &Arc<Self>,
        route: &Route<'_>,
        url: &Url,
        asked: HeaderMap,
        answered: &HeaderMap,
        pending: &PendingRequest,
    ) -> Relay {
        let mut url = shown_address(url);
        // The schemes of WebSockets have the same default ports: each address has a form with them.
        _ = url.set_scheme(if url.scheme() == "https" { "wss" } else { "ws" });
        Relay {
            service: Arc::clone(self),
            upstream: route.upstream.name.clone(),
            path: route.path.clone(),
            url: url.to_string(),
            asked,
            answered: answered.clone(),
            scrub: pending.scrub().clone(),
        }
    }
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

/// Passes the bytes of a WebSocket that is not read, and reports its end.
async fn pass_bytes(client: OnUpgrade, reply: UpstreamReply, line: PendingRequest) {
    let (Ok(client), Ok(service)) = (client.await, reply.upgraded().await) else { return };
    let (mut client, mut service) = (TokioIo::new(client), TokioIo::new(service));
    let passed = tokio::io::copy_bidirectional(&mut client, &mut service).await;
    let (bytes, problem) = match passed {
        Ok((_, bytes)) => (bytes, None),
        Err(error) => (0, Some(error.to_string())),
    };
    line.end(101, bytes, problem);
}
