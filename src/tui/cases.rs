//! The state of the tests screen: the cases of the draft, their results, the running case. Plain data.
//!
//! In: outlines and results from the workbench, choices of the reader. Out: which case runs next. It must never run one.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::PathBuf;

use ratatui::layout::Rect;

use super::direction::Leap;
use crate::agent::DraftTexts;
use crate::workbench::suite::{CaseOutline, TestedCase};

/// Cases that run at the same time.
const JOBS: usize = 4;

/// A move or a choice on the tests screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is described by its row in the table of actions")]
pub enum Step {
    Go(Leap),
    RunOne,
    RunAll,
    Stop,
    Watch,
    Open,
    OpenFailure,
    Edit,
}

/// Something that is to be done with the cases of a draft.
#[derive(Debug, Clone, PartialEq)]
pub enum TestRequest {
    /// Read the cases of the texts of this version, whose file is in this folder; answers [`TestResponse::Listed`].
    List(u64, Box<DraftTexts>, PathBuf),
    /// Run a case of the texts; answers [`TestResponse::Tested`].
    Run {
        /// The batch of runs that it belongs to.
        batch: u64,
        /// The draft.
        texts: Box<DraftTexts>,
        /// The folder of its file, where cassettes lie.
        folder: PathBuf,
        /// The name of the case.
        name: String,
    },
}

/// The response to a [`TestRequest`].
#[derive(Debug)]
pub enum TestResponse {
    /// The cases of the texts of a version, or what is wrong with them.
    Listed(u64, Result<Vec<CaseOutline>, String>),
    /// The result of a case of a batch; `None` when it was stopped.
    Tested(u64, String, Option<Box<TestedCase>>),
}

/// A case with its latest result.
#[derive(Debug, Clone)]
pub struct CaseLine {
    /// The case.
    pub outline: CaseOutline,
    /// Its last result.
    pub result: Option<TestedCase>,
    /// The version of the draft that was tried.
    pub version: u64,
}

/// The tests screen.
#[derive(Debug, Clone, Default)]
pub struct TestBoard {
    /// The cases; `None` until they were read.
    pub cases: Option<Vec<CaseLine>>,
    /// Error of reading the cases.
    pub problem: Option<String>,
    /// The selected case.
    pub selected: usize,
    /// First visible row.
    pub top: usize,
    /// Area of the cases.
    pub area: Rect,
    /// All cases run when the draft is saved.
    pub watch: bool,
    /// A session was opened from here: closing it leads back.
    pub opened: bool,
    /// The batch that runs; results of earlier ones are dropped.
    pub batch: u64,
    /// The version of the draft that the batch tries.
    pub version: u64,
    /// Cases that run.
    pub running: Vec<String>,
    /// Cases that run next.
    pub queue: Box<CaseQueue>,
}

/// Names of cases that run next, in order. Each row of the screen asks whether its case is among them.
#[derive(Debug, Clone, Default)]
pub struct CaseQueue {
    order: VecDeque<String>,
    names: HashSet<String>,
}

impl CaseQueue {
    /// These cases.
    fn of(names: Vec<String>) -> Self {
        Self { names: names.iter().cloned().collect(), order: names.into() }
    }

    /// Takes the next one.
    fn next(&mut self) -> Option<String> {
        let name = self.order.pop_front()?;
        self.names.remove(&name);
        Some(name)
    }

    /// Returns whether a case is queued.
    pub fn contains(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Returns the number of queued cases.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Returns whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Drops all.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

impl CaseLine {
    /// Number of tool calls of its last run that were denied.
    pub fn denied_calls(&self) -> u64 {
        self.result.as_ref().map_or(0, TestedCase::denied_calls).into()
    }
}

impl TestBoard {
    /// The selected case.
    pub fn current(&self) -> Option<&CaseLine> {
        self.cases.as_ref()?.get(self.selected)
    }

    /// Takes the cases as they are now; results of cases that are still there stay.
    pub fn list(&mut self, outlines: Vec<CaseOutline>) {
        let selected = self.current().map(|line| line.outline.name.clone());
        let before = self.cases.take().unwrap_or_default().into_iter();
        let mut before: HashMap<String, CaseLine> =
            before.filter(|line| line.result.is_some()).map(|line| (line.outline.name.clone(), line)).collect();
        let line = |outline: CaseOutline| {
            let known = before.remove(&outline.name);
            let (result, version) = known.map_or((None, 0), |line| (line.result, line.version));
            CaseLine { outline, result, version }
        };
        let lines: Vec<CaseLine> = outlines.into_iter().map(line).collect();
        let place = lines.iter().position(|line| Some(&line.outline.name) == selected.as_ref());
        self.selected = place.unwrap_or(self.selected).min(lines.len().saturating_sub(1));
        (self.cases, self.problem) = (Some(lines), None);
    }

    /// Begins to run these cases of the draft of a version.
    pub fn begin(&mut self, names: Vec<String>, version: u64) {
        self.batch += 1;
        self.version = version;
        self.running.clear();
        *self.queue = CaseQueue::of(names);
    }

    /// The cases that are to be started now.
    pub fn due(&mut self) -> Vec<String> {
        let mut due = Vec::new();
        while self.running.len() < JOBS
            && let Some(name) = self.queue.next()
        {
            self.running.push(name.clone());
            due.push(name);
        }
        due
    }

    /// Stores the result of a case of the current batch.
    pub fn take(&mut self, name: &str, result: Option<TestedCase>) {
        self.running.retain(|running| running != name);
        let version = self.version;
        let line = self.cases.iter_mut().flatten().find(|line| line.outline.name == name);
        if let (Some(line), Some(result)) = (line, result) {
            (line.result, line.version) = (Some(result), version);
        }
    }

    /// Returns whether any case is running or waiting to run.
    pub fn runs(&self) -> bool {
        !self.running.is_empty() || !self.queue.is_empty()
    }

    /// Returns the numbers of cases that passed, that failed or could not be tried, and that were not run.
    pub fn counts(&self) -> (usize, usize, usize) {
        self.cases.iter().flatten().fold((0, 0, 0), |(passed, failed, rest), line| match &line.result {
            Some(result) if result.trial.verdict.is_pass() => (passed + 1, failed, rest),
            Some(_) => (passed, failed + 1, rest),
            None => (passed, failed, rest + 1),
        })
    }

    /// Checks that a step is possible now. Errors: why not.
    pub fn enabled(&self, step: Step) -> Result<(), &'static str> {
        let rule = |holds: bool, reason: &'static str| if holds { Ok(()) } else { Err(reason) };
        match step {
            Step::RunOne | Step::RunAll => rule(self.current().is_some(), "the draft has no cases"),
            Step::Stop => rule(self.runs(), "no case runs"),
            Step::Open => rule(self.current().is_some_and(|line| line.result.is_some()), "the case was not run yet"),
            Step::OpenFailure => rule(self.next_failure().is_some(), "no case failed"),
            _ => Ok(()),
        }
    }

    /// The position of the next case after the selected one that did not pass; after the last one the first.
    pub fn next_failure(&self) -> Option<usize> {
        let lines = self.cases.as_ref()?;
        let failed = |at: &usize| lines[*at].result.as_ref().is_some_and(|result| !result.trial.verdict.is_pass());
        (self.selected..lines.len()).chain(0..self.selected).find(failed)
    }
}
