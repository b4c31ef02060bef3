//! Answers from recordings: a mock of model services for other people's agents.
//!
//! In: captured sessions. Out: for a request the recorded reply, found by its upstream, path and exact body, else by its canonical body,
//! else by its body without what changes from run to run (dates, ids, paths, patterns of the user); else why there is none, such as the
//! nearest recorded request as a diff. It must never answer a request that is not recorded.

mod canonical;
mod difference;
mod normal;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use self::difference::changed_lines;
use self::normal::{ComparedBody, Normalizer};
use super::exchange::{WEBSOCKET, asked_protocol};
use super::upstreams::Upstreams;
use crate::config::Protocol;
use crate::event::{Address, Event, ReplyEnd, ReplyStatus};
use crate::model::{Coding, ErrorClass, unpack, unpack_body};
use crate::replay::came_body;
use crate::session::Session;

/// A request that is looked up, without secrets, as recordings are.
pub(super) struct AskedRequest<'a> {
    /// Name of the upstream that it is for.
    pub(super) upstream: &'a str,
    pub(super) method: &'a str,
    /// Path and query.
    pub(super) path: &'a str,
    /// The body as it was before it was compressed.
    pub(super) body: &'a [u8],
}

/// A recorded reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RecordedReply {
    /// Session and turn.
    pub(super) place: String,
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    /// The reads of the body.
    pub(super) pieces: Vec<Vec<u8>>,
    /// Reason why the connection broke after them, if it did.
    pub(super) broken: Option<String>,
    /// The client closed the connection: what would have followed is unknown.
    has_client_left: bool,
}

struct RecordedExchange {
    /// Unix times of its sending and its end, in ms: recordings are in this order.
    at_ms: (i64, i64),
    /// Session and turn.
    place: String,
    upstream: String,
    method: String,
    /// `None`: a non-chat request.
    protocol: Option<Protocol>,
    /// It is a non-chat request of a conversation: it fetched a deferred reply.
    is_fetch: bool,
    /// Path and query, without keys.
    path: String,
    /// The body as the client sent it, and as it was sent on where that is another one, as they were before they were compressed. Either is
    /// found.
    bodies: Vec<RecordedBody>,
    /// The reply, or why there is none to answer with.
    reply: Result<RecordedReply, String>,
}

struct RecordedBody {
    body: Vec<u8>,
    compared: ComparedBody,
}

impl RecordedExchange {
    /// The body of the client without what changes from run to run.
    fn as_client_sent(&self) -> &str {
        self.bodies.first().map(|recorded| recorded.compared.normal.as_str()).unwrap_or_default()
    }

    /// Returns whether one of its bodies is like this.
    fn has_body(&self, is_like: impl Fn(&RecordedBody) -> bool) -> bool {
        self.bodies.iter().any(is_like)
    }

    /// Returns whether the recording is of a request to this upstream. One of an upstream that this proxy does not have counts for all.
    fn is_for(&self, upstream: &str, upstreams: &Upstreams) -> bool {
        self.upstream == upstream || upstreams.all().iter().all(|known| known.name != self.upstream)
    }
}

/// A recording that answers a request.
struct Found<'a> {
    /// Its place among all.
    number: usize,
    recorded: &'a RecordedExchange,
    reply: &'a RecordedReply,
}

/// Error of a request that no recording answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miss {
    /// Path of the request.
    pub path: String,
    /// The reason, such as the nearest recorded request and how it differs.
    pub why: String,
}

impl std::fmt::Display for Miss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.why)
    }
}

/// The recorded replies.
pub struct Answers {
    /// In the order of their times.
    all: Vec<RecordedExchange>,
    normalizer: Normalizer,
    /// Those that have answered a request.
    used: Mutex<HashSet<usize>>,
    misses: Mutex<Vec<Miss>>,
}

/// Parts of a recorded turn.
struct Turn {
    at_ms: (i64, i64),
    method: String,
    path: String,
    bodies: Vec<Vec<u8>>,
    status: Option<u16>,
    headers: Vec<(String, String)>,
    pieces: Vec<Vec<u8>>,
    /// Bytes of the reply were not recorded, because they hold a secret.
    is_withheld: bool,
    end: Option<TurnOutcome>,
    /// Message of the recorded error.
    problem: Option<String>,
}

