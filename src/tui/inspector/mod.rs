//! The inspector: the parts of a turn, tab by tab, and the user's experiments with it. Plain data; rows are made for the visible part.
//!
//! In: an inspection of the workbench, steps of the reader. Out: rows for the view. It must never read a file or run a program.

mod growth;
mod program;
mod rows;
mod search;
mod tree;

use std::collections::HashSet;

use ratatui::layout::Rect;

use super::draft::Draft;
use super::row::Row;
use crate::event::Address;
use crate::workbench::SessionKey;
use crate::workbench::inspect::{Body, GROWTH_PART, Inspection, Line, Part, Probe};

pub(super) use rows::{lines, role};

/// The session that a turn lies in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A saved session.
    Saved(SessionKey),
    /// The session of this name, which may still be written.
    Named(String),
}

impl Subject {
    /// The name of the session.
    pub fn name(&self) -> String {
        match self {
            Self::Saved(key) => key.name(),
            Self::Named(name) => name.clone(),
        }
    }
}

/// The parts of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Tab {
    /// The request.
    #[default]
    Request,
    /// The reply.
    Reply,
    /// The values extracted from the reply.
    Extract,
    /// The program.
    Program,
    /// Tool calls.
    Calls,
    /// Definitions and the REPL.
    Memory,
    /// The wire.
    Wire,
}

impl Tab {
    /// Every tab, from left to right.
    pub const ALL: [Self; 7] =
        [Self::Request, Self::Reply, Self::Extract, Self::Program, Self::Calls, Self::Memory, Self::Wire];

    /// Its name on screen.
    pub fn name(self) -> &'static str {
        match self {
            Self::Request => "Request",
            Self::Reply => "Reply",
            Self::Extract => "Extract",
            Self::Program => "Program",
            Self::Calls => "Calls",
            Self::Memory => "Memory",
            Self::Wire => "Wire",
        }
    }

    /// The text shown when it is empty.
    pub fn empty(self) -> &'static str {
        match self {
            Self::Request => "no request was made in this turn",
            Self::Reply => "no reply has arrived",
            Self::Extract => "no answer was extracted from this reply",
            Self::Program => "this turn ran no program",
            Self::Calls => "this turn called no tool",
            Self::Memory => "this turn defined nothing",
            Self::Wire => "no network traffic: this model runs inside the program",
        }
    }
}

/// A move in the inspector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is described by its row in the table of actions")]
pub enum Step {
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Top,
    Bottom,
    Enter,
    Difference,
    Without,
    Copy,
    NextTurn,
    PreviousTurn,
    Reload,
    ShowAll,
    Evaluate,
    Older,
    Newer,
}

/// The part of the inspector that has the focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Focus {
    /// The list of parts.
    #[default]
    List,
    /// The part.
    Part,
    /// The input of the REPL.
    Input,
}

/// State of reading the turn.
#[derive(Debug, Clone)]
pub enum InspectionState {
    /// It is being read.
    Reading,
    /// It could not be read: why, and what to do.
    Failed(String),
    /// It.
    Done(Box<Inspection>),
}

/// Age of the parts of a running turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Freshness {
    /// Time of the last request to read it, Unix time in ms.
    pub asked_ms: i64,
    /// It is being read.
    pub reading: bool,
    /// Events of the turn have come since it was asked for.
    pub is_stale: bool,
}

/// The value under the cursor.
#[derive(Debug, Clone, Default)]
pub struct ProbeState {
    /// The byte whose value was asked for last and has not come.
    pub asked: Option<usize>,
    /// The byte that was answered last, with the answer or why there is none.
    pub result: Option<(usize, Result<Option<Probe>, String>)>,
}

/// Inputs of a user on the memory of the turn, and what they gave.
#[derive(Debug, Clone, Default)]
pub struct Repl {
    /// The typed input.
    pub input: Draft,
    /// Inputs and outputs so far.
    pub lines: Vec<Line>,
    /// An input runs.
    pub running: bool,
    /// Earlier inputs, oldest first, and which of them is shown.
    pub earlier: (Vec<String>, usize),
    /// The input that was being typed when an earlier one was recalled.
    pub unfinished: Draft,
}

