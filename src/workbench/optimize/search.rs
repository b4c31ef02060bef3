//! The search: chooses the cases on which a candidate is tried next, and the text that is changed next.
//!
//! In: [`Settings`], and an [`Outcome`] for each [`Action`]. Out: the next action. It is plain data: equal outcomes in equal order give
//! equal actions, so that a search resumes from its journal. It must never read a clock, a file or a case: held-out cases are only names
//! here, and their results are requested once, at the end.

mod examples;
mod merge;
mod refusals;
mod types;

use std::collections::BTreeSet;

use refusals::Refusals;
pub use types::{Action, Candidate, CandidateStatus, CaseScore, Ending, Outcome, Settings};

use super::components::{Component, Texts};
use crate::workbench::random::SplitMix;

/// Number of rounds without a better candidate after which the search ends.
const IDLE_ROUNDS: u32 = 24;

/// Phase of a search.
#[derive(Debug, Clone, PartialEq)]
enum Phase {
    First,
    Choose,
    Batch { parent: usize, cases: Vec<String> },
    Compare { candidate: usize, cases: Vec<String> },
    Validate { candidate: usize },
    HeldOut(Ending),
}

/// State of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    settings: Settings,
    candidates: Vec<Candidate>,
    phase: Phase,
    random: SplitMix,
    idle: u32,
    /// Number of proposals that could not be used.
    refused: u32,
    /// Number of consecutive proposals without a new text, by component.
    refusals: Refusals,
    /// The accepted candidate with the highest mean score, and that score.
    best: (usize, f64),
    calls: u64,
    cost: f64,
    /// Pairs of candidates that were considered for a merge.
    merged: BTreeSet<(usize, usize)>,
    pending: Option<Action>,
    /// Number of outcomes so far.
    outcomes: usize,
    /// Number of outcomes before the end.
    ended_after: Option<usize>,
    /// The recorded end: the number of outcomes before it, and the reason.
    known_end: Option<(usize, Ending)>,
}

impl Search {
    /// Starts a search with the texts of the original agent.
    pub fn new(settings: Settings, texts: Texts) -> Self {
        Self {
            random: SplitMix(settings.seed),
            settings,
            candidates: vec![Candidate { texts, ..Candidate::default() }],
            phase: Phase::First,
            idle: 0,
            refused: 0,
            refusals: Refusals::default(),
            best: (0, 0.0),
            calls: 0,
            cost: 0.0,
            merged: BTreeSet::new(),
            pending: None,
            outcomes: 0,
            ended_after: None,
            known_end: None,
        }
    }

    /// Returns all candidates, by number.
    pub fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    /// Returns the settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns requests to models and cost so far.
    pub fn spent(&self) -> (u64, f64) {
        (self.calls, self.cost)
    }

    /// Returns the number of outcomes so far.
    pub fn outcomes(&self) -> usize {
        self.outcomes
    }

    /// Adds paid requests and cost without an outcome.
    pub fn charge(&mut self, calls: u64, cost: f64) {
        self.calls += calls;
        self.cost += cost;
    }

    /// Returns the number of outcomes before the end of the search; later outcomes are tries of held-out cases.
    pub fn ended_after(&self) -> Option<usize> {
        self.ended_after
    }

    /// Ends the search after this number of outcomes, to replay an end whose budgets are unknown here.
    pub fn end_after(&mut self, outcomes: usize, ending: Ending) {
        self.known_end = Some((outcomes, ending));
    }

    /// Returns the number of proposals that could not be used.
    pub fn refused(&self) -> u32 {
        self.refused
    }

    /// Returns the accepted candidate with the highest mean score over the validation cases; of equal ones the first.
    pub fn best(&self) -> usize {
        self.best.0
    }

    /// Returns the mean score of a candidate over these cases; `None` while a result is missing, or without cases.
    pub fn mean(&self, candidate: usize, cases: &[String]) -> Option<f64> {
        let scores: Option<Vec<f64>> =
            cases.iter().map(|case| self.candidates[candidate].results.get(case).map(|one| one.score)).collect();
        let scores = scores.filter(|scores| !scores.is_empty())?;
        #[expect(clippy::cast_precision_loss, reason = "a count of cases")]
        Some(scores.iter().sum::<f64>() / scores.len() as f64)
    }

    /// Returns the number of these cases that a candidate passes and another one fails, and the reverse.
    pub fn won_and_lost(&self, candidate: usize, other: usize, cases: &[String]) -> (u32, u32) {
        let passes = |number: usize, case: &String| self.candidates[number].results.get(case).map(|one| one.passed);
        cases.iter().fold((0, 0), |(won, lost), case| match (passes(candidate, case), passes(other, case)) {
            (Some(true), Some(false)) => (won + 1, lost),
            (Some(false), Some(true)) => (won, lost + 1),
            _ => (won, lost),
        })
    }

