//! A WebSocket of the Responses API between a client and the service.
//!
//! In: the messages of both. Out: the same messages, each request with its reply as an exchange, decided about like one over HTTP. Pings are
//! answered on each side. It must never wait for a decision about a request before it passes on messages of the service.

use std::sync::Arc;
use std::time::Duration;

use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt as _, StreamExt};
use hyper::body::Bytes;
use hyper::header::HeaderMap;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::sync::Mutex;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use super::decision::{Decided, Decision};
use super::{BY_RULE, ProxyService, error_kind};
use crate::config::Protocol;
use crate::model::Scrub;
use crate::proxy::exchange::{Begun, ExchangeEnd, RULE_CUT, WEBSOCKET};
use crate::proxy::held::{self, BY_USER};
use crate::proxy::hold::HeldSide;
use crate::proxy::unrecorded::PendingRequest;
use crate::proxy::websocket::messages::{MessageHead, error_message, event_of, messages_of, written_messages};
use crate::proxy::websocket::replies::{OpenReplies, OpenReply};

/// Largest message, in bytes.
const MESSAGE_MAX_BYTES: usize = 64 << 20;

/// Bytes that are read at once.
const READ_BYTES: usize = 16 << 10;

/// Longest wait for the other side to close the connection, too.
const CLOSE_TIME: Duration = Duration::from_secs(2);

/// Bytes of a message that is not a request, in the warning about it.
const OTHER_MAX_BYTES: usize = 2_000;

type Socket = WebSocketStream<TokioIo<Upgraded>>;
type Input = SplitStream<Socket>;
type Output = Mutex<SplitSink<Socket, Message>>;

/// A connection that has become a WebSocket.
pub(super) async fn socket(connection: Upgraded, role: Role) -> Socket {
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BYTES)
        .write_buffer_size(0)
        .max_message_size(Some(MESSAGE_MAX_BYTES))
        .max_frame_size(Some(MESSAGE_MAX_BYTES));
    WebSocketStream::from_raw_socket(TokioIo::new(connection), role, Some(config)).await
}

/// The end of a connection.
enum RelayEnd {
    /// The client closed it.
    Client(Option<CloseFrame>),
    /// The connection to the client broke.
    Left,
    /// The service closed it.
    Service(Option<CloseFrame>),
    /// The connection to the service broke: why.
    Broken(String),
    /// The connection to the client is closed without a word: a decision of the user, of a rule, or of the recording.
    Dropped,
    /// The proxy ends, and no request runs.
    Proxy,
}

/// A WebSocket that passes.
pub(super) struct Relay {
    pub(super) service: Arc<ProxyService>,
    pub(super) upstream: String,
    /// Path and query, relative to the upstream's address.
    pub(super) path: String,
    /// The address without query.
    pub(super) url: String,
    /// The headers of the client's handshake.
    pub(super) asked: HeaderMap,
    /// The headers of the reply to it.
    pub(super) answered: HeaderMap,
    pub(super) scrub: Scrub,
}

/// The sending sides of a connection, and its replies.
struct Sides {
    client: Output,
    /// `None` where recordings answer.
    service: Option<Output>,
    replies: OpenReplies,
}

impl Sides {
    /// Sends a message to the client.
    async fn send(&self, text: impl Into<Utf8Bytes>) -> Result<(), RelayEnd> {
        let sent = self.client.lock().await.send(Message::Text(text.into())).await;
        sent.map_err(|_| RelayEnd::Left)
    }

    /// Sends a message to the service.
    async fn send_on(&self, message: Message) -> Result<(), RelayEnd> {
        let Some(service) = &self.service else { return Ok(()) };
        service.lock().await.send(message).await.map_err(|error| RelayEnd::Broken(error.to_string()))
    }
}

impl Relay {
    /// Passes messages until a side ends the connection.
    pub(super) async fn run(self, client: Socket, service: Option<Socket>) {
        let (client, mut client_in) = client.split();
        let (service, mut service_in) = service.map(StreamExt::split).unzip();
        let sides =
            Sides { client: Mutex::new(client), service: service.map(Mutex::new), replies: OpenReplies::default() };
        let closing = async {
            self.service.end.closed().await;
            sides.replies.idle().await;
        };
        let end = tokio::select! {
            end = self.pass_requests(&sides, &mut client_in) => end,
            end = self.pass_replies(&sides, service_in.as_mut()) => end,
            () = closing => RelayEnd::Proxy,
        };
        match end {
            RelayEnd::Client(frame) => {
                _ = sides.send_on(Message::Close(frame)).await;
                _ = sides.client.lock().await.close().await;
                closed(service_in.as_mut()).await;
            }
            RelayEnd::Service(frame) => {
                sides.replies.end_all(&closed_text(&self.upstream, frame.as_ref()));
                _ = sides.client.lock().await.send(Message::Close(frame)).await;
                closed(Some(&mut client_in)).await;
            }
            RelayEnd::Broken(why) => sides.replies.end_all(&why),
            RelayEnd::Proxy => {
                let frame =
                    Some(CloseFrame { code: CloseCode::Away, reason: Utf8Bytes::from_static("the proxy ended") });
                _ = sides.send_on(Message::Close(frame.clone())).await;
                _ = sides.client.lock().await.send(Message::Close(frame)).await;
                closed(Some(&mut client_in)).await;
            }
            RelayEnd::Left | RelayEnd::Dropped => {}
        }
    }

