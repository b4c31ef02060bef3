//! The recorder: traffic becomes sessions, one for each conversation, a turn for each request.
//!
//! In: notes of exchanges. Out: events of captured sessions, and lines for users. Its memory is bounded: the bytes of a reply are written
//! in parts. It must never write a known secret.

mod fetches;
mod replies;

use std::collections::{HashMap, HashSet};

use hyper::header::HeaderMap;

use super::background::{DeferredReplies, DeferredReply, HeldFetch, deferred_text, is_background};
use super::body_secrets::RecentSecrets;
use super::capture::CaptureOptions;
use super::conversations::{ConversationId, ConversationRequest, Conversations};
use super::digest::{Digest, digest_of, file_digests};
use super::exchange::{Begun, CLIENT_LEFT, Came, ExchangeEnd, ExchangeLine, Note, PROXY_ENDED, RULE_CUT};
use super::headers;
use super::reply::OpenReply;
use super::session::{CapturedSession, ids_of_file};
use crate::event::Role;
use crate::model::{CapturedRequest, ReplyOutcome};
use crate::session::{CaptureSource, ImportSource, SessionId};

/// Conversations that are kept open; those that waited longest are ended first.
const OPEN_MOST: usize = 256;

/// Memory limit for the previous bodies of all conversations, in bytes: the next body of a conversation is recorded as a diff to its
/// previous one. Above it, the bodies of the conversations that were idle longest are freed.
const BASES_MAX_BYTES: usize = 256 << 20;

/// The conversation of non-chat requests, instead of a protocol's name.
const NO_MODEL: &str = "no model";

/// Conversations of a file that are not written.
#[derive(Debug, Default)]
pub(super) struct UnwrittenSessions {
    /// Sessions that exist already: the file was imported before.
    pub(super) known: Vec<String>,
    /// Number of sessions that could not be written, or not to their end.
    pub(super) failed: usize,
}

/// The notice in sessions whose file had no bytes.
const REBUILT: &str =
    "the file has messages, not requests: requests and replies are rebuilt, so their bytes differ from the sent ones";

/// An exchange whose end has not come.
struct Open {
    conversation: ConversationId,
    begun: Box<Begun>,
    line: ExchangeLine,
    reply: Option<OpenReply>,
    /// Trailers of the service's reply.
    trailers: Option<HeaderMap>,
    /// From the request to the last piece of the reply.
    last_ms: u64,
    /// The service marked the end of the reply: the next request of the conversation may come before the end of the body.
    is_marked: bool,
    /// The service continues the reply when its stream breaks off.
    is_background: bool,
    /// The reply that other requests can fetch, from its id on.
    fetchable: Option<DeferredReply>,
    /// The deferred reply that it fetches.
    fetches: Option<DeferredReply>,
}

impl Open {
    /// An exchange whose request has begun.
    fn new(conversation: ConversationId, begun: Box<Begun>, line: ExchangeLine) -> Self {
        Self {
            conversation,
            begun,
            line,
            reply: None,
            trailers: None,
            last_ms: 0,
            is_marked: false,
            is_background: false,
            fetchable: None,
            fetches: None,
        }
    }
}

/// An exchange that has ended.
struct EndedExchange {
    conversation: ConversationId,
    outcome: ReplyOutcome,
    is_answered: bool,
    /// The deferred reply that it fetched.
    fetched: Option<DeferredReply>,
}

/// Writes captured sessions.
pub(super) struct Recorder {
    options: CaptureOptions,
    conversations: Conversations,
    sessions: HashMap<ConversationId, CapturedSession>,
    open: HashMap<u64, Open>,
    /// Replies that the services give later.
    deferred: DeferredReplies,
    /// Requests that fetch them.
    held: HashMap<u64, HeldFetch>,
    /// Secrets in the bodies of earlier requests, which replies to non-chat requests may repeat.
    body_secrets: RecentSecrets,
    /// Text of a reply that a screen follows waits to be written.
    is_followed: bool,
    /// A problem of the disk was reported.
    is_reported: bool,
    /// The file that the traffic is read from.
    imported: Option<ImportSource>,
    /// Conversations of the file that are not written: their sessions exist already, or cannot be created.
    omitted: HashSet<ConversationId>,
    /// The ids of its sessions so far.
    given: HashSet<SessionId>,
    /// The conversation of the next request, where the file names it.
    group: Option<String>,
    unwritten: UnwrittenSessions,
}

/// The head of a reply.
struct ReplyHead {
    status: u16,
    headers: HeaderMap,
    /// Its author, if that is not the service.
    by: Option<String>,
    /// The reply of the service that it replaces.
    came: Option<Box<Came>>,
}

