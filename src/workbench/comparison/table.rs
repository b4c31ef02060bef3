//! Tables of a comparison: a column per session with its properties and usage, and the turns side by side.

use ptc_core::text::{SafeText, in_one_line, width};

use super::{Frame, Line, Tone};
use crate::session::diff::{Column, Comparison, RunTotals, SideTurn, TurnPosition};
use crate::workbench::format::{cost, count, distinct, duration, inflected, size};

/// Columns of the labels in front.
pub(super) const LABEL: usize = 12;
/// Columns between two sessions.
const GAP: usize = 2;
/// Fewest columns of a session; more of them go into a table of their own.
const NARROWEST: usize = 16;
/// Columns of a number.
const NUMBER: usize = 8;

/// Identity and usage of each session. Sessions that do not fit into the width follow in further tables, each time with the first.
///
/// In words: one line per fact, each value with its session, as a listener needs it.
pub fn totals(comparison: &Comparison, frame: Frame) -> Vec<Line> {
    if frame.words {
        let rows = facts(frame).into_iter().chain(measures());
        return rows.flat_map(|row| row.spoken(&comparison.columns)).map(|text| spoken_line(&text)).collect();
    }
    table(comparison, frame, || facts(frame).into_iter().chain(measures()).collect())
}

/// Returns the usage of each session.
pub fn metrics(comparison: &Comparison, frame: Frame) -> Vec<Line> {
    table(comparison, frame, measures)
}

/// Columns of the labels in front of a table, columns of each session, and columns between two of them.
pub fn cell_columns(sessions: usize, frame: Frame) -> (usize, usize, usize) {
    (LABEL, share(sessions, frame, LABEL), GAP)
}

fn table(comparison: &Comparison, frame: Frame, rows: impl Fn() -> Vec<Row>) -> Vec<Line> {
    let columns = &comparison.columns;
    blocks(columns.len(), frame, LABEL)
        .iter()
        .flat_map(|block| {
            let gap = Some(frame.line(Tone::Plain, "")).filter(|_| block.contains(&0) && block.len() < columns.len());
            rows().into_iter().filter_map(|row| row.line(columns, block, frame)).chain(gap)
        })
        .collect()
}

/// Groups the columns into tables that fit the width; each table includes the first column.
fn blocks(columns: usize, frame: Frame, label: usize) -> Vec<Vec<usize>> {
    let fit = (frame.columns.saturating_sub(label) / (NARROWEST + GAP)).max(2);
    if columns <= fit {
        return vec![(0..columns).collect()];
    }
    let others: Vec<usize> = (1..columns).collect();
    others.chunks(fit - 1).map(|some| [&[0], some].concat()).collect()
}

/// A cell of this many columns: safe, cut, filled up.
fn cell(text: &str, columns: usize) -> String {
    let safe = SafeText::single_line(text).into_string();
    width::pad(&width::truncate(&safe, columns), columns)
}

/// The end of a name that is too long: ids differ in their ends.
fn ending(name: &str, columns: usize) -> String {
    let most = columns.max(2);
    match name.chars().count().checked_sub(most) {
        None | Some(0) => name.to_owned(),
        Some(more) => format!("…{}", name.chars().skip(more + 1).collect::<String>()),
    }
}

/// Columns of each of `cells` cells.
fn share(cells: usize, frame: Frame, label: usize) -> usize {
    (frame.columns.saturating_sub(label) / cells.max(1)).saturating_sub(GAP).max(NARROWEST / 2)
}

/// Reads the value of a column in a row.
type Read = dyn Fn(&Column) -> Option<String>;

/// A row: its label and its value per column; `None` for an empty value.
struct Row {
    label: &'static str,
    /// Marked where the columns differ: facts, not measures.
    is_fact: bool,
    read: Box<Read>,
}

impl Row {
    fn line(&self, columns: &[Column], block: &[usize], frame: Frame) -> Option<Line> {
        let all: Vec<Option<String>> = columns.iter().map(|column| (self.read)(column)).collect();
        if all.iter().all(Option::is_none) {
            return None;
        }
        let differs = self.is_fact && block.iter().any(|place| all[*place] != all[0]);
        let mark = if differs { frame.differs() } else { "" };
        let cells = share(block.len(), frame, LABEL);
        let is_head = self.label.is_empty();
        let texts = block.iter().map(|place| {
            let text = all[*place].as_deref().unwrap_or("–");
            if is_head {
                cell(&format!("{}  {}", place + 1, ending(text, cells - 3)), cells)
            } else {
                cell(text, cells)
            }
        });
        let label = width::pad(self.label, LABEL - 3);
        let text = format!("{label}{} {}", width::pad(mark, 2), texts.collect::<Vec<_>>().join(&" ".repeat(GAP)));
        Some(frame.line(if is_head { Tone::Head } else { Tone::Plain }, &text))
    }
}

