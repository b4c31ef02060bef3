//! Conversations: which requests belong together.
//!
//! In: the messages of a request, as digests. Out: the conversation that it continues, or none. A request continues a conversation when its
//! messages are those of the last request and more, or when it names one of its replies; several clients may start with the same text. It
//! must never put two requests that are answered at the same time into one conversation.

use super::digest::Digest;

/// Number of the last replies of a conversation that requests can continue by id.
pub(super) const REPLIES_MOST: usize = 64;

/// The number of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConversationId(pub u64);

/// State of the reply to the last request of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplyState {
    /// The reply is in progress.
    InProgress,
    /// The service has sent its end mark; the body has not ended.
    EndMarked,
    /// It is whole and has ended.
    Answered,
    /// The service answers later, to other requests: the reply is unknown.
    Deferred,
    /// The request was not answered.
    Failed,
}

impl ReplyState {
    /// Returns whether the service has, or will have, a reply: the same request again is not a retry.
    fn is_reply(self) -> bool {
        matches!(self, Self::EndMarked | Self::Answered | Self::Deferred)
    }
}

/// Rank of a conversation for a request: how it is continued, the same system text, the number of messages, the number of those with the same
/// ids of calls, the reply among them, and the same rest of the body.
type Rank = (u8, bool, usize, usize, bool);

#[derive(Debug)]
struct Conversation {
    id: ConversationId,
    /// Upstream and protocol.
    key: String,
    system: Vec<Digest>,
    messages: Vec<Digest>,
    files: Vec<u64>,
    reply: Option<Digest>,
    reply_id: Option<String>,
    /// The ids of the replies before, oldest first.
    earlier: Vec<String>,
    continues: Option<String>,
    thread: Option<String>,
    frame: u64,
    state: ReplyState,
    last_ms: i64,
}

/// The conversations of a proxy.
#[derive(Debug, Default)]
pub struct Conversations {
    known: Vec<Conversation>,
    next: u64,
}

/// A request, as far as it matters for its conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConversationRequest {
    /// Upstream and protocol.
    pub key: String,
    /// Digests of the system messages.
    pub system: Vec<Digest>,
    /// Digests of the others.
    pub messages: Vec<Digest>,
    /// Digests of the files in them.
    pub files: Vec<u64>,
    /// The id of the reply that it continues.
    pub continues: Option<String>,
    /// The id of the conversation that the service adds it to.
    pub thread: Option<String>,
    /// A digest of the body without its messages, or of the whole body where it cannot be read.
    pub frame: u64,
    /// Unix time in ms.
    pub at_ms: i64,
}

impl Conversations {
    /// Returns the conversation of a request; `true`: a new one.
    pub fn place(&mut self, request: ConversationRequest) -> (ConversationId, bool) {
        let best = self
            .known
            .iter_mut()
            .filter_map(|known| known.fits(&request).map(|score| (score, known)))
            // Of equal ones the last: an older one was given up.
            .max_by(|(one, first), (other, second)| one.cmp(other).then(first.last_ms.cmp(&second.last_ms)));
        let (id, is_new) = if let Some((_, known)) = best {
            (known.id, false)
        } else {
            self.next += 1;
            (ConversationId(self.next), true)
        };
        let now = Conversation {
            id,
            key: request.key,
            system: request.system,
            messages: request.messages,
            files: request.files,
            reply: None,
            reply_id: None,
            earlier: Vec::new(),
            continues: request.continues,
            thread: request.thread,
            frame: request.frame,
            state: ReplyState::InProgress,
            last_ms: request.at_ms,
        };
        match self.known.iter_mut().find(|known| known.id == id) {
            Some(known) => {
                let earlier = known.take_replies();
                *known = Conversation { earlier, ..now };
            }
            None => self.known.push(now),
        }
        (id, is_new)
    }

    /// Notes the end of the last request: its reply when it was answered.
    pub fn end(&mut self, id: ConversationId, reply: Option<Digest>, reply_id: Option<String>, at_ms: i64) {
        let state = if reply.is_some() { ReplyState::Answered } else { ReplyState::Failed };
        self.set_reply(id, state, reply, reply_id, at_ms);
    }

    /// Records the end mark of the last request's reply, whose body has not ended: the next request may arrive. The caller ends the last
    /// request first.
    pub fn mark(&mut self, id: ConversationId, reply: Digest, reply_id: Option<String>, at_ms: i64) {
        self.set_reply(id, ReplyState::EndMarked, Some(reply), reply_id, at_ms);
    }

