//! `sessions tree`: which session began as which.

use ptc_core::value::Json;
use ptc_core::value::json::Node;

use super::{UsageError, json, out, safe_line, tell};
use crate::session::Parent;
use crate::workbench::{Branch, Workbench};

pub(super) fn tree(session: Option<&str>, as_json: bool, workbench: &Workbench) -> Result<(), UsageError> {
    let trees = workbench.tree(session)?;
    if as_json {
        out(&json::printable(&Json::list(trees.iter().map(branch))));
        return Ok(());
    }
    if trees.is_empty() {
        tell("no session began as another one yet: `ptc-workbench fork SESSION --at r0/t1` makes one");
    }
    for tree in &trees {
        print(tree, 0);
    }
    Ok(())
}

/// A session and its branches; deeper ones stand further to the right.
fn print(tree: &Branch, depth: usize) {
    let from = tree.parent.as_ref().map(|parent| said(parent, depth == 0, tree.is_cut)).unwrap_or_default();
    out(&format!("{:indent$}{}{from}", "", safe_line(&tree.id), indent = 2 * depth));
    for branch in &tree.branches {
        print(branch, depth + 1);
    }
}

/// What a session is to its parent: `  fork at r0/t2:reply`.
fn said(parent: &Parent, is_root: bool, is_cut: bool) -> String {
    let kind = parent.kind.words();
    let at = match (&parent.at, &parent.stage) {
        (Some(at), Some(stage)) => format!(" at {at}:{stage}"),
        (Some(at), None) => format!(" from {at}"),
        (None, _) => String::new(),
    };
    let of = match (is_root, is_cut) {
        (false, _) => String::new(),
        (true, true) => format!(" of {}, at the end of another tree", parent.session),
        (true, false) => format!(" of {}, which is not here", parent.session),
    };
    format!("  {}", safe_line(&format!("{kind}{at}{of}")))
}

fn branch(tree: &Branch) -> Json {
    let text = |text: &Option<String>| text.as_deref().map_or_else(Json::default, Json::str);
    let parent = tree.parent.as_ref().map(|parent| {
        Json::object([
            ("session", Json::str(parent.session.as_str())),
            ("kind", Json::str(parent.kind.name())),
            ("at", text(&parent.at)),
            ("stage", text(&parent.stage)),
            ("seq", Node::Int(i64::try_from(parent.seq).unwrap_or(i64::MAX)).into()),
            ("prefix_sha", text(&parent.prefix_sha)),
        ])
    });
    Json::object([
        ("id", Json::str(tree.id.as_str())),
        ("path", Json::str(tree.path.display().to_string())),
        ("parent", parent.unwrap_or_default()),
        ("branches", Json::list(tree.branches.iter().map(branch))),
    ])
}
