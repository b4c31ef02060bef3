//! One exchange: a request and its reply, as the connection reports it to the recorder.
//!
//! In: what passes. Out: notes, in order, and a line for users at the end. A client that leaves, or a proxy that ends, drops it: every
//! exchange that begins ends. It must never wait for the recorder unless its memory is full.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use hyper::body::Bytes;
use hyper::header::HeaderMap;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::body_secrets::body_secrets;
use super::headers;
use super::late_line::HeldLine;
use crate::config::Protocol;
use crate::event::Tokens;
use crate::model::{Coding, DECODED_MAX_BYTES, ErrorClass, Scrub, Secret, body_json, protocol_of, retries_text};
use crate::port::SystemClock;
use crate::server::ListenerEnd;

/// A body without known secrets.
pub(super) struct CleanBody {
    pub(super) bytes: Vec<u8>,
    /// Number of secrets that were masked.
    pub(super) masked: u64,
    /// Further change of the body, because it is compressed.
    pub(super) change: Option<BodyChange>,
}

/// Difference between the recorded form of a compressed body and the sent one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyChange {
    /// It is recorded uncompressed, because it contains a secret.
    Decoded,
    /// It is not recorded: it is too long to search.
    Omitted,
}

impl BodyChange {
    /// The notice of the turn.
    pub(super) fn notice(self) -> &'static str {
        match self {
            Self::Decoded => "the body is recorded uncompressed: it contains a known secret",
            Self::Omitted => "the body is not recorded: it is compressed and too long to be searched for secrets",
        }
    }
}

/// The method of a request that is a message of a WebSocket.
pub(super) const WEBSOCKET: &str = "WEBSOCKET";

/// The protocol of a chat request with this method and path; `None` for other requests.
pub(super) fn asked_protocol(method: &str, path: &str) -> Option<Protocol> {
    protocol_of(path).filter(|_| method == "POST" || method == WEBSOCKET)
}

/// A request that begins.
#[derive(Debug, Clone)]
pub(super) struct Begun {
    pub(super) upstream: String,
    pub(super) protocol: Protocol,
    pub(super) method: String,
    /// Path and query as the client sent them.
    pub(super) path: String,
    /// Address without query.
    pub(super) url: String,
    pub(super) headers: HeaderMap,
    /// The body as it is sent to the service.
    pub(super) body: Bytes,
    /// The body that the client sent, where it is another one.
    pub(super) came: Option<Bytes>,
    /// The secrets that must not be recorded, the client's keys among them.
    pub(super) scrub: Scrub,
    /// Notices about changes by rules and by the user.
    pub(super) notices: Vec<String>,
    /// The end of its connection, where that has several exchanges.
    pub(super) connection: ConnectionEnd,
}

/// The end of a connection with several exchanges, once it is known: those that are dropped after it have this end. `None` for the connection of
/// one exchange, which is dropped when the client leaves or the proxy is aborted.
pub(super) type ConnectionEnd = Option<Arc<OnceLock<ExchangeEnd>>>;

impl Begun {
    /// The protocol of a chat request; `None` for other requests.
    pub(super) fn asked_in(&self) -> Option<Protocol> {
        asked_protocol(&self.method, &self.path).map(|_| self.protocol)
    }

    /// Method and path without the query, which may hold keys.
    pub(super) fn method_and_path(&self) -> String {
        let path = self.path.split('?').next().unwrap_or_default();
        self.scrub.text(&format!("{} {path}", self.method))
    }

    /// Adds the secrets in the bodies to those that are known, and returns them.
    pub(super) fn add_body_secrets(&mut self) -> Vec<Secret> {
        let bodies = [Some((&self.body, self.body_coding())), self.came.as_ref().map(|came| (came, self.coding()))];
        let bodies = bodies.into_iter().flatten();
        let keys: Vec<_> = bodies.flat_map(|(body, coding)| body_secrets(&coding.plain(body))).collect();
        if !keys.is_empty() {
            self.scrub = self.scrub.clone().knowing(keys.iter().cloned());
        }
        keys
    }

    /// The body without known secrets: everything that is recorded of the request is read from it.
    pub(super) fn clean_body(&self) -> CleanBody {
        self.clean(&self.body, self.body_coding())
    }

