//! Inspection of a turn: request, reply, extraction, program, tool calls, memory, and the bytes on the wire.
//!
//! In: a session and the address of a turn. Out: an [`Inspection`], parts with sizes as plain data for an interface. It must never draw,
//! and never change the session. [`Bench`] runs programs on the turn's memory.

mod asked;
mod bench;
mod calls;
mod extract;
mod growth;
mod logs;
mod memory;
mod part_list;
mod probe;
mod program;
mod reply;
mod request;
pub(super) mod sent;
mod wire;

use ptc_core::text::estimate_tokens;
use ptc_core::value::Json;

use crate::agent::Inputs;
use crate::event::{Address, Envelope, Event, Tokens};
use crate::record::Attempts;
use crate::session::Session;
use crate::workbench::{OpenError, Workbench};

pub use bench::{Bench, BenchOutput, LazyBench};
pub use growth::TurnPrompt;
pub use probe::Probe;
pub use request::GROWTH_PART;
pub(super) use request::title;
pub use sent::RequestPlace;
pub use wire::Frame;

/// All parts of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Inspection {
    /// Summary of the turn, for the title.
    pub facts: TurnFacts,
    /// The request by section, each with its origin; the omitted sections.
    pub request: Vec<Part>,
    /// The reply by attempt, and the request to the provider compared with its response.
    pub reply: Vec<Part>,
    /// The extraction from the reply, and its checks.
    pub extract: Vec<Part>,
    /// The program and how it ended.
    pub program: Vec<Part>,
    /// Tool calls.
    pub calls: Vec<Part>,
    /// The memory after the turn with its changes; tasks; the checklist.
    pub memory: Vec<Part>,
    /// The bytes on the wire.
    pub wire: Vec<Part>,
}

/// Summary of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnFacts {
    /// Address of the turn.
    pub turn: Address,
    /// Numbers of the first and the last turn of its run.
    pub turns: (u32, u32),
    /// The agent's name.
    pub agent: String,
    /// Name of the mode.
    pub mode: String,
    /// The turn succeeded; `None` if it has not ended.
    pub success: Option<bool>,
    /// The reason why it did not succeed.
    pub reason: Option<String>,
    /// Time from its start to its last event, in ms.
    pub elapsed_ms: u64,
    /// Its tokens, if counted.
    pub tokens: Option<Tokens>,
}

/// One part of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Title of a word or two.
    pub title: String,
    /// Details after the title: its origin and its end.
    pub note: String,
    /// Style of the part.
    pub mark: Mark,
    /// Its size, in bytes.
    pub bytes: u64,
    /// Estimated tokens, if it is a part of a prompt.
    pub tokens: Option<u64>,
    /// Content of the part.
    pub body: Body,
    /// Change from the same part of the previous request.
    pub change: Change,
    /// The recording contains only the start of it.
    pub is_cut: bool,
    /// Its place in the request, if it is a part of one.
    pub place: Option<RequestPlace>,
    /// The reason why it cannot be dropped from the request.
    pub fixed: Option<String>,
}

/// Content of a part.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// Text for reading.
    Text(String),
    /// Text shown exactly: control characters are visible.
    Exact(String),
    /// A value as a tree, with the findings at its paths.
    Tree(Json, Vec<Finding>),
    /// A program, with the span and the message of its error.
    Program(String, Option<((usize, usize), String)>),
    /// Lines with marks.
    Lines(Vec<Line>),
    /// Two texts side by side, line by line, with their headings.
    Sides([String; 2], Vec<[Option<String>; 2]>),
    /// Received data, in order.
    Frames(Vec<Frame>),
    /// The requests of a run as bars by kind, and the address of the inspected turn.
    Growth(Vec<TurnPrompt>, Address),
}

/// A finding at a path of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Path such as `items.2.price`; empty for the root.
    pub path: String,
    /// Text of the finding.
    pub text: String,
    /// The finding is an error, not a warning.
    pub error: bool,
}

