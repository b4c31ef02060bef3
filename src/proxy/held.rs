//! Held exchanges: shown to the user and passed on by the user's decision.
//!
//! In: a request, or a reply of the service. Out: the request to send, or the reply for the client. What came is recorded next to what was
//! passed on, and when the client leaves while it waits, it is recorded as far as it came. It must never change what the user did not.

use hyper::body::Bytes;
use hyper::ext::ReasonPhrase;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap};

use super::capture::Capture;
use super::exchange::{Begun, Came, Exchange, ExchangeEnd, PROXY_ENDED, client_of, left_text};
use super::headers;
use super::hold::{HeldExchange, HeldForm, HeldSide, Holds, Verdict};
use super::reply_body::{After, Pieces, dropped, passing, with_reason};
use super::unrecorded::PendingRequest;
use super::written::{self, WrittenReply};
use crate::config::Protocol;
use crate::model::{CapturedReply, CapturedRequest, Coding, Scrub, UpstreamReply, body_json};
use crate::port::SystemClock;
use crate::server::Reply;

/// Author of a reply of the user, in a recording.
pub(super) const BY_USER: &str = "the user";

/// Largest reply that is held, in bytes; larger ones pass.
pub(super) const REPLY_MAX_BYTES: usize = 16 << 20;

/// Data of a request that its reply needs.
#[derive(Clone)]
pub(super) struct Asks {
    pub(super) protocol: Protocol,
    /// Path and query as the client sent them.
    pub(super) path: String,
    pub(super) client: String,
    /// The body as it was sent, before it was compressed.
    pub(super) body: Bytes,
}

impl Asks {
    fn request(&self) -> CapturedRequest {
        CapturedRequest::read(self.protocol, &self.path, &self.body).unwrap_or_default()
    }

    /// A text as the reply to it.
    pub(super) fn written(&self, text: &str) -> WrittenReply {
        written::reply(self.protocol, &self.path, &self.request(), text)
    }
}

/// A held request. It is recorded when its client leaves.
struct WaitingRequest<'c> {
    capture: Option<&'c Capture>,
    begun: Option<Begun>,
    pending: &'c mut PendingRequest,
}

impl Drop for WaitingRequest<'_> {
    fn drop(&mut self) {
        if let (Some(capture), Some(begun)) = (self.capture, self.begun.take()) {
            self.pending.set_recorded();
            drop(capture.begin_in_hand(begun));
        }
    }
}

/// Waits for the decision about a request; returns it as it is sent.
pub(super) async fn hold_request(
    holds: &Holds,
    capture: Option<&Capture>,
    mut begun: Begun,
    pending: &mut PendingRequest,
) -> (Begun, Verdict) {
    let plain = begun.sent_plain();
    let request = CapturedRequest::read(begun.protocol, &begun.path, &plain).unwrap_or_default();
    let (form, text) = shown_body(&plain);
    let held = HeldExchange {
        id: 0,
        side: HeldSide::Request,
        client: client_of(&begun.headers),
        upstream: begun.upstream.clone(),
        model: request.model,
        path: headers::recorded_path(&begun.path),
        is_streamed: request.is_streamed,
        status: None,
        at_ms: SystemClock.now(),
        form,
        text,
    };
    let mut waiting = WaitingRequest { capture, begun: Some(begun.clone()), pending };
    let shown = held.text.clone();
    let verdict = holds.wait(held).await;
    // From here on the caller records it.
    waiting.begun = None;
    match &verdict {
        Verdict::Edited(text) if *text != shown => {
            let sent = Bytes::from(text.clone());
            let came = std::mem::replace(&mut begun.body, sent);
            begun.came.get_or_insert(came);
            begun.notices.push("the user edited the request".to_owned());
        }
        Verdict::Answer(_) => begun.notices.push("the user answered in the model's place".to_owned()),
        Verdict::Pass | Verdict::Edited(_) | Verdict::Drop | Verdict::Ended => {}
    }
    (begun, verdict)
}

/// A body as it can be edited.
fn shown_body(body: &[u8]) -> (HeldForm, String) {
    match std::str::from_utf8(body) {
        Ok(text) => match body_json(body) {
            Ok(json) => (HeldForm::Body, json.to_pretty()),
            Err(_) => (HeldForm::Body, text.to_owned()),
        },
        Err(_) => (HeldForm::Hidden, String::new()),
    }
}

/// A held reply. It is recorded as it came when its client leaves or the proxy ends.
struct WaitingReply {
    exchange: Option<Exchange>,
    status: u16,
    reason: Option<ReasonPhrase>,
    headers: HeaderMap,
    pieces: Vec<Bytes>,
    trailers: Option<HeaderMap>,
    /// All of it has come.
    is_whole: bool,
}