    /// Returns the body that is sent as it was before it was compressed.
    pub(super) fn sent_plain(&self) -> Cow<'_, [u8]> {
        self.body_coding().plain(&self.body)
    }

    /// Returns a clean body of the request as it was before it was compressed.
    pub(super) fn plain<'b>(&self, clean: &'b CleanBody) -> Cow<'b, [u8]> {
        let coding = if clean.change.is_some() { Coding::Identity } else { self.body_coding() };
        coding.plain(&clean.bytes)
    }

    /// The body that the client sent, likewise, where it is another one.
    pub(super) fn clean_came(&self) -> Option<CleanBody> {
        self.came.as_ref().map(|came| self.clean(came, self.coding()))
    }

    /// The coding of the body that is sent: one that was changed here is not compressed.
    fn body_coding(&self) -> Coding {
        if self.came.is_some() { Coding::Identity } else { self.coding() }
    }

    pub(super) fn coding(&self) -> Coding {
        headers::coding(&self.headers)
    }

    fn clean(&self, body: &[u8], coding: Coding) -> CleanBody {
        if self.scrub.is_empty() {
            return CleanBody { bytes: body.to_vec(), masked: 0, change: None };
        }
        // Compressed bytes show no secret: such a body is recorded as it was sent only if it has none.
        if let Some(decoded) = coding.decoded(body, DECODED_MAX_BYTES) {
            if decoded.len() as u64 >= DECODED_MAX_BYTES {
                return CleanBody { bytes: Vec::new(), masked: 0, change: Some(BodyChange::Omitted) };
            }
            let clean = self.clean_plain(decoded);
            if clean.masked > 0 {
                return CleanBody { change: Some(BodyChange::Decoded), ..clean };
            }
        }
        self.clean_plain(body.to_vec())
    }

    fn clean_plain(&self, mut body: Vec<u8>) -> CleanBody {
        let masked = self.scrub.blot(&mut body) as u64;
        // Adjacent texts may make a secret together.
        let (bytes, masked) = match body_json(&body).ok().and_then(|json| self.scrub.json(&json)) {
            Some(clean) => (clean.to_text().into_bytes(), masked + 1),
            None => (body, masked),
        };
        CleanBody { bytes, masked, change: None }
    }

    /// The program that asks, as it names itself.
    pub(super) fn client(&self) -> String {
        client_of(&self.headers)
    }
}

/// The name of a program in its headers: the first word of `User-Agent`.
pub(super) fn client_of(headers: &HeaderMap) -> String {
    let agent = headers.get(hyper::header::USER_AGENT).and_then(|agent| agent.to_str().ok());
    agent.unwrap_or_default().split_whitespace().next().unwrap_or_default().to_owned()
}

/// End of an exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExchangeEnd {
    /// The whole reply passed.
    Complete,
    /// The client closed the connection.
    ClientLeft,
    /// The upstream's connection broke: why.
    Broken(String),
    /// The proxy was ended before.
    ProxyEnded,
    /// There was no reply, for this reason.
    NoReply(String),
    /// The proxy closed the connection, for this reason.
    Closed(String),
}

impl ExchangeEnd {
    /// The same end; a reason that came from outside has no secret.
    pub(super) fn scrubbed(self, scrub: &Scrub) -> Self {
        match self {
            Self::Broken(why) => Self::Broken(scrub.text(&why)),
            Self::NoReply(why) => Self::NoReply(scrub.text(&why)),
            Self::Closed(why) => Self::Closed(scrub.text(&why)),
            other => other,
        }
    }

    /// Its reason; `None` for a whole reply.
    pub(super) fn problem(&self) -> Option<String> {
        match self {
            Self::Complete => None,
            Self::ClientLeft => Some(CLIENT_LEFT.to_owned()),
            Self::ProxyEnded => Some(PROXY_ENDED.to_owned()),
            Self::Broken(why) | Self::NoReply(why) | Self::Closed(why) => Some(why.clone()),
        }
    }

    /// The class of the recorded error; `None` where the reply says what was wrong. A replay reads from it where a reply broke off.
    pub(super) fn class(&self) -> Option<ErrorClass> {
        match self {
            Self::Broken(_) => Some(ErrorClass::Network),
            Self::ClientLeft | Self::ProxyEnded | Self::Closed(_) => Some(ErrorClass::Cancelled),
            Self::Complete | Self::NoReply(_) => None,
        }
    }
}