/// A line with a mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Style of the line.
    pub mark: Mark,
    /// Its text.
    pub text: String,
}

/// Style of a line or a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mark {
    /// Plain text.
    #[default]
    Plain,
    /// Secondary text.
    Dim,
    /// A heading.
    Title,
    /// Added content.
    Added,
    /// Removed content.
    Removed,
    /// A success.
    Good,
    /// A failure.
    Bad,
    /// A warning: untrusted text, for example.
    Warn,
}

/// Change of a part from the previous request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Change {
    /// There is no previous request.
    #[default]
    None,
    /// It was sent before, unchanged.
    Same,
    /// It is new.
    New,
    /// It is not sent any more.
    Gone,
    /// It replaces an older text: the difference, line by line.
    Changed(Vec<Line>),
}

impl Part {
    /// Creates a part with this body; its size is that of the content.
    pub fn new(title: impl Into<String>, body: Body) -> Self {
        let bytes = match &body {
            Body::Text(text) | Body::Exact(text) | Body::Program(text, _) => text.len(),
            Body::Tree(json, _) => json.to_text().len(),
            Body::Lines(_) | Body::Sides(..) | Body::Growth(..) => 0,
            Body::Frames(frames) => frames.iter().map(|frame| frame.text.len()).sum(),
        };
        Self {
            title: title.into(),
            note: String::new(),
            mark: Mark::Plain,
            bytes: bytes as u64,
            tokens: None,
            body,
            change: Change::None,
            is_cut: false,
            place: None,
            fixed: None,
        }
    }

    /// Returns the part with a note.
    #[must_use]
    pub fn noted(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// Returns the part with this style.
    #[must_use]
    pub fn marked(mut self, mark: Mark) -> Self {
        self.mark = mark;
        self
    }

    /// Returns the part with the estimated tokens of a text.
    fn counted(mut self, text: &str) -> Self {
        self.tokens = Some(estimate_tokens(text));
        self
    }

    /// Returns its whole text, for copying.
    pub fn text(&self) -> String {
        match &self.body {
            Body::Text(text) | Body::Exact(text) | Body::Program(text, _) => text.clone(),
            Body::Tree(json, _) => json.to_pretty(),
            Body::Lines(lines) => lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n"),
            Body::Sides(_, rows) => {
                rows.iter().filter_map(|[_, right]| right.as_deref()).collect::<Vec<_>>().join("\n")
            }
            Body::Frames(frames) => frames.iter().map(|frame| frame.text.as_str()).collect(),
            Body::Growth(turns, _) => turns.iter().map(TurnPrompt::line).collect::<Vec<_>>().join("\n"),
        }
    }
}

impl Line {
    /// Creates a line with a mark.
    pub fn new(mark: Mark, text: impl Into<String>) -> Self {
        Self { mark, text: text.into() }
    }

    /// Returns the lines of an error: reason and message, then the hint.
    fn error(reason: &str, message: &str, hint: Option<&str>) -> Vec<Self> {
        let headline = Self::new(Mark::Bad, format!("✗ {reason}  {message}"));
        std::iter::once(headline).chain(hint.map(|hint| Self::new(Mark::Dim, format!("  {hint}")))).collect()
    }

    /// Returns the difference of two texts, by line: removed, added and unchanged ones. Large texts are not compared.
    pub fn difference(old: &str, new: &str) -> Vec<Self> {
        const MOST_BYTES: usize = 1 << 20;
        if old.len() + new.len() > MOST_BYTES {
            return vec![Self::new(Mark::Warn, "too large to be compared line by line")];
        }
        let is_other = old != new;
        // Compared without line ends: a last line without one is equal to the same line with one.
        let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
        let diff =
            similar::TextDiff::configure().timeout(std::time::Duration::from_millis(500)).diff_slices(&old, &new);
        let changes = diff.iter_all_changes().map(|change| {
            let text = change.value();
            match change.tag() {
                similar::ChangeTag::Equal => Self::new(Mark::Plain, format!("  {text}")),
                similar::ChangeTag::Delete => Self::new(Mark::Removed, format!("- {text}")),
                similar::ChangeTag::Insert => Self::new(Mark::Added, format!("+ {text}")),
            }
        });
        let only_ends = old == new && is_other;
        changes.chain(only_ends.then(|| Self::new(Mark::Dim, "  only line ends differ"))).collect()
    }
}

/// The events of one turn, without those of child runs.
struct Turn<'a> {
    session: &'a Session,
    address: &'a Address,
    events: Vec<Envelope>,
}

