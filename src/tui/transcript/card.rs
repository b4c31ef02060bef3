//! Cards: what the transcript knows of each part of a run, filled event by event.
//!
//! In: event data. Out: plain data that the layout files turn into rows. Nothing here is laid out or drawn.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::format::size;
use super::partial::PartialReply;
use crate::engine::Reader;
use crate::event::{
    Address, CallStatus, Envelope, ErrorRecord, Event, ExtractKind, JsonText, NativeCall, Notice, Options, PartKind,
    RawRequest, RepeatedReply, ReplyPart, ReplyStatus, RequestMade, RunEnd, RunStart, SentMessage, StructuredBy,
    Tokens, ToolCall, ToolEnd, ToolSchema, TotalUsage, Unknown,
};
use crate::record::{Attempt, TurnRecord, count_failed};
use crate::session::TurnEntry;
use crate::workbench::overview::first_error;
use crate::workbench::{PromptSizes, wording};

/// One part of a run.
#[derive(Debug, Clone)]
pub enum Card {
    /// The input of the run: context, limits, agent.
    Start(Box<RunStart>),
    /// The request of a turn, once it is known.
    Request(Option<Box<RequestCard>>),
    /// Reasoning that the provider showed in a turn; empty most of the time.
    Reasoning(String),
    /// A turn: reply, what was found in it, checks.
    Turn(Box<TurnCard>),
    /// A turn of a saved session whose events were not read yet, and which part of it is here: most turns of a long session
    /// never become more than this.
    Unread(Arc<TurnEntry>, Part),
    /// Feedback to the model after a turn; empty most of the time.
    Feedback(String),
    /// The end of the run.
    End(Box<EndCard>),
    /// Something worth knowing.
    Notice(Box<Notice>),
    /// An event of a kind that this program does not know.
    Unknown(Box<Unknown>),
}

/// The request of a turn.
#[derive(Debug, Clone, Default)]
pub struct RequestCard {
    /// The messages.
    pub messages: Messages,
    /// Its content by kind, tools and schema included.
    pub sizes: PromptSizes,
    /// JSON Schema of the answer.
    pub schema: Option<JsonText>,
    /// Tools that the provider gets.
    pub tools: Vec<ToolSchema>,
    /// Model options asked for.
    pub options: Options,
    /// The request of another program as it passed the proxy.
    pub captured: Option<CapturedHead>,
}

/// The head of a captured request, and the size of its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedHead {
    /// HTTP method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Size of the body in bytes.
    pub bytes: u64,
}

impl CapturedHead {
    /// The head of this request.
    pub fn of(raw: &RawRequest) -> Self {
        Self { method: raw.method.clone(), path: raw.path.clone(), bytes: raw.body.bytes }
    }

    /// Returns it on one line: `GET /v1/responses/resp_1, no body`.
    pub fn line(&self) -> String {
        let body = if self.bytes == 0 { "no body".to_owned() } else { format!("body of {}", size(self.bytes)) };
        format!("{} {}, {body}", self.method, self.path)
    }
}

impl RequestCard {
    /// The card of a request whose content is not counted yet.
    pub fn of(made: &RequestMade) -> Self {
        Self {
            messages: Messages::Ranges(made.messages.clone()),
            schema: made.schema.clone(),
            tools: made.tools.clone(),
            options: made.options.clone(),
            ..Self::default()
        }
    }

    /// The head of a request that has neither messages nor tools, which is all that it sends.
    pub fn bare(&self) -> Option<&CapturedHead> {
        self.captured.as_ref().filter(|_| self.sizes.present().next().is_none())
    }

    /// Counts these messages, the tools and the schema.
    pub fn count<'a>(&mut self, messages: impl IntoIterator<Item = &'a SentMessage>) {
        self.sizes = PromptSizes::default();
        messages.into_iter().for_each(|message| self.sizes.add_message(message));
        self.sizes.add_tools_and_schema(&self.tools, self.schema.as_ref());
    }
}

/// The messages of a request.
#[derive(Debug, Clone)]
pub enum Messages {
    /// Inclusive ranges of message numbers of the run.
    Ranges(Vec<(u32, u32)>),
    /// Read from a file.
    Read(Vec<SentMessage>),
}

