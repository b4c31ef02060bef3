//! The journal of a search, `journal.jsonl` in its folder: its settings, then each try and each proposal, written as soon as it is known.
//!
//! In: entries. Out: the search as recorded, including the tries of an action that was interrupted. A line cut by a crash is dropped. It
//! must never contain an expectation or a text of a held-out case.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::OptimizeError;
use super::components::{Component, Texts};
use super::examples::Example;
use super::search::{Action, CaseScore, Ending, Outcome, Search, Settings};
use crate::config::private_options;

/// File name of the journal.
const FILE: &str = "journal.jsonl";
/// Version of the journal format.
pub(super) const VERSION: u32 = 1;
/// Maximum length of a journal, in bytes.
const MOST_BYTES: u64 = 1024 * 1024 * 1024;

/// The first line: the settings of the search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// Version of the journal.
    pub version: u32,
    /// The agent file, as it was named.
    pub agent: String,
    /// Its absolute path, for commands run in another folder; absent in journals of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// SHA-256 of the agent file's text, hexadecimal.
    pub sha: String,
    /// The mode.
    pub mode: String,
    /// The model of the runs.
    pub model: String,
    /// The model that proposes texts.
    pub reflect_model: String,
    /// Seed of all random choices.
    pub seed: u64,
    /// Number of cases in a minibatch.
    pub batch: usize,
    /// Names of the training cases.
    pub training: Vec<String>,
    /// Names of the validation cases.
    pub validation: Vec<String>,
    /// Names of the held-out cases.
    pub held_out: Vec<String>,
    /// The changeable texts of the agent.
    pub texts: BTreeMap<Component, String>,
}

/// A run of a candidate on a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Try {
    /// The candidate's number.
    pub candidate: usize,
    /// The case.
    pub case: String,
    /// Score, from 0 to 1.
    pub score: f64,
    /// The case passed.
    pub passed: bool,
    /// Id of its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Number of requests to models.
    pub calls: u64,
    /// The cost that was paid.
    pub cost: f64,
    /// Report for the proposer; only of a training case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<serde_json::Value>,
    /// Run as an example; only of a training case that passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example: Option<Example>,
}

/// Answer of the proposer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    /// The candidate to change.
    pub parent: usize,
    /// The text to change.
    pub component: Component,
    /// The new text; absent when it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The proposer's reason, or the reason for the refusal.
    pub reason: String,
    /// Id of the proposer's session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Number of requests to models.
    pub calls: u64,
    /// The cost that was paid.
    pub cost: f64,
}

/// A line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "k", rename_all = "snake_case")]
pub(super) enum Entry {
    /// The first line.
    Start(Box<Start>),
    /// A run.
    Try(Try),
    /// A proposal.
    Proposal(Proposal),
    /// Paid requests without an outcome: of a run that could not be judged, or of a proposer that failed.
    Failed {
        /// Number of outcomes before it.
        outcomes: usize,
        /// Number of requests to models.
        calls: u64,
        /// The cost that was paid.
        cost: f64,
    },
    /// The search ended; later outcomes are tries of held-out cases. Continuing the search ignores this entry.
    Ended {
        /// The reason.
        ending: Ending,
        /// Number of outcomes before it.
        outcomes: usize,
    },
}

/// A journal opened and locked for writing.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
}

impl Journal {
    /// Opens or creates the journal in an existing folder, and reads it. Text after the last complete line is removed. Errors: it cannot be
    /// read or written, a line is invalid, another program writes it.
    pub(super) fn open(dir: &Path) -> Result<(Self, Vec<Entry>), OptimizeError> {
        let path = dir.join(FILE);
        let file = private_options()
            .read(true)
            .append(true)
            .create(true)
            .open(&path)
            .map_err(|error| unusable(&path, &error))?;
        if file.try_lock().is_err() {
            return Err(OptimizeError(format!("{}: another program is running this search", path.display())));
        }
        let (entries, end) = read(&file, &path, End::default())?;
        file.set_len(end.bytes).map_err(|error| unusable(&path, &error))?;
        Ok((Self { file }, entries))
    }

    /// Appends a line and syncs it to disk.
    pub(super) fn add(&mut self, entry: &Entry) -> io::Result<()> {
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        self.file.write_all(&line)?;
        self.file.sync_data()
    }
}

/// A position in a journal, after a complete line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct End {
    /// Number of bytes before it.
    pub(super) bytes: u64,
    /// Number of lines before it.
    lines: usize,
}