    /// Passes the messages of the client.
    async fn pass_requests(&self, sides: &Sides, input: &mut Input) -> RelayEnd {
        while let Some(message) = input.next().await {
            let passed = match message {
                Ok(Message::Text(text)) => self.pass_request(sides, text).await,
                Ok(Message::Binary(bytes)) => {
                    sides.replies.warn(None, format!("the client sent a binary message of {} bytes", bytes.len()));
                    sides.send_on(Message::Binary(bytes)).await
                }
                Ok(Message::Close(frame)) => return RelayEnd::Client(frame),
                Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => Ok(()),
                Err(error) => {
                    tracing::debug!(%error, "the client's WebSocket ended");
                    return RelayEnd::Left;
                }
            };
            if let Err(end) = passed {
                return end;
            }
        }
        RelayEnd::Left
    }

    /// Passes a message of the client: a request is decided about, others are sent on.
    async fn pass_request(&self, sides: &Sides, text: Utf8Bytes) -> Result<(), RelayEnd> {
        let Some(head) = MessageHead::read(&text).filter(MessageHead::is_request) else {
            let stream_id = MessageHead::read(&text).and_then(|head| head.stream_id);
            let shown: String = text.chars().take(OTHER_MAX_BYTES).collect();
            sides.replies.warn(stream_id.as_ref(), format!("the client sent meanwhile: {shown}"));
            return sides.send_on(Message::Text(text)).await;
        };
        let (stream_id, running) = (head.stream_id, sides.replies.begin());
        let (service, protocol) = (&*self.service, Protocol::Responses);
        let mut pending =
            PendingRequest::begin(WEBSOCKET, &self.path, self.scrub.clone(), &service.unrecorded, &service.end);
        pending.set_upstream(&self.upstream);
        let came = Bytes::from(text);
        let effects = service.effects_of_rules(&self.upstream, &self.path, protocol, &came);
        let begun = Begun {
            upstream: self.upstream.clone(),
            protocol,
            method: WEBSOCKET.to_owned(),
            path: self.path.clone(),
            url: self.url.clone(),
            headers: self.asked.clone(),
            body: effects.body.clone().map_or_else(|| came.clone(), Bytes::from),
            came: effects.body.is_some().then_some(came),
            scrub: self.scrub.clone(),
            notices: effects.notices.clone(),
        };
        let Decided { decision, exchange, asks, .. } = service.decide(begun, &effects, &mut pending).await;
        let (is_held, cut) = (service.holds_at(HeldSide::Reply, &effects).is_some(), effects.cut);
        let (status, held, bytes, has_begun) = (101, Vec::new(), 0, false);
        let mut reply = OpenReply { exchange, pending, asks, status, is_held, held, cut, bytes, has_begun, running };
        let stream = stream_id.as_deref();
        match decision {
            Decision::Upstream(body) => {
                let Ok(text) = Utf8Bytes::try_from(body) else { return Err(RelayEnd::Dropped) };
                // The reply may begin at once.
                sides.replies.add(stream_id, reply);
                sides.send_on(Message::Text(text)).await
            }
            Decision::Recorded(recorded) => {
                let (texts, end) = (messages_of(&recorded.pieces), recorded.broken);
                self.answer(sides, reply, None, texts).await?;
                // What followed is unknown.
                if end.is_some() { Err(RelayEnd::Dropped) } else { Ok(()) }
            }
            Decision::NotRecorded(why) => {
                let text = error_message(404, "not_recorded", &why, stream);
                reply.status = 404;
                self.answer(sides, reply, None, vec![text]).await
            }
            Decision::Written(text) => {
                let texts = written_messages(&reply.asks.written(&text), stream);
                self.answer(sides, reply, Some(BY_USER), texts).await
            }
            Decision::Failed(status, message) => {
                let text = error_message(status, error_kind(status), &message, stream);
                reply.status = status;
                self.answer(sides, reply, Some(BY_RULE), vec![text]).await
            }
            Decision::Dropped(why) => {
                reply.end(ExchangeEnd::NoReply(why.to_owned()));
                Err(RelayEnd::Dropped)
            }
            // Only Ollama has such requests.
            Decision::Loaded => Ok(()),
        }
    }

