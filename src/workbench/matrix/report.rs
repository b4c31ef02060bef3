//! The trials of a cell together.
//!
//! In: a cell and its finished trials. Out: rates, means, medians and groups. What one trial does not know is unknown for all.

use std::collections::BTreeMap;

use super::answers::{AnswerGroup, groups};
use super::chance::{pass_hat, wilson};
use super::plan::Cell;
use super::state::Trial;
use crate::agent::Ruling;
use crate::event::FromCache;

/// The smallest number of trials with a 95th percentile.
const PERCENTILE_TRIALS: usize = 5;

/// A mean per trial.
pub type Mean = f64;

/// A trial and the session to open for it.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialRef {
    /// Its number, from 1.
    pub trial: u32,
    /// Its session's id.
    pub session: String,
    /// Did it pass?
    pub passed: bool,
    /// Why not.
    pub why: Option<String>,
    /// What judges found.
    pub rulings: Vec<Ruling>,
}

/// The trials of a cell together.
#[derive(Debug, Clone, PartialEq)]
pub struct CellReport {
    /// The cell.
    pub cell: Cell,
    /// Finished trials.
    pub trials: u32,
    /// Those that passed.
    pub passed: u32,
    /// The mean share of what is expected that held, from 0 to 1.
    pub score: Option<Mean>,
    /// Wilson interval (95 %) of the pass rate.
    pub interval: (f64, f64),
    /// pass^k for k = 1 up to the number of trials; of several cases the mean, up to the fewest trials.
    pub pass_hat: Vec<f64>,
    /// Equal outcomes, the most frequent first.
    pub answers: Vec<AnswerGroup>,
    /// Turns.
    pub turns: Option<Mean>,
    /// Input tokens, cached ones included.
    pub input: Option<Mean>,
    /// Output tokens.
    pub output: Option<Mean>,
    /// Input tokens read from the provider's cache.
    pub cached: Option<Mean>,
    /// Cost in the price table's unit.
    pub cost: Option<Mean>,
    /// Time to the first token in ms: the median.
    pub first_ms: Option<u64>,
    /// Time without waiting in ms: the median.
    pub time_ms: Option<u64>,
    /// The same, 95th percentile (nearest rank); from five trials on.
    pub time_p95_ms: Option<u64>,
    /// Waiting for the provider's gate in ms, of all trials together.
    pub waited_ms: u64,
    /// Attempts that were tried again, of all trials together.
    pub retries: u32,
    /// What did not fit, with counts over all trials.
    pub errors: BTreeMap<String, u32>,
    /// Bytes of the data that a run had: the mean.
    pub data_bytes: Option<Mean>,
    /// Bytes of it that no request carried: the mean.
    pub kept_out_bytes: Option<Mean>,
    /// What the trials and their judges took from the cache, together.
    pub from_cache: FromCache,
    /// The trials, in order.
    pub sessions: Vec<TrialRef>,
}

impl CellReport {
    /// The pass rate; `None` before the first trial.
    pub fn rate(&self) -> Option<f64> {
        (self.trials > 0).then(|| f64::from(self.passed) / f64::from(self.trials))
    }
}

