//! The replies of a WebSocket that have not ended.
//!
//! In: requests as they are sent, messages of the service. Out: the reply that a message belongs to. Replies with the same stream come in the
//! order of their requests. It must never give a message to the reply of another stream.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

use super::messages::MessageHead;
use crate::proxy::exchange::{CLIENT_LEFT, Exchange, ExchangeEnd, PROXY_ENDED};
use crate::proxy::held::Asks;
use crate::proxy::unrecorded::PendingRequest;

/// A request that runs, for the end of the proxy: it counts until it is dropped.
pub(in crate::proxy) struct RunningMessage(watch::Sender<usize>);

impl Drop for RunningMessage {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

/// A reply that has not ended.
pub(in crate::proxy) struct OpenReply {
    /// The record; `None` where nothing is recorded.
    pub(in crate::proxy) exchange: Option<Exchange>,
    pub(in crate::proxy) pending: PendingRequest,
    pub(in crate::proxy) asks: Asks,
    /// The status in its line, where it is not recorded.
    pub(in crate::proxy) status: u16,
    /// The rules hold it for the user.
    pub(in crate::proxy) is_held: bool,
    /// Messages that are held back.
    pub(in crate::proxy) held: Vec<String>,
    /// Bytes after which a rule closes the connection.
    pub(in crate::proxy) cut: Option<usize>,
    /// Bytes that have come.
    pub(in crate::proxy) bytes: usize,
    /// Its first message has come.
    pub(in crate::proxy) has_begun: bool,
    /// Counts it.
    pub(in crate::proxy) running: RunningMessage,
}

impl OpenReply {
    /// Ends it.
    pub(in crate::proxy) fn end(self, end: ExchangeEnd) {
        match self.exchange {
            Some(exchange) => exchange.end(end),
            None => self.pending.end(self.status, self.bytes as u64, problem_of(end)),
        }
    }
}

fn problem_of(end: ExchangeEnd) -> Option<String> {
    match end {
        ExchangeEnd::Complete => None,
        ExchangeEnd::ClientLeft => Some(CLIENT_LEFT.to_owned()),
        ExchangeEnd::ProxyEnded => Some(PROXY_ENDED.to_owned()),
        ExchangeEnd::Broken(why) | ExchangeEnd::NoReply(why) => Some(why),
    }
}

/// The replies of a connection, by their streams.
type Streams = HashMap<Option<String>, VecDeque<OpenReply>>;

/// All replies of a connection that have not ended.
#[derive(Default)]
pub(in crate::proxy) struct OpenReplies {
    streams: Mutex<Streams>,
    running: watch::Sender<usize>,
}

impl OpenReplies {
    /// Counts a request.
    pub(in crate::proxy) fn begin(&self) -> RunningMessage {
        self.running.send_modify(|count| *count += 1);
        RunningMessage(self.running.clone())
    }

    /// Resolves when no request runs.
    pub(in crate::proxy) async fn idle(&self) {
        // The sender lives as long as `self`.
        _ = self.running.subscribe().wait_for(|count| *count == 0).await;
    }

    /// Adds the reply to a request of this stream.
    pub(in crate::proxy) fn add(&self, stream_id: Option<String>, reply: OpenReply) {
        self.with(|streams| streams.entry(stream_id).or_default().push_back(reply));
    }

    /// Takes the reply that a message of the service belongs to; [`Self::give_back`] returns it. A message without a stream belongs to the
    /// only stream with a reply, if there is one.
    pub(in crate::proxy) fn take(&self, head: &MessageHead<'_>) -> Option<(Option<String>, OpenReply)> {
        self.with(|streams| {
            let own = head.stream_id.clone();
            let key = if own.is_none() && !streams.contains_key(&own) && streams.len() == 1 {
                streams.keys().next().cloned()?
            } else {
                own
            };
            let queue = streams.get_mut(&key)?;
            let reply = queue.pop_front()?;
            if queue.is_empty() {
                streams.remove(&key);
            }
            Some((key, reply))
        })
    }

    /// Returns a reply whose next message is still to come.
    pub(in crate::proxy) fn give_back(&self, stream_id: Option<String>, reply: OpenReply) {
        self.with(|streams| streams.entry(stream_id).or_default().push_front(reply));
    }

    /// Adds a warning to the record of the reply that comes now in this stream.
    pub(in crate::proxy) fn warn(&self, stream_id: Option<&String>, text: String) {
        self.with(|streams| {
            let reply = streams.get(&stream_id.cloned()).and_then(VecDeque::front);
            if let Some(exchange) = reply.and_then(|reply| reply.exchange.as_ref()) {
                exchange.warn(text);
            }
        });
    }

    /// Ends all of them: the service closed the connection, for this reason.
    pub(in crate::proxy) fn end_all(&self, why: &str) {
        let streams = self.with(std::mem::take);
        for reply in streams.into_values().flatten() {
            reply.end(ExchangeEnd::Broken(why.to_owned()));
        }
    }

    fn with<R>(&self, change: impl FnOnce(&mut Streams) -> R) -> R {
        change(&mut self.streams.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
