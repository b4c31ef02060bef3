//! The body of a reply on its way to the client.
//!
//! In: pieces of an upstream or in memory. Out: the same pieces, each noted by its exchange. It must never read on when the client does not,
//! and a body that breaks off breaks off for the client too.

use hyper::body::Bytes;
use hyper::ext::ReasonPhrase;
use hyper::header::HeaderMap;

use super::exchange::{Exchange, ExchangeEnd, RULE_CUT};
use super::headers;
use crate::model::UpstreamReply;
use crate::server::{BodyError, Reply, StatusCode, pieces};

/// Source of the pieces of a body.
pub(super) enum Pieces {
    Upstream(Box<UpstreamReply>),
    /// Pieces that are in memory, and what follows them.
    InHand(std::vec::IntoIter<Bytes>, After),
}

/// Continuation of a body after its pieces in memory.
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
struct ForwardedBody {
    pieces: Pieces,
    exchange: Option<Exchange>,
    /// Bytes that are still to come, when the head has their number: nothing is read after the last of them.
    expected: Option<u64>,
    /// Bytes after which a rule breaks the connection, if more follow.
    left: Option<usize>,
    /// A piece had more bytes than these.
    is_cut: bool,
    is_over: bool,
}

impl ForwardedBody {
    /// The next piece, recorded.
    async fn next(&mut self) -> Option<Result<Bytes, BodyError>> {
        if self.is_over {
            return None;
        }
        match self.read().await {
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

    /// The next piece of the source. A rule cuts the body where more bytes follow: one that ends there is whole, whether its head has its
    /// length or not.
    async fn read(&mut self) -> Result<Option<Bytes>, String> {
        let is_at_cut = self.left == Some(0);
        if self.is_cut || is_at_cut && self.expected.is_some() {
            return Err(RULE_CUT.to_owned());
        }
        match self.pieces.next().await? {
            Some(bytes) if is_at_cut && !bytes.is_empty() => Err(RULE_CUT.to_owned()),
            read => Ok(read),
        }
    }

    async fn pass(&mut self, bytes: Bytes) -> Bytes {
        let kept = self.left.map_or(bytes.len(), |left| left.min(bytes.len()));
        self.is_cut = kept < bytes.len();
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
    let mut state =
        ForwardedBody { pieces: pieces_of, exchange, expected: length, left: cut, is_cut: false, is_over: false };
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

/// The same reply with the reason phrase of the upstream, if it has one of its own.
pub(super) fn with_reason(mut reply: Reply, reason: Option<ReasonPhrase>) -> Reply {
    if let Some(reason) = reason {
        reply.extensions_mut().insert(reason);
    }
    reply
}
