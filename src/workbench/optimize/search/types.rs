//! The data of a search: settings, candidates, actions and outcomes. Plain data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::workbench::optimize::components::{Component, Texts};

/// Settings of a search.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Settings {
    /// Seed of all random choices.
    pub seed: u64,
    /// Number of cases in a minibatch.
    pub batch: usize,
    /// Maximum number of candidates, the first one included.
    pub most_candidates: usize,
    /// Maximum number of requests to models.
    pub most_calls: Option<u64>,
    /// Maximum cost, in the price table's unit.
    pub most_cost: Option<f64>,
    /// Names of the cases whose failures the proposer reads.
    pub training: Vec<String>,
    /// Names of the cases on which candidates are compared.
    pub validation: Vec<String>,
    /// Names of the cases on which only the first and the best candidate are tried, at the end.
    pub held_out: Vec<String>,
}

/// Result of a candidate on a case.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CaseScore {
    /// Score from 0 to 1: the weighted share of expectations that hold, or the similarity.
    pub score: f64,
    /// The case passes.
    pub passed: bool,
    /// Number of requests to models.
    pub calls: u64,
    /// The cost that was paid.
    pub cost: f64,
}

/// Status of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CandidateStatus {
    /// It is being compared with its parents on a minibatch.
    #[default]
    Trying,
    /// It was no better than its parents on the minibatch.
    Rejected,
    /// It was tried on all validation cases.
    Accepted,
}

/// A version of the agent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Candidate {
    /// Candidates from which it was made: none, one, or the two of a merge.
    pub parents: Vec<usize>,
    /// The text that was changed; `None` for the first candidate and for merges.
    pub changed: Option<Component>,
    /// The proposer's reason.
    pub reason: String,
    /// All its texts.
    pub texts: Texts,
    /// Results by case.
    pub results: BTreeMap<String, CaseScore>,
    /// Status of the candidate.
    pub status: CandidateStatus,
    /// Index of the component that is changed next, modulo their number.
    pub(super) rotation: usize,
    /// Number of proposals for it so far.
    pub(super) proposals: usize,
    /// Examples were requested for it, with or without success.
    pub(super) has_examples_step: bool,
}

/// Next action of a search.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Try a candidate on these cases, each once.
    Try {
        /// Number of the candidate.
        candidate: usize,
        /// Names of cases.
        cases: Vec<String>,
    },
    /// Request another text of a component; for [`Component::Examples`] show runs of the passed cases.
    Propose {
        /// The candidate to change.
        parent: usize,
        /// The text to change.
        component: Component,
        /// Training cases that the parent fails.
        failures: Vec<String>,
        /// Training cases that the parent passes: their answers may serve as examples.
        passes: Vec<String>,
    },
    /// End the search, with the reason.
    Finish(Ending),
}

/// The reason why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The best candidate passes every validation case.
    Solved,
    /// The maximum number of candidates is reached.
    Candidates,
    /// A budget is used up.
    Budget,
    /// Many rounds in a row gave no better candidate.
    Idle,
    /// For each text, several consecutive proposals gave no new text.
    Exhausted,
}

/// Outcome of an action.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Results, one for each case.
    Tried(Vec<(String, CaseScore)>),
    /// A proposal: the text and its reason, or the reason why it cannot be used; then requests and cost.
    Proposed(Result<(String, String), String>, u64, f64),
}
