//! A matrix on the screen: its state, the results of its cells, the selected cell and trial.

use crate::workbench::matrix::{CellReport, MatrixState, MatrixUpdate, TrialKey};

/// A matrix that runs or was opened.
#[derive(Debug, Clone)]
pub struct MatrixView {
    /// Its id.
    pub id: String,
    /// State of its cells.
    pub state: MatrixState,
    /// The results of its cells so far.
    pub reports: Vec<CellReport>,
    /// It is running.
    pub running: bool,
    /// It was asked to stop.
    pub stopping: bool,
    /// Error that ended it early.
    pub error: Option<String>,
    /// The selected cell.
    pub cell: usize,
    /// The selected trial of it, from 1.
    pub trial: u32,
    /// The first visible cell.
    pub top: usize,
}

/// State of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialMark {
    /// It passed.
    Passed,
    /// It did not.
    Failed,
    /// It is running.
    Running,
    /// It could not be tried.
    Untried,
    /// It was not started.
    Open,
}

impl MatrixView {
    /// A matrix in this state.
    pub fn new(id: String, state: MatrixState, running: bool) -> Self {
        let reports = state.reports();
        Self { id, state, reports, running, stopping: false, error: None, cell: 0, trial: 1, top: 0 }
    }

    /// Takes its updates.
    pub fn take(&mut self, updates: &[MatrixUpdate]) {
        for update in updates {
            match update {
                MatrixUpdate::Event(event) => self.state.apply(event),
                MatrixUpdate::Ended(error) => {
                    self.running = false;
                    self.stopping = false;
                    self.error.clone_from(error);
                }
            }
        }
        self.reports = self.state.reports();
    }

    /// State of each trial of a cell.
    pub fn marks(&self, cell: usize) -> Vec<TrialMark> {
        let has_trials = self.state.plan.cells.get(cell).is_some_and(|cell| cell.unfit.is_none());
        let trials = if has_trials { self.state.plan.trials } else { 0 };
        let mark = |trial| {
            let key = TrialKey { cell, trial };
            match self.state.trials_of(cell).find(|ended| ended.trial == trial) {
                Some(ended) if ended.passed => TrialMark::Passed,
                Some(_) => TrialMark::Failed,
                None if self.state.running().contains_key(&key) => TrialMark::Running,
                None if self.state.untried().contains_key(&key) => TrialMark::Untried,
                None => TrialMark::Open,
            }
        };
        (1..=trials).map(mark).collect()
    }

    /// The session of the selected trial.
    pub fn session(&self) -> Option<String> {
        let key = TrialKey { cell: self.cell, trial: self.trial };
        let ended = self.state.trials_of(self.cell).find(|ended| ended.trial == self.trial);
        let running = || self.state.running().get(&key).map(|running| running.session.clone());
        ended.map(|ended| ended.session.clone()).or_else(running).filter(|session| !session.is_empty())
    }

    /// Sessions worth a look side by side: one per mode of the selected cell's model and case, a failed one before the others.
    pub fn comparable_sessions(&self) -> Vec<String> {
        let Some(selected) = self.reports.get(self.cell) else { return Vec::new() };
        let same = |report: &&CellReport| {
            (&report.cell.agent, &report.cell.model, &report.cell.case)
                == (&selected.cell.agent, &selected.cell.model, &selected.cell.case)
        };
        let one = |report: &CellReport| {
            let failed = report.sessions.iter().find(|trial| !trial.passed);
            failed.or(report.sessions.first()).map(|trial| trial.session.clone())
        };
        self.reports.iter().filter(same).filter_map(one).take(super::MOST_SIDES).collect()
    }

    /// Selects another cell.
    pub fn go(&mut self, by: isize) {
        self.cell = self.cell.saturating_add_signed(by).min(self.reports.len().saturating_sub(1));
        self.trial = self.trial.clamp(1, self.state.plan.trials.max(1));
    }

    /// Selects another trial of the cell.
    pub fn go_trial(&mut self, by: i32) {
        self.trial = self.trial.saturating_add_signed(by).clamp(1, self.state.plan.trials.max(1));
    }
}
