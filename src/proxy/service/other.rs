//! Non-chat requests, such as lists of models, embeddings and token counts.
//!
//! In: such a request. Out: the upstream's reply as it comes, or a recorded one. Requests that may fetch a deferred reply go to the
//! recorder too. It must never record another one unless the user wants that, or one that is not text.

use std::time::Instant;

use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, TRANSFER_ENCODING};

use super::decision::Decision;
use super::{
    ProxyService, answered, broken_body, failed, live, no_address, not_recorded, note_retries, unreachable, wait,
};
use crate::config::Protocol;
use crate::model::{UpstreamBody, UpstreamReply};
use crate::proxy::background::is_fetch;
use crate::proxy::capture::Capture;
use crate::proxy::exchange::{Begun, Exchange};
use crate::proxy::headers;
use crate::proxy::late_line::{HeldLine, LateLine};
use crate::proxy::reply_body::dropped;
use crate::proxy::rules::RuleEffects;
use crate::proxy::unrecorded::PendingRequest;
use crate::proxy::upstreams::{Route, shown_address};
use crate::server::{BodyError, Method, Reply, Request, read_body};

/// Largest body that is read before it is sent, in bytes: such a request is sent again on another connection when the service closes a
/// reused one, and can be recorded. Embeddings are smaller; files are larger, and waiting for them would take their whole size in memory.
const RESENT_MAX_BYTES: usize = 1 << 20;

impl ProxyService {
    /// Answers a non-chat request from the recordings, or passes it.
    pub(super) async fn answer_other(
        &self,
        request: Request,
        route: &Route<'_>,
        pending: &mut PendingRequest,
    ) -> Reply {
        let recordings = self.replies.recorded.as_ref();
        let may_fetch = is_fetch(request.method().as_str(), &route.path);
        let recorded =
            recordings.filter(|recorded| recorded.has_other_requests() || may_fetch && recorded.has_fetched_replies());
        if recordings.is_some() && recorded.is_none() && !self.replies.asks_upstream {
            let path = headers::recorded_path(&route.path);
            let message = format!("{path} is not recorded: non-chat requests are recorded only with --record-all");
            return not_recorded(&message);
        }
        let Some(url) = route.upstream.url(&route.path) else { return no_address(route) };
        let started = Instant::now();
        let line = if may_fetch { self.late_line(&request, route, pending) } else { None };
        let (head, body) = request.into_parts();
        let body = match upstream_body(&head.headers, body).await {
            Ok(body) => body,
            Err(error) => return broken_body(error.as_ref()),
        };
        let effects = self.effects_on_other(route, &head.headers, &body);
        wait(effects.delay).await;
        if effects.is_dropped {
            return dropped(None, "a rule of the proxy closed the connection");
        }
        if let Some((status, message)) = effects.fail {
            return failed(None, route.upstream.kind.unwrap_or(Protocol::OpenAi), status, &message).await;
        }
        let mut sent = headers::passed_request(&head.headers);
        let (body, came) = match (body, effects.body) {
            (UpstreamBody::Whole(came), Some(body)) => {
                sent = headers::without_coding(headers::without_length(sent));
                (UpstreamBody::Whole(Bytes::from(body)), Some(came))
            }
            (body, _) => (body, None),
        };
        if matches!(body, UpstreamBody::Streamed(_)) {
            sent = headers::with_trailer_names(sent, &head.headers);
        }
        let is_kept = self.records_all || line.is_some() || recorded.is_some();
        let begun = match &body {
            UpstreamBody::Whole(body) if is_kept && head.method != Method::HEAD => Some(Begun {
                upstream: route.upstream.name.clone(),
                protocol: route.upstream.kind.unwrap_or(Protocol::OpenAi),
                method: head.method.to_string(),
                path: route.path.clone(),
                url: shown_address(&url).to_string(),
                headers: head.headers.clone(),
                body: body.clone(),
                came,
                scrub: pending.scrub().clone(),
                notices: effects.notices,
                connection: None,
            }),
            _ => None,
        };
        if let Some(recorded) = recorded {
            match begun.as_ref().and_then(|begun| self.recorded_decision(recorded, begun, pending)) {
                Some(Decision::Recorded(reply)) => return answered(reply, effects.cut),
                Some(Decision::NotRecorded(why)) => return not_recorded(&why),
                _ => {}
            }
            if !self.replies.asks_upstream {
                let message = "HEAD requests, and bodies of unknown size or above 1 MiB, are not recorded";
                return not_recorded(message);
            }
        }
        match self.client.send(head.method, url, sent, body).await {
            Ok(reply) => {
                let is_recorded = self.records_all || line.is_some() && (200..300).contains(&reply.status());
                let exchange = match (&self.capture, begun) {
                    (Some(capture), Some(begun)) if is_recorded && is_text(&reply) => {
                        let is_late = line.is_some();
                        let exchange = record(capture, begun, started, &reply, line.map(LateLine::hold)).await;
                        if !is_late {
                            pending.set_recorded();
                        }
                        Some(exchange)
                    }
                    _ => None,
                };
                note_retries(reply.retries(), route, exchange.as_ref(), pending);
                live(reply, exchange, effects.cut)
            }
            Err(error) => {
                pending.set_retries(error.retries);
                unreachable(route, &error.why)
            }
        }
    }
}

