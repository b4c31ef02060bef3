//! The messages of a WebSocket of the Responses API, between a client and the service.
//!
//! In: the messages of both. Out: the same messages, each request with its reply as an exchange, decided about like one over HTTP. It must never
//! change the order of the messages of a stream, nor wait for a decision while others can pass.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::FuturesUnordered;
use hyper::body::Bytes;
use hyper::header::HeaderMap;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};

use super::connection::RelayEnd;
use super::decision::{Decided, Decision};
use super::{BY_RULE, ProxyService, error_kind};
use crate::config::Protocol;
use crate::model::Scrub;
use crate::proxy::body_secrets::body_secrets;
use crate::proxy::exchange::{Begun, ExchangeEnd, RULE_CUT, WEBSOCKET};
use crate::proxy::held::{self, Asks, BY_USER, REPLY_MAX_BYTES, ReleasedEvents};
use crate::proxy::hold::HeldSide;
use crate::proxy::rules::RuleEffects;
use crate::proxy::unrecorded::PendingRequest;
use crate::proxy::websocket::messages::{
    MessageHead, error_message, event_of, messages_of, replayed_messages, written_messages,
};
use crate::proxy::websocket::outbox::Outbox;
use crate::proxy::websocket::replies::{Hold, OpenReply, ReplyQueues, StreamId};

/// Largest message, in bytes.
pub(super) const MESSAGE_MAX_BYTES: usize = 64 << 20;

/// Number of requests of a connection, above which its client is not read.
const MAX_REQUESTS: usize = 128;

/// Bytes of the requests, or of the messages of the service, that wait for decisions, above which their side is not read.
const MAX_WAITING_BYTES: usize = MESSAGE_MAX_BYTES;

/// Characters of a message that is not a request, in the warning about it.
const OTHER_MAX_CHARS: usize = 2_000;

/// Data of a WebSocket after its handshake.
pub(super) struct Handshake {
    pub(super) service: Arc<ProxyService>,
    pub(super) upstream: String,
    /// Path and query, relative to the upstream's address.
    pub(super) path: String,
    /// The address without query.
    pub(super) url: String,
    /// The headers of the client.
    pub(super) asked: HeaderMap,
    /// The headers of the reply.
    pub(super) answered: HeaderMap,
    pub(super) scrub: Scrub,
    /// Reason why there is no connection to the service, where recordings answer.
    pub(super) no_service: Option<String>,
}

/// A decision that was made.
pub(super) enum Done {
    /// About a request of this stream.
    Request { stream: StreamId, decided: Box<Decided>, effects: Box<RuleEffects>, pending: Box<PendingRequest> },
    /// About the reply of this stream.
    Reply { stream: StreamId, released: ReleasedEvents },
}

/// The messages of a WebSocket on their way.
pub(super) struct Relay {
    handshake: Arc<Handshake>,
    pub(super) client: Outbox,
    /// `None` where only recordings answer.
    pub(super) service: Option<Outbox>,
    queues: ReplyQueues,
    /// Decisions that are being made.
    pub(super) work: FuturesUnordered<BoxFuture<'static, Done>>,
    /// Bytes of the requests that wait for a decision.
    waiting_bytes: usize,
}

impl Relay {
    pub(super) fn new(handshake: Handshake, client: Outbox, service: Option<Outbox>) -> Self {
        Self {
            handshake: Arc::new(handshake),
            client,
            service,
            queues: ReplyQueues::default(),
            work: FuturesUnordered::new(),
            waiting_bytes: 0,
        }
    }

    /// Returns whether the service is not read: the client does not take its messages, or they wait for the user.
    pub(super) fn has_full_client(&self) -> bool {
        self.client.is_full() || self.queues.waiting_bytes() >= MAX_WAITING_BYTES
    }

    /// Returns whether no request runs.
    pub(super) fn is_idle(&self) -> bool {
        self.queues.requests() == 0
    }

    /// Returns whether a whole reply waits for the user.
    pub(super) fn has_held_reply(&self) -> bool {
        self.queues.has_held_reply()
    }

    /// Returns whether the client is not read: its requests wait, or the service does not take its messages.
    pub(super) fn is_full(&self) -> bool {
        self.service.as_ref().is_some_and(Outbox::is_full)
            || self.queues.requests() >= MAX_REQUESTS
            || self.waiting_bytes >= MAX_WAITING_BYTES
    }

