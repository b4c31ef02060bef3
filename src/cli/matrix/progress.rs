//! Progress of a matrix on stderr: one line that is rewritten on a terminal, else a line per trial.

use std::io::{IsTerminal as _, Write as _};

use ptc_core::text::width;

use crate::cli::output::{print_note, safe_line};
use crate::config::terminal_size;
use crate::workbench::format::{Marks, SIGNS, duration};
use crate::workbench::matrix::{Cell, MatrixEvent, MatrixState, TrialKey};

/// Columns left free for the `^C` that the terminal shows.
const INTERRUPT: usize = 4;

/// Reports the progress of a matrix.
pub(super) struct Progress {
    /// Columns of the line that is rewritten; `None` when lines are added.
    line: Option<usize>,
    marks: &'static Marks,
}

impl Progress {
    /// For this process's stderr. Reports the results of an earlier start first.
    pub(super) fn new(state: &MatrixState, plain: bool) -> Self {
        if state.done() > 0 && !state.is_complete() {
            print_note(&format!("{} of {} trials are already done", state.done(), state.total()));
        }
        let terminal = std::io::stderr().is_terminal() && !plain;
        let columns = || terminal_size(std::io::stderr()).map_or(80, |(columns, _)| usize::from(columns).max(20));
        Self { line: terminal.then(columns), marks: Marks::of(plain) }
    }

    /// Reports changes.
    pub(super) fn print_event(&mut self, event: &MatrixEvent, state: &MatrixState) {
        match self.line {
            Some(columns) => rewrite(&width::truncate(&now(state), columns.saturating_sub(INTERRUPT))),
            None => {
                if let Some(line) = self.added(event, state) {
                    print_note(&line);
                }
            }
        }
    }

    /// Nothing follows.
    pub(super) fn close(&mut self) {
        if self.line.take().is_some() {
            rewrite("");
        }
    }

    fn added(&self, event: &MatrixEvent, state: &MatrixState) -> Option<String> {
        let (key, mark, text) = match event {
            MatrixEvent::Finished(trial) => {
                let mark = if trial.passed { self.marks.good } else { self.marks.failed };
                (trial.key(), mark, duration(trial.measures.time_ms))
            }
            MatrixEvent::Untried { key, .. } => (*key, self.marks.untried, "not tried".to_owned()),
            MatrixEvent::Started { .. } | MatrixEvent::Turn { .. } | MatrixEvent::Stopped(_) => return None,
        };
        let done = state.done() + state.untried().len();
        Some(safe_line(&format!("{done}/{}  {mark} {}  {text}", state.total(), named(state, key))))
    }
}

/// The line that is rewritten: how many are done, and what runs.
fn now(state: &MatrixState) -> String {
    let failed = match state.failed() {
        0 => String::new(),
        failed => format!("  {} {failed}", SIGNS.failed),
    };
    let running = state.running().iter().map(|(key, running)| match running.turn {
        0 => named(state, *key),
        turn => format!("{} (turn {turn})", named(state, *key)),
    });
    let running = running.collect::<Vec<_>>().join(", ");
    safe_line(&format!("{}/{}{failed}  {running}", state.done() + state.untried().len(), state.total()))
}

fn named(state: &MatrixState, key: TrialKey) -> String {
    let cell = state.plan.cells.get(key.cell).map(Cell::name).unwrap_or_default();
    if state.plan.trials == 1 { cell } else { format!("{cell} #{}", key.trial) }
}

fn rewrite(line: &str) {
    let mut stderr = std::io::stderr().lock();
    _ = write!(stderr, "\r\u{1b}[2K{line}");
    _ = stderr.flush();
}
