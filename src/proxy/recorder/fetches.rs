//! Requests that fetch deferred replies: one that gets the final reply is a turn of the conversation.
//!
//! In: notes of requests. Out: the same notes, held until the service has finished the reply and no other request of the conversation is in
//! progress, so that a turn ends before the next one begins. It must never record a reply twice, or make a turn of a reply that the service
//! is still working on.

use super::{Open, Recorder};
use crate::proxy::background::{DeferredReply, HeldFetch, ReleasedFetch};
use crate::proxy::conversations::ConversationId;
use crate::proxy::digest::Digest;
use crate::proxy::exchange::{Begun, ExchangeEnd, ExchangeLine, Note};
use crate::proxy::late_line::HeldLine;
use crate::proxy::session::CapturedSession;

/// Memory limit for the replies of all held requests, in bytes. A reply that exceeds it is not held.
const HELD_MAX_BYTES: usize = 64 << 20;

impl Open {
    /// Returns the reply of a background request when its id has come: other requests can fetch it before this one ends.
    pub(super) fn make_fetchable(&mut self) -> Option<DeferredReply> {
        if !self.is_background || self.fetchable.is_some() {
            return None;
        }
        let (id, (_, turn)) = (self.reply.as_ref()?.id()?, self.line.place.as_ref()?);
        let reply = DeferredReply::of(&self.begun, id, self.conversation, *turn, &self.line.model);
        self.fetchable = Some(reply.clone());
        Some(reply)
    }
}

impl Recorder {
    /// Begins a request, or holds it if it fetches a deferred reply. Another request that has a line is not recorded.
    pub(super) fn begin_or_hold(&mut self, id: u64, at_ms: i64, begun: Box<Begun>, line: Option<HeldLine>) {
        match self.deferred.fetched_by(&begun).cloned() {
            Some(deferred) => {
                self.conversations.touch(deferred.conversation, at_ms);
                self.held.insert(id, HeldFetch::new(at_ms, begun, deferred, line));
            }
            None if line.is_none() => self.begin(id, at_ms, begun),
            None => {}
        }
    }

    /// Takes a note of a held request; returns any other note.
    pub(super) fn take_held(&mut self, note: Note) -> Option<Note> {
        let Some(id) = note.id() else { return Some(note) };
        let Some(fetch) = self.held.get_mut(&id) else { return Some(note) };
        if let Note::Ended { at_ms, ms, end, .. } = note {
            fetch.end(at_ms, ms, end);
            self.settle(id);
            return None;
        }
        let conversation = fetch.deferred().conversation;
        let at_ms = fetch.at_ms();
        let marked = fetch.take(note).map(|outcome| Digest::of_reply(&outcome.text, &outcome.calls));
        if let Some(digest) = marked {
            let deferred = fetch.deferred();
            if self.deferred.contains(deferred) {
                self.conversations.learn(conversation, &deferred.id, Some(digest), at_ms);
            }
        }
        if self.held.values().map(HeldFetch::bytes).sum::<usize>() > HELD_MAX_BYTES
            && let Some(fetch) = self.held.remove(&id)
        {
            self.pass(id, fetch);
        }
        None
    }

    /// Keeps the conversations open whose replies are being fetched.
    pub(super) fn touch_fetched(&mut self, at_ms: i64) {
        for fetch in self.held.values() {
            self.conversations.touch(fetch.deferred().conversation, at_ms);
        }
    }

    /// Ends the held requests of a conversation whose next request has arrived after the end marks of their replies.
    pub(super) fn end_marked_fetches(&mut self, conversation: ConversationId, at_ms: i64) {
        let of_conversation = self.held.values_mut().filter(|fetch| fetch.deferred().conversation == conversation);
        of_conversation.for_each(|fetch| fetch.end_marked(at_ms));
        self.settle_waiting(conversation);
    }

    /// Ends all held requests.
    pub(super) fn end_fetches(&mut self, at_ms: i64) {
        let mut ids: Vec<u64> = self.held.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            if let Some(fetch) = self.held.get_mut(&id) {
                fetch.end_marked(at_ms);
                fetch.end(at_ms, 0, ExchangeEnd::ProxyEnded);
            }
            self.settle(id);
        }
    }

    /// Settles the held requests that have waited for the end of another request of the conversation.
    pub(super) fn settle_waiting(&mut self, conversation: ConversationId) {
        let is_waiting = |fetch: &HeldFetch| fetch.is_over() && fetch.deferred().conversation == conversation;
        let waiting = self.held.iter().filter(|(_, fetch)| is_waiting(fetch)).map(|(id, _)| *id);
        let mut ids: Vec<u64> = waiting.collect();
        ids.sort_unstable();
        for id in ids {
            self.settle(id);
        }
    }

    /// Records a held request that has ended, or lets it pass. It waits while the conversation has a request in progress.
    fn settle(&mut self, id: u64) {
        let Some(fetch) = self.held.get(&id) else { return };
        let conversation = fetch.deferred().conversation;
        let is_twin = |(other, held): (&u64, &HeldFetch)| {
            *other != id && held.is_over() && held.is_final() && held.deferred() == fetch.deferred()
        };
        // One request that waits with a reply is enough.
        let is_turn = fetch.is_final() && self.deferred.contains(fetch.deferred()) && !self.held.iter().any(is_twin);
        if is_turn && self.open.values().any(|open| open.conversation == conversation) {
            return;
        }
        let Some(fetch) = self.held.remove(&id) else { return };
        if is_turn {
            self.record_fetch(id, fetch);
        } else {
            self.pass(id, fetch);
        }
    }

    /// Records a request as a non-chat request; one with a line is reported instead.
    fn pass(&mut self, id: u64, fetch: HeldFetch) {
        let ReleasedFetch { at_ms, begun, line, notes, .. } = fetch.release(id, i64::MIN);
        if line.is_some() {
            return;
        }
        self.begin(id, at_ms, begun);
        for note in notes {
            self.take(note);
        }
    }

    /// Records a request as the turn in which its conversation gets the reply.
    fn record_fetch(&mut self, id: u64, fetch: HeldFetch) {
        let conversation = fetch.deferred().conversation;
        let from_ms = self.sessions.get(&conversation).map_or(i64::MIN, CapturedSession::last_ms);
        let ReleasedFetch { at_ms, begun, deferred, line, notes } = fetch.release(id, from_ms);
        self.deferred.remove(&deferred);
        if let Some(line) = line {
            line.set_recorded();
        }
        let mut line = ExchangeLine::begin(&begun.upstream, begun.method_and_path());
        if let Some(session) = self.sessions.get_mut(&conversation) {
            session.begin_fetch(at_ms, &begun, &deferred, begun.clean_body(), &self.options.prices);
            for text in &begun.notices {
                session.warn(at_ms, begun.scrub.text(text));
            }
            line.place = Some((session.id.clone(), session.turns()));
        }
        let open = Open { fetches: Some(deferred), is_marked: true, ..Open::new(conversation, begun, line) };
        self.open.insert(id, open);
        for note in notes {
            self.take(note);
        }
    }
}