    /// Takes a message of the client, or the end of its connection.
    pub(super) fn take_of_client(&mut self, message: Option<Result<Message, Error>>) -> Result<(), RelayEnd> {
        match message {
            Some(Ok(Message::Text(text))) => {
                self.take_text(text);
                Ok(())
            }
            Some(Ok(Message::Binary(bytes))) => {
                let shown = format!("a binary message of {} bytes", bytes.len());
                self.warn_about(&None, &shown);
                self.push_to_service(Message::Binary(bytes));
                Ok(())
            }
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => Ok(()),
            Some(Ok(Message::Close(frame))) => Err(RelayEnd::Client(frame)),
            Some(Err(Error::Capacity(error))) => Err(RelayEnd::Refused(CloseCode::Size, error.to_string())),
            Some(Err(Error::Utf8(error))) => Err(RelayEnd::Refused(CloseCode::Invalid, error)),
            Some(Err(Error::Protocol(error))) if !error.to_string().contains("without closing handshake") => {
                Err(RelayEnd::Refused(CloseCode::Protocol, error.to_string()))
            }
            Some(Err(_)) | None => Err(RelayEnd::Left),
        }
    }

    /// Takes a text of the client: a request is decided about, others are sent on.
    fn take_text(&mut self, text: Utf8Bytes) {
        let head = MessageHead::read(&text);
        let stream = head.as_ref().and_then(MessageHead::stream_id);
        if head.is_some_and(|head| head.is_request()) {
            self.waiting_bytes += text.len();
            self.queues.of(&stream).waiting.push_back(text.into());
            self.decide_next(&stream);
            return;
        }
        let scrub = self.handshake.scrub.clone().knowing(body_secrets(text.as_bytes()));
        let shown: String = scrub.text(&text).chars().take(OTHER_MAX_CHARS).collect();
        self.warn_about(&stream, &shown);
        self.queues.of(&stream).other = Some(text.clone().into());
        self.push_to_service(Message::Text(text));
    }

    /// Warns in the record of the reply that comes now about a message that is not a request.
    fn warn_about(&mut self, stream: &StreamId, shown: &str) {
        let reply = self.queues.of(stream).coming();
        if let Some(exchange) = reply.and_then(|reply| reply.exchange.as_ref()) {
            exchange.warn(format!("the client sent meanwhile: {shown}"));
        }
        self.queues.forget(stream);
    }

    fn push_to_service(&self, message: Message) {
        if let Some(service) = &self.service {
            service.push(message);
        }
    }

    /// Begins the decision about the next request of a stream, unless one is being made.
    fn decide_next(&mut self, stream: &StreamId) {
        let queue = self.queues.of(stream);
        if queue.is_deciding {
            return;
        }
        let Some(came) = queue.waiting.pop_front() else { return };
        queue.is_deciding = true;
        self.waiting_bytes -= came.len();
        let (handshake, stream) = (Arc::clone(&self.handshake), stream.clone());
        let service = &handshake.service;
        let effects = service.effects_of_rules(&handshake.upstream, &handshake.path, Protocol::Responses, &came);
        let begun = Begun {
            body: effects.body.clone().map_or_else(|| came.clone(), Bytes::from),
            came: effects.body.is_some().then_some(came),
            notices: effects.notices.clone(),
            ..handshake.begun()
        };
        let mut pending = handshake.pending();
        self.work.push(
            async move {
                let decided = handshake.service.decide(begun, &effects, &mut pending).await;
                let (decided, effects, pending) = (Box::new(decided), Box::new(effects), Box::new(pending));
                Done::Request { stream, decided, effects, pending }
            }
            .boxed(),
        );
    }

    /// Takes a decision.
    pub(super) async fn take_done(&mut self, done: Done) -> Result<(), RelayEnd> {
        let stream = match done {
            Done::Request { stream, decided, effects, pending } => {
                self.queues.of(&stream).is_deciding = false;
                let sent = self.take_request(&stream, *decided, &effects, *pending)?;
                self.decide_next(&stream);
                if sent != stream {
                    self.queues.forget(&stream);
                }
                sent
            }
            Done::Reply { stream, released } => {
                let Some(reply) = self.queues.of(&stream).replies.front_mut() else { return Ok(()) };
                match released {
                    ReleasedEvents::Unchanged(exchange) => reply.exchange = exchange,
                    ReleasedEvents::Replaced(exchange, events) => {
                        (reply.exchange, reply.has_begun) = (exchange, true);
                        reply.set_messages(messages_of(&events));
                        if reply.waiting_bytes() == 0 {
                            let why = "the edited reply has no event: lines that begin with `data:`";
                            reply.broken = Some(why.to_owned());
                        }
                    }
                    ReleasedEvents::Dropped(why) => return Err(RelayEnd::Dropped(why.to_owned())),
                }
                reply.hold = Hold::Open;
                stream
            }
        };
        self.pass_replies(&stream).await
    }