impl Default for Messages {
    fn default() -> Self {
        Self::Ranges(Vec::new())
    }
}

/// The messages of every run so far, by number.
#[derive(Debug, Clone, Default)]
pub struct MessageStore(HashMap<Address, Vec<Option<SentMessage>>>);

impl MessageStore {
    /// Keeps message number `m` of a run.
    pub fn insert(&mut self, run: Address, m: u32, message: SentMessage) {
        let messages = self.0.entry(run).or_default();
        let at = m as usize;
        if at >= messages.len() && at < MOST_MESSAGES {
            messages.resize(at + 1, None);
        }
        if let Some(place) = messages.get_mut(at) {
            *place = Some(message);
        }
    }

    /// The messages of these inclusive ranges that are known.
    pub fn ranges<'a>(&'a self, run: &Address, ranges: &'a [(u32, u32)]) -> impl Iterator<Item = &'a SentMessage> {
        let messages = self.0.get(run).map_or(&[][..], Vec::as_slice);
        ranges.iter().flat_map(move |(from, to)| {
            let from = (*from as usize).min(messages.len());
            let to = (*to as usize).saturating_add(1).clamp(from, messages.len());
            messages[from..to].iter().flatten()
        })
    }
}

/// Messages of one run that are kept; numbers beyond come from damaged files.
const MOST_MESSAGES: usize = 1 << 20;

/// A turn: its record, and what only the transcript knows of it.
#[derive(Debug, Clone, Default)]
pub struct TurnCard {
    /// The record of its events, except tool calls: those are in `calls`.
    pub record: TurnRecord,
    /// The part of it that this card shows: child runs are between its calls and its outcome.
    pub part: Part,
    /// Judges the reply while it arrives or is written; only turns that were seen as they ran have one.
    pub reader: Option<Arc<Reader>>,
    /// Replies as far as they can be read, by attempt.
    pub(super) partial_replies: BTreeMap<u32, PartialReply>,
    /// Tool calls in the order in which they began.
    pub calls: Vec<CallLine>,
    /// The values in short that its definitions replaced, by name.
    pub replaced: Vec<(String, String)>,
    /// The user is asked for the reply.
    pub asked: bool,
    /// The attempt whose parts arrive, and when the first came, Unix time in ms.
    pub(super) arriving: Option<(u32, i64)>,
    /// For a turn of a saved session whose events were not read yet.
    pub outline: Option<Arc<TurnEntry>>,
}

/// The part of a turn that a card shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Part {
    /// All of it.
    #[default]
    Whole,
    /// Reply and calls; child runs follow it.
    Before,
    /// Its outcome, after its child runs.
    After,
}

/// A tool call.
#[derive(Debug, Clone, Default)]
pub struct CallLine {
    /// Its address.
    pub address: Option<Address>,
    /// The tool.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// Its arguments in short.
    pub args: String,
    /// It may change something outside of the run.
    pub effectful: bool,
    /// Unix time in ms.
    pub started_ms: i64,
    /// Its final status; `None` while it runs.
    pub status: Option<CallStatus>,
    /// Its outcome in short.
    pub outcome: String,
    /// The whole result, where only a part of it is in the outcome: search looks through it.
    pub result: Option<JsonText>,
    /// It was answered from memory.
    pub cached: bool,
    /// Its duration, in ms.
    pub ms: u64,
}

/// Bytes of arguments and results that are shown whole.
const SHORT_BYTES: usize = 160;

impl CallLine {
    /// A call that begins.
    pub fn begun(address: &Address, at_ms: i64, call: &ToolCall) -> Self {
        Self {
            address: Some(address.clone()),
            name: call.name.clone(),
            kind: call.kind.clone(),
            args: wording::in_short(&call.args, SHORT_BYTES),
            effectful: call.effectful,
            started_ms: at_ms,
            ..Self::default()
        }
    }

    /// Ends the call.
    pub fn end(&mut self, end: &ToolEnd) {
        self.status = Some(end.status);
        self.outcome = wording::outcome(end, SHORT_BYTES);
        self.result = end.result.clone().filter(|result| result.as_str().len() > SHORT_BYTES);
        self.cached = end.cached;
        self.ms = end.ms;
    }
}