/// The inspector.
#[derive(Debug, Clone)]
pub struct Inspector {
    /// The session.
    pub subject: Subject,
    /// The turn.
    pub turn: Address,
    /// The parts of the turn, as far as they are read.
    pub state: InspectionState,
    /// Their age, while the turn runs.
    pub freshness: Freshness,
    /// The tab.
    pub tab: Tab,
    /// The chosen part of each tab.
    chosen: [usize; 7],
    /// The part of the inspector that has the focus.
    pub focus: Focus,
    /// Requests are shown against the one before.
    pub difference: bool,
    /// The selected line of a tree, or the byte of a program under the cursor.
    at: usize,
    /// First visible row of the part.
    top: usize,
    /// The frame that is shown.
    frame: usize,
    /// Branches of a tree that a user folded or unfolded.
    toggled: HashSet<String>,
    /// The value under the cursor.
    pub probe: ProbeState,
    /// The REPL.
    pub repl: Repl,
    /// Area of the list of parts.
    pub list_area: Rect,
    /// Area of the chosen part.
    pub part_area: Rect,
    /// First visible row of the list.
    pub list_top: usize,
    laid: Laid,
    search: search::Search,
}

/// The rows of the part that is seen.
#[derive(Debug, Clone, Default)]
struct Laid {
    key: Option<Key>,
    rows: Vec<Row>,
    /// For each row what it shows: the number of its line in a tree, the first byte in a program.
    places: Vec<usize>,
}

/// Inputs of the rows: they are recomputed when one changes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Key {
    tab: Tab,
    part: usize,
    columns: usize,
    difference: bool,
    frame: usize,
    toggled: usize,
    lines: usize,
    /// The program's cursor and the form that was reported.
    at: usize,
    shown_span: Option<(usize, usize)>,
}

impl Inspector {
    /// An inspector whose turn is being read.
    pub fn new(subject: Subject, turn: Address) -> Self {
        Self {
            subject,
            turn,
            state: InspectionState::Reading,
            freshness: Freshness::default(),
            tab: Tab::Request,
            chosen: [0; 7],
            focus: Focus::List,
            difference: false,
            at: 0,
            top: 0,
            frame: 0,
            toggled: HashSet::new(),
            probe: ProbeState::default(),
            repl: Repl::default(),
            list_area: Rect::default(),
            part_area: Rect::default(),
            list_top: 0,
            laid: Laid::default(),
            search: search::Search::default(),
        }
    }

    /// The turn was read, or read again.
    pub fn take(&mut self, result: Result<Inspection, String>) {
        self.freshness.reading = false;
        self.state = match result {
            Ok(inspection) => InspectionState::Done(Box::new(inspection)),
            Err(error) => InspectionState::Failed(error),
        };
        self.laid = Laid::default();
    }

    /// Takes the whole value of a name in place of the start that the recording has.
    pub fn take_value(&mut self, name: &str, text: String) {
        let InspectionState::Done(found) = &mut self.state else { return };
        if let Some(part) = found.memory.iter_mut().find(|part| part.title == name && part.is_cut) {
            part.bytes = text.len() as u64;
            part.body = Body::Text(text);
            part.is_cut = false;
            self.laid = Laid::default();
        }
    }

    /// Another turn of the same session, in the same tab.
    pub fn turn_to(&mut self, turn: Address) {
        self.turn = turn;
        self.chosen = [0; 7];
        self.probe = ProbeState::default();
        self.repl = Repl::default();
        self.focus = Focus::List;
        self.forget_place();
    }

    /// Returns the parts of the turn; `None` until they are read.
    pub fn inspection(&self) -> Option<&Inspection> {
        match &self.state {
            InspectionState::Done(inspection) => Some(inspection),
            InspectionState::Reading | InspectionState::Failed(_) => None,
        }
    }

    /// The parts of a tab.
    pub fn parts(&self, tab: Tab) -> &[Part] {
        let Some(found) = self.inspection() else { return &[] };
        match tab {
            Tab::Request => &found.request,
            Tab::Reply => &found.reply,
            Tab::Extract => &found.extract,
            Tab::Program => &found.program,
            Tab::Calls => &found.calls,
            Tab::Memory => &found.memory,
            Tab::Wire => &found.wire,
        }
    }

    /// Entries of the list: the parts, and the REPL after those of the memory.
    pub fn entries(&self) -> usize {
        let repl = self.tab == Tab::Memory && self.inspection().is_some();
        self.parts(self.tab).len() + usize::from(repl)
    }

    /// The chosen entry of the list.
    pub fn chosen(&self) -> usize {
        self.chosen[self.tab as usize].min(self.entries().saturating_sub(1))
    }