impl Recorder {
    pub(super) fn new(options: CaptureOptions) -> Self {
        options.retention.apply(&options.dir);
        Self {
            options,
            conversations: Conversations::default(),
            sessions: HashMap::new(),
            open: HashMap::new(),
            deferred: DeferredReplies::default(),
            held: HashMap::new(),
            body_secrets: RecentSecrets::default(),
            is_followed: false,
            is_reported: false,
            imported: None,
            omitted: HashSet::new(),
            given: HashSet::new(),
            group: None,
            unwritten: UnwrittenSessions::default(),
        }
    }

    /// A recorder of the traffic in a file.
    pub(super) fn of_file(options: CaptureOptions, imported: ImportSource) -> Self {
        Self { imported: Some(imported), ..Self::new(options) }
    }

    /// Reports what was wrong with the file.
    pub(super) fn report_problem(&self, problem: &str) {
        (self.options.report)(Err(problem));
    }

    /// The next request belongs to this conversation of the file.
    pub(super) fn group_next(&mut self, group: Option<String>) {
        self.group = group;
    }

    /// Takes the next note. The operating system has its events on return, unless it does not take them.
    pub(super) fn take(&mut self, note: Note) {
        let Some(note) = self.take_held(note) else { return };
        match note {
            Note::Begun { id, at_ms, begun, line, .. } => {
                self.begin_or_hold(id, at_ms, begun, line);
                self.report_disk();
            }
            Note::Replied { id, at_ms, status, headers, by, came } => {
                self.take_head(id, at_ms, ReplyHead { status, headers, by, came });
            }
            Note::Notice { id, at_ms, text } => {
                let Some(open) = self.open.get(&id) else { return };
                if let Some(session) = self.sessions.get_mut(&open.conversation) {
                    session.warn(at_ms, open.begun.scrub.text(&text));
                    session.flush();
                }
            }
            Note::Piece { id, at_ms, ms, bytes, .. } => self.take_piece(id, at_ms, ms, &bytes),
            Note::Trailers { id, trailers } => {
                if let Some(open) = self.open.get_mut(&id) {
                    open.trailers = Some(trailers);
                }
            }
            Note::Ended { id, at_ms, ms, end } => {
                self.end(id, at_ms, ms, &end);
                self.report_disk();
            }
            Note::Close => {}
        }
    }

    fn begin(&mut self, id: u64, at_ms: i64, mut begun: Box<Begun>) {
        self.body_secrets.add(begun.add_body_secrets());
        if begun.asked_in().is_none() {
            begun.scrub = self.body_secrets.added_to(begun.scrub.clone());
        }
        let body = begun.clean_body();
        let plain = begun.plain(&body);
        let change = body.change.map(|change| change.notice().to_owned());
        let read = begun.asked_in().map(|protocol| CapturedRequest::read(protocol, &begun.path, &plain));
        let (key, thread, request, problem) = match read {
            Some(Ok(request)) => (begun.protocol.name(), request.thread.clone(), request, None),
            Some(Err(why)) => (begun.protocol.name(), None, CapturedRequest::default(), Some(why)),
            // All of an upstream are together.
            None => (NO_MODEL, Some(String::new()), CapturedRequest::default(), None),
        };
        let digests: Vec<Digest> = request.messages.iter().map(Digest::of).collect();
        let digests_of = |is_system: bool| -> Vec<Digest> {
            let all = request.messages.iter().zip(&digests);
            all.filter(|(message, _)| (message.role == Role::System) == is_system).map(|(_, digest)| *digest).collect()
        };
        let next_request = ConversationRequest {
            key: format!("{}/{key}", begun.upstream),
            system: digests_of(true),
            messages: digests_of(false),
            files: file_digests(&request, &plain),
            continues: request.continues.clone(),
            thread: thread.or_else(|| self.group.take()),
            // Nothing else distinguishes bodies that cannot be read.
            frame: digest_of(&if problem.is_some() { begun.body.as_ref() } else { request.frame.as_str().as_bytes() }),
            at_ms,
        };
        let (conversation, is_new) = self.conversations.place(next_request);
        if !is_new {
            self.end_marked(conversation, at_ms);
        }
        let unknown = request.continues.as_ref().filter(|_| is_new);
        let lacks = unknown.map(|id| {
            format!("it continues {id}, which this session does not have: {}", CaptureSource::LACKS_MESSAGES)
        });
        if is_new || !self.sessions.contains_key(&conversation) && !self.omitted.contains(&conversation) {
            self.start_session(conversation, at_ms, &begun, &request);
        }
        let model = if begun.asked_in().is_some() { request.model.clone() } else { begun.method_and_path() };
        let mut line = ExchangeLine::begin(&begun.upstream, model);
        if let Some(session) = self.sessions.get_mut(&conversation) {
            session.begin_turn(at_ms, &begun, &request, &digests, body, &self.options.prices);
            if begun.asked_in().is_none() {
                session.inform(
                    at_ms,
                    format!("{} is a non-chat request: only its bodies are recorded", begun.method_and_path()),
                );
            }
            if session.turns() == 1 && self.imported.as_ref().is_some_and(ImportSource::is_rebuilt) {
                session.warn(at_ms, REBUILT.to_owned());
            }
            for text in problem.into_iter().chain(lacks).chain(change).chain(begun.notices.iter().cloned()) {
                session.warn(at_ms, begun.scrub.text(&text));
            }
            session.flush();
            line.place = Some((session.id.clone(), session.turns()));
        }
        let is_background = is_background(&begun, &request);
        self.open.insert(id, Open { is_background, ..Open::new(conversation, begun, line) });
        self.free_bases(conversation);
    }