impl Turn<'_> {
    /// Returns the first value that `pick` returns.
    fn find<'e, T>(&'e self, pick: impl Fn(&'e Event) -> Option<T>) -> Option<T> {
        self.events.iter().find_map(|envelope| pick(&envelope.event))
    }

    /// Returns all values that `pick` returns.
    fn all<'e, T>(&'e self, pick: impl Fn(&'e Event) -> Option<T>) -> Vec<T> {
        self.events.iter().filter_map(|envelope| pick(&envelope.event)).collect()
    }

    /// Returns the reply text of the attempt that counts.
    fn reply(&self) -> String {
        let mut attempts = Attempts::default();
        self.events.iter().for_each(|envelope| attempts.apply(&envelope.event));
        attempts.text().to_owned()
    }
}

impl Workbench {
    /// Inspects a turn, including the logs of the servers whose tools it called.
    ///
    /// Errors: the session contains no such turn.
    pub fn inspect(&self, session: &Session, turn: &Address) -> Result<Inspection, OpenError> {
        let missing = || OpenError(format!("the session holds no turn {turn} yet"));
        let mut inspection = Inspection::of(session, turn).ok_or_else(missing)?;
        inspection.calls.extend(self.server_logs_part(session, turn));
        Ok(inspection)
    }
}

impl Inspection {
    /// Inspects a turn; `None` when the session contains no such turn. Reads the events of the turn and those its request is rebuilt from.
    pub fn of(session: &Session, turn: &Address) -> Option<Self> {
        let skeleton = session.skeleton();
        let run = skeleton.run(&turn.run_part())?;
        let entry = skeleton.turn(turn)?;
        let in_turn = |envelope: &Envelope| envelope.address.turn_part() == *turn;
        let events = entry.events.range().filter_map(|place| session.event(place)).filter(in_turn).collect();
        let taken = Turn { session, address: turn, events };
        let start = session.event(run.events.start).and_then(|envelope| match envelope.event {
            Event::RunStart(start) => Some(start),
            _ => None,
        });
        let numbers = || run.turns.iter().filter_map(|turn| turn.address.turn_number());
        let end = taken.find(|event| match event {
            Event::TurnEnd(end) => Some(end),
            _ => None,
        });
        let facts = TurnFacts {
            turn: turn.clone(),
            turns: (numbers().min().unwrap_or_default(), numbers().max().unwrap_or_default()),
            agent: start.as_ref().map(|start| start.agent.name.clone()).unwrap_or_default(),
            mode: start.as_ref().map(|start| start.mode.clone()).unwrap_or_default(),
            success: end.map(|end| end.success),
            reason: end.and_then(|end| end.reason.clone()),
            elapsed_ms: entry.elapsed_ms(),
            tokens: entry.tokens,
        };
        let agent = start.and_then(|start| Inputs::of(&start).ok()).map(|inputs| inputs.agent);
        Some(Self {
            request: request::parts(&taken, agent.as_ref()),
            reply: reply::parts(&taken).into_iter().chain(asked::part(&taken)).collect(),
            extract: extract::parts(&taken),
            program: program::parts(&taken),
            calls: calls::parts(&taken),
            memory: memory::parts(&taken),
            wire: wire::parts(&taken),
            facts,
        })
    }
}
