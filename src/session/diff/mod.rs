//! Sessions beside each other: what two or more runs have in common and where they part.
//!
//! In: the events of each session. Out: a [`Comparison`], every other session held against the first: turns aligned, the first
//! divergence, differences of requests, replies, programs, values, errors and answers, and totals. Pure: the same events give the
//! same comparison. It must never judge which side is right, and never call a difference of times or tokens a divergence.

mod align;
mod lines;
mod sent;
mod side;
mod totals;
mod turn;

use ptc_core::value::Json;
use ptc_core::value::json::{self, Difference};

pub use lines::{DiffLine, diff_lines};
pub use side::{Side, SideRun, SideTurn};
pub use totals::{ColumnTotals, Share};
pub use turn::{MessageDifference, Part, PartDifference, Shape};

use crate::event::Address;
use align::aligned;
use turn::Told;

/// Sessions beside each other.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// One per session, in the order they were named.
    pub columns: Vec<Column>,
    /// The turns of all columns side by side, in order.
    pub rows: Vec<Row>,
    /// Each other column against the first.
    pub pairs: Vec<Pair>,
}

/// One session.
#[derive(Debug, Clone)]
pub struct Column {
    /// Its runs.
    pub side: Side,
    /// What they used together.
    pub totals: ColumnTotals,
}

/// Turns that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// For each column: which run and which of its turns; `None` where it has no counterpart.
    pub cells: Vec<Option<Place>>,
    /// Some column's turn differs from that of the first.
    pub differs: bool,
}

/// A turn of a side: its run's and its own index, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The run.
    pub run: usize,
    /// The turn.
    pub turn: usize,
}

/// A column against the first one.
#[derive(Debug, Clone)]
pub struct Pair {
    /// Which column, from 1.
    pub column: usize,
    /// Where they part: the first turn, counted in both alike, that differs.
    pub first: Option<Divergence>,
    /// The definition of the agents, line by line; empty when they are the same.
    pub definition: Vec<DiffLine>,
    /// The inputs of the runs, by path below the run's address.
    pub inputs: Vec<Difference>,
    /// The turns, aligned.
    pub turns: Vec<TurnPair>,
    /// The answers of the runs, by path below the run's address.
    pub answers: Vec<Difference>,
    /// How the runs ended, where that differs: run, left, right.
    pub ends: Vec<(String, String, String)>,
}

impl Pair {
    /// Is there no difference at all?
    pub fn is_same(&self) -> bool {
        self.first.is_none()
            && self.definition.is_empty()
            && self.inputs.is_empty()
            && self.answers.is_empty()
            && self.ends.is_empty()
            && self.turns.iter().all(TurnPair::is_same)
    }
}

/// Where two runs part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// The turn, by the address that it has on the side that has it.
    pub at: Address,
    /// What differs there first; `None`: only one side has this turn.
    pub part: Option<Part>,
}

/// Two turns that belong together, or one without a counterpart.
#[derive(Debug, Clone)]
pub struct TurnPair {
    /// In the first column.
    pub left: Option<Place>,
    /// In the other one.
    pub right: Option<Place>,
    /// What differs, in the order of a turn; empty without a counterpart.
    pub parts: Vec<PartDifference>,
}

impl TurnPair {
    /// Are both there, and the same?
    pub fn is_same(&self) -> bool {
        self.left.is_some() && self.right.is_some() && self.parts.is_empty()
    }
}

/// Holds every other side against the first one.
pub fn compare(sides: Vec<Side>) -> Comparison {
    let pairs: Vec<Pair> = match sides.split_first() {
        Some((first, others)) => {
            others.iter().enumerate().map(|(place, other)| pair(place + 1, first, other)).collect()
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
                    let place = Some(Place { run, turn });
                    let (left, right) = if is_left { (place, None) } else { (None, place) };
                    TurnPair { left, right, parts: Vec::new() }
                }));
                let (there, missing) = (only.end(), "no such run".to_owned());
                let (one, other) = if is_left { (there, missing) } else { (missing, there) };
                pair.ends.push((only.address.to_string(), one, other));
            }
            (None, None) => {}
        }
    }
    pair
}

