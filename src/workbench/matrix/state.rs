//! The state of a matrix: a fold over its events, for screens and the progress line.
//!
//! In: [`MatrixEvent`]s in any order. Out: the trials that are finished, running and missing. Pure.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::{Deserialize, Serialize};

use super::answers::canonical;
use super::meter::Measures;
use super::plan::MatrixPlan;
use super::report::{CellReport, report};
use crate::agent::{JudgesUsage, Ruling, Step};
use crate::event::{FromCache, TextRecord};

/// Key of a trial: the index of the cell in the plan, and the number of the trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrialKey {
    /// Index of the cell in the plan.
    pub cell: usize,
    /// Number of the trial, from 1.
    pub trial: u32,
}

/// Answer or failure of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Answer, as canonical JSON text that equal answers share.
    Answer(TextRecord),
    /// Failure, by its stable reason.
    Fail(String),
}

impl Outcome {
    /// Returns the outcome of a run.
    pub fn of(step: &Step) -> Self {
        match &step.fail {
            Some(fail) => Self::Fail(fail.reason.clone()),
            None => Self::Answer(TextRecord::of(canonical(&step.answer.clone().unwrap_or_default()))),
        }
    }
}

/// A finished trial, as stored in the matrix's file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Index of its cell in the plan.
    pub cell: usize,
    /// Number of the trial, from 1.
    pub trial: u32,
    /// Id of its session.
    pub session: String,
    /// The trial passed.
    pub passed: bool,
    /// Score, unless it is 0 or 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The reason why it did not pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Answer or failure of the run.
    pub outcome: Outcome,
    /// Measures of the run.
    pub measures: Measures,
    /// Rulings of judges; the measures do not include their cost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rulings: Vec<Ruling>,
}

impl Trial {
    /// Returns the score from 0 to 1: the weighted share of expectations that hold, or the similarity.
    pub fn score(&self) -> f64 {
        self.score.unwrap_or(f64::from(u8::from(self.passed)))
    }

    /// Returns the cost of the run and its judges that was paid now, as far as it is known.
    pub fn spent(&self) -> f64 {
        self.measures.from_cache.spent(self.measures.cost) + self.rulings.iter().map(Ruling::spent).sum::<f64>()
    }

    /// Returns the replies and cost that the cache served to the run and its judges.
    pub fn from_cache(&self) -> FromCache {
        self.rulings.iter().fold(self.measures.from_cache, |sum, ruling| sum.plus(ruling.from_cache()))
    }

    /// Returns the key of the trial.
    pub fn key(&self) -> TrialKey {
        TrialKey { cell: self.cell, trial: self.trial }
    }
}

/// Event of a matrix.
#[derive(Debug, Clone, PartialEq)]
pub enum MatrixEvent {
    /// A trial started.
    Started {
        /// The trial.
        key: TrialKey,
        /// Id of its session.
        session: String,
    },
    /// A turn of a trial started.
    Turn {
        /// The trial.
        key: TrialKey,
        /// Number of the turn of the root run, from 1.
        turn: u32,
    },
    /// A trial ended and is recorded.
    Finished(Box<Trial>),
    /// A trial was stopped and counts as not run.
    Stopped(TrialKey),
    /// A trial could not be tried (the model did not answer, for example). It counts as not run: this is not a result of the agent.
    Untried {
        /// The trial.
        key: TrialKey,
        /// The reason in words.
        why: String,
    },
}

/// A running trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningTrial {
    /// Id of its session.
    pub session: String,
    /// Number of its turn, from 1; 0 before the first.
    pub turn: u32,
}

/// Plan of a matrix with its finished, running and untried trials.
#[derive(Debug, Clone, PartialEq)]
pub struct MatrixState {
    /// Its plan.
    pub plan: MatrixPlan,
    finished: BTreeMap<TrialKey, Trial>,
    running: BTreeMap<TrialKey, RunningTrial>,
    untried: BTreeMap<TrialKey, String>,
    /// Sums over the finished trials, so that progress is reported without iterating over all of them.
    sums: Sums,
}

/// Sums over a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Sums {
    /// Number of trials in the plan.
    trials: usize,
    /// Number of finished trials that did not pass.
    failed: usize,
    /// Cost of the finished trials and of their judges, as far as it is known.
    spent: f64,
}

impl MatrixState {
    /// Creates the state of a matrix from its finished trials. The first of several lines for one trial counts; trials that the plan does
    /// not contain are ignored.
    pub fn new(plan: MatrixPlan, finished: impl IntoIterator<Item = Trial>) -> Self {
        let sums = Sums { trials: plan.trials().count(), ..Sums::default() };
        let (known, running, untried) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut state = Self { plan, finished: known, running, untried, sums };
        for trial in finished {
            if state.plan.has(trial.key()) {
                state.add(trial);
            }
        }
        state
    }

    /// Adds a finished trial, unless it is known already.
    fn add(&mut self, trial: Trial) {
        if let Entry::Vacant(place) = self.finished.entry(trial.key()) {
            self.sums.failed += usize::from(!trial.passed);
            self.sums.spent += trial.spent();
            place.insert(trial);
        }
    }

    /// Applies an event.
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
                self.add((**trial).clone());
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

    /// Returns the number of trials in the plan.
    pub fn total(&self) -> usize {
        self.sums.trials
    }

    /// Returns the number of finished trials.
    pub fn done(&self) -> usize {
        self.finished.len()
    }