impl Row {
    /// The row as a sentence: the value of each session, or once what all have. The heading has a line per session.
    fn spoken(&self, columns: &[Column]) -> Vec<String> {
        let all: Vec<Option<String>> =
            columns.iter().map(|column| (self.read)(column).map(|text| words(&text))).collect();
        let Some(first) = all.first().filter(|_| all.iter().any(Option::is_some)) else { return Vec::new() };
        let name = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
        if self.label.is_empty() {
            return (1..).zip(&all).map(|(number, value)| format!("session {number}: {}", name(value))).collect();
        }
        if all.iter().all(|value| value == first) {
            return vec![format!("{}: {} in all", self.label, name(first))];
        }
        let each: Vec<String> =
            (1..).zip(&all).map(|(number, value)| format!("{} in session {number}", name(value))).collect();
        let differs = if self.is_fact { " differs" } else { "" };
        vec![format!("{}{differs}: {}", self.label, each.join(", "))]
    }
}

/// A text without the gaps of a table.
fn words(text: &str) -> String {
    let parts: Vec<&str> = text.split("  ").map(str::trim).filter(|part| !part.is_empty()).collect();
    parts.join(if text.ends_with(" below") { ", " } else { " " })
}

/// Columns for a turn's text.
const SPOKEN: usize = 160;

fn spoken_line(text: &str) -> Line {
    Line { tone: Tone::Plain, text: SafeText::single_line(text).into_string() }
}

/// The turns in words, a line for those that belong together.
fn spoken_turns(comparison: &Comparison, frame: Frame) -> Vec<Line> {
    let several = comparison.columns.iter().any(|column| column.side.runs.len() > 1);
    let rows = comparison.rows.iter().map(|row| {
        let each = (1..).zip(&row.cells).enumerate().map(|(column, (number, place))| {
            let turn = place.and_then(|place| comparison.turn(column, place));
            let summary = turn.map(|turn| {
                let end = if turn.turn.success { frame.good() } else { frame.bad() };
                let reply_text = reply_cell(turn);
                let reply_text = width::truncate(&reply_text, SPOKEN);
                format!("{} {end}, {}, {reply_text}", address(turn, several), duration(turn.turn.latency_ms))
            });
            format!("in session {number} {}", summary.unwrap_or_else(|| "no turn".to_owned()))
        });
        let differs = if row.differs { "differs: " } else { "same: " };
        spoken_line(&format!("{differs}{}", each.collect::<Vec<_>>().join("; ")))
    });
    std::iter::once(spoken_line("turns")).chain(rows).collect()
}

/// Returns the rows of the properties of the sessions.
fn facts(frame: Frame) -> Vec<Row> {
    fn fact(label: &'static str, read: impl Fn(&Column) -> Option<String> + 'static) -> Row {
        Row { label, is_fact: true, read: Box::new(read) }
    }
    vec![
        Row { label: "", is_fact: false, read: Box::new(|column| Some(column.side.name.clone())) },
        fact("agent", |column| Some(each(column, |run| run.step.name.clone()))),
        fact("mode", |column| Some(each(column, |run| run.mode.clone()))),
        fact("model", |column| Some(each(column, |run| run.model.clone()))),
        fact("end", move |column| Some(ends(column, frame))),
    ]
}

/// Formats the ends of the runs of a column.
pub fn ends(column: &Column, frame: Frame) -> String {
    let ends = column.side.runs.iter().map(|run| {
        let mark = if run.step.fail.is_some() { frame.bad() } else { frame.good() };
        let end = run.end();
        if run.is_complete { format!("{mark} {end}") } else { end }
    });
    ends.collect::<Vec<_>>().join(", ")
}

