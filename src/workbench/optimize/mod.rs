//! `optimize`: a reflective search for better texts of an agent. Candidates are tried on cases; a model reads the failed runs and proposes
//! another text for a part of the agent; a candidate that is better on a minibatch is tried on all validation cases.
//!
//! In: an [`OptimizeJob`]. Out: a folder with a journal and an agent file for each candidate; each try is a session. A search that was
//! stopped or killed resumes from its journal. It must never change the agent's own file, its signature or its cases, and never show a
//! held-out case to the proposer.

mod apply;
mod components;
mod edits;
mod examples;
mod follow;
mod journal;
mod outline;
#[cfg(test)]
mod property;
mod propose;
mod search;
mod suggest;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use components::{check, texts_of, with_texts};
use examples::{MOST_EXAMPLES, block};
use journal::{End, Entry, Journal, VERSION};
use propose::{ProposerFailure, Request, example, report, step_of};

use crate::agent::{Agent, Case, CheckedCase, Verdict};
use crate::config::create_private_dir;
use crate::event::hex_sha;
use crate::port::Stop;
use crate::workbench::Workbench;
use crate::workbench::files::write_whole_private;
use crate::workbench::matrix::{Pace, mcnemar_exact};
use crate::workbench::suite::{CaseFilter, EndedTrial, Suite, SuiteAgent, TrialReport};

pub use apply::{AgentChanges, Hunk};
pub use components::{Component, Texts};
pub use edits::{SuggestedEdit, edits};
pub use examples::Example;
pub use follow::SearchReader;
pub use journal::{Progress, Proposal, Start, Try, candidate_file};
pub use outline::{CandidateCase, CandidateDetail, CandidateLine, CasePart, SearchOutline};
pub use search::{Action, Candidate, CandidateStatus, CaseScore, Ending, Outcome, Search, Settings};
pub use suggest::{SuggestRequest, SuggestSpec, Suggestion};

/// Minimum number of cases of a search.
const FEWEST_CASES: usize = 4;
/// Minimum number of cases for disjoint training and validation cases; with fewer, a part would lack some kinds of tasks.
const SPLIT_FROM: usize = 24;
/// One of this many cases is held out.
const HELD_OUT_SHARE: usize = 5;

/// Settings of a search to run.
#[derive(Debug, Clone)]
pub struct OptimizeJob {
    /// The agent file as the user named it, and its text.
    pub file: (String, String),
    /// The agent in its mode.
    pub agent: Agent,
    /// The folder of the agent file, for files of cases.
    pub folder: PathBuf,
    /// Filter for the cases of the search.
    pub filter: CaseFilter,
    /// The model of the runs; the agent's own when absent.
    pub model: Option<String>,
    /// The model that proposes texts; that of the runs when absent.
    pub reflect_model: Option<String>,
    /// The folder of the search; a search that is in it already is continued.
    pub dir: PathBuf,
    /// Seed, minibatch and budgets; its lists of cases are ignored.
    pub settings: Settings,
    /// Number of concurrent runs.
    pub jobs: usize,
    /// Time limit of this process; the search can be continued afterwards.
    pub most_time: Option<Duration>,
}

/// Error of starting, continuing or reading a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptimizeError(pub String);

impl std::fmt::Display for OptimizeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OptimizeError {}

/// Callback for each outcome, with the search after it.
pub type Watch<'a> = &'a mut (dyn FnMut(&Action, &Progress) + Send);

impl Workbench {
    /// Reads the search in a folder from its journal. Errors: there is none, or it cannot be read.
    pub fn read_optimization(&self, dir: &Path) -> Result<Progress, OptimizeError> {
        Progress::of(journal::entries_after(dir, End::default())?.0, None)
    }