    /// Takes the decision about a request; returns the stream of its reply.
    fn take_request(
        &mut self,
        stream: &StreamId,
        decided: Decided,
        effects: &RuleEffects,
        pending: PendingRequest,
    ) -> Result<StreamId, RelayEnd> {
        let Decided { decision, exchange, asks, .. } = decided;
        let is_recorded = exchange.is_some();
        let mut reply = OpenReply::new(exchange, asks, self.handshake.service.end.clone());
        reply.pending = (!is_recorded).then_some(pending);
        let (mut by, mut texts) = (None, Vec::new());
        match decision {
            Decision::Upstream(body) => match (&self.handshake.no_service, Utf8Bytes::try_from(body)) {
                (None, Ok(text)) => {
                    // A rule or the user may have changed its stream.
                    let stream = MessageHead::read(&text).and_then(|head| head.stream_id());
                    reply.cut = effects.cut;
                    if self.handshake.service.holds_at(HeldSide::Reply, effects).is_some() {
                        reply.hold = Hold::Gathering;
                    }
                    self.queues.of(&stream).replies.push_back(reply);
                    self.push_to_service(Message::Text(text));
                    return Ok(stream);
                }
                (Some(why), _) => {
                    reply.status = 502;
                    texts.push(error_message(502, "upstream_unreachable", why, stream));
                }
                (None, Err(_)) => {
                    let why = "the message is not UTF-8 text";
                    reply.end(ExchangeEnd::NoReply(why.to_owned()));
                    return Err(RelayEnd::Dropped(why.to_owned()));
                }
            },
            Decision::Recorded(recorded) => {
                texts = replayed_messages(&recorded.pieces, stream);
                (reply.broken, reply.cut) = (recorded.broken, effects.cut);
            }
            Decision::NotRecorded(why) => {
                reply.status = 404;
                texts.push(error_message(404, "not_recorded", &why, stream));
            }
            Decision::Written(text) => {
                by = Some(BY_USER);
                texts = written_messages(&reply.asks.written(&text), stream);
            }
            Decision::Failed(status, message) => {
                (by, reply.status) = (Some(BY_RULE), status);
                texts.push(error_message(status, error_kind(status), &message, stream));
            }
            Decision::Dropped(why) => {
                reply.end(ExchangeEnd::NoReply(why.to_owned()));
                return Err(RelayEnd::Dropped(why.to_owned()));
            }
            // Only Ollama has such requests.
            Decision::Loaded => {}
        }
        (reply.by, reply.is_whole) = (by, true);
        reply.set_messages(texts);
        self.queues.of(stream).replies.push_back(reply);
        Ok(stream.clone())
    }

    /// Takes a message of the service, or the end of its connection.
    pub(super) async fn take_of_service(&mut self, message: Option<Result<Message, Error>>) -> Result<(), RelayEnd> {
        match message {
            Some(Ok(Message::Text(text))) => self.take_reply(text).await,
            Some(Ok(message @ Message::Binary(_))) => {
                self.client.push(message);
                Ok(())
            }
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => Ok(()),
            Some(Ok(Message::Close(frame))) => Err(RelayEnd::Service(frame)),
            Some(Err(error)) => Err(RelayEnd::Broken(error.to_string())),
            None => Err(RelayEnd::Broken("it closed the connection".to_owned())),
        }
    }

    /// Takes a text of the service: it belongs to a reply, or passes without one.
    async fn take_reply(&mut self, text: Utf8Bytes) -> Result<(), RelayEnd> {
        let Some(head) = MessageHead::read(&text) else {
            self.client.push(Message::Text(text));
            return Ok(());
        };
        let stream = self.queues.stream_of(&head);
        if head.is_first() && self.queues.of(&stream).coming().is_none() {
            self.begin_unasked(&stream).await;
        }
        let holds_all = self.handshake.service.holds.as_ref().is_some_and(|holds| holds.is_closed(HeldSide::Reply));
        let queue = self.queues.of(&stream);
        let has_other = queue.other.is_some();
        let Some(reply) = queue.coming() else {
            self.queues.forget(&stream);
            self.client.push(Message::Text(text));
            return Ok(());
        };
        if !reply.has_come && holds_all {
            reply.hold = Hold::Gathering;
        }
        // An error may be the answer to another message of the client.
        let is_of_other = head.is_error() && reply.has_come && has_other;
        reply.has_come = true;
        reply.is_whole = head.is_last() && !is_of_other;
        reply.push(text);
        if is_of_other {
            queue.other = None;
        }
        self.pass_replies(&stream).await
    }

