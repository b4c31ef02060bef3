//! The compare screen: two to four runs side by side, watched live or read from their sessions, and the matrix.
//!
//! In: names of sessions, updates of runs and matrices. Out: the state that its views read. It must never hold session
//! bodies: the workbench computes comparisons from them.

mod form;
mod marks;
mod matrix;
mod now;
mod request;

use std::sync::Arc;

use ratatui::layout::Rect;

pub(super) use form::at_end;
pub use form::{Field, Form};
pub use marks::WordMarks;
pub use matrix::{MatrixView, TrialMark};
pub use request::{CompareRequest, CompareResponse, OtherModels, StartedWithout, WithoutRequest};

use super::direction::Direction;
use super::run_view::{Phase, RunView};
use crate::agent::DraftTexts;
use crate::event::Address;
use crate::session::diff::{Comparison, TurnPosition};
use crate::workbench::comparison::Line;
use crate::workbench::matrix::MatrixEntry;

/// Maximum number of runs side by side.
pub const MOST_SIDES: usize = 4;

/// An action on this screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is described by its row in the table of actions")]
pub enum Step {
    Up,
    Down,
    PageUp,
    PageDown,
    Top,
    Bottom,
    First,
    Next,
    Previous,
    Transcripts,
    Pair,
    Open,
    Left,
    Right,
    Beside,
    NewMatrix,
    Matrices,
    StopMatrix,
    ResumeMatrix,
    NextField,
    PreviousField,
    Toggle,
    Begin,
}

/// The content of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Page {
    /// Runs side by side.
    #[default]
    Sides,
    /// A matrix.
    Matrix,
    /// The dialog that begins one.
    Form,
    /// Earlier matrices.
    Matrices,
}

/// The screen that opened the runs side by side, and to which closing them returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WayBack {
    /// The workbench.
    #[default]
    Workbench,
    /// The list of sessions.
    Sessions,
    /// A matrix.
    Matrix,
    /// The traffic of other programs.
    Traffic,
}

/// One of the runs.
#[derive(Debug, Clone, Default)]
pub struct Side {
    /// Its session, or a description until it has one.
    pub name: String,
    /// The run, when it was started from here.
    pub run: Option<RunView>,
}

/// Something that can be selected among the turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Definition and inputs.
    Definition,
    /// The turns of this row of the comparison.
    Turns(usize),
    /// Ends of the runs, and their answers.
    Answers,
}

/// A line that can be selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item {
    /// The selectable part of the comparison.
    pub target: Target,
    /// The runs differ there.
    pub differs: bool,
    /// It is where they part first.
    pub first: bool,
}

/// Differences at the selected line.
#[derive(Debug, Clone, Default)]
pub struct Detail {
    /// Selected line and columns that the rows were made for.
    pub made_for: Option<(usize, usize)>,
    /// The rows.
    pub rows: Vec<Line>,
    /// The first visible one.
    pub top: usize,
    /// Visible ones.
    pub height: usize,
}

/// Everything of the screen.
#[derive(Debug, Clone, Default)]
pub struct Compare {
    /// The page that is shown.
    pub page: Page,
    /// The runs.
    pub sides: Vec<Side>,
    /// The screen that opened them.
    pub back: WayBack,
    /// The run that has the focus.
    pub column: usize,
    /// The sessions side by side.
    pub compared: Option<Arc<Comparison>>,
    /// Damage of the sessions: what could not be read.
    pub warnings: Vec<String>,
    /// Error of the comparison.
    pub error: Option<String>,
    /// They are being read.
    pub reading: bool,
    /// The sessions of two runs of the draft, where those are compared; newer ones take their place.
    pub draft_runs: Vec<String>,
    /// The columns and widths that transcripts were aligned for.
    pub aligned: Vec<(usize, usize)>,
    /// Words that differ in the visible turns.
    pub marks: WordMarks,
    /// The aligned turns with their differences are shown instead of the transcripts.
    pub turns: bool,
    /// The draft that was run here, until its runs join those of the workbench.
    pub draft: Option<DraftTexts>,
    /// The selectable lines.
    pub items: Vec<Item>,
    /// The selected one.
    pub selected: usize,
    /// The first visible one.
    pub top: usize,
    /// Area of the lines.
    pub area: Rect,
    /// Differences at the selected line.
    pub detail: Detail,
    /// A session was opened from here, and closing it comes back.
    pub opened: bool,
    /// The turn to select in the session that is being opened.
    pub wanted: Option<Address>,
    /// The matrix.
    pub matrix: Option<MatrixView>,
    /// The dialog.
    pub form: Form,
    /// Earlier matrices; `None` until they were read.
    pub matrices: Option<Vec<MatrixEntry>>,
    /// The selected one.
    pub chosen: usize,
}

