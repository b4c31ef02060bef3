//! Compares sessions: common parts and differences of two or more runs.
//!
//! In: the events of each session. Out: a [`Comparison`] of every other session with the first: aligned turns, the
//! first divergence, differences of requests, replies, programs, values, errors and answers, and totals. Pure: the same
//! events give the same comparison. It must never judge which side is right, nor treat different times or token counts
//! as a divergence.

mod align;
mod lines;
mod sent;
mod side;
mod totals;
mod turn;
mod words;

use ptc_core::value::Json;
use ptc_core::value::json::{self, Difference};

pub use lines::{DiffLine, diff_lines};
pub use side::{Side, SideRun, SideTurn};
pub use totals::{ColumnTotals, RunTotals};
pub use turn::{MessageDifference, PartChange, PartDifference, TurnPart};
pub use words::{WordRanges, diff_words};

use crate::event::Address;
use align::align_turns;
use turn::DiffHistory;

/// A comparison of sessions.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// One column per session, in the given order.
    pub columns: Vec<Column>,
    /// The aligned turns of all columns, in order.
    pub rows: Vec<Row>,
    /// Each other column compared with the first.
    pub pairs: Vec<Pair>,
}

/// One session.
#[derive(Debug, Clone)]
pub struct Column {
    /// Its runs.
    pub side: Side,
    /// Their total usage.
    pub totals: ColumnTotals,
}

/// Aligned turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The turn of each column; `None` where a column has no counterpart.
    pub cells: Vec<Option<TurnPosition>>,
    /// True if a turn differs from the first column's.
    pub differs: bool,
}

/// Position of a turn in a column: index of its run and of the turn, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnPosition {
    /// The run.
    pub run: usize,
    /// The turn.
    pub turn: usize,
}

/// A column compared with the first one.
#[derive(Debug, Clone)]
pub struct Pair {
    /// Index of the column, from 1.
    pub column: usize,
    /// The first turn that differs, counted from the start in both.
    pub first: Option<Divergence>,
    /// Line diff of the agent definitions; empty when they are equal.
    pub definition: Vec<DiffLine>,
    /// Differences of the inputs, by path below the run's address.
    pub inputs: Vec<Difference>,
    /// The aligned turns.
    pub turns: Vec<TurnPair>,
    /// Differences of the answers, by path below the run's address.
    pub answers: Vec<Difference>,
    /// Runs that ended differently: run, left end, right end.
    pub ends: Vec<(String, String, String)>,
}

impl Pair {
    /// Returns whether both columns are equal.
    pub fn is_same(&self) -> bool {
        self.first.is_none()
            && self.definition.is_empty()
            && self.inputs.is_empty()
            && self.answers.is_empty()
            && self.ends.is_empty()
            && self.turns.iter().all(TurnPair::is_same)
    }
}

/// The first difference of two runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// Address of the turn, on the side that has it.
    pub at: Address,
    /// The first part that differs; `None` when only one side has this turn.
    pub part: Option<TurnPart>,
}

/// Two aligned turns, or one without a counterpart.
#[derive(Debug, Clone)]
pub struct TurnPair {
    /// Turn of the first column.
    pub left: Option<TurnPosition>,
    /// Turn of the other column.
    pub right: Option<TurnPosition>,
    /// Differing parts, in the order of a turn; empty without a counterpart.
    pub parts: Vec<PartDifference>,
}

impl TurnPair {
    /// Returns whether both turns exist and are equal.
    pub fn is_same(&self) -> bool {
        self.left.is_some() && self.right.is_some() && self.parts.is_empty()
    }
}

/// Compares every other side with the first one.
pub fn compare(sides: Vec<Side>) -> Comparison {
    let pairs: Vec<Pair> = match sides.split_first() {
        Some((first, others)) => {
            others.iter().enumerate().map(|(index, other)| pair(index + 1, first, other)).collect()
        }
        None => Vec::new(),
    };
    let rows = rows(sides.first(), &pairs);
    let columns = sides.into_iter().map(|side| Column { totals: ColumnTotals::of(&side), side }).collect();
    Comparison { columns, rows, pairs }
}

fn pair(column: usize, left: &Side, right: &Side) -> Pair {
    let mut pair = Pair {
        column,
        first: None,
        definition: Vec::new(),
        inputs: Vec::new(),
        turns: Vec::new(),
        answers: Vec::new(),
        ends: Vec::new(),
    };
    for run in 0..left.runs.len().max(right.runs.len()) {
        match (left.runs.get(run), right.runs.get(run)) {
            (Some(one), Some(other)) => compare_runs(&mut pair, run, one, other),
            (Some(only), None) | (None, Some(only)) => {
                pair.first.get_or_insert_with(|| Divergence { at: only.address.clone(), part: None });
                let is_left = left.runs.get(run).is_some();
                pair.turns.extend((0..only.turns.len()).map(|turn| {
                    let place = Some(TurnPosition { run, turn });
                    let (left, right) = if is_left { (place, None) } else { (None, place) };
                    TurnPair { left, right, parts: Vec::new() }
                }));
                let (present, missing) = (only.end(), "no such run".to_owned());
                let (one, other) = if is_left { (present, missing) } else { (missing, present) };
                pair.ends.push((only.address.to_string(), one, other));
            }
            (None, None) => {}
        }
    }
    pair
}

