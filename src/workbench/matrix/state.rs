//! How far a matrix is: a fold over what happens in it, which screens and the progress line read.
//!
//! In: [`MatrixEvent`]s in any order. Out: what is done, what runs, what is missing. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::meter::Measures;
use super::plan::MatrixPlan;
use super::report::{CellReport, report};
use crate::event::Kept;

/// Which trial: the cell's place in the plan, and the trial's number from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrialKey {
    /// Place of the cell in the plan.
    pub cell: usize,
    /// From 1.
    pub trial: u32,
}

/// How a trial came out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// An answer, as text that equal answers share.
    Answer(Kept),
    /// A failure: its stable reason.
    Fail(String),
}

/// A finished trial, as it stands in the matrix's file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Place of its cell in the plan.
    pub cell: usize,
    /// Its number, from 1.
    pub trial: u32,
    /// Its session's id.
    pub session: String,
    /// Did it pass?
    pub passed: bool,
    /// Why not, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// How it came out.
    pub outcome: Outcome,
    /// What it cost.
    pub measures: Measures,
}

impl Trial {
    /// Which one it is.
    pub fn key(&self) -> TrialKey {
        TrialKey { cell: self.cell, trial: self.trial }
    }
}

/// What happens in a matrix.
#[derive(Debug, Clone, PartialEq)]
pub enum MatrixEvent {
    /// A trial began.
    Started {
        /// Which.
        key: TrialKey,
        /// Its session's id.
        session: String,
    },
    /// A turn of it began.
    Turn {
        /// Which trial.
        key: TrialKey,
        /// From 1; the root run's.
        turn: u32,
    },
    /// It ended and is written down.
    Finished(Box<Trial>),
    /// It was stopped and counts as not run.
    Stopped(TrialKey),
    /// It could not be tried (no answer from the model, say): that says nothing about the agent. It counts as not run.
    Untried {
        /// Which.
        key: TrialKey,
        /// Why, in words.
        why: String,
    },
}

/// A trial that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningTrial {
    /// Its session's id.
    pub session: String,
    /// Its turn, from 1; 0 before the first.
    pub turn: u32,
}

/// How far a matrix is.
#[derive(Debug, Clone, PartialEq)]
pub struct MatrixState {
    /// Its plan.
    pub plan: MatrixPlan,
    finished: BTreeMap<TrialKey, Trial>,
    running: BTreeMap<TrialKey, RunningTrial>,
    untried: BTreeMap<TrialKey, String>,
}

impl MatrixState {
    /// A matrix of which these trials are finished. Of two lines about one trial the first counts; trials that the plan does not know
    /// are left out.
    pub fn new(plan: MatrixPlan, finished: impl IntoIterator<Item = Trial>) -> Self {
        let mut state = Self { plan, finished: BTreeMap::new(), running: BTreeMap::new(), untried: BTreeMap::new() };
        for trial in finished {
            if state.plan.has(trial.key()) {
                state.finished.entry(trial.key()).or_insert(trial);
            }
        }
        state
    }

    /// Takes what happened.
    pub fn apply(&mut self, event: &MatrixEvent) {
        match event {
            MatrixEvent::Started { key, session } => {
                self.running.insert(*key, RunningTrial { session: session.clone(), turn: 0 });
            }
            MatrixEvent::Turn { key, turn } => {
                if let Some(running) = self.running.get_mut(key) {
                    running.turn = *turn;
                }
            }
            MatrixEvent::Finished(trial) => {
                self.running.remove(&trial.key());
                self.finished.entry(trial.key()).or_insert_with(|| (**trial).clone());
            }
            MatrixEvent::Stopped(key) => {
                self.running.remove(key);
            }
            MatrixEvent::Untried { key, why } => {
                self.running.remove(key);
                self.untried.insert(*key, why.clone());
            }
        }
    }

    /// Trials in all.
    pub fn total(&self) -> usize {
        self.plan.trials().count()
    }

    /// Trials that are finished.
    pub fn done(&self) -> usize {
        self.finished.len()
    }

    /// Finished trials that did not pass.
    pub fn failed(&self) -> usize {
        self.finished.values().filter(|trial| !trial.passed).count()
    }

    /// The trials that run, in the order of the plan.
    pub fn running(&self) -> &BTreeMap<TrialKey, RunningTrial> {
        &self.running
    }

    /// The trials that could not be tried, and why.
    pub fn untried(&self) -> &BTreeMap<TrialKey, String> {
        &self.untried
    }

    /// Has every trial of the plan ended with a verdict?
    pub fn is_complete(&self) -> bool {
        self.done() == self.total()
    }

    /// The trials that were not begun: first trials of all cells, then second ones, so that a matrix that is stopped
    /// early has looked at everything.
    pub fn missing(&self) -> Vec<TrialKey> {
        let open = |key: &TrialKey| {
            !(self.finished.contains_key(key) || self.running.contains_key(key) || self.untried.contains_key(key))
        };
        let mut missing: Vec<_> = self.plan.trials().filter(open).collect();
        missing.sort_by_key(|key| (key.trial, key.cell));
        missing
    }

    /// The finished trials of a cell, in order.
    pub fn trials_of(&self, cell: usize) -> impl Iterator<Item = &Trial> {
        self.finished.range(TrialKey { cell, trial: 0 }..TrialKey { cell: cell + 1, trial: 0 }).map(|(_, trial)| trial)
    }

    /// What every cell says so far, in the order of the plan.
    pub fn reports(&self) -> Vec<CellReport> {
        self.plan.cells.iter().enumerate().map(|(place, cell)| report(cell, self.trials_of(place))).collect()
    }
}
