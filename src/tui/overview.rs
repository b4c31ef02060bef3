//! The overview of a run as a screen shows it: which turns, in which order, which part is visible. Plain data.
//!
//! In: lines of the workbench's overview, what the reader chose. Out: positions of visible lines. It must never decide what a line
//! contains.

use std::collections::BTreeMap;

use ptc_core::text::width::width;
use ratatui::layout::Rect;

use crate::event::Address;
use crate::tui::direction::{Direction, Leap};
use crate::tui::transcript::HiddenAmount;
use crate::workbench::overview::{Overview, TurnFilter, TurnLine, TurnOrder};

/// From this number of turns on, a rail of turns is shown next to a wide transcript.
pub const RAIL_TURNS: usize = 13;
/// Minimum columns of a pane with room for the rail.
pub const RAIL_FROM: u16 = 110;

/// A move in the overview.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is described by its row in the table of actions")]
pub enum Step {
    Go(Leap),
    Open,
    Order,
    Filter,
    Fold,
}

/// Kind of an input about the turns of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnPrompt {
    /// The number of a turn to go to.
    Number,
    /// A filter of the turns that the overview shows.
    Filter,
}

/// The overview of a run, instead of its transcript or next to it.
#[derive(Debug, Clone, Default)]
pub struct OverviewPane {
    /// It replaces the transcript.
    pub is_open: bool,
    /// The order of the lines.
    pub order: TurnOrder,
    /// The filter as it is typed.
    pub typed: String,
    /// The filter of the shown turns.
    pub filter: TurnFilter,
    /// Error of an invalid filter.
    pub problem: Option<String>,
    /// Child runs whose turns are hidden.
    pub folded: Vec<Address>,
    /// The failure to go to as soon as the overview has been read.
    pub wanted: Option<Direction>,
    /// It is being read.
    pub is_reading: bool,
    /// First visible row.
    pub top: usize,
    /// Area of the lines.
    pub area: Rect,
    /// Columns that the tools of the widest line take.
    pub tools_columns: usize,
    /// Digits of the largest number of a turn.
    pub digits: usize,
    /// The turns are of several root runs.
    pub has_several_runs: bool,
    shown: Vec<usize>,
    key: Option<Key>,
}

/// Inputs of the shown lines: they are recomputed when one changes.
#[derive(Debug, Clone, PartialEq)]
struct Key {
    version: u64,
    lines: usize,
    order: TurnOrder,
    typed: String,
    folded: Vec<Address>,
}

impl OverviewPane {
    /// Finds the lines that are shown, and scrolls so that the selected one is visible.
    pub fn arrange(&mut self, overview: &Overview, selected: Option<&Address>, area: Rect) {
        self.area = area;
        let key = Key {
            version: overview.version(),
            lines: overview.lines().len(),
            order: self.order,
            typed: self.typed.clone(),
            folded: self.folded.clone(),
        };
        if self.key.as_ref() != Some(&key) {
            self.shown = self.filter.select(overview.lines());
            self.tools_columns = overview.lines().iter().map(tools_columns).max().unwrap_or_default();
            let numbers = overview.lines().iter().filter_map(|line| line.address.turn_number());
            self.digits = numbers.max().unwrap_or_default().to_string().len();
            let mut roots = overview.lines().iter().map(|line| line.address.root());
            let first = roots.next();
            self.has_several_runs = roots.any(|root| Some(&root) != first.as_ref());
            if !self.folded.is_empty() {
                let is_shown = |line: &TurnLine| !self.folded.iter().any(|run| line.address.is_within(run));
                self.shown.retain(|place| is_shown(&overview.lines()[*place]));
            }
            if self.order != TurnOrder::Run {
                self.order.sort(overview.lines(), &mut self.shown);
            }
            self.key = Some(key);
        }
        let rows = usize::from(area.height).max(1);
        let last = self.shown.len().saturating_sub(rows);
        self.top = self.top.min(last);
        if let Some(row) = self.row_of(overview, selected) {
            self.top = self.top.clamp((row + 1).saturating_sub(rows), row);
        }
    }

    /// The turns above and below the visible ones.
    pub fn hidden(&self) -> (HiddenAmount, HiddenAmount) {
        let turns = |number: usize| if number == 0 { HiddenAmount::NONE } else { HiddenAmount::Turns(number) };
        let rows = usize::from(self.area.height);
        (turns(self.top), turns(self.shown.len().saturating_sub(self.top + rows)))
    }

    /// Positions of the lines that are shown, in order.
    pub fn shown(&self) -> &[usize] {
        &self.shown
    }

    /// The row of a turn among those that are shown.
    pub fn row_of(&self, overview: &Overview, turn: Option<&Address>) -> Option<usize> {
        let place = overview.place(turn?)?;
        self.shown.iter().position(|shown| *shown == place)
    }

    /// Reads the filter; one that cannot be read leaves the lines as they are.
    pub fn narrow(&mut self, text: &str) {
        match TurnFilter::parse(text) {
            Ok(filter) => {
                (self.filter, self.typed, self.problem) = (filter, text.to_owned(), None);
            }
            Err(problem) => self.problem = Some(problem),
        }
    }

    /// Hides or shows the turns of the child runs that a turn started; of a turn in a child run, those of that run. Returns the turn to
    /// select then.
    pub fn fold(&mut self, overview: &Overview, turn: &Address) -> Option<Address> {
        let children = child_runs(overview, turn);
        let (runs, selected) = match turn.run_part() {
            _ if !children.is_empty() => (children.into_keys().collect::<Vec<_>>(), turn.clone()),
            run if run.is_call() => (vec![run.clone()], run.turn_part()),
            _ => return None,
        };
        let is_folded = runs.iter().any(|run| self.folded.contains(run));
        self.folded.retain(|run| !runs.contains(run));
        if !is_folded {
            self.folded.extend(runs);
        }
        Some(selected)
    }

    /// Returns the number of turns in a turn's child runs that are hidden.
    pub fn hidden_after(&self, overview: &Overview, turn: &Address) -> usize {
        let of_turn = self.folded.iter().filter(|run| run.turn_part() == *turn);
        of_turn.map(|run| overview.lines().iter().filter(|line| line.address.is_within(run)).count()).sum()
    }
}

/// Columns of the tools of a turn: each name with how often it succeeded and failed.
fn tools_columns(line: &TurnLine) -> usize {
    let times = |number: usize| if number > 1 { 1 + number.to_string().len() } else { number };
    let tools = line.tools().into_iter();
    let columns = tools.map(|(name, calls, failed)| width(name) + 1 + times(calls - failed) + times(failed));
    columns.reduce(|all, next| all + 1 + next).unwrap_or_default()
}

/// The runs that a turn started, with the number of their turns.
fn child_runs(overview: &Overview, turn: &Address) -> BTreeMap<Address, usize> {
    let mut runs = BTreeMap::new();
    for line in overview.lines() {
        let run = line.address.run_part();
        if run.is_call() && run.turn_part() == *turn {
            *runs.entry(run).or_default() += 1;
        }
    }
    runs
}

/// The next or previous line with a failure, wrapping around.
pub fn failing(lines: &[TurnLine], from: Option<usize>, direction: Direction) -> Option<usize> {
    let failed = |place: &usize| lines[*place].has_failed();
    match direction {
        Direction::Forward => {
            let start = from.map_or(0, |from| from + 1);
            (start..lines.len()).find(failed).or_else(|| (0..start.min(lines.len())).find(failed))
        }
        Direction::Back => {
            let end = from.unwrap_or(lines.len());
            (0..end).rev().find(failed).or_else(|| (end..lines.len()).rev().find(failed))
        }
    }
}
