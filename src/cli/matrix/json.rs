//! A matrix as JSON, for `--json`. docs/matrix.md describes it.

use ptc_core::value::Json;
use ptc_core::value::json::parse;

use crate::event::Kept;
use crate::workbench::matrix::{
    AnswerGroup, Baseline, BaselineCell, Cell, CellReport, Change, ChangeKind, MatrixState, Outcome,
};

/// `{matrix, complete, trials, seed, cells, totals, untried, baseline?}`
pub(super) fn matrix(
    id: &str,
    state: &MatrixState,
    reports: &[CellReport],
    totals: &[CellReport],
    baseline: Option<(&Baseline, &[Change])>,
) -> Json {
    let untried = state.untried().iter().map(|(key, why)| {
        let cell = state.plan.cells.get(key.cell).map(Cell::name).unwrap_or_default();
        Json::object([("cell", Json::str(cell)), ("trial", key.trial.into()), ("why", Json::str(why.as_str()))])
    });
    let mut members = vec![
        ("matrix", Json::str(id)),
        ("complete", state.is_complete().into()),
        ("trials", state.plan.trials.into()),
        ("seed", state.plan.seed.into()),
        ("cells", Json::list(reports.iter().map(cell))),
        ("totals", Json::list(totals.iter().map(cell))),
        ("untried", Json::list(untried)),
    ];
    members.extend(baseline.map(|(baseline, changes)| ("baseline", compared(baseline, changes))));
    Json::object(members)
}

fn cell(report: &CellReport) -> Json {
    let mut members = of_cell(&report.cell);
    let (low, high) = report.interval;
    let sessions = report.sessions.iter().map(|trial| {
        Json::object([
            ("trial", trial.trial.into()),
            ("session", Json::str(trial.session.as_str())),
            ("passed", trial.passed.into()),
            ("why", trial.why.as_deref().map_or_else(Json::default, Json::str)),
        ])
    });
    let errors = report.errors.iter().map(|(kind, times)| (kind.clone(), (*times).into()));
    members.extend([
        ("trials", report.trials.into()),
        ("passed", report.passed.into()),
        ("rate", real(report.rate())),
        ("interval", Json::list([real(Some(low)), real(Some(high))])),
        ("pass_hat", Json::list(report.pass_hat.iter().map(|chance| real(Some(*chance))))),
        ("answers", Json::list(report.answers.iter().map(group))),
        ("turns", real(report.turns)),
        ("input_tokens", real(report.input)),
        ("output_tokens", real(report.output)),
        ("cached_tokens", real(report.cached)),
        ("cost", real(report.cost)),
        ("first_ms", report.first_ms.map_or_else(Json::default, Json::from)),
        ("time_ms", report.time_ms.map_or_else(Json::default, Json::from)),
        ("time_p95_ms", report.time_p95_ms.map_or_else(Json::default, Json::from)),
        ("waited_ms", report.waited_ms.into()),
        ("retries", report.retries.into()),
        ("errors", Json::object(errors)),
        ("data_bytes", real(report.data_bytes)),
        ("kept_out_bytes", real(report.kept_out_bytes)),
        ("sessions", Json::list(sessions)),
    ]);
    Json::object(members)
}

fn of_cell(cell: &Cell) -> Vec<(&'static str, Json)> {
    let text = |text: Option<&str>| text.map_or_else(Json::default, Json::str);
    vec![
        ("agent", Json::str(cell.agent.as_str())),
        ("mode", Json::str(cell.mode.as_str())),
        ("model", Json::str(cell.model.as_str())),
        ("case", text(cell.case.as_deref())),
        ("cannot_run", text(cell.unfit.as_deref())),
    ]
}

fn group(group: &AnswerGroup) -> Json {
    let outcome = match &group.outcome {
        Outcome::Fail(reason) => ("fail", Json::str(reason.as_str())),
        Outcome::Answer(Kept::Whole(text)) => ("answer", parse(text).unwrap_or_else(|_| Json::str(text.as_str()))),
        Outcome::Answer(Kept::Head { head, .. }) => ("answer_begins", Json::str(head.as_str())),
    };
    Json::object([outcome, ("count", group.count.into()), ("passed", group.passed.into())])
}

fn compared(baseline: &Baseline, changes: &[Change]) -> Json {
    let side = |side: Option<&BaselineCell>| {
        side.map_or_else(Json::default, |side| {
            Json::object([
                ("trials", side.trials.into()),
                ("passed", side.passed.into()),
                ("turns", real(side.turns)),
                ("tokens", real(side.tokens)),
                ("cost", real(side.cost)),
                ("time_ms", side.time_ms.map_or_else(Json::default, Json::from)),
            ])
        })
    };
    let change = |change: &Change| {
        let mut members = change.cell().map(of_cell).unwrap_or_default();
        members.extend([
            ("change", Json::str(change.kind.name())),
            ("why", Json::str(change.why.as_str())),
            ("answers_changed", change.answers_changed.into()),
            ("then", side(change.then.as_ref())),
            ("now", side(change.now.as_ref())),
        ]);
        Json::object(members)
    };
    let worse = changes.iter().any(|change| change.kind == ChangeKind::Worse);
    Json::object([
        ("matrix", Json::str(baseline.matrix.as_str())),
        ("regression", worse.into()),
        ("cells", Json::list(changes.iter().map(change))),
    ])
}

/// A number that may be unknown, at most six digits after the point.
fn real(number: Option<f64>) -> Json {
    let number = number.map(|number| (number * 1e6).round() / 1e6).filter(|number| number.is_finite());
    number.map_or_else(Json::default, Json::from)
}
