//! Messages of conversations that the service stores, as ranges of numbers.
//!
//! In: message numbers, and the states of the replies. Out: the messages that precede the next request. Numbers are assigned in order of
//! arrival, so thousands of messages are a few ranges. It must never change their order.

use std::collections::VecDeque;

use super::conversations::REPLIES_MOST;
use super::digest::Digest;

/// Messages by number, in order, and whether they are system messages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct MessageList(Vec<MessageRange>);

/// Consecutive numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MessageRange {
    first: u32,
    last: u32,
    is_system: bool,
}

impl MessageList {
    /// The list of these messages.
    pub(super) fn of(messages: &[(u32, bool)]) -> Self {
        let mut ranges: Vec<MessageRange> = Vec::new();
        for &(number, is_system) in messages {
            match ranges.last_mut() {
                Some(range) if range.is_system == is_system && range.last.checked_add(1) == Some(number) => {
                    range.last = number;
                }
                _ => ranges.push(MessageRange { first: number, last: number, is_system }),
            }
        }
        Self(ranges)
    }

    /// Its messages.
    pub(super) fn to_vec(&self) -> Vec<(u32, bool)> {
        let messages = |range: &MessageRange| {
            let is_system = range.is_system;
            (range.first..=range.last).map(move |number| (number, is_system))
        };
        self.0.iter().flat_map(messages).collect()
    }
}

/// Conversation up to a reply, as the service stores it.
#[derive(Debug, Clone, Default)]
pub(super) struct StoredConversation {
    /// The messages of its last request, those that the service stored before among them.
    pub(super) messages: MessageList,
    /// The first of them is a member of the body on its own, which the next request may replace.
    pub(super) has_system_member: bool,
    /// Number of messages, at the end, of the last request: without a reply the service does not store them.
    pub(super) own: usize,
    pub(super) reply: StoredReply,
}

/// The reply to the last request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum StoredReply {
    /// It did not come, or failed.
    #[default]
    Missing,
    Known(Digest),
    /// The service has it, the session does not.
    Deferred,
}

impl StoredConversation {
    /// Returns the messages that the service has up to the reply, without the system text if the next request replaces it.
    pub(super) fn before_reply(&self, is_system_replaced: bool) -> Vec<(u32, bool)> {
        let mut messages = self.messages.to_vec();
        if self.reply == StoredReply::Missing {
            messages.truncate(messages.len().saturating_sub(self.own));
        }
        if is_system_replaced && messages.first().is_some_and(|(_, is_system)| *is_system) {
            messages.remove(0);
        }
        messages
    }
}

/// The conversations up to the last replies of a session, as the service stores them.
#[derive(Debug, Default)]
pub(super) struct StoredConversations {
    /// The conversation of the last request, for one that continues it without the id of a known reply.
    last: StoredConversation,
    /// Those up to each of the last replies that have an id.
    by_id: VecDeque<(String, StoredConversation)>,
}

impl StoredConversations {
    /// Returns the conversation that a request continues: up to the reply with this id, which need not be the last one, else the last one.
    pub(super) fn continued(&mut self, id: Option<&str>) -> StoredConversation {
        let known = id.and_then(|id| self.by_id.iter().rev().find(|(known, _)| known == id));
        match known {
            Some((_, stored)) => stored.clone(),
            None => std::mem::take(&mut self.last),
        }
    }

    /// Sets the last request.
    pub(super) fn begin(&mut self, request: StoredConversation) {
        self.last = request;
    }

    /// Sets the reply to the last request.
    pub(super) fn set_reply(&mut self, id: Option<&str>, reply: StoredReply) {
        self.last.reply = reply;
        let Some(id) = id else { return };
        if self.by_id.len() >= REPLIES_MOST {
            self.by_id.pop_front();
        }
        self.by_id.push_back((id.to_owned(), self.last.clone()));
    }

    /// Sets the reply with this id, which was deferred; returns whether it is the reply to the last request.
    pub(super) fn set_deferred(&mut self, id: &str, reply: StoredReply) -> bool {
        let has_last_id = self.by_id.back().is_some_and(|(last, _)| last == id);
        let is_last = has_last_id && self.last.reply == StoredReply::Deferred;
        if is_last {
            self.last.reply = reply;
        }
        for (_, stored) in self.by_id.iter_mut().filter(|(known, _)| known == id) {
            stored.reply = reply;
        }
        is_last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_messages_of_a_request_are_kept_if_it_was_answered_or_will_be() {
        let messages = MessageList::of(&[(0, true), (1, false), (2, false)]);
        let stored = |reply| StoredConversation { messages: messages.clone(), has_system_member: true, own: 1, reply };
        let known = StoredReply::Known(Digest::of_reply("hi", &[]));
        assert_eq!(stored(StoredReply::Missing).before_reply(false), [(0, true), (1, false)]);
        for reply in [known, StoredReply::Deferred] {
            assert_eq!(stored(reply).before_reply(false), [(0, true), (1, false), (2, false)]);
            assert_eq!(stored(reply).before_reply(true), [(1, false), (2, false)]);
        }
    }

    #[test]
    fn a_deferred_reply_is_known_to_requests_that_continue_it_by_its_id_or_as_the_last_one() {
        let request = |number| StoredConversation {
            messages: MessageList::of(&[(number, false)]),
            own: 1,
            ..StoredConversation::default()
        };
        let known = StoredReply::Known(Digest::of_reply("hi", &[]));
        let mut stored = StoredConversations::default();
        stored.begin(request(0));
        stored.set_reply(Some("resp_0"), StoredReply::Deferred);
        stored.begin(request(1));
        stored.set_reply(Some("resp_1"), StoredReply::Deferred);
        assert!(!stored.set_deferred("resp_0", known), "another request followed");
        assert_eq!(stored.continued(Some("resp_0")).reply, known);
        assert_eq!(stored.continued(Some("resp_1")).reply, StoredReply::Deferred);
        assert!(stored.set_deferred("resp_1", known));
        assert_eq!(stored.continued(None).reply, known);
        // A request after it is not answered.
        stored.begin(request(2));
        assert!(!stored.set_deferred("resp_1", known));
        assert_eq!(stored.continued(None).reply, StoredReply::Missing);
    }

    #[test]
    fn a_list_keeps_every_order_and_consecutive_messages_take_the_room_of_one() {
        let rows: [(&[(u32, bool)], usize); 5] = [
            (&[], 0),
            (&[(0, true), (1, false), (2, false), (3, false)], 2),
            (&[(1, false), (2, false), (2, false), (1, false)], 3),
            (&[(4, true), (5, true), (6, false)], 2),
            (&[(u32::MAX, false), (0, false)], 2),
        ];
        for (messages, ranges) in rows {
            let list = MessageList::of(messages);
            assert_eq!((list.to_vec().as_slice(), list.0.len()), (messages, ranges));
        }
    }
}
