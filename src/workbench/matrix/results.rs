//! Results as rows: a line of JSON per trial, for other programs and for merging the results of several machines.
//!
//! In: a matrix or a suite with its results. Out: [`ResultRow`]s in the order of the plan; from the rows of all shards, the matrix that one
//! machine would have produced. Two rows for the same trial are an error; they are never summed.

use std::collections::{HashMap, HashSet};
use std::io::BufRead;

use serde::{Deserialize, Serialize};

use super::meter::Measures;
use super::plan::Cell;
use super::plan::{MatrixAgent, MatrixPlan};
use super::run::MatrixError;
use super::state::{MatrixEvent, MatrixState, Outcome, Trial, TrialKey};
use crate::agent::{Agent, Ruling, Verdict};
use crate::workbench::suite::{EndedTrial, SuiteReport};

/// Beginning of every file of rows.
pub const RESULTS_BEGIN: &str = "{\"result\":1,";
/// Version of the row format.
const VERSION: u32 = 1;

/// Verdict of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowVerdict {
    /// The result is as expected.
    Pass,
    /// The result is not as expected.
    Fail,
    /// The trial could not be tried.
    Error,
    /// The agent cannot run in this cell; the row represents no trial.
    CannotRun,
}

/// Result of a trial as a line of JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResultRow {
    /// Version of the row format.
    pub result: u32,
    /// Agent, as it was named.
    pub agent: String,
    /// Name of the mode.
    pub mode: String,
    /// Model, as it was named.
    pub model: String,
    /// Name of the case; absent for an agent without cases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// Indexes of agent, mode, model and case in the whole plan, from 0.
    pub order: [u32; 4],
    /// Tags of the case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Weight of the case.
    pub weight: f64,
    /// Number of the trial, from 1; 0 in a row without a trial.
    pub trial: u32,
    /// Number of trials of each case in the plan.
    pub trials: u32,
    /// Seed of the plan.
    pub seed: u64,
    /// Verdict of the trial.
    pub verdict: RowVerdict,
    /// Score from 0 to 1: the weighted share of expectations that hold, or the similarity.
    pub score: f64,
    /// The reason why it did not pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Id of its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Answer or failure of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Rulings of judges.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rulings: Vec<Ruling>,
    /// Measures of the trial.
    #[serde(flatten)]
    pub measures: Measures,
}

impl ResultRow {
    /// Serializes the row as a line of JSON with its line break.
    pub fn to_line(&self) -> String {
        // Serialization cannot fail: the fields are strings, numbers and lists of them.
        serde_json::to_string(self).map_or_else(|_| String::new(), |line| line + "\n")
    }

    fn cell(&self) -> Cell {
        let unfit = (self.verdict == RowVerdict::CannotRun).then(|| self.why.clone().unwrap_or_default());
        Cell {
            agent: self.agent.clone(),
            mode: self.mode.clone(),
            model: self.model.clone(),
            case: self.case.clone(),
            unfit,
        }
    }
}

