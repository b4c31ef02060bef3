//! The messages of a WebSocket of the Responses API, between a client and the service.
//!
//! In: the messages of both. Out: the same messages, each request with its reply as an exchange, decided about like one over HTTP. It must never
//! change the order of the messages of a stream, nor wait for a decision while others can pass.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::{FuturesUnordered, StreamExt as _};
use hyper::body::Bytes;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};

use super::connection::RelayEnd;
use super::decision::{Decided, Decision};
use super::handshake::Handshake;
use super::{BY_RULE, error_kind};
use crate::config::Protocol;
use crate::proxy::body_secrets::body_secrets;
use crate::proxy::exchange::{Begun, ExchangeEnd, PROXY_ENDED, RULE_CUT};
use crate::proxy::held::{Asks, BY_USER, REPLY_MAX_BYTES, ReleasedEvents};
use crate::proxy::hold::HeldSide;
use crate::proxy::rules::RuleEffects;
use crate::proxy::unrecorded::PendingRequest;
use crate::proxy::websocket::messages::{
    MessageHead, error_message, event_of, messages_of, replayed_messages, written_messages,
};
use crate::proxy::websocket::outbox::Outbox;
use crate::proxy::websocket::replies::{Came, Hold, ReplyQueues, StreamId, WaitingMessage};

/// Largest message, in bytes.
pub(super) const MESSAGE_MAX_BYTES: usize = 64 << 20;

/// Number of requests of a connection, above which its client is not read.
const MAX_REQUESTS: usize = 128;

/// Bytes of the requests, or of the messages of the service, that wait for decisions, above which their side is not read.
const MAX_WAITING_BYTES: usize = MESSAGE_MAX_BYTES;

/// Characters of a message that is not a request, in the warning about it, and bytes of one that can be the body of a turn.
const OTHER_MAX_CHARS: usize = 2_000;
const OTHER_MAX_BYTES: usize = 1 << 20;

/// A decision that was made.
pub(super) enum Done {
    /// About a request of this stream.
    Request {
        stream: StreamId,
        bytes: usize,
        decided: Box<Decided>,
        effects: Box<RuleEffects>,
        pending: Box<PendingRequest>,
    },
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
    /// Decisions that were made while something was recorded.
    pub(super) made: VecDeque<Done>,
    /// Bytes of the messages that wait for decisions.
    waiting_bytes: usize,
    /// The last message of the client that was no request, with its stream, while the service has not reacted to it.
    other: Option<(StreamId, Utf8Bytes)>,
}

