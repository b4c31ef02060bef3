//! Requests of a captured session: the first events of a turn.
//!
//! In: requests as they were read, with the bytes of their bodies. Out: messages, the request with its ranges of them, and its bytes. It
//! must never record a message twice, or one that neither the request nor the service has.

use ptc_core::text::in_one_line;

use super::{CapturedSession, model_record};
use crate::config::Protocol;
use crate::event::{
    BudgetRecord, MessageAdded, MessagePart, NoticeLevel, RawRequest, RequestMade, Role, Sent, Source, TurnStart, Want,
    ranges,
};
use crate::model::{CapturedMessage, CapturedRequest, pack_body};
use crate::proxy::background::DeferredReply;
use crate::proxy::capture::Prices;
use crate::proxy::digest::Digest;
use crate::proxy::exchange::{Begun, CleanBody};
use crate::proxy::headers;
use crate::proxy::live::ConversationState;
use crate::proxy::message_list::{MessageList, StoredConversation, StoredReply};
use crate::workbench::format::plural;

/// The warning of a request that continues a deferred reply.
const DEFERRED: &str = "the reply that it continues is not in this session: the service answers in the background, and no recorded request \
    has fetched the whole reply";

/// Characters of a user's text that are read for the list of conversations, and those that it shows.
const READ_CHARS: usize = 2_000;
const SHOWN_CHARS: usize = 120;

/// The beginning of the last text of the user. Claude Code adds reminders to a message, which are not the user's.
fn user_text(request: &CapturedRequest) -> Option<String> {
    let parts = request.messages.iter().rev().filter(|message| message.role == Role::User);
    let mut texts = parts.flat_map(|message| message.parts.iter().rev()).filter_map(|part| match part {
        MessagePart::Text { text, .. } => Some(text.trim()),
        _ => None,
    });
    let text = texts.find(|text| !text.is_empty() && !text.starts_with("<system-reminder>"))?;
    Some(text.chars().take(READ_CHARS).collect())
}

/// The beginning of a text in one line.
fn beginning(text: &str) -> String {
    in_one_line(text).chars().take(SHOWN_CHARS).collect()
}

impl CapturedSession {
    /// Begins a turn with a request that fetches a deferred reply: it has no messages, and its reply is that of an earlier turn.
    pub(in crate::proxy) fn begin_fetch(
        &mut self,
        at_ms: i64,
        begun: &Begun,
        deferred: &DeferredReply,
        body: CleanBody,
        prices: &Prices,
    ) {
        self.fetched = Some(deferred.id.clone());
        let request = CapturedRequest { model: deferred.model.clone(), ..CapturedRequest::default() };
        self.begin_turn(at_ms, begun, &request, &[], body, prices);
        let asked = self.run.turn(deferred.turn);
        self.inform(at_ms, format!("it fetches the reply to {asked}, which the service answered in the background"));
    }

    /// Begins a turn with a request, which was read from `body`. `digests`: those of its messages, by [`Digest::of`].
    pub(in crate::proxy) fn begin_turn(
        &mut self,
        at_ms: i64,
        begun: &Begun,
        request: &CapturedRequest,
        digests: &[Digest],
        body: CleanBody,
        prices: &Prices,
    ) {
        let upstream = &begun.upstream;
        let is_other = !request.model.is_empty() && request.model != self.model.id;
        self.by = is_other.then(|| {
            let price = prices(upstream, &request.model);
            Box::new(model_record(upstream, &request.model, price))
        });
        if begun.asked_in().is_some() && !request.model.is_empty() {
            self.line.model.clone_from(&request.model);
        }
        if let Some(text) = user_text(request) {
            self.line.user_text = beginning(&begun.scrub.text(&text));
        }
        let CleanBody { bytes: body, masked, .. } = body;
        (self.line.turns, self.line.at_ms, self.line.problem) = (self.line.turns + 1, at_ms, None);
        self.show(ConversationState::Asked);
        self.totals.turns += 1;
        self.totals.requests += 1;
        self.has_schema |= request.schema.is_some();
        let remaining = BudgetRecord { turns: 1, tree: None, tokens: None, mission_ms: None };
        let start = TurnStart { now: at_ms, kind: None, remaining, waited_ms: 0, stop: None };
        self.of_turn(at_ms, start.into());
        let kept = self.kept_messages(at_ms, begun.protocol, request);
        let own = request.messages.iter().zip(digests);
        let own = own.map(|(message, digest)| (self.message(at_ms, message, *digest), message.role == Role::System));
        let own: Vec<(u32, bool)> = own.collect();
        let frame = request.frame.json();
        let has_system_member = ["system", "instructions"].iter().any(|key| frame.get(key).is_some());
        let has_system_member = has_system_member && own.first().is_some_and(|(_, is_system)| *is_system);
        let (system, own) = own.split_at(usize::from(has_system_member));
        let messages: Vec<(u32, bool)> = [system, kept.as_slice(), own].concat();
        // There the tools stay, too, unless others are sent.
        let keeps_tools = !kept.is_empty() && request.tools.is_empty() && begun.protocol == Protocol::Anthropic;
        let tools = if keeps_tools { std::mem::take(&mut self.last_tools) } else { request.tools.clone() };
        if self.fetched.is_none() {
            self.last_error = None;
            self.stored.begin(StoredConversation {
                messages: MessageList::of(&messages),
                has_system_member,
                own: own.len(),
                reply: StoredReply::Missing,
            });
            self.last_tools.clone_from(&tools);
        }
        let made = RequestMade {
            messages: ranges(messages.iter().map(|(number, _)| *number)),
            want: if request.schema.is_some() { Want::Json } else { Want::Text },
            schema: request.schema.clone(),
            tool_names: tools.iter().map(|tool| tool.name.clone()).collect(),
            tools,
            options: request.options.clone(),
            cache: false,
        };
        self.of_turn(at_ms, made.into());
        if !kept.is_empty() {
            let before = plural(kept.len() as u64, "earlier message");
            let text = format!("kept by the service and not repeated in the body: {before}");
            self.notice(at_ms, NoticeLevel::Info, text);
        }
        self.write_body(at_ms, begun, request, (body, masked));
        if masked > 0 {
            let found = plural(masked, "known secret");
            self.warn(at_ms, format!("overwritten with `*` in the recording of the body: {found}"));
        }
        let retry = begun.headers.get("x-stainless-retry-count").and_then(|value| value.to_str().ok());
        if let Some(count) = retry.filter(|count| *count != "0") {
            self.notice(at_ms, NoticeLevel::Info, format!("the client sent it again: retry {count}"));
        }
    }

