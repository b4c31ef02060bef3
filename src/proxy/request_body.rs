//! The body of a request, read as a whole with the trailers after it.
//!
//! In: a body as it comes. Out: its bytes and its trailers. It must never hold more than a limit.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Body as HttpBody, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{EXPECT, HeaderMap};
use tokio::time::timeout;

use super::headers;
use crate::server::{BodyError, TooLarge, read_body};

/// Most bytes of a refused body that are read, and the longest times for all of them and for the next ones.
const DISCARDED_MAX_BYTES: usize = 256 << 20;
const DISCARD_TIME: Duration = Duration::from_secs(10);
const PIECE_TIME: Duration = Duration::from_secs(2);

/// A body whose trailers are kept.
struct TrailedBody {
    inner: Incoming,
    trailers: HeaderMap,
}

impl HttpBody for TrailedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(trailers) = frame.trailers_ref()
        {
            self.trailers.clone_from(trailers);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// Reads a body to its end; returns its bytes and the trailers that are passed on. Errors: those of [`read_body`].
pub(super) async fn read_request_body(
    headers: &HeaderMap,
    body: Incoming,
    limit_bytes: usize,
) -> Result<(Bytes, HeaderMap), BodyError> {
    let is_too_large = headers::content_length(headers).is_some_and(|length| length > limit_bytes as u64);
    if is_too_large && headers.contains_key(EXPECT) {
        // The client waits before it sends it.
        return Err(TooLarge { limit_bytes }.into());
    }
    let mut body = TrailedBody { inner: body, trailers: HeaderMap::new() };
    let read = read_body(&mut body, limit_bytes).await;
    if read.as_ref().is_err_and(|error| error.is::<TooLarge>()) {
        discard(&mut body).await;
    }
    Ok((read?, headers::passed(&body.trailers)))
}

/// Reads on after a body was refused, up to a limit. A connection that is closed with unread bytes is reset, and the reply can be lost with
/// it.
async fn discard(body: &mut TrailedBody) {
    let mut rest_bytes = DISCARDED_MAX_BYTES;
    let rest = async {
        while let Ok(Some(Ok(frame))) = timeout(PIECE_TIME, body.frame()).await {
            let bytes = frame.data_ref().map_or(0, Bytes::len);
            if bytes >= rest_bytes {
                return;
            }
            rest_bytes -= bytes;
        }
    };
    _ = timeout(DISCARD_TIME, rest).await;
}
