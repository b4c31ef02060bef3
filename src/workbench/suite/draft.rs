//! The cases of a draft, one at a time: inputs, expectations, and the result of a trial.
//!
//! In: the agent in the editors, the folder of its file. Out: outlines of its cases, and a [`TestedCase`] for each trial. No user is asked:
//! a run that waits for input is an error of its case.

use std::path::{Path, PathBuf};

use super::{CaseFilter, Suite, SuiteAgent, TrialReport};
use crate::agent::{Agent, Case, Diagnostic, Step, StepFold, Verdict};
use crate::event::FromCache;
use crate::port::Stop;
use crate::workbench::Workbench;

/// Outline of a case for screens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseOutline {
    /// Its name.
    pub name: String,
    /// Its inputs as JSON.
    pub inputs: String,
    /// Summary of the expectation.
    pub expected: String,
    /// The cassette that is replayed instead of calling a model.
    pub cassette: Option<String>,
}

/// Result of a case.
#[derive(Debug, Clone)]
pub struct TestedCase {
    /// Its name.
    pub name: String,
    /// The trial.
    pub trial: TrialReport,
    /// The answer as JSON, or reason and message of the failure; `None` without a run.
    pub got: Option<String>,
}

impl CaseOutline {
    /// Creates the outline of a case.
    pub fn of(case: &Case, agent: &Agent) -> Self {
        let expected = match &case.expect {
            None if case.cassette.is_some() => "as recorded".to_owned(),
            None => "an answer that fits the signature".to_owned(),
            Some(expect) => expect.outline(),
        };
        let inputs = match &case.cassette {
            Some(_) => "those of the cassette".to_owned(),
            None => case.inputs(agent).to_pretty(),
        };
        Self { name: case.name.clone(), inputs, expected, cassette: case.cassette.clone() }
    }
}

/// Maximum number of cases in a list; files may contain any number.
const LISTED: usize = 10_000;

impl Workbench {
    /// Returns the first cases of an agent whose file is in this folder, including those of case files, in order.
    ///
    /// Errors: the first invalid case.
    pub fn listed_cases(&self, agent: &Agent, folder: &Path) -> Result<Vec<Case>, Diagnostic> {
        agent.case_rows(folder, self.file_access()).take(LISTED).collect()
    }

    /// Runs one case of an agent; `None` when it was stopped.
    ///
    /// Errors: the agent cannot run, or has no case of this name.
    pub async fn try_case_of(
        &self,
        agent: &Agent,
        folder: PathBuf,
        name: &str,
        stop: &Stop,
    ) -> Result<Option<TestedCase>, Vec<Diagnostic>> {
        let with = SuiteAgent::new(&agent.name, agent, None, (folder, self.file_access()), &CaseFilter::named(name))?;
        Ok(self.try_only_case(with, name, stop).await)
    }

    /// Runs one case that was read before, without reading other rows of the agent's files; `None` when it was stopped.
    ///
    /// Errors: the agent cannot run.
    pub async fn try_listed_case(
        &self,
        agent: &Agent,
        folder: PathBuf,
        case: Case,
        stop: &Stop,
    ) -> Result<Option<TestedCase>, Vec<Diagnostic>> {
        let name = case.name.clone();
        let with = SuiteAgent::of_case(agent, (folder, self.file_access()), case)?;
        Ok(self.try_only_case(with, &name, stop).await)
    }

    async fn try_only_case(&self, with: SuiteAgent, name: &str, stop: &Stop) -> Option<TestedCase> {
        let suite = Suite { agents: vec![with], model: None, trials: 1, pace: 1.into(), keeps_outcomes: true };
        let report = self.run_suite(&suite, stop, &mut |_| {}).await;
        let trial = report.agents.into_iter().flat_map(|agent| agent.cases).flat_map(|case| case.trials).next();
        trial.map(|trial| {
            let got = trial.session.as_deref().and_then(|session| self.answer_of(session));
            TestedCase { name: name.to_owned(), trial, got }
        })
    }

    /// Returns the Step of a session's last run; `None` if the session is not on this machine.
    pub fn step_of(&self, session: &str) -> Option<Step> {
        let session = self.open_session(session).ok()?;
        let mut fold = StepFold::default();
        session.events().for_each(|envelope| fold.apply(&envelope));
        Some(fold.step())
    }

    /// Returns the answer of the last run of a session, or its failure.
    fn answer_of(&self, session: &str) -> Option<String> {
        let session = self.open_session(session).ok()?;
        let run = session.skeleton().last()?;
        let pretty =
            |text: &String| ptc_core::value::json::parse(text).map_or_else(|_| text.clone(), |json| json.to_pretty());
        let failed = run.fail.as_ref().map(|(reason, message)| format!("✗ {reason}: {message}"));
        run.answer.as_ref().map(pretty).or(failed)
    }
}

impl TestedCase {
    /// Number of tool calls that were denied: no user is asked while a case runs.
    pub fn denied_calls(&self) -> u32 {
        self.trial.measures.as_ref().map_or(0, |measures| measures.denied)
    }

    /// Creates the result of a case that could not be tried.
    pub fn untried(name: &str, why: String) -> Self {
        let trial = TrialReport {
            number: 1,
            seed: 0,
            verdict: Verdict::Error(why),
            score: 0.0,
            outcome: None,
            session: None,
            duration_ms: 0,
            turns: 0,
            tokens: None,
            cost: None,
            rulings: Vec::new(),
            from_cache: FromCache::default(),
            measures: None,
        };
        Self { name: name.to_owned(), trial, got: None }
    }
}
