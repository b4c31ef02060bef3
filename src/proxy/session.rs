//! A captured session: the events that a conversation is recorded as.
//!
//! In: requests, heads and pieces of replies, their ends. Out: lines of a session file. A request is a turn of one run in the mode `text`;
//! messages are stored once, the exact bytes of each body as what differs from the one before.

use std::collections::{HashMap, VecDeque};
use std::path::Path;

use ptc_core::reasons::Reason;
use ptc_core::value::Json;

use super::capture::Prices;
use super::conversations::REPLIES_MOST;
use super::digest::Digest;
use super::exchange::{Begun, CleanBody, ExchangeEnd, ExchangeLine};
use super::headers;
use super::live::{ConversationLine, ConversationState, LiveTraffic};
use super::message_list::{MessageList, StoredConversation, StoredReply};
use crate::config::Protocol;
use crate::event::{
    Address, AgentRecord, BudgetRecord, ErrorRecord, Event, JsonText, MessageAdded, MessagePart, ModelRecord, Notice,
    NoticeLevel, Price, RawReply, RawRequest, ReplyEnd, ReplyStatus, RequestMade, Role, RunEnd, RunStart, Sent, Source,
    Spending, ToolSchema, Totals, TurnEnd, TurnStart, UsageRecord, Want, hex_sha, ranges,
};
use crate::model::{CapturedMessage, CapturedRequest, ReplyOutcome, pack_body};
use crate::session::{CaptureSource, Header, ImportSource, RecorderError, SessionId, SessionWriter};
use crate::workbench::format::plural;

/// The warning of a request that continues a reply that came to another request.
const DEFERRED: &str =
    "the reply that it continues is not in this session: the service answered later, to a request that asks no model";

/// A session that is being written.
pub(super) struct CapturedSession {
    pub(super) id: String,
    writer: SessionWriter,
    run: Address,
    totals: Totals,
    /// The messages that were recorded, and their numbers.
    messages: HashMap<Digest, u32>,
    next_message: u32,
    /// The last body, for the next one.
    body: Option<(Address, Vec<u8>)>,
    /// The replies so far and the turns that they are of.
    replies: HashMap<Digest, Address>,
    /// The last request and its reply, for one that continues them by an id.
    last: StoredConversation,
    /// The tools of the last request.
    last_tools: Vec<ToolSchema>,
    /// The conversation up to each of the last replies that have an id, as the service stores it.
    stored: VecDeque<(String, StoredConversation)>,
    has_schema: bool,
    last_text: Option<String>,
    last_error: Option<ErrorRecord>,
    /// The model of the first request.
    model: ModelRecord,
    /// The model of the current request, if it is another one.
    by: Option<Box<ModelRecord>>,
    spending: Spending,
    /// Unix time in ms of the last event.
    last_ms: i64,
    line: ConversationLine,
    live: Option<LiveTraffic>,
}

