//! Running the cases of agents: each trial has a session and a seed of its own; cassettes are replayed without a model.
//!
//! In: a [`Suite`]. Out: a [`SuiteReport`] with a verdict for every trial, in the order of the cases. No user is asked: a run that waits
//! for input is an error of its case.

mod draft;
mod junit;
mod last;
mod run;
mod selection;

use std::path::{Path, PathBuf};

use crate::agent::{Agent, Case, Diagnostic, JudgesUsage, Mismatch, Mode, Ruling, Verdict};
use crate::event::{FromCache, Tokens};
use crate::tool::FileAccess;
use crate::workbench::matrix::{Measures, Outcome, Pace};

pub use draft::{CaseOutline, TestedCase};
pub use junit::junit;
pub use run::EndedTrial;
pub use selection::{CaseFilter, Selection, Shard};

/// Agents whose cases to run, and the settings of the runs.
#[derive(Debug, Clone, Default)]
pub struct Suite {
    /// The agents.
    pub agents: Vec<SuiteAgent>,
    /// The model of all runs; each agent's own when absent.
    pub model: Option<String>,
    /// Number of trials of each case; at least one.
    pub trials: u32,
    /// Concurrency and limits.
    pub pace: Pace,
    /// The reports keep the outcome and the measures of each run, which rows of results need.
    pub keeps_outcomes: bool,
}

/// An agent and the selection of its cases.
#[derive(Debug, Clone)]
pub struct SuiteAgent {
    /// Name given by the user: a file, or the name of an example.
    pub label: String,
    /// The agent in its mode.
    pub agent: Agent,
    /// The folder of its file, to which cassettes and case files are relative; the current one when empty.
    pub folder: PathBuf,
    /// The selected cases.
    pub selection: Selection,
    /// The access to files of cases.
    access: FileAccess,
    /// The only case, if it is known already: no row is read.
    known: Option<Box<Case>>,
}

impl SuiteAgent {
    /// Creates the agent in a mode with the cases that a filter chooses. Every row of its case files is read once.
    ///
    /// Errors: the agent is invalid in this mode; a chosen case is invalid.
    pub fn new(
        label: &str,
        agent: &Agent,
        mode: Option<Mode>,
        place: (PathBuf, &FileAccess),
        filter: &CaseFilter,
    ) -> Result<Self, Vec<Diagnostic>> {
        let agent = agent.for_mode(mode.unwrap_or(agent.mode))?;
        let (folder, access) = place;
        let selection =
            Selection::of(agent.case_rows(&folder, access).checked(), filter).map_err(|found| vec![found])?;
        Ok(Self { label: label.to_owned(), agent, folder, selection, access: access.clone(), known: None })
    }

    /// Creates the agent with one case that was read before.
    ///
    /// Errors: the agent is invalid in its mode.
    pub(super) fn of_case(
        agent: &Agent,
        (folder, access): (PathBuf, &FileAccess),
        case: Case,
    ) -> Result<Self, Vec<Diagnostic>> {
        let agent = agent.for_mode(agent.mode)?;
        let only = std::iter::once(Ok(case.clone()));
        let selection = Selection::of(only, &CaseFilter::default()).map_err(|found| vec![found])?;
        let (label, known) = (agent.name.clone(), (selection.count() > 0).then(|| Box::new(case)));
        Ok(Self { label, agent, folder, selection, access: access.clone(), known })
    }

    /// Reads the chosen cases again, one by one in order. A row that has changed meanwhile and is invalid is reported as an error and ends
    /// the iteration.
    fn cases(&self) -> impl Iterator<Item = Result<Case, Diagnostic>> + Send + use<> {
        let known = self.known.clone();
        let places = if known.is_some() { Vec::new() } else { self.selection.places.clone() };
        let mut rows = self.agent.case_rows(&self.folder, &self.access);
        let mut passed: u32 = 0;
        let read = places.into_iter().map_while(move |place| {
            while passed < place {
                passed += 1;
                if let Err(found) = rows.skip_case() {
                    return Some(Err(found));
                }
            }
            passed += 1;
            rows.next()
        });
        known.into_iter().map(|case| Ok(*case)).chain(read)
    }

    /// Returns the canonical path of the folder.
    fn root(&self) -> PathBuf {
        let here = if self.folder.as_os_str().is_empty() { Path::new(".") } else { &self.folder };
        here.canonicalize().unwrap_or_else(|_| here.to_owned())
    }
}

/// Result of a suite.
#[derive(Debug, Clone, Default)]
pub struct SuiteReport {
    /// The agents, in the order of the suite.
    pub agents: Vec<AgentReport>,
    /// From the start of the first run to the end of the last, in ms.
    pub duration_ms: u64,
    /// The suite was stopped: trials that had not started are missing.
    pub stopped: bool,
    /// The cost limit was reached before all trials had run.
    pub is_spent: bool,
}

/// Results of the cases of an agent.
#[derive(Debug, Clone)]
pub struct AgentReport {
    /// Name given by the user: a file, or the name of an example.
    pub label: String,
    /// Its name.
    pub name: String,
    /// Its mode.
    pub mode: Mode,
    /// Name of the model.
    pub model: String,
    /// Time at which the suite started, in Unix ms.
    pub started_ms: i64,
    /// Its chosen cases, in the order of its file.
    pub cases: Vec<CaseReport>,
    /// Names of the cases marked `skip` that were not chosen for this reason.
    pub skipped: Vec<String>,
}