impl Turn {
    /// The protocol of a request that asks a model.
    fn protocol(&self) -> Option<Protocol> {
        asked_protocol(&self.method, &self.path)
    }

    /// The reply of the turn at this place. Errors: why there is none to answer with.
    fn reply(&mut self, place: &str) -> Result<RecordedReply, String> {
        let Some(status) = self.status else {
            let problem = self.problem.as_ref().and_then(|problem| problem.lines().next());
            return Err(problem.map_or_else(|| "no reply".to_owned(), |problem| format!("no reply: {problem}")));
        };
        let Some(end) = self.end.take() else { return Err("the end of the reply was not recorded".to_owned()) };
        if self.is_withheld {
            let why = "the bytes of the reply were not recorded: they hold a secret or cannot be searched for one";
            return Err(why.to_owned());
        }
        let (broken, has_client_left) = match end {
            TurnOutcome::Whole => (None, false),
            TurnOutcome::Broken(why) => (Some(why), false),
            TurnOutcome::ClientLeft => (Some("the recording ends here".to_owned()), true),
        };
        let (headers, pieces) = (std::mem::take(&mut self.headers), std::mem::take(&mut self.pieces));
        Ok(RecordedReply { place: place.to_owned(), status, headers, pieces, broken, has_client_left })
    }
}

/// End of a recorded reply.
enum TurnOutcome {
    Whole,
    /// The connection to the service broke.
    Broken(String),
    /// The client closed the connection, or the proxy ended.
    ClientLeft,
}

impl TurnOutcome {
    fn of(end: &ReplyEnd) -> Self {
        let Some(error) = &end.error else { return Self::Whole };
        let message = &error.message;
        match error.class.as_deref().map(ErrorClass::from_name) {
            Some(ErrorClass::Cancelled) => Self::ClientLeft,
            Some(ErrorClass::Network) => Self::Broken(message.clone()),
            // Errors of older recordings have no class: only these messages show that the reply is not whole.
            None if end.status == ReplyStatus::Cancelled || message.ends_with("the proxy ended") => Self::ClientLeft,
            None if message.starts_with("the connection to ") && message.contains(" broke: ") => {
                Self::Broken(message.clone())
            }
            // An error that the service answered with is an answer too.
            _ => Self::Whole,
        }
    }
}

impl Answers {
    /// Reads sessions; their requests are ordered by time, those of the same time as the files are. `patterns`: further texts that do not
    /// count, as regular expressions.
    ///
    /// Errors: a file that is not a captured session, bytes that cannot be read, an invalid pattern.
    pub fn read(files: &[PathBuf], patterns: &[String]) -> Result<Self, String> {
        let normalizer = Normalizer::read(patterns)?;
        let mut answers = Self { all: Vec::new(), normalizer, used: Mutex::default(), misses: Mutex::default() };
        for file in files {
            answers.add(file)?;
        }
        // Ids of sessions begin with seconds: they do not order the requests of one.
        // A final reply follows the polls before it.
        answers.all.sort_by_key(|recorded| (recorded.at_ms, recorded.is_fetch));
        Ok(answers)
    }

    /// Returns the number of requests it can answer.
    pub fn len(&self) -> usize {
        self.all.iter().filter(|recorded| recorded.reply.is_ok()).count()
    }

    /// Returns whether it has non-chat requests, such as lists of models.
    pub(super) fn has_other_requests(&self) -> bool {
        self.all.iter().any(|recorded| recorded.protocol.is_none() && !recorded.is_fetch)
    }

    /// Returns whether it has requests that fetched deferred replies.
    pub(super) fn has_fetched_replies(&self) -> bool {
        self.all.iter().any(|recorded| recorded.is_fetch)
    }

    /// Returns whether it has messages of WebSockets.
    pub(super) fn has_messages(&self) -> bool {
        self.all.iter().any(|recorded| recorded.method == WEBSOCKET)
    }

