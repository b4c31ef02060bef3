//! Baselines: results of a matrix saved in a file, and the comparison of later results with them.
//!
//! In: current reports, a baseline. Out: one [`Change`] per cell. A cell is worse or better by its verdicts only; turns, tokens, costs and
//! times are reported and never count as worse.
//!
//! A cell is **worse** when all its trials passed in the baseline and one does not now, when its pass rate is below the lower end of the
//! baseline's interval, or when the agent cannot run there any more. It is **better** when all its trials pass now and not all did in the
//! baseline, or when its pass rate is above the upper end of the baseline's interval.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::chance::wilson;
use super::plan::{Cell, called};
use super::report::CellReport;
use super::state::Outcome;
use crate::workbench::files::write_whole;

const FORMAT: &str = "ptc-workbench-baseline";
const VERSION: u32 = 1;

/// Error of reading, comparing or writing a baseline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaselineError(pub String);

impl std::fmt::Display for BaselineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BaselineError {}

/// The results of a matrix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    format: String,
    version: u32,
    /// The matrix's id.
    pub matrix: String,
    /// The results of the cells.
    pub cells: Vec<BaselineCell>,
}

/// The results of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BaselineCell {
    /// The cell.
    #[serde(flatten)]
    pub cell: Cell,
    /// Finished trials.
    pub trials: u32,
    /// Finished trials that passed.
    pub passed: u32,
    /// Distinct outcomes.
    pub outcomes: Vec<Outcome>,
    /// Mean number of turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<f64>,
    /// Mean of input and output tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<f64>,
    /// Mean cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Median time without waiting, in ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<u64>,
}

impl From<&CellReport> for BaselineCell {
    fn from(report: &CellReport) -> Self {
        Self {
            cell: report.cell.clone(),
            trials: report.trials,
            passed: report.passed,
            outcomes: report.answers.iter().map(|group| group.outcome.clone()).collect(),
            turns: report.turns,
            tokens: report.input.zip(report.output).map(|(input, output)| input + output),
            cost: report.cost,
            time_ms: report.time_ms,
        }
    }
}

impl Baseline {
    /// Beginning of every baseline file, to recognise one.
    pub const BEGINS: &str = "{\n  \"format\": \"ptc-workbench-baseline\"";

    /// Creates the baseline of a matrix.
    pub fn of(matrix: &str, reports: &[CellReport]) -> Self {
        let cells = reports.iter().map(BaselineCell::from).collect();
        Self { format: FORMAT.to_owned(), version: VERSION, matrix: matrix.to_owned(), cells }
    }

    /// Reads a baseline. Agent names of older versions, stored as typed, are normalised by [`called`].
    pub fn read(path: &Path) -> Result<Self, BaselineError> {
        let wrong = |why: String| BaselineError(format!("{}: {why}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                wrong("the baseline is missing; --save-baseline FILE writes one".to_owned())
            }
            _ => wrong(format!("cannot be read: {error}")),
        })?;
        let mut read: Self =
            serde_json::from_str(&text).map_err(|error| wrong(format!("this is not a baseline: {error}")))?;
        if read.format != FORMAT {
            return Err(wrong("this is not a baseline".to_owned()));
        }
        if read.version > VERSION {
            return Err(wrong("a newer ptc-workbench wrote this baseline; use that version".to_owned()));
        }
        let here = std::env::current_dir().unwrap_or_default();
        read.cells.iter_mut().for_each(|then| then.cell.agent = called(&then.cell.agent, &here));
        Ok(read)
    }

    /// Checks that the baseline shares at least one cell with these. Errors: it shares none.
    pub fn check_shares(&self, cells: &[Cell]) -> Result<(), BaselineError> {
        if self
            .cells
            .iter()
            .any(|then| cells.iter().any(|cell| cell.is_same(&then.cell) || represents_case(cell, &then.cell)))
        {
            return Ok(());
        }
        let name = |cell: Option<&Cell>| cell.map(Cell::name).unwrap_or_default();
        Err(BaselineError(format!(
            "none of its cells is in this matrix: it begins with `{}`, the matrix with `{}`; name agents, modes and models as they were \
             named then, or write a new baseline with --save-baseline FILE",
            name(self.cells.first().map(|then| &then.cell)),
            name(cells.first())
        )))
    }

    /// Writes the baseline. An existing file is replaced as a whole, or left unchanged on an error.
    pub fn write(&self, path: &Path) -> Result<(), BaselineError> {
        let write = || -> std::io::Result<()> {
            let mut text = serde_json::to_string_pretty(self)?;
            text.push('\n');
            write_whole(path, text.as_bytes())
        };
        write().map_err(|error| BaselineError(format!("{}: cannot be written: {error}", path.display())))
    }
}