/// Reads the entries after a position; returns the position after them too. Errors: there is no journal, or a line is invalid.
pub(super) fn entries_after(dir: &Path, after: End) -> Result<(Vec<Entry>, End), OptimizeError> {
    let path = dir.join(FILE);
    match OpenOptions::new().read(true).open(&path) {
        Ok(file) => read(&file, &path, after),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Err(OptimizeError(format!(
                "{}: this folder contains no search; `ptc-workbench optimize AGENT.toml` starts one",
                dir.display()
            )))
        }
        Err(error) => Err(unusable(&path, &error)),
    }
}

/// Returns the first line of a journal and the journal's length in bytes. Errors: it cannot be read.
pub(super) fn head(dir: &Path) -> Result<(String, u64), OptimizeError> {
    let path = dir.join(FILE);
    let read = || {
        let file = File::open(&path)?;
        let length = file.metadata()?.len();
        let mut line = String::new();
        io::BufReader::new(file.take(MOST_BYTES)).read_line(&mut line)?;
        Ok((line, length))
    };
    read().map_err(|error| unusable(&path, &error))
}

/// Reads the entries after a position; returns the position after the last complete line too.
fn read(file: &File, path: &Path, after: End) -> Result<(Vec<Entry>, End), OptimizeError> {
    let length = file.metadata().map_err(|error| unusable(path, &error))?.len();
    if length > MOST_BYTES {
        return Err(OptimizeError(format!("{}: the journal is longer than {MOST_BYTES} bytes", path.display())));
    }
    let mut bytes = Vec::new();
    let mut reader = file;
    let read = reader.seek(io::SeekFrom::Start(after.bytes)).and_then(|_| reader.read_to_end(&mut bytes));
    read.map_err(|error| unusable(path, &error))?;
    // A line cut by a crash may end inside a UTF-8 character: only complete lines are decoded.
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    bytes.truncate(whole);
    let text = String::from_utf8(bytes).map_err(|error| unusable(path, &io::Error::other(error)))?;
    let parse = |(number, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| {
            let number = after.lines + number + 1;
            OptimizeError(format!("{}: line {number}: invalid journal line: {error}", path.display()))
        })
    };
    let entries = text.lines().enumerate().map(parse).collect::<Result<Vec<_>, _>>()?;
    let end = End { bytes: after.bytes + whole as u64, lines: after.lines + entries.len() };
    Ok((entries, end))
}

fn unusable(path: &Path, error: &io::Error) -> OptimizeError {
    OptimizeError(format!("{}: {error}", path.display()))
}

/// A search restored from its journal.
#[derive(Debug)]
pub struct Progress {
    /// Settings of the search.
    pub start: Start,
    /// The search.
    pub search: Search,
    /// All runs, by candidate and case.
    pub tries: BTreeMap<(usize, String), Try>,
    /// All proposals, in order.
    pub proposals: Vec<Proposal>,
    /// Proposals of the journal that are not applied to the search yet.
    due: VecDeque<Proposal>,
    /// The reason why it ended; `None` if it has not ended.
    pub ending: Option<Ending>,
    /// The last end entry of the journal: the reason, and the number of outcomes before it.
    pub(super) ended: Option<(Ending, usize)>,
    /// Requests and cost without an outcome, by the number of outcomes before them.
    failed: BTreeMap<usize, (u64, f64)>,
}

impl Progress {
    /// Starts a new search.
    pub(super) fn begin(start: Start, limits: &Settings) -> Self {
        let settings = Settings {
            seed: start.seed,
            batch: start.batch,
            training: start.training.clone(),
            validation: start.validation.clone(),
            held_out: start.held_out.clone(),
            ..limits.clone()
        };
        let texts: Texts = start.texts.clone();
        Self {
            search: Search::new(settings, texts),
            start,
            tries: BTreeMap::new(),
            proposals: Vec::new(),
            due: VecDeque::new(),
            ending: None,
            ended: None,
            failed: BTreeMap::new(),
        }
    }