impl CapturedSession {
    /// Creates the session of a conversation; `origin`: the file that it is read from, and its id then.
    pub(super) fn create(
        dir: &Path,
        at_ms: i64,
        begun: &Begun,
        model: &str,
        price: Option<Price>,
        origin: Option<(&ImportSource, &SessionId)>,
        live: Option<LiveTraffic>,
    ) -> Result<Self, RecorderError> {
        let mut tries = 0;
        let (id, mut writer) = loop {
            let id = origin.map_or_else(|| SessionId::draw(at_ms), |(_, id)| id.clone());
            let imported = origin.map(|(from, _)| from.clone());
            let captured =
                CaptureSource { upstream: begun.upstream.clone(), protocol: begun.protocol.name().to_owned() };
            let header = Header { captured: Some(captured), imported, ..Header::new(id.clone(), at_ms) };
            match SessionWriter::create(dir, &header) {
                Ok(writer) => break (id, writer),
                // Two sessions of one millisecond may draw the same number.
                Err(error)
                    if error.error.kind() == std::io::ErrorKind::AlreadyExists && origin.is_none() && tries < 8 =>
                {
                    tries += 1;
                }
                Err(error) => return Err(error),
            }
        };
        let run = Address::run(0);
        let upstream = &begun.upstream;
        let name = match (begun.asked_in(), model) {
            (None, _) => "other requests".to_owned(),
            (Some(_), "") => upstream.clone(),
            (Some(_), model) => model.to_owned(),
        };
        let first = model_record(upstream, model, price);
        let shown = if begun.asked_in().is_some() { model.to_owned() } else { name.clone() };
        let toml = format!("name = {}\nmode = \"text\"\nprompt = \"captured\"\n", Json::str(name.as_str()).to_text());
        let start = RunStart {
            agent: AgentRecord { name, sha: hex_sha(toml.as_bytes()), toml },
            mode: "text".to_owned(),
            model: first.clone(),
            context: JsonText::of(&Json::empty()),
            ..RunStart::default()
        };
        writer.write(at_ms, run.clone(), start.into());
        let line = ConversationLine {
            session: id.to_string(),
            client: begun.scrub.text(&begun.client()),
            upstream: begun.upstream.clone(),
            model: shown,
            at_ms,
            ..ConversationLine::default()
        };
        Ok(Self {
            id: id.to_string(),
            writer,
            run,
            totals: Totals::default(),
            messages: HashMap::new(),
            next_message: 0,
            body: None,
            replies: HashMap::new(),
            last: StoredConversation::default(),
            last_tools: Vec::new(),
            stored: VecDeque::new(),
            has_schema: false,
            last_text: None,
            last_error: None,
            model: first,
            by: None,
            spending: Spending::default(),
            last_ms: at_ms,
            line,
            live,
        })
    }

    /// Returns whether its events are shown on a screen.
    pub(super) fn is_shown(&self) -> bool {
        self.live.as_ref().is_some_and(|live| live.is_shown(&self.id))
    }

    fn write(&mut self, at_ms: i64, address: Address, event: Event) {
        self.last_ms = at_ms;
        let envelope = self.writer.write(at_ms, address, event);
        if let Some(live) = &self.live {
            live.event(&self.id, envelope);
        }
    }

    /// Sets its state and shows it.
    fn show(&mut self, state: ConversationState) {
        self.line.state = state;
        if let Some(live) = &self.live {
            live.line(self.line.clone());
        }
    }

    /// The first bytes of a reply came, so many ms after the request.
    pub(super) fn streams(&mut self, ms: u64) {
        self.line.first_ms = Some(ms);
        self.show(ConversationState::Streams);
    }

    /// Returns the number of its requests.
    pub(super) fn turns(&self) -> u32 {
        self.totals.turns
    }

    /// Returns the error that keeps its last lines off the disk, if there is one.
    pub(super) fn error(&self) -> Option<String> {
        let error = self.writer.error()?;
        Some(format!("{} cannot be written: {error}; its lines are kept in memory", self.writer.path().display()))
    }

    fn turn(&self) -> Address {
        self.run.turn(self.totals.turns)
    }

    /// Adds an event of the current turn.
    pub(super) fn of_turn(&mut self, at_ms: i64, event: Event) {
        let turn = self.turn();
        self.write(at_ms, turn, event);
    }

    fn notice(&mut self, at_ms: i64, level: NoticeLevel, text: String) {
        self.of_turn(at_ms, Notice { level, text }.into());
    }

    /// Adds a fact to the current turn.
    pub(super) fn inform(&mut self, at_ms: i64, text: String) {
        self.notice(at_ms, NoticeLevel::Info, text);
    }

    /// Adds a warning to the current turn.
    pub(super) fn warn(&mut self, at_ms: i64, text: String) {
        self.notice(at_ms, NoticeLevel::Warning, text);
    }

