//! The two sides of a WebSocket of the Responses API.
//!
//! In: a connection of the client, one of the service. Out: their messages, given to a [`Relay`], and what it sends. Each side is read while the
//! other takes what it gets, and while decisions are made. Pings are answered on each side. It must never wait without end for a side that
//! does not close its connection.

use std::time::Duration;

use futures::StreamExt;
use futures::future::{FusedFuture as _, FutureExt, OptionFuture};
use futures::stream::{self, SplitStream};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use super::handshake::Handshake;
use super::relay::{MESSAGE_MAX_BYTES, Relay};
use crate::proxy::exchange::ExchangeEnd;
use crate::proxy::request_body::discard_rest;
use crate::proxy::websocket::outbox::Outbox;

/// Bytes that are read at once.
const READ_BYTES: usize = 16 << 10;

/// Bytes for a client that does not read them, above which the service is not read.
const CLIENT_FULL_BYTES: usize = 1 << 20;

/// Longest wait for a side to take its next message, and to close the connection, too.
const CLOSE_TIME: Duration = Duration::from_secs(2);

/// Most bytes that are read of a side whose message was refused.
const DISCARDED_MAX_BYTES: usize = 4 * MESSAGE_MAX_BYTES;

/// Bytes of the reason in a close frame.
const REASON_MAX_BYTES: usize = 123;

type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// A connection that has become a WebSocket.
pub(super) async fn socket(connection: Upgraded, role: Role) -> Socket {
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BYTES)
        .write_buffer_size(0)
        // Of a side that sends pings and does not read their answers.
        .max_write_buffer_size(2 * MESSAGE_MAX_BYTES)
        .max_message_size(Some(MESSAGE_MAX_BYTES))
        .max_frame_size(Some(MESSAGE_MAX_BYTES));
    WebSocketStream::from_raw_socket(TokioIo::new(connection), role, Some(config)).await
}

/// The end of a connection.
pub(super) enum RelayEnd {
    /// The client closed it.
    Client(Option<CloseFrame>),
    /// The connection to the client broke.
    Left,
    /// The client did not keep to the protocol: the code for it, and why.
    Refused(CloseCode, String),
    /// The service closed it.
    Service(Option<CloseFrame>),
    /// The connection to the service broke: why.
    Broken(String),
    /// The connection to the client is closed without a close frame, as decided by the user, a rule, or a recording: why.
    Dropped(String),
    /// The proxy ends, and no request runs.
    Proxy,
}

impl RelayEnd {
    /// The end of the exchanges that have not ended.
    pub(super) fn of_exchange(&self) -> ExchangeEnd {
        match self {
            Self::Client(_) | Self::Left => ExchangeEnd::ClientLeft,
            Self::Refused(_, why) => {
                ExchangeEnd::Closed(format!("the WebSocket was closed, because of a message of the client: {why}"))
            }
            Self::Service(frame) => ExchangeEnd::Broken(closed_text(frame.as_ref())),
            Self::Broken(why) => ExchangeEnd::Broken(why.clone()),
            Self::Dropped(why) => ExchangeEnd::Closed(format!("the WebSocket was closed: {why}")),
            Self::Proxy => ExchangeEnd::ProxyEnded,
        }
    }
}

