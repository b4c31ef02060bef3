//! Replies in the background: a service accepts a request, and other requests fetch the reply by its id.
//!
//! In: requests whose replies were deferred, requests that fetch, and their notes. Out: the deferred reply that a request fetches, and
//! whether the service has finished it. It must never take a reply that the service is still working on for a final one.

use std::collections::VecDeque;

use ptc_core::value::Json;

use super::conversations::ConversationId;
use super::exchange::{Begun, ExchangeEnd, Note};
use super::late_line::HeldLine;
use super::reply::fetched_reader;
use crate::config::Protocol;
use crate::model::{CapturedReply, CapturedRequest, ReplyOutcome, Scrub, protocol_of};

/// Maximum number of deferred replies that requests can fetch; the newest are kept.
const DEFERRED_MOST: usize = 4_096;

/// A reply that the service gives later.
#[derive(Debug, Clone)]
pub(super) struct DeferredReply {
    pub(super) conversation: ConversationId,
    /// Number of the turn whose reply it is.
    pub(super) turn: u32,
    /// The model that was asked.
    pub(super) model: String,
    pub(super) id: String,
    /// Name of the upstream.
    upstream: String,
    /// Path of the requests that fetch it, without a query.
    path: String,
    /// The secrets of its request, which the reply may repeat.
    scrub: Scrub,
}

impl PartialEq for DeferredReply {
    fn eq(&self, other: &Self) -> bool {
        let place = |reply: &Self| (reply.conversation, reply.turn);
        place(self) == place(other) && self.upstream == other.upstream && self.path == other.path
    }
}

impl Eq for DeferredReply {}

impl DeferredReply {
    /// The reply with this id to a request, which is that of a turn.
    pub(super) fn of(begun: &Begun, id: &str, conversation: ConversationId, turn: u32, model: &str) -> Self {
        Self {
            conversation,
            turn,
            model: model.to_owned(),
            id: id.to_owned(),
            upstream: begun.upstream.clone(),
            path: format!("{}/{id}", path_of(&begun.path)),
            scrub: begun.scrub.clone(),
        }
    }
}

/// The warning of a turn whose reply is deferred, in this state where it is known.
pub(super) fn deferred_text(state: Option<&str>, reply: Option<&DeferredReply>) -> String {
    let state = state.map(|state| format!(" ({state})")).unwrap_or_default();
    match reply {
        Some(DeferredReply { path, .. }) => format!(
            "the service answers in the background{state}: its reply is in this session only if a GET {path} fetches it in a further turn"
        ),
        None => {
            format!("the service answers in the background{state} and names no id: its reply is not in this session")
        }
    }
}

/// Returns whether the service continues the reply when the client leaves.
pub(super) fn is_background(begun: &Begun, request: &CapturedRequest) -> bool {
    let background = request.frame.json().get("background").map(Json::to_text);
    begun.asked_in() == Some(Protocol::Responses) && background.as_deref() == Some("true")
}

/// Returns whether requests with this method and path fetch a reply by its id.
pub(super) fn is_fetch(method: &str, path_and_query: &str) -> bool {
    let (parent, id) = path_of(path_and_query).rsplit_once('/').unwrap_or_default();
    method == "GET" && !id.is_empty() && protocol_of(parent) == Some(Protocol::Responses)
}

/// A path without query and without `/` at its end.
fn path_of(path_and_query: &str) -> &str {
    path_and_query.split('?').next().unwrap_or_default().trim_end_matches('/')
}

/// Replies that were deferred and not fetched, oldest first.
#[derive(Debug, Default)]
pub(super) struct DeferredReplies(VecDeque<DeferredReply>);

impl DeferredReplies {
    /// Adds a reply.
    pub(super) fn add(&mut self, reply: DeferredReply) {
        self.0.retain(|known| known.upstream != reply.upstream || known.path != reply.path);
        if self.0.len() >= DEFERRED_MOST {
            self.0.pop_front();
        }
        self.0.push_back(reply);
    }

    /// Adds a reply, if there is one.
    pub(super) fn add_any(&mut self, reply: Option<DeferredReply>) {
        if let Some(reply) = reply {
            self.add(reply);
        }
    }

    /// Returns the reply that a request fetches.
    pub(super) fn fetched_by(&self, begun: &Begun) -> Option<&DeferredReply> {
        let path = path_of(&begun.path);
        self.0.iter().find(|reply| begun.method == "GET" && reply.upstream == begun.upstream && reply.path == path)
    }

    /// Returns whether a reply has not been fetched.
    pub(super) fn contains(&self, reply: &DeferredReply) -> bool {
        self.0.contains(reply)
    }

    /// Removes a reply that was fetched.
    pub(super) fn remove(&mut self, reply: &DeferredReply) {
        self.0.retain(|known| known != reply);
    }

    /// Removes the replies of a conversation that has ended.
    pub(super) fn forget(&mut self, conversation: ConversationId) {
        self.0.retain(|known| known.conversation != conversation);
    }
}