    /// Begins a turn with a request, which was read from `body`. `digests`: those of its messages, by [`Digest::of`].
    pub(super) fn begin_turn(
        &mut self,
        at_ms: i64,
        begun: &Begun,
        request: &CapturedRequest,
        digests: &[Digest],
        body: CleanBody,
        prices: &Prices,
    ) {
        let Begun { scrub, upstream, .. } = begun;
        let is_other = !request.model.is_empty() && request.model != self.model.id;
        self.by = is_other.then(|| {
            let price = prices(upstream, &request.model);
            Box::new(model_record(upstream, &request.model, price))
        });
        if begun.asked_in().is_some() && !request.model.is_empty() {
            self.line.model.clone_from(&request.model);
        }
        let CleanBody { bytes: body, masked, .. } = body;
        (self.line.turns, self.line.at_ms, self.line.problem) = (self.line.turns + 1, at_ms, None);
        self.show(ConversationState::Asked);
        self.totals.turns += 1;
        self.totals.requests += 1;
        self.last_error = None;
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
        self.last = StoredConversation {
            messages: MessageList::of(&messages),
            has_system_member,
            own: own.len(),
            reply: StoredReply::Missing,
        };
        self.last_tools.clone_from(&tools);
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
        self.body = Some((self.turn(), body));
        if masked > 0 {
            let found = plural(masked, "known secret");
            self.warn(at_ms, format!("overwritten with `*` in the recording of the body: {found}"));
        }
        let retry = begun.headers.get("x-stainless-retry-count").and_then(|value| value.to_str().ok());
        if let Some(count) = retry.filter(|count| *count != "0") {
            self.notice(at_ms, NoticeLevel::Info, format!("the client sent it again: retry {count}"));
        }
    }

    /// The messages before those of the request, which the service keeps; none unless the request continues a reply by its id.
    fn kept_messages(&mut self, at_ms: i64, protocol: Protocol, request: &CapturedRequest) -> Vec<(u32, bool)> {
        if request.continues.is_none() && request.thread.is_none() {
            return Vec::new();
        }
        // It need not be the last reply.
        let found = request.continues.as_ref().and_then(|id| self.stored.iter().rev().find(|(known, _)| known == id));
        let found = found.map(|(_, stored)| stored.clone());
        let stored = found.unwrap_or_else(|| std::mem::take(&mut self.last));
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
        // A message that repeats no known reply is identified by all its parts.
        let is_final = message.role != Role::Assistant || self.replies.contains_key(&as_reply);
        let digest = if is_final { as_reply } else { Digest::of_all(message) };
        self.numbered(at_ms, digest, message.role, &message.parts)
    }

    /// The same for a message with this digest.
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

    /// Records the head of the reply.
    pub(super) fn head(&mut self, at_ms: i64, reply: RawReply) {
        self.of_turn(at_ms, reply.into());
    }