/// Result of a case.
#[derive(Debug, Clone)]
pub struct CaseReport {
    /// Its name.
    pub name: String,
    /// A cassette was replayed: one trial, no model.
    pub is_replayed: bool,
    /// Its weight in the weighted pass rate.
    pub weight: f64,
    /// Its tags.
    pub tags: Vec<String>,
    /// Index among all cases of the agent, from 0.
    pub place: u32,
    /// Its trials in order.
    pub trials: Vec<TrialReport>,
}

/// Result of one run.
#[derive(Debug, Clone)]
pub struct TrialReport {
    /// Number of the trial, from 1.
    pub number: u32,
    /// Seed of the run's randomness.
    pub seed: u64,
    /// Verdict of the run.
    pub verdict: Verdict,
    /// Score from 0 to 1: the weighted share of expectations that hold, or the similarity.
    pub score: f64,
    /// Answer or failure of the run; `None` without a run, and in the reports of a suite that does not keep outcomes.
    pub outcome: Option<Outcome>,
    /// Id of its session; for a cassette the cassette's id.
    pub session: Option<String>,
    /// Duration of the trial, in ms.
    pub duration_ms: u64,
    /// Turns.
    pub turns: u32,
    /// Tokens, if counted.
    pub tokens: Option<Tokens>,
    /// Cost in the price table's unit, if known.
    pub cost: Option<f64>,
    /// Rulings of judges; their cost is not part of the trial's.
    pub rulings: Vec<Ruling>,
    /// Part of the run served from the cache; the cost includes it.
    pub from_cache: FromCache,
    /// Measures of the run, of a cassette those of its recording; `None` like the outcome.
    pub measures: Option<Box<Measures>>,
}

impl TrialReport {
    /// Returns the trial as stored in a report: texts are shrunk to fit, as a suite may have 100,000 trials.
    fn kept(self, keeps_outcome: bool) -> Self {
        let short = |mut text: String| {
            text.shrink_to_fit();
            text
        };
        let verdict = match self.verdict {
            Verdict::Pass => Verdict::Pass,
            Verdict::Fail(found) => {
                let mismatch = |one: Mismatch| Mismatch {
                    expectation: short(one.expectation),
                    path: short(one.path),
                    why: short(one.why),
                };
                let mut kept = Vec::with_capacity(found.len());
                kept.extend(found.into_iter().map(mismatch));
                Verdict::Fail(kept)
            }
            Verdict::Error(why) => Verdict::Error(short(why)),
        };
        let outcome = self.outcome.filter(|_| keeps_outcome);
        let measures = self.measures.filter(|_| keeps_outcome);
        Self { verdict, outcome, measures, session: self.session.map(short), ..self }
    }

    /// Returns the cost of the run and its judges that was paid now, as far as it is known.
    pub fn spent(&self) -> f64 {
        self.from_cache.spent(self.cost) + self.rulings.iter().map(Ruling::spent).sum::<f64>()
    }
}

/// Numbers of trials by verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// All trials.
    pub trials: u64,
    /// Trials that passed.
    pub passed: u64,
    /// Trials that failed.
    pub failed: u64,
    /// Trials that could not be tried.
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

    /// Returns whether all trials passed.
    pub fn is_pass(&self) -> bool {
        self.passed == self.trials
    }
}

impl CaseReport {
    /// Counts the trials by verdict.
    pub fn counts(&self) -> Counts {
        Counts::of(self.trials.iter())
    }
}

impl AgentReport {
    /// Returns the replies and cost that the cache served to the runs and their judges.
    pub fn from_cache(&self) -> FromCache {
        let of =
            |trial: &TrialReport| trial.rulings.iter().fold(trial.from_cache, |sum, one| sum.plus(one.from_cache()));
        self.cases.iter().flat_map(|case| &case.trials).map(of).fold(FromCache::default(), FromCache::plus)
    }

    /// Counts the trials by verdict.
    pub fn counts(&self) -> Counts {
        Counts::of(self.cases.iter().flat_map(|case| &case.trials))
    }
}

impl SuiteReport {
    /// Counts all trials by verdict.
    pub fn counts(&self) -> Counts {
        Counts::of(self.agents.iter().flat_map(|agent| &agent.cases).flat_map(|case| &case.trials))
    }

    /// Returns the number of cases marked `skip`.
    pub fn skipped(&self) -> u64 {
        self.agents.iter().map(|agent| agent.skipped.len() as u64).sum()
    }

    /// Returns the replies and cost that the cache served to the runs and their judges.
    pub fn from_cache(&self) -> FromCache {
        self.agents.iter().map(AgentReport::from_cache).fold(FromCache::default(), FromCache::plus)
    }

    /// Returns the summed usage of the judges of all trials; `None` without rulings.
    pub fn judges(&self) -> Option<JudgesUsage> {
        let trials = self.agents.iter().flat_map(|agent| &agent.cases).flat_map(|case| &case.trials);
        JudgesUsage::of(trials.flat_map(|trial| &trial.rulings))
    }

    /// Returns the weighted pass rate over the cases that were run; `None` when all weights are equal, or no case was run.
    pub fn weighted_rate(&self) -> Option<f64> {
        let cases = self.agents.iter().flat_map(|agent| &agent.cases).filter(|case| !case.trials.is_empty());
        let (mut sum, mut passed, mut weights) = (0.0, 0.0, Vec::new());
        for case in cases {
            let counts = case.counts();
            #[expect(clippy::cast_precision_loss, reason = "counts of trials")]
            let rate = counts.passed as f64 / counts.trials as f64;
            (sum, passed) = (sum + case.weight, passed + case.weight * rate);
            weights.push(case.weight);
        }
        let differ = weights.iter().any(|weight| weight.total_cmp(&weights[0]).is_ne());
        differ.then(|| passed / sum)
    }
}