/// Result of comparing a cell with the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// The cell regressed.
    Worse,
    /// The cell improved.
    Better,
    /// The cell neither regressed nor improved.
    Same,
    /// The baseline lacks the cell or has no trials of it.
    New,
    /// The cell has no trials now.
    NotRun,
}

impl ChangeKind {
    /// Returns the name for users.
    pub fn name(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Better => "better",
            Self::Same => "unchanged",
            Self::New => "new",
            Self::NotRun => "not run",
        }
    }
}

/// A cell in the baseline and now.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Result of the comparison.
    pub kind: ChangeKind,
    /// The reason in words; empty for an unchanged cell.
    pub why: String,
    /// The cell in the baseline.
    pub then: Option<BaselineCell>,
    /// The cell now.
    pub now: Option<BaselineCell>,
    /// The two sets of outcomes differ.
    pub answers_changed: bool,
}

impl Change {
    /// Returns the cell.
    pub fn cell(&self) -> Option<&Cell> {
        self.now.as_ref().or(self.then.as_ref()).map(|side| &side.cell)
    }
}

/// Returns whether a cell in which the agent cannot run represents the case of a baseline cell. Such a cell represents all cases.
fn represents_case(cell: &Cell, then: &Cell) -> bool {
    cell.unfit.is_some() && cell.is_same(&Cell { case: None, ..then.clone() })
}

/// Compares every cell with the baseline: current cells in their order, then those that only the baseline contains.
pub fn compare_with(baseline: &Baseline, reports: &[CellReport]) -> Vec<Change> {
    let mut changes: Vec<Change> = reports
        .iter()
        .map(|report| {
            let then = baseline.cells.iter().find(|then| then.cell.is_same(&report.cell));
            change(then.cloned(), Some(report.into()))
        })
        .collect();
    let gone = |then: &&BaselineCell| !reports.iter().any(|report| report.cell.is_same(&then.cell));
    let replaced = |then: &BaselineCell| reports.iter().find(|report| represents_case(&report.cell, &then.cell));
    for then in baseline.cells.iter().filter(gone) {
        let now = replaced(then).map(|report| BaselineCell { cell: report.cell.clone(), ..report.into() });
        let cell = then.cell.clone();
        let now = now.map(|now| BaselineCell { cell: Cell { unfit: now.cell.unfit.clone(), ..cell.clone() }, ..now });
        changes.push(change(Some(then.clone()), now));
    }
    changes
}

fn change(then: Option<BaselineCell>, now: Option<BaselineCell>) -> Change {
    let (kind, why) = judge(then.as_ref(), now.as_ref());
    let answers_changed = match (&then, &now) {
        (Some(then), Some(now)) if then.trials > 0 && now.trials > 0 => {
            let lacks = |one: &BaselineCell, other: &BaselineCell| {
                one.outcomes.iter().any(|outcome| !other.outcomes.contains(outcome))
            };
            lacks(then, now) || lacks(now, then)
        }
        _ => false,
    };
    Change { kind, why, then, now, answers_changed }
}

fn judge(then: Option<&BaselineCell>, now: Option<&BaselineCell>) -> (ChangeKind, String) {
    let tried = |side: Option<&BaselineCell>| side.is_some_and(|side| side.trials > 0);
    let (then, now) = match (then, now) {
        (Some(then), Some(now)) if tried(Some(then)) => (then, now),
        (Some(then), None) if then.trials > 0 => return (ChangeKind::NotRun, "not in this matrix".to_owned()),
        (Some(_), None) => return (ChangeKind::Same, String::new()),
        (_, now) if tried(now) => return (ChangeKind::New, "not in the baseline".to_owned()),
        _ => return (ChangeKind::Same, String::new()),
    };
    if let Some(why) = &now.cell.unfit {
        return (ChangeKind::Worse, format!("no longer runs: {why}"));
    }
    if now.trials == 0 {
        return (ChangeKind::NotRun, "no trial has ended".to_owned());
    }
    let always = |side: &BaselineCell| side.passed == side.trials;
    let rate = f64::from(now.passed) / f64::from(now.trials);
    let (low, high) = wilson(then.passed, then.trials);
    let passes = |side: &BaselineCell| format!("{}/{}", side.passed, side.trials);
    let moved = format!("passed {} in the baseline, {} now", passes(then), passes(now));
    match () {
        () if always(then) && !always(now) => (ChangeKind::Worse, moved),
        () if rate < low => (ChangeKind::Worse, format!("{moved}: below the baseline's interval")),
        () if always(now) && !always(then) => (ChangeKind::Better, moved),
        () if rate > high => (ChangeKind::Better, format!("{moved}: above the baseline's interval")),
        () if then.passed * now.trials != now.passed * then.trials => {
            (ChangeKind::Same, format!("{moved}: within the baseline's interval"))
        }
        () => (ChangeKind::Same, String::new()),
    }
}

#[cfg(test)]
mod tests;
