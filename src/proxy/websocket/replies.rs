//! The requests of a WebSocket whose replies have not ended, by their streams.
//!
//! In: requests, messages of the service. Out: the reply that a message belongs to. Replies with the same stream come in the order of their
//! requests. It must never give a message to the reply of another stream, nor lose one that came.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use hyper::body::Bytes;
use hyper::header::HeaderMap;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::messages::{MessageHead, event_of};
use crate::proxy::exchange::{ConnectionEnd, Exchange, ExchangeEnd, dropped_end};
use crate::proxy::held::Asks;
use crate::proxy::unrecorded::PendingRequest;
use crate::server::ListenerEnd;

/// State of a reply that the user decides about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::proxy) enum Hold {
    /// It passes as it comes.
    Open,
    /// Its messages are gathered.
    Gathering,
    /// It waits for the decision.
    Waiting,
}

/// Messages of the service for a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::proxy) enum Came {
    Nothing,
    /// Some, without the first one of a reply.
    Other,
    /// Some, with the first one of a reply: another first one belongs to another reply.
    First,
}

/// A reply that has not ended.
pub(in crate::proxy) struct OpenReply {
    /// The record; `None` where nothing is recorded, and while the user decides.
    pub(in crate::proxy) exchange: Option<Exchange>,
    /// The line of a reply that is not recorded.
    pub(in crate::proxy) pending: Option<PendingRequest>,
    pub(in crate::proxy) asks: Asks,
    /// Status in the line.
    pub(in crate::proxy) status: u16,
    pub(in crate::proxy) hold: Hold,
    /// Bytes after which a rule closes the connection.
    pub(in crate::proxy) cut: Option<usize>,
    /// Messages that have not passed, and their bytes.
    messages: VecDeque<Utf8Bytes>,
    waiting_bytes: usize,
    /// Its last message has come.
    pub(in crate::proxy) is_whole: bool,
    /// Its end, after its messages have passed.
    pub(in crate::proxy) end: ExchangeEnd,
    /// The connection to the client is closed after it.
    pub(in crate::proxy) closes: bool,
    /// Author of a reply that is not the service's.
    pub(in crate::proxy) by: Option<&'static str>,
    /// Bytes that have passed.
    pub(in crate::proxy) bytes: usize,
    /// Its head is recorded.
    pub(in crate::proxy) has_begun: bool,
    /// Messages of the service so far.
    pub(in crate::proxy) came: Came,
    /// Headers of the reply to the handshake.
    answered: Arc<HeaderMap>,
    listener: ListenerEnd,
    connection: ConnectionEnd,
}

impl OpenReply {
    /// A reply of which nothing has come.
    pub(in crate::proxy) fn new(
        (exchange, pending): (Option<Exchange>, PendingRequest),
        asks: Asks,
        answered: Arc<HeaderMap>,
        (listener, connection): (ListenerEnd, ConnectionEnd),
    ) -> Self {
        let pending = exchange.is_none().then_some(pending);
        Self {
            exchange,
            pending,
            asks,
            status: 101,
            hold: Hold::Open,
            cut: None,
            messages: VecDeque::new(),
            waiting_bytes: 0,
            is_whole: false,
            end: ExchangeEnd::Complete,
            closes: false,
            by: None,
            bytes: 0,
            has_begun: false,
            came: Came::Nothing,
            answered,
            listener,
            connection,
        }
    }

    /// Records its head: the reply to the handshake.
    pub(in crate::proxy) fn begin(&mut self) {
        if let Some(exchange) = self.exchange.as_ref().filter(|_| !self.has_begun) {
            exchange.replied(101, (*self.answered).clone(), self.by.map(str::to_owned));
            self.has_begun = true;
        }
    }

    /// Adds a message that has come.
    pub(in crate::proxy) fn push(&mut self, text: Utf8Bytes) {
        self.waiting_bytes += text.len();
        self.messages.push_back(text);
    }

    /// Sets its messages, which have not passed.
    pub(in crate::proxy) fn set_messages(&mut self, texts: Vec<String>) {
        (self.messages, self.waiting_bytes) = (VecDeque::new(), 0);
        for text in texts {
            self.push(text.into());
        }
    }

    /// Takes the next message that can pass.
    pub(in crate::proxy) fn pop(&mut self) -> Option<Utf8Bytes> {
        let text = self.messages.pop_front()?;
        self.waiting_bytes -= text.len();
        Some(text)
    }

    /// The messages that have not passed.
    pub(in crate::proxy) fn messages(&self) -> impl Iterator<Item = &Utf8Bytes> {
        self.messages.iter()
    }

    /// Bytes of the messages that have not passed.
    pub(in crate::proxy) fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    /// Returns whether the next message would exceed the bytes of a rule.
    pub(in crate::proxy) fn is_cut_by(&self, text: &str) -> bool {
        self.cut.is_some_and(|cut| self.bytes + text.len() > cut)
    }

    /// Ends it in its way.
    pub(in crate::proxy) fn finish(mut self) {
        let end = std::mem::replace(&mut self.end, ExchangeEnd::Complete);
        self.end_as(end);
    }

    /// Ends it in this way.
    pub(in crate::proxy) fn end_as(mut self, end: ExchangeEnd) {
        if let Some(pending) = self.pending.take() {
            pending.end(self.status, self.bytes as u64, end.problem());
        }
        if let Some(exchange) = self.exchange.take() {
            self.record_rest(&exchange);
            exchange.end(end);
        }
    }