/// A request that fetches a deferred reply, while it is unknown whether the service has finished that.
pub(super) struct HeldFetch {
    /// Unix time of its sending, in ms.
    at_ms: i64,
    begun: Box<Begun>,
    deferred: DeferredReply,
    /// `None`: it is recorded in any case.
    line: Option<HeldLine>,
    /// Its notes between the first and the last.
    notes: Vec<Note>,
    /// Bytes of the reply in them.
    bytes: usize,
    /// From the request to the last piece of the reply.
    last_ms: u64,
    reader: Option<CapturedReply>,
    /// The outcome, known from the end mark of the reply on.
    outcome: Option<ReplyOutcome>,
    /// Unix time in ms, ms since the request, and how it ended.
    end: Option<(i64, u64, ExchangeEnd)>,
}

/// Parts of a held request for the recorder.
pub(super) struct ReleasedFetch {
    pub(super) at_ms: i64,
    pub(super) begun: Box<Begun>,
    pub(super) deferred: DeferredReply,
    pub(super) line: Option<HeldLine>,
    /// All notes but the first.
    pub(super) notes: Vec<Note>,
}

impl HeldFetch {
    /// A request that fetches this reply.
    pub(super) fn new(at_ms: i64, mut begun: Box<Begun>, deferred: DeferredReply, line: Option<HeldLine>) -> Self {
        begun.add_body_secrets();
        begun.scrub = begun.scrub.clone().with_secrets_of(&deferred.scrub);
        Self {
            at_ms,
            begun,
            deferred,
            line,
            notes: Vec::new(),
            bytes: 0,
            last_ms: 0,
            reader: None,
            outcome: None,
            end: None,
        }
    }

    /// Takes a note before the last one; returns the outcome of the reply if this note contains its end mark.
    pub(super) fn take(&mut self, note: Note) -> Option<&ReplyOutcome> {
        if let Note::Replied { status, headers, .. } = &note {
            self.reader = Some(fetched_reader(*status, headers, self.begun.scrub.clone()));
        }
        let note = match note {
            Note::Piece { id, at_ms, ms, bytes, .. } => {
                if let Some(reader) = &mut self.reader {
                    _ = reader.push(&bytes);
                }
                self.bytes += bytes.len();
                self.last_ms = ms;
                // A held piece must not take the room of other pieces.
                Note::Piece { id, at_ms, ms, bytes, _room: None }
            }
            other => other,
        };
        self.notes.push(note);
        if self.outcome.is_some() {
            return None;
        }
        self.outcome = self.reader.as_ref()?.outcome_at_end_mark().filter(ReplyOutcome::is_final);
        self.outcome.as_ref()
    }

    /// Takes the end of the exchange.
    pub(super) fn end(&mut self, at_ms: i64, ms: u64, end: ExchangeEnd) {
        if self.end.is_some() {
            return;
        }
        if let Some(reader) = self.reader.take() {
            self.outcome = Some(reader.finish().1);
        }
        // The service has finished the reply, whoever waited for the last bytes.
        let end = if self.is_final() { ExchangeEnd::Complete } else { end };
        self.end = Some((at_ms, ms, end));
    }

    /// Ends the exchange at this time if the service has marked the end of the reply.
    pub(super) fn end_marked(&mut self, at_ms: i64) {
        if self.is_final() {
            self.end(at_ms, self.last_ms, ExchangeEnd::Complete);
        }
    }

    /// Unix time of its sending, in ms.
    pub(super) fn at_ms(&self) -> i64 {
        self.at_ms
    }

    /// Returns the reply that it fetches.
    pub(super) fn deferred(&self) -> &DeferredReply {
        &self.deferred
    }

    /// Bytes of the reply.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns whether the exchange has ended.
    pub(super) fn is_over(&self) -> bool {
        self.end.is_some()
    }

    /// Returns whether the service has finished the reply.
    pub(super) fn is_final(&self) -> bool {
        self.outcome.as_ref().is_some_and(ReplyOutcome::is_final)
    }

    /// Returns its parts. The times are those of its notes, but not before this one (Unix ms).
    pub(super) fn release(self, id: u64, from_ms: i64) -> ReleasedFetch {
        let Self { at_ms, begun, deferred, line, mut notes, end, .. } = self;
        notes.extend(end.map(|(at_ms, ms, end)| Note::Ended { id, at_ms, ms, end }));
        for note in &mut notes {
            if let Note::Replied { at_ms, .. }
            | Note::Notice { at_ms, .. }
            | Note::Piece { at_ms, .. }
            | Note::Ended { at_ms, .. } = note
            {
                *at_ms = from_ms.max(*at_ms);
            }
        }
        ReleasedFetch { at_ms: from_ms.max(at_ms), begun, deferred, line, notes }
    }
}