impl Drop for WaitingReply {
    fn drop(&mut self) {
        let Some(exchange) = &self.exchange else { return };
        let client_left = "the client closed the connection while the reply waited";
        let why = left_text(&exchange.listener, &exchange.connection, client_left);
        self.record_unpassed(why);
    }
}

impl WaitingReply {
    /// Records it as received. A complete reply is not passed on, for this reason; a partial one is cut, and the exchange knows why.
    fn record_unpassed(&mut self, why: String) {
        let Some(exchange) = self.exchange.take() else { return };
        exchange.replied(self.status, self.headers.clone(), None);
        self.pieces.iter().for_each(|piece| exchange.piece_in_hand(piece));
        self.record_trailers(&exchange);
        if self.is_whole {
            exchange.end(ExchangeEnd::NoReply(why));
        }
    }

    /// Records the trailers, which are not passed on.
    fn record_trailers(&mut self, exchange: &Exchange) {
        if let Some(trailers) = self.trailers.take() {
            exchange.trailers(trailers);
        }
    }

    /// Reads the reply; returns the rest after the read part.
    async fn gather(&mut self, mut reply: UpstreamReply) -> After {
        let mut bytes = 0;
        loop {
            let frame = match reply.frame().await {
                Ok(Some(frame)) => frame,
                Ok(None) => return After::End,
                Err(why) => return After::Broken(why),
            };
            match frame.into_data() {
                Ok(piece) => {
                    bytes += piece.len();
                    self.pieces.push(piece);
                    if bytes > REPLY_MAX_BYTES {
                        return After::Upstream(Box::new(reply));
                    }
                }
                Err(frame) => {
                    self.trailers = frame.into_trailers().ok();
                    return After::End;
                }
            }
        }
    }

    /// Returns the text that can be edited, and its form: the body, or the text of a streamed reply that has nothing else.
    fn shown(&self, protocol: Protocol) -> (HeldForm, String) {
        let coding = headers::coding(&self.headers);
        let content_type = self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let mut reader = CapturedReply::new(Some(protocol), self.status, content_type, coding, Scrub::default());
        self.pieces.iter().for_each(|piece| _ = reader.push(piece));
        let (_, outcome) = reader.finish();
        let is_plain = coding == Coding::Identity;
        let is_document = content_type.contains("application/json");
        match shown_body(&self.pieces.concat()) {
            (HeldForm::Body, body) if is_plain && is_document => (HeldForm::Body, body),
            _ if outcome.is_whole && outcome.calls.is_empty() && outcome.error.is_none() => {
                (HeldForm::Text, outcome.text)
            }
            (form, body) if is_plain => (form, body),
            _ => (HeldForm::Hidden, String::new()),
        }
    }

    /// Passes it on as it came.
    fn pass(mut self, after: After, cut: Option<usize>) -> Reply {
        let exchange = self.exchange.take();
        if let Some(exchange) = &exchange {
            exchange.replied(self.status, self.headers.clone(), None);
        }
        let after = self.trailers.take().map_or(after, After::Trailers);
        let pieces = Pieces::InHand(std::mem::take(&mut self.pieces).into_iter(), after);
        let reply = passing(pieces, (self.status, headers::passed_reply(&self.headers)), exchange, cut);
        with_reason(reply, self.reason.take())
    }

    /// Passes another reply on in its place.
    fn replace(mut self, status: u16, with: WrittenReply, cut: Option<usize>) -> Reply {
        let exchange = self.exchange.take();
        if let Some(exchange) = &exchange {
            exchange.replaced(status, with.headers.clone(), BY_USER.to_owned(), self.came());
            self.record_trailers(exchange);
        }
        passing(Pieces::InHand(with.pieces.into_iter(), After::End), (status, with.headers), exchange, cut)
    }

    fn came(&self) -> Came {
        Came { status: self.status, headers: self.headers.clone(), body: self.pieces.concat() }
    }
}