/// Passes messages until a side ends the connection.
pub(super) async fn relay(handshake: Handshake, client: Socket, service: Option<Socket>) {
    let (output, mut client_in) = client.split();
    let (client, client_out) = Outbox::new(output, CLIENT_FULL_BYTES);
    let (service_out, mut service_in) = service.map(StreamExt::split).unzip();
    let (service, service_out) = service_out.map(|output| Outbox::new(output, MESSAGE_MAX_BYTES)).unzip();
    let mut client_out = client_out.boxed().fuse();
    let mut service_out = service_out.map_or_else(|| std::future::pending().boxed(), FutureExt::boxed).fuse();
    let listener = handshake.service.end.clone();
    let mut relay = Relay::new(handshake, client, service);
    let mut is_closing = false;
    // The service no longer takes messages: the error, and until when it is still read. What it sent before may contain the reason.
    let mut failed: Option<(String, Instant)> = None;
    // The service has gone, and the user still decides about a reply of it.
    let mut gone = None;
    let end = loop {
        if is_closing && relay.is_idle() {
            break RelayEnd::Proxy;
        }
        if !relay.has_held_reply()
            && let Some(end) = gone.take()
        {
            break end;
        }
        let (reads_client, reads_service) = (!relay.is_full(), !relay.has_full_client() && gone.is_none());
        let (client_sent, service_sent) = (relay.client.changed(), relay.service.as_ref().map(Outbox::changed));
        let until = failed.as_ref().map_or_else(Instant::now, |(_, until)| *until);
        let passed = if let Some(done) = relay.made.pop_front() {
            relay.take_done(done).await
        } else {
            tokio::select! {
                message = client_in.next(), if reads_client => relay.take_of_client(message),
                message = next_of(service_in.as_mut()), if reads_service => relay.take_of_service(message).await,
                Some(done) = relay.work.next(), if !relay.work.is_empty() => relay.take_done(done).await,
                _ = &mut client_out => Err(RelayEnd::Left),
                (_, sent) = &mut service_out, if !service_out.is_terminated() => {
                    let why = sent.err().map_or_else(|| "it takes no messages".to_owned(), |error| error.to_string());
                    failed = Some((why, Instant::now() + CLOSE_TIME));
                    Ok(())
                }
                () = sleep_until(until), if failed.is_some() && gone.is_none() => {
                    Err(RelayEnd::Broken(failed.take().map(|(why, _)| why).unwrap_or_default()))
                }
                // A side that was full may be read again.
                () = client_sent, if !reads_client || !reads_service => Ok(()),
                Some(()) = OptionFuture::from(service_sent), if !reads_client => Ok(()),
                () = listener.closed(), if !is_closing => {
                    is_closing = true;
                    Ok(())
                }
            }
        };
        match passed {
            Ok(()) => {}
            Err(end @ (RelayEnd::Service(_) | RelayEnd::Broken(_))) => {
                relay.end_coming(&end).await;
                gone = Some(end);
            }
            Err(end) => break end,
        }
    };
    relay.set_end(&end);
    let waits = !matches!(end, RelayEnd::Left | RelayEnd::Broken(_) | RelayEnd::Dropped(_));
    let is_refused = matches!(end, RelayEnd::Refused(..));
    let (to_client, to_service) = close_frames(end);
    if let Some(message) = to_client {
        relay.client.push(message);
    }
    if let (Some(service), Some(message)) = (&relay.service, to_service) {
        service.push(message);
    }
    let levels = (relay.client.level(), relay.service.as_ref().map(Outbox::level));
    // The outboxes end, and so do the futures that empty them.
    drop(relay);
    let client_closed = async {
        let output = if client_out.is_terminated() { None } else { sent(&mut client_out, levels.0).await };
        match output {
            // Messages cannot be read after the one that was refused.
            Some(output) if is_refused => {
                if let Ok(socket) = client_in.reunite(output) {
                    shut_down(socket).await;
                }
            }
            _ if waits => drain(Some(&mut client_in)).await,
            _ => {}
        }
    };
    let service_closed = async {
        if let (true, Some(level), false) = (waits, levels.1, service_out.is_terminated()) {
            sent(&mut service_out, level).await;
            drain(service_in.as_mut()).await;
        }
    };
    futures::future::join(client_closed, service_closed).await;
}

/// Waits until an outbox is empty, as long as its side takes a message from time to time; returns its sink then.
async fn sent<S>(
    output: &mut (impl Future<Output = (S, Result<(), Error>)> + Unpin),
    mut level: watch::Receiver<usize>,
) -> Option<S> {
    loop {
        tokio::select! {
            (sink, sent) = &mut *output => return sent.is_ok().then_some(sink),
            changed = level.changed() => if changed.is_err() { return None },
            () = tokio::time::sleep(CLOSE_TIME) => return None,
        }
    }
}

/// Ends what is sent to a side, and discards what it still sends.
async fn shut_down(socket: Socket) {
    let mut connection = socket.into_inner();
    _ = tokio::time::timeout(CLOSE_TIME, connection.shutdown()).await;
    let sizes = stream::unfold((connection, vec![0; READ_BYTES]), async |(mut connection, mut buffer)| {
        let size = connection.read(&mut buffer).await.ok().filter(|size| *size > 0)?;
        Some((size, (connection, buffer)))
    });
    discard_rest(sizes, DISCARDED_MAX_BYTES).await;
}

/// The close frames for the client and for the service; `None` where the connection is just closed, or a frame that came is answered by reading
/// on.
fn close_frames(end: RelayEnd) -> (Option<Message>, Option<Message>) {
    let frame = |code, reason: &str| {
        let end =
            reason.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= REASON_MAX_BYTES).last();
        let reason = reason.get(..end.unwrap_or_default()).unwrap_or_default();
        Message::Close(Some(CloseFrame { code, reason: reason.to_owned().into() }))
    };
    match end {
        RelayEnd::Client(frame) => (None, Some(Message::Close(frame))),
        RelayEnd::Service(frame) => (Some(Message::Close(frame)), None),
        RelayEnd::Refused(code, why) => (Some(frame(code, &why)), Some(frame(CloseCode::Away, "the client left"))),
        RelayEnd::Proxy => {
            let away = frame(CloseCode::Away, "the proxy ended");
            (Some(away.clone()), Some(away))
        }
        RelayEnd::Left | RelayEnd::Broken(_) | RelayEnd::Dropped(_) => (None, None),
    }
}

/// The next message of the service; never without one.
async fn next_of(input: Option<&mut SplitStream<Socket>>) -> Option<Result<Message, Error>> {
    match input {
        Some(input) => input.next().await,
        None => std::future::pending().await,
    }
}

/// Reads a side until it has closed the connection, or does not in time. Its close frame is answered by that.
async fn drain(input: Option<&mut SplitStream<Socket>>) {
    let Some(input) = input else { return };
    let rest = async { while let Some(Ok(_)) = input.next().await {} };
    _ = tokio::time::timeout(CLOSE_TIME, rest).await;
}

/// The reason why the replies of a connection that the service closed have no end.
fn closed_text(frame: Option<&CloseFrame>) -> String {
    match frame {
        Some(CloseFrame { code, reason }) if reason.is_empty() => format!("the service closed it with code {code}"),
        Some(CloseFrame { code, reason }) => format!("the service closed it with code {code}: {reason}"),
        None => "the service closed it".to_owned(),
    }
}