    /// Records the messages that did not pass.
    fn record_rest(&mut self, exchange: &Exchange) {
        for text in self.messages.drain(..) {
            if !self.has_begun {
                exchange.replied(101, (*self.answered).clone(), None);
                self.has_begun = true;
            }
            exchange.piece_in_hand(event_of(&text).as_bytes());
        }
    }
}

impl Drop for OpenReply {
    /// It ends with its connection.
    fn drop(&mut self) {
        if let Some(exchange) = self.exchange.take() {
            self.record_rest(&exchange);
        }
        if let Some(pending) = self.pending.take() {
            let end = dropped_end(&self.listener, &self.connection);
            pending.end(self.status, self.bytes as u64, end.problem());
        }
    }
}

/// A message of the client that waits for the decision about the one before it.
pub(in crate::proxy) enum WaitingMessage {
    /// A request.
    Request(Bytes),
    /// Another text.
    Other(Utf8Bytes),
}

/// The messages of one stream, in their order.
#[derive(Default)]
pub(in crate::proxy) struct ReplyQueue {
    /// Messages that wait for the decision about the one before them.
    pub(in crate::proxy) waiting: VecDeque<WaitingMessage>,
    /// The decision about a request is made.
    pub(in crate::proxy) is_deciding: bool,
    /// The replies to those that were decided about.
    pub(in crate::proxy) replies: VecDeque<OpenReply>,
}

impl ReplyQueue {
    /// The reply that the service's next message belongs to.
    pub(in crate::proxy) fn coming(&mut self) -> Option<&mut OpenReply> {
        self.replies.iter_mut().find(|reply| !reply.is_whole)
    }

    /// Replies that are gathered for the user pass as they came.
    pub(in crate::proxy) fn open_gathered(&mut self) {
        for reply in self.replies.iter_mut().filter(|reply| reply.hold == Hold::Gathering && !reply.is_whole) {
            reply.hold = Hold::Open;
        }
    }

    /// Nothing more comes: the replies without their last message end in this way after the messages that have come.
    pub(in crate::proxy) fn end_coming(&mut self, end: &ExchangeEnd) {
        for reply in self.replies.iter_mut().filter(|reply| !reply.is_whole) {
            (reply.is_whole, reply.end) = (true, end.clone());
        }
    }

    fn has_coming(&self) -> bool {
        self.replies.iter().any(|reply| !reply.is_whole)
    }

    fn requests(&self) -> usize {
        self.waiting.len() + usize::from(self.is_deciding) + self.replies.len()
    }
}

/// The stream of a message: its `stream_id`.
pub(in crate::proxy) type StreamId = Option<String>;

/// The requests of a connection.
#[derive(Default)]
pub(in crate::proxy) struct ReplyQueues(HashMap<StreamId, ReplyQueue>);

impl ReplyQueues {
    /// The queue of a stream.
    pub(in crate::proxy) fn of(&mut self, stream: &StreamId) -> &mut ReplyQueue {
        self.0.entry(stream.clone()).or_default()
    }

    /// The stream of a message of the service. One without a stream belongs to the only stream with a reply, if there is one.
    pub(in crate::proxy) fn stream_of(&self, head: &MessageHead) -> StreamId {
        let own = head.stream_id();
        let is_known = own.is_some() || self.0.get(&own).is_some_and(ReplyQueue::has_coming);
        let mut others = self.0.iter().filter(|(_, queue)| queue.has_coming());
        match (is_known, others.next(), others.next()) {
            (false, Some((only, _)), None) => only.clone(),
            _ => own,
        }
    }

    /// Forgets the queue of a stream if it has no request.
    pub(in crate::proxy) fn forget(&mut self, stream: &StreamId) {
        if self.0.get(stream).is_some_and(|queue| queue.requests() == 0) {
            self.0.remove(stream);
        }
    }

    /// Number of requests that have not ended.
    pub(in crate::proxy) fn requests(&self) -> usize {
        self.0.values().map(ReplyQueue::requests).sum()
    }

    /// Bytes of the messages of the service that have not passed.
    pub(in crate::proxy) fn waiting_bytes(&self) -> usize {
        let of_service = self.0.values().flat_map(|queue| &queue.replies).filter(|reply| reply.came != Came::Nothing);
        of_service.map(OpenReply::waiting_bytes).sum()
    }

    /// Returns whether a whole reply waits for the user.
    pub(in crate::proxy) fn has_held_reply(&self) -> bool {
        self.0.values().flat_map(|queue| &queue.replies).any(|reply| reply.hold != Hold::Open && reply.is_whole)
    }

    /// The streams with a request or a message.
    pub(in crate::proxy) fn streams(&self) -> Vec<StreamId> {
        self.0.keys().cloned().collect()
    }

    /// Takes the requests that wait for a decision.
    pub(in crate::proxy) fn take_waiting(&mut self) -> Vec<Bytes> {
        let waiting = self.0.values_mut().flat_map(|queue| queue.waiting.drain(..));
        let requests = waiting.filter_map(|message| match message {
            WaitingMessage::Request(text) => Some(text),
            WaitingMessage::Other(_) => None,
        });
        requests.collect()
    }
}
