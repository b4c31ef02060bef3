//! Sections after the table of a matrix: agents that cannot run, answers, errors, changes since the baseline.

use ptc_core::text::width;

use super::table::rounded;
use crate::cli::output::safe_line;
use crate::workbench::format::{Marks, cost, count, duration};
use crate::workbench::matrix::{CellReport, Change, ChangeKind, Outcome};
use crate::workbench::wording::describe_reason;

/// Outcomes and kinds of errors shown of one cell.
const SHOWN: usize = 5;
/// With more cells than these, only those that failed or vary show their answers.
const ALL_CELLS: usize = 12;

/// Cells without trials, each with its reason.
pub(super) fn unfit(reports: &[CellReport]) -> Vec<String> {
    let lines = reports.iter().filter_map(|report| {
        let why = report.cell.unfit.as_ref()?;
        Some(format!("  {}: {}", safe_line(&report.cell.name()), safe_line(why)))
    });
    section("cannot run", lines.collect())
}

/// Equal answers with their counts.
pub(super) fn answers(reports: &[CellReport], columns: usize, marks: &Marks) -> Vec<String> {
    let is_plain = |report: &CellReport| report.answers.len() < 2 && report.passed == report.trials;
    let all = reports.iter().filter(|report| report.trials > 0).count() <= ALL_CELLS;
    let mut lines = Vec::new();
    for report in reports.iter().filter(|report| report.trials > 0 && (all || !is_plain(report))) {
        lines.push(format!("  {}", safe_line(&report.cell.name())));
        for group in report.answers.iter().take(SHOWN) {
            let mark = if group.passed == group.count { marks.good } else { marks.failed };
            let outcome_text = match &group.outcome {
                Outcome::Answer(text) => safe_line(text.text()),
                Outcome::Fail(reason) => format!("failed: {}", safe_line(&describe_reason(reason))),
            };
            let line = format!("    {}{} {}", group.count, marks.times, marks.line(mark, &outcome_text));
            lines.push(width::truncate(&line, columns).into_owned());
        }
        lines.extend(more(report.answers.len(), marks));
        let whys = report.sessions.iter().filter_map(|trial| Some((trial.trial, trial.why.as_deref()?)));
        for (trial, why) in whys.take(SHOWN) {
            let line = format!("    trial {trial}: {}", safe_line(&why.replace('\n', "; ")));
            lines.push(width::truncate(&line, columns).into_owned());
        }
    }
    section("answers", lines)
}

/// Returns the section of the errors that were sent back to the model.
pub(super) fn errors(reports: &[CellReport], columns: usize, marks: &Marks) -> Vec<String> {
    let mut lines = Vec::new();
    for report in reports.iter().filter(|report| !report.errors.is_empty()) {
        lines.push(format!("  {}", safe_line(&report.cell.name())));
        let mut kinds: Vec<_> = report.errors.iter().collect();
        kinds.sort_by_key(|(_, times)| std::cmp::Reverse(**times));
        let kind = |(kind, times): &(&String, &u32)| {
            let text = format!("    {times}{} {}", marks.times, safe_line(&describe_reason(kind)));
            width::truncate(&text, columns).into_owned()
        };
        lines.extend(kinds.iter().take(SHOWN).map(kind));
        lines.extend(more(kinds.len(), marks));
    }
    section("errors sent back to the model", lines)
}

/// Returns the section of the changes since the baseline.
pub(super) fn changes(changes: &[Change], words: bool) -> Vec<String> {
    let of = |kind: ChangeKind| changes.iter().filter(|change| change.kind == kind).count();
    let counted = [ChangeKind::Worse, ChangeKind::Better, ChangeKind::Same, ChangeKind::New, ChangeKind::NotRun];
    let counts = counted.into_iter().filter(|kind| of(*kind) > 0).map(|kind| format!("{} {}", of(kind), kind.name()));
    let title = format!("since the baseline: {}", counts.collect::<Vec<_>>().join(", "));
    let lines = changes.iter().map(|change| {
        let mark = match (change.kind, words) {
            (_, true) => "",
            (ChangeKind::Worse, _) => "✗ ",
            (ChangeKind::Better, _) => "✓ ",
            (ChangeKind::Same, _) => "= ",
            (ChangeKind::New | ChangeKind::NotRun, _) => "· ",
        };
        let name = change.cell().map(crate::workbench::matrix::Cell::name).unwrap_or_default();
        let why = if change.why.is_empty() { String::new() } else { format!(": {}", change.why) };
        let answers = change.answers_changed.then(|| "answers changed".to_owned());
        let deltas = answers.into_iter().chain(deltas(change, Marks::of(words))).collect::<Vec<_>>().join(", ");
        let deltas = if deltas.is_empty() { deltas } else { format!("; {deltas}") };
        format!("  {mark}{} {}{}{deltas}", change.kind.name(), safe_line(&name), safe_line(&why))
    });
    section(&title, lines.collect())
}

/// Turns, tokens, costs and times, where they are known then and now and differ.
fn deltas(change: &Change, marks: &Marks) -> Vec<String> {
    let (Some(then), Some(now)) = (&change.then, &change.now) else { return Vec::new() };
    let moved = |what: &str, from: Option<String>, to: Option<String>| {
        from.zip(to).filter(|(from, to)| from != to).map(|(from, to)| format!("{what} {from} {} {to}", marks.to))
    };
    let turns = |turns: Option<f64>| turns.map(|turns| format!("{turns:.1}"));
    let tokens = |tokens: Option<f64>| tokens.map(|tokens| count(rounded(tokens)));
    let costs = |amount: Option<f64>| amount.map(|amount| cost(Some(amount)));
    let all = [
        moved("turns", turns(then.turns), turns(now.turns)),
        moved("tokens", tokens(then.tokens), tokens(now.tokens)),
        moved("cost", costs(then.cost), costs(now.cost)),
        moved("time", then.time_ms.map(duration), now.time_ms.map(duration)),
    ];
    all.into_iter().flatten().collect()
}

fn more(all: usize, marks: &Marks) -> Option<String> {
    let left = all.saturating_sub(SHOWN);
    (left > 0).then(|| format!("    {}and {left} more", marks.more))
}

/// A title and its lines, a blank line in front; nothing without lines.
fn section(title: &str, lines: Vec<String>) -> Vec<String> {
    if lines.is_empty() {
        return lines;
    }
    [String::new(), title.to_owned()].into_iter().chain(lines).collect()
}
