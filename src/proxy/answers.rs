//! Answers from recordings: a mock of model services for other people's agents.
//!
//! In: captured sessions. Out: for a request the recorded reply, found by its exact body, else by its body without what changes from run to
//! run (dates, ids, paths, patterns of the user); else the nearest recorded request as a diff. It must never answer a request that is not
//! recorded.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use ptc_core::value::json;
use regex::Regex;
use similar::{ChangeTag, TextDiff};

use crate::config::Protocol;
use crate::event::{Address, Event, ReplyEnd, ReplyStatus};
use crate::model::{ErrorClass, protocol_of, unpack, unpack_body};
use crate::replay::came_body;
use crate::session::Session;

/// What changes from run to run, and what takes its place.
static VOLATILE: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    let rows = [
        (r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?(Z|[+-]\d{2}:?\d{2})?", "DATE"),
        (r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}", "ID"),
        (r"\b(call|toolu|msg|resp|chatcmpl|run|req|fc|rs)[_-][A-Za-z0-9_-]{6,}", "ID"),
        (r"(/(home|Users|tmp|var|private|root|work|runner)/|[A-Z]:\\\\)[A-Za-z0-9_./\\\\-]+", "PATH"),
        (r"\b\d{10,}\b", "NUMBER"),
    ];
    rows.into_iter().filter_map(|(pattern, word)| Some((Regex::new(pattern).ok()?, word))).collect()
});

/// Lines of a diff that are shown.
const DIFF_LINES: usize = 60;

/// A recorded reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RecordedReply {
    /// Session and turn.
    pub(super) place: String,
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    /// The reads of the body.
    pub(super) pieces: Vec<Vec<u8>>,
    /// Why the connection broke after them, if it did.
    pub(super) broken: Option<String>,
    /// The client closed the connection: what would have followed is unknown.
    has_client_left: bool,
}

struct Recorded {
    protocol: Option<Protocol>,
    path: String,
    /// The body as the client sent it, and as it was sent on where that is another one. Either is found.
    bodies: Vec<RecordedBody>,
    reply: RecordedReply,
}

struct RecordedBody {
    body: Vec<u8>,
    /// Without what changes from run to run.
    normal: String,
}

impl Recorded {
    /// The body of the client without what changes from run to run.
    fn as_client_sent(&self) -> &str {
        self.bodies.first().map(|recorded| recorded.normal.as_str()).unwrap_or_default()
    }
}

/// No recording has the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miss {
    /// What was asked.
    pub path: String,
    /// The nearest recorded request, and how it differs.
    pub nearest: String,
}

impl std::fmt::Display for Miss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no recording has this request to {}; {}", self.path, self.nearest)
    }
}

/// The recorded replies.
pub struct Answers {
    all: Vec<Recorded>,
    patterns: Vec<Regex>,
    /// How often each request was answered.
    used: Mutex<HashMap<String, usize>>,
    misses: Mutex<Vec<Miss>>,
}

/// What a recording is read from.
struct Turn {
    path: String,
    bodies: Vec<Vec<u8>>,
    status: Option<u16>,
    headers: Vec<(String, String)>,
    pieces: Vec<Vec<u8>>,
    end: Option<TurnOutcome>,
}

