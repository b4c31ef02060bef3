//! The body of a request, read as a whole with the trailers after it.
//!
//! In: a body as it comes. Out: its bytes and its trailers. It must never hold more than a limit.

use std::pin::pin;
use std::time::Duration;

use futures::stream::{self, Stream, StreamExt as _};
use http_body_util::BodyExt as _;
use hyper::body::{Bytes, Incoming};
use hyper::header::{EXPECT, HeaderMap};
use tokio::time::timeout;

use super::headers;
use crate::server::{BodyError, TooLarge, read_body_and_trailers};

/// Most bytes of a refused body that are read.
const DISCARDED_MAX_BYTES: usize = 256 << 20;
/// Longest times for which a side that was refused is read: in all, and for its next bytes.
const DISCARD_TIME: Duration = Duration::from_secs(10);
const DISCARDED_PIECE_TIME: Duration = Duration::from_secs(2);

/// Reads a body to its end; returns its bytes and the trailers that are passed on. Errors: those of [`read_body_and_trailers`].
pub(super) async fn read_request_body(
    headers: &HeaderMap,
    mut body: Incoming,
    limit_bytes: usize,
) -> Result<(Bytes, HeaderMap), BodyError> {
    let is_too_large = headers::content_length(headers).is_some_and(|length| length > limit_bytes as u64);
    if is_too_large && headers.contains_key(EXPECT) {
        // The client waits before it sends it.
        return Err(TooLarge { limit_bytes }.into());
    }
    let read = read_body_and_trailers(&mut body, limit_bytes).await;
    if read.as_ref().is_err_and(|error| error.is::<TooLarge>()) {
        let sizes = stream::unfold(body, async |mut body| {
            let frame = body.frame().await?.ok()?;
            Some((frame.data_ref().map_or(0, Bytes::len), body))
        });
        discard_rest(sizes, DISCARDED_MAX_BYTES).await;
    }
    read.map(|(bytes, trailers)| (bytes, headers::passed(&trailers)))
}

/// Reads and discards what a side still sends after it was refused, up to a limit. A connection that is closed with unread bytes is reset, and
/// what was sent to that side last can be lost with it. `sizes` reads the next bytes and gives their number.
pub(super) async fn discard_rest(sizes: impl Stream<Item = usize>, max_bytes: usize) {
    let mut sizes = pin!(sizes);
    let mut rest_bytes = max_bytes;
    let rest = async {
        while let Ok(Some(bytes)) = timeout(DISCARDED_PIECE_TIME, sizes.next()).await
            && bytes < rest_bytes
        {
            rest_bytes -= bytes;
        }
    };
    _ = timeout(DISCARD_TIME, rest).await;
}