/// The problem of an exchange whose client did not wait.
pub(super) const CLIENT_LEFT: &str = "the client closed the connection before the end of the reply";

/// The problem of an exchange that the end of the proxy ended.
pub(super) const PROXY_ENDED: &str = "the proxy ended before the end of the reply";

/// The problem of an exchange whose reply a rule cut.
pub(super) const RULE_CUT: &str = "a rule of the proxy cut the reply";

/// A message to the recorder.
pub(super) enum Note {
    Begun {
        id: u64,
        at_ms: i64,
        begun: Box<Begun>,
        /// It is recorded only if it fetches a deferred reply, and has this line if it does not.
        line: Option<HeldLine>,
        _room: Option<OwnedSemaphorePermit>,
    },
    Replied {
        id: u64,
        at_ms: i64,
        status: u16,
        headers: HeaderMap,
        by: Option<String>,
        came: Option<Box<Came>>,
    },
    /// A warning that is recorded with the turn.
    Notice {
        id: u64,
        at_ms: i64,
        text: String,
    },
    /// A copy of the bytes: a piece that shares the connection's buffer would hold all of it, a hundred times its own length.
    Piece {
        id: u64,
        at_ms: i64,
        ms: u64,
        bytes: Box<[u8]>,
        _room: Option<OwnedSemaphorePermit>,
    },
    /// The trailers of the service's reply.
    Trailers {
        id: u64,
        trailers: HeaderMap,
    },
    Ended {
        id: u64,
        at_ms: i64,
        ms: u64,
        end: ExchangeEnd,
    },
    Close,
}

impl Note {
    /// The id of the exchange; `None` for the end of all.
    pub(super) fn id(&self) -> Option<u64> {
        match self {
            Self::Begun { id, .. }
            | Self::Replied { id, .. }
            | Self::Notice { id, .. }
            | Self::Piece { id, .. }
            | Self::Trailers { id, .. }
            | Self::Ended { id, .. } => Some(*id),
            Self::Close => None,
        }
    }
}