impl Compare {
    /// Returns whether a run that was started here is in progress.
    pub fn runs(&self) -> bool {
        self.sides.iter().filter_map(|side| side.run.as_ref()).any(|run| run.phase != Phase::Done)
    }

    /// Returns whether transcripts are shown.
    pub fn shows_transcripts(&self) -> bool {
        self.sides.iter().any(|side| side.run.is_some()) && (!self.turns || self.compared.is_none())
    }

    /// The names of the sessions.
    pub fn names(&self) -> Vec<String> {
        self.sides.iter().map(|side| side.name.clone()).collect()
    }

    /// Takes a comparison: the first difference is selected.
    pub fn take(&mut self, comparison: Arc<Comparison>) {
        self.items = items(&comparison);
        self.compared = Some(comparison);
        self.selected = self.items.iter().position(|item| item.first).unwrap_or_default();
        self.top = 0;
        self.detail = Detail::default();
    }

    /// The turn of the run that has the focus, on the selected line.
    pub fn turn(&self) -> Option<Address> {
        let Target::Turns(row) = self.items.get(self.selected)?.target else { return None };
        self.turn_at(self.column, row)
    }

    /// The selected turn of the transcript that has the focus.
    pub fn turn_in_transcript(&self) -> Option<Address> {
        self.sides.get(self.column)?.run.as_ref()?.transcript.turn_in_hand()
    }

    /// The session of the run that has the focus, to be opened at the selected turn.
    pub fn open_request(&self) -> Option<CompareRequest> {
        let side = self.sides.get(self.column)?;
        let turn = if self.shows_transcripts() { self.turn_in_transcript() } else { self.turn() };
        // Runs that were started here are called by their modes until they have ended.
        let session = side.run.as_ref().and_then(|run| run.session.clone());
        Some(CompareRequest::Find(session.unwrap_or_else(|| side.name.clone()), turn))
    }

    /// The row of a turn of a column.
    pub fn row_of(&self, column: usize, turn: &Address) -> Option<usize> {
        let comparison = self.compared.as_ref()?;
        comparison.rows.iter().position(|row| {
            let place = row.cells.get(column).copied().flatten();
            place.and_then(|place| comparison.turn(column, place)).is_some_and(|found| found.address == *turn)
        })
    }

    /// The turn of a column in a row.
    pub fn turn_at(&self, column: usize, row: usize) -> Option<Address> {
        let comparison = self.compared.as_ref()?;
        let place: TurnPosition = (*comparison.rows.get(row)?.cells.get(column)?)?;
        comparison.turn(column, place).map(|turn| turn.address.clone())
    }

    /// The next selectable line after the selected one, or before it, that this holds for.
    pub fn find(&self, direction: Direction, holds: impl Fn(&Item) -> bool) -> Option<usize> {
        let fits = |place: &usize| self.items.get(*place).is_some_and(&holds);
        match direction {
            Direction::Forward => (self.selected + 1..self.items.len()).find(fits),
            Direction::Back => (0..self.selected.min(self.items.len())).rev().find(fits),
        }
    }
}

/// The lines of a comparison.
fn items(comparison: &Comparison) -> Vec<Item> {
    let pairs = &comparison.pairs;
    let item = |target, differs| Item { target, differs, first: false };
    let definition = pairs.iter().any(|pair| !pair.definition.is_empty() || !pair.inputs.is_empty());
    let answers = pairs.iter().any(|pair| !pair.answers.is_empty() || !pair.ends.is_empty());
    let turns = comparison.rows.iter().enumerate().map(|(row, found)| item(Target::Turns(row), found.differs));
    let mut items: Vec<Item> = std::iter::once(item(Target::Definition, definition)).chain(turns).collect();
    items.push(item(Target::Answers, answers));
    if let Some(row) = comparison.first_row()
        && let Some(item) = items.iter_mut().find(|item| item.target == Target::Turns(row))
    {
        item.first = true;
    }
    items
}