/// How a recorded reply ended.
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
    /// Reads sessions in order. `patterns`: further texts that do not count, as regular expressions.
    ///
    /// Errors: a file that is no captured session, bytes that cannot be read, a pattern that is none.
    pub fn read(files: &[PathBuf], patterns: &[String]) -> Result<Self, String> {
        let read =
            |pattern: &String| Regex::new(pattern).map_err(|error| format!("{pattern:?} is not a pattern: {error}"));
        let patterns = patterns.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let mut answers = Self { all: Vec::new(), patterns, used: Mutex::default(), misses: Mutex::default() };
        for file in files {
            answers.add(file)?;
        }
        Ok(answers)
    }

    /// How many requests are recorded.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Is none recorded?
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn add(&mut self, file: &Path) -> Result<(), String> {
        let session = Session::open(file).map_err(|error| error.to_string())?;
        if session.header.captured.is_none() {
            return Err(format!("{}: it is not a captured session; `replay` replays it", file.display()));
        }
        let id = session.header.id.to_string();
        let mut turns: Vec<(Address, Turn)> = Vec::new();
        let mut bodies: HashMap<Address, Vec<u8>> = HashMap::new();
        for envelope in session.events() {
            let at = &envelope.address;
            let fail = |why: String| format!("{} {at}: {why}", file.display());
            match &envelope.event {
                Event::RawRequest(raw) => {
                    let base = raw.body.base.as_ref().and_then(|base| bodies.get(base)).map(Vec::as_slice);
                    let body = unpack_body(&raw.body, base).map_err(fail)?;
                    bodies.insert(at.clone(), body.clone());
                    let came = raw.came.as_ref().map(came_body).transpose().map_err(fail)?;
                    let turn = Turn {
                        path: raw.path.clone(),
                        bodies: came.into_iter().chain([body]).collect(),
                        status: None,
                        headers: Vec::new(),
                        pieces: Vec::new(),
                        end: None,
                    };
                    turns.push((at.clone(), turn));
                }
                Event::RawReply(head) => {
                    if let Some((_, turn)) = turns.last_mut().filter(|(known, _)| known == at) {
                        (turn.status, turn.headers) = (Some(head.status), head.headers.clone());
                    }
                }
                Event::Wire(wire) => {
                    if let Some((_, turn)) = turns.last_mut().filter(|(known, _)| known == at) {
                        turn.pieces.extend(unpack(wire).map_err(fail)?.into_iter().map(|(_, bytes)| bytes));
                    }
                }
                Event::ReplyEnd(end) => {
                    if let Some((_, turn)) = turns.last_mut().filter(|(known, _)| known == at) {
                        turn.end = Some(TurnOutcome::of(end));
                    }
                }
                _ => {}
            }
        }
        for (at, turn) in turns {
            let (Some(status), Some(end)) = (turn.status, turn.end) else { continue };
            let (broken, has_client_left) = match end {
                TurnOutcome::Whole => (None, false),
                TurnOutcome::Broken(why) => (Some(why), false),
                TurnOutcome::ClientLeft => (Some("the recording ends here".to_owned()), true),
            };
            let place = format!("{id} {at}");
            let (headers, pieces) = (turn.headers, turn.pieces);
            let reply = RecordedReply { place, status, headers, pieces, broken, has_client_left };
            let of = |body: Vec<u8>| RecordedBody { normal: self.normal(&body), body };
            let bodies = turn.bodies.into_iter().map(of).collect();
            self.all.push(Recorded { protocol: protocol_of(&turn.path), path: turn.path, bodies, reply });
        }
        Ok(())
    }

    /// The body without what changes from run to run.
    fn normal(&self, body: &[u8]) -> String {
        let text = String::from_utf8_lossy(body);
        let mut text = json::parse(&text).map_or_else(|_| text.into_owned(), |json| json.to_pretty());
        for pattern in &self.patterns {
            text = pattern.replace_all(&text, "ANY").into_owned();
        }
        for (pattern, word) in VOLATILE.iter() {
            text = pattern.replace_all(&text, *word).into_owned();
        }
        text
    }

    /// The recorded reply to a request. The same request again gets the reply that was recorded next; the last one is repeated.
    pub(super) fn find(&self, path: &str, body: &[u8]) -> Result<RecordedReply, Box<Miss>> {
        let protocol = protocol_of(path);
        let same_path = |recorded: &&Recorded| path_of(&recorded.path) == path_of(path);
        let found_by = |is_same: &dyn Fn(&RecordedBody) -> bool| -> Vec<&Recorded> {
            self.all.iter().filter(same_path).filter(|recorded| recorded.bodies.iter().any(is_same)).collect()
        };
        let normal = self.normal(body);
        let exact = found_by(&|recorded| recorded.body == body);
        let mut found = if exact.is_empty() { found_by(&|recorded| recorded.normal == normal) } else { exact };
        // What the client did not wait for is an answer only if there is no other.
        if found.iter().any(|recorded| !recorded.reply.has_client_left) {
            found.retain(|recorded| !recorded.reply.has_client_left);
        }
        if let Some(last) = found.len().checked_sub(1) {
            let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
            let count = used.entry(format!("{} {normal}", path_of(path))).or_default();
            let place = (*count).min(last);
            *count += 1;
            return Ok(found[place].reply.clone());
        }
        let nearest = self.nearest(protocol, &normal);
        let miss = Miss { path: path_of(path).to_owned(), nearest };
        self.misses.lock().unwrap_or_else(PoisonError::into_inner).push(miss.clone());
        Err(Box::new(miss))
    }

    fn nearest(&self, protocol: Option<Protocol>, normal: &str) -> String {
        let of_protocol = self.all.iter().filter(|recorded| recorded.protocol == protocol);
        let likeness = |recorded: &&Recorded| {
            let equal = |(a, b): &(&str, &str)| a == b;
            let recorded = recorded.as_client_sent();
            recorded.lines().zip(normal.lines()).filter(equal).count()
                + recorded.lines().rev().zip(normal.lines().rev()).take_while(equal).count()
        };
        let Some(nearest) = of_protocol.max_by_key(likeness) else {
            return "no request of this protocol is recorded".to_owned();
        };
        let diff = TextDiff::from_lines(nearest.as_client_sent(), normal);
        let lines: Vec<String> = diff
            .iter_all_changes()
            .filter_map(|change| match change.tag() {
                ChangeTag::Equal => None,
                ChangeTag::Delete => Some(format!("- {}", change.value().trim_end())),
                ChangeTag::Insert => Some(format!("+ {}", change.value().trim_end())),
            })
            .collect();
        let more = lines.len().saturating_sub(DIFF_LINES);
        let shown = lines.iter().take(DIFF_LINES).cloned().collect::<Vec<_>>().join("\n");
        let more = if more > 0 { format!("\n({more} more lines differ)") } else { String::new() };
        format!("the nearest is {} (- recorded, + asked):\n{shown}{more}", nearest.reply.place)
    }

    /// The requests that were not found so far.
    pub fn misses(&self) -> Vec<Miss> {
        self.misses.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn path_of(path: &str) -> &str {
    path.split('?').next().unwrap_or_default()
}
