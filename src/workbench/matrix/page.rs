//! The report of a matrix as one HTML page without scripts and without external resources, and as Markdown.
//!
//! In: the results of a matrix, and the turns of failed trials whose sessions are on this machine. Out: the page. Text from models is
//! escaped. The page has no date, so that equal results give equal pages except for durations and session ids.

use std::fmt::Write as _;

use super::paired::{MeanInterval, PairedReport, PairedVerdict};
use super::plan::Cell;
use super::report::CellReport;
use crate::agent::{JudgesUsage, Step};
use crate::event::FromCache;
use crate::export::{document, escape};
use crate::workbench::format::{cache_line, cost, duration, judges_line};

/// Maximum number of failed trials shown with their turns.
pub const SHOWN_FAILURES: usize = 100;
/// Maximum number of judge rulings shown.
const SHOWN_RULINGS: usize = 200;
/// Maximum number of characters shown of a reply or a program.
const SHOWN_CHARS: usize = 4_000;

/// The results of a matrix.
#[derive(Debug, Clone, Copy)]
pub struct Results<'r> {
    /// Reports of the cells.
    pub reports: &'r [CellReport],
    /// Reports over all cases of an agent, mode and model.
    pub totals: &'r [CellReport],
    /// Comparisons of the other versions with the first.
    pub pairs: &'r [PairedReport],
}

/// A failed trial with its turns.
#[derive(Debug, Clone)]
pub struct Failure {
    /// Name of the cell.
    pub cell: String,
    /// Number of the trial.
    pub trial: u32,
    /// Id of its session.
    pub session: String,
    /// The reason why it did not pass.
    pub why: String,
    /// Step of its run; `None` when the session is not on this machine.
    pub step: Option<Step>,
}

/// Renders the results as an HTML page.
pub fn matrix_page(title: &str, results: &Results<'_>, failures: &[Failure]) -> String {
    let mut body = format!("<h1>{}</h1>\n", escape(title));
    if let Some(line) = cache_line(taken(results.reports)) {
        _ = writeln!(body, "<p>{line}</p>");
    }
    let tried: Vec<&CellReport> = results.reports.iter().filter(|report| report.cell.unfit.is_none()).collect();
    if !results.totals.is_empty() {
        body.push_str("<h2>All cases</h2>\n");
        body.push_str(&table(&results.totals.iter().collect::<Vec<_>>()));
    }
    versions(&mut body, results.pairs);
    body.push_str("<h2>Cells</h2>\n");
    body.push_str(&table(&tried));
    let unfit: Vec<&CellReport> = results.reports.iter().filter(|report| report.cell.unfit.is_some()).collect();
    if !unfit.is_empty() {
        body.push_str("<h2>Cannot run</h2>\n<ul>\n");
        for report in unfit {
            let why = report.cell.unfit.as_deref().unwrap_or_default();
            _ = writeln!(body, "<li>{}: {}</li>", escape(&report.cell.name()), escape(why));
        }
        body.push_str("</ul>\n");
    }
    judgements(&mut body, results.reports);
    if !failures.is_empty() {
        _ = writeln!(body, "<h2>Failures</h2>");
        failures.iter().take(SHOWN_FAILURES).for_each(|failure| of_failure(&mut body, failure));
        let left = failures.len().saturating_sub(SHOWN_FAILURES);
        if left > 0 {
            _ = writeln!(body, "<p>… and {left} more</p>");
        }
    }
    document(&escape(title), &body)
}

/// Renders the results as Markdown for a pull request.
pub fn matrix_markdown(title: &str, results: &Results<'_>) -> String {
    let mut text = format!("## {}\n\n", plain(title));
    if let Some(line) = cache_line(taken(results.reports)) {
        _ = writeln!(text, "{line}\n");
    }
    for report in results.pairs {
        let (mark, words) = (mark(report.verdict), verdict(report));
        _ = writeln!(
            text,
            "* {mark} **{}** against {}: {words}",
            plain(&report.other.name()),
            plain(&report.base.name())
        );
    }
    if !results.pairs.is_empty() {
        text.push('\n');
    }
    text.push_str("| agent | mode | model | case | passed | 95 % | cost |\n|---|---|---|---|---|---|---|\n");
    let rows = if results.totals.is_empty() { results.reports } else { results.totals };
    for report in rows.iter().filter(|report| report.cell.unfit.is_none()) {
        let Cell { agent, mode, model, case, .. } = &report.cell;
        let case = case.as_deref().unwrap_or("all");
        let cells = [agent, mode, model, case].map(plain);
        let cost = report.cost.map_or("–".to_owned(), |amount| cost(Some(amount)));
        _ = writeln!(
            text,
            "| {} | {}/{} | {} | {cost} |",
            cells.join(" | "),
            report.passed,
            report.trials,
            interval_text(report)
        );
    }
    let changed: Vec<String> = results.pairs.iter().flat_map(changed_lines).collect();
    if !changed.is_empty() {
        _ = write!(text, "\n<details><summary>Cases that differ</summary>\n\n{}\n\n</details>\n", changed.join("\n"));
    }
    text
}