    /// Ends the turn.
    pub(super) fn end_turn(
        &mut self,
        at_ms: i64,
        line: &ExchangeLine,
        outcome: &ReplyOutcome,
        end: &ExchangeEnd,
        problem: Option<String>,
    ) {
        let status = match (&problem, outcome.finish.as_deref(), end) {
            (None, Some("length"), _) => ReplyStatus::Cut,
            (None, ..) => ReplyStatus::Ok,
            (Some(_), _, ExchangeEnd::ClientLeft) => ReplyStatus::Cancelled,
            (Some(_), ..) => ReplyStatus::Error,
        };
        let error = problem.map(|message| ErrorRecord {
            hint: None,
            status: line.status.filter(|status| *status >= 400),
            class: end.class().map(|class| class.name().to_owned()),
            ..ErrorRecord::new(
                if status == ReplyStatus::Cancelled { Reason::Cancelled } else { Reason::LlmError },
                message,
            )
        });
        let reply = ReplyEnd {
            finish: outcome.finish.clone(),
            usage: outcome.usage,
            model: outcome.model.clone(),
            calls: outcome.calls.clone(),
            requests: 1,
            error: error.clone(),
            first_ms: line.first_ms,
            by: self.by.clone(),
            ..ReplyEnd::new(1, status)
        };
        self.of_turn(at_ms, reply.into());
        let more = Totals { tokens: outcome.usage, ..Totals::default() };
        self.totals = self.totals.plus(&more);
        self.line.tokens = self.totals.tokens;
        if let Some(tokens) = outcome.usage {
            self.spending.add_tokens(self.by.as_deref().unwrap_or(&self.model).price, tokens);
        }
        self.line.cost = self.spending.cost();
        self.line.problem = error.as_ref().map(|error| error.message.clone());
        self.line.errors += u32::from(error.is_some());
        self.show(if error.is_some() { ConversationState::Failed } else { ConversationState::Answered });
        let turn_end = TurnEnd {
            success: error.is_none(),
            reason: error.as_ref().map(|error| error.reason.clone()),
            usage: outcome.usage,
            totals: self.totals,
            inputs: None,
        };
        self.of_turn(at_ms, turn_end.into());
        self.writer.sync();
        if error.is_none() {
            self.last.reply = if outcome.is_deferred {
                StoredReply::Deferred
            } else {
                let digest = Digest::of_reply(&outcome.text, &outcome.calls);
                self.replies.insert(digest, self.turn());
                StoredReply::Known(digest)
            };
            if let Some(id) = &outcome.id {
                if self.stored.len() >= REPLIES_MOST {
                    self.stored.pop_front();
                }
                self.stored.push_back((id.clone(), self.last.clone()));
            }
            self.last_text = Some(outcome.text.clone());
        }
        self.last_error = error;
    }

    /// Returns the bytes of the body that is kept for the next one.
    pub(super) fn base_bytes(&self) -> usize {
        self.body.as_ref().map_or(0, |(_, body)| body.len())
    }

    /// Frees the body that is kept for the next one, which is then recorded whole.
    pub(super) fn free_base(&mut self) {
        self.body = None;
    }

    /// Unix time in ms of the last event.
    pub(super) fn last_ms(&self) -> i64 {
        self.last_ms
    }

    /// Ends the session at the time of its last event; returns why its last lines are lost.
    pub(super) fn end(mut self) -> Option<String> {
        let at_ms = self.last_ms;
        let usage = UsageRecord { totals: self.totals, schema_used: self.has_schema, ..UsageRecord::default() };
        let (value, fail) = match (self.last_error.take(), self.last_text.take()) {
            (Some(error), _) => (None, Some(error)),
            (None, text) => (Some(JsonText::of(&Json::str(text.unwrap_or_default()))), None),
        };
        let end =
            RunEnd { value, fail, summary: None, refs: None, from_turn: None, journal: None, usage, inputs: None };
        let run = self.run.clone();
        self.write(at_ms, run, end.into());
        self.writer.sync();
        self.show(ConversationState::Ended);
        let error = self.writer.error()?;
        Some(format!("{} cannot be written: {error}; its last lines are lost", self.writer.path().display()))
    }
}

fn model_record(upstream: &str, model: &str, price: Option<Price>) -> ModelRecord {
    let alias = if model.is_empty() { upstream.to_owned() } else { format!("{upstream}:{model}") };
    ModelRecord { alias, provider: upstream.to_owned(), id: model.to_owned(), price }
}

/// The ids of sessions that are read from a file, for conversations that begin with the same request at the same time, in their order: the same
/// whenever the file is read.
pub(super) fn ids_of_file<'a>(
    at_ms: i64,
    imported: &'a ImportSource,
    begun: &'a Begun,
) -> impl Iterator<Item = SessionId> + 'a {
    (0_u32..).map(move |place| {
        let place = if place == 0 { String::new() } else { format!(" {place}") };
        let text = [imported.sha.as_bytes(), &begun.body, at_ms.to_string().as_bytes(), place.as_bytes()].concat();
        let number = hex_sha(&text).get(..8).and_then(|start| u32::from_str_radix(start, 16).ok());
        SessionId::new(at_ms, number.unwrap_or_default())
    })
}
