//! `compare AGENT.toml …`: every case in every mode with every model, several times; and continuing such a matrix.

mod json;
mod paired;
mod progress;
mod sections;
mod table;

use std::path::Path;

use super::arguments::{CompareFlags, MatrixFlags, MergeFlags};
use super::output::{UsageError, columns, exit, print_json, print_line, print_note, safe, safe_line, unwritable};
use super::results::{self, GrowingRows};
use super::run::{stop_on_signal, stopped_code};
use super::source::{agent_source, mode};
use crate::agent::Agent;
use crate::port::{EndSignals, Stop};
use crate::tool::{FileAccess, FileRevision};
use crate::workbench::Workbench;
use crate::workbench::files::check_place;
use crate::workbench::format::{Marks, cache_line, cost, judges_line, plural};
use crate::workbench::matrix::{
    Baseline, Cell, CellReport, Change, ChangeKind, CostEstimate, MatrixEvent, MatrixFile, MatrixRows, MatrixSpec,
    MatrixState, Pace, PairedReport, Trial, called, compare_with, matrix_rows, paired, split_models, totals,
};
use crate::workbench::suite::SuiteAgent;
use progress::Progress;

/// Concurrent trials by default.
const JOBS: usize = 4;
/// The id of a matrix that was merged.
const MERGED: &str = "merged";

/// Plans a matrix and runs it.
pub(super) async fn matrix(flags: &CompareFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    let of_matrix = &flags.matrix;
    let here = std::env::current_dir().unwrap_or_default();
    let filter = of_matrix.selection.to_filter(of_matrix.seed.unwrap_or(0));
    let named = |name: &String| {
        let access = workbench.file_access();
        let revision = FileRevision::parse(name);
        let path = revision.as_ref().map_or(Path::new(name), |revision| &revision.path);
        let folder = path.parent().unwrap_or(Path::new(""));
        let agent = match &revision {
            Some(revision) => agent_at(revision, access)?,
            None => agent_source(name, access)?,
        };
        let agent = agent.with_case_files_read(folder, access);
        let agent = agent.map_err(|found| UsageError(format!("{name}: {}", found.message)))?;
        // An invalid case or mode is reported with the plan.
        let cases = SuiteAgent::new(name, &agent, None, (folder.to_owned(), access), &filter);
        for warning in cases.into_iter().flat_map(|cases| cases.selection.warnings) {
            print_note(&safe_line(&format!("warning: {name}: {warning}")));
        }
        Ok::<_, UsageError>((called(name, &here), agent))
    };
    let spec = MatrixSpec {
        agents: flags.names.iter().map(named).collect::<Result<_, _>>()?,
        modes: of_matrix.modes.iter().map(|name| mode(name.trim())).collect::<Result<_, _>>()?,
        models: split_models(&of_matrix.models),
        trials: of_matrix.trials.unwrap_or(1),
        seed: of_matrix.seed.unwrap_or(0),
        filter: Box::new(filter.clone()),
        ..MatrixSpec::default()
    };
    let plan = workbench.plan_matrix(&spec)?;
    if plan.cells.is_empty() {
        results::check(&of_matrix.results)?;
        results::write_rows(&of_matrix.results, std::iter::empty())?;
        results::write_pages(&of_matrix.results, "Empty shard", &MatrixState::new(plan, []), None)?;
        print_note("this shard has no case");
        return Ok(exit::OK);
    }
    let estimate = workbench.estimate_cost(&plan);
    if of_matrix.estimate {
        let trials = plural(plan.trials().count() as u64, "trial");
        print_line(
            &estimate.as_ref().map_or_else(|| format!("{trials}: no earlier matrix has a known cost"), estimated),
        );
        return Ok(exit::OK);
    }
    if let Some(estimate) = &estimate {
        print_note(&estimated(estimate));
    }
    let baseline = baseline(of_matrix, &plan.cells)?;
    check(of_matrix)?;
    results::check(&of_matrix.results)?;
    let signals = EndSignals::catch();
    let (file, state) = workbench.begin_matrix(plan)?;
    finish(file, state, baseline.as_ref(), flags, plain, signals, workbench).await
}

/// The agent of a file at a git revision. The files that it names are those of today.
fn agent_at(revision: &FileRevision, access: &FileAccess) -> Result<Agent, UsageError> {
    let text = revision.read().map_err(UsageError)?;
    let path = revision.path.display().to_string();
    Agent::from_toml_with(&text, &path, access).map_err(|error| UsageError(format!("{}: {error}", revision.name())))
}

/// The expected cost in words.
fn estimated(estimate: &CostEstimate) -> String {
    let CostEstimate { trials, cost: expected, low, high, earlier, unknown } = estimate;
    let [expected, low, high] = [expected, low, high].map(|amount| cost(Some(*amount)));
    let more =
        if *unknown > 0 { format!(", and {} of unknown cost", plural(*unknown, "trial")) } else { String::new() };
    let (trials, earlier) = (plural(trials - unknown, "trial"), plural(*earlier, "earlier trial"));
    format!("expected cost: {expected} ({low} to {high}) for {trials}, from {earlier}{more}")
}

