//! The body of a reply on its way to the client.
//!
//! In: pieces of an upstream or in memory, and trailers. Out: the same, each noted by its exchange. It must never read on when the client
//! does not, and a body that breaks off breaks off for the client too.

use hyper::body::{Bytes, Frame};
use hyper::ext::ReasonPhrase;
use hyper::header::HeaderMap;

use super::exchange::{Exchange, ExchangeEnd, RULE_CUT};
use super::headers;
use crate::model::UpstreamReply;
use crate::server::{BodyError, Reply, StatusCode, frames, pieces};

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
    /// Trailers, then the end.
    Trailers(HeaderMap),
    /// The connection broke: why.
    Broken(String),
    /// More from the upstream.
    Upstream(Box<UpstreamReply>),
}

impl Pieces {
    async fn next(&mut self) -> Result<Option<Frame<Bytes>>, String> {
        match self {
            Self::Upstream(reply) => reply.frame().await,
            Self::InHand(pieces, after) => match (pieces.next(), after) {
                (Some(piece), _) => Ok(Some(Frame::data(piece))),
                (None, After::End) => Ok(None),
                (None, After::Trailers(trailers)) => Ok(Some(Frame::trailers(std::mem::take(trailers)))),
                (None, After::Broken(why)) => Err(why.clone()),
                (None, After::Upstream(reply)) => reply.frame().await,
            },
        }
    }
}

/// A body on its way.
struct ForwardedBody {
    pieces: Pieces,
    exchange: Option<Exchange>,
    /// Bytes still expected by `Content-Length`; nothing is read after the last one.
    expected: Option<u64>,
    /// Remaining bytes until a rule closes the connection, if more follow.
    left: Option<usize>,
    /// A piece exceeded `left`.
    is_cut: bool,
    is_over: bool,
}

impl ForwardedBody {
    /// The next frame, recorded.
    async fn next(&mut self) -> Option<Result<Frame<Bytes>, BodyError>> {
        if self.is_over {
            return None;
        }
        match self.read().await {
            Ok(Some(frame)) => Some(Ok(self.pass(frame).await)),
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

    /// The next frame of the source. A rule cuts the body where more bytes follow: one that ends there is whole, whether its head has its
    /// length or not.
    async fn read(&mut self) -> Result<Option<Frame<Bytes>>, String> {
        let is_at_cut = self.left == Some(0);
        if self.is_cut || is_at_cut && self.expected.is_some() {
            return Err(RULE_CUT.to_owned());
        }
        match self.pieces.next().await? {
            Some(frame) if is_at_cut && frame.data_ref().is_some_and(|bytes| !bytes.is_empty()) => {
                Err(RULE_CUT.to_owned())
            }
            read => Ok(read),
        }
    }

    async fn pass(&mut self, frame: Frame<Bytes>) -> Frame<Bytes> {
        match frame.into_data() {
            Ok(bytes) => Frame::data(self.pass_piece(bytes).await),
            Err(frame) => Frame::trailers(self.pass_trailers(frame.into_trailers().unwrap_or_default())),
        }
    }

    /// The trailers that are passed on. They end the body: the connection to the client reads nothing after them.
    fn pass_trailers(&mut self, trailers: HeaderMap) -> HeaderMap {
        let passed = headers::passed(&trailers);
        if let Some(exchange) = &self.exchange {
            exchange.trailers(trailers);
        }
        self.end(ExchangeEnd::Complete);
        passed
    }

    async fn pass_piece(&mut self, bytes: Bytes) -> Bytes {
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
    let mut reply = Reply::new(frames(body));
    *reply.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    *reply.headers_mut() = passed;
    reply
}

/// A connection that is closed before the first byte of the body.
pub(super) fn dropped(exchange: Option<Exchange>, why: &'static str) -> Reply {
    if let Some(exchange) = exchange {
        exchange.end(ExchangeEnd::NoReply(why.to_owned()));
    }
    let broken = futures::stream::once(async move { Err(why.into()) });
    Reply::new(pieces(broken))
}

/// The same reply with the reason phrase of the upstream, if it has one of its own.
pub(super) fn with_reason(mut reply: Reply, reason: Option<ReasonPhrase>) -> Reply {
    if let Some(reason) = reason {
        reply.extensions_mut().insert(reason);
    }
    reply
}
