//! The outline of a search: its candidates as a tree with their figures, and the details of a candidate compared with one of its parents.
//!
//! In: a [`Progress`]. Out: plain data for a screen, a terminal or JSON. Pure functions.

use std::collections::HashMap;

use super::apply::hunks;
use super::search::Candidate;
use super::{CandidateStatus, Component, Ending, Gain, Hunk, Progress};

/// Outline of a search.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SearchOutline {
    /// The agent file, as it was named.
    pub agent: String,
    /// The mode.
    pub mode: String,
    /// The model of the runs.
    pub model: String,
    /// The model that proposes texts.
    pub reflect_model: String,
    /// Numbers of training, validation and held-out cases.
    pub cases: [usize; 3],
    /// Number of requests to models.
    pub calls: u64,
    /// Their cost.
    pub cost: f64,
    /// Number of proposals that could not be used.
    pub refused: u32,
    /// Texts for which no proposals are requested until a candidate is accepted: several proposals in a row were refused or known already.
    pub given_up: Vec<Component>,
    /// The reason why it ended; `None` if it has not ended.
    pub ending: Option<Ending>,
    /// Number of the best candidate.
    pub best: usize,
    /// The best candidate compared with the original agent on validation cases; `None` if that is the original agent.
    pub validation: Option<Gain>,
    /// Gain on held-out cases.
    pub held_out: Option<Gain>,
    /// Candidates, each after its first parent.
    pub lines: Vec<CandidateLine>,
}

/// A candidate in the tree.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CandidateLine {
    /// Its number.
    pub number: usize,
    /// Depth in the tree of first parents.
    pub depth: usize,
    /// Candidates from which it was made: none, one, or the two of a merge.
    pub parents: Vec<usize>,
    /// The text that it changes; `None` for the first candidate and for merges.
    pub changed: Option<Component>,
    /// The proposer's reason.
    pub reason: String,
    /// Status of the candidate.
    pub status: CandidateStatus,
    /// The mean score over the validation cases, once all are known.
    pub score: Option<f64>,
    /// Mean score over held-out cases.
    pub held_out: Option<f64>,
    /// The cost of its runs and of the proposal that it comes from.
    pub cost: f64,
    /// Number of its runs.
    pub tries: usize,
    /// Numbers of cases won and lost against each of its parents, among those tried by both.
    pub against_parents: Vec<(u32, u32)>,
}

/// A candidate compared with one of its parents.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CandidateDetail {
    /// Its number.
    pub number: usize,
    /// Number of the parent; `None` for the first candidate.
    pub against: Option<usize>,
    /// The proposer's reason.
    pub reason: String,
    /// Texts that differ from the parent's; of the first candidate all texts.
    pub changes: Vec<(Component, Vec<Hunk>)>,
    /// Cases: the won ones, the lost ones, then the other failed and passed ones.
    pub cases: Vec<CandidateCase>,
}

/// A run of a candidate on a case.
#[derive(Debug, Clone, PartialEq)]
pub struct CandidateCase {
    /// The case.
    pub name: String,
    /// Part of the cases that it belongs to.
    pub part: CasePart,
    /// Score, from 0 to 1.
    pub score: f64,
    /// The case passes.
    pub passed: bool,
    /// The case passed with the parent; `None` if it was not tried there.
    pub passed_before: Option<bool>,
    /// The session of the run.
    pub session: Option<String>,
}

/// Part of the cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CasePart {
    /// Training: the proposer reads their failures.
    Training,
    /// Validation: candidates are compared on them.
    Validation,
    /// Training and validation.
    Both,
    /// Held out: tried only at the end.
    HeldOut,
}

impl CasePart {
    /// Returns the name for users.
    pub fn name(self) -> &'static str {
        match self {
            Self::Training => "training",
            Self::Validation => "validation",
            Self::Both => "training, validation",
            Self::HeldOut => "held out",
        }
    }
}

impl CandidateCase {
    /// Returns whether the case passes and failed with the parent.
    pub fn is_won(&self) -> bool {
        self.passed && self.passed_before == Some(false)
    }

    /// Returns whether the case fails and passed with the parent.
    pub fn is_lost(&self) -> bool {
        !self.passed && self.passed_before == Some(true)
    }
}

impl CandidateLine {
    /// Returns the name of the text that it changes, or the candidates that it merges.
    pub fn change(&self) -> String {
        match (&self.changed, self.parents.as_slice()) {
            (Some(component), _) => component.to_string(),
            (None, [one, other]) => format!("merge of c{one:02} and c{other:02}"),
            (None, _) => "original agent".to_owned(),
        }
    }
}

impl SearchOutline {
    /// Creates the outline of a search.
    pub fn of(progress: &Progress) -> Self {
        let (search, start) = (&progress.search, &progress.start);
        let (calls, cost) = search.spent();
        let best = search.best();
        Self {
            agent: start.agent.clone(),
            mode: start.mode.clone(),
            model: start.model.clone(),
            reflect_model: start.reflect_model.clone(),
            cases: [start.training.len(), start.validation.len(), start.held_out.len()],
            calls,
            cost,
            refused: search.refused(),
            given_up: search.given_up(),
            ending: progress.ending,
            best,
            validation: progress.gain(best, &start.validation).filter(|_| best > 0),
            held_out: progress.gain(best, &start.held_out).filter(|_| best > 0),
            lines: lines(progress),
        }
    }
}

