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
use crate::event::{Address, Event};
use crate::model::{protocol_of, unpack, unpack_body};
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
    is_whole: bool,
}

impl Answers {
    /// Reads sessions in order. `patterns`: further texts that do not count, as regular expressions.
    ///
    /// Errors: a file that is no captured session, bytes that cannot be read, a pattern that is none.
    pub fn read(files: &[PathBuf], patterns: &[String]) -> Result<Self, String> {
        let read =
            |pattern: &String| Regex::new(pattern).map_err(|error| format!("{pattern:?} is no pattern: {error}"));
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
                        is_whole: false,
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
                        // An error that the service answered with is an answer too.
                        turn.is_whole = end.error.is_none() || turn.status.is_some_and(|status| status >= 400);
                    }
                }
                _ => {}
            }
        }
        for (at, turn) in turns {
            let Some(status) = turn.status.filter(|_| turn.is_whole) else { continue };
            let place = format!("{id} {at}");
            let reply = RecordedReply { place, status, headers: turn.headers, pieces: turn.pieces };
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
        let found = if exact.is_empty() { found_by(&|recorded| recorded.normal == normal) } else { exact };
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
