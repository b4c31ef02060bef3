//! Data of a WebSocket that all of its exchanges share.
//!
//! In: the handshake of a client. Out: requests, replies and held replies of its connection. It must never hold a message.

use std::sync::{Arc, OnceLock};

use futures::future::{BoxFuture, FutureExt as _};
use hyper::body::Bytes;
use hyper::header::HeaderMap;

use super::ProxyService;
use super::relay::Done;
use crate::config::Protocol;
use crate::model::Scrub;
use crate::proxy::exchange::{Begun, Exchange, ExchangeEnd, WEBSOCKET};
use crate::proxy::held::{self, Asks, ReleasedEvents};
use crate::proxy::unrecorded::PendingRequest;
use crate::proxy::websocket::messages::{event_of, written_messages};
use crate::proxy::websocket::replies::{OpenReply, StreamId};

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
    pub(super) answered: Arc<HeaderMap>,
    pub(super) scrub: Scrub,
    /// Reason why there is no connection to the service, where recordings answer.
    pub(super) no_service: Option<String>,
    /// The end of the connection, which ends all of its exchanges.
    pub(super) end: Arc<OnceLock<ExchangeEnd>>,
}

impl Handshake {
    /// A request of this WebSocket without its body.
    pub(super) fn begun(&self) -> Begun {
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
            connection: Some(Arc::clone(&self.end)),
        }
    }

    /// The line of a request, until it is known whether it is recorded.
    pub(super) fn pending(&self) -> PendingRequest {
        let (report, listener) = (&self.service.unrecorded, &self.service.end);
        let mut pending = PendingRequest::begin(WEBSOCKET, &self.path, self.scrub.clone(), report, listener);
        pending.set_upstream(&self.upstream);
        pending.set_connection(Some(Arc::clone(&self.end)));
        pending
    }

    /// The reply to a request.
    pub(super) fn reply(&self, record: (Option<Exchange>, PendingRequest), asks: Asks) -> OpenReply {
        let ends = (self.service.end.clone(), Some(Arc::clone(&self.end)));
        OpenReply::new(record, asks, Arc::clone(&self.answered), ends)
    }

    /// Waits for the user's decision about a reply that has come.
    pub(super) fn hold(self: &Arc<Self>, stream: &StreamId, reply: &mut OpenReply) -> BoxFuture<'static, Done> {
        let (handshake, stream, asks) = (Arc::clone(self), stream.clone(), reply.asks.clone());
        let events: Vec<Bytes> = reply.messages().map(|text| Bytes::from(event_of(text))).collect();
        let came = (events, reply.exchange.take());
        async move {
            let written = |text: &str| {
                let texts = written_messages(&asks.written(text), &stream);
                texts.iter().map(|text| Bytes::from(event_of(text))).collect()
            };
            let head = (101, (*handshake.answered).clone());
            let released = match &handshake.service.holds {
                Some(holds) => held::hold_events(holds, head, came, &asks, &handshake.upstream, written).await,
                None => ReleasedEvents::Unchanged(came.1),
            };
            Done::Reply { stream, released }
        }
        .boxed()
    }
}