    /// Returns the next action; the same one until its outcome is recorded.
    pub fn next_action(&mut self) -> Action {
        if let Some(action) = &self.pending {
            return action.clone();
        }
        let action = loop {
            match self.phase.clone() {
                Phase::First => {
                    if let Some(action) = self.missing(0, &self.settings.validation) {
                        break action;
                    }
                    self.accept(0);
                    self.phase = Phase::Choose;
                }
                Phase::Choose => self.phase = self.choose(),
                Phase::Batch { parent, cases } => {
                    if let Some(action) = self.missing(parent, &cases) {
                        break action;
                    }
                    match self.examples_step(parent).or_else(|| self.proposal(parent, &cases)) {
                        Some(action) => break action,
                        None => self.end_round(parent),
                    }
                }
                Phase::Compare { candidate, cases } => {
                    if let Some(action) = self.missing(candidate, &cases) {
                        break action;
                    }
                    if self.is_better(candidate, &cases) {
                        self.phase = Phase::Validate { candidate };
                    } else {
                        self.candidates[candidate].status = CandidateStatus::Rejected;
                        self.idle += 1;
                        self.phase = Phase::Choose;
                    }
                }
                Phase::Validate { candidate } => {
                    if let Some(action) = self.missing(candidate, &self.settings.validation) {
                        break action;
                    }
                    self.accept(candidate);
                    self.idle = 0;
                    self.refusals.clear();
                    self.phase = Phase::Choose;
                }
                Phase::HeldOut(ending) => {
                    let missing = [self.best(), 0].iter().find_map(|one| self.missing(*one, &self.settings.held_out));
                    break missing.unwrap_or(Action::Finish(ending));
                }
            }
        };
        self.pending = Some(action.clone());
        action
    }

    /// Records the outcome of the pending action. Errors: it does not belong to that action.
    pub fn record(&mut self, outcome: Outcome) -> Result<(), String> {
        let action = self.next_action();
        match (action, outcome) {
            (Action::Try { candidate, cases }, Outcome::Tried(results)) => {
                if !cases.iter().eq(results.iter().map(|(case, _)| case)) {
                    return Err(format!(
                        "results of other cases than those that candidate {candidate} was to be tried on"
                    ));
                }
                for (case, result) in results {
                    self.calls += result.calls;
                    self.cost += result.cost;
                    self.candidates[candidate].results.insert(case, result);
                }
            }
            (Action::Propose { parent, component, .. }, Outcome::Proposed(proposal, calls, cost)) => {
                self.calls += calls;
                self.cost += cost;
                self.take(parent, component, proposal);
            }
            (action, _) => return Err(format!("an outcome of another kind than {action:?}")),
        }
        self.pending = None;
        self.outcomes += 1;
        Ok(())
    }

    /// Adds the candidate of a proposal, or ends the round if the proposal gives no new texts.
    fn take(&mut self, parent: usize, component: Component, proposal: Result<(String, String), String>) {
        let Phase::Batch { cases, .. } = self.phase.clone() else { return };
        if component == Component::Examples {
            self.candidates[parent].has_examples_step = true;
        } else {
            self.candidates[parent].proposals += 1;
        }
        let base = &self.candidates[parent];
        let changed = proposal.ok().map(|(text, reason)| {
            let mut texts = base.texts.clone();
            texts.insert(component.clone(), text);
            (texts, reason)
        });
        let is_new = |(texts, _): &(Texts, String)| !self.candidates.iter().any(|one| one.texts == *texts);
        let Some((texts, reason)) = changed.filter(is_new) else {
            self.refused += 1;
            if component != Component::Examples {
                self.refusals.add(&component);
            }
            return self.end_round(parent);
        };
        self.refusals.remove(&component);
        let rotation = base.rotation + 1;
        self.candidates[parent].rotation = rotation;
        let (parents, changed) = (vec![parent], Some(component));
        self.add(Candidate { parents, changed, reason, texts, rotation, ..Candidate::default() }, cases);
    }

    fn add(&mut self, candidate: Candidate, cases: Vec<String>) {
        self.candidates.push(candidate);
        self.phase = Phase::Compare { candidate: self.candidates.len() - 1, cases };
    }

    /// Ends a round without a candidate.
    fn end_round(&mut self, parent: usize) {
        self.candidates[parent].rotation += 1;
        self.idle += 1;
        self.phase = Phase::Choose;
    }

    /// Accepts a candidate with results for all validation cases.
    fn accept(&mut self, candidate: usize) {
        self.candidates[candidate].status = CandidateStatus::Accepted;
        let mean = self.mean(candidate, &self.settings.validation).unwrap_or(0.0);
        if mean > self.best.1 {
            self.best = (candidate, mean);
        }
    }

    fn is_accepted(&self, candidate: usize) -> bool {
        self.candidates[candidate].status == CandidateStatus::Accepted
    }

    /// Returns the action that tries a candidate on those of the cases that have no result; `None` if all have one.
    fn missing(&self, candidate: usize, cases: &[String]) -> Option<Action> {
        let known = &self.candidates[candidate].results;
        let cases: Vec<String> = cases.iter().filter(|case| !known.contains_key(*case)).cloned().collect();
        (!cases.is_empty()).then_some(Action::Try { candidate, cases })
    }

