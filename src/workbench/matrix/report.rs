//! Report of the trials of a cell.
//!
//! In: a cell and its finished trials. Out: rates, means, medians and groups. A mean is unknown if the value of one trial is unknown.

use std::collections::BTreeMap;

use super::answers::{AnswerGroup, groups};
use super::chance::{pass_hat, wilson};
use super::plan::Cell;
use super::state::Trial;
use crate::agent::Ruling;
use crate::event::FromCache;

/// Smallest number of trials for which a 95th percentile is reported.
const PERCENTILE_TRIALS: usize = 5;

/// Mean per trial.
pub type Mean = f64;

/// A trial and the id of its session.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialRef {
    /// Number of the trial, from 1.
    pub trial: u32,
    /// Id of its session.
    pub session: String,
    /// The trial passed.
    pub passed: bool,
    /// The reason why it did not pass.
    pub why: Option<String>,
    /// Rulings of judges.
    pub rulings: Vec<Ruling>,
}

/// Report of the trials of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct CellReport {
    /// The cell.
    pub cell: Cell,
    /// Number of finished trials.
    pub trials: u32,
    /// Number of finished trials that passed.
    pub passed: u32,
    /// Mean score, from 0 to 1.
    pub score: Option<Mean>,
    /// Wilson interval (95 %) of the pass rate.
    pub interval: (f64, f64),
    /// pass^k for k = 1 up to the number of trials; over several cases their mean, up to the smallest number of trials.
    pub pass_hat: Vec<f64>,
    /// Groups of equal outcomes, the most frequent first.
    pub answers: Vec<AnswerGroup>,
    /// Number of turns.
    pub turns: Option<Mean>,
    /// Input tokens, cached ones included.
    pub input: Option<Mean>,
    /// Output tokens.
    pub output: Option<Mean>,
    /// Input tokens read from the provider's cache.
    pub cached: Option<Mean>,
    /// Cost in the price table's unit.
    pub cost: Option<Mean>,
    /// Median time to the first token, in ms.
    pub first_ms: Option<u64>,
    /// Median time without waiting, in ms.
    pub time_ms: Option<u64>,
    /// 95th percentile of the time without waiting, in ms (nearest rank); absent below five trials.
    pub time_p95_ms: Option<u64>,
    /// Time waited for the provider's gate, in ms, summed over all trials.
    pub waited_ms: u64,
    /// Number of retried attempts, summed over all trials.
    pub retries: u32,
    /// Number of errors by kind, summed over all trials.
    pub errors: BTreeMap<String, u32>,
    /// Number of tool calls that were not allowed, summed over all trials.
    pub denied: u32,
    /// Mean bytes of the data of a run.
    pub data_bytes: Option<Mean>,
    /// Mean bytes of these data that no request contained.
    pub kept_out_bytes: Option<Mean>,
    /// Replies and cost served from the cache to the trials and their judges, summed.
    pub from_cache: FromCache,
    /// Trials, in order.
    pub sessions: Vec<TrialRef>,
}

impl CellReport {
    /// Returns the pass rate; `None` without trials.
    pub fn rate(&self) -> Option<f64> {
        (self.trials > 0).then(|| f64::from(self.passed) / f64::from(self.trials))
    }
}

/// Creates the report of a cell.
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
        denied: trials.iter().map(|trial| trial.measures.denied).sum(),
        data_bytes: mean(trials.iter().map(|trial| Some(trial.measures.data_bytes))),
        kept_out_bytes: mean(trials.iter().map(|trial| Some(trial.measures.kept_out_bytes))),
        from_cache: trials.iter().map(|trial| trial.from_cache()).fold(FromCache::default(), FromCache::plus),
        sessions: trials.iter().map(|trial| named(trial)).collect(),
    }
}

/// Creates one report per agent, mode and model over all its cases, if at least two cases have trials.
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

/// Returns the mean of whole numbers; `None` if one is unknown, or without values.
fn mean(values: impl Iterator<Item = Option<u64>>) -> Option<Mean> {
    #[expect(clippy::cast_precision_loss, reason = "counts and bytes: beyond 2^53 the last digit does not matter")]
    mean_of(values.map(|value| value.map(|value| value as f64)))
}

fn mean_of(values: impl Iterator<Item = Option<f64>>) -> Option<Mean> {
    let values = values.collect::<Option<Vec<f64>>>()?;
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / f64::from(count(values.len())))
}

/// Returns the percentile by nearest rank: the smallest value such that at least `percent` per cent of the values do not exceed it. The
/// median of an even count is the lower of the two middle values.
fn percentile(mut values: Vec<u64>, percent: usize) -> Option<u64> {
    values.sort_unstable();
    let rank = (values.len() * percent).div_ceil(100).max(1);
    values.get(rank - 1).copied()
}

#[cfg(test)]
mod tests;
