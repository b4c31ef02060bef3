//! A comparison as JSON, for `--json`. docs/compare.md describes it.

use ptc_core::value::Json;
use ptc_core::value::json::Difference;
use serde::Serialize;
use serde_with::skip_serializing_none;

use crate::event::{Address, Tokens};
use crate::session::diff::{
    Column, ColumnTotals, Comparison, DiffLine, Divergence, MessageDifference, Pair, PartChange, PartDifference,
    RunTotals, TurnPair, TurnPart, TurnPosition,
};

/// A comparison as `--json` prints it.
#[derive(Serialize)]
pub(super) struct ComparisonJson<'a> {
    columns: Vec<ColumnJson<'a>>,
    rows: Vec<RowJson<'a>>,
    differences: Vec<PairJson<'a>>,
}

#[derive(Serialize)]
struct ColumnJson<'a> {
    session: &'a str,
    runs: Vec<RunJson<'a>>,
    totals: TotalsJson,
}

#[derive(Serialize)]
struct RunJson<'a> {
    address: &'a Address,
    agent: &'a str,
    mode: &'a str,
    model: &'a str,
    end: String,
    answer: Option<&'a Json>,
}

#[derive(Serialize)]
struct TotalsJson {
    own: ShareJson,
    below: ShareJson,
    all: ShareJson,
    duration_ms: u64,
    first_ms: Option<u64>,
    data_bytes: u64,
    kept_out_bytes: u64,
}

#[derive(Serialize)]
struct ShareJson {
    turns: u64,
    requests: u64,
    calls: u64,
    input_tokens: Option<u64>,
    cached_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cost: Option<f64>,
    validation_errors: u64,
    other_errors: u64,
}

#[derive(Serialize)]
struct RowJson<'a> {
    turns: Vec<Option<&'a Address>>,
    differs: bool,
}

#[derive(Serialize)]
struct PairJson<'a> {
    column: usize,
    same: bool,
    first: Option<DivergenceJson<'a>>,
    definition: &'a [DiffLine],
    inputs: Vec<DifferenceJson<'a>>,
    turns: Vec<TurnJson<'a>>,
    answers: Vec<DifferenceJson<'a>>,
    ends: Vec<EndJson<'a>>,
}

#[derive(Serialize)]
struct DivergenceJson<'a> {
    at: &'a Address,
    part: Option<TurnPart>,
}

#[derive(Serialize)]
struct TurnJson<'a> {
    left: Option<&'a Address>,
    right: Option<&'a Address>,
    parts: Vec<PartJson<'a>>,
}

#[skip_serializing_none]
#[derive(Serialize)]
struct PartJson<'a> {
    part: TurnPart,
    messages: Option<&'a [MessageDifference]>,
    lines: Option<&'a [DiffLine]>,
    values: Option<Vec<DifferenceJson<'a>>>,
}

/// A side without the value has no member: null is a value.
#[skip_serializing_none]
#[derive(Serialize)]
struct DifferenceJson<'a> {
    path: &'a str,
    change: &'static str,
    left: Option<&'a Json>,
    right: Option<&'a Json>,
}

#[derive(Serialize)]
struct EndJson<'a> {
    run: &'a str,
    left: &'a str,
    right: &'a str,
}

/// Returns the `--json` output of a comparison.
pub(super) fn comparison(comparison: &Comparison) -> ComparisonJson<'_> {
    let rows = comparison.rows.iter().map(|row| {
        let turns = row.cells.iter().enumerate().map(|(column, place)| address(comparison, column, *place));
        RowJson { turns: turns.collect(), differs: row.differs }
    });
    ComparisonJson {
        columns: comparison.columns.iter().map(column).collect(),
        rows: rows.collect(),
        differences: comparison.pairs.iter().map(|pair| self::pair(comparison, pair)).collect(),
    }
}

fn column(column: &Column) -> ColumnJson<'_> {
    let runs = column.side.runs.iter().map(|run| RunJson {
        address: &run.address,
        agent: &run.step.name,
        mode: &run.mode,
        model: &run.model,
        end: run.end(),
        answer: run.step.answer.as_ref(),
    });
    ColumnJson { session: &column.side.name, runs: runs.collect(), totals: totals(&column.totals) }
}

fn totals(totals: &ColumnTotals) -> TotalsJson {
    TotalsJson {
        own: share(&totals.own),
        below: share(&totals.children),
        all: share(&totals.all),
        duration_ms: totals.duration_ms,
        first_ms: totals.first_ms,
        data_bytes: totals.data_bytes,
        kept_out_bytes: totals.kept_out_bytes,
    }
}

fn share(share: &RunTotals) -> ShareJson {
    let tokens = |read: fn(&Tokens) -> Option<u64>| share.spending.tokens.as_ref().and_then(read);
    ShareJson {
        turns: share.spending.turns.into(),
        requests: share.spending.requests.into(),
        calls: share.calls,
        input_tokens: tokens(|tokens| Some(tokens.input)),
        cached_tokens: tokens(|tokens| tokens.cache_read),
        output_tokens: tokens(|tokens| Some(tokens.output)),
        cost: share.spending.cost(),
        validation_errors: share.validation_errors,
        other_errors: share.other_errors,
    }
}

fn pair<'a>(comparison: &'a Comparison, pair: &'a Pair) -> PairJson<'a> {
    PairJson {
        column: pair.column,
        same: pair.is_same(),
        first: pair.first.as_ref().map(|Divergence { at, part }| DivergenceJson { at, part: *part }),
        definition: &pair.definition,
        inputs: values(&pair.inputs),
        turns: pair.turns.iter().map(|turns| turn(comparison, pair.column, turns)).collect(),
        answers: values(&pair.answers),
        ends: pair.ends.iter().map(|(run, left, right)| EndJson { run, left, right }).collect(),
    }
}

fn turn<'a>(comparison: &'a Comparison, column: usize, pair: &'a TurnPair) -> TurnJson<'a> {
    TurnJson {
        left: address(comparison, 0, pair.left),
        right: address(comparison, column, pair.right),
        parts: pair.parts.iter().map(part).collect(),
    }
}

fn part(found: &PartDifference) -> PartJson<'_> {
    let none = PartJson { part: found.part, messages: None, lines: None, values: None };
    match &found.change {
        PartChange::Request { messages, rest } => {
            PartJson { messages: Some(messages), values: Some(values(rest)), ..none }
        }
        PartChange::Lines(lines) => PartJson { lines: Some(lines), ..none },
        PartChange::Values(found) => PartJson { values: Some(values(found)), ..none },
    }
}

fn values(values: &[Difference]) -> Vec<DifferenceJson<'_>> {
    let values = values.iter().map(|found| DifferenceJson {
        path: &found.path,
        change: found.change(),
        left: found.left.as_ref(),
        right: found.right.as_ref(),
    });
    values.collect()
}

fn address(comparison: &Comparison, column: usize, place: Option<TurnPosition>) -> Option<&Address> {
    place.and_then(|place| comparison.turn(column, place)).map(|turn| &turn.address)
}