/// Returns the sum of replies and cost served from the cache.
fn taken(reports: &[CellReport]) -> FromCache {
    reports.iter().map(|report| report.from_cache).fold(FromCache::default(), FromCache::plus)
}

fn changed_lines(report: &PairedReport) -> Vec<String> {
    let other = plain(&report.other.name());
    let line = |case: &super::paired::PairedCase| {
        let name = plain(case.case.as_deref().unwrap_or_default());
        format!("* {other}: {name} {}/{} → {}/{}", case.then.0, case.then.1, case.now.0, case.now.1)
    };
    report.changed.iter().map(line).collect()
}

/// Escapes text for a cell of a Markdown table: no line breaks, no markup.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\n' | '\r' => out.push(' '),
            '|' | '*' | '_' | '`' | '<' | '>' | '[' | ']' | '\\' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

fn mark(verdict: PairedVerdict) -> &'static str {
    match verdict {
        PairedVerdict::Better => "✓",
        PairedVerdict::Worse => "✗",
        PairedVerdict::Undecided | PairedVerdict::Equal => "=",
    }
}

fn verdict(report: &PairedReport) -> String {
    let split = format!("{} gained, {} lost of {} cases", report.gained, report.lost, report.cases);
    let more = report.more.map(|more| format!("; about {more} more cases needed to decide")).unwrap_or_default();
    format!("{} ({split}, p = {:.3}{more})", report.verdict.name(), report.adjusted)
}

fn interval_text(report: &CellReport) -> String {
    format!("{:.0}–{:.0}", report.interval.0 * 100.0, report.interval.1 * 100.0)
}

fn table(reports: &[&CellReport]) -> String {
    let mut out = String::from(
        "<table>\n<tr><th>agent</th><th>mode</th><th>model</th><th>case</th><th>passed</th><th>95 %</th><th>score</th><th>turns</th>\
         <th>tokens</th><th>cost</th><th>time</th></tr>\n",
    );
    for report in reports {
        let Cell { agent, mode, model, case, .. } = &report.cell;
        let number =
            |number: Option<f64>, digits: usize| number.map_or("–".to_owned(), |number| format!("{number:.digits$}"));
        let tokens = report.input.zip(report.output).map(|(input, output)| input + output);
        let time = report.time_ms.map_or("–".to_owned(), duration);
        let cost = report.cost.map_or("–".to_owned(), |amount| cost(Some(amount)));
        let words = [agent, mode, model, case.as_deref().unwrap_or("–")].map(escape);
        let class = if report.passed == report.trials { "" } else { " class=\"warn\"" };
        _ = writeln!(
            out,
            "<tr{class}><td>{}</td><td>{}/{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{cost}</td><td>{time}</td></tr>",
            words.join("</td><td>"),
            report.passed,
            report.trials,
            interval_text(report),
            number(report.score, 2),
            number(report.turns, 1),
            number(tokens, 0),
        );
    }
    out + "</table>\n"
}

fn versions(body: &mut String, pairs: &[PairedReport]) {
    let Some(first) = pairs.first() else { return };
    _ = writeln!(body, "<h2>Against {}</h2>", escape(&first.base.name()));
    for report in pairs {
        let words = format!("{} {}: {}", mark(report.verdict), report.other.name(), verdict(report));
        _ = writeln!(body, "<h3>{}</h3>\n<ul>", escape(&words));
        let parts =
            [("pass rate", report.rate), ("score", report.score), ("cost", report.cost), ("tokens", report.tokens)];
        for (name, interval) in parts {
            if let Some(MeanInterval { mean, low, high }) = interval {
                _ = writeln!(body, "<li>{name} {mean:+.4} [{low:+.4}, {high:+.4}]</li>");
            }
        }
        body.push_str("</ul>\n");
        if report.changed.is_empty() {
            continue;
        }
        body.push_str("<table>\n<tr><th>case</th><th>first</th><th>other</th><th>sessions</th></tr>\n");
        for case in &report.changed {
            _ = writeln!(
                body,
                "<tr><td>{}</td><td>{}/{}</td><td>{}/{}</td><td><code>{}</code> <code>{}</code></td></tr>",
                escape(case.case.as_deref().unwrap_or("–")),
                case.then.0,
                case.then.1,
                case.now.0,
                case.now.1,
                escape(&case.sessions.0),
                escape(&case.sessions.1)
            );
        }
        body.push_str("</table>\n");
    }
}