/// Continues a matrix.
pub(super) async fn resume(
    name: &str,
    flags: &CompareFlags,
    plain: bool,
    workbench: &Workbench,
) -> Result<u8, UsageError> {
    let of_matrix = &flags.matrix;
    let planned = !(of_matrix.modes.is_empty() && of_matrix.models.is_empty());
    if planned || of_matrix.trials.is_some() || of_matrix.seed.is_some() {
        return Err(UsageError(
            "the plan of a matrix is fixed: start a new matrix for other modes, models, trials or seeds".to_owned(),
        ));
    }
    check(of_matrix)?;
    results::check(&of_matrix.results)?;
    let signals = EndSignals::catch();
    let (file, state) = workbench.open_matrix(name)?;
    let baseline = baseline(of_matrix, &state.plan.cells)?;
    if !file.unreadable.is_empty() {
        let lines = file.unreadable.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        print_note(&safe(&format!(
            "warning: {}: these lines cannot be read, their trials run again: {lines}",
            file.path.display()
        )));
    }
    finish(file, state, baseline.as_ref(), flags, plain, signals, workbench).await
}

/// The baseline that is asked for. Errors: it cannot be read, or has nothing in common with these cells.
fn baseline(flags: &MatrixFlags, cells: &[Cell]) -> Result<Option<Baseline>, UsageError> {
    let Some(path) = &flags.baseline else { return Ok(None) };
    let baseline = Baseline::read(path)?;
    baseline.check_shares(cells).map_err(|error| UsageError(format!("{}: {error}", path.display())))?;
    Ok(Some(baseline))
}

/// Checks the flags whose errors would otherwise appear only after all trials.
fn check(flags: &MatrixFlags) -> Result<(), UsageError> {
    if flags.jobs == Some(0) {
        return Err(UsageError("--jobs must be at least 1".to_owned()));
    }
    if let Some(file) = &flags.save_baseline {
        check_place(file, Baseline::BEGINS).map_err(|error| unwritable(file, &error))?;
    }
    Ok(())
}

/// Runs the missing trials and prints the results.
async fn finish(
    mut file: MatrixFile,
    mut state: MatrixState,
    baseline: Option<&Baseline>,
    flags: &CompareFlags,
    plain: bool,
    signals: EndSignals,
    workbench: &Workbench,
) -> Result<u8, UsageError> {
    let workbench = &flags.matrix.cache.apply(workbench)?;
    let stop = Stop::default();
    let signals = tokio::spawn(stop_on_signal(signals, stop.clone()));
    let mut progress = Progress::new(&state, plain);
    let pace = Pace { jobs: flags.matrix.jobs.unwrap_or(JOBS), max_cost: flags.matrix.max_cost, ..Pace::default() };
    let (of_plan, mut growing) = (MatrixRows::of(&state.plan), GrowingRows::of(&flags.matrix.results));
    matrix_rows(&state).for_each(|row| growing.add(&row));
    let watch = &mut |event: &MatrixEvent, state: &MatrixState| {
        let row = match event {
            MatrixEvent::Finished(trial) => of_plan.finished(&state.plan, trial),
            MatrixEvent::Untried { key, why } => of_plan.untried(&state.plan, *key, why),
            _ => None,
        };
        if let Some(row) = row {
            growing.add(&row);
        }
        progress.print_event(event, state);
    };
    let ran = workbench.run_matrix(&mut file, &mut state, pace, &stop, watch).await;
    signals.abort();
    progress.close();
    let resume = file.resume_command();
    if let Some(text) = file.report_move() {
        print_note(&format!("warning: {}", safe(&text)));
    }
    let stopped = !state.is_complete() && stop.reason().is_some();
    let spent = !stopped && ran.is_ok() && !state.missing().is_empty();
    let unfinished = stopped || spent || ran.is_err();
    let title = format!("Matrix {}", file.id);
    results::write_rows(&flags.matrix.results, matrix_rows(&state))?;
    results::write_pages(&flags.matrix.results, &title, &state, Some(workbench))?;
    let reports = state.reports();
    let all = totals(&reports, |cell| state.trials_of(cell).collect::<Vec<&Trial>>());
    let pairs = paired(&reports);
    // An unfinished matrix is not compared with the baseline.
    let changes = baseline.filter(|_| !unfinished).map(|baseline| compare_with(baseline, &reports));
    if flags.json {
        let parts =
            json::Parts { reports: &reports, totals: &all, pairs: &pairs, baseline: baseline.zip(changes.as_deref()) };
        print_json(&json::matrix(&file.id, &state, &parts));
    }
    if stopped {
        print_note(&format!(
            "stopped: {} of {} are kept; resume with: {resume}",
            state.done(),
            plural(state.total() as u64, "trial")
        ));
        return Ok(stopped_code(&stop));
    }
    if !flags.json {
        print_line(&report_lines(&reports, &all, (&pairs, changes.as_deref()), plain).join("\n"));
        print_judges(&state);
    }
    if let Err(error) = ran {
        print_note(&format!(
            "{} of {} are saved; free some disk space, then resume with: {resume}",
            state.done(),
            plural(state.total() as u64, "trial")
        ));
        return Err(error.into());
    }
    if spent {
        print_note(&format!(
            "stopped at --max-cost: {} of {} are kept; resume with: {resume}",
            state.done(),
            plural(state.total() as u64, "trial")
        ));
        return Ok(exit::FAILED);
    }
    if let Some(path) = &flags.matrix.save_baseline {
        Baseline::of(&file.id, &reports).write(path)?;
        print_note(&safe(&format!("baseline written to {}", path.display())));
    }
    for (key, why) in state.untried() {
        let cell = state.plan.cells.get(key.cell).map(Cell::name).unwrap_or_default();
        print_note(&safe(&format!("not tried: {cell}, trial {}: {why}", key.trial)));
    }
    if !state.untried().is_empty() {
        print_note(&format!(
            "{} could not be tried; try again with: {resume}",
            plural(state.untried().len() as u64, "trial")
        ));
    }
    print_note(&format!("saved as {}", file.id));
    if let Some(line) = to_open(&reports) {
        print_note(&line);
    }
    let worse = changes.iter().flatten().any(|change| change.kind == ChangeKind::Worse);
    Ok(if worse || !state.untried().is_empty() { exit::FAILED } else { exit::OK })
}