/// Returns the rows of the usage of the sessions.
fn measures() -> Vec<Row> {
    fn measure(label: &'static str, read: impl Fn(&Column) -> Option<String> + 'static) -> Row {
        Row { label, is_fact: false, read: Box::new(read) }
    }
    /// A number of all runs, and the part of the child runs.
    fn number(label: &'static str, read: fn(&RunTotals) -> Option<u64>) -> Row {
        measure(label, move |column| {
            let all = read(&column.totals.all)?;
            let below = read(&column.totals.children).filter(|below| *below > 0);
            let below = below.map(|below| format!("  {} below", count(below))).unwrap_or_default();
            Some(format!("{}{below}", width::pad_left(&count(all), NUMBER)))
        })
    }
    let right = |text: String| Some(width::pad_left(&text, NUMBER));
    let some = |number: u64| (number > 0).then_some(number);
    vec![
        number("turns", |share| Some(share.spending.turns.into())),
        number("requests", |share| Some(share.spending.requests.into())),
        number("calls", |share| Some(share.calls)),
        number("tokens in", |share| Some(share.spending.tokens?.input)),
        number("cached in", |share| share.spending.tokens?.cache_read),
        number("out", |share| Some(share.spending.tokens?.output)),
        measure("cost", move |column| right(cost(Some(column.totals.all.spending.cost()?)))),
        measure("time", move |column| right(duration(column.totals.duration_ms))),
        measure("to first", move |column| right(duration(column.totals.first_ms?))),
        measure("kept out", move |column| {
            let (all, out) = (some(column.totals.data_bytes)?, column.totals.kept_out_bytes);
            right(size(out)).map(|out| format!("{out}  of {} of words", size(all)))
        }),
        measure("invalid", move |column| {
            let errors = some(column.totals.all.validation_errors)?;
            right(count(errors)).map(|number| format!("{number}  {}", inflected(errors, "validation error")))
        }),
        measure("wrong", move |column| {
            let turns = some(column.totals.all.other_errors)?;
            right(count(turns)).map(|number| format!("{number}  {}", inflected(turns, "other error")))
        }),
    ]
}

/// Joins the values of the runs of a column, each once.
pub(super) fn each(column: &Column, read: fn(&crate::session::diff::SideRun) -> String) -> String {
    distinct(column.side.runs.iter().map(read)).join(", ")
}

/// The turns side by side, a row for those that belong together.
pub fn turns(comparison: &Comparison, frame: Frame) -> Vec<Line> {
    const MARK: usize = 3;
    if frame.words {
        return spoken_turns(comparison, frame);
    }
    let mut lines = Vec::new();
    for block in blocks(comparison.columns.len(), frame, MARK) {
        let cells = share(block.len(), frame, MARK);
        let head = block.iter().map(|place| cell(&(place + 1).to_string(), cells)).collect::<Vec<_>>();
        let head = format!("{}{}", " ".repeat(MARK), head.join(&" ".repeat(GAP)));
        lines.push(frame.line(Tone::Head, &head));
        for row in &comparison.rows {
            if block.iter().all(|place| row.cells[*place].is_none()) {
                continue;
            }
            let texts = block.iter().map(|column| {
                let summary = row.cells[*column].and_then(|place| summarize_turn(comparison, *column, place, frame));
                cell(&summary.unwrap_or_else(|| "–".to_owned()), cells)
            });
            let mark = width::pad(if row.differs { frame.differs() } else { "" }, MARK);
            let text = format!("{mark}{}", texts.collect::<Vec<_>>().join(&" ".repeat(GAP)));
            lines.push(frame.line(if row.differs { Tone::Plain } else { Tone::Dim }, &text));
        }
    }
    lines
}

/// Summarizes a turn: address, success, duration, the model's reply.
pub fn summarize_turn(comparison: &Comparison, column: usize, place: TurnPosition, frame: Frame) -> Option<String> {
    let turn = comparison.turn(column, place)?;
    let mark = if turn.turn.success { frame.good() } else { frame.bad() };
    let several = comparison.columns.iter().any(|column| column.side.runs.len() > 1);
    let name = address(turn, several);
    Some(format!("{name} {mark} {}  {}", duration(turn.turn.latency_ms), reply_cell(turn)))
}

/// `t2`, or with its run where there are several.
pub(super) fn address(turn: &SideTurn, with_run: bool) -> String {
    match turn.address.as_str().rsplit_once('/') {
        Some((_, last)) if !with_run => last.to_owned(),
        _ => turn.address.to_string(),
    }
}

/// Summarizes the result of a turn on one line.
fn reply_cell(turn: &SideTurn) -> String {
    let reason = turn.turn.reason.as_deref().filter(|_| !turn.turn.success);
    let text = match (reason, &turn.program, &turn.turn.json) {
        (Some(reason), ..) => reason.to_owned(),
        (None, Some(program), _) => program.clone(),
        (None, None, Some(json)) => json.to_text(),
        (None, None, None) if turn.reply().trim().is_empty() => called(turn),
        (None, None, None) => turn.reply().to_owned(),
    };
    in_one_line(&text)
}

/// The tools that a reply without words calls.
fn called(turn: &SideTurn) -> String {
    let calls = turn.calls.items().unwrap_or_default().iter();
    calls.filter_map(|call| call.get("name")?.as_str()).collect::<Vec<_>>().join(", ")
}