    /// Answers a request in place of the service.
    async fn answer(
        &self,
        sides: &Sides,
        mut reply: OpenReply,
        by: Option<&str>,
        texts: Vec<String>,
    ) -> Result<(), RelayEnd> {
        if let Some(exchange) = &reply.exchange {
            exchange.replied(101, self.answered.clone(), by.map(str::to_owned));
            reply.has_begun = true;
        }
        for text in texts {
            reply = self.pass_message(sides, reply, text.into()).await?;
        }
        reply.end(ExchangeEnd::Complete);
        Ok(())
    }

    /// Passes the messages of the service; never ends without one.
    async fn pass_replies(&self, sides: &Sides, input: Option<&mut Input>) -> RelayEnd {
        let Some(input) = input else { return std::future::pending().await };
        while let Some(message) = input.next().await {
            let passed = match message {
                Ok(Message::Text(text)) => self.pass_reply(sides, text).await,
                Ok(Message::Binary(bytes)) => {
                    let sent = sides.client.lock().await.send(Message::Binary(bytes)).await;
                    sent.map_err(|_| RelayEnd::Left)
                }
                Ok(Message::Close(frame)) => return RelayEnd::Service(frame),
                Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => Ok(()),
                Err(error) => return RelayEnd::Broken(error.to_string()),
            };
            if let Err(end) = passed {
                return end;
            }
        }
        RelayEnd::Broken("the service closed the connection".to_owned())
    }

    /// Passes a message of the service.
    async fn pass_reply(&self, sides: &Sides, text: Utf8Bytes) -> Result<(), RelayEnd> {
        let Some(head) = MessageHead::read(&text) else { return sides.send(text).await };
        let Some((stream_id, mut reply)) = sides.replies.take(&head) else { return sides.send(text).await };
        let is_last = head.is_last();
        if !reply.has_begun {
            reply.has_begun = true;
            reply.is_held |= self.service.holds.as_ref().is_some_and(|holds| holds.is_closed(HeldSide::Reply));
            if let (Some(exchange), false) = (&reply.exchange, reply.is_held) {
                exchange.replied(101, self.answered.clone(), None);
            }
        }
        if reply.is_held {
            reply.held.push(event_of(&text));
            if is_last {
                return self.hold(sides, reply).await;
            }
            sides.replies.give_back(stream_id, reply);
            return Ok(());
        }
        reply = self.pass_message(sides, reply, text).await?;
        if is_last {
            reply.end(ExchangeEnd::Complete);
        } else {
            sides.replies.give_back(stream_id, reply);
        }
        Ok(())
    }

    /// Records a message of a reply and sends it to the client, unless a rule cuts the reply before it.
    async fn pass_message(&self, sides: &Sides, mut reply: OpenReply, text: Utf8Bytes) -> Result<OpenReply, RelayEnd> {
        reply.bytes += text.len();
        if reply.cut.is_some_and(|cut| reply.bytes > cut) {
            reply.end(ExchangeEnd::Broken(RULE_CUT.to_owned()));
            return Err(RelayEnd::Dropped);
        }
        if let Some(exchange) = &reply.exchange {
            exchange.piece(event_of(&text).as_bytes()).await;
        }
        sides.send(text).await.map(|()| reply)
    }

    /// Waits for the decision about a reply that has come, and passes on what was decided.
    async fn hold(&self, sides: &Sides, reply: OpenReply) -> Result<(), RelayEnd> {
        let OpenReply { exchange, pending, asks, held, running, .. } = reply;
        let Some(holds) = &self.service.holds else { return Err(RelayEnd::Dropped) };
        let body = String::from_utf8_lossy(&asks.body);
        let stream_id = MessageHead::read(&body).and_then(|head| head.stream_id);
        let written = |text: &str| {
            let texts = written_messages(&asks.written(text), stream_id.as_deref());
            texts.iter().map(|text| Bytes::from(event_of(text))).collect()
        };
        let came = (held.into_iter().map(Bytes::from).collect(), exchange);
        let head = (101, self.answered.clone());
        let passed = held::hold_events(holds, head, came, &asks, &self.upstream, written).await;
        let texts = messages_of(&passed.ok_or(RelayEnd::Dropped)?);
        let bytes: usize = texts.iter().map(String::len).sum();
        for text in texts {
            sides.send(text).await?;
        }
        pending.end(101, bytes as u64, None);
        drop(running);
        Ok(())
    }
}

/// Waits until the other side has closed the connection, too.
async fn closed(input: Option<&mut Input>) {
    let Some(input) = input else { return };
    let rest = async { while let Some(Ok(_)) = input.next().await {} };
    // A side that does not answer is left.
    _ = tokio::time::timeout(CLOSE_TIME, rest).await;
}

/// The reason why the replies of a connection have no end.
fn closed_text(upstream: &str, frame: Option<&CloseFrame>) -> String {
    match frame {
        Some(CloseFrame { code, reason }) if reason.is_empty() => {
            format!("{upstream} closed the WebSocket with {code}")
        }
        Some(CloseFrame { code, reason }) => format!("{upstream} closed the WebSocket with {code}: {reason}"),
        None => format!("{upstream} closed the WebSocket"),
    }
}
