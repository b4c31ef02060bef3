//! A captured session: the events that a conversation is recorded as.
//!
//! In: requests, heads and pieces of replies, their ends. Out: lines of a session file. A request is a turn of one run in the mode `text`;
//! messages are stored once, the exact bytes of each body as what differs from the one before.

mod request;

use std::collections::HashMap;
use std::path::Path;

use ptc_core::reasons::Reason;
use ptc_core::value::Json;

use super::digest::Digest;
use super::exchange::{Begun, ExchangeEnd, ExchangeLine};
use super::live::{ConversationLine, ConversationState, LiveTraffic};
use super::message_list::{StoredConversations, StoredReply};
use crate::event::{
    Address, AgentRecord, Envelope, ErrorRecord, Event, JsonText, ModelRecord, Notice, NoticeLevel, Price, RawReply,
    ReplyEnd, ReplyStatus, RunEnd, RunStart, Spending, ToolSchema, Totals, TurnEnd, UsageRecord, hex_sha,
};
use crate::model::ReplyOutcome;
use crate::session::{CaptureSource, Header, ImportSource, RecorderError, SessionId, SessionWriter};

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
    /// The replies so far and the turns that they are of; each also without the ids of its calls.
    replies: HashMap<Digest, Address>,
    /// The last requests and their replies, for those that continue them by an id.
    stored: StoredConversations,
    /// The tools of the last request.
    last_tools: Vec<ToolSchema>,
    /// The id of the deferred reply that the current request fetches.
    fetched: Option<String>,
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
    /// Events that a screen has not got: it gets them when they are in the file, from which it reads all earlier ones.
    unshown: Vec<Envelope>,
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
        let started = writer.write(at_ms, run.clone(), start.into());
        let unshown = live.is_some().then_some(started).into_iter().collect();
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
            stored: StoredConversations::default(),
            last_tools: Vec::new(),
            fetched: None,
            has_schema: false,
            last_text: None,
            last_error: None,
            model: first,
            by: None,
            spending: Spending::default(),
            last_ms: at_ms,
            line,
            unshown,
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
        if self.live.is_some() {
            self.unshown.push(envelope);
        }
    }

    /// Gives the events so far to the operating system, then to a screen that shows them.
    pub(super) fn flush(&mut self) {
        self.writer.flush();
        self.show_events();
    }

    /// Returns when the events so far are on the disk, as far as they can be written.
    fn sync(&mut self) {
        self.writer.sync();
        self.show_events();
    }

    fn show_events(&mut self) {
        if let Some(live) = &self.live {
            self.unshown.drain(..).for_each(|envelope| live.event(&self.id, envelope));
        }
    }

    /// Sets its state and shows it.
    fn show(&mut self, state: ConversationState) {
        self.line.state = state;
        if let Some(live) = &self.live {
            live.line(self.line.clone());
        }
    }

    /// Records that the first bytes of the reply arrived, `ms` after the request.
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
        self.sync();
        if self.keep_reply(outcome, error.is_none()) {
            if error.is_none() {
                self.last_text = Some(outcome.text.clone());
            }
            self.last_error = error;
        }
    }

    /// Keeps a reply for the requests that continue it; returns whether it is the reply to the last request. A deferred reply may come although
    /// this one is not an answer.
    fn keep_reply(&mut self, outcome: &ReplyOutcome, is_answer: bool) -> bool {
        let reply = if outcome.is_deferred {
            StoredReply::Deferred
        } else if is_answer {
            let digest = Digest::of_reply(&outcome.text, &outcome.calls);
            // Clients that send no ids repeat the last one with this content.
            self.replies.insert(digest.without_call_ids(), self.turn());
            self.replies.insert(digest, self.turn());
            StoredReply::Known(digest)
        } else {
            StoredReply::Missing
        };
        if let Some(id) = self.fetched.take() {
            return self.stored.set_deferred(&id, reply);
        }
        if reply != StoredReply::Missing {
            self.stored.set_reply(outcome.id.as_deref(), reply);
        }
        true
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
        self.sync();
        self.show(ConversationState::Ended);
        let error = self.writer.error()?;
        Some(format!("{} cannot be written: {error}; its last lines are lost", self.writer.path().display()))
    }
}

fn model_record(upstream: &str, model: &str, price: Option<Price>) -> ModelRecord {
    let alias = if model.is_empty() { upstream.to_owned() } else { format!("{upstream}:{model}") };
    ModelRecord { alias, provider: upstream.to_owned(), id: model.to_owned(), price }
}

/// The ids of sessions that are read from a file, for conversations that begin with the same request at the same time, in their order: the
/// same whenever the file is read.
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
