//! The export `json`: the Steps of all root runs with their turns, as `sessions show --json` prints them, and where they come from.
//!
//! Texts stand in it exactly; what a terminal could act on is escaped. It is not read back: the session file itself is for that.

use ptc_core::value::Json;
use ptc_core::value::json::Node;

use super::story::{Content, Run, below, roots, runs};
use super::text::printable;
use super::{iso, step};
use crate::agent::Step;

/// The version of the shape; it grows when a member changes its meaning or goes.
const VERSION: i64 = 1;

/// `{format, version, session: {id, created, program, imported?, damage?}, runs: [Step]}`
pub(super) fn json(content: &Content) -> String {
    let runs = runs(content);
    let mut session = vec![
        ("id", Json::str(content.session.as_str())),
        ("created", Json::str(iso(content.created_ms))),
        ("program", Json::str(content.program.as_str())),
    ];
    session.extend(content.imported.as_deref().map(|from| ("imported", Json::str(from))));
    session.extend(content.damage.as_deref().map(|damage| ("damage", Json::str(damage))));
    let told = roots(&runs).map(|run| {
        let Node::Object(mut members) = step(&whole(&runs, run)).node else { return Json::default() };
        let start = Json::object([
            ("address", Json::str(run.record().address.as_str())),
            ("mode", Json::str(run.record().start.mode.as_str())),
            ("model", Json::str(run.models())),
            ("started", Json::str(iso(run.record().started_ms))),
            ("context", run.context()),
        ]);
        if let Node::Object(first) = start.node {
            members.splice(0..0, first);
        }
        Node::Object(members).into()
    });
    let all = Json::object([
        ("format", Json::str("ptc-workbench-export")),
        ("version", Node::Int(VERSION).into()),
        ("session", Json::object(session)),
        ("runs", Json::list(told)),
    ]);
    printable(&all) + "\n"
}

/// The Step of a run with those of the runs below it. (Agents nest a few levels deep.)
fn whole(runs: &[Run], run: &Run) -> Step {
    let mut step = run.step.clone();
    step.children = below(runs, run).map(|child| whole(runs, child)).collect();
    step
}
