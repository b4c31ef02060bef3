//! Files of results: rows, an HTML page and a Markdown summary, as `test`, `compare` and `merge` write them.
//!
//! In: the flags, a matrix. Out: files. Places are checked before anything runs. `merge` starts nothing and reads no session.

use std::fs::File;
use std::io::{self, BufReader, Write as _};
use std::path::Path;

use super::arguments::{MergeFlags, ResultFlags};
use super::matrix::print_merged;
use super::output::{UsageError, exit, print_note, safe, unwritable};
use crate::agent::Step;
use crate::workbench::Workbench;
use crate::workbench::files::{check_place, emptied, is_stream, write_lines, write_whole};
use crate::workbench::matrix::{
    Failure, MatrixState, RESULTS_BEGIN, ResultRow, Results, SHOWN_FAILURES, matrix_markdown, matrix_page, merge_rows,
    paired, read_result_lines, totals,
};

/// First bytes of a report: a file that begins otherwise is not replaced.
const PAGE: &str = "<!doctype html>";
/// First bytes of a summary.
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

/// The file of rows during a run: each row is in it as soon as its trial has ended, so that a run that is killed leaves them. At
/// the end [`write`] replaces it with the rows in the order of the plan.
pub(super) struct GrowingRows<'f> {
    file: Option<&'f Path>,
    opened: Option<File>,
}

impl<'f> GrowingRows<'f> {
    /// The rows of the file that the flags name. An earlier file stays until the first row. A device or pipe gets the rows only once, at
    /// the end.
    pub(super) fn of(flags: &'f ResultFlags) -> Self {
        Self { file: flags.results.as_deref().filter(|file| !is_stream(file)), opened: None }
    }

    /// Adds a row. The first error is a warning and ends the growing: the file is written once more at the end.
    pub(super) fn add(&mut self, row: &ResultRow) {
        let Some(file) = self.file else { return };
        // One write for a line: a process that is killed leaves none torn.
        if let Err(error) = self.open(file).and_then(|opened| opened.write_all(row.to_line().as_bytes())) {
            self.file = None;
            let warning = unwritable(file, &error).0;
            print_note(&safe(&format!("warning: {warning}; the rows are written when all trials have ended")));
        }
    }

    fn open(&mut self, file: &Path) -> io::Result<&mut File> {
        match &mut self.opened {
            Some(opened) => Ok(opened),
            opened => Ok(opened.insert(emptied(file)?)),
        }
    }
}

/// Writes the file of rows that the flags name, if they name one.
pub(super) fn write_rows(flags: &ResultFlags, rows: impl Iterator<Item = ResultRow>) -> Result<(), UsageError> {
    match &flags.results {
        Some(file) => written(file, write_lines(file, rows.map(|row| row.to_line()))),
        None => Ok(()),
    }
}

/// Prints that a file is written. Errors: it is not.
fn written(file: &Path, result: io::Result<()>) -> Result<(), UsageError> {
    result.map_err(|error| unwritable(file, &error))?;
    print_note(&safe(&format!("written: {}", file.display())));
    Ok(())
}

/// Writes the page and the summary that the flags name. `workbench` has the sessions of failed trials; without it the page shows no turns.
pub(super) fn write_pages(
    flags: &ResultFlags,
    title: &str,
    state: &MatrixState,
    workbench: Option<&Workbench>,
) -> Result<(), UsageError> {
    if !flags.wants_pages() {
        return Ok(());
    }
    let save = |file: &Path, text: &str| written(file, write_whole(file, text.as_bytes()));
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

/// Prints the matrix of the files.
pub(super) fn merge(flags: &MergeFlags, plain: bool) -> Result<u8, UsageError> {
    let read = |path: &std::path::PathBuf| {
        let file = path.display().to_string();
        let opened = File::open(path).map_err(|error| UsageError(format!("{file}: cannot be read: {error}")))?;
        Ok::<(String, Vec<ResultRow>), UsageError>((file.clone(), read_result_lines(&file, BufReader::new(opened))?))
    };
    let files = flags.files.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let state = merge_rows(files)?;
    if state.plan.cells.is_empty() {
        return Err(UsageError(
            "the files contain no results; write them with `test` or `compare` and --results FILE".to_owned(),
        ));
    }
    print_merged(&state, flags, plain)?;
    Ok(if state.untried().is_empty() { exit::OK } else { exit::FAILED })
}
