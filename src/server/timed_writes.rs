//! A connection whose writes have a time limit.
//!
//! In: a connection, the time for which nothing of what is to be written may be taken. Out: the same connection; after that time a write
//! fails, and the connection is closed. It must never fail while its receiver takes anything, however slowly.

use std::future::Future as _;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A connection whose writes fail when they make no progress.
#[derive(Debug)]
pub(super) struct TimedWrites<C> {
    connection: C,
    /// `None`: they may wait without end.
    limit: Option<Duration>,
    /// The end of the time, while a write waits.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<C> TimedWrites<C> {
    pub(super) fn new(connection: C, limit: Option<Duration>) -> Self {
        Self { connection, limit, stalled: None }
    }

    /// Returns the result of a write, or an error if writes have been blocked too long.
    fn timed(&mut self, written: Poll<io::Result<usize>>, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let Some(limit) = self.limit.filter(|_| written.is_pending()) else {
            self.stalled = None;
            return written;
        };
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(limit)));
        stalled.as_mut().poll(context).map(|()| {
            let message = format!("nothing could be written for {} ms", limit.as_millis());
            Err(io::Error::new(io::ErrorKind::TimedOut, message))
        })
    }
}

impl<C: AsyncRead + Unpin> AsyncRead for TimedWrites<C> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_read(context, buffer)
    }
}

impl<C: AsyncWrite + Unpin> AsyncWrite for TimedWrites<C> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.connection).poll_write(context, bytes);
        self.timed(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.connection).poll_write_vectored(context, parts);
        self.timed(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.connection.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::time::Instant;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn a_receiver_may_be_slow_but_not_stop() {
        let (near, mut far) = duplex(4);
        let mut near = TimedWrites::new(near, Some(LIMIT));
        let slow = tokio::spawn(async move {
            let mut bytes = [0; 8];
            for byte in &mut bytes {
                tokio::time::sleep(LIMIT / 2).await;
                far.read_exact(std::slice::from_mut(byte)).await.unwrap();
            }
            (bytes, far)
        });
        near.write_all(b"abcdefghijkl").await.unwrap();
        let (bytes, _far) = slow.await.unwrap();
        assert_eq!(bytes, *b"abcdefgh");
        let full = Instant::now();
        let error = near.write_all(b"m").await.unwrap_err();
        assert_eq!((error.kind(), full.elapsed().as_secs()), (io::ErrorKind::TimedOut, LIMIT.as_secs()));
    }
}
