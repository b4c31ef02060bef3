//! Files of results: rows, an HTML page and a Markdown summary, as `test`, `compare` and `merge` write them.
//!
//! In: the flags, a matrix. Out: files. Places are checked before anything runs.

use super::arguments::ResultFlags;
use super::output::{UsageError, print_note, safe, unwritable};
use crate::agent::Step;
use crate::workbench::Workbench;
use crate::workbench::files::{check_place, write_whole};
use crate::workbench::matrix::{
    Failure, MatrixState, RESULTS_BEGIN, ResultRow, Results, SHOWN_FAILURES, matrix_markdown, matrix_page, paired,
    result_lines, totals,
};

/// How a page begins.
const PAGE: &str = "<!doctype html>";
/// How a summary begins.
const SUMMARY: &str = "## ";

/// Errors: a file that could not be written at the end.
pub(super) fn check(flags: &ResultFlags) -> Result<(), UsageError> {
    for (file, begins) in [(&flags.results, RESULTS_BEGIN), (&flags.report, PAGE), (&flags.summary, SUMMARY)] {
        if let Some(file) = file {
            check_place(file, begins).map_err(|error| unwritable(file, &error))?;
        }
    }
    Ok(())
}

/// Writes the files that the flags name. `workbench` has the sessions of failed trials; without it the page shows no turns.
pub(super) fn write(
    flags: &ResultFlags,
    title: &str,
    (rows, state): (&[ResultRow], &MatrixState),
    workbench: Option<&Workbench>,
) -> Result<(), UsageError> {
    let save = |file: &std::path::PathBuf, text: &str| {
        write_whole(file, text.as_bytes()).map_err(|error| unwritable(file, &error))?;
        print_note(&safe(&format!("written: {}", file.display())));
        Ok::<_, UsageError>(())
    };
    if let Some(file) = &flags.results {
        save(file, &result_lines(rows))?;
    }
    if flags.report.is_none() && flags.summary.is_none() {
        return Ok(());
    }
    let reports = state.reports();
    let all = totals(&reports, |cell| state.trials_of(cell).collect());
    let pairs = paired(&reports);
    let results = Results { reports: &reports, totals: &all, pairs: &pairs };
    if let Some(file) = &flags.report {
        save(file, &matrix_page(title, &results, &failures(state, workbench)))?;
    }
    if let Some(file) = &flags.summary {
        save(file, &matrix_markdown(title, &results))?;
    }
    Ok(())
}

/// The trials that did not pass, in the order of the plan; the first ones with their turns.
fn failures(state: &MatrixState, workbench: Option<&Workbench>) -> Vec<Failure> {
    let mut found: Vec<Failure> = Vec::new();
    for (place, cell) in state.plan.cells.iter().enumerate() {
        for trial in state.trials_of(place).filter(|trial| !trial.passed) {
            let step: Option<Step> = workbench
                .filter(|_| found.len() < SHOWN_FAILURES)
                .and_then(|workbench| workbench.step_of(&trial.session));
            found.push(Failure {
                cell: cell.name(),
                trial: trial.trial,
                session: trial.session.clone(),
                why: trial.why.clone().unwrap_or_default(),
                step,
            });
        }
    }
    found
}
