//! The export `json`: the Steps of all root runs with their turns, as `sessions show --json` prints them, and where they come from.
//!
//! Texts are exact; characters that a terminal could act on are escaped. It is not read back: the session file itself is for that.

use ptc_core::value::Json;
use serde::Serialize;
use serde_with::skip_serializing_none;

use super::step::StepJson;
use super::story::{Content, Run, child_runs, roots, runs};
use super::text::printable;
use super::{iso, step};
use crate::agent::Step;

/// The version of the shape; it grows when a member changes its meaning or goes.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    version: u32,
    session: SessionJson<'a>,
    runs: Vec<RunJson<'a>>,
}

#[skip_serializing_none]
#[derive(Serialize)]
struct SessionJson<'a> {
    id: &'a str,
    created: String,
    program: &'a str,
    imported: Option<&'a str>,
    damage: Option<&'a str>,
}

/// Start time and context of a run, and its Step.
#[derive(Serialize)]
struct RunJson<'a> {
    started: String,
    context: Json,
    #[serde(flatten)]
    step: StepJson<'a>,
}

/// Returns the text of the export.
pub(super) fn json(content: &Content) -> String {
    let runs = runs(content);
    let roots: Vec<(&Run, Step)> = roots(&runs).map(|run| (run, whole(&runs, run))).collect();
    let rows = roots.iter().map(|(run, step)| RunJson {
        started: iso(run.record().started_ms),
        context: run.context(),
        step: self::step(step),
    });
    printable(&Document {
        format: "ptc-workbench-export",
        version: VERSION,
        session: SessionJson {
            id: &content.session,
            created: iso(content.created_ms),
            program: &content.program,
            imported: content.imported.as_deref().or(content.captured.as_deref()),
            damage: content.damage.as_deref(),
        },
        runs: rows.collect(),
    }) + "\n"
}

/// The Step of a run with those of its child runs. (Agents nest a few levels deep.)
fn whole(runs: &[Run], run: &Run) -> Step {
    let mut step = run.step.clone();
    step.children = child_runs(runs, run).map(|child| whole(runs, child)).collect();
    step
}
