//! The state of the candidates screen: the candidates of a search for better texts, the selected one against its parent, and which of its
//! changes are written into the agent file. Plain data.
//!
//! In: the search as the workbench reads it, choices of the user. Out: what is to be read next. It must never read a file.

mod rows;

use std::path::PathBuf;

use ratatui::layout::Rect;

use super::direction::Leap;
use super::row::Row;
use crate::workbench::optimize::{AgentChanges, CandidateCase, CandidateDetail, CandidateLine, SearchOutline};
use crate::workbench::{OpenAgent, SessionKey};

pub use rows::{HunkRow, change_rows, hunk_rows};

/// Between two reads of what was added to the journal, in ms.
const READ_EVERY_MS: i64 = 1_000;

/// A move or a choice on the candidates screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is described by its row in the table of actions")]
pub enum Step {
    Go(Leap),
    Open,
    Best,
    OtherParent,
    Write,
    Choose,
    ChooseAll,
    WriteChosen,
}

/// Something that is to be done with a search.
#[derive(Debug, Clone, PartialEq)]
pub enum CandidatesRequest {
    /// Read the search in a folder; answers [`CandidatesResponse::Opened`].
    Open(PathBuf),
    /// Read what was added since; answers [`CandidatesResponse::Refreshed`].
    Refresh,
    /// Compare a candidate with the parent at this place among its parents; answers [`CandidatesResponse::Described`].
    Describe(usize, usize),
    /// Compare a candidate with the agent file; answers [`CandidatesResponse::Compared`].
    Compare(usize),
    /// Write the chosen hunks of a candidate into the agent file; answers [`CandidatesResponse::Written`].
    Write(Box<WriteRequest>),
    /// Find a session by its id; answers [`CandidatesResponse::Found`].
    Find(String),
}

/// The response to a [`CandidatesRequest`].
#[derive(Debug)]
pub enum CandidatesResponse {
    /// The search in a folder, or why it cannot be read.
    Opened(PathBuf, Result<Box<SearchOutline>, String>),
    /// The search as it is now; `None` when nothing was added.
    Refreshed(Result<Option<Box<SearchOutline>>, String>),
    /// A candidate against a parent.
    Described(Option<Box<CandidateDetail>>),
    /// A candidate against the agent file, or why it cannot be written there.
    Compared(usize, Result<Box<AgentChanges>, String>),
    /// Hunks of a candidate were written, or why not.
    Written(usize, Result<Box<WrittenHunks>, String>),
    /// A session, or why it cannot be opened.
    Found(Result<SessionKey, String>),
}

/// Hunks of a candidate that are to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct WriteRequest {
    /// The candidate.
    pub candidate: usize,
    /// Its changes to the agent file.
    pub changes: AgentChanges,
    /// For each hunk, true if it is chosen.
    pub chosen: Vec<bool>,
    /// The file of the agent in the editors.
    pub open: Option<PathBuf>,
}

/// Hunks of a candidate that were written.
#[derive(Debug, Clone)]
pub struct WrittenHunks {
    /// Number of hunks.
    pub hunks: u64,
    /// The agent file.
    pub path: PathBuf,
    /// The agent of that file as it is now, where it is the one in the editors.
    pub agent: Option<OpenAgent>,
}

/// A part of the screen that takes keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pane {
    /// The tree.
    #[default]
    Tree,
    /// The changes of the selected candidate.
    Change,
    /// Its cases.
    Cases,
}

impl Pane {
    /// All, in the order of the focus.
    pub const ALL: [Self; 3] = [Self::Tree, Self::Change, Self::Cases];
}

/// A list on the screen.
#[derive(Debug, Clone, Copy, Default)]
pub struct Listing {
    /// The selected line.
    pub selected: usize,
    /// First visible line.
    pub top: usize,
    /// Area of the lines; empty while they are not shown.
    pub area: Rect,
}

impl Listing {
    /// Selects another of `count` lines.
    fn go(&mut self, leap: Leap, count: usize) {
        self.selected = leap.within(self.selected, count, usize::from(self.area.height));
    }

    /// Shows the lines in an area, the selected one among them.
    pub fn show(&mut self, area: Rect, count: usize) {
        self.area = area;
        self.selected = self.selected.min(count.saturating_sub(1));
        let rows = usize::from(area.height).max(1);
        self.top = self.top.clamp((self.selected + 1).saturating_sub(rows), self.selected);
    }
}

/// The candidates screen.
#[derive(Debug, Clone, Default)]
pub struct Candidates {
    /// The folder of the search.
    pub dir: Option<PathBuf>,
    /// The search; `None` until one was read.
    pub outline: Option<Box<SearchOutline>>,
    /// Error of the last attempt to read the search.
    pub problem: Option<String>,
    /// The pane that has the focus.
    pub focus: Pane,
    /// The tree.
    pub tree: Listing,
    /// The cases of the selected candidate.
    pub cases: Listing,
    /// Of the selected candidate, and the place among its parents of the one that it is compared with.
    against: (usize, usize),
    /// The selected candidate against that parent.
    pub detail: Option<Box<CandidateDetail>>,
    /// Number of columns, and the rows of its changes for them.
    pub change: Option<(usize, Vec<Row>)>,
    /// First visible row of them.
    pub change_top: usize,
    /// Area of these rows.
    pub change_area: Rect,
    /// The dialog that writes a candidate into the agent file.
    pub hunk_selection: Option<Box<HunkSelection>>,
    /// A session was opened from here: closing it leads back.
    pub opened: bool,
    /// Grows with each change of the search.
    version: u64,
    /// The candidate that was described or is about to be, the place of the parent, and the version of the search.
    described: Option<(usize, usize, u64)>,
    /// Time at which the journal was last read, Unix time in ms.
    read_ms: i64,
    /// It is being read.
    is_reading: bool,
}

