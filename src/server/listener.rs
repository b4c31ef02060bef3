//! The loop that accepts connections and gives their requests to a handler.
//!
//! In: an address, limits, a handler, a handle that ends it. Out: replies. Ends gracefully: running requests get
//! [`ListenerLimits::grace`], new ones are not accepted, and connections without a request are closed. A connection that leaves HTTP counts
//! as a request. It must never hold a connection that sends no request, or whose client does not read its reply.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use hyper::StatusCode;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use ptc_core::limits::REPLY_STALL_TIME;
use serde_json::json;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::in_flight::InFlight;
use super::timed_writes::TimedWrites;
use super::upgrade::Upgrade;
use super::{Guard, Reply, Request, json_reply};

/// Maximum number of headers of a request, and of a reply that the proxy gets from a service. The default of hyper is 100; gateways in a
/// row, each with headers about its limits, caches and policies, send more. Each head gets a table of this size, so it is no larger.
pub const MAX_HEADERS: usize = 256;

/// Maximum number of connections that wait to be accepted.
const BACKLOG: u32 = 1_024;

/// Answers requests.
pub trait Handler: Send + Sync + 'static {
    /// Answers a request that the guard let through. When the client leaves or the listener is aborted, the future is dropped.
    fn answer(self: Arc<Self>, request: Request) -> BoxFuture<'static, Reply>;
}

/// Limits of a listener.
#[derive(Debug, Clone, Copy)]
pub struct ListenerLimits {
    /// Maximum number of connections at once; further ones wait to be accepted.
    pub connections: usize,
    /// Time for the head of a request.
    pub head: Duration,
    /// Time for running requests after the end was asked for.
    pub grace: Duration,
    /// Time for which nothing of a reply can be written; then its connection is closed. `None`: it waits for its client.
    pub stall: Option<Duration>,
}

impl Default for ListenerLimits {
    fn default() -> Self {
        Self {
            connections: 4_096,
            head: Duration::from_secs(30),
            grace: Duration::from_secs(10),
            stall: Some(Duration::from_millis(REPLY_STALL_TIME.most())),
        }
    }
}

/// Handle that ends a listener; clones share their state.
#[derive(Debug, Clone, Default)]
pub struct ListenerEnd {
    closing: CancellationToken,
    aborting: CancellationToken,
}

impl ListenerEnd {
    /// Accepts nothing more; running requests get their grace.
    pub fn close(&self) {
        self.closing.cancel();
    }

    /// Aborts running requests, too. Their futures are dropped, as when the client leaves: [`Self::is_aborted`] tells them apart.
    pub fn abort(&self) {
        self.closing.cancel();
        self.aborting.cancel();
    }

    /// Resolves when nothing more is accepted.
    pub async fn closed(&self) {
        self.closing.cancelled().await;
    }

    /// Returns whether running requests were aborted.
    pub fn is_aborted(&self) -> bool {
        self.aborting.is_cancelled()
    }
}

/// Longest wait for the connection tasks to finish after an abort.
const ABORT_TIME: Duration = Duration::from_secs(2);

/// A bound address.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    guard: Guard,
    limits: ListenerLimits,
}

impl Listener {
    /// Binds an address; port 0 takes a free one. It is served by the runtime in whose context it is bound.
    pub fn bind(address: SocketAddr, limits: ListenerLimits) -> io::Result<Self> {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        // A port whose last connections are still closing is free. On Windows this would share ports in use.
        #[cfg(not(windows))]
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        let socket = socket.listen(BACKLOG)?;
        let address = socket.local_addr()?;
        Ok(Self { socket, address, guard: Guard::of(address), limits })
    }

    /// Returns the address with its real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until it is closed and the running requests have ended, or are aborted because their grace is over.
    pub async fn serve(self, handler: Arc<dyn Handler>, end: ListenerEnd) {
        let Self { socket, guard, limits, .. } = self;
        let slots = Arc::new(Semaphore::new(limits.connections));
        let mut server = http1::Builder::new();
        server.timer(TokioTimer::new()).header_read_timeout(limits.head).max_headers(MAX_HEADERS);
        loop {
            let accepted = async {
                let slot = Arc::clone(&slots).acquire_owned().await;
                (slot, accept(&socket).await)
            };
            let (slot, connection) = tokio::select! {
                biased;
                () = end.closing.cancelled() => break,
                accepted = accepted => accepted,
            };
            // Pieces of a stream leave as they come.
            _ = connection.set_nodelay(true);
            let connection = TokioIo::new(TimedWrites::new(connection, limits.stall));
            let (server, handler, end) = (server.clone(), Arc::clone(&handler), end.clone());
            tokio::spawn(async move {
                tokio::select! {
                    () = serve_connection(&server, connection, (guard, handler), limits.grace, &end.closing) => {}
                    () = end.aborting.cancelled() => {}
                }
                drop(slot);
            });
        }
        drop(socket);
        let all = u32::try_from(limits.connections).unwrap_or(u32::MAX);
        tokio::select! {
            _ = slots.acquire_many(all) => {}
            () = tokio::time::sleep(limits.grace) => tracing::warn!("requests were still running when the server ended"),
            () = end.aborting.cancelled() => {}
        }
        end.abort();
        if tokio::time::timeout(ABORT_TIME, slots.acquire_many(all)).await.is_err() {
            tracing::warn!("requests did not end with the server");
        }
    }
}

