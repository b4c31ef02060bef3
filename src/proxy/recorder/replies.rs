//! Replies while they come: their heads, pieces and texts.
//!
//! In: notes of exchanges that have begun. Out: events of their sessions, and what other requests can fetch or continue. It must never count
//! tokens twice.

use super::{Recorder, ReplyHead};
use crate::event::RawReply;
use crate::proxy::digest::Digest;
use crate::proxy::exchange::Begun;
use crate::proxy::headers;
use crate::proxy::reply::{OpenReply, clean_came};

impl Recorder {
    /// Takes the head of a reply.
    pub(super) fn take_head(&mut self, id: u64, at_ms: i64, head: ReplyHead) {
        let ReplyHead { status, headers, by, came } = head;
        let Some(open) = self.open.get_mut(&id) else { return };
        open.line.status = Some(status);
        let Begun { protocol, scrub, method, .. } = &*open.begun;
        let asked_in = open.begun.asked_in();
        let mut reply = match open.fetches {
            Some(_) => OpenReply::fetched(status, &headers, scrub.clone()),
            None => OpenReply::new(asked_in, status, &headers, scrub.clone()),
        };
        let replaced = came.map(|came| clean_came(*protocol, &came, scrub));
        if by.is_some() {
            reply.set_usage(replaced.as_ref().and_then(|replaced| replaced.usage));
        } else if asked_in.is_none() && open.fetches.is_none() && method != "POST" {
            // It repeats what an earlier reply counted.
            reply.set_usage(None);
        }
        open.reply = Some(reply);
        let (came, withheld) = replaced.map(|replaced| (replaced.body, replaced.withheld)).unzip();
        if let Some(session) = self.sessions.get_mut(&open.conversation) {
            let headers = headers::recorded(&headers, scrub);
            session.head(at_ms, RawReply { attempt: 1, status, headers, by, came });
            if let Some(text) = withheld.flatten() {
                session.warn(at_ms, text);
            }
            session.flush();
        }
    }

    /// Takes a piece of a body, `ms` after the request.
    pub(super) fn take_piece(&mut self, id: u64, at_ms: i64, ms: u64, bytes: &[u8]) {
        let Some(open) = self.open.get_mut(&id) else { return };
        let is_first = open.line.first_ms.is_none();
        open.line.first_ms.get_or_insert(ms);
        open.last_ms = ms;
        let Some(reply) = &mut open.reply else { return };
        let events = reply.take(ms, bytes);
        let marked = if open.is_marked { None } else { reply.outcome_at_end_mark() };
        if let Some(outcome) = marked {
            open.is_marked = true;
            let digest = Digest::of_reply(&outcome.text, &outcome.calls);
            self.conversations.mark(open.conversation, digest, outcome.id, at_ms);
        }
        self.deferred.add_any(open.make_fetchable());
        if let Some(session) = self.sessions.get_mut(&open.conversation) {
            if is_first {
                session.streams(ms);
            }
            // It may be shown from any moment on.
            self.is_followed |= self.options.live.is_some();
            for event in events {
                session.of_turn(at_ms, event);
            }
            session.flush();
        }
    }

    /// Returns whether text that a screen follows waits to be written.
    pub(in crate::proxy) fn is_followed(&self) -> bool {
        self.is_followed
    }

    /// Writes the text that a screen follows.
    pub(in crate::proxy) fn show_text(&mut self, at_ms: i64) {
        self.is_followed = false;
        for open in self.open.values_mut() {
            let Some(reply) = open.reply.as_mut().filter(|reply| reply.has_text()) else { continue };
            match self.sessions.get_mut(&open.conversation) {
                Some(session) if session.is_shown() => {
                    reply.take_text().into_iter().for_each(|event| session.of_turn(at_ms, event));
                    session.flush();
                }
                _ => self.is_followed = true,
            }
        }
    }
}
