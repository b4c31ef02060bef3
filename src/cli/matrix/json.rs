//! A matrix as JSON, for `--json`. docs/matrix.md describes it.

use std::collections::BTreeMap;

use ptc_core::value::Json;
use ptc_core::value::json::parse;
use serde::Serialize;
use serde_with::skip_serializing_none;

use super::paired::PairedJson;
use crate::agent::{JudgesUsage, Ruling};
use crate::event::{FromCache, TextRecord};
use crate::workbench::matrix::{
    AnswerGroup, Baseline, BaselineCell, Cell, CellReport, Change, ChangeKind, MatrixState, Outcome, PairedReport,
};

/// A matrix as `--json` prints it.
#[skip_serializing_none]
#[derive(Serialize)]
pub(super) struct MatrixJson<'a> {
    matrix: &'a str,
    complete: bool,
    trials: u32,
    seed: u64,
    cells: Vec<ReportJson<'a>>,
    totals: Vec<ReportJson<'a>>,
    untried: Vec<UntriedJson<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    paired: Vec<PairedJson<'a>>,
    baseline: Option<BaselineJson<'a>>,
    judges: Option<JudgesUsage>,
    #[serde(skip_serializing_if = "FromCache::is_nothing")]
    from_cache: FromCache,
}

#[derive(Serialize)]
struct UntriedJson<'a> {
    cell: String,
    trial: u32,
    why: &'a str,
}

#[derive(Serialize)]
pub(super) struct CellJson<'a> {
    agent: &'a str,
    mode: &'a str,
    model: &'a str,
    case: Option<&'a str>,
    cannot_run: Option<&'a str>,
}

#[derive(Serialize)]
struct ReportJson<'a> {
    #[serde(flatten)]
    cell: CellJson<'a>,
    trials: u32,
    passed: u32,
    rate: Option<f64>,
    score: Option<f64>,
    interval: [Option<f64>; 2],
    pass_hat: Vec<Option<f64>>,
    answers: Vec<AnswerJson<'a>>,
    turns: Option<f64>,
    input_tokens: Option<f64>,
    output_tokens: Option<f64>,
    cached_tokens: Option<f64>,
    cost: Option<f64>,
    first_ms: Option<u64>,
    time_ms: Option<u64>,
    time_p95_ms: Option<u64>,
    waited_ms: u64,
    retries: u32,
    errors: &'a BTreeMap<String, u32>,
    data_bytes: Option<f64>,
    kept_out_bytes: Option<f64>,
    #[serde(skip_serializing_if = "FromCache::is_nothing")]
    from_cache: FromCache,
    sessions: Vec<TrialJson<'a>>,
}

#[derive(Serialize)]
struct AnswerJson<'a> {
    #[serde(flatten)]
    outcome: OutcomeJson<'a>,
    count: u32,
    passed: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum OutcomeJson<'a> {
    Fail(&'a str),
    Answer(Json),
    AnswerBegins(&'a str),
}

#[derive(Serialize)]
struct TrialJson<'a> {
    trial: u32,
    session: &'a str,
    passed: bool,
    why: Option<&'a str>,
    #[serde(skip_serializing_if = "<[Ruling]>::is_empty")]
    rulings: &'a [Ruling],
}

#[derive(Serialize)]
struct BaselineJson<'a> {
    matrix: &'a str,
    regression: bool,
    cells: Vec<ChangeJson<'a>>,
}

#[derive(Serialize)]
struct ChangeJson<'a> {
    #[serde(flatten)]
    cell: Option<CellJson<'a>>,
    change: &'static str,
    why: &'a str,
    answers_changed: bool,
    then: Option<SideJson>,
    now: Option<SideJson>,
}

#[derive(Serialize)]
struct SideJson {
    trials: u32,
    passed: u32,
    turns: Option<f64>,
    tokens: Option<f64>,
    cost: Option<f64>,
    time_ms: Option<u64>,
}

/// The results of a matrix.
pub(super) struct Parts<'a> {
    /// The cells.
    pub(super) reports: &'a [CellReport],
    /// Those of several cases together.
    pub(super) totals: &'a [CellReport],
    /// Versions against the first.
    pub(super) pairs: &'a [PairedReport],
    /// The baseline and what has changed.
    pub(super) baseline: Option<(&'a Baseline, &'a [Change])>,
}