    /// Frees kept bodies beyond their limit, except that of one conversation.
    fn free_bases(&mut self, except: ConversationId) {
        let mut bytes: usize = self.sessions.values().map(CapturedSession::base_bytes).sum();
        while bytes > BASES_MAX_BYTES {
            let others = self.sessions.iter_mut().filter(|(id, session)| **id != except && session.base_bytes() > 0);
            let Some((_, oldest)) = others.min_by_key(|(_, session)| session.last_ms()) else { return };
            bytes -= oldest.base_bytes();
            oldest.free_base();
        }
    }

    fn start_session(&mut self, conversation: ConversationId, at_ms: i64, begun: &Begun, request: &CapturedRequest) {
        let price = (self.options.prices)(&begun.upstream, &request.model);
        let (dir, live) = (&self.options.dir, self.options.live.clone());
        let imported = self.imported.as_ref();
        let id = imported.and_then(|from| ids_of_file(at_ms, from, begun).find(|id| !self.given.contains(id)));
        let origin = imported.zip(id.as_ref());
        match CapturedSession::create(dir, at_ms, begun, &request.model, price, origin, live) {
            Ok(session) => _ = self.sessions.insert(conversation, session),
            Err(error) => {
                let is_known = error.error.kind() == std::io::ErrorKind::AlreadyExists && error.path.is_file();
                match &id {
                    Some(id) if is_known => self.unwritten.known.push(id.to_string()),
                    _ => {
                        self.unwritten.failed += 1;
                        (self.options.report)(Err(&error.to_string()));
                    }
                }
                if id.is_some() {
                    self.omitted.insert(conversation);
                }
            }
        }
        self.given.extend(id);
        self.close_beyond(at_ms);
    }

    fn end(&mut self, id: u64, at_ms: i64, ms: u64, end: &ExchangeEnd) {
        let Some(ended) = self.record_end(id, at_ms, ms, end) else { return };
        let EndedExchange { conversation, outcome, is_answered, fetched } = ended;
        let digest = is_answered.then(|| Digest::of_reply(&outcome.text, &outcome.calls));
        if let Some(deferred) = fetched {
            // The loop over the waiting requests recorded it.
            self.conversations.learn(conversation, &deferred.id, digest, at_ms);
            return;
        }
        if outcome.is_deferred {
            self.conversations.defer(conversation, outcome.id, at_ms);
        } else {
            self.conversations.end(conversation, digest, outcome.id, at_ms);
        }
        self.settle_waiting(conversation);
    }

    /// Ends the exchange of a conversation whose next request has arrived after the end mark of the reply. The remaining bytes of the body
    /// pass and are not recorded: a turn ends before the next one begins.
    fn end_marked(&mut self, conversation: ConversationId, at_ms: i64) {
        let open = self.open.iter().find(|(_, open)| open.conversation == conversation);
        if let Some((id, ms)) = open.map(|(id, open)| (*id, open.last_ms)) {
            // The conversation is that of the next request already.
            _ = self.record_end(id, at_ms, ms, &ExchangeEnd::Complete);
        }
        self.end_marked_fetches(conversation, at_ms);
    }

