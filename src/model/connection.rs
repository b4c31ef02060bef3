//! Sends a request again when the service closes a reused connection before it replies.
//!
//! In: a request. Out: its response and the number of retries. It must never resend a request that the service
//! may have started to process: only one that fails at once, on a connection that was open before.

use std::cell::Cell;
use std::error::Error as _;
use std::future::Future;
use std::io::ErrorKind;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use reqwest::{Client, Request, Response};
use tower_layer::Layer;
use tower_service::Service;

/// Maximum number of retries of a request. Each failed attempt removes a closed connection from the pool.
const MAX_RETRIES: u32 = 3;
/// Longest time from sending a request to the failure of a connection that was being closed. Later the service may be at work on it.
const RETRY_WINDOW: Duration = Duration::from_secs(1);

tokio::task_local! {
    /// The request of this task got a new connection.
    static IS_NEW: Cell<bool>;
}

/// A response, and how often its request was sent again.
pub(super) struct Sent {
    pub(super) response: Result<Response, reqwest::Error>,
    pub(super) retries: u32,
}

/// Sends a request with a client that has the layer [`DetectNewConnection`]. Retries when the service closes a reused connection before a
/// response begins. Requests with a streamed body are never retried.
pub(super) async fn send(client: &Client, mut request: Request) -> Sent {
    let mut retries = 0;
    loop {
        let (copy, started) = (request.try_clone(), Instant::now());
        let (response, is_new) = execute(client, request).await;
        match (response, copy) {
            (Err(error), Some(copy))
                if !is_new && retries < MAX_RETRIES && started.elapsed() < RETRY_WINDOW && is_closed(&error) =>
            {
                request = copy;
                retries += 1;
            }
            (response, _) => return Sent { response, retries },
        }
    }
}

/// Reports that a request was sent again; `None` when it was sent once.
pub(crate) fn retries_text(service: &str, retries: u32) -> Option<String> {
    let times = retries + 1;
    (retries > 0)
        .then(|| format!("{service} closed a reused connection before replying: this request was sent {times} times"))
}

async fn execute(client: &Client, request: Request) -> (Result<Response, reqwest::Error>, bool) {
    IS_NEW
        .scope(Cell::new(false), async {
            let response = client.execute(request).await;
            (response, IS_NEW.with(Cell::get))
        })
        .await
}

/// Returns whether an open connection was closed before a response began.
fn is_closed(error: &reqwest::Error) -> bool {
    if error.is_connect() {
        return false;
    }
    let mut next = error.source();
    while let Some(inner) = next {
        if let Some(error) = inner.downcast_ref::<hyper::Error>()
            && (error.is_incomplete_message() || error.is_canceled())
        {
            return true;
        }
        if let Some(error) = inner.downcast_ref::<std::io::Error>() {
            // A TLS connection that is closed without `close_notify` ends with `UnexpectedEof`.
            let kinds = [
                ErrorKind::ConnectionReset,
                ErrorKind::ConnectionAborted,
                ErrorKind::BrokenPipe,
                ErrorKind::UnexpectedEof,
            ];
            if kinds.contains(&error.kind()) {
                return true;
            }
        }
        next = inner.source();
    }
    false
}

/// Layer that marks the current request when a new connection is opened for it.
#[derive(Debug, Clone, Copy)]
pub(super) struct DetectNewConnection;

impl<S> Layer<S> for DetectNewConnection {
    type Service = DetectingConnector<S>;

    fn layer(&self, inner: S) -> DetectingConnector<S> {
        DetectingConnector { inner }
    }
}

/// The connector of the layer.
#[derive(Debug, Clone)]
pub(super) struct DetectingConnector<S> {
    inner: S,
}

impl<S, Destination> Service<Destination> for DetectingConnector<S>
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
                // Not set when the pool finishes a connection in the background: no request waits for it then.
                _ = IS_NEW.try_with(|is_new| is_new.set(true));
            }
            connected
        })
    }
}