/// Returns the `--json` output of a matrix.
pub(super) fn matrix<'a>(id: &'a str, state: &'a MatrixState, parts: &Parts<'a>) -> MatrixJson<'a> {
    let untried = state.untried().iter().map(|(key, why)| UntriedJson {
        cell: state.plan.cells.get(key.cell).map(Cell::name).unwrap_or_default(),
        trial: key.trial,
        why,
    });
    MatrixJson {
        matrix: id,
        complete: state.is_complete(),
        trials: state.plan.trials,
        seed: state.plan.seed,
        cells: parts.reports.iter().map(report).collect(),
        totals: parts.totals.iter().map(report).collect(),
        untried: untried.collect(),
        paired: parts.pairs.iter().map(super::paired::json).collect(),
        baseline: parts.baseline.map(|(baseline, changes)| compared(baseline, changes)),
        judges: state.judges(),
        from_cache: state.from_cache(),
    }
}

fn report(report: &CellReport) -> ReportJson<'_> {
    let (low, high) = report.interval;
    let trials = report.sessions.iter().map(|trial| TrialJson {
        trial: trial.trial,
        session: &trial.session,
        passed: trial.passed,
        why: trial.why.as_deref(),
        rulings: &trial.rulings,
    });
    ReportJson {
        cell: cell(&report.cell),
        trials: report.trials,
        passed: report.passed,
        rate: rounded(report.rate()),
        score: rounded(report.score),
        interval: [rounded(Some(low)), rounded(Some(high))],
        pass_hat: report.pass_hat.iter().map(|chance| rounded(Some(*chance))).collect(),
        answers: report.answers.iter().map(answer).collect(),
        turns: rounded(report.turns),
        input_tokens: rounded(report.input),
        output_tokens: rounded(report.output),
        cached_tokens: rounded(report.cached),
        cost: rounded(report.cost),
        first_ms: report.first_ms,
        time_ms: report.time_ms,
        time_p95_ms: report.time_p95_ms,
        waited_ms: report.waited_ms,
        retries: report.retries,
        errors: &report.errors,
        data_bytes: rounded(report.data_bytes),
        kept_out_bytes: rounded(report.kept_out_bytes),
        from_cache: report.from_cache,
        sessions: trials.collect(),
    }
}

pub(super) fn cell(cell: &Cell) -> CellJson<'_> {
    CellJson {
        agent: &cell.agent,
        mode: &cell.mode,
        model: &cell.model,
        case: cell.case.as_deref(),
        cannot_run: cell.unfit.as_deref(),
    }
}

fn answer(group: &AnswerGroup) -> AnswerJson<'_> {
    let outcome = match &group.outcome {
        Outcome::Fail(reason) => OutcomeJson::Fail(reason),
        Outcome::Answer(TextRecord::Whole(text)) => {
            OutcomeJson::Answer(parse(text).unwrap_or_else(|_| Json::str(text.as_str())))
        }
        Outcome::Answer(TextRecord::Head { head, .. }) => OutcomeJson::AnswerBegins(head),
    };
    AnswerJson { outcome, count: group.count, passed: group.passed }
}

fn compared<'a>(baseline: &'a Baseline, changes: &'a [Change]) -> BaselineJson<'a> {
    let side = |side: &BaselineCell| SideJson {
        trials: side.trials,
        passed: side.passed,
        turns: rounded(side.turns),
        tokens: rounded(side.tokens),
        cost: rounded(side.cost),
        time_ms: side.time_ms,
    };
    let change = |change: &'a Change| ChangeJson {
        cell: change.cell().map(cell),
        change: change.kind.name(),
        why: &change.why,
        answers_changed: change.answers_changed,
        then: change.then.as_ref().map(side),
        now: change.now.as_ref().map(side),
    };
    BaselineJson {
        matrix: &baseline.matrix,
        regression: changes.iter().any(|change| change.kind == ChangeKind::Worse),
        cells: changes.iter().map(change).collect(),
    }
}

/// A number that may be unknown, at most six digits after the point.
pub(super) fn rounded(number: Option<f64>) -> Option<f64> {
    number.map(|number| (number * 1e6).round() / 1e6).filter(|number| number.is_finite())
}