/// Prints the matrix that files of results give, and writes what the flags name.
pub(super) fn print_merged(state: &MatrixState, flags: &MergeFlags, plain: bool) -> Result<(), UsageError> {
    results::check(&flags.results)?;
    let reports = state.reports();
    let all = totals(&reports, |cell| state.trials_of(cell).collect::<Vec<&Trial>>());
    let pairs = paired(&reports);
    if flags.json {
        let parts = json::Parts { reports: &reports, totals: &all, pairs: &pairs, baseline: None };
        print_json(&json::matrix(MERGED, state, &parts));
    } else {
        print_line(&report_lines(&reports, &all, (&pairs, None), plain).join("\n"));
        print_judges(state);
    }
    for (key, why) in state.untried() {
        let cell = state.plan.cells.get(key.cell).map(Cell::name).unwrap_or_default();
        print_note(&safe(&format!("not tried: {cell}, trial {}: {why}", key.trial)));
    }
    results::write_rows(&flags.results, matrix_rows(state))?;
    results::write_pages(&flags.results, "Merged results", state, None)
}

/// Prints the number of replies from the cache, and the usage of the judges.
fn print_judges(state: &MatrixState) {
    if let Some(line) = cache_line(state.from_cache()) {
        print_line(&format!("\n{line}"));
    }
    if let Some(judges) = state.judges() {
        print_line(&format!("\n{}", judges_line(&judges)));
    }
}

/// Everything about a matrix, for a terminal.
fn report_lines(
    reports: &[CellReport],
    all: &[CellReport],
    (pairs, changes): (&[PairedReport], Option<&[Change]>),
    plain: bool,
) -> Vec<String> {
    let columns = columns();
    let mut lines = table::table(reports, columns, plain);
    if !all.is_empty() {
        lines.extend([String::new(), "all cases".to_owned()]);
        lines.extend(table::table(all, columns, plain));
    }
    lines.extend(sections::unfit(reports));
    lines.extend(sections::answers(reports, columns, Marks::of(plain)));
    lines.extend(sections::errors(reports, columns, Marks::of(plain)));
    lines.extend(paired::lines(pairs, Marks::of(plain)));
    lines.extend(changes.map(|changes| sections::changes(changes, plain)).unwrap_or_default());
    lines
}

/// Sessions that are worth a look: of each of the first cells one, a failed one before the others.
fn to_open(reports: &[CellReport]) -> Option<String> {
    const CELLS: usize = 2;
    let mut tried: Vec<&CellReport> = reports.iter().filter(|report| report.trials > 0).collect();
    tried.sort_by_key(|report| report.passed == report.trials);
    let sessions: Vec<&str> = tried
        .iter()
        .take(CELLS)
        .filter_map(|report| {
            let failed = report.sessions.iter().find(|trial| !trial.passed);
            Some(failed.or(report.sessions.first())?.session.as_str())
        })
        .collect();
    match sessions.as_slice() {
        [] => None,
        [one] => Some(safe_line(&format!("look at one: ptc-workbench {one}"))),
        several => Some(safe_line(&format!("look at two: ptc-workbench compare {}", several.join(" ")))),
    }
}