    /// Notes that the service answers the last request later, to a request that fetches the reply.
    pub fn defer(&mut self, id: ConversationId, reply_id: Option<String>, at_ms: i64) {
        self.set_reply(id, ReplyState::Deferred, None, reply_id, at_ms);
    }

    /// Notes the deferred reply of a request, which was fetched; `None`: it failed. Only that of the last request matters: earlier ones are
    /// continued by their ids.
    pub fn learn(&mut self, id: ConversationId, reply_id: &str, reply: Option<Digest>, at_ms: i64) {
        let is_deferred = self.known.iter().any(|known| {
            known.id == id && known.state == ReplyState::Deferred && known.reply_id.as_deref() == Some(reply_id)
        });
        if is_deferred {
            self.end(id, reply, Some(reply_id.to_owned()), at_ms);
        }
        self.touch(id, at_ms);
    }

    /// Notes that a conversation is in use: it is forgotten later.
    pub fn touch(&mut self, id: ConversationId, at_ms: i64) {
        if let Some(known) = self.known.iter_mut().find(|known| known.id == id) {
            known.last_ms = known.last_ms.max(at_ms);
        }
    }

    fn set_reply(
        &mut self,
        id: ConversationId,
        state: ReplyState,
        reply: Option<Digest>,
        reply_id: Option<String>,
        at_ms: i64,
    ) {
        if let Some(known) = self.known.iter_mut().find(|known| known.id == id) {
            known.state = state;
            known.reply = reply;
            known.reply_id = reply_id;
            known.last_ms = at_ms;
        }
    }

    /// Forgets conversations that nothing has continued since then, and the oldest beyond a number; returns them.
    pub fn forget(&mut self, before_ms: i64, most: usize) -> Vec<ConversationId> {
        let is_open = |known: &&Conversation| matches!(known.state, ReplyState::InProgress | ReplyState::EndMarked);
        let mut idle: Vec<(i64, ConversationId)> =
            self.known.iter().filter(|known| !is_open(known)).map(|known| (known.last_ms, known.id)).collect();
        idle.sort_unstable();
        let beyond = self.known.len().saturating_sub(most);
        let forgotten: Vec<ConversationId> = idle
            .into_iter()
            .enumerate()
            .filter(|(place, (last_ms, _))| *place < beyond || *last_ms < before_ms)
            .map(|(_, (_, id))| id)
            .collect();
        self.known.retain(|known| !forgotten.contains(&known.id));
        forgotten
    }

    /// Returns the number of known conversations.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Returns whether no conversation is known.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }
}

impl Conversation {
    /// The ids of the replies that a request can continue.
    fn take_replies(&mut self) -> Vec<String> {
        let mut replies = std::mem::take(&mut self.earlier);
        if self.state.is_reply() {
            replies.extend(self.reply_id.take());
        }
        let beyond = replies.len().saturating_sub(REPLIES_MOST - 1);
        replies.drain(..beyond);
        replies
    }

    /// Returns the rank of this conversation for a request, the greatest for the best match; `None`: the request does not continue it.
    fn fits(&self, request: &ConversationRequest) -> Option<Rank> {
        if self.state == ReplyState::InProgress || self.key != request.key {
            return None;
        }
        let (same_system, same_frame) = (self.system == request.system, self.frame == request.frame);
        if let Some(continued) = &request.continues {
            let is_next = self.reply_id.as_ref() == Some(continued);
            let is_retry = !self.state.is_reply()
                && self.continues == request.continues
                && self.rest_of(request).is_some_and(<[_]>::is_empty);
            if is_next || is_retry {
                return Some((4, same_system, 0, 0, same_frame));
            }
            // The client went back to a reply before the last one.
            return self.earlier.contains(continued).then_some((3, same_system, 0, 0, same_frame));
        }
        if let Some(thread) = &request.thread {
            return (self.thread.as_ref() == Some(thread)).then_some((4, same_system, 0, 0, same_frame));
        }
        let length = self.messages.len();
        let rest = self.rest_of(request).filter(|_| request.files.starts_with(&self.files))?;
        let score = match (rest.first(), self.reply) {
            // The same again: only after a failure. Else two clients asked the same. Without messages, the rest of the body must be the
            // same.
            (None, _) => (!self.state.is_reply() && same_system && (length > 0 || same_frame)).then_some(2),
            (Some(next), Some(reply)) if next.has_content_of(reply) => Some(3),
            // Every request begins with no messages: only the reply shows that it continues this one.
            (Some(_), _) if length == 0 => None,
            // The client edited the reply or left it out: more than one message, or a system text, must match.
            (Some(_), Some(_)) => (length > 1 || same_system && !self.system.is_empty()).then_some(1),
            (Some(_), None) => Some(1),
        };
        let known = self.messages.iter().chain(&self.reply);
        let same_ids = known.zip(&request.messages).filter(|(known, message)| known == message).count();
        Some((score?, same_system, length, same_ids, same_frame))
    }