#[cfg(test)]
mod tests {
    use hyper::body::Bytes;
    use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};

    use super::*;

    fn request(upstream: &str, method: &str, path: &str) -> Begun {
        Begun {
            upstream: upstream.to_owned(),
            protocol: Protocol::OpenAi,
            method: method.to_owned(),
            path: path.to_owned(),
            url: String::new(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            came: None,
            scrub: Scrub::default(),
            notices: Vec::new(),
            connection: None,
        }
    }

    fn deferred(id: &str) -> DeferredReply {
        DeferredReply::of(&request("openai", "POST", "/v1/responses/?a=1"), id, ConversationId(1), 1, "m")
    }

    #[test]
    fn only_a_get_of_the_same_upstream_and_path_fetches_a_deferred_reply() {
        let mut all = DeferredReplies::default();
        all.add(deferred("resp_1"));
        all.add(deferred("resp_1"));
        all.add(deferred("resp_2"));
        let fetched =
            |upstream, method, path| all.fetched_by(&request(upstream, method, path)).map(|reply| reply.id.clone());
        for path in ["/v1/responses/resp_1", "/v1/responses/resp_1/?stream=true&starting_after=3"] {
            assert_eq!(fetched("openai", "GET", path).as_deref(), Some("resp_1"), "{path}");
            assert!(is_fetch("GET", path), "{path}");
        }
        assert_eq!(fetched("openai", "GET", "/v1/responses/resp_2").as_deref(), Some("resp_2"));
        for (upstream, method, path) in [
            ("azure", "GET", "/v1/responses/resp_1"),
            ("openai", "DELETE", "/v1/responses/resp_1"),
            ("openai", "POST", "/v1/responses/resp_1/cancel"),
            ("openai", "GET", "/v1/responses/resp_1/input_items"),
            ("openai", "GET", "/v1/responses/resp_3"),
            ("openai", "GET", "/openai/v1/responses/resp_1"),
        ] {
            assert_eq!(fetched(upstream, method, path), None, "{method} {path}");
        }
        for (method, path) in [
            ("POST", "/v1/responses/resp_1"),
            ("GET", "/v1/responses"),
            ("GET", "/v1/responses/"),
            ("GET", "/v1/responses/resp_1/input_items"),
            ("GET", "/v1/models/resp_1"),
            ("GET", "/"),
        ] {
            assert!(!is_fetch(method, path), "{method} {path}");
        }
        all.remove(&deferred("resp_1"));
        assert!(!all.contains(&deferred("resp_1")) && all.contains(&deferred("resp_2")));
        all.forget(ConversationId(1));
        assert!(!all.contains(&deferred("resp_2")));
    }

    /// A held request after a JSON reply.
    fn held(body: &str, end: ExchangeEnd) -> HeldFetch {
        let begun = Box::new(request("openai", "GET", "/v1/responses/resp_1"));
        let mut fetch = HeldFetch::new(5, begun, deferred("resp_1"), None);
        let headers = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))].into_iter().collect();
        fetch.take(Note::Replied { id: 1, at_ms: 6, status: 200, headers, by: None, came: None });
        fetch.take(Note::Piece { id: 1, at_ms: 7, ms: 2, bytes: body.as_bytes().into(), _room: None });
        fetch.end(8, 3, end);
        fetch
    }

    #[test]
    fn replies_are_final_when_the_service_has_finished_them_in_any_way() {
        for (status, is_final) in [
            ("queued", false),
            ("in_progress", false),
            ("completed", true),
            ("incomplete", true),
            ("failed", true),
            ("cancelled", true),
        ] {
            let body = format!(r#"{{"id": "resp_1", "object": "response", "status": "{status}", "output": []}}"#);
            assert_eq!(held(&body, ExchangeEnd::Complete).is_final(), is_final, "{status}");
            let half = body.get(..body.len() / 2).unwrap();
            assert!(!held(half, ExchangeEnd::ClientLeft).is_final(), "{status}");
        }
        for body in ["", "[]", "{}", r#"{"error": {"message": "try again"}}"#, r#"{"object": "list", "data": []}"#] {
            assert!(!held(body, ExchangeEnd::Complete).is_final(), "{body}");
        }
    }

    #[test]
    fn the_notes_of_a_final_reply_end_as_a_whole_one_and_not_before_the_turn_that_ended_last() {
        let body = r#"{"id": "resp_1", "object": "response", "status": "completed", "output": []}"#;
        let released = held(body, ExchangeEnd::ClientLeft).release(1, 7);
        assert_eq!(released.at_ms, 7);
        let times = released.notes.iter().map(|note| match note {
            Note::Replied { at_ms, .. } | Note::Piece { at_ms, .. } | Note::Ended { at_ms, .. } => *at_ms,
            _ => 0,
        });
        assert_eq!(times.collect::<Vec<_>>(), [7, 7, 8]);
        assert!(matches!(released.notes.last(), Some(Note::Ended { end: ExchangeEnd::Complete, .. })));
    }
}