/// Renders the rulings of judges, the lowest scores first.
fn judgements(body: &mut String, reports: &[CellReport]) {
    let of_cell = |report| {
        let CellReport { cell, sessions, .. }: &CellReport = report;
        sessions.iter().flat_map(move |trial| trial.rulings.iter().map(move |ruling| (cell, trial, ruling)))
    };
    let mut all: Vec<_> = reports.iter().flat_map(of_cell).collect();
    let Some(usage) = JudgesUsage::of(all.iter().map(|(_, _, ruling)| *ruling)) else { return };
    all.sort_by(|one, other| one.2.score.total_cmp(&other.2.score));
    _ = writeln!(
        body,
        "<h2>Judgements</h2>\n<p>{}</p>\n<table>\n<tr><th>trial</th><th>score</th>\
         <th>at least</th><th>rubric</th><th>reason</th><th>sessions</th></tr>",
        judges_line(&usage)
    );
    for (cell, trial, ruling) in all.iter().take(SHOWN_RULINGS) {
        let sessions: Vec<String> = ruling
            .votes
            .iter()
            .filter_map(|vote| Some(format!("<code>{}</code>", escape(vote.session.as_deref()?))))
            .collect();
        _ = writeln!(
            body,
            "<tr{}><td>{}</td><td>{:.2}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            if ruling.passed { "" } else { " class=\"warn\"" },
            escape(&format!("{}, trial {}", cell.name(), trial.trial)),
            ruling.score,
            ruling.at_least,
            escape(&ruling.rubric),
            escape(&ruling.reasons()),
            sessions.join(" ")
        );
    }
    body.push_str("</table>\n");
    if all.len() > SHOWN_RULINGS {
        _ = writeln!(body, "<p>… and {} more</p>", all.len() - SHOWN_RULINGS);
    }
}

fn of_failure(body: &mut String, failure: &Failure) {
    let name = format!("{}, trial {}", failure.cell, failure.trial);
    _ = writeln!(
        body,
        "<details><summary>{}</summary>\n<pre>{}</pre>\n<p>session <code>{}</code></p>",
        escape(&name),
        escape(&failure.why),
        escape(&failure.session)
    );
    for turn in failure.step.iter().flat_map(|step| &step.turns) {
        let reason = turn.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        _ = writeln!(body, "<h4>Turn {}{}</h4>", turn.number, escape(&reason));
        let parts = [
            ("", Some(turn.raw_response.as_str())),
            ("Program result", turn.result.as_deref()),
            ("Feedback", turn.feedback.as_deref()),
        ];
        for (title, text) in
            parts.into_iter().filter_map(|(title, text)| Some((title, text.filter(|text| !text.is_empty())?)))
        {
            let shown: String = text.chars().take(SHOWN_CHARS).collect();
            let more = if shown.len() < text.len() { "…" } else { "" };
            let title = if title.is_empty() { String::new() } else { format!("<p>{title}</p>\n") };
            _ = writeln!(body, "{title}<pre>{}{more}</pre>", escape(&shown));
        }
    }
    body.push_str("</details>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Turn;

    #[test]
    fn text_from_models_is_escaped_and_the_page_has_no_script() {
        let turn = Turn { number: 1, raw_response: "<script>alert(1)</script>".to_owned(), ..Turn::default() };
        let failure = Failure {
            cell: "<b>".to_owned(),
            trial: 1,
            session: "s".to_owned(),
            why: "expected <i>".to_owned(),
            step: Some(Step { turns: vec![turn], ..Step::default() }),
        };
        let results = Results { reports: &[], totals: &[], pairs: &[] };
        let page = matrix_page("a <title>", &results, &[failure]);
        assert!(!page.contains("<script") && !page.contains("<b>") && !page.contains("<i>"), "{page}");
        assert!(page.contains("&lt;script&gt;") && page.contains("default-src 'none'"), "{page}");
        assert!(!page.contains("http://") && !page.contains("https://"), "{page}");
    }

    #[test]
    fn names_cannot_leave_a_cell_of_a_markdown_table() {
        assert_eq!(plain("a|b\n*c*"), "a\\|b \\*c\\*");
    }
}
