//! The requests of a connection that are being answered, so that the end of a listener does not wait for connections without one.
//!
//! In: the start of a request, its reply. Out: when the connection can be closed. A request is over when the last piece of its reply was
//! taken; it must never count after that.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Response;
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::{Body, BodyError, Reply};

/// Time for what a connection without a request still has to do.
const IDLE_TIME: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, Default)]
struct State {
    requests: usize,
    /// Time at which the last reply was taken: its bytes may still be on their way.
    replied: Option<Instant>,
}

/// The requests of one connection; clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct InFlight(Arc<watch::Sender<State>>);

/// A request that counts until this is dropped.
#[derive(Debug)]
pub(super) struct RunningRequest(InFlight);

impl InFlight {
    /// Counts a request.
    pub(super) fn begin(&self) -> RunningRequest {
        self.0.send_modify(|state| state.requests += 1);
        RunningRequest(self.clone())
    }

    /// Resolves when the connection has no request, and a reply had `grace` to reach its client.
    pub(super) async fn over(&self, grace: Duration) {
        let mut states = self.0.subscribe();
        loop {
            let State { requests, replied } = *states.borrow_and_update();
            let idle = Instant::now() + IDLE_TIME;
            let until = replied.map_or(idle, |replied| idle.max(replied + grace));
            if requests > 0 {
                // The sender lives as long as `self`.
                _ = states.changed().await;
            } else if timeout_at(until, states.changed()).await.is_err() {
                return;
            }
        }
    }
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        self.0.0.send_modify(|state| {
            state.requests = state.requests.saturating_sub(1);
            state.replied = Some(Instant::now());
        });
    }
}

impl RunningRequest {
    /// The reply, with which the request counts on.
    pub(super) fn with_reply(self, reply: Reply) -> Response<CountedBody> {
        reply.map(|body| CountedBody { body, _request: self })
    }
}

/// The body of the reply to a request that counts.
#[derive(Debug)]
pub(super) struct CountedBody {
    body: Body,
    _request: RunningRequest,
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::whole;

    const GRACE: Duration = Duration::from_secs(10);

    async fn seconds_until_over(in_flight: &InFlight) -> u64 {
        let begun = Instant::now();
        in_flight.over(GRACE).await;
        begun.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_over_when_its_replies_had_time_to_arrive() {
        let in_flight = InFlight::default();
        assert_eq!(seconds_until_over(&in_flight).await, 1);
        let reply = in_flight.begin().with_reply(Reply::new(whole("reply")));
        let taken = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(30)).await;
            drop(reply);
        });
        assert_eq!(seconds_until_over(&in_flight).await, 40);
        taken.await.unwrap();
        tokio::time::sleep(GRACE).await;
        assert_eq!(seconds_until_over(&in_flight).await, 1);
    }
}