/// A candidate that is about to be written into the agent file.
#[derive(Debug, Clone)]
pub struct HunkSelection {
    /// The candidate.
    pub candidate: usize,
    /// Its changes to the agent file.
    pub changes: Box<AgentChanges>,
    /// For each hunk, true if it is chosen.
    pub chosen: Vec<bool>,
    /// The selected hunk.
    pub selected: usize,
    /// First visible row.
    pub top: usize,
    /// Area of the rows.
    pub area: Rect,
    /// Number of columns, and the rows of the hunks for them.
    pub rows: (usize, Vec<HunkRow>),
    /// It is being written.
    pub is_busy: bool,
}

impl Candidates {
    /// The lines of the tree.
    pub fn lines(&self) -> &[CandidateLine] {
        self.outline.as_ref().map_or(&[], |outline| &outline.lines)
    }

    /// The selected candidate.
    pub fn current(&self) -> Option<&CandidateLine> {
        self.lines().get(self.tree.selected)
    }

    /// The detail of the selected candidate, once it is known.
    pub fn current_detail(&self) -> Option<&CandidateDetail> {
        self.detail.as_deref().filter(|detail| self.is_wanted(detail))
    }

    /// Returns whether a detail is that of the selected candidate, compared with the chosen parent.
    fn is_wanted(&self, detail: &CandidateDetail) -> bool {
        let number = self.current().map(|line| line.number);
        number == Some(detail.number) && self.parent() == detail.against
    }

    /// The place among the parents of the selected candidate of the one that it is compared with: the first one until another is chosen.
    fn parent_place(&self) -> usize {
        let number = self.current().map(|line| line.number);
        if number == Some(self.against.0) { self.against.1 } else { 0 }
    }

    /// The parent that the selected candidate is compared with; `None` for the first candidate.
    pub fn parent(&self) -> Option<usize> {
        self.current()?.parents.get(self.parent_place()).copied()
    }

    /// The other parent of a selected merge.
    pub fn other_parent(&self) -> Option<usize> {
        let parents = &self.current()?.parents;
        parents.get(1 - self.parent_place().min(1)).copied().filter(|_| parents.len() > 1)
    }

    /// Compares the selected merge with its other parent.
    pub fn switch_parent(&mut self) {
        if let Some(number) = self.current().map(|line| line.number) {
            self.against = (number, 1 - self.parent_place().min(1));
        }
    }

    /// The selected case.
    pub fn current_case(&self) -> Option<&CandidateCase> {
        self.current_detail()?.cases.get(self.cases.selected)
    }

    /// Shows another search.
    pub fn open(&mut self, dir: PathBuf, outline: Box<SearchOutline>, now_ms: i64) {
        let version = self.version + 1;
        *self = Self { dir: Some(dir), outline: Some(outline), version, read_ms: now_ms, ..Self::default() };
    }

    /// Takes the search as it is now; the selection stays on its candidate.
    pub fn refresh(&mut self, outline: Box<SearchOutline>) {
        let number = self.current().map(|line| line.number);
        let place = outline.lines.iter().position(|line| Some(line.number) == number);
        self.tree.selected = place.unwrap_or(0);
        self.outline = Some(outline);
        self.version += 1;
    }

    /// The journal is about to be read.
    pub fn begin_reading(&mut self) {
        self.is_reading = true;
    }

    /// It was read.
    pub fn was_read(&mut self, now_ms: i64) {
        (self.is_reading, self.read_ms) = (false, now_ms);
    }

    /// Returns the time of the next read of the journal, Unix time in ms; `None` without a search and during a read.
    pub fn due_ms(&self) -> Option<i64> {
        (self.outline.is_some() && !self.is_reading).then_some(self.read_ms + READ_EVERY_MS)
    }

    /// The candidate that is to be described now and the place of the parent, which are known afterwards as such.
    pub fn take_undescribed(&mut self) -> Option<(usize, usize)> {
        let (number, place) = (self.current()?.number, self.parent_place());
        let wanted = Some((number, place, self.version));
        if self.described == wanted {
            return None;
        }
        self.described = wanted;
        Some((number, place))
    }