    /// The chosen part; `None` for the REPL and where there is nothing.
    pub fn part(&self) -> Option<&Part> {
        self.parts(self.tab).get(self.chosen())
    }

    /// Returns whether the REPL is chosen.
    pub fn at_repl(&self) -> bool {
        self.tab == Tab::Memory && self.inspection().is_some() && self.part().is_none()
    }

    /// The program that is seen, when its forms have values: the first part of its tab.
    pub fn program(&self) -> Option<&str> {
        match (self.tab, self.chosen(), self.part().map(|part| &part.body)) {
            (Tab::Program, 0, Some(Body::Program(text, _))) => Some(text),
            _ => None,
        }
    }

    /// Returns the byte of the program at the cursor, whose value is shown.
    pub fn cursor(&self) -> Option<usize> {
        let program = self.program()?;
        Some(self.at.min(program.len()))
    }

    /// Chooses another tab.
    pub fn go_tab(&mut self, tab: Tab) {
        self.tab = tab;
        self.focus = Focus::List;
        self.forget_place();
    }

    /// Goes to the REPL, after the parts of the memory.
    pub fn go_repl(&mut self) {
        self.go_tab(Tab::Memory);
        self.chosen[Tab::Memory as usize] = usize::MAX;
        self.enter(Focus::Input);
    }

    /// Goes to the growth of the requests over the turns, also while the turn is being read.
    pub fn go_growth(&mut self) {
        self.go_tab(Tab::Request);
        self.chosen[Tab::Request as usize] = GROWTH_PART;
    }

    /// Chooses another entry of the list.
    pub fn choose(&mut self, entry: usize) {
        let entry = entry.min(self.entries().saturating_sub(1));
        if entry != self.chosen() {
            self.chosen[self.tab as usize] = entry;
            self.forget_place();
        }
    }

    fn forget_place(&mut self) {
        (self.at, self.top, self.frame) = (0, 0, 0);
        self.toggled.clear();
        self.laid = Laid::default();
    }

    /// Lays out the part for this area, and scrolls so that the cursor is seen.
    pub fn prepare(&mut self, list: Rect, part: Rect) {
        (self.list_area, self.part_area) = (list, part);
        let rows = usize::from(list.height).max(1);
        self.list_top = self.list_top.clamp((self.chosen() + 1).saturating_sub(rows), self.chosen());
        let columns = usize::from(part.width);
        let key = Key {
            tab: self.tab,
            part: self.chosen(),
            columns,
            difference: self.difference,
            frame: self.frame,
            toggled: self.toggled.len(),
            lines: self.repl.lines.len(),
            at: if self.program().is_some() { self.at } else { 0 },
            shown_span: self.shown_span(),
        };
        if self.laid.key.as_ref() != Some(&key) {
            let (rows, places) = self.lay(columns.max(1));
            self.laid = Laid { key: Some(key), rows, places };
        }
        self.reveal_match();
        let height = usize::from(part.height);
        if self.focus == Focus::Part
            && let Some(row) = self.cursor_row()
        {
            self.top = self.top.clamp((row + 1).saturating_sub(height.max(1)), row);
        }
        self.top = self.top.min(self.laid.rows.len().saturating_sub(height));
    }

    /// The form whose value is shown.
    pub fn shown_span(&self) -> Option<(usize, usize)> {
        match (&self.probe.result, self.cursor()) {
            (Some((at, Ok(Some(probe)))), Some(cursor)) if *at == cursor => Some(probe.span),
            _ => None,
        }
    }

    /// The row of the cursor, where there is one.
    pub fn cursor_row(&self) -> Option<usize> {
        match self.part().map(|part| &part.body) {
            Some(Body::Tree(..)) if !self.difference || self.tab != Tab::Request => {
                self.laid.places.iter().position(|place| *place == self.at)
            }
            Some(Body::Program(..)) => self.laid.places.iter().rposition(|place| *place <= self.at),
            _ => None,
        }
    }

    /// The visible rows of the part with their numbers.
    pub fn visible(&self) -> impl Iterator<Item = (usize, &Row)> {
        let height = usize::from(self.part_area.height);
        self.laid.rows.iter().enumerate().skip(self.top).take(height)
    }

    /// Rows above and below the visible ones.
    pub fn hidden_rows(&self) -> (usize, usize) {
        let seen = self.top + usize::from(self.part_area.height);
        (self.top, self.laid.rows.len().saturating_sub(seen))
    }
}