/// The report of a cell.
pub fn report<'a>(cell: &Cell, trials: impl Iterator<Item = &'a Trial>) -> CellReport {
    let trials: Vec<&Trial> = trials.collect();
    let n = count(trials.len());
    let passed = count(trials.iter().filter(|trial| trial.passed).count());
    let mut errors = BTreeMap::new();
    for (kind, times) in trials.iter().flat_map(|trial| &trial.measures.errors) {
        *errors.entry(kind.clone()).or_default() += times;
    }
    let tokens = |of: fn(&crate::event::Tokens) -> u64| mean(trials.iter().map(|t| t.measures.tokens.as_ref().map(of)));
    let times: Vec<u64> = trials.iter().map(|trial| trial.measures.time_ms).collect();
    CellReport {
        cell: cell.clone(),
        trials: n,
        passed,
        score: mean_of(trials.iter().map(|trial| Some(trial.score()))),
        interval: wilson(passed, n),
        pass_hat: (1..=n).filter_map(|k| pass_hat(passed, n, k)).collect(),
        answers: groups(trials.iter().copied()),
        turns: mean(trials.iter().map(|trial| Some(u64::from(trial.measures.turns)))),
        input: tokens(|tokens| tokens.input),
        output: tokens(|tokens| tokens.output),
        cached: tokens(|tokens| tokens.cache_read.unwrap_or_default()),
        cost: mean_of(trials.iter().map(|trial| trial.measures.cost)),
        first_ms: percentile(trials.iter().filter_map(|trial| trial.measures.first_ms).collect(), 50),
        time_ms: percentile(times.clone(), 50),
        time_p95_ms: if times.len() >= PERCENTILE_TRIALS { percentile(times, 95) } else { None },
        waited_ms: trials.iter().map(|trial| trial.measures.waited_ms).sum(),
        retries: trials.iter().map(|trial| trial.measures.retries).sum(),
        errors,
        data_bytes: mean(trials.iter().map(|trial| Some(trial.measures.data_bytes))),
        kept_out_bytes: mean(trials.iter().map(|trial| Some(trial.measures.kept_out_bytes))),
        from_cache: trials.iter().map(|trial| trial.from_cache()).fold(FromCache::default(), FromCache::plus),
        sessions: trials.iter().map(|trial| named(trial)).collect(),
    }
}

/// The cells of one agent, mode and model together, where there are several cases.
pub fn totals<'a>(reports: &[CellReport], trials_of: impl Fn(usize) -> Vec<&'a Trial>) -> Vec<CellReport> {
    let mut open: Vec<usize> = (0..reports.len()).filter(|place| reports[*place].cell.case.is_some()).collect();
    let mut found = Vec::new();
    while let Some(first) = open.first().copied() {
        let of_first = |place: &usize| {
            let (one, other) = (&reports[first].cell, &reports[*place].cell);
            (&one.agent, &one.mode, &one.model) == (&other.agent, &other.mode, &other.model)
        };
        let (same, rest): (Vec<usize>, Vec<usize>) = open.into_iter().partition(of_first);
        open = rest;
        let tried: Vec<usize> = same.into_iter().filter(|place| reports[*place].trials > 0).collect();
        if tried.len() < 2 {
            continue;
        }
        let cell = Cell { case: None, unfit: None, ..reports[first].cell.clone() };
        let all: Vec<&Trial> = tried.iter().flat_map(|place| trials_of(*place)).collect();
        let mut total = report(&cell, all.into_iter());
        let fewest = tried.iter().map(|place| reports[*place].pass_hat.len()).min().unwrap_or_default();
        let mean_at = |k: usize| {
            let known = tried.iter().map(|place| reports[*place].pass_hat.get(k).copied());
            mean_of(known)
        };
        total.pass_hat = (0..fewest).filter_map(mean_at).collect();
        found.push(total);
    }
    found
}

fn named(trial: &Trial) -> TrialRef {
    TrialRef {
        trial: trial.trial,
        session: trial.session.clone(),
        passed: trial.passed,
        why: trial.why.clone(),
        rulings: trial.rulings.clone(),
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The mean of whole numbers; unknown when one is, or when there are none.
fn mean(values: impl Iterator<Item = Option<u64>>) -> Option<Mean> {
    #[expect(clippy::cast_precision_loss, reason = "counts and bytes: beyond 2^53 the last digit does not matter")]
    mean_of(values.map(|value| value.map(|value| value as f64)))
}

fn mean_of(values: impl Iterator<Item = Option<f64>>) -> Option<Mean> {
    let values = values.collect::<Option<Vec<f64>>>()?;
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / f64::from(count(values.len())))
}

/// The percentile by nearest rank: the smallest value that at least so many per cent of the values do not exceed. For the median of an even
/// count that is the lower of the two in the middle.
fn percentile(mut values: Vec<u64>, percent: usize) -> Option<u64> {
    values.sort_unstable();
    let rank = (values.len() * percent).div_ceil(100).max(1);
    values.get(rank - 1).copied()
}

#[cfg(test)]
mod tests;