/// A reply of the service that the user replaced.
pub(super) struct Came {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// An exchange while it passes.
pub(super) struct Exchange {
    pub(super) id: u64,
    pub(super) notes: mpsc::UnboundedSender<Note>,
    pub(super) room: Arc<Semaphore>,
    pub(super) started: Instant,
    pub(super) end: Option<ExchangeEnd>,
    /// Distinguishes a client that disconnected from a proxy that ended.
    pub(super) listener: ListenerEnd,
    /// The end of its connection.
    pub(super) connection: ConnectionEnd,
}

/// Takes room for bytes in the recorder's memory; none is needed when it has ended.
pub(super) async fn room_for(
    room: &Arc<Semaphore>,
    notes: &mpsc::UnboundedSender<Note>,
    bytes: usize,
) -> Option<OwnedSemaphorePermit> {
    let most = u32::try_from(super::capture::MEMORY_BYTES).unwrap_or(u32::MAX);
    let wanted = u32::try_from(bytes).unwrap_or(u32::MAX).min(most);
    tokio::select! {
        biased;
        permit = Arc::clone(room).acquire_many_owned(wanted) => permit.ok(),
        () = notes.closed() => None,
    }
}

/// Returns the end of an exchange that is dropped.
pub(super) fn dropped_end(listener: &ListenerEnd, connection: &ConnectionEnd) -> ExchangeEnd {
    let known = connection.as_ref().and_then(|connection| connection.get());
    let other = if listener.is_aborted() { ExchangeEnd::ProxyEnded } else { ExchangeEnd::ClientLeft };
    known.cloned().unwrap_or(other)
}

/// Returns the problem of a reply that is dropped before its end, with this text where the client left.
pub(super) fn left_text(listener: &ListenerEnd, connection: &ConnectionEnd, client_left: &'static str) -> String {
    let end = dropped_end(listener, connection);
    let problem = if end == ExchangeEnd::ClientLeft { None } else { end.problem() };
    problem.unwrap_or_else(|| client_left.to_owned())
}

/// Milliseconds since then.
pub(super) fn elapsed_ms(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

impl Exchange {
    /// The head of the reply came.
    pub(super) fn replied(&self, status: u16, headers: HeaderMap, by: Option<String>) {
        self.note(Note::Replied { id: self.id, at_ms: SystemClock.now(), status, headers, by, came: None });
    }

    /// Records a warning.
    pub(super) fn warn(&self, text: String) {
        self.note(Note::Notice { id: self.id, at_ms: SystemClock.now(), text });
    }

    /// Records a warning when the request was sent again.
    pub(super) fn warn_retries(&self, retries: u32, upstream: &str) {
        if let Some(text) = retries_text(upstream, retries) {
            self.warn(text);
        }
    }

    /// The user replaced the reply that came.
    pub(super) fn replaced(&self, status: u16, headers: HeaderMap, by: String, came: Came) {
        let (by, came) = (Some(by), Some(Box::new(came)));
        self.note(Note::Replied { id: self.id, at_ms: SystemClock.now(), status, headers, by, came });
    }

    /// A piece of the body came.
    pub(super) async fn piece(&self, bytes: &[u8]) {
        let ms = elapsed_ms(self.started);
        let room = room_for(&self.room, &self.notes, bytes.len()).await;
        self.note(Note::Piece { id: self.id, at_ms: SystemClock.now(), ms, bytes: bytes.into(), _room: room });
    }

    /// Like `piece`, without waiting, for a piece that is already in memory.
    pub(super) fn piece_in_hand(&self, bytes: &[u8]) {
        let ms = elapsed_ms(self.started);
        self.note(Note::Piece { id: self.id, at_ms: SystemClock.now(), ms, bytes: bytes.into(), _room: None });
    }

    /// Trailers came after the body.
    pub(super) fn trailers(&self, trailers: HeaderMap) {
        self.note(Note::Trailers { id: self.id, trailers });
    }

    /// It ended in this way.
    pub(super) fn end(mut self, end: ExchangeEnd) {
        self.end = Some(end);
    }

    fn note(&self, note: Note) {
        // Without a recorder the traffic passes all the same.
        _ = self.notes.send(note);
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let end = self.end.take().unwrap_or_else(|| dropped_end(&self.listener, &self.connection));
        self.note(Note::Ended { id: self.id, at_ms: SystemClock.now(), ms: elapsed_ms(self.started), end });
    }
}

/// An exchange that has ended, for users.
#[derive(Debug, Clone, PartialEq)]
pub struct ExchangeLine {
    /// The session that it is in, and its turn there; `None` when no session could be written.
    pub place: Option<(String, u32)>,
    /// Name of the upstream.
    pub upstream: String,
    /// The requested model; method and path of a non-chat request.
    pub model: String,
    /// HTTP status; `None` when no reply came.
    pub status: Option<u16>,
    /// From the request to the first byte of the body.
    pub first_ms: Option<u64>,
    /// From the request to the end.
    pub ms: u64,
    /// Tokens as the service counted them.
    pub usage: Option<Tokens>,
    /// Description of the problem.
    pub problem: Option<String>,
}

impl ExchangeLine {
    /// The line of a request without a reply so far.
    pub(super) fn begin(upstream: &str, model: String) -> Self {
        Self {
            place: None,
            upstream: upstream.to_owned(),
            model,
            status: None,
            first_ms: None,
            ms: 0,
            usage: None,
            problem: None,
        }
    }
}

impl fmt::Display for ExchangeLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some((session, turn)) => write!(f, "{session} t{turn}")?,
            None => f.write_str("not recorded")?,
        }
        let model = if self.model.is_empty() { "–" } else { &self.model };
        write!(f, "  {} {model}", self.upstream)?;
        match self.status {
            Some(status) => write!(f, "  {status}")?,
            None => f.write_str("  no reply")?,
        }
        if let Some(usage) = &self.usage {
            write!(f, "  {} in, {} out", usage.input, usage.output)?;
        }
        let first = self.first_ms.map(|first| format!(" (first byte {first} ms)")).unwrap_or_default();
        write!(f, "  {} ms{first}", self.ms)?;
        if let Some(problem) = &self.problem {
            write!(f, "  {problem}")?;
        }
        Ok(())
    }
}