    /// The messages of a request after those of the last one; `None` if it does not begin with them. Some clients replace the ids of calls.
    fn rest_of<'r>(&self, request: &'r ConversationRequest) -> Option<&'r [Digest]> {
        let (begin, rest) = request.messages.split_at_checked(self.messages.len())?;
        begin.iter().zip(&self.messages).all(|(message, known)| message.has_content_of(*known)).then_some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{MessagePart, NativeCall, Role};
    use crate::model::CapturedMessage;

    fn message(role: Role, text: &str) -> Digest {
        let section = role.name().to_owned();
        let part = MessagePart::Text { section, text: text.to_owned(), untrusted: false };
        Digest::of(&CapturedMessage { role, parts: vec![part] })
    }

    fn request(words: &[(Role, &str)], at_ms: i64) -> ConversationRequest {
        let messages = words.iter().map(|(role, text)| message(*role, text)).collect();
        ConversationRequest { key: "openai".into(), messages, at_ms, ..ConversationRequest::default() }
    }

    const USER: Role = Role::User;
    const MODEL: Role = Role::Assistant;

    #[test]
    fn a_request_that_repeats_the_reply_continues_its_conversation_however_many_began_alike() {
        let mut all = Conversations::default();
        let (first, _) = all.place(request(&[(USER, "hello")], 1));
        let (second, _) = all.place(request(&[(USER, "hello")], 2));
        assert_ne!(first, second, "both are answered at the same time");
        all.end(first, Some(Digest::of_reply("one", &[])), None, 3);
        all.end(second, Some(Digest::of_reply("two ", &[])), None, 4);
        assert_eq!(all.place(request(&[(USER, "hello"), (MODEL, "two"), (USER, "and?")], 5)), (second, false));
        assert_eq!(all.place(request(&[(USER, "hello"), (MODEL, "one"), (USER, "and?")], 6)), (first, false));
        let (third, is_new) = all.place(request(&[(USER, "hello")], 7));
        assert!(is_new && third != first && third != second, "answered requests are not repeated");
    }

    fn calling(id: &str) -> Digest {
        Digest::of_reply("", &[NativeCall { id: id.into(), name: "look".into(), args: "{}".into() }])
    }

    #[test]
    fn of_equal_conversations_the_one_whose_calls_have_the_same_ids_is_continued() {
        let mut all = Conversations::default();
        let mut calls = ["call_a", "call_b", "call_c"].map(|id| vec![id]);
        let begun = [1, 1, 1].map(|at| all.place(request(&[(USER, "hello")], at)).0);
        for _ in 0..2 {
            for (conversation, calls) in begun.iter().zip(&calls) {
                all.end(*conversation, Some(calling(calls.last().unwrap())), None, 2);
            }
            for (conversation, calls) in begun.iter().zip(&mut calls) {
                let mut next = request(&[(USER, "hello")], 3);
                next.messages.extend(calls.iter().flat_map(|id| [calling(id), message(Role::Tool, "seen")]));
                assert_eq!(all.place(next), (*conversation, false), "{calls:?}");
                calls.push("again");
            }
        }
    }

    #[test]
    fn the_same_request_again_is_a_retry_only_after_a_failure() {
        let mut all = Conversations::default();
        let (first, _) = all.place(request(&[(USER, "hello")], 1));
        all.end(first, None, None, 2);
        assert_eq!(all.place(request(&[(USER, "hello")], 3)), (first, false));
        all.end(first, Some(Digest::of_reply("hi", &[])), None, 4);
        assert!(all.place(request(&[(USER, "hello")], 5)).1);
        assert!(
            all.place(ConversationRequest { key: "other".into(), ..request(&[(USER, "hello"), (MODEL, "hi")], 6) }).1
        );
    }

    #[test]
    fn a_reply_that_the_service_keeps_is_continued_by_its_id() {
        let mut all = Conversations::default();
        let (first, _) = all.place(request(&[(USER, "hello")], 1));
        all.end(first, Some(Digest::of_reply("hi", &[])), Some("resp_1".into()), 2);
        let next = ConversationRequest { continues: Some("resp_1".into()), ..request(&[(USER, "and?")], 3) };
        assert_eq!(all.place(next.clone()), (first, false));
        all.end(first, None, None, 4);
        assert_eq!(all.place(next.clone()), (first, false), "a retry after a failure");
        assert!(all.place(ConversationRequest { continues: Some("resp_2".into()), ..next }).1);
    }

    #[test]
    fn a_reply_whose_end_is_marked_is_continued_and_its_conversation_is_not_forgotten() {
        let mut all = Conversations::default();
        let next = [(USER, "hello"), (MODEL, "hi"), (USER, "and?")];
        let (first, _) = all.place(request(&[(USER, "hello")], 1));
        let (early, is_new) = all.place(request(&next, 2));
        assert!(is_new && early != first, "it is being answered");
        all.end(early, None, None, 3);
        assert_eq!(all.forget(100, 0), [early]);
        all.mark(first, Digest::of_reply("hi", &[]), None, 4);
        assert_eq!(all.forget(100, 0), [], "its body goes on");
        assert!(all.place(request(&[(USER, "hello")], 5)).1, "it was answered");
        assert_eq!(all.place(request(&next, 6)), (first, false));
        assert!(all.place(request(&next, 7)).1, "the next request is being answered");
    }

    #[test]
    fn a_reply_that_comes_later_is_continued_by_its_id_and_is_no_empty_reply() {
        let mut all = Conversations::default();
        let (first, _) = all.place(request(&[(USER, "hello")], 1));
        all.defer(first, Some("resp_1".into()), 2);
        assert!(all.place(request(&[(USER, "hello")], 3)).1, "the service has accepted it");
        assert_eq!(all.place(request(&[(USER, "hello"), (MODEL, "hi"), (USER, "and?")], 4)), (first, false));
        all.end(first, Some(Digest::of_reply("so", &[])), Some("resp_2".into()), 5);
        let after = |id: &str| ConversationRequest { continues: Some(id.into()), ..request(&[(USER, "and?")], 6) };
        assert_eq!(all.place(after("resp_1")), (first, false));
    }

    #[test]
    fn a_deferred_reply_that_was_fetched_is_continued_by_its_messages_and_its_id() {
        let mut all = Conversations::default();
        let deferred = |all: &mut Conversations, id: &str, at_ms| {
            let (conversation, _) = all.place(request(&[(USER, "hello")], at_ms));
            all.defer(conversation, Some(id.into()), at_ms);
            conversation
        };
        let (first, second) = (deferred(&mut all, "resp_1", 1), deferred(&mut all, "resp_2", 2));
        all.learn(first, "resp_1", Some(Digest::of_reply("one", &[])), 3);
        all.learn(second, "resp_2", Some(Digest::of_reply("two", &[])), 4);
        assert_eq!(all.place(request(&[(USER, "hello"), (MODEL, "one"), (USER, "and?")], 5)), (first, false));
        let after =
            |at_ms| ConversationRequest { continues: Some("resp_2".into()), ..request(&[(USER, "and?")], at_ms) };
        assert_eq!(all.place(after(6)), (second, false));
        all.learn(second, "resp_2", None, 7);
        assert!(all.place(after(8)).1, "the request that continues it is being answered");
        let third = deferred(&mut all, "resp_3", 9);
        all.learn(third, "resp_3", None, 10);
        assert_eq!(all.place(request(&[(USER, "hello")], 11)), (third, false), "a retry after a failure");
    }

    #[test]
    fn a_conversation_whose_reply_is_polled_is_not_forgotten() {
        let mut all = Conversations::default();
        let (first, _) = all.place(request(&[(USER, "hello")], 1));
        all.defer(first, Some("resp_1".into()), 2);
        all.touch(first, 50);
        assert_eq!(all.forget(50, 100), []);
        assert_eq!(all.forget(51, 100), [first]);
    }

    #[test]
    fn a_request_may_go_back_to_an_earlier_reply() {
        let mut all = Conversations::default();
        let after =
            |id: &str, at_ms| ConversationRequest { continues: Some(id.into()), ..request(&[(USER, "and?")], at_ms) };
        let (first, _) = all.place(request(&[(USER, "hello")], 1));
        all.end(first, Some(Digest::of_reply("hi", &[])), Some("resp_1".into()), 2);
        assert_eq!(all.place(after("resp_1", 3)), (first, false));
        let (at_once, is_new) = all.place(after("resp_1", 4));
        assert!(is_new && at_once != first, "the conversation is being answered");
        all.end(first, Some(Digest::of_reply("so", &[])), Some("resp_2".into()), 5);
        assert_eq!(all.place(after("resp_1", 6)), (first, false), "a branch");
        all.end(first, None, Some("resp_3".into()), 7);
        assert_eq!(all.place(after("resp_2", 8)), (first, false), "and back again");
        all.end(first, Some(Digest::of_reply("no", &[])), Some("resp_4".into()), 9);
        assert!(all.place(after("resp_3", 10)).1, "that reply failed");
    }

    #[test]
    fn a_conversation_without_messages_is_continued_only_by_its_own_retry_or_with_its_reply() {
        let mut all = Conversations::default();
        let system = |words: &[(Role, &str)], frame, at_ms| ConversationRequest {
            system: vec![message(Role::System, "Be brief.")],
            frame,
            ..request(words, at_ms)
        };
        // A body that cannot be read.
        let (broken, _) = all.place(ConversationRequest { frame: 1, ..request(&[], 1) });
        all.end(broken, None, None, 2);
        assert!(all.place(request(&[(USER, "hello")], 3)).1, "another program's request");
        assert!(all.place(ConversationRequest { frame: 2, ..request(&[], 4) }).1, "another broken body");
        assert_eq!(all.place(ConversationRequest { frame: 1, ..request(&[], 5) }), (broken, false), "a retry");
        // A system text alone.
        let (alone, _) = all.place(system(&[], 1, 6));
        all.end(alone, Some(Digest::of_reply("yes?", &[])), None, 7);
        assert!(all.place(system(&[(USER, "hello")], 1, 8)).1, "another program's request");
        assert_eq!(all.place(system(&[(MODEL, "yes?"), (USER, "hello")], 1, 9)), (alone, false));
    }

    #[test]
    fn requests_with_other_files_are_no_retries() {
        let mut all = Conversations::default();
        let of =
            |files: &[u64], at_ms| ConversationRequest { files: files.to_vec(), ..request(&[(USER, "look")], at_ms) };
        let (first, _) = all.place(of(&[1], 1));
        all.end(first, None, None, 2);
        assert!(all.place(of(&[2], 3)).1);
        assert_eq!(all.place(of(&[1], 4)), (first, false));
    }

    #[test]
    fn a_conversation_that_the_service_keeps_is_continued_by_its_id() {
        let mut all = Conversations::default();
        let of = |thread: &str, at_ms| ConversationRequest {
            thread: Some(thread.into()),
            ..request(&[(USER, "go on")], at_ms)
        };
        let (first, _) = all.place(of("conv_1", 1));
        all.end(first, Some(Digest::of_reply("hi", &[])), Some("resp_1".into()), 2);
        assert!(all.place(of("conv_2", 3)).1);
        assert_eq!(all.place(of("conv_1", 4)), (first, false));
    }

    #[test]
    fn of_conversations_alike_the_one_with_the_same_tools_is_continued_and_else_the_last() {
        let mut all = Conversations::default();
        let of = |words: &[(Role, &str)], frame, at_ms| ConversationRequest { frame, ..request(words, at_ms) };
        let ids: Vec<ConversationId> = [7, 8, 8, 9]
            .into_iter()
            .zip(1..)
            .map(|(frame, at)| all.place(of(&[(USER, "hello")], frame, at)).0)
            .collect();
        ids.iter().zip(5..).for_each(|(id, at)| all.end(*id, Some(Digest::of_reply("hi", &[])), None, at));
        let next = [(USER, "hello"), (MODEL, "hi"), (USER, "and?")];
        assert_eq!(all.place(of(&next, 8, 10)), (ids[2], false), "the last with these tools");
        assert_eq!(all.place(of(&next, 7, 11)), (ids[0], false), "the one with these tools");
        assert_eq!(all.place(of(&next, 1, 12)), (ids[3], false), "the last");
    }

    #[test]
    fn conversations_are_forgotten_when_they_are_idle_and_never_while_they_are_answered() {
        let mut all = Conversations::default();
        let ids: Vec<ConversationId> = (0..5).map(|at| all.place(request(&[(USER, &format!("{at}"))], at)).0).collect();
        assert_eq!(all.forget(100, 0), []);
        ids.iter().take(4).for_each(|id| all.end(*id, None, None, i64::try_from(id.0).unwrap() * 10));
        assert_eq!(all.forget(15, 100), [ids[0]]);
        assert_eq!(all.forget(0, 2), [ids[1], ids[2]]);
        assert_eq!(all.len(), 2);
    }
}