    fn record_end(&mut self, id: u64, at_ms: i64, ms: u64, end: &ExchangeEnd) -> Option<EndedExchange> {
        let open = self.open.remove(&id)?;
        let Open { conversation, begun, mut line, reply, trailers, is_background, fetchable, fetches, .. } = open;
        let (events, mut outcome) = reply.map(OpenReply::finish).unwrap_or_default();
        line.ms = ms;
        line.usage = outcome.usage;
        // A reply that came and was not passed on is not an answer.
        let is_passed = !matches!(end, ExchangeEnd::NoReply(_));
        let is_answered = is_passed && outcome.is_whole && outcome.error.is_none();
        let is_broken_off = is_passed && !outcome.is_whole && outcome.error.is_none() && outcome.id.is_some();
        outcome.is_deferred = is_answered && outcome.is_deferred || is_background && is_broken_off;
        if let Some(known) = fetchable.filter(|_| !outcome.is_deferred) {
            self.deferred.remove(&known);
        }
        let problem = match end {
            _ if is_answered => None,
            ExchangeEnd::ClientLeft => Some(CLIENT_LEFT.to_owned()),
            ExchangeEnd::Broken(why) if why == RULE_CUT => Some(why.clone()),
            ExchangeEnd::Broken(why) => {
                Some(format!("the connection to {} broke: {}", begun.upstream, begun.scrub.text(why)))
            }
            ExchangeEnd::ProxyEnded => Some(PROXY_ENDED.to_owned()),
            ExchangeEnd::NoReply(why) | ExchangeEnd::Closed(why) => Some(begun.scrub.text(why)),
            ExchangeEnd::Complete => {
                Some(outcome.error.clone().unwrap_or_else(|| "the reply ended before the model did".to_owned()))
            }
        };
        line.problem.clone_from(&problem);
        if let Some(session) = self.sessions.get_mut(&conversation) {
            for event in events {
                session.of_turn(at_ms, event);
            }
            if let Some(trailers) = trailers {
                session.inform(at_ms, headers::trailers_text("the service's reply", &trailers, &begun.scrub));
            }
            if outcome.is_deferred {
                let turn = session.turns();
                let id = outcome.id.as_deref();
                let reply = id.map(|id| DeferredReply::of(&begun, id, conversation, turn, &line.model));
                let text = deferred_text(outcome.finish.as_deref(), reply.as_ref());
                session.warn(at_ms, begun.scrub.text(&text));
                self.deferred.add_any(reply);
            }
            session.end_turn(at_ms, &line, &outcome, end, problem);
        }
        (self.options.report)(Ok(&line));
        Some(EndedExchange { conversation, outcome, is_answered, fetched: fetches })
    }

    /// Ends conversations that wait for too long, and the oldest beyond a number.
    fn close_beyond(&mut self, at_ms: i64) {
        self.touch_fetched(at_ms);
        let idle_ms = i64::try_from(self.options.idle.as_millis()).unwrap_or(i64::MAX);
        for id in self.conversations.forget(at_ms.saturating_sub(idle_ms), OPEN_MOST) {
            self.close(id);
        }
    }

    pub(super) fn close_idle(&mut self, at_ms: i64) {
        self.close_beyond(at_ms);
        self.options.retention.apply(&self.options.dir);
    }

    fn close(&mut self, id: ConversationId) {
        self.deferred.forget(id);
        if let Some(session) = self.sessions.remove(&id)
            && let Some(error) = session.end()
        {
            self.unwritten.failed += 1;
            (self.options.report)(Err(&error));
        }
    }

    /// Ends all sessions; returns the unwritten ones.
    pub(super) fn finish(mut self, at_ms: i64) -> UnwrittenSessions {
        self.close_all(at_ms);
        self.unwritten
    }

    /// Ends all sessions; open exchanges end with the part received so far.
    pub(super) fn close_all(&mut self, at_ms: i64) {
        let mut open: Vec<u64> = self.open.keys().copied().collect();
        open.sort_unstable();
        for id in open {
            self.end(id, at_ms, 0, &ExchangeEnd::ProxyEnded);
        }
        self.end_fetches(at_ms);
        let sessions: Vec<ConversationId> = self.sessions.keys().copied().collect();
        for id in sessions {
            self.close(id);
        }
        self.options.retention.apply(&self.options.dir);
    }

    /// Reports once that sessions cannot be written, and once that they can again.
    fn report_disk(&mut self) {
        let error = self.sessions.values().find_map(CapturedSession::error);
        if error.is_some() != self.is_reported {
            self.is_reported = error.is_some();
            let text = error.unwrap_or_else(|| "sessions are written again".to_owned());
            (self.options.report)(Err(&text));
        }
    }
}
