//! Whether a request was sent on a connection of its own or on that of an earlier request, which the service may be closing.
//!
//! In: a request. Out: its response, from another connection where the service closed the first one unasked. A request that had a
//! connection of its own must never be sent twice: the service may have begun to work on it.

use std::cell::Cell;
use std::error::Error as _;
use std::future::Future;
use std::io::ErrorKind;
use std::pin::Pin;
use std::task::{Context, Poll};

use reqwest::{Client, Request, Response};
use tower_layer::Layer;
use tower_service::Service;

/// How often a request is sent again: each time on one connection less that is being closed.
const AGAIN_MAX: u32 = 3;

tokio::task_local! {
    /// The request of this task got a new connection.
    static IS_NEW: Cell<bool>;
}

/// A response, and how often its request was sent again.
pub(super) struct Sent {
    pub(super) response: Result<Response, reqwest::Error>,
    pub(super) again: u32,
}

/// Sends a request with a client that has the layer [`NoteNew`]. When the service closes the connection of an earlier request before a
/// response begins, the request is sent again; only one whose body is in memory can be.
pub(super) async fn send(client: &Client, request: Request) -> Sent {
    let mut next = request.try_clone();
    let (mut response, mut is_new) = execute(client, request).await;
    let mut again = 0;
    while let (Err(error), Some(request)) = (&response, &next)
        && !is_new
        && again < AGAIN_MAX
        && is_closed(error)
    {
        let copy = request.try_clone();
        let Some(request) = std::mem::replace(&mut next, copy) else { break };
        again += 1;
        (response, is_new) = execute(client, request).await;
    }
    Sent { response, again }
}

async fn execute(client: &Client, request: Request) -> (Result<Response, reqwest::Error>, bool) {
    IS_NEW
        .scope(Cell::new(false), async {
            let response = client.execute(request).await;
            (response, IS_NEW.with(Cell::get))
        })
        .await
}

/// Was the connection closed before a response began?
fn is_closed(error: &reqwest::Error) -> bool {
    let mut next = error.source();
    while let Some(inner) = next {
        if let Some(error) = inner.downcast_ref::<hyper::Error>()
            && (error.is_incomplete_message() || error.is_canceled())
        {
            return true;
        }
        if let Some(error) = inner.downcast_ref::<std::io::Error>() {
            let kinds = [ErrorKind::ConnectionReset, ErrorKind::ConnectionAborted, ErrorKind::BrokenPipe];
            if kinds.contains(&error.kind()) {
                return true;
            }
        }
        next = inner.source();
    }
    false
}

/// Notes for the request of the task that it got a new connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct NoteNew;

impl<S> Layer<S> for NoteNew {
    type Service = NotingConnector<S>;

    fn layer(&self, inner: S) -> NotingConnector<S> {
        NotingConnector { inner }
    }
}

/// A connector whose connections are noted.
#[derive(Debug, Clone)]
pub(super) struct NotingConnector<S> {
    inner: S,
}

impl<S, Destination> Service<Destination> for NotingConnector<S>
where
    S: Service<Destination>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, destination: Destination) -> Self::Future {
        let connecting = self.inner.call(destination);
        Box::pin(async move {
            let connected = connecting.await;
            if connected.is_ok() {
                // Outside of a request, the client connects for the next one.
                _ = IS_NEW.try_with(|is_new| is_new.set(true));
            }
            connected
        })
    }
}