    /// Runs or continues a search until it ends, a budget is used up or it is stopped; [`Progress::ending`] has the reason. Errors: there
    /// are too few cases; the folder contains another search or cannot be written; no run could be started.
    pub async fn optimize(&self, job: &OptimizeJob, stop: &Stop, watch: Watch<'_>) -> Result<Progress, OptimizeError> {
        let cases = self.cases_of(job)?;
        let start = self.start_of(job, &cases);
        create_private_dir(&job.dir.join("candidates")).map_err(|error| of_folder(&job.dir, &error))?;
        let (journal, entries) = Journal::open(&job.dir)?;
        let until = job.most_time.and_then(|most| Instant::now().checked_add(most));
        let pace = Pace { jobs: job.jobs, until, ..Pace::default() };
        let mut run = OptimizeRun { workbench: self.sharing_adapters(), job, cases, journal, pace };
        let mut progress = if entries.is_empty() {
            run.add(&Entry::Start(Box::new(start.clone())))?;
            Progress::begin(start, &job.settings)
        } else {
            let progress = Progress::of(entries, Some(&job.settings))?;
            refuse_other(&progress.start, &start, &job.dir)?;
            progress
        };
        loop {
            let action = progress.search.next_action();
            let outcome = match &action {
                Action::Finish(ending) => {
                    let ended = (*ending, progress.search.ended_after().unwrap_or_default());
                    if progress.ended.replace(ended) != Some(ended) {
                        run.add(&Entry::Ended { ending: ended.0, outcomes: ended.1 })?;
                    }
                    progress.ending = Some(*ending);
                    return Ok(progress);
                }
                _ if pace.is_late() || stop.reason().is_some() => return Ok(progress),
                Action::Try { candidate, cases } => run.tries(&mut progress, *candidate, cases, stop).await?,
                Action::Propose { .. } => run.proposal(&mut progress, &action, stop).await?,
            };
            let Some(outcome) = outcome else { return Ok(progress) };
            progress.record(outcome)?;
            watch(&action, &progress);
        }
    }

    /// Returns the chosen cases without a cassette. Errors: one of them is invalid, or there are too few.
    fn cases_of(&self, job: &OptimizeJob) -> Result<BTreeMap<String, Case>, OptimizeError> {
        let found = |message: String| OptimizeError(format!("{}: {message}", job.file.0));
        let rows = job.agent.case_rows(&job.folder, self.file_access()).checked();
        let all = rows.collect::<Result<Vec<CheckedCase>, _>>().map_err(|error| found(error.message))?;
        let selection = crate::workbench::suite::Selection::of(all.iter().cloned().map(Ok), &job.filter)
            .map_err(|error| found(error.message))?;
        let all = all.into_iter().map(|checked| checked.case).collect();
        let cases = selection.choose(all).into_iter().filter(|case| case.cassette.is_none());
        let cases: BTreeMap<String, Case> = cases.map(|case| (case.name.clone(), case)).collect();
        if cases.len() < FEWEST_CASES {
            return Err(found(format!(
                "a search needs {FEWEST_CASES} cases or more without cassettes, and there are {}: write [[cases]], or `cases = [\"FILE\"]`",
                cases.len()
            )));
        }
        Ok(cases)
    }

    /// Returns the settings of a search, with its cases divided into parts. The division depends on the seed and the names of the cases.
    fn start_of(&self, job: &OptimizeJob, cases: &BTreeMap<String, Case>) -> Start {
        let seed = job.settings.seed;
        let mut names: Vec<&String> = cases.keys().collect();
        names.sort_by_key(|name| Sha256::digest(format!("{seed}\0{name}")));
        let (held_out, rest) = names.split_at((names.len() / HELD_OUT_SHARE).max(1));
        let half = if names.len() < SPLIT_FROM { 0 } else { rest.len() / 2 };
        let named = |part: &[&String]| -> Vec<String> {
            let mut part: Vec<String> = part.iter().map(|name| (*name).clone()).collect();
            part.sort();
            part
        };
        let training = if half == 0 { rest } else { &rest[..half] };
        Start {
            version: VERSION,
            agent: job.file.0.clone(),
            file: std::path::absolute(&job.file.0).ok().and_then(|path| path.to_str().map(str::to_owned)),
            sha: hex_sha(job.file.1.as_bytes()),
            mode: job.agent.mode.name().to_owned(),
            model: self.model_name(job.model.as_deref(), &job.agent),
            reflect_model: job
                .reflect_model
                .clone()
                .unwrap_or_else(|| self.model_name(job.model.as_deref(), &job.agent)),
            seed,
            batch: job.settings.batch,
            training: named(training),
            validation: named(&rest[half..]),
            held_out: named(held_out),
            texts: texts_of(&job.agent),
        }
    }
}

/// A candidate compared with the original agent on the same cases.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Gain {
    /// The number of cases.
    pub cases: usize,
    /// Mean score of the original agent.
    pub before: f64,
    /// Mean score of the candidate.
    pub after: f64,
    /// Number of cases that only the candidate passes.
    pub won: u32,
    /// Number of cases that only the original agent passes.
    pub lost: u32,
    /// The two-sided probability of such a split by chance (`McNemar`'s exact test).
    pub probability: f64,
}

impl Progress {
    /// Compares a candidate with the original agent; `None` while a result is missing, or without cases.
    pub fn gain(&self, candidate: usize, cases: &[String]) -> Option<Gain> {
        let (before, after) = (self.search.mean(0, cases)?, self.search.mean(candidate, cases)?);
        let (won, lost) = self.search.won_and_lost(candidate, 0, cases);
        Some(Gain { cases: cases.len(), before, after, won, lost, probability: mcnemar_exact(won, lost) })
    }
}

