//! A turn taken apart: what was sent, what came back, what was read in it, run, called, kept, and what went over the wire.
//!
//! In: a session and the address of a turn. Out: an [`Inspection`], parts with sizes as plain data for a face to show. It must never draw,
//! and never change the session. Running programs on the turn's memory is in [`Bench`].

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

/// A turn taken apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Inspection {
    /// The title.
    pub facts: TurnFacts,
    /// What was sent, by section, with where each comes from; what was left out.
    pub request: Vec<Part>,
    /// What came back, attempt by attempt, and what was requested from the provider next to what it returned.
    pub reply: Vec<Part>,
    /// What was found in the reply, and how it was checked.
    pub extract: Vec<Part>,
    /// The program and how it ended.
    pub program: Vec<Part>,
    /// Tool calls.
    pub calls: Vec<Part>,
    /// The memory after the turn with what it changed; tasks; the checklist.
    pub memory: Vec<Part>,
    /// What went over the wire.
    pub wire: Vec<Part>,
}

/// A turn in a line.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnFacts {
    /// Its address.
    pub turn: Address,
    /// The turns of its run: first and last number.
    pub turns: (u32, u32),
    /// The agent's name.
    pub agent: String,
    /// Mode.
    pub mode: String,
    /// Did it give what was wanted? `None` when it has no end.
    pub success: Option<bool>,
    /// Why not.
    pub reason: Option<String>,
    /// From its start to its last event.
    pub elapsed_ms: u64,
    /// Its tokens, when counted.
    pub tokens: Option<Tokens>,
}

/// One part of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// A word or two.
    pub title: String,
    /// Details after the title: its origin and its end.
    pub note: String,
    /// How it is to be seen.
    pub mark: Mark,
    /// Bytes of it.
    pub bytes: u64,
    /// Estimated tokens, where it is a part of a prompt.
    pub tokens: Option<u64>,
    /// It.
    pub body: Body,
    /// Against the same part of the request before.
    pub change: Change,
    /// The recording has only the start of it.
    pub is_cut: bool,
    /// Its place in the request, where it is a part of it.
    pub place: Option<RequestPlace>,
    /// Why it cannot be dropped from the request.
    pub fixed: Option<String>,
}

/// What a part is.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// Text to read.
    Text(String),
    /// Text whose every byte counts: controls are shown.
    Exact(String),
    /// A value as a tree, with what was found at paths of it.
    Tree(Json, Vec<Finding>),
    /// A program, with the place and the words of its error.
    Program(String, Option<((usize, usize), String)>),
    /// Lines with marks.
    Lines(Vec<Line>),
    /// Two texts side by side, line by line, with their headings.
    Sides([String; 2], Vec<[Option<String>; 2]>),
    /// What arrived, in order.
    Frames(Vec<Frame>),
    /// The requests of a run as bars by kind; the address of the turn that is open.
    Growth(Vec<TurnPrompt>, Address),
}

/// Something found at a place of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Path such as `items.2.price`; empty = the root.
    pub path: String,
    /// In words.
    pub text: String,
    /// An error; else a warning.
    pub error: bool,
}

/// A line with a mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// How it is to be seen.
    pub mark: Mark,
    /// Its text.
    pub text: String,
}

/// How a line or a part is to be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mark {
    /// As it is.
    #[default]
    Plain,
    /// Secondary.
    Dim,
    /// A heading.
    Title,
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It worked.
    Good,
    /// It did not.
    Bad,
    /// Worth a look: text from outside, warnings.
    Warn,
}

/// A part of a request against the one before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Change {
    /// There is nothing to compare with.
    #[default]
    None,
    /// It was sent before, as it is.
    Same,
    /// It is new.
    New,
    /// It is not sent any more.
    Gone,
    /// It takes the place of an older text: both, line by line.
    Changed(Vec<Line>),
}

impl Part {
    /// A part with this body; its size is that of what it shows.
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

    /// The same with a note.
    #[must_use]
    pub fn noted(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// The same, seen in this way.
    #[must_use]
    pub fn marked(mut self, mark: Mark) -> Self {
        self.mark = mark;
        self
    }

    /// The same with its estimated tokens.
    fn counted(mut self, text: &str) -> Self {
        self.tokens = Some(estimate_tokens(text));
        self
    }

    /// Its whole text, to be copied.
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
    /// A line with a mark.
    pub fn new(mark: Mark, text: impl Into<String>) -> Self {
        Self { mark, text: text.into() }
    }

    /// What went wrong, and what to do about it.
    fn error(reason: &str, message: &str, hint: Option<&str>) -> Vec<Self> {
        let headline = Self::new(Mark::Bad, format!("✗ {reason}  {message}"));
        std::iter::once(headline).chain(hint.map(|hint| Self::new(Mark::Dim, format!("  {hint}")))).collect()
    }

    /// The lines of two texts: what is gone, what is new, what stays. Large texts are not compared line by line.
    pub fn difference(old: &str, new: &str) -> Vec<Self> {
        const MOST_BYTES: usize = 1 << 20;
        if old.len() + new.len() > MOST_BYTES {
            return vec![Self::new(Mark::Warn, "too large to be compared line by line")];
        }
        let is_other = old != new;
        // Without line ends: a last line that has none is equal to the same line with one.
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
    /// The first event that this picks.
    fn find<'e, T>(&'e self, pick: impl Fn(&'e Event) -> Option<T>) -> Option<T> {
        self.events.iter().find_map(|envelope| pick(&envelope.event))
    }

    /// All events that this picks.
    fn all<'e, T>(&'e self, pick: impl Fn(&'e Event) -> Option<T>) -> Vec<T> {
        self.events.iter().filter_map(|envelope| pick(&envelope.event)).collect()
    }

    /// The reply text of the attempt that counts.
    fn reply(&self) -> String {
        let mut attempts = Attempts::default();
        self.events.iter().for_each(|envelope| attempts.apply(&envelope.event));
        attempts.text().to_owned()
    }
}

impl Workbench {
    /// Takes a turn apart, with what servers logged while it called their tools.
    ///
    /// Errors: the session holds no such turn.
    pub fn inspect(&self, session: &Session, turn: &Address) -> Result<Inspection, OpenError> {
        let missing = || OpenError(format!("the session holds no turn {turn} yet"));
        let mut inspection = Inspection::of(session, turn).ok_or_else(missing)?;
        inspection.calls.extend(self.server_logs_part(session, turn));
        Ok(inspection)
    }
}

impl Inspection {
    /// Takes a turn apart; `None` when the session holds no such turn. Reads the events of the turn and what its request was made of.
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