fn compare_runs(pair: &mut Pair, run: usize, one: &SideRun, other: &SideRun) {
    let with_run = |found: Vec<Difference>| {
        found.into_iter().map(|found| {
            let dot = if found.path.is_empty() { "" } else { "." };
            Difference { path: format!("{}{dot}{}", one.address, found.path), ..found }
        })
    };
    pair.definition.extend(diff_lines(&one.definition, &other.definition));
    pair.inputs.extend(with_run(json::differences(&one.context, &other.context)));
    if pair.first.is_none() {
        pair.first = first_divergence(one, other);
    }
    let mut history = DiffHistory::new(one, other);
    for (left, right) in align_turns(&one.turns, &other.turns) {
        let parts = match (left, right) {
            (Some(i), Some(j)) => turn::differences(&one.turns[i], &other.turns[j], &mut history),
            _ => Vec::new(),
        };
        let place = |turn: Option<usize>| turn.map(|turn| TurnPosition { run, turn });
        pair.turns.push(TurnPair { left: place(left), right: place(right), parts });
    }
    let answer = |side: &SideRun| side.step.answer.clone().unwrap_or_default();
    if one.step.is_ok() && other.step.is_ok() {
        pair.answers.extend(with_run(json::differences(&answer(one), &answer(other))));
    }
    if one.end() != other.end() {
        pair.ends.push((one.address.to_string(), one.end(), other.end()));
    }
}

/// Returns the first turn that differs, in the order of both runs.
fn first_divergence(one: &SideRun, other: &SideRun) -> Option<Divergence> {
    // Until the first difference, the history is empty and hides nothing.
    let mut history = DiffHistory::new(one, other);
    (0..one.turns.len().max(other.turns.len())).find_map(|turn| match (one.turns.get(turn), other.turns.get(turn)) {
        (Some(left), Some(right)) => {
            let found = turn::differences(left, right, &mut history);
            found.first().map(|found| Divergence { at: left.address.clone(), part: Some(found.part) })
        }
        (Some(only), None) | (None, Some(only)) => Some(Divergence { at: only.address.clone(), part: None }),
        (None, None) => None,
    })
}

/// Builds the rows: each turn of the first column with its counterparts. Turns of other columns without a counterpart
/// precede the next turn of the first column; those of several columns share rows.
fn rows(first: Option<&Side>, pairs: &[Pair]) -> Vec<Row> {
    let Some(first) = first else { return Vec::new() };
    let width = pairs.len() + 1;
    let empty = || Row { cells: vec![None; width], differs: false };
    let mut rows: Vec<Row> = Vec::new();
    let mut at: Vec<usize> = vec![0; pairs.len()];
    let places = first.runs.iter().enumerate();
    let places: Vec<TurnPosition> =
        places.flat_map(|(run, side)| (0..side.turns.len()).map(move |turn| TurnPosition { run, turn })).collect();
    for anchor in places.into_iter().map(Some).chain([None]) {
        let start = rows.len();
        let mut row = empty();
        row.cells[0] = anchor;
        for (pair, at) in pairs.iter().zip(&mut at) {
            let mut line = start;
            while let Some(turn) = pair.turns.get(*at).filter(|turn| turn.left.is_none()) {
                if line == rows.len() {
                    rows.push(Row { differs: true, ..empty() });
                }
                rows[line].cells[pair.column] = turn.right;
                (line, *at) = (line + 1, *at + 1);
            }
            if anchor.is_some()
                && let Some(turn) = pair.turns.get(*at)
            {
                row.cells[pair.column] = turn.right;
                row.differs |= !turn.is_same();
                *at += 1;
            }
        }
        if anchor.is_some() {
            rows.push(row);
        }
    }
    rows
}

impl Comparison {
    /// Returns the turn of a column.
    pub fn turn(&self, column: usize, place: TurnPosition) -> Option<&SideTurn> {
        self.columns.get(column)?.side.runs.get(place.run)?.turns.get(place.turn)
    }

    /// Returns whether the turn of a column in a row differs from that of the first column; of the first one, from that of any other.
    pub fn differs_at(&self, column: usize, row: usize) -> bool {
        let Some(row) = self.rows.get(row) else { return false };
        let cell = |column: usize| row.cells.get(column).copied().flatten();
        match self.pairs.iter().find(|pair| pair.column == column) {
            Some(pair) => {
                let cells = (cell(0), cell(column));
                pair.turns.iter().any(|turn| (turn.left, turn.right) == cells && !turn.is_same())
            }
            None => row.differs,
        }
    }

    /// Returns the first row at which any column diverges from the first one.
    pub fn first_row(&self) -> Option<usize> {
        let rows = self.pairs.iter().filter_map(|pair| {
            let first = pair.first.as_ref()?;
            let is_there = |row: &Row, column: usize| {
                let turn = row.cells.get(column).copied().flatten().and_then(|place| self.turn(column, place));
                turn.is_some_and(|turn| turn.address.is_within(&first.at))
            };
            // A turn of both sides has its address in the first column; other turns exist on one side only.
            let of_first = self.rows.iter().position(|row| is_there(row, 0));
            of_first.or_else(|| self.rows.iter().position(|row| is_there(row, pair.column)))
        });
        rows.min()
    }

    /// Returns whether all columns are equal.
    pub fn is_same(&self) -> bool {
        self.pairs.iter().all(Pair::is_same)
    }
}

/// Builds an object of the members that have a value.
fn object<const N: usize>(members: [(&str, Option<Json>); N]) -> Json {
    Json::object(members.into_iter().filter_map(|(key, value)| Some((key, value?))).collect::<Vec<_>>())
}