    /// Returns whether it can answer no request.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn add(&mut self, file: &Path) -> Result<(), String> {
        let session = Session::open(file).map_err(|error| error.to_string())?;
        let Some(captured) = &session.header.captured else {
            return Err(format!("{}: it is not a captured session; `replay` replays it", file.display()));
        };
        let mut turns: Vec<(Address, Turn)> = Vec::new();
        let mut bodies: HashMap<Address, Vec<u8>> = HashMap::new();
        for envelope in session.events() {
            let (at, at_ms) = (&envelope.address, envelope.at_ms);
            let fail = |why: String| format!("{} {at}: {why}", file.display());
            if let Event::RawRequest(raw) = &envelope.event {
                let base = raw.body.base.as_ref().and_then(|base| bodies.get(base)).map(Vec::as_slice);
                let body = unpack_body(&raw.body, base).map_err(fail)?;
                bodies.insert(at.clone(), body.clone());
                let came = raw.came.as_ref().map(came_body).transpose().map_err(fail)?;
                let coding = Coding::of_headers(&raw.headers);
                let plain = |body: Vec<u8>| coding.plain(&body).into_owned();
                let turn = Turn {
                    at_ms: (at_ms, at_ms),
                    method: raw.method.clone(),
                    path: raw.path.clone(),
                    bodies: came.into_iter().chain([body]).map(plain).collect(),
                    status: None,
                    headers: Vec::new(),
                    pieces: Vec::new(),
                    is_withheld: false,
                    end: None,
                    problem: None,
                };
                turns.push((at.clone(), turn));
                continue;
            }
            let Some((_, turn)) = turns.last_mut().filter(|(known, _)| known == at) else { continue };
            match &envelope.event {
                Event::RawReply(head) => (turn.status, turn.headers) = (Some(head.status), head.headers.clone()),
                Event::Wire(wire) => {
                    turn.is_withheld |= wire.frames.is_empty() && wire.bytes > 0;
                    turn.pieces.extend(unpack(wire).map_err(fail)?.into_iter().map(|(_, bytes)| bytes));
                }
                Event::ReplyEnd(end) => {
                    turn.at_ms.1 = at_ms;
                    turn.end = Some(TurnOutcome::of(end));
                    turn.problem = end.error.as_ref().map(|error| error.message.clone());
                }
                _ => {}
            }
        }
        let is_conversation = turns.iter().any(|(_, turn)| turn.protocol().is_some());
        for (at, mut turn) in turns {
            let protocol = turn.protocol();
            let place = format!("{} {at}", session.header.id);
            let reply = turn.reply(&place);
            let of = |body: Vec<u8>| RecordedBody { compared: self.normalizer.read_body(&body), body };
            let bodies = turn.bodies.into_iter().map(of).collect();
            self.all.push(RecordedExchange {
                at_ms: turn.at_ms,
                place,
                upstream: captured.upstream.clone(),
                protocol,
                is_fetch: is_conversation && protocol.is_none(),
                method: turn.method,
                path: turn.path,
                bodies,
                reply,
            });
        }
        Ok(())
    }

    /// The recorded reply to a request. The same request again gets the reply that was recorded next; the last one is repeated.
    /// `upstreams`: those of the proxy that is asked.
    pub(super) fn find(&self, asked: &AskedRequest<'_>, upstreams: &Upstreams) -> Result<RecordedReply, Box<Miss>> {
        let compared = self.normalizer.read_body(asked.body);
        let is_same = |recorded: &RecordedExchange| {
            recorded.method == asked.method
                && path_of(&recorded.path) == path_of(asked.path)
                && recorded.has_body(|recorded| recorded.compared.normal == compared.normal)
        };
        let same: Vec<(usize, &RecordedExchange)> =
            self.all.iter().enumerate().filter(|(_, recorded)| is_same(recorded)).collect();
        let is_for = |recorded: &RecordedExchange| {
            recorded.is_for(asked.upstream, upstreams) && form_of(&recorded.path) == form_of(asked.path)
        };
        let answering = same.iter().filter(|(_, recorded)| is_for(recorded)).filter_map(|(number, recorded)| {
            Some(Found { number: *number, recorded, reply: recorded.reply.as_ref().ok()? })
        });
        let mut found: Vec<Found<'_>> = answering.collect();
        prefer(&mut found, |found| found.recorded.upstream == asked.upstream);
        prefer(&mut found, |found| found.recorded.path == asked.path);
        prefer(&mut found, |found| found.recorded.has_body(|recorded| recorded.body == asked.body));
        prefer(&mut found, |found| {
            found.recorded.has_body(|recorded| recorded.compared.canonical == compared.canonical)
        });
        // What the client did not wait for is an answer only if there is no other.
        prefer(&mut found, |found| !found.reply.has_client_left);
        if let Some(reply) = self.next(&found) {
            return Ok(reply.clone());
        }
        let path = path_of(asked.path);
        let why = match (same.iter().find(|(_, recorded)| is_for(recorded)), same.first()) {
            (Some((_, RecordedExchange { place, reply: Err(why), .. })), _) => {
                format!("{place} contains this request to {path}, but {why}")
            }
            (_, Some((_, other))) => format!(
                "this request is not recorded for {} of {}; {} contains it for {} of {}",
                asked.path, asked.upstream, other.place, other.path, other.upstream
            ),
            (_, None) => format!("this request to {path} is not recorded; {}", self.nearest(asked, &compared.normal)),
        };
        let miss = Miss { path: path.to_owned(), why };
        self.misses.lock().unwrap_or_else(PoisonError::into_inner).push(miss.clone());
        Err(Box::new(miss))
    }

    /// The first of these that has not answered yet, else the last one.
    fn next<'a>(&self, found: &[Found<'a>]) -> Option<&'a RecordedReply> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let next = found.iter().find(|found| !used.contains(&found.number)).or(found.last())?;
        used.insert(next.number);
        Some(next.reply)
    }

    /// The nearest recorded request of the same protocol, and how it differs.
    fn nearest(&self, asked: &AskedRequest<'_>, normal: &str) -> String {
        let path = asked.path;
        let protocol = asked_protocol(asked.method, path);
        let of_protocol = self.all.iter().filter(|recorded| recorded.protocol == protocol);
        let likeness = |recorded: &&RecordedExchange| {
            let equal = |(a, b): &(&str, &str)| a == b;
            let recorded = recorded.as_client_sent();
            let equal = recorded.lines().zip(normal.lines()).filter(equal).count()
                + recorded.lines().rev().zip(normal.lines().rev()).take_while(equal).count();
            // A longer conversation has the lines of a shorter one, too.
            2 * equal.cast_signed() - recorded.lines().count().cast_signed()
        };
        let Some(nearest) = of_protocol.max_by_key(likeness) else {
            let what = if protocol.is_some() { "request of this protocol" } else { "non-chat request" };
            return format!("no {what} is recorded");
        };
        let is_same_path = path_of(&nearest.path) == path_of(path);
        let to = if is_same_path { String::new() } else { format!(" to {}", path_of(&nearest.path)) };
        let Some(lines) = changed_lines(nearest.as_client_sent(), normal) else {
            return format!("the nearest is {}{to} with the same body", nearest.place);
        };
        format!("the nearest is {}{to} (- recorded, + requested):\n{lines}", nearest.place)
    }

    /// The requests that were not answered so far.
    pub fn misses(&self) -> Vec<Miss> {
        self.misses.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Keeps those that are preferred, if there are any.
fn prefer(found: &mut Vec<Found<'_>>, is_preferred: impl Fn(&Found<'_>) -> bool) {
    if found.iter().any(&is_preferred) {
        found.retain(is_preferred);
    }
}

fn path_of(path: &str) -> &str {
    path.split('?').next().unwrap_or_default()
}

/// The form of the reply that the query asks for: with `alt=sse` Gemini streams events, without it a list; with `stream=true` a deferred
/// reply comes as events.
fn form_of(path: &str) -> Option<&str> {
    let (_, query) = path.split_once('?')?;
    query.split('&').find_map(|pair| pair.strip_prefix("alt=").or_else(|| (pair == "stream=true").then_some(pair)))
}