fn of_folder(dir: &Path, error: &std::io::Error) -> OptimizeError {
    OptimizeError(format!("{}: {error}", dir.display()))
}

/// Checks that a search in a folder can be continued. Errors: it is of another agent, or has other settings.
fn refuse_other(known: &Start, wanted: &Start, dir: &Path) -> Result<(), OptimizeError> {
    let differing = [
        ("another agent file, or one that has changed", known.sha != wanted.sha),
        ("another mode", known.mode != wanted.mode),
        ("another model", known.model != wanted.model),
        ("another model for proposals", known.reflect_model != wanted.reflect_model),
        ("another seed", known.seed != wanted.seed),
        ("another minibatch", known.batch != wanted.batch),
        ("other cases", known != &Start { agent: known.agent.clone(), file: known.file.clone(), ..wanted.clone() }),
    ];
    match differing.iter().find(|(_, differs)| *differs) {
        Some((what, _)) => Err(OptimizeError(format!(
            "{}: a search was begun here with {what}; choose another folder with --dir",
            dir.display()
        ))),
        None => Ok(()),
    }
}

/// A running search.
struct OptimizeRun<'j> {
    workbench: Workbench,
    job: &'j OptimizeJob,
    cases: BTreeMap<String, Case>,
    journal: Journal,
    pace: Pace,
}