impl Relay {
    pub(super) fn new(handshake: Handshake, client: Outbox, service: Option<Outbox>) -> Self {
        Self {
            handshake: Arc::new(handshake),
            client,
            service,
            queues: ReplyQueues::default(),
            work: FuturesUnordered::new(),
            made: VecDeque::new(),
            waiting_bytes: 0,
            other: None,
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

    /// Returns whether the client is not read: its requests wait, or a side does not take its messages.
    pub(super) fn is_full(&self) -> bool {
        self.service.as_ref().is_some_and(Outbox::is_full)
            || self.client.has_more_than(MESSAGE_MAX_BYTES)
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

    /// Takes a text of the client. It waits for the decision about the one before it in its stream.
    fn take_text(&mut self, text: Utf8Bytes) {
        let head = MessageHead::read(&text);
        let stream = head.as_ref().and_then(MessageHead::stream_id);
        self.waiting_bytes += text.len();
        let is_request = head.is_some_and(|head| head.is_request());
        let message = if is_request { WaitingMessage::Request(text.into()) } else { WaitingMessage::Other(text) };
        self.queues.of(&stream).waiting.push_back(message);
        self.decide_next(&stream);
    }

    /// Passes a message of the client that is not a request.
    fn pass_other(&mut self, stream: &StreamId, text: Utf8Bytes) {
        let scrub = self.handshake.scrub.clone().knowing(body_secrets(text.as_bytes()));
        let shown: String = scrub.text(&text).chars().take(OTHER_MAX_CHARS).collect();
        self.warn_about(stream, &shown);
        if self.service.is_some() {
            self.other = (text.len() <= OTHER_MAX_BYTES).then(|| (stream.clone(), text.clone()));
        }
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

    /// Passes the waiting messages of a stream up to the next request, and begins the decision about that, unless one is being made.
    fn decide_next(&mut self, stream: &StreamId) {
        let came = loop {
            let queue = self.queues.of(stream);
            if queue.is_deciding {
                return;
            }
            match queue.waiting.pop_front() {
                Some(WaitingMessage::Request(text)) => {
                    queue.is_deciding = true;
                    break text;
                }
                Some(WaitingMessage::Other(text)) => {
                    self.waiting_bytes -= text.len();
                    self.pass_other(stream, text);
                }
                None => return self.queues.forget(stream),
            }
        };
        let (handshake, stream, bytes) = (Arc::clone(&self.handshake), stream.clone(), came.len());
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
                Done::Request { stream, bytes, decided, effects, pending }
            }
            .boxed(),
        );
    }

    /// Takes a decision.
    pub(super) async fn take_done(&mut self, done: Done) -> Result<(), RelayEnd> {
        let stream = match done {
            Done::Request { stream, bytes, decided, effects, pending } => {
                self.waiting_bytes -= bytes;
                self.queues.of(&stream).is_deciding = false;
                let replied = self.take_request(&stream, *decided, &effects, *pending)?;
                self.decide_next(&stream);
                replied
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
                            (reply.end, reply.closes) = (ExchangeEnd::Closed(why.to_owned()), true);
                        }
                    }
                    // Other replies of the connection have their time until the proxy ends.
                    ReleasedEvents::Dropped(PROXY_ENDED) => {
                        reply.set_messages(Vec::new());
                        reply.end = ExchangeEnd::ProxyEnded;
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
        let mut reply = self.handshake.reply((exchange, pending), asks);
        let (mut by, mut texts) = (None, Vec::new());
        match decision {
            Decision::Upstream(body) => match (&self.handshake.no_service, Utf8Bytes::try_from(body)) {
                (None, Ok(text)) => {
                    // A rule or the user may have changed its stream.
                    let stream = MessageHead::read(&text).and_then(|head| head.stream_id());
                    reply.cut = effects.cut;
                    if self.handshake.service.holds.is_some() && effects.holds.contains(&HeldSide::Reply) {
                        reply.hold = Hold::Gathering;
                    }
                    // A later error is about this request.
                    self.other.take_if(|(other, _)| *other == stream);
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
                    reply.end_as(ExchangeEnd::NoReply(why.to_owned()));
                    return Err(RelayEnd::Dropped(why.to_owned()));
                }
            },
            Decision::Recorded(recorded) => {
                texts = replayed_messages(&recorded.pieces, stream);
                reply.cut = effects.cut;
                if let Some(why) = recorded.broken {
                    (reply.end, reply.closes) = (ExchangeEnd::Broken(why), true);
                }
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
                reply.end_as(ExchangeEnd::NoReply(why.to_owned()));
                // Other requests of the connection have their time until the proxy ends.
                let is_end = why == PROXY_ENDED;
                return if is_end { Ok(stream.clone()) } else { Err(RelayEnd::Dropped(why.to_owned())) };
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
        if head.is_first() {
            // The service gave up the reply before it.
            if let Some(before) = self.queues.of(&stream).coming().filter(|reply| reply.came == Came::First) {
                before.is_whole = true;
            }
            if self.queues.of(&stream).coming().is_none() {
                self.begin_unasked(&stream).await;
            }
        }
        let has_gate = self.handshake.service.holds.as_ref().is_some_and(|holds| holds.is_closed(HeldSide::Reply));
        let has_other = self.other.as_ref().is_some_and(|(other, _)| *other == stream);
        let Some(reply) = self.queues.of(&stream).coming() else {
            self.queues.forget(&stream);
            self.client.push(Message::Text(text));
            return Ok(());
        };
        if reply.came == Came::Nothing && has_gate {
            reply.hold = Hold::Gathering;
        }
        // An error may be the answer to another message of the client.
        let is_of_other = head.is_error() && has_other;
        if reply.came != Came::First {
            reply.came = if head.is_first() { Came::First } else { Came::Other };
        }
        reply.is_whole = head.is_last() && !is_of_other;
        reply.push(text);
        if is_of_other {
            self.other = None;
        }
        if self.queues.waiting_bytes() >= MAX_WAITING_BYTES {
            // The service is not read further while they wait: they pass now.
            for other in self.queues.streams() {
                self.queues.of(&other).open_gathered();
                self.pass_replies(&other).await?;
            }
        }
        self.pass_replies(&stream).await
    }

    /// Begins the exchange of a reply that the service sends without a request, as after `response.steer`.
    async fn begin_unasked(&mut self, stream: &StreamId) {
        let other = self.other.take_if(|(other, _)| other == stream).map(|(_, text)| text);
        let notice = "the service began this reply without a request: the body is the last message of the client";
        let (body, notices) = (other.map(Bytes::from).unwrap_or_default(), vec![notice.to_owned()]);
        let begun = Begun { body, notices, ..self.handshake.begun() };
        let (path, client, body) = (begun.path.clone(), begun.client(), begun.body.clone());
        let asks = Asks { protocol: Protocol::Responses, path, client, body };
        let handshake = Arc::clone(&self.handshake);
        let exchange = match &handshake.service.capture {
            Some(capture) => Some(self.recorded(capture.begin(begun)).await),
            None => None,
        };
        let reply = handshake.reply((exchange, handshake.pending()), asks);
        self.queues.of(stream).replies.push_back(reply);
    }

    /// Waits until something is recorded. Decisions continue meanwhile: they may hold the memory that it waits for.
    async fn recorded<R>(&mut self, recording: impl Future<Output = R>) -> R {
        recorded(&mut self.work, &mut self.made, recording).await
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
            reply.begin();
            while let Some(text) = reply.pop() {
                if reply.is_cut_by(&text) {
                    if let Some(reply) = queue.replies.pop_front() {
                        reply.end_as(ExchangeEnd::Broken(RULE_CUT.to_owned()));
                    }
                    return Err(RelayEnd::Dropped(RULE_CUT.to_owned()));
                }
                if let Some(exchange) = &reply.exchange {
                    let event = event_of(&text);
                    recorded(&mut self.work, &mut self.made, exchange.piece(event.as_bytes())).await;
                }
                reply.bytes += text.len();
                self.client.push(Message::Text(text));
            }
            if !reply.is_whole {
                break;
            }
            let Some(reply) = queue.replies.pop_front() else { break };
            let closes = reply.closes.then(|| reply.end.problem()).flatten();
            reply.finish();
            if let Some(why) = closes {
                return Err(RelayEnd::Dropped(why));
            }
        }
        self.queues.forget(stream);
        Ok(())
    }

    /// Takes the end of the service's messages: replies that were gathered for the user pass as they came, and those without an end have ended,
    /// after whole replies that still wait for the user.
    pub(super) async fn end_coming(&mut self, end: &RelayEnd) {
        let end = end.of_exchange().scrubbed(&self.handshake.scrub);
        for stream in self.queues.streams() {
            let queue = self.queues.of(&stream);
            queue.open_gathered();
            queue.end_coming(&end);
            // The connection has ended: another reason does not count.
            _ = self.pass_replies(&stream).await;
        }
    }

    /// Sets the end of the connection, which is that of all replies, decisions and requests that are dropped with it.
    pub(super) fn set_end(&mut self, end: &RelayEnd) {
        let handshake = &self.handshake;
        // It is set once.
        _ = handshake.end.set(end.of_exchange().scrubbed(&handshake.scrub));
        for body in self.queues.take_waiting() {
            let mut pending = handshake.pending();
            if let Some(capture) = &handshake.service.capture {
                pending.set_recorded();
                drop(capture.begin_in_hand(Begun { body, ..handshake.begun() }));
            }
        }
    }
}

/// Waits until something is recorded, while decisions continue.
async fn recorded<R>(
    work: &mut FuturesUnordered<BoxFuture<'static, Done>>,
    made: &mut VecDeque<Done>,
    recording: impl Future<Output = R>,
) -> R {
    let mut recording = pin!(recording);
    loop {
        tokio::select! {
            biased;
            recorded = recording.as_mut() => return recorded,
            Some(done) = work.next(), if !work.is_empty() => made.push_back(done),
        }
    }
}