fn compare_runs(pair: &mut Pair, run: usize, one: &SideRun, other: &SideRun) {
    let below = |found: Vec<Difference>| {
        found.into_iter().map(|found| {
            let dot = if found.path.is_empty() { "" } else { "." };
            Difference { path: format!("{}{dot}{}", one.address, found.path), ..found }
        })
    };
    pair.definition.extend(diff_lines(&one.definition, &other.definition));
    pair.inputs.extend(below(json::differences(&one.context, &other.context)));
    if pair.first.is_none() {
        pair.first = first_divergence(one, other);
    }
    let mut told = Told::new(one, other);
    for (left, right) in aligned(&one.turns, &other.turns) {
        let parts = match (left, right) {
            (Some(i), Some(j)) => turn::differences(&one.turns[i], &other.turns[j], &mut told),
            _ => Vec::new(),
        };
        let place = |turn: Option<usize>| turn.map(|turn| Place { run, turn });
        pair.turns.push(TurnPair { left: place(left), right: place(right), parts });
    }
    let answer = |side: &SideRun| side.step.answer.clone().unwrap_or_default();
    if one.step.is_ok() && other.step.is_ok() {
        pair.answers.extend(below(json::differences(&answer(one), &answer(other))));
    }
    if one.end() != other.end() {
        pair.ends.push((one.address.to_string(), one.end(), other.end()));
    }
}

/// The first turn in the order of both runs that is not the same.
fn first_divergence(one: &SideRun, other: &SideRun) -> Option<Divergence> {
    // Up to the first difference nothing was told that could be left out later.
    let mut told = Told::new(one, other);
    (0..one.turns.len().max(other.turns.len())).find_map(|place| match (one.turns.get(place), other.turns.get(place)) {
        (Some(left), Some(right)) => {
            let found = turn::differences(left, right, &mut told);
            found.first().map(|found| Divergence { at: left.address.clone(), part: Some(found.part) })
        }
        (Some(only), None) | (None, Some(only)) => Some(Divergence { at: only.address.clone(), part: None }),
        (None, None) => None,
    })
}

/// The rows of all columns: a turn of the first with its counterparts; turns of others without one stand before the next turn of the
/// first, those of several columns beside each other.
fn rows(first: Option<&Side>, pairs: &[Pair]) -> Vec<Row> {
    let Some(first) = first else { return Vec::new() };
    let width = pairs.len() + 1;
    let empty = || Row { cells: vec![None; width], differs: false };
    let mut rows: Vec<Row> = Vec::new();
    let mut at: Vec<usize> = vec![0; pairs.len()];
    let places = first.runs.iter().enumerate();
    let places: Vec<Place> =
        places.flat_map(|(run, side)| (0..side.turns.len()).map(move |turn| Place { run, turn })).collect();
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
    /// The turn of a column.
    pub fn turn(&self, column: usize, place: Place) -> Option<&SideTurn> {
        self.columns.get(column)?.side.runs.get(place.run)?.turns.get(place.turn)
    }

    /// The row of the first turn at which a column parts from the first one.
    pub fn first_row(&self) -> Option<usize> {
        let rows = self.pairs.iter().filter_map(|pair| {
            let first = pair.first.as_ref()?;
            let is_there = |row: &Row, column: usize| {
                let turn = row.cells.get(column).copied().flatten().and_then(|place| self.turn(column, place));
                turn.is_some_and(|turn| turn.address.is_within(&first.at))
            };
            // A turn of both is named by its address in the first column; only one side has the others.
            let of_first = self.rows.iter().position(|row| is_there(row, 0));
            of_first.or_else(|| self.rows.iter().position(|row| is_there(row, pair.column)))
        });
        rows.min()
    }

    /// Are all columns the same?
    pub fn is_same(&self) -> bool {
        self.pairs.iter().all(Pair::is_same)
    }
}

/// An object of the members that are there.
fn object<const N: usize>(members: [(&str, Option<Json>); N]) -> Json {
    Json::object(members.into_iter().filter_map(|(key, value)| Some((key, value?))).collect::<Vec<_>>())
}
