//! Bodies of requests and replies.
//!
//! In: bytes, or a body as it arrives. Out: a body for a reply, or the bytes of a request up to a limit. It must never hold more
//! of a stream than the receiver has room for.

use std::convert::Infallible;

use futures::StreamExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, Limited, StreamBody};
use hyper::body::{Body as HttpBody, Bytes, Frame};
use tokio::sync::mpsc;

/// Why a body ended before its end.
pub type BodyError = Box<dyn std::error::Error + Send + Sync>;
/// The body of a reply.
pub type Body = UnsyncBoxBody<Bytes, BodyError>;

/// Pieces that a streamed body holds while its receiver is slow.
const PIECES: usize = 16;

/// A request's body is larger than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLarge {
    /// Most bytes.
    pub limit_bytes: usize,
}

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the body has more than {} bytes", self.limit_bytes)
    }
}

impl std::error::Error for TooLarge {}

/// Makes a body of bytes that are all there.
pub fn whole(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never: Infallible| match never {}).boxed_unsync()
}

/// The sending half of a streamed body. When it is dropped, the body ends.
#[derive(Debug, Clone)]
pub struct BodySender(mpsc::Sender<Bytes>);

impl BodySender {
    /// Sends a piece, waiting for room. `false` when the receiver has left.
    pub async fn send(&self, piece: impl Into<Bytes>) -> bool {
        self.0.send(piece.into()).await.is_ok()
    }

    /// Resolves when the receiver has left.
    pub async fn closed(&self) {
        self.0.closed().await;
    }
}

/// Makes a body of pieces that are sent as they come to be.
pub fn streamed() -> (BodySender, Body) {
    let (sender, mut receiver) = mpsc::channel(PIECES);
    let pieces = futures::stream::poll_fn(move |context| receiver.poll_recv(context));
    (BodySender(sender), StreamBody::new(pieces.map(|piece| Ok(Frame::data(piece)))).boxed_unsync())
}

/// Makes a body of pieces; an error breaks the connection, so that the receiver knows that the body is not whole.
pub fn pieces(pieces: impl futures::Stream<Item = Result<Bytes, BodyError>> + Send + 'static) -> Body {
    StreamBody::new(pieces.map(|piece| piece.map(Frame::data))).boxed_unsync()
}

/// Reads a body to its end.
///
/// Errors: [`TooLarge`], or what broke the connection.
pub async fn read_body<B>(body: B, limit_bytes: usize) -> Result<Bytes, BodyError>
where
    B: HttpBody<Data = Bytes> + Send,
    B::Error: Into<BodyError>,
{
    match Limited::new(body, limit_bytes).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => Err(TooLarge { limit_bytes }.into()),
        Err(error) => Err(error),
    }
}