    fn sum(&self, candidate: usize, cases: &[String]) -> f64 {
        let results = &self.candidates[candidate].results;
        cases.iter().filter_map(|case| results.get(case)).map(|one| one.score).sum()
    }

    /// Returns whether a candidate is better than its parent on the minibatch; a merged one must be no worse than either parent.
    fn is_better(&self, candidate: usize, cases: &[String]) -> bool {
        let (own, parents) = (self.sum(candidate, cases), &self.candidates[candidate].parents);
        let is_merge = parents.len() > 1;
        parents.iter().all(|parent| own > self.sum(*parent, cases) || (is_merge && own >= self.sum(*parent, cases)))
    }

    /// Returns the reason why the search ends now, if it does. Requests for the final tries on held-out cases are reserved in the budget.
    fn ending(&self) -> Option<Ending> {
        let settings = &self.settings;
        let is_solved = self.mean(self.best(), &settings.validation).is_some_and(|mean| mean >= 1.0);
        let reserve = 2 * settings.held_out.len() as u64;
        let is_spent = settings.most_calls.is_some_and(|most| self.calls + reserve >= most)
            || settings.most_cost.is_some_and(|most| self.cost >= most);
        if let Some((_, ending)) = self.known_end.filter(|(outcomes, _)| *outcomes == self.outcomes) {
            return Some(ending);
        }
        match () {
            () if is_solved => Some(Ending::Solved),
            () if self.candidates.len() >= settings.most_candidates => Some(Ending::Candidates),
            () if is_spent => Some(Ending::Budget),
            () if self.idle >= IDLE_ROUNDS => Some(Ending::Idle),
            () if self.is_exhausted() => Some(Ending::Exhausted),
            () => None,
        }
    }

    /// Chooses the next phase: the end, a merge, or a minibatch of a candidate of the front.
    fn choose(&mut self) -> Phase {
        if let Some(ending) = self.ending() {
            self.ended_after = Some(self.outcomes);
            return Phase::HeldOut(ending);
        }
        if let Some((candidate, cases)) = self.merge() {
            self.candidates.push(candidate);
            return Phase::Compare { candidate: self.candidates.len() - 1, cases };
        }
        let front = self.open_front();
        let total: usize = front.iter().map(|(_, weight)| weight).sum();
        let mut at = self.random.below(total.max(1));
        let chosen = front.iter().find(|(_, weight)| {
            let is_here = at < *weight;
            at = at.saturating_sub(*weight);
            is_here
        });
        let parent = chosen.map_or(0, |(number, _)| *number);
        Phase::Batch { parent, cases: self.minibatch(parent) }
    }

    /// Returns the Pareto front: accepted candidates that no other one equals or exceeds on all validation cases, each with the number of
    /// cases on which none is better.
    pub fn front(&self) -> Vec<(usize, usize)> {
        let cases = &self.settings.validation;
        let score =
            |number: usize, case: &String| self.candidates[number].results.get(case).map_or(0.0, |one| one.score);
        let accepted: Vec<usize> = (0..self.candidates.len()).filter(|number| self.is_accepted(*number)).collect();
        let is_dominated = |one: usize| {
            accepted.iter().any(|other| {
                let is_no_worse = cases.iter().all(|case| score(*other, case) >= score(one, case));
                let is_more = cases.iter().any(|case| score(*other, case) > score(one, case));
                is_no_worse && (is_more || *other < one)
            })
        };
        let front: Vec<usize> = accepted.iter().copied().filter(|one| !is_dominated(*one)).collect();
        let is_highest = |one: usize, case: &String| front.iter().all(|other| score(*other, case) <= score(one, case));
        front.iter().map(|one| (*one, cases.iter().filter(|case| is_highest(*one, case)).count().max(1))).collect()
    }

    /// Chooses the training cases of a round at random: first those that the candidate fails, then untried ones. Sorted by name.
    fn minibatch(&mut self, parent: usize) -> Vec<String> {
        let mut cases = self.settings.training.clone();
        self.random.shuffle(&mut cases);
        let results = &self.candidates[parent].results;
        let rank = |case: &String| match results.get(case) {
            Some(one) if one.score < 1.0 => 0,
            None => 1,
            Some(_) => 2,
        };
        let failed = cases.iter().filter(|case| rank(case) == 0).count();
        cases.sort_by_key(rank);
        // One case that the candidate does not fail is included, so that a change that breaks it is noticed.
        let (batch, count) = (self.settings.batch.max(1), cases.len());
        if batch > 1 && failed >= batch && count > failed {
            cases.swap(batch - 1, count - 1);
        }
        cases.truncate(batch);
        cases.sort();
        cases
    }

    fn proposal(&self, parent: usize, cases: &[String]) -> Option<Action> {
        let candidate = &self.candidates[parent];
        let (passes, failures): (Vec<String>, Vec<String>) =
            cases.iter().cloned().partition(|case| candidate.results.get(case).is_some_and(|one| one.score >= 1.0));
        let components = self.open_components(parent);
        let component = (*components.get(candidate.rotation % components.len().max(1))?).clone();
        (!failures.is_empty()).then_some(Action::Propose { parent, component, failures, passes })
    }
}
