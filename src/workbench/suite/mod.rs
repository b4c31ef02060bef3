//! Running the cases of agents: each trial a session of its own with a seed of its own, cassettes replayed without a model.
//!
//! In: a [`Suite`]. Out: a [`SuiteReport`] with a verdict for every trial, in the order of the cases. Nobody is asked: a run that waits for
//! the user is an error of its case.

mod draft;
mod junit;
mod run;

use std::path::{Path, PathBuf};

use crate::agent::{Agent, Case, Diagnostic, Mode, Verdict};
use crate::event::Tokens;

pub use draft::{CaseOutline, TestedCase, case_outlines};
pub use junit::junit;

/// What is to be run.
#[derive(Debug, Clone, Default)]
pub struct Suite {
    /// The agents.
    pub agents: Vec<SuiteAgent>,
    /// The model of all runs; each agent's own when absent.
    pub model: Option<String>,
    /// Runs of each case; at least one.
    pub trials: u32,
    /// Runs at the same time; at least one.
    pub jobs: usize,
}

/// An agent with its cases.
#[derive(Debug, Clone)]
pub struct SuiteAgent {
    /// What the user called it: a file, or the name of an example.
    pub label: String,
    /// The agent in its mode.
    pub agent: Agent,
    /// The folder of its file, where cassettes lie; the current one when absent.
    pub folder: PathBuf,
    /// Its cases.
    pub cases: Vec<Case>,
}

impl SuiteAgent {
    /// An agent in the mode that it is to be tried in. Errors: it cannot be in this mode, a case that cannot be used.
    pub fn new(label: &str, agent: &Agent, mode: Option<Mode>, folder: PathBuf) -> Result<Self, Vec<Diagnostic>> {
        let agent = agent.for_mode(mode.unwrap_or(agent.mode))?;
        let cases = agent.cases().map_err(|found| vec![found])?;
        Ok(Self { label: label.to_owned(), agent, folder, cases })
    }

    /// The folder, resolved.
    fn root(&self) -> PathBuf {
        let here = if self.folder.as_os_str().is_empty() { Path::new(".") } else { &self.folder };
        here.canonicalize().unwrap_or_else(|_| here.to_owned())
    }
}

/// What came of a suite.
#[derive(Debug, Clone, Default)]
pub struct SuiteReport {
    /// The agents, in the order of the suite.
    pub agents: Vec<AgentReport>,
    /// From the start of the first run to the end of the last, in ms.
    pub duration_ms: u64,
    /// It was stopped: trials that had not started are missing.
    pub stopped: bool,
}

/// What came of the cases of an agent.
#[derive(Debug, Clone)]
pub struct AgentReport {
    /// What the user called it.
    pub label: String,
    /// Its name.
    pub name: String,
    /// Its mode.
    pub mode: Mode,
    /// The model that was asked.
    pub model: String,
    /// Unix time in ms at which the suite began.
    pub started_ms: i64,
    /// Its cases, in the order of its file.
    pub cases: Vec<CaseReport>,
}

/// What came of a case.
#[derive(Debug, Clone)]
pub struct CaseReport {
    /// Its name.
    pub name: String,
    /// A cassette was replayed: one trial, no model.
    pub is_replayed: bool,
    /// Its trials in order.
    pub trials: Vec<TrialReport>,
}

/// What came of one run.
#[derive(Debug, Clone)]
pub struct TrialReport {
    /// From 1.
    pub number: u32,
    /// Seed of the run's randomness.
    pub seed: u64,
    /// What it is worth.
    pub verdict: Verdict,
    /// The session that recorded it; of a cassette the cassette's id.
    pub session: Option<String>,
    /// How long it took, in ms.
    pub duration_ms: u64,
    /// Turns.
    pub turns: u32,
    /// Tokens, when counted.
    pub tokens: Option<Tokens>,
    /// Cost in the price table's currency, when known.
    pub cost: Option<f64>,
}

/// How many trials came out how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// All.
    pub trials: u64,
    /// As expected.
    pub passed: u64,
    /// Otherwise.
    pub failed: u64,
    /// Not shown.
    pub errors: u64,
}

impl Counts {
    fn of<'t>(trials: impl Iterator<Item = &'t TrialReport>) -> Self {
        trials.fold(Self::default(), |sum, trial| {
            let one = |is_so: bool| u64::from(is_so);
            Self {
                trials: sum.trials + 1,
                passed: sum.passed + one(trial.verdict.is_pass()),
                failed: sum.failed + one(matches!(trial.verdict, Verdict::Fail(_))),
                errors: sum.errors + one(matches!(trial.verdict, Verdict::Error(_))),
            }
        })
    }

    /// Did all pass?
    pub fn is_pass(&self) -> bool {
        self.passed == self.trials
    }
}

impl CaseReport {
    /// Its trials counted.
    pub fn counts(&self) -> Counts {
        Counts::of(self.trials.iter())
    }
}

impl AgentReport {
    /// Its trials counted.
    pub fn counts(&self) -> Counts {
        Counts::of(self.cases.iter().flat_map(|case| &case.trials))
    }
}

impl SuiteReport {
    /// All trials counted.
    pub fn counts(&self) -> Counts {
        Counts::of(self.agents.iter().flat_map(|agent| &agent.cases).flat_map(|case| &case.trials))
    }
}
