//! The table of a matrix: a row per cell. The most important columns stay when the terminal is narrow; times are last.

use ptc_core::text::width;

use crate::cli::output::safe_line;
use crate::workbench::format::{Marks, cost, count, duration, size};
use crate::workbench::matrix::CellReport;

/// Columns between two columns of the table.
const GAP: usize = 2;
/// Maximum columns of a name.
const NAME: usize = 24;
/// Text of an unknown value.
const UNKNOWN: &str = "–";

/// A column of the table.
struct Column {
    title: String,
    /// The smaller, the longer it stays.
    rank: u8,
    /// Text is aligned left, numbers right.
    is_text: bool,
    cells: Vec<String>,
}

/// The table with its head; empty without trials.
pub(super) fn table(reports: &[CellReport], columns: usize, words: bool) -> Vec<String> {
    let reports: Vec<&CellReport> = reports.iter().filter(|report| report.cell.unfit.is_none()).collect();
    if reports.is_empty() {
        return Vec::new();
    }
    let all = fitting(every(&reports, words), columns);
    let line = |text: &dyn Fn(&Column) -> &str| {
        let padded = all.iter().map(|column| {
            let wide = breadth(column);
            let text = text(column);
            if column.is_text { width::pad(text, wide) } else { width::pad_left(text, wide) }
        });
        padded.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end().to_owned()
    };
    let head = line(&|column| column.title.as_str());
    let rows = (0..reports.len()).map(|row| line(&|column| column.cells.get(row).map_or("", String::as_str)));
    std::iter::once(head).chain(rows).collect()
}

/// Leaves out the columns that matter least until the rest fits.
fn fitting(mut all: Vec<Column>, columns: usize) -> Vec<Column> {
    let breadth_of = |all: &[Column]| all.iter().map(|column| breadth(column) + GAP).sum::<usize>().saturating_sub(GAP);
    while breadth_of(&all) > columns {
        let Some(last) = all.iter().map(|column| column.rank).max().filter(|rank| *rank > 0) else { break };
        if let Some(place) = all.iter().rposition(|column| column.rank == last) {
            all.remove(place);
        }
    }
    all
}

fn breadth(column: &Column) -> usize {
    column.cells.iter().map(|cell| width::width(cell)).max().unwrap_or_default().max(width::width(&column.title))
}

/// Every column with a value.
fn every(reports: &[&CellReport], words: bool) -> Vec<Column> {
    let differs = |of: fn(&CellReport) -> &str| reports.iter().any(|report| of(report) != of(reports[0]));
    let several_agents = differs(|report| &report.cell.agent);
    let agent = several_agents.then(|| name("agent", reports, |report| &report.cell.agent));
    let case = reports.iter().any(|report| report.cell.case.is_some());
    let case = case.then(|| name("case", reports, |report| report.cell.case.as_deref().unwrap_or(UNKNOWN)));
    let longest = reports.iter().map(|report| report.pass_hat.len()).max().unwrap_or_default();
    let marks = Marks::of(words);
    let mut columns: Vec<Column> = Vec::new();
    columns.extend(agent);
    columns.push(name("mode", reports, |report| &report.cell.mode));
    columns.push(name("model", reports, |report| &report.cell.model));
    columns.extend(case);
    columns.push(number("pass", 0, reports, |report| Some(format!("{}/{}", report.passed, report.trials))));
    columns.push(number("95 %", 1, reports, |report| interval(report, marks)));
    if !words {
        columns.push(Column { is_text: true, ..number("", 13, reports, bar) });
    }
    if longest > 1 {
        columns.push(number(&format!("pass^{longest}"), 6, reports, |report| {
            report.pass_hat.last().map(|chance| format!("{chance:.2}"))
        }));
    }
    columns.push(number("turns", 2, reports, |report| report.turns.map(|turns| format!("{turns:.1}"))));
    columns.push(number("in", 4, reports, |report| whole(report.input)));
    columns.push(number("out", 4, reports, |report| whole(report.output)));
    columns.push(number("cached", 10, reports, |report| whole(report.cached)));
    columns.push(number("cost", 7, reports, |report| report.cost.map(|amount| cost(Some(amount)))));
    columns.push(number("data", 11, reports, |report| report.data_bytes.map(bytes)));
    columns.push(number("kept out", 5, reports, |report| report.kept_out_bytes.map(bytes)));
    columns.push(number("errors", 9, reports, |report| {
        Some(report.errors.values().map(|times| u64::from(*times)).sum::<u64>()).filter(|sum| *sum > 0).map(count)
    }));
    columns.push(number("retries", 12, reports, |report| {
        Some(report.retries).filter(|retries| *retries > 0).map(|retries| count(u64::from(retries)))
    }));
    columns.push(number("waited", 12, reports, |report| {
        Some(report.waited_ms).filter(|waited| *waited > 0).map(duration)
    }));
    columns.push(number("first", 8, reports, |report| report.first_ms.map(duration)));
    columns.push(number("time", 3, reports, |report| report.time_ms.map(duration)));
    columns.push(number("p95", 9, reports, |report| report.time_p95_ms.map(duration)));
    columns.retain(|column| column.rank == 0 || column.cells.iter().any(|cell| cell != UNKNOWN));
    for cell in columns.iter_mut().flat_map(|column| &mut column.cells).filter(|cell| *cell == UNKNOWN) {
        marks.unknown.clone_into(cell);
    }
    columns
}

fn name(title: &str, reports: &[&CellReport], of: fn(&CellReport) -> &str) -> Column {
    let cell = |report: &&CellReport| width::truncate(&safe_line(of(report)), NAME).into_owned();
    Column { title: title.to_owned(), rank: 0, is_text: true, cells: reports.iter().map(cell).collect() }
}

fn number(title: &str, rank: u8, reports: &[&CellReport], of: impl Fn(&CellReport) -> Option<String>) -> Column {
    let cells = reports.iter().map(|report| of(report).unwrap_or_else(|| UNKNOWN.to_owned())).collect();
    Column { title: title.to_owned(), rank, is_text: false, cells }
}

fn interval(report: &CellReport, marks: &Marks) -> Option<String> {
    let (low, high) = report.interval;
    (report.trials > 0).then(|| format!("{:.0}{}{:.0}", low * 100.0, marks.through, high * 100.0))
}

/// The pass rate as a bar of ten.
fn bar(report: &CellReport) -> Option<String> {
    let rate = report.rate()?;
    let full = (0..10).filter(|tenth| rate * 10.0 >= f64::from(*tenth) + 0.5).count();
    Some(format!("{}{}", "▰".repeat(full), "▱".repeat(10 - full)))
}

fn whole(mean: Option<f64>) -> Option<String> {
    mean.map(|mean| count(rounded(mean)))
}

fn bytes(mean: f64) -> String {
    size(rounded(mean))
}

/// A mean of counts as a whole number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "means of counts: not negative, and what is too large is the largest"
)]
pub(super) fn rounded(mean: f64) -> u64 {
    mean.round() as u64
}