    /// Rebuilds a search from its journal: to continue it within `limits`, or as it ended with `None`. Errors: the entries do not belong to
    /// one search.
    pub(super) fn of(entries: Vec<Entry>, limits: Option<&Settings>) -> Result<Self, OptimizeError> {
        let mut entries = entries.into_iter();
        let Some(Entry::Start(start)) = entries.next() else {
            return Err(OptimizeError("the journal does not begin with its settings".to_owned()));
        };
        if start.version != VERSION {
            return Err(OptimizeError(format!(
                "the journal has version {}, and this program reads {VERSION}",
                start.version
            )));
        }
        let unlimited = Settings { most_candidates: usize::MAX, ..Settings::default() };
        let mut progress = Self::begin(*start, limits.unwrap_or(&unlimited));
        progress.collect(entries)?;
        let ended = progress.ended.filter(|_| limits.is_none());
        if let Some((ending, outcomes)) = ended {
            progress.search.end_after(outcomes, ending);
        }
        progress.catch_up()?;
        Ok(progress)
    }

    /// Adds new lines of the journal, except for end entries, which only [`Progress::of`] applies. Errors: the lines do not belong to this
    /// search.
    pub(super) fn extend(&mut self, entries: Vec<Entry>) -> Result<(), OptimizeError> {
        self.collect(entries)?;
        self.catch_up()
    }

    fn collect(&mut self, entries: impl IntoIterator<Item = Entry>) -> Result<(), OptimizeError> {
        for entry in entries {
            match entry {
                Entry::Start(_) => return Err(OptimizeError("the journal has its settings twice".to_owned())),
                Entry::Try(one) => drop(self.tries.insert((one.candidate, one.case.clone()), one)),
                Entry::Proposal(one) => self.due.push_back(one),
                Entry::Failed { outcomes, calls, cost } => {
                    let sum = self.failed.entry(outcomes).or_default();
                    *sum = (sum.0 + calls, sum.1 + cost);
                }
                Entry::Ended { ending, outcomes } => self.ended = Some((ending, outcomes)),
            }
        }
        Ok(())
    }

    /// Records the known outcomes; stops at the first action without one.
    fn catch_up(&mut self) -> Result<(), OptimizeError> {
        loop {
            if let Some((calls, cost)) = self.failed.remove(&self.search.outcomes()) {
                self.search.charge(calls, cost);
            }
            let action = self.search.next_action();
            let outcome = match &action {
                Action::Try { candidate, cases } => self.known(*candidate, cases).map(Outcome::Tried),
                Action::Propose { parent, component, .. } => match self.due.pop_front() {
                    Some(one) if one.parent == *parent && one.component == *component => {
                        let outcome = one.outcome();
                        self.proposals.push(one);
                        Some(outcome)
                    }
                    Some(one) => {
                        return Err(OptimizeError(format!(
                            "the journal changes {} of c{:02} where this search changes {component} of c{parent:02}: it was made by another version",
                            one.component, one.parent
                        )));
                    }
                    None => None,
                },
                Action::Finish(ending) => {
                    self.ending = Some(*ending);
                    None
                }
            };
            let Some(outcome) = outcome else { return Ok(()) };
            self.search.record(outcome).map_err(OptimizeError)?;
        }
    }

    /// Returns the results of these runs, if all are known.
    fn known(&self, candidate: usize, cases: &[String]) -> Option<Vec<(String, CaseScore)>> {
        let one = |case: &String| Some((case.clone(), self.tries.get(&(candidate, case.clone()))?.score()));
        cases.iter().map(one).collect()
    }

    /// Records the outcome of an action.
    pub(super) fn record(&mut self, outcome: Outcome) -> Result<(), OptimizeError> {
        self.search.record(outcome).map_err(OptimizeError)
    }

    /// Returns the outcome of the runs of an action, if all are known.
    pub(super) fn tried(&self, candidate: usize, cases: &[String]) -> Option<Outcome> {
        self.known(candidate, cases).map(Outcome::Tried)
    }
}

impl Try {
    /// Returns the result, with the score rounded to six digits: a score read from the journal is equal to the one written.
    fn score(&self) -> CaseScore {
        let score = (self.score * 1e6).round() / 1e6;
        CaseScore { score, passed: self.passed, calls: self.calls, cost: self.cost }
    }
}

impl Proposal {
    /// Returns the outcome for the search.
    pub(super) fn outcome(&self) -> Outcome {
        let proposal = match &self.text {
            Some(text) => Ok((text.clone(), self.reason.clone())),
            None => Err(self.reason.clone()),
        };
        Outcome::Proposed(proposal, self.calls, self.cost)
    }
}

/// Returns the path of a candidate's agent file in the folder of a search.
pub fn candidate_file(dir: &Path, candidate: usize) -> PathBuf {
    dir.join("candidates").join(format!("c{candidate:02}.toml"))
}