    /// Returns the cost of the finished trials and their judges that was paid now, as far as it is known.
    pub fn spent(&self) -> f64 {
        self.sums.spent
    }

    /// Returns the replies and cost that the cache served to the finished trials and their judges.
    pub fn from_cache(&self) -> FromCache {
        self.finished.values().map(Trial::from_cache).fold(FromCache::default(), FromCache::plus)
    }

    /// Returns the summed usage of the judges of the finished trials; `None` without rulings.
    pub fn judges(&self) -> Option<JudgesUsage> {
        JudgesUsage::of(self.finished.values().flat_map(|trial| &trial.rulings))
    }

    /// Returns the number of finished trials that did not pass.
    pub fn failed(&self) -> usize {
        self.sums.failed
    }

    /// Returns the running trials, in the order of the plan.
    pub fn running(&self) -> &BTreeMap<TrialKey, RunningTrial> {
        &self.running
    }

    /// Returns the trials that could not be tried, with the reasons.
    pub fn untried(&self) -> &BTreeMap<TrialKey, String> {
        &self.untried
    }

    /// Returns whether every trial of the plan is finished.
    pub fn is_complete(&self) -> bool {
        self.done() == self.total()
    }

    /// Returns the trials that have not started: the first trials of all cells, then the second ones, so that a matrix that is stopped
    /// early has results for as many cells as possible.
    pub fn missing(&self) -> Vec<TrialKey> {
        let open = |key: &TrialKey| {
            !(self.finished.contains_key(key) || self.running.contains_key(key) || self.untried.contains_key(key))
        };
        let mut missing: Vec<_> = self.plan.trials().filter(open).collect();
        missing.sort_by_key(|key| (key.trial, key.cell));
        missing
    }

    /// Returns the finished trials of a cell, in order.
    pub fn trials_of(&self, cell: usize) -> impl Iterator<Item = &Trial> {
        self.finished.range(TrialKey { cell, trial: 0 }..TrialKey { cell: cell + 1, trial: 0 }).map(|(_, trial)| trial)
    }

    /// Returns the reports of all cells so far, in the order of the plan.
    pub fn reports(&self) -> Vec<CellReport> {
        self.plan.cells.iter().enumerate().map(|(place, cell)| report(cell, self.trials_of(place))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workbench::matrix::Cell;

    fn plan() -> MatrixPlan {
        let cell = |mode: &str, unfit: Option<&str>| Cell {
            agent: "a".to_owned(),
            mode: mode.to_owned(),
            model: "demo".to_owned(),
            case: None,
            unfit: unfit.map(ToOwned::to_owned),
        };
        let cells = vec![cell("json", None), cell("text", Some("no")), cell("ptc_lisp", None)];
        MatrixPlan { agents: Vec::new(), trials: 2, seed: 0, cells }
    }

    fn key(cell: usize, trial: u32) -> TrialKey {
        TrialKey { cell, trial }
    }

    fn ended(cell: usize, trial: u32, passed: bool) -> Trial {
        let outcome = Outcome::Answer(TextRecord::Whole("1".to_owned()));
        Trial {
            cell,
            trial,
            session: format!("s{cell}{trial}"),
            passed,
            score: None,
            why: None,
            outcome,
            measures: Measures::default(),
            rulings: Vec::new(),
        }
    }

    #[test]
    fn first_trials_of_all_cells_come_first() {
        let mut state = MatrixState::new(plan(), [ended(2, 1, true)]);
        assert_eq!(state.missing(), [key(0, 1), key(0, 2), key(2, 2)]);
        assert_eq!((state.total(), state.done(), state.failed()), (4, 1, 0));
        state.apply(&MatrixEvent::Started { key: key(0, 1), session: "s".to_owned() });
        state.apply(&MatrixEvent::Turn { key: key(0, 1), turn: 3 });
        assert_eq!(state.running()[&key(0, 1)].turn, 3);
        assert_eq!(state.missing(), [key(0, 2), key(2, 2)]);
        state.apply(&MatrixEvent::Stopped(key(0, 1)));
        assert_eq!(state.missing(), [key(0, 1), key(0, 2), key(2, 2)]);
    }

    #[test]
    fn what_could_not_be_tried_is_neither_done_nor_missing() {
        let mut state = MatrixState::new(plan(), []);
        state.apply(&MatrixEvent::Untried { key: key(0, 1), why: "no key".to_owned() });
        for (cell, trial) in [(0, 2), (2, 1), (2, 2)] {
            state.apply(&MatrixEvent::Finished(Box::new(ended(cell, trial, cell == 0))));
        }
        assert_eq!((state.missing().len(), state.done(), state.failed(), state.is_complete()), (0, 3, 2, false));
        assert_eq!(state.untried()[&key(0, 1)], "no key");
    }

    #[test]
    fn of_two_ends_the_first_counts_and_strangers_are_ignored() {
        let lines = [ended(0, 1, true), ended(0, 1, false), ended(1, 1, true), ended(9, 1, true), ended(0, 3, true)];
        let mut state = MatrixState::new(plan(), lines);
        state.apply(&MatrixEvent::Finished(Box::new(ended(0, 1, false))));
        assert_eq!((state.done(), state.failed()), (1, 0));
        let reports = state.reports();
        assert_eq!(reports.iter().map(|report| report.trials).collect::<Vec<_>>(), [1, 0, 0]);
    }
}
