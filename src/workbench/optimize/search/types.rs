//! The data of a search: its settings, its candidates, what is done next and what comes of it. Plain data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::workbench::optimize::components::{Component, Texts};

/// What a search is given.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Settings {
    /// The seed of all choices.
    pub seed: u64,
    /// Cases of a minibatch.
    pub batch: usize,
    /// Most candidates, the first one included.
    pub most_candidates: usize,
    /// Most requests to models.
    pub most_calls: Option<u64>,
    /// Most cost, in the unit of the configured prices.
    pub most_cost: Option<f64>,
    /// Cases whose failures the proposer reads, by name.
    pub training: Vec<String>,
    /// Cases by which candidates are compared.
    pub validation: Vec<String>,
    /// Cases that only the first and the best candidate are tried on, at the end.
    pub held_out: Vec<String>,
}

/// What came of a candidate on a case.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CaseScore {
    /// The share of what is expected that holds, from 0 to 1.
    pub score: f64,
    /// Does the case pass?
    pub passed: bool,
    /// Requests to models.
    pub calls: u64,
    /// The cost that was paid.
    pub cost: f64,
}

/// What became of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It is compared with its parents on a minibatch.
    #[default]
    Trying,
    /// It was no better than its parents there.
    Rejected,
    /// It was tried on all validation cases.
    Accepted,
}

/// A version of the agent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Candidate {
    /// The candidates that it was made from: none, one, or the two of a merge.
    pub parents: Vec<usize>,
    /// The text that was changed; `None` for the first and for merges.
    pub changed: Option<Component>,
    /// Why, as the proposer wrote.
    pub reason: String,
    /// All its texts.
    pub texts: Texts,
    /// Results by case.
    pub results: BTreeMap<String, CaseScore>,
    /// What became of it.
    pub standing: Standing,
    /// Which component of it is changed next.
    pub(super) rotation: usize,
    /// Proposals for it so far.
    pub(super) proposals: usize,
    /// Examples were added to it, or could not be.
    pub(super) has_examples_step: bool,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Try a candidate on these cases, each once.
    Try {
        /// Its number.
        candidate: usize,
        /// Names of cases.
        cases: Vec<String>,
    },
    /// Ask for another text of a component; for [`Component::Examples`] show runs of the passed cases.
    Propose {
        /// The candidate that is changed.
        parent: usize,
        /// What of it.
        component: Component,
        /// Training cases that the parent fails.
        failures: Vec<String>,
        /// Training cases that it passes: their answers may serve as examples.
        passes: Vec<String>,
    },
    /// Nothing more: why.
    Finish(Ending),
}

/// Why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The best candidate passes every validation case.
    Solved,
    /// There are as many candidates as wanted.
    Candidates,
    /// A budget is used.
    Budget,
    /// Many rounds gave nothing better.
    Idle,
    /// For each text several proposals in a row gave nothing new.
    Exhausted,
}

/// What came of an action.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Results, one for each case.
    Tried(Vec<(String, CaseScore)>),
    /// A proposal: the text and the reason for it, or why it cannot be used; then requests and cost.
    Proposed(Result<(String, String), String>, u64, f64),
}