fn number(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

/// Index, tags and weight of a case.
type Marks = (u32, Vec<String>, f64);

/// Converts results of a matrix to rows; knows the indexes of its cells in the whole plan, other shards included.
#[derive(Debug)]
pub struct MatrixRows {
    /// For each cell its indexes, the tags of its case and its weight.
    cells: Vec<([u32; 4], Vec<String>, f64)>,
}

impl MatrixRows {
    /// Creates the converter for a plan.
    pub fn of(plan: &MatrixPlan) -> Self {
        let of_agent = |agent: &MatrixAgent| -> HashMap<String, Marks> {
            let cases = Agent::recorded(&agent.toml).ok().and_then(|agent| agent.cases().ok()).unwrap_or_default();
            let cases = cases.into_iter().enumerate();
            cases.map(|(place, case)| (case.name, (number(place), case.tags, case.weight))).collect()
        };
        let mut agents: HashMap<&str, (u32, HashMap<String, Marks>)> = HashMap::new();
        for (place, agent) in plan.agents.iter().enumerate() {
            agents.entry(&agent.name).or_insert_with(|| (number(place), of_agent(agent)));
        }
        // In order of first use in the cells.
        let mut modes: HashMap<&str, Vec<&str>> = HashMap::new();
        let mut models: HashMap<(&str, &str), Vec<&str>> = HashMap::new();
        let mut cells = Vec::with_capacity(plan.cells.len());
        for (place, cell) in plan.cells.iter().enumerate() {
            let known = agents.get(cell.agent.as_str());
            let mode = place_or_push(modes.entry(&cell.agent).or_default(), &cell.mode);
            let model = place_or_push(models.entry((&cell.agent, &cell.mode)).or_default(), &cell.model);
            let case = cell.case.as_ref().and_then(|name| known?.1.get(name).cloned());
            // A merged plan has no definitions; its cells are in the order of the whole plan.
            let (case, tags, weight) = case.unwrap_or_else(|| (number(place), Vec::new(), 1.0));
            let agent = known.map(|(place, _)| *place).unwrap_or_default();
            cells.push(([agent, mode, model, case], tags, weight));
        }
        Self { cells }
    }

    /// Creates a row of the cell with the index `at` in the plan; `None` if the plan has no such cell.
    fn row(&self, plan: &MatrixPlan, at: usize, trial: u32, verdict: RowVerdict) -> Option<ResultRow> {
        let (cell, (order, tags, weight)) = (plan.cells.get(at)?, self.cells.get(at)?);
        Some(ResultRow {
            result: VERSION,
            agent: cell.agent.clone(),
            mode: cell.mode.clone(),
            model: cell.model.clone(),
            case: cell.case.clone(),
            order: *order,
            tags: tags.clone(),
            weight: *weight,
            trial,
            trials: plan.trials,
            seed: plan.seed,
            verdict,
            score: 0.0,
            why: None,
            session: None,
            outcome: None,
            rulings: Vec::new(),
            measures: Measures::default(),
        })
    }

    /// Creates the row of a finished trial.
    pub fn finished(&self, plan: &MatrixPlan, trial: &Trial) -> Option<ResultRow> {
        let verdict = if trial.passed { RowVerdict::Pass } else { RowVerdict::Fail };
        Some(ResultRow {
            score: trial.score(),
            why: trial.why.clone(),
            session: Some(trial.session.clone()),
            outcome: Some(trial.outcome.clone()),
            rulings: trial.rulings.clone(),
            measures: trial.measures.clone(),
            ..self.row(plan, trial.cell, trial.trial, verdict)?
        })
    }

    /// Creates the row of a trial that could not be tried, with the reason.
    pub fn untried(&self, plan: &MatrixPlan, key: TrialKey, why: &str) -> Option<ResultRow> {
        Some(ResultRow { why: Some(why.to_owned()), ..self.row(plan, key.cell, key.trial, RowVerdict::Error)? })
    }
}

/// Returns the index of a name in a list, appending it if it is missing.
fn place_or_push<'n>(list: &mut Vec<&'n str>, name: &'n str) -> u32 {
    number(list.iter().position(|known| *known == name).unwrap_or_else(|| {
        list.push(name);
        list.len() - 1
    }))
}

/// Returns the rows of a matrix: finished trials, trials that could not be tried, and cells in which the agent cannot run.
pub fn matrix_rows(state: &MatrixState) -> impl Iterator<Item = ResultRow> {
    let (plan, with) = (&state.plan, MatrixRows::of(&state.plan));
    plan.cells.iter().enumerate().flat_map(move |(at, cell)| {
        let unfit = cell.unfit.as_ref().and_then(|why| {
            let row = with.row(plan, at, 0, RowVerdict::CannotRun)?;
            Some(ResultRow { why: Some(why.clone()), ..row })
        });
        let mut rows: Vec<ResultRow> = unfit.into_iter().collect();
        rows.extend(state.trials_of(at).filter_map(|trial| with.finished(plan, trial)));
        let of_cell = TrialKey { cell: at, trial: 0 }..TrialKey { cell: at + 1, trial: 0 };
        rows.extend(state.untried().range(of_cell).filter_map(|(key, why)| with.untried(plan, *key, why)));
        rows
    })
}

/// Creates the row of a trial of a suite. `trials`: the number of trials of each case.
pub fn suite_row(ended: &EndedTrial<'_>, trials: u32) -> ResultRow {
    let EndedTrial { agent_place, agent, case, trial } = *ended;
    ResultRow {
        result: VERSION,
        agent: agent.label.clone(),
        mode: agent.mode.name().to_owned(),
        model: agent.model.clone(),
        case: Some(case.name.clone()),
        order: [number(agent_place), 0, 0, case.place],
        tags: case.tags.clone(),
        weight: case.weight,
        trial: trial.number,
        trials: trials.max(1),
        seed: 0,
        verdict: match &trial.verdict {
            Verdict::Pass => RowVerdict::Pass,
            Verdict::Fail(_) => RowVerdict::Fail,
            Verdict::Error(_) => RowVerdict::Error,
        },
        score: trial.score,
        why: (!trial.verdict.is_pass()).then(|| trial.verdict.lines().join("\n")),
        session: trial.session.clone(),
        outcome: trial.outcome.clone(),
        rulings: trial.rulings.clone(),
        measures: Measures {
            from_cache: trial.from_cache,
            // A trial without a run has no measures but its duration.
            ..trial
                .measures
                .as_deref()
                .cloned()
                .unwrap_or(Measures { time_ms: trial.duration_ms, ..Measures::default() })
        },
    }
}