/// The end of a run.
#[derive(Debug, Clone)]
pub struct EndCard {
    /// The event.
    pub end: RunEnd,
    /// From the run's start.
    pub elapsed_ms: u64,
    /// The usage of the run and its child runs.
    pub usage: TotalUsage,
    /// The part of it that is of child runs.
    pub child_usage: TotalUsage,
    /// The next step for the user after a failure.
    pub next: Option<String>,
    /// Rulings of judges on a saved session, a line for each rubric.
    pub judged: Vec<String>,
}

/// Progress of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Nothing came yet.
    Waiting,
    /// A user is asked.
    Asked,
    /// Reasoning arrives, and nothing of the reply yet.
    Thinking,
    /// The reply arrives.
    Streaming,
    /// Waiting before the next attempt.
    Retrying,
    /// A program runs, or a tool.
    Running,
    /// The reply is whole.
    Checking,
    /// It succeeded.
    Succeeded,
    /// It failed.
    Failed,
    /// Its run ended before it did.
    Stopped,
}

impl TurnCard {
    /// A turn that begins.
    pub fn begun(turn: &Address, started_ms: i64) -> Self {
        let record = TurnRecord { started_ms, last_ms: started_ms, ..TurnRecord::new(turn.clone()) };
        Self { record, ..Self::default() }
    }

    /// Returns the card of a turn that was not read yet.
    pub fn unread(outline: &Arc<TurnEntry>, part: Part) -> Self {
        Self { part, outline: Some(outline.clone()), ..Self::begun(&outline.address, 0) }
    }

    /// The attempt that counts: the last one.
    pub fn last_attempt(&self) -> Option<&Attempt> {
        self.record.attempts.last()
    }

    /// The reply text of the attempt that counts.
    pub fn reply(&self) -> &str {
        self.last_attempt().map_or("", |attempt| attempt.text.as_str())
    }

    /// The reply that counts, as an assistant message repeats it.
    pub fn repeated_reply(&self) -> RepeatedReply {
        let calls = self.last_attempt().and_then(|attempt| attempt.end.as_ref()).map(|end| end.calls.clone());
        RepeatedReply { text: self.reply().to_owned(), calls: calls.unwrap_or_default(), ..RepeatedReply::default() }
    }

    /// Returns its progress; `over`: its run has ended.
    pub fn progress(&self, over: bool) -> Progress {
        let outlined = || self.outline.as_ref().and_then(|outline| outline.state.success());
        if let Some(success) = self.record.state.success().or_else(outlined) {
            return if success { Progress::Succeeded } else { Progress::Failed };
        }
        if over {
            return Progress::Stopped;
        }
        let calls = self.calls.iter().any(|call| call.status.is_none());
        let computes = self
            .record
            .extract
            .as_ref()
            .is_some_and(|extract| extract.kind == ExtractKind::Program && extract.error.is_none());
        match self.last_attempt() {
            _ if self.record.pending_retry().is_some() => Progress::Retrying,
            _ if self.asked => Progress::Asked,
            _ if calls || computes && self.record.program_end.is_none() => Progress::Running,
            Some(Attempt { end: Some(end), .. }) if end.status != ReplyStatus::Discarded => Progress::Checking,
            Some(attempt) if attempt.end.is_none() && !(attempt.text.is_empty() && attempt.calling.is_empty()) => {
                Progress::Streaming
            }
            Some(attempt) if attempt.end.is_none() && !attempt.reasoning.is_empty() => Progress::Thinking,
            _ => Progress::Waiting,
        }
    }

    /// The program that was run.
    pub fn program_text(&self) -> Option<&str> {
        self.record.extract.as_ref()?.program_in(self.reply())
    }

    /// Native calls of the reply that are not among the calls made.
    pub fn asked_calls(&self) -> &[NativeCall] {
        let asked = self.last_attempt().and_then(|attempt| attempt.end.as_ref()).map_or(&[][..], |end| &end.calls);
        if self.calls.is_empty() && self.program_text().is_none() { asked } else { &[] }
    }