impl ProxyService {
    /// The line of a request that may fetch a deferred reply, in place of its pending one: only its end shows whether it is recorded.
    /// `None` where all requests are recorded, or none.
    fn late_line(&self, request: &Request, route: &Route<'_>, pending: &mut PendingRequest) -> Option<LateLine> {
        if self.records_all || self.capture.is_none() {
            return None;
        }
        let line = LateLine::new(&self.unrecorded);
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let scrub = pending.scrub().clone();
        pending.set_recorded();
        *pending = PendingRequest::begin(request.method().as_str(), path, scrub, &line.report(), &self.end);
        pending.set_upstream(&route.upstream.name);
        Some(line)
    }

    fn effects_on_other(&self, route: &Route<'_>, headers: &HeaderMap, body: &UpstreamBody) -> RuleEffects {
        if self.rules.is_empty() {
            return RuleEffects::default();
        }
        let bytes = match body {
            UpstreamBody::Whole(bytes) => bytes.clone(),
            UpstreamBody::Streamed(_) => Bytes::new(),
        };
        let plain = headers::coding(headers).plain(&bytes);
        self.rules.apply_to_other(&route.upstream.name, &route.path, &plain)
    }
}

/// The body of a request: whole if it is short, else as it comes.
async fn upstream_body(headers: &HeaderMap, body: Incoming) -> Result<UpstreamBody, BodyError> {
    let is_chunked = headers.contains_key(TRANSFER_ENCODING);
    if !is_chunked && !headers.contains_key(CONTENT_LENGTH) {
        return Ok(UpstreamBody::Whole(Bytes::new()));
    }
    let is_short = headers::content_length(headers).is_some_and(|length| length <= RESENT_MAX_BYTES as u64);
    if is_short && !is_chunked {
        return read_body(body, RESENT_MAX_BYTES).await.map(UpstreamBody::Whole);
    }
    Ok(UpstreamBody::of(body))
}

/// Begins the record of a request whose reply has come.
async fn record(
    capture: &Capture,
    begun: Begun,
    started: Instant,
    reply: &UpstreamReply,
    line: Option<HeldLine>,
) -> Exchange {
    let exchange = capture.begin_sent(begun, started, line).await;
    exchange.replied(reply.status(), reply.headers().clone(), None);
    exchange
}

/// Returns whether a reply has a body that is JSON or another text.
fn is_text(reply: &UpstreamReply) -> bool {
    let kind = reply.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.unwrap_or_default().to_ascii_lowercase();
    reply.status() != 304 && (kind.contains("json") || kind.starts_with("text/"))
}
