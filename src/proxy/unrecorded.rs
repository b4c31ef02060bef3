//! Requests that pass without a record: non-chat requests (lists of models, embeddings, token counts, files) unless the user wants them
//! recorded too, and all requests where nothing is recorded.
//!
//! In: a request's method and path, its reply on the way. Out: a line for users when the reply has ended. It must never hold a piece back.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use http_body_util::BodyExt as _;
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};

use super::exchange::{CLIENT_LEFT, ConnectionEnd, elapsed_ms, left_text};
use super::headers::content_length;
use crate::model::Scrub;
use crate::server::{Body, BodyError, ListenerEnd, Reply};
use crate::workbench::format::inflected;

/// The problem of a request without a reply.
const LEFT_EARLY: &str = "the client closed the connection before the reply";

/// A request without a record, for users.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnrecordedRequest {
    /// `GET`, `POST`, ….
    pub method: String,
    /// Its path without the query, which may hold keys.
    pub path: String,
    /// Name of the upstream; `None` when there is none for the path.
    pub upstream: Option<String>,
    /// The recorded turn that answered in the upstream's place.
    pub from: Option<String>,
    /// Number of times the request was sent again because the service closed a reused connection before it replied.
    pub retries: u32,
    /// HTTP status; `None` when the client left before the reply began.
    pub status: Option<u16>,
    /// Bytes of the reply's body that were passed on.
    pub bytes: u64,
    /// From the request to the end of the reply.
    pub ms: u64,
    /// Reason why the reply is not whole.
    pub problem: Option<String>,
}

impl fmt::Display for UnrecordedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.from {
            Some(place) => write!(f, "from {place}")?,
            None => f.write_str("not recorded")?,
        }
        let upstream = self.upstream.as_deref().unwrap_or("–");
        write!(f, "  {upstream} {} {}", self.method, self.path)?;
        if self.retries > 0 {
            write!(f, " (sent {} times)", self.retries + 1)?;
        }
        match self.status {
            Some(status) => write!(f, "  {status}")?,
            None => f.write_str("  no reply")?,
        }
        write!(f, "  {} {}  {} ms", self.bytes, inflected(self.bytes, "byte"), self.ms)?;
        match &self.problem {
            Some(problem) => write!(f, "  {problem}"),
            None => Ok(()),
        }
    }
}

/// Gets requests without a record when they have ended.
pub type UnrecordedReport = Arc<dyn Fn(UnrecordedRequest) + Send + Sync>;

/// A request until it is known whether it is recorded. If it is dropped before its reply, the client closed the connection or the proxy
/// ended.
pub(super) struct PendingRequest {
    line: UnrecordedRequest,
    scrub: Scrub,
    started: Instant,
    listener: ListenerEnd,
    connection: ConnectionEnd,
    /// `None` when the request is recorded, or its reply is followed: another place reports it.
    report: Option<UnrecordedReport>,
}

impl PendingRequest {
    /// A request begins. `scrub` knows the secrets of the request.
    pub(super) fn begin(
        method: &str,
        path_and_query: &str,
        scrub: Scrub,
        report: &UnrecordedReport,
        listener: &ListenerEnd,
    ) -> Self {
        let path = scrub.text(path_and_query.split('?').next().unwrap_or_default());
        let line = UnrecordedRequest { method: method.to_owned(), path, ..UnrecordedRequest::default() };
        let (listener, report) = (listener.clone(), Some(Arc::clone(report)));
        Self { line, scrub, started: Instant::now(), listener, connection: None, report }
    }

    /// The secrets of the machine and of the request.
    pub(super) fn scrub(&self) -> &Scrub {
        &self.scrub
    }

    /// Sets the end of its connection.
    pub(super) fn set_connection(&mut self, connection: ConnectionEnd) {
        self.connection = connection;
    }

    /// Sets the upstream that gets it.
    pub(super) fn set_upstream(&mut self, name: &str) {
        self.line.upstream = Some(name.to_owned());
    }

    /// Sets the recorded turn that answers it.
    pub(super) fn set_answered_from(&mut self, place: &str) {
        self.line.from = Some(place.to_owned());
    }

    /// Sets how often it was sent again.
    pub(super) fn set_retries(&mut self, retries: u32) {
        self.line.retries = retries;
    }

    /// It is recorded: the recorder reports its line.
    pub(super) fn set_recorded(&mut self) {
        self.report = None;
    }

    /// Takes it over from the handler of a connection, where its end is not the end of a reply.
    pub(super) fn take(&mut self) -> Self {
        let (scrub, listener, connection) = (self.scrub.clone(), self.listener.clone(), self.connection.clone());
        let (line, report) = (std::mem::take(&mut self.line), self.report.take());
        Self { line, scrub, started: self.started, listener, connection, report }
    }

    /// Reports its end, unless it is recorded.
    pub(super) fn end(mut self, status: u16, bytes: u64, problem: Option<String>) {
        let Some(report) = self.report.take() else { return };
        let line = std::mem::take(&mut self.line);
        report(UnrecordedRequest { status: Some(status), bytes, ms: elapsed_ms(self.started), problem, ..line });
    }

    /// Returns the reply, whose end is reported unless it is recorded.
    pub(super) fn follow(mut self, reply: Reply) -> Reply {
        let Some(report) = self.report.take() else { return reply };
        let mut line = std::mem::take(&mut self.line);
        line.status = Some(reply.status().as_u16());
        let length = content_length(reply.headers());
        // The bodies of these are never asked for.
        let is_empty = line.method == "HEAD" || [204, 304].contains(&reply.status().as_u16());
        let (started, listener) = (self.started, self.listener.clone());
        reply.map(|inner| {
            let is_over = is_empty || inner.is_end_stream();
            MeteredBody { inner, line, started, length, is_over, listener, report }.boxed_unsync()
        })
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        let Some(report) = self.report.take() else { return };
        let mut line = std::mem::take(&mut self.line);
        line.ms = elapsed_ms(self.started);
        line.problem = Some(left_text(&self.listener, &self.connection, LEFT_EARLY));
        report(line);
    }
}

/// The body of a reply, counted as it is passed on.
struct MeteredBody {
    inner: Body,
    line: UnrecordedRequest,
    started: Instant,
    /// Bytes that the head promises.
    length: Option<u64>,
    is_over: bool,
    listener: ListenerEnd,
    report: UnrecordedReport,
}

impl HttpBody for MeteredBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(context);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                self.line.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
                // Nothing is asked for after trailers.
                self.is_over |= frame.is_trailers();
            }
            Poll::Ready(Some(Err(error))) => self.line.problem = Some(error.to_string()),
            Poll::Ready(None) => self.is_over = true,
            Poll::Pending => {}
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

impl Drop for MeteredBody {
    fn drop(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        line.ms = elapsed_ms(self.started);
        // Bytes after the promised ones are not asked for.
        let is_whole = self.is_over || self.inner.is_end_stream() || self.length == Some(line.bytes);
        if !is_whole && line.problem.is_none() {
            line.problem = Some(left_text(&self.listener, &None, CLIENT_LEFT));
        }
        (self.report)(line);
    }
}
