//! Bodies of requests and replies.
//!
//! In: bytes, or a body as it arrives. Out: a body for a reply, or the bytes of a request up to a limit. It must never hold more
//! of a stream than the receiver has room for.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::StreamExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, Limited, StreamBody};
use hyper::body::{Body as HttpBody, Bytes, Frame};
use hyper::header::HeaderMap;
use tokio::sync::mpsc;

/// Error of a body that ended early.
pub type BodyError = Box<dyn std::error::Error + Send + Sync>;
/// The body of a reply.
pub type Body = UnsyncBoxBody<Bytes, BodyError>;

/// Pieces that a streamed body holds while its receiver is slow.
const PIECES: usize = 16;

/// Maximum time between two pieces of a request's body.
const PIECE_TIME: Duration = Duration::from_secs(30);

/// A request's body is larger than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLarge {
    /// Maximum bytes.
    pub limit_bytes: usize,
}

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the body has more than {} bytes", self.limit_bytes)
    }
}

impl std::error::Error for TooLarge {}

/// The next piece of a request's body did not come in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooSlow;

impl std::fmt::Display for TooSlow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the rest of the body did not come within {} seconds", PIECE_TIME.as_secs())
    }
}

impl std::error::Error for TooSlow {}

/// Makes a body of bytes that are all there.
pub fn whole(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never: Infallible| match never {}).boxed_unsync()
}

/// The sending half of a streamed body. When it is dropped, the body ends.
#[derive(Debug)]
pub struct BodySender {
    pieces: mpsc::Sender<Bytes>,
    is_cut: Arc<AtomicBool>,
}

impl BodySender {
    /// Sends a piece, waiting for room. `false` when the receiver has left.
    pub async fn send(&self, piece: impl Into<Bytes>) -> bool {
        self.pieces.send(piece.into()).await.is_ok()
    }

    /// Resolves when the receiver has left.
    pub async fn closed(&self) {
        self.pieces.closed().await;
    }

    /// Ends the body before its end: the connection breaks after the pieces so far, so that the receiver knows that it is not whole.
    pub fn cut(self) {
        self.is_cut.store(true, Ordering::Release);
    }
}

/// Makes a body of pieces that are sent as they come to be.
pub fn streamed() -> (BodySender, Body) {
    let (sender, receiver) = mpsc::channel(PIECES);
    let is_cut = Arc::new(AtomicBool::new(false));
    let sender = BodySender { pieces: sender, is_cut: Arc::clone(&is_cut) };
    let sent = futures::stream::unfold((receiver, is_cut), |(mut receiver, is_cut)| async move {
        let piece = match receiver.recv().await {
            Some(piece) => Ok(piece),
            // Once: what follows is the end.
            None if is_cut.swap(false, Ordering::AcqRel) => Err("the body was cut".into()),
            None => return None,
        };
        Some((piece, (receiver, is_cut)))
    });
    (sender, pieces(sent))
}

/// Makes a body of pieces; an error breaks the connection, so that the receiver knows that the body is not whole.
pub fn pieces(pieces: impl futures::Stream<Item = Result<Bytes, BodyError>> + Send + 'static) -> Body {
    frames(pieces.map(|piece| piece.map(Frame::data)))
}

/// Makes a body of frames: pieces, and after the last one perhaps trailers. Only the trailers that the `Trailer` header of a chunked reply
/// names are sent, and only to a client whose request had `TE: trailers`. Nothing is read after them. An error breaks the connection.
pub fn frames(frames: impl futures::Stream<Item = Result<Frame<Bytes>, BodyError>> + Send + 'static) -> Body {
    StreamBody::new(frames).boxed_unsync()
}

/// Reads a body to its end, which may take long as long as pieces come.
///
/// Errors: [`TooLarge`], [`TooSlow`], or what broke the connection.
pub async fn read_body<B>(body: B, limit_bytes: usize) -> Result<Bytes, BodyError>
where
    B: HttpBody<Data = Bytes> + Send,
    B::Error: Into<BodyError>,
{
    read_body_and_trailers(body, limit_bytes).await.map(|(bytes, _)| bytes)
}

/// Like [`read_body`], and returns the trailers after it.
pub async fn read_body_and_trailers<B>(body: B, limit_bytes: usize) -> Result<(Bytes, HeaderMap), BodyError>
where
    B: HttpBody<Data = Bytes> + Send,
    B::Error: Into<BodyError>,
{
    let mut body = pin!(Limited::new(body, limit_bytes));
    let (mut bytes, mut trailers) = (Vec::new(), HeaderMap::new());
    while let Some(frame) = tokio::time::timeout(PIECE_TIME, body.frame()).await.map_err(|_| TooSlow)? {
        let frame = frame.map_err(|error| -> BodyError {
            if error.is::<http_body_util::LengthLimitError>() { TooLarge { limit_bytes }.into() } else { error }
        })?;
        match frame.into_data() {
            Ok(piece) => bytes.extend_from_slice(&piece),
            Err(frame) => trailers = frame.into_trailers().unwrap_or_default(),
        }
    }
    Ok((bytes.into(), trailers))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body of three pieces with this time before each.
    fn slow(wait: Duration) -> impl HttpBody<Data = Bytes, Error = BodyError> + Send {
        let piece = move |_| async move {
            tokio::time::sleep(wait).await;
            Ok::<_, BodyError>(Frame::data(Bytes::from_static(b"ab")))
        };
        StreamBody::new(futures::stream::iter(0..3).then(piece))
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_may_be_slow_but_not_stall() {
        assert_eq!(read_body(slow(PIECE_TIME / 2), 6).await.unwrap(), "ababab");
        assert!(read_body(slow(PIECE_TIME * 2), 6).await.unwrap_err().is::<TooSlow>());
        assert!(read_body(slow(Duration::ZERO), 5).await.unwrap_err().is::<TooLarge>());
    }
}
