//! Versions of an agent against the first one, case by case: lines for a terminal, and data for `--json`.
//!
//! In: paired reports. Out: text and serializable parts. It decides nothing.

use serde::Serialize;
use serde_with::skip_serializing_none;

use super::json::{CellJson, cell, rounded};
use crate::cli::output::safe_line;
use crate::workbench::format::{Marks, plural};
use crate::workbench::matrix::{MeanInterval, PairedCase, PairedReport, PairedVerdict};

/// Changed cases that are shown of one comparison.
const SHOWN: usize = 10;

/// A comparison as `--json` prints it.
#[skip_serializing_none]
#[derive(Serialize)]
pub(super) struct PairedJson<'a> {
    base: CellJson<'a>,
    other: CellJson<'a>,
    cases: u32,
    gained: u32,
    lost: u32,
    p: Option<f64>,
    p_adjusted: Option<f64>,
    verdict: &'static str,
    more_cases: Option<u64>,
    rate: Option<[Option<f64>; 3]>,
    score: Option<[Option<f64>; 3]>,
    cost: Option<[Option<f64>; 3]>,
    tokens: Option<[Option<f64>; 3]>,
    changed: Vec<ChangedJson<'a>>,
}

#[derive(Serialize)]
struct ChangedJson<'a> {
    case: Option<&'a str>,
    then: SideJson<'a>,
    now: SideJson<'a>,
}

#[derive(Serialize)]
struct SideJson<'a> {
    passed: u32,
    trials: u32,
    session: &'a str,
}

/// The data of a comparison: a difference is its mean with the ends of its interval.
pub(super) fn json(report: &PairedReport) -> PairedJson<'_> {
    let interval = |interval: &Option<MeanInterval>| {
        interval.map(|of| [rounded(Some(of.mean)), rounded(Some(of.low)), rounded(Some(of.high))])
    };
    let side = |(passed, trials): (u32, u32), session| SideJson { passed, trials, session };
    PairedJson {
        base: cell(&report.base),
        other: cell(&report.other),
        cases: report.cases,
        gained: report.gained,
        lost: report.lost,
        p: rounded(Some(report.probability)),
        p_adjusted: rounded(Some(report.adjusted)),
        verdict: report.verdict.name(),
        more_cases: report.more,
        rate: interval(&report.rate),
        score: interval(&report.score),
        cost: interval(&report.cost),
        tokens: interval(&report.tokens),
        changed: report
            .changed
            .iter()
            .map(|case| ChangedJson {
                case: case.case.as_deref(),
                then: side(case.then, &case.sessions.0),
                now: side(case.now, &case.sessions.1),
            })
            .collect(),
    }
}

/// The comparisons for a terminal; nothing where there is one version or one case.
pub(super) fn lines(reports: &[PairedReport], marks: &Marks) -> Vec<String> {
    let reports: Vec<&PairedReport> = reports.iter().filter(|report| report.cases > 1).collect();
    let Some(first) = reports.first() else { return Vec::new() };
    let title = format!("against {}, case by case", safe_line(&first.base.name()));
    let mut lines = vec![String::new(), title];
    for report in reports {
        let mark = match report.verdict {
            PairedVerdict::Better => marks.good,
            PairedVerdict::Worse => marks.failed,
            PairedVerdict::Undecided | PairedVerdict::Equal => marks.none,
        };
        lines.push(format!(
            "  {}",
            marks.line(mark, &format!("{}: {}", safe_line(&report.other.name()), verdict(report)))
        ));
        lines.extend(differences(report).into_iter().map(|line| format!("    {line}")));
        let changed = report.changed.iter().take(SHOWN).map(|case| format!("    {}", changed(case, marks)));
        lines.extend(changed);
        let left = report.changed.len().saturating_sub(SHOWN);
        lines.extend((left > 0).then(|| format!("    {}and {left} more", marks.more)));
    }
    lines
}

/// Returns the result of a comparison in words.
fn verdict(report: &PairedReport) -> String {
    let split = format!("{} gained, {} lost of {}", report.gained, report.lost, plural(report.cases.into(), "case"));
    let chance = format!("p = {:.3}", report.adjusted);
    match (report.verdict, report.more) {
        (PairedVerdict::Equal, _) => format!("equal: no case differs ({})", plural(report.cases.into(), "case")),
        (PairedVerdict::Undecided, Some(more)) => {
            format!("undecided: {split}, {chance}; about {} needed to decide", plural(more, "more case"))
        }
        (PairedVerdict::Undecided, None) => format!("undecided: {split}, {chance}"),
        (PairedVerdict::Better | PairedVerdict::Worse, _) => format!("{}: {split}, {chance}", report.verdict.name()),
    }
}

/// The differences that are not zero, with their intervals.
fn differences(report: &PairedReport) -> Vec<String> {
    let points =
        |of: MeanInterval| format!("{:+.1} points [{:+.1}, {:+.1}]", of.mean * 100.0, of.low * 100.0, of.high * 100.0);
    let amount = |of: MeanInterval| format!("{:+.4} [{:+.4}, {:+.4}]", of.mean, of.low, of.high);
    let count = |of: MeanInterval| format!("{:+.0} [{:+.0}, {:+.0}]", of.mean, of.low, of.high);
    let line = |what: &str, interval: Option<MeanInterval>, shown: &dyn Fn(MeanInterval) -> String| {
        let interval = interval.filter(|of| of.low < 0.0 || of.high > 0.0)?;
        Some(format!("{what} {}", shown(interval)))
    };
    let score = report.score.filter(|score| report.rate != Some(*score));
    let all = [
        line("pass rate", report.rate, &points),
        line("score", score, &points),
        line("cost", report.cost, &amount),
        line("tokens", report.tokens, &count),
    ];
    all.into_iter().flatten().collect()
}

/// A case that differs, with a session of each side to open.
fn changed(case: &PairedCase, marks: &Marks) -> String {
    let name = case.case.as_deref().unwrap_or("without a case");
    let passes = |(passed, trials): (u32, u32)| format!("{passed}/{trials}");
    let (then, now) = &case.sessions;
    let (to, gap) = (marks.to, if marks.colon.is_empty() { "  " } else { ", " });
    safe_line(&format!("{name}: {} {to} {}{gap}compare {then} {now}", passes(case.then), passes(case.now)))
}