    /// Returns the reason of its failure.
    pub fn reason(&self) -> Option<&str> {
        let outlined = self.outline.as_ref().and_then(|outline| outline.reason.as_deref());
        self.record.end.as_ref().map_or(outlined, |end| end.reason.as_deref())
    }

    /// Its tokens, when counted.
    pub fn tokens(&self) -> Option<Tokens> {
        let outlined = self.outline.as_ref().and_then(|outline| outline.tokens);
        self.record.tokens().or(outlined)
    }

    /// From its start to its last event, or to `now_ms` while it runs.
    pub fn elapsed_ms(&self, now_ms: Option<i64>) -> u64 {
        if let (None, Some(outline)) = (&self.record.end, &self.outline) {
            return outline.elapsed_ms();
        }
        let last_ms = self.record.last_ms;
        self.record.elapsed_until_ms(now_ms.map_or(last_ms, |now| now.max(last_ms)))
    }

    /// Returns the number of its calls that failed.
    pub fn failed_calls(&self) -> usize {
        count_failed(self.calls.iter().map(|call| call.status))
    }

    /// The first error in it: of a call, else of reading, checks, program or turn.
    pub fn first_error(&self) -> Option<String> {
        let failed = self.calls.iter().find(|call| count_failed([call.status]) > 0);
        let call = failed.map(|call| format!("{}: {}", call.name, call.outcome));
        let outlined = || self.outline.as_ref().and_then(|outline| outline.reason.as_deref().map(str::to_owned));
        call.or_else(|| first_error(&self.record)).or_else(outlined)
    }

    /// The error of the attempt that counts; `over` = its run has ended.
    pub fn error(&self, over: bool) -> Option<&ErrorRecord> {
        self.counted_attempt(over)?.end.as_ref()?.error.as_ref()
    }

    /// The last attempt, unless it was discarded and another is to come; `over` = its run has ended.
    pub fn counted_attempt(&self, over: bool) -> Option<&Attempt> {
        let last = over || self.record.end.is_some();
        self.last_attempt().filter(|attempt| last || !attempt.is_discarded())
    }

    /// Returns the way in which the schema was sent.
    pub fn structured_by(&self) -> Option<StructuredBy> {
        self.last_attempt()?.end.as_ref()?.structured_by
    }
}

/// The parts of a turn are shown side by side, in this order.
pub fn turn_cards(turn: Card) -> [Card; 4] {
    [Card::Request(None), Card::Reasoning(String::new()), turn, Card::Feedback(String::new())]
}

impl TurnCard {
    /// Takes an event of this turn, of one of its calls or of one of its questions.
    pub(super) fn apply(&mut self, envelope: &Envelope) {
        self.record.last_ms = self.record.last_ms.max(envelope.at_ms);
        match &envelope.event {
            Event::ToolCall(call) => {
                return self.calls.push(CallLine::begun(&envelope.address, envelope.at_ms, call));
            }
            Event::ToolEnd(end) => {
                let of_end = |call: &&mut CallLine| call.address.as_ref() == Some(&envelope.address);
                return self.calls.iter_mut().rfind(of_end).into_iter().for_each(|call| call.end(end));
            }
            Event::ReplyPart(part) => {
                self.asked = false;
                if self.arriving.is_none_or(|(attempt, _)| attempt != part.attempt) {
                    self.arriving = Some((part.attempt, envelope.at_ms));
                }
                self.read(part);
            }
            Event::AnswerGiven(_) | Event::ReplyEnd(_) | Event::TurnEnd(_) => self.asked = false,
            _ => {}
        }
        self.record.apply(envelope);
    }

    /// Reads a part of the reply as the request wants it.
    fn read(&mut self, part: &ReplyPart) {
        if part.kind == PartKind::Text {
            let Self { record, reader, partial_replies, .. } = self;
            let schema = record.request.as_ref().and_then(|request| request.schema.as_ref());
            partial_replies
                .entry(part.attempt)
                .or_insert_with(|| PartialReply::new(schema, reader.clone()))
                .take(&part.text);
        }
    }

    /// An attempt's reply as far as it can be read; `None` before its first piece.
    pub fn partial_reply(&self, attempt: u32) -> Option<&PartialReply> {
        self.partial_replies.get(&attempt)
    }
}