/// Reads a reply, waits for the decision about it and passes it on. A reply that breaks off or is too large passes as it comes.
pub(super) async fn hold_reply(
    holds: &Holds,
    reply: UpstreamReply,
    exchange: Option<Exchange>,
    asks: &Asks,
    upstream: &str,
    cut: Option<usize>,
) -> Reply {
    let (status, reason, headers) = (reply.status(), reply.reason(), reply.headers().clone());
    let (pieces, trailers) = (Vec::new(), None);
    let mut waiting = WaitingReply { exchange, status, reason, headers, pieces, trailers, is_whole: false };
    let after = waiting.gather(reply).await;
    if !matches!(after, After::End) {
        return waiting.pass(after, cut);
    }
    waiting.is_whole = true;
    match decide(holds, waiting, asks, upstream).await {
        Released::Unchanged(waiting) => waiting.pass(after, cut),
        Released::Edited(waiting, body) => {
            let mut headers = headers::passed(&waiting.headers);
            headers.remove(CONTENT_LENGTH);
            waiting.replace(status, WrittenReply { headers, pieces: vec![Bytes::from(body)] }, cut)
        }
        Released::Written(waiting, text) => waiting.replace(200, asks.written(&text), cut),
        Released::Dropped(exchange, why) => dropped(exchange, why),
    }
}

/// A held reply to a message of a WebSocket after the decision about it.
pub(super) enum ReleasedEvents {
    /// It passes as it came.
    Unchanged(Option<Exchange>),
    /// These events pass in its place; its record has what came, and its head.
    Replaced(Option<Exchange>, Vec<Bytes>),
    /// The connection is closed, for this reason, which is recorded.
    Dropped(&'static str),
}

/// Like [`hold_reply`], for the reply to a message of a WebSocket, which has come as these recorded events. `written`: the events of a text as
/// the reply.
pub(super) async fn hold_events(
    holds: &Holds,
    head: (u16, HeaderMap),
    (pieces, exchange): (Vec<Bytes>, Option<Exchange>),
    asks: &Asks,
    upstream: &str,
    written: impl Fn(&str) -> Vec<Bytes>,
) -> ReleasedEvents {
    let (status, headers) = head;
    let waiting = WaitingReply { exchange, status, reason: None, headers, pieces, trailers: None, is_whole: true };
    let (mut waiting, events) = match decide(holds, waiting, asks, upstream).await {
        Released::Unchanged(mut waiting) => return ReleasedEvents::Unchanged(waiting.exchange.take()),
        Released::Edited(waiting, body) => (waiting, vec![Bytes::from(body)]),
        Released::Written(waiting, text) => (waiting, written(&text)),
        Released::Dropped(exchange, why) => {
            if let Some(exchange) = exchange {
                exchange.end(ExchangeEnd::NoReply(why.to_owned()));
            }
            return ReleasedEvents::Dropped(why);
        }
    };
    let exchange = waiting.exchange.take();
    if let Some(exchange) = &exchange {
        exchange.replaced(status, waiting.headers.clone(), BY_USER.to_owned(), waiting.came());
    }
    ReleasedEvents::Replaced(exchange, events)
}

/// A held reply after the decision about it.
enum Released {
    /// It passes as it came.
    Unchanged(WaitingReply),
    /// This body passes in its place.
    Edited(WaitingReply, String),
    /// This text passes as a reply in its place.
    Written(WaitingReply, String),
    /// The connection is closed, for this reason.
    Dropped(Option<Exchange>, &'static str),
}

/// Waits for the decision about a reply that has come.
async fn decide(holds: &Holds, mut waiting: WaitingReply, asks: &Asks, upstream: &str) -> Released {
    let (form, text) = waiting.shown(asks.protocol);
    let request = asks.request();
    let held = HeldExchange {
        id: 0,
        side: HeldSide::Reply,
        client: asks.client.clone(),
        upstream: upstream.to_owned(),
        model: request.model,
        path: headers::recorded_path(&asks.path),
        is_streamed: request.is_streamed,
        status: Some(waiting.status),
        at_ms: SystemClock.now(),
        form,
        text: text.clone(),
    };
    match holds.wait(held).await {
        Verdict::Pass => Released::Unchanged(waiting),
        Verdict::Edited(edited) if edited == text => Released::Unchanged(waiting),
        Verdict::Edited(edited) if form == HeldForm::Body => Released::Edited(waiting, edited),
        Verdict::Edited(edited) | Verdict::Answer(edited) => Released::Written(waiting, edited),
        Verdict::Ended => {
            waiting.record_unpassed(PROXY_ENDED.to_owned());
            Released::Dropped(None, PROXY_ENDED)
        }
        Verdict::Drop => {
            let exchange = waiting.exchange.take();
            if let Some(exchange) = &exchange {
                exchange.replaced(waiting.status, HeaderMap::new(), BY_USER.to_owned(), waiting.came());
                waiting.record_trailers(exchange);
            }
            Released::Dropped(exchange, "the user closed the connection")
        }
    }
}