    /// Takes a candidate against a parent, if both are still the selected ones.
    pub fn describe(&mut self, detail: Box<CandidateDetail>) {
        if !self.is_wanted(&detail) {
            return;
        }
        let is_same = self.detail.as_ref().is_some_and(|known| known.number == detail.number);
        if !is_same {
            self.cases = Listing { area: self.cases.area, ..Listing::default() };
            self.change_top = 0;
        } else if let Some(name) = self.current_case().map(|case| case.name.clone()) {
            // The selection stays on its case.
            let place = detail.cases.iter().position(|case| case.name == name);
            self.cases.selected = place.unwrap_or(self.cases.selected);
        }
        self.detail = Some(detail);
        self.change = None;
    }

    /// Moves the focus by this many parts.
    pub fn move_focus(&mut self, by: usize) {
        let at = Pane::ALL.iter().position(|pane| *pane == self.focus).unwrap_or(0);
        self.focus = Pane::ALL[(at + by) % Pane::ALL.len()];
    }

    /// Moves in the part that has the focus.
    pub fn go(&mut self, leap: Leap) {
        if let Some(selection) = &mut self.hunk_selection {
            selection.go(leap);
            return;
        }
        match self.focus {
            Pane::Tree => {
                let count = self.lines().len();
                self.tree.go(leap, count);
            }
            Pane::Change => {
                let rows = self.change.as_ref().map_or(0, |(_, rows)| rows.len());
                let seen = usize::from(self.change_area.height);
                let last = rows.saturating_sub(seen);
                self.change_top = self.change_top.saturating_add_signed(leap.lines(seen)).min(last);
            }
            Pane::Cases => {
                let count = self.current_detail().map_or(0, |detail| detail.cases.len());
                self.cases.go(leap, count);
            }
        }
    }

    /// Checks that a step is possible now. Errors: why not.
    pub fn enabled(&self, step: Step) -> Result<(), &'static str> {
        let rule = |holds: bool, reason: &'static str| if holds { Ok(()) } else { Err(reason) };
        match step {
            Step::Go(_) => Ok(()),
            _ if self.outline.is_none() => Err("no search is open"),
            Step::Open if self.focus != Pane::Cases => {
                rule(self.current().is_some_and(|line| line.tries > 0), "this candidate was not tried yet")
            }
            Step::Open => {
                rule(self.current_case().is_some_and(|case| case.session.is_some()), "the run has no session")
            }
            Step::Best => {
                rule(self.outline.as_ref().is_some_and(|one| one.best > 0), "none is better than the original agent")
            }
            Step::OtherParent => rule(self.other_parent().is_some(), "this candidate has only one parent"),
            Step::Write => rule(
                self.current().is_some_and(|line| !line.parents.is_empty()),
                "this is the original agent: select another candidate",
            ),
            Step::Choose | Step::ChooseAll | Step::WriteChosen => rule(
                self.hunk_selection.as_ref().is_some_and(|selection| !selection.is_busy),
                "nothing is about to be written",
            ),
        }
    }
}

impl HunkSelection {
    /// A candidate of which no hunk is chosen yet.
    pub fn new(candidate: usize, changes: Box<AgentChanges>) -> Self {
        let chosen = vec![false; changes.hunks.len()];
        let (area, rows) = (Rect::default(), (0, Vec::new()));
        Self { candidate, changes, chosen, selected: 0, top: 0, area, rows, is_busy: false }
    }

    /// Returns the number of chosen hunks.
    pub fn chosen(&self) -> usize {
        self.chosen.iter().filter(|one| **one).count()
    }

    /// Chooses the selected hunk, or leaves it out.
    pub fn choose(&mut self) {
        if let Some(chosen) = self.chosen.get_mut(self.selected) {
            *chosen = !*chosen;
        }
    }

    /// Chooses all hunks; none, where all are.
    pub fn choose_all(&mut self) {
        let all = self.chosen() < self.chosen.len();
        self.chosen.fill(all);
    }

    /// Goes to another hunk, and through one that is longer than the screen.
    fn go(&mut self, leap: Leap) {
        let seen = usize::from(self.area.height).max(1);
        let rows = &self.rows.1;
        let last_top = rows.len().saturating_sub(seen);
        let head = |hunk: usize| rows.iter().position(|row| row.hunk == hunk).unwrap_or(0);
        let end = |hunk: usize| rows.iter().rposition(|row| row.hunk == hunk).map_or(0, |at| at + 1);
        match leap {
            Leap::Down if end(self.selected) > self.top + seen => self.top += 1,
            Leap::Up if head(self.selected) < self.top => self.top -= 1,
            Leap::Up | Leap::Down | Leap::Top | Leap::Bottom => {
                self.selected = leap.within(self.selected, self.chosen.len(), seen);
                let (head, end) = (head(self.selected), end(self.selected));
                if head < self.top || end > self.top + seen {
                    self.top = if leap == Leap::Up && end - head > seen { end - seen } else { head };
                }
            }
            Leap::PageUp | Leap::PageDown => {
                self.top = self.top.saturating_add_signed(leap.lines(seen)).min(last_top);
                let shown = rows.get(self.top).map_or(0, |row| row.hunk);
                self.selected = if rows.get(self.top).is_some_and(|row| row.is_head) || end(shown) >= self.top + seen {
                    shown
                } else {
                    (shown + 1).min(self.chosen.len().saturating_sub(1))
                };
            }
        }
        self.top = self.top.min(last_top);
    }
}