/// Returns the rows of a suite.
pub fn suite_rows(report: &SuiteReport, trials: u32) -> impl Iterator<Item = ResultRow> {
    let cases = report
        .agents
        .iter()
        .enumerate()
        .flat_map(|(place, agent)| agent.cases.iter().map(move |case| (place, agent, case)));
    let ended = cases.flat_map(|(agent_place, agent, case)| {
        case.trials.iter().map(move |trial| EndedTrial { agent_place, agent, case, trial })
    });
    ended.map(move |ended| suite_row(&ended, trials))
}

/// Reads the rows of a file. Errors: the file cannot be read, or a line is not a row.
pub fn read_result_lines(file: &str, reader: impl BufRead) -> Result<Vec<ResultRow>, MatrixError> {
    let mut rows = Vec::new();
    for (place, line) in reader.lines().enumerate() {
        let wrong = |why: String| MatrixError(format!("{file}:{}: {why}", place + 1));
        let line = line.map_err(|error| match error.kind() {
            std::io::ErrorKind::InvalidData => wrong("the line is not UTF-8 text".to_owned()),
            _ => MatrixError(format!("{file}: cannot be read: {error}")),
        })?;
        if line.trim().is_empty() {
            continue;
        }
        let row: ResultRow =
            serde_json::from_str(&line).map_err(|error| wrong(format!("invalid result row: {error}")))?;
        if row.result > VERSION {
            return Err(wrong("a newer ptc-workbench wrote this; use that version".to_owned()));
        }
        rows.push(row);
    }
    Ok(rows)
}

/// Merges the rows of several files, each with its name, into a matrix.
///
/// Errors: two rows for the same trial, or rows of different plans.
pub fn merge_rows(files: Vec<(String, Vec<ResultRow>)>) -> Result<MatrixState, MatrixError> {
    let mut seen: HashSet<(Cell, u32)> = HashSet::new();
    let mut rows: Vec<ResultRow> = Vec::new();
    let mut plan: Option<(String, u32, u64)> = None;
    for (file, of_file) in files {
        for row in of_file {
            let (first, trials, seed) = plan.get_or_insert_with(|| (file.clone(), row.trials, row.seed));
            if (*trials, *seed) != (row.trials, row.seed) {
                return Err(MatrixError(format!(
                    "{first} and {file} are of different plans: {trials} and {} trials, seeds {seed} and {}",
                    row.trials, row.seed
                )));
            }
            let is_new = seen.insert((Cell { unfit: None, ..row.cell() }, row.trial));
            match (is_new, row.verdict) {
                (true, _) => rows.push(row),
                // Every shard contains the cells in which an agent cannot run at all.
                (false, RowVerdict::CannotRun) => {}
                (false, _) => {
                    let name = row.cell().name();
                    return Err(MatrixError(format!("{file}: trial {} of {name} appears twice", row.trial)));
                }
            }
        }
    }
    drop(seen);
    rows.sort_by_key(|row| (row.order, row.trial));
    let (_, trials, seed) = plan.unwrap_or_default();
    let mut plan = MatrixPlan { agents: Vec::new(), trials, seed, cells: Vec::new() };
    let (mut finished, mut untried) = (Vec::new(), Vec::new());
    let mut places: HashMap<Cell, usize> = HashMap::new();
    for row in rows {
        let cell = row.cell();
        if plan.agents.iter().all(|agent| agent.name != cell.agent) {
            plan.agents.push(MatrixAgent { name: cell.agent.clone(), ..MatrixAgent::default() });
        }
        let place = *places.entry(cell).or_insert_with_key(|cell| {
            plan.cells.push(cell.clone());
            plan.cells.len() - 1
        });
        let key = TrialKey { cell: place, trial: row.trial };
        match row.verdict {
            RowVerdict::CannotRun => {}
            RowVerdict::Error => untried.push((key, row.why.unwrap_or_default())),
            RowVerdict::Pass | RowVerdict::Fail => finished.push(Trial {
                cell: key.cell,
                trial: key.trial,
                session: row.session.unwrap_or_default(),
                passed: row.verdict == RowVerdict::Pass,
                score: Some(row.score).filter(|score| *score > 0.0 && *score < 1.0),
                why: row.why,
                outcome: row.outcome.unwrap_or_else(|| Outcome::Fail("unknown".to_owned())),
                measures: row.measures,
                rulings: row.rulings,
            }),
        }
    }
    let mut state = MatrixState::new(plan, finished);
    for (key, why) in untried {
        state.apply(&MatrixEvent::Untried { key, why });
    }
    Ok(state)
}