    /// Writes the body of a request, and the number of secrets that were masked in it.
    fn write_body(&mut self, at_ms: i64, begun: &Begun, request: &CapturedRequest, (body, masked): (Vec<u8>, u64)) {
        let scrub = &begun.scrub;
        let base = self.body.as_ref().map(|(address, body)| (address, body.as_slice()));
        let raw = pack_body(&body, base, masked);
        let sent = Sent {
            attempt: 1,
            provider: begun.upstream.clone(),
            url: scrub.text(&begun.url),
            frame: request.frame.clone(),
            bytes: raw.bytes,
            sha: raw.sha.clone(),
            structured_by: None,
        };
        let raw = RawRequest {
            attempt: 1,
            method: begun.method.clone(),
            path: scrub.text(&headers::recorded_path(&begun.path)),
            headers: headers::recorded(&begun.headers, scrub),
            body: raw,
            came: begun.clean_came().map(|came| pack_body(&came.bytes, None, came.masked)),
        };
        self.of_turn(at_ms, raw.into());
        self.of_turn(at_ms, sent.into());
        // The body that the next request repeats is not that of a request without messages.
        if self.fetched.is_none() {
            self.body = Some((self.turn(), body));
        }
    }

    /// The messages before those of the request, which the service keeps; none unless the request continues a reply by its id.
    fn kept_messages(&mut self, at_ms: i64, protocol: Protocol, request: &CapturedRequest) -> Vec<(u32, bool)> {
        if request.continues.is_none() && request.thread.is_none() {
            return Vec::new();
        }
        let stored = self.stored.continued(request.continues.as_deref());
        // Instructions of the Responses API are for one reply; a system text stays unless another one comes.
        let is_replaced = match protocol {
            Protocol::Responses => stored.has_system_member,
            _ => request.messages.iter().any(|message| message.role == Role::System),
        };
        let mut messages = stored.before_reply(is_replaced);
        match stored.reply {
            // Messages name replies by their turns.
            StoredReply::Known(reply) => messages.push((self.numbered(at_ms, reply, Role::Assistant, &[]), false)),
            StoredReply::Deferred => self.warn(at_ms, DEFERRED.to_owned()),
            StoredReply::Missing => {}
        }
        messages
    }

    /// The number of a message; one that is new is recorded. `as_reply`: its digest as far as a reply would have it.
    fn message(&mut self, at_ms: i64, message: &CapturedMessage, as_reply: Digest) -> u32 {
        // A message that repeats no known reply is identified by all its parts; so is one whose client replaced the ids of calls, which its
        // results name.
        let is_final = message.role != Role::Assistant || self.replies.contains_key(&as_reply);
        let digest = if is_final { as_reply } else { Digest::of_all(message) };
        self.numbered(at_ms, digest, message.role, &message.parts)
    }

    /// The number of the message with this digest; a new one is recorded.
    fn numbered(&mut self, at_ms: i64, digest: Digest, role: Role, parts: &[MessagePart]) -> u32 {
        if let Some(number) = self.messages.get(&digest) {
            return *number;
        }
        let source = match role {
            Role::System => Source::Prompt,
            Role::User => Source::User,
            Role::Assistant => Source::Reply,
            Role::Tool => Source::Tool,
        };
        let parts = match self.replies.get(&digest) {
            Some(reply) => vec![MessagePart::Reply { reply: reply.clone() }],
            None => parts.to_vec(),
        };
        let number = self.next_message;
        self.next_message += 1;
        self.messages.insert(digest, number);
        self.of_turn(at_ms, MessageAdded { m: number, role, source, parts }.into());
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_user_is_no_result_and_no_reminder_of_the_client() {
        let body = br#"{"model":"m","max_tokens":9,"messages":[
            {"role":"user","content":[{"type":"text","text":"<system-reminder>Be brief.</system-reminder>"},
                {"type":"text","text":" Fix the\n test "}]},
            {"role":"assistant","content":[{"type":"tool_use","id":"c","name":"run","input":{}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"failed"},
                {"type":"text","text":"<system-reminder>Go on.</system-reminder>"}]}]}"#;
        let request = CapturedRequest::read(Protocol::Anthropic, "/v1/messages", body).unwrap();
        assert_eq!(user_text(&request).map(|text| beginning(&text)), Some("Fix the test".to_owned()));
        assert_eq!(user_text(&CapturedRequest::default()), None);
    }
}