/// Serves the requests of one connection until it ends, or until `closing` and its requests have ended, and does what follows an upgrade.
async fn serve_connection(
    server: &http1::Builder,
    connection: TokioIo<TimedWrites<TcpStream>>,
    (guard, handler): (Guard, Arc<dyn Handler>),
    grace: Duration,
    closing: &CancellationToken,
) {
    let (in_flight, upgrade) = (InFlight::default(), Upgrade::default());
    let service = service_fn(|request: Request| {
        let (handler, running, upgrade) = (Arc::clone(&handler), in_flight.begin(), upgrade.clone());
        async move {
            let mut reply = answer(guard, handler, request).await;
            if let Some(work) = Upgrade::of(&mut reply) {
                upgrade.set(work);
            }
            Ok::<_, Infallible>(running.with_reply(reply))
        }
    });
    let idle = async {
        closing.cancelled().await;
        in_flight.over(grace).await;
    };
    let mut idle = pin!(idle);
    {
        // Dropped before the work begins: the work waits for the upgraded connection, or for its error.
        let mut served = pin!(server.serve_connection(connection, service).with_upgrades());
        let mut is_closing = false;
        loop {
            tokio::select! {
                served = served.as_mut() => {
                    if let Err(error) = served {
                        tracing::debug!(%error, "connection ended");
                    }
                    break;
                }
                () = closing.cancelled(), if !is_closing => {
                    is_closing = true;
                    served.as_mut().graceful_shutdown();
                }
                // The head of a request that is not whole is not a request.
                () = idle.as_mut() => return,
            }
        }
    }
    if let Some(work) = upgrade.take() {
        work.await;
    }
}

/// Accepts a connection. Errors of accepting (a client that left, no free file handles) pass with time.
async fn accept(socket: &TcpListener) -> TcpStream {
    loop {
        match socket.accept().await {
            Ok((connection, _)) => return connection,
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn answer(guard: Guard, handler: Arc<dyn Handler>, request: Request) -> Reply {
    match guard.check(request.headers()) {
        Ok(()) => handler.answer(request).await,
        Err(refusal) => {
            let (message, hint) = (refusal.to_string(), refusal.hint());
            let error = json!({ "reason": "forbidden", "message": message, "hint": hint, "type": "forbidden" });
            json_reply(StatusCode::FORBIDDEN, &json!({ "error": error }))
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::time::timeout;

    use super::*;
    use crate::server::whole;

    /// Answers with more than the buffers of a connection hold.
    struct LargeReply;

    impl Handler for LargeReply {
        fn answer(self: Arc<Self>, _: Request) -> BoxFuture<'static, Reply> {
            async { Reply::new(whole(vec![b'x'; 64 << 20])) }.boxed()
        }
    }

    #[tokio::test]
    async fn a_connection_whose_client_does_not_read_is_closed() {
        assert_eq!(ListenerLimits::default().stall, Some(Duration::from_millis(REPLY_STALL_TIME.max)));
        let limits =
            ListenerLimits { connections: 1, stall: Some(Duration::from_millis(100)), ..ListenerLimits::default() };
        let listener = Listener::bind(SocketAddr::from(([127, 0, 0, 1], 0)), limits).unwrap();
        let (address, end) = (listener.address(), ListenerEnd::default());
        let served = tokio::spawn(listener.serve(Arc::new(LargeReply), end.clone()));
        let request = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
        let mut deaf = TcpStream::connect(address).await.unwrap();
        deaf.write_all(request).await.unwrap();
        // There is one connection at a time: the second is accepted when the first is closed.
        let mut next = TcpStream::connect(address).await.unwrap();
        next.write_all(request).await.unwrap();
        let mut start = [0; 12];
        timeout(Duration::from_secs(30), next.read_exact(&mut start)).await.unwrap().unwrap();
        assert_eq!(start, *b"HTTP/1.1 200");
        let mut received = Vec::new();
        // The connection is reset, or ends before the end of the reply.
        let read = timeout(Duration::from_secs(30), deaf.read_to_end(&mut received)).await.unwrap();
        assert!(read.is_err() || received.len() < 64 << 20, "{}", received.len());
        end.abort();
        served.await.unwrap();
    }
}