impl OptimizeRun<'_> {
    fn add(&mut self, entry: &Entry) -> Result<(), OptimizeError> {
        self.journal.add(entry).map_err(|error| of_folder(&self.job.dir, &error))
    }

    /// Runs a candidate on those of the cases that are not in the journal; `None` when it was stopped.
    async fn tries(
        &mut self,
        progress: &mut Progress,
        candidate: usize,
        cases: &[String],
        stop: &Stop,
    ) -> Result<Option<Outcome>, OptimizeError> {
        let agent = with_texts(&self.job.agent, &progress.search.candidates()[candidate].texts);
        let file = candidate_file(&self.job.dir, candidate);
        if !file.exists() {
            let text = agent.rewrite_with(&self.job.file.1, &self.job.file.0, self.workbench.file_access());
            write_whole_private(&file, text.as_bytes()).map_err(|error| of_folder(&file, &error))?;
        }
        let due = cases.iter().filter(|case| !progress.tries.contains_key(&(candidate, (*case).clone())));
        let names: BTreeSet<String> = due.cloned().collect();
        if names.is_empty() {
            return Ok(progress.tried(candidate, cases));
        }
        let filter = CaseFilter { names: Some(names), ..CaseFilter::default() };
        let place = (self.job.folder.clone(), self.workbench.file_access());
        let with_cases = SuiteAgent::new(&self.job.file.0, &agent, None, place, &filter).map_err(|found| {
            OptimizeError(found.iter().map(|found| found.message.clone()).collect::<Vec<_>>().join("; "))
        })?;
        let model = self.job.model.clone();
        let suite = Suite { agents: vec![with_cases], model, trials: 1, pace: self.pace, keeps_outcomes: false };
        if progress.tries.is_empty() {
            self.workbench.check_suite(&suite).map_err(|error| OptimizeError(error.to_string()))?;
        }
        let (workbench, training, known) = (self.workbench.clone(), &progress.start.training, &self.cases);
        let (mut failed, mut unjudged, mut ended) = (None, None, Vec::new());
        let (journal, outcomes) = (&mut self.journal, progress.search.outcomes());
        let mut keep = |EndedTrial { case, trial, .. }: EndedTrial<'_>| {
            let of_training = known.get(&case.name).filter(|case| training.contains(&case.name));
            let read = of_training.map(|case| {
                let session = trial.session.as_deref().and_then(|id| workbench.open_session(id).ok());
                let step = session.as_ref().map(step_of);
                let example = step.as_ref().and_then(|step| example(&agent, case, &trial.verdict, step));
                (report(&agent, case, &trial.verdict, step.as_ref()), example)
            });
            let one = tried(candidate, &case.name, trial, read);
            let problem = error_of(&trial.verdict);
            let entry = match &problem {
                Some(_) => Entry::Failed { outcomes, calls: one.calls, cost: one.cost },
                None => Entry::Try(one.clone()),
            };
            if let Err(error) = journal.add(&entry) {
                failed.get_or_insert(error);
            }
            match problem {
                Some(why) => {
                    unjudged.get_or_insert_with(|| format!("the case `{}` could not be judged: {why}", case.name));
                }
                None => ended.push(one),
            }
        };
        self.workbench.run_suite(&suite, stop, &mut keep).await;
        progress.tries.extend(ended.into_iter().map(|one| ((candidate, one.case.clone()), one)));
        match (failed, unjudged) {
            (Some(error), _) => Err(of_folder(&self.job.dir, &error)),
            (None, Some(why)) => Err(OptimizeError(format!("{why}; the same command continues the search"))),
            (None, None) => Ok(progress.tried(candidate, cases)),
        }
    }

    /// Requests a proposal; `None` when it was stopped.
    async fn proposal(
        &mut self,
        progress: &mut Progress,
        action: &Action,
        stop: &Stop,
    ) -> Result<Option<Outcome>, OptimizeError> {
        let Action::Propose { parent, component, failures, passes } = action else { return Ok(None) };
        if *component == Component::Examples {
            let proposal = self.with_examples(progress, *parent, passes);
            return self.proposed(progress, proposal).map(Some);
        }
        let texts = &progress.search.candidates()[*parent].texts;
        let agent = with_texts(&self.job.agent, texts);
        let reports = |cases: &[String]| -> Vec<Value> {
            let known = cases.iter().filter_map(|case| progress.tries.get(&(*parent, case.clone())));
            known.filter_map(|one| one.report.clone()).collect()
        };
        let text = texts.get(component).map_or("", String::as_str);
        let (failures, passes) = (reports(failures), reports(passes));
        let request = Request { parent: *parent, component: component.clone(), text, failures, passes };
        let model = self.job.reflect_model.as_deref().or(self.job.model.as_deref()).or(self.job.agent.model.as_deref());
        let trial = format!("proposal {}", progress.proposals.len() + 1);
        let asked = self.workbench.propose(&agent, model, (request, trial), stop).await;
        let ProposerFailure { why, calls, cost } = match asked {
            Ok(None) => return Ok(None),
            Ok(Some(proposal)) => return self.proposed(progress, proposal).map(Some),
            Err(failure) => failure,
        };
        self.add(&Entry::Failed { outcomes: progress.search.outcomes(), calls, cost })?;
        Err(OptimizeError(format!("the proposer could not be asked: {why}; the same command continues the search")))
    }

    /// Proposes a block of examples: runs of these cases that the candidate or its nearest ancestor solved. No model is called.
    fn with_examples(&self, progress: &Progress, parent: usize, cases: &[String]) -> Proposal {
        let lineage: Vec<usize> = progress.search.ancestors(parent).into_iter().rev().collect();
        let solved = |case: &String| {
            let tries = lineage.iter().filter_map(|one| progress.tries.get(&(*one, case.clone())));
            tries.filter(|one| one.passed).find_map(|one| one.example.clone())
        };
        let (names, examples): (Vec<&String>, Vec<Example>) =
            cases.iter().filter_map(|case| Some((case, solved(case)?))).take(MOST_EXAMPLES).unzip();
        let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
        let agent = with_texts(&self.job.agent, &progress.search.candidates()[parent].texts);
        let made = match block(&examples) {
            Some(text) => check(&agent, &Component::Examples, "", &text).map(|()| text),
            None => Err("no solved training case is short enough for an example".to_owned()),
        };
        let (text, reason) = match made {
            Ok(text) => (Some(text), format!("shows the solved training cases {}", names.join(", "))),
            Err(why) => (None, why),
        };
        Proposal { parent, component: Component::Examples, text, reason, session: None, calls: 0, cost: 0.0 }
    }

    fn proposed(&mut self, progress: &mut Progress, proposal: Proposal) -> Result<Outcome, OptimizeError> {
        self.add(&Entry::Proposal(proposal.clone()))?;
        let outcome = proposal.outcome();
        progress.proposals.push(proposal);
        Ok(outcome)
    }
}

/// Creates the journal entry of a trial.
fn tried(candidate: usize, case: &str, trial: &TrialReport, read: Option<(Value, Option<Example>)>) -> Try {
    let (report, example) = read.map_or((None, None), |(report, example)| (Some(report), example));
    Try {
        candidate,
        case: case.to_owned(),
        score: trial.score,
        passed: trial.verdict.is_pass(),
        session: trial.session.clone(),
        calls: u64::from(trial.turns),
        cost: trial.spent(),
        report,
        example,
    }
}

/// Returns the reason why a trial could not be judged, if it could not.
fn error_of(verdict: &Verdict) -> Option<String> {
    match verdict {
        Verdict::Error(why) => Some(why.clone()),
        Verdict::Pass | Verdict::Fail(_) => None,
    }
}