    /// Begins the exchange of a reply that the service sends without a request, as after `response.steer`.
    async fn begin_unasked(&mut self, stream: &StreamId) {
        let Some(capture) = &self.handshake.service.capture else { return };
        let body = self.queues.of(stream).other.take().unwrap_or_default();
        let notices = vec![
            "the service began this reply without a request: the body is the last message of the client".to_owned(),
        ];
        let begun = Begun { body, notices, ..self.handshake.begun() };
        let (path, client, body) = (begun.path.clone(), begun.client(), begun.body.clone());
        let asks = Asks { protocol: Protocol::Responses, path, client, body };
        let exchange = capture.begin(begun).await;
        let reply = OpenReply::new(Some(exchange), asks, self.handshake.service.end.clone());
        self.queues.of(stream).replies.push_back(reply);
    }

    /// Passes the messages of a stream that have come, up to those of a reply that waits for the user or for its next message.
    async fn pass_replies(&mut self, stream: &StreamId) -> Result<(), RelayEnd> {
        let queue = self.queues.of(stream);
        while let Some(reply) = queue.replies.front_mut() {
            match reply.hold {
                Hold::Gathering if reply.is_whole => {
                    reply.hold = Hold::Waiting;
                    self.work.push(self.handshake.hold(stream, reply));
                    break;
                }
                Hold::Gathering if reply.waiting_bytes() > REPLY_MAX_BYTES => reply.hold = Hold::Open,
                Hold::Gathering | Hold::Waiting => break,
                Hold::Open => {}
            }
            reply.begin(&self.handshake.answered);
            while let Some(text) = reply.pop() {
                if reply.is_cut_by(&text) {
                    if let Some(reply) = queue.replies.pop_front() {
                        reply.end(ExchangeEnd::Broken(RULE_CUT.to_owned()));
                    }
                    return Err(RelayEnd::Dropped(RULE_CUT.to_owned()));
                }
                if let Some(exchange) = &reply.exchange {
                    exchange.piece(event_of(&text).as_bytes()).await;
                }
                reply.bytes += text.len();
                self.client.push(Message::Text(text));
            }
            if !reply.is_whole {
                break;
            }
            let broken = reply.broken.take();
            if let Some(reply) = queue.replies.pop_front() {
                reply.end(broken.clone().map_or(ExchangeEnd::Complete, ExchangeEnd::Broken));
            }
            if let Some(why) = broken {
                return Err(RelayEnd::Dropped(why));
            }
        }
        self.queues.forget(stream);
        Ok(())
    }

    /// Takes the end of the service's messages: replies that were gathered for the user pass as they came, and those without an end have ended.
    /// Whole replies still wait for the user.
    pub(super) async fn end_coming(&mut self, end: &RelayEnd) {
        let end = end.of_exchange().scrubbed(&self.handshake.scrub);
        for stream in self.queues.streams() {
            self.queues.of(&stream).open_gathered();
            // Another end than that of the service comes too late.
            _ = self.pass_replies(&stream).await;
            self.queues.of(&stream).end_coming(&end);
            self.queues.forget(&stream);
        }
    }

    /// Ends the replies that have not ended.
    pub(super) fn end_replies(&mut self, end: &RelayEnd) {
        self.queues.end_all(&end.of_exchange().scrubbed(&self.handshake.scrub));
    }
}

impl Handshake {
    /// A request of this WebSocket without its body.
    fn begun(&self) -> Begun {
        Begun {
            upstream: self.upstream.clone(),
            protocol: Protocol::Responses,
            method: WEBSOCKET.to_owned(),
            path: self.path.clone(),
            url: self.url.clone(),
            headers: self.asked.clone(),
            body: Bytes::new(),
            came: None,
            scrub: self.scrub.clone(),
            notices: Vec::new(),
        }
    }

    /// The line of a request, until it is known whether it is recorded.
    fn pending(&self) -> PendingRequest {
        let (report, listener) = (&self.service.unrecorded, &self.service.end);
        let mut pending = PendingRequest::begin(WEBSOCKET, &self.path, self.scrub.clone(), report, listener);
        pending.set_upstream(&self.upstream);
        pending
    }

    /// Waits for the user's decision about a reply that has come.
    fn hold(self: &Arc<Self>, stream: &StreamId, reply: &mut OpenReply) -> BoxFuture<'static, Done> {
        let (handshake, stream, asks) = (Arc::clone(self), stream.clone(), reply.asks.clone());
        let events: Vec<Bytes> = reply.messages().map(|text| Bytes::from(event_of(text))).collect();
        let came = (events, reply.exchange.take());
        async move {
            let written = |text: &str| {
                let texts = written_messages(&asks.written(text), &stream);
                texts.iter().map(|text| Bytes::from(event_of(text))).collect()
            };
            let head = (101, handshake.answered.clone());
            let released = match &handshake.service.holds {
                Some(holds) => held::hold_events(holds, head, came, &asks, &handshake.upstream, written).await,
                None => ReleasedEvents::Unchanged(came.1),
            };
            Done::Reply { stream, released }
        }
        .boxed()
    }
}
