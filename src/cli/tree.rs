//! `sessions tree`: which session began as which.

use serde::Serialize;

use super::output::{UsageError, print_json, print_line, print_note, safe_line};
use crate::session::Parent;
use crate::workbench::{Branch, Workbench};

pub(super) fn tree(session: Option<&str>, as_json: bool, workbench: &Workbench) -> Result<(), UsageError> {
    let trees = workbench.tree(session)?;
    if as_json {
        print_json(&trees.iter().map(branch).collect::<Vec<_>>());
        return Ok(());
    }
    if trees.is_empty() {
        print_note(
            "no session has been forked, re-run or continued yet; `ptc-workbench fork SESSION --at r0/t1` forks one",
        );
    }
    for tree in &trees {
        print(tree, 0);
    }
    Ok(())
}

/// A session and its branches; deeper ones are indented further.
fn print(tree: &Branch, depth: usize) {
    let from = tree.parent.as_ref().map(|parent| parent_text(parent, depth == 0, tree.is_cut)).unwrap_or_default();
    print_line(&format!("{:indent$}{}{from}", "", safe_line(&tree.id), indent = 2 * depth));
    for branch in &tree.branches {
        print(branch, depth + 1);
    }
}

/// Returns the relation of a session to its parent: `  fork at r0/t2:reply`.
fn parent_text(parent: &Parent, is_root: bool, is_cut: bool) -> String {
    let kind = parent.kind.words();
    let at = match (&parent.at, &parent.stage) {
        (Some(at), Some(stage)) => format!(" at {at}:{stage}"),
        (Some(at), None) => format!(" from {at}"),
        (None, _) => String::new(),
    };
    let of = match (is_root, is_cut) {
        (false, _) => String::new(),
        (true, true) => format!(" of {}, listed at the end of another tree", parent.session),
        (true, false) => format!(" of {}, which is missing", parent.session),
    };
    format!("  {}", safe_line(&format!("{kind}{at}{of}")))
}

/// A session and its branches as `--json` prints them.
#[derive(Serialize)]
struct BranchJson<'a> {
    id: &'a str,
    path: String,
    parent: Option<ParentJson<'a>>,
    branches: Vec<Self>,
}

#[derive(Serialize)]
struct ParentJson<'a> {
    session: &'a str,
    kind: &'a str,
    at: Option<&'a str>,
    stage: Option<&'a str>,
    seq: u64,
    prefix_sha: Option<&'a str>,
}

fn branch(tree: &Branch) -> BranchJson<'_> {
    let parent = tree.parent.as_ref().map(|parent| ParentJson {
        session: &parent.session,
        kind: parent.kind.name(),
        at: parent.at.as_deref(),
        stage: parent.stage.as_deref(),
        seq: parent.seq,
        prefix_sha: parent.prefix_sha.as_deref(),
    });
    BranchJson {
        id: &tree.id,
        path: tree.path.display().to_string(),
        parent,
        branches: tree.branches.iter().map(branch).collect(),
    }
}
