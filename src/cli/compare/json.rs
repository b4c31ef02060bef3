//! A comparison as JSON, for `--json`. docs/compare.md describes it.

use ptc_core::value::Json;
use ptc_core::value::json::Difference;

use crate::event::Tokens;
use crate::session::diff::{
    Column, ColumnTotals, Comparison, DiffLine, MessageDifference, Pair, PartDifference, Place, Shape, Share, TurnPair,
};

/// `{columns, rows, differences}`
pub(super) fn comparison(comparison: &Comparison) -> Json {
    let rows = comparison.rows.iter().map(|row| {
        let turns = row.cells.iter().enumerate().map(|(column, place)| address(comparison, column, *place));
        Json::object([("turns", Json::list(turns)), ("differs", row.differs.into())])
    });
    Json::object([
        ("columns", Json::list(comparison.columns.iter().map(column))),
        ("rows", Json::list(rows)),
        ("differences", Json::list(comparison.pairs.iter().map(|pair| self::pair(comparison, pair)))),
    ])
}

fn column(column: &Column) -> Json {
    let runs = column.side.runs.iter().map(|run| {
        Json::object([
            ("address", Json::str(run.address.as_str())),
            ("agent", Json::str(run.step.name.as_str())),
            ("mode", Json::str(run.mode.as_str())),
            ("model", Json::str(run.model.as_str())),
            ("end", Json::str(run.end())),
            ("answer", run.step.answer.clone().unwrap_or_default()),
        ])
    });
    Json::object([
        ("session", Json::str(column.side.name.as_str())),
        ("runs", Json::list(runs)),
        ("totals", totals(&column.totals)),
    ])
}

fn totals(totals: &ColumnTotals) -> Json {
    Json::object([
        ("own", share(&totals.own)),
        ("below", share(&totals.below)),
        ("all", share(&totals.all)),
        ("duration_ms", totals.duration_ms.into()),
        ("first_ms", totals.first_ms.map(Json::from).unwrap_or_default()),
        ("data_bytes", totals.data_bytes.into()),
        ("kept_out_bytes", totals.kept_out_bytes.into()),
    ])
}

fn share(share: &Share) -> Json {
    let tokens =
        |read: fn(&Tokens) -> Option<u64>| share.tokens.as_ref().and_then(read).map(Json::from).unwrap_or_default();
    Json::object([
        ("turns", share.turns.into()),
        ("requests", share.requests.into()),
        ("calls", share.calls.into()),
        ("input_tokens", tokens(|tokens| Some(tokens.input))),
        ("cached_tokens", tokens(|tokens| tokens.cache_read)),
        ("output_tokens", tokens(|tokens| Some(tokens.output))),
        ("cost", share.cost.map(Json::from).unwrap_or_default()),
        ("validation_errors", share.validation_errors.into()),
        ("other_errors", share.other_errors.into()),
    ])
}

fn pair(comparison: &Comparison, pair: &Pair) -> Json {
    let first = pair.first.as_ref().map(|found| {
        let part = found.part.map(|part| Json::str(part.name())).unwrap_or_default();
        Json::object([("at", Json::str(found.at.as_str())), ("part", part)])
    });
    let ends = pair.ends.iter().map(|(run, left, right)| {
        let text = |text: &String| Json::str(text.as_str());
        Json::object([("run", text(run)), ("left", text(left)), ("right", text(right))])
    });
    Json::object([
        ("column", pair.column.into()),
        ("same", pair.is_same().into()),
        ("first", first.unwrap_or_default()),
        ("definition", lines(&pair.definition)),
        ("inputs", values(&pair.inputs)),
        ("turns", Json::list(pair.turns.iter().map(|turns| turn(comparison, pair.column, turns)))),
        ("answers", values(&pair.answers)),
        ("ends", Json::list(ends)),
    ])
}

fn turn(comparison: &Comparison, column: usize, pair: &TurnPair) -> Json {
    Json::object([
        ("left", address(comparison, 0, pair.left)),
        ("right", address(comparison, column, pair.right)),
        ("parts", Json::list(pair.parts.iter().map(part))),
    ])
}

fn part(found: &PartDifference) -> Json {
    let name = ("part", Json::str(found.part.name()));
    match &found.shape {
        Shape::Request { messages, rest } => {
            Json::object([name, ("messages", Json::list(messages.iter().map(message))), ("values", values(rest))])
        }
        Shape::Lines(found) => Json::object([name, ("lines", lines(found))]),
        Shape::Values(found) => Json::object([name, ("values", values(found))]),
    }
}

fn message(message: &MessageDifference) -> Json {
    let place = |number: Option<u32>| number.map(Json::from).unwrap_or_default();
    Json::object([
        ("role", Json::str(message.role)),
        ("left", place(message.left)),
        ("right", place(message.right)),
        ("lines", lines(&message.lines)),
    ])
}

fn lines(lines: &[DiffLine]) -> Json {
    let place = |number: Option<usize>| number.map(Json::from).unwrap_or_default();
    Json::list(lines.iter().map(|line| {
        Json::object([
            ("left", place(line.left)),
            ("right", place(line.right)),
            ("text", Json::str(line.text.as_str())),
        ])
    }))
}

/// What is not there is left out: null is a value.
fn values(values: &[Difference]) -> Json {
    Json::list(values.iter().map(|found| {
        let sides = [("left", &found.left), ("right", &found.right)];
        let sides = sides.into_iter().filter_map(|(name, side)| Some((name, side.clone()?)));
        let named = [("path", Json::str(found.path.as_str())), ("change", Json::str(found.change()))];
        Json::object(named.into_iter().chain(sides))
    }))
}

fn address(comparison: &Comparison, column: usize, place: Option<Place>) -> Json {
    let turn = place.and_then(|place| comparison.turn(column, place));
    turn.map(|turn| Json::str(turn.address.as_str())).unwrap_or_default()
}