/// Returns the candidates in the order of the tree.
fn lines(progress: &Progress) -> Vec<CandidateLine> {
    let candidates = progress.search.candidates();
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); candidates.len()];
    for (number, one) in candidates.iter().enumerate() {
        if let Some(parent) = one.parents.first() {
            below[*parent].push(number);
        }
    }
    let spent = spent(progress);
    let mut lines = Vec::with_capacity(candidates.len());
    let mut due = vec![(0, 0)];
    while let Some((number, depth)) = due.pop() {
        due.extend(below[number].iter().rev().map(|child| (*child, depth + 1)));
        let (tries, cost) = spent[number];
        lines.push(CandidateLine { depth, cost, tries, ..line(progress, number) });
    }
    lines
}

fn line(progress: &Progress, number: usize) -> CandidateLine {
    let (search, start) = (&progress.search, &progress.start);
    let one = &search.candidates()[number];
    let tried: Vec<String> = one.results.keys().cloned().collect();
    CandidateLine {
        number,
        parents: one.parents.clone(),
        changed: one.changed.clone(),
        reason: one.reason.clone(),
        status: one.status,
        score: search.mean(number, &start.validation),
        held_out: search.mean(number, &start.held_out),
        against_parents: one.parents.iter().map(|parent| search.won_and_lost(number, *parent, &tried)).collect(),
        ..CandidateLine::default()
    }
}

/// Returns number of runs and cost of each candidate, including the proposal that it came from. Refused proposals belong to none.
fn spent(progress: &Progress) -> Vec<(usize, f64)> {
    let candidates = progress.search.candidates();
    let mut spent = vec![(0, 0.0); candidates.len()];
    for one in progress.tries.values() {
        if let Some((tries, cost)) = spent.get_mut(one.candidate) {
            *tries += 1;
            *cost += one.cost;
        }
    }
    let mut made = candidates.iter().enumerate().filter(|(_, one)| one.changed.is_some()).peekable();
    for proposal in &progress.proposals {
        let gives = |one: &Candidate| {
            one.parents == [proposal.parent]
                && one.changed.as_ref() == Some(&proposal.component)
                && one.texts.get(&proposal.component) == proposal.text.as_ref()
        };
        if let Some((number, _)) = made.next_if(|(_, one)| gives(one)) {
            spent[number].1 += proposal.cost;
        }
    }
    spent
}

impl CandidateDetail {
    /// Compares a candidate with the parent at the index `place` among its parents, else with the first; `None` for an unknown number.
    pub fn of(progress: &Progress, number: usize, place: usize) -> Option<Self> {
        let (search, start) = (&progress.search, &progress.start);
        let one = search.candidates().get(number)?;
        let against = one.parents.get(place).or(one.parents.first()).copied();
        let parent = against.map(|parent| &search.candidates()[parent]);
        let change = |(component, text): (&Component, &String)| {
            let found = match parent {
                Some(parent) => hunks(parent.texts.get(component).map_or("", String::as_str), text),
                None => vec![Hunk { line: 1, lines: text.lines().map(|line| format!(" {line}")).collect() }],
            };
            (!found.is_empty()).then(|| (component.clone(), found))
        };
        let parts: HashMap<&str, CasePart> = parts(&start.training, &start.validation, &start.held_out);
        let case = |(name, result): (&String, &super::CaseScore)| CandidateCase {
            name: name.clone(),
            part: parts.get(name.as_str()).copied().unwrap_or(CasePart::Training),
            score: result.score,
            passed: result.passed,
            passed_before: parent.and_then(|parent| parent.results.get(name)).map(|before| before.passed),
            session: progress.tries.get(&(number, name.clone())).and_then(|one| one.session.clone()),
        };
        let mut cases: Vec<CandidateCase> = one.results.iter().map(case).collect();
        cases.sort_by_key(|case| match case {
            _ if case.is_won() => 0,
            _ if case.is_lost() => 1,
            _ => 2 + u8::from(case.passed),
        });
        let changes = one.texts.iter().filter_map(change).collect();
        Some(Self { number, against, reason: one.reason.clone(), changes, cases })
    }

    /// Returns the numbers of cases won and lost against the parent.
    pub fn won_and_lost(&self) -> (usize, usize) {
        let count = |is: fn(&CandidateCase) -> bool| self.cases.iter().filter(|case| is(case)).count();
        (count(CandidateCase::is_won), count(CandidateCase::is_lost))
    }
}

/// Returns the part of each case.
fn parts<'s>(training: &'s [String], validation: &'s [String], held_out: &'s [String]) -> HashMap<&'s str, CasePart> {
    let mut parts: HashMap<&str, CasePart> = training.iter().map(|name| (name.as_str(), CasePart::Training)).collect();
    for name in validation {
        let part = parts.entry(name).or_insert(CasePart::Validation);
        if *part == CasePart::Training {
            *part = CasePart::Both;
        }
    }
    parts.extend(held_out.iter().map(|name| (name.as_str(), CasePart::HeldOut)));
    parts
}
