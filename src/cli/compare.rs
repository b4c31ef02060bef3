//! `compare`: sessions side by side, or the matrix of agents.
//!
//! Agents or a matrix run the matrix (`matrix.rs`), sessions show their differences.

mod json;

use std::path::Path;

use super::arguments::CompareFlags;
use super::matrix;
use super::output::{UsageError, columns, exit, print_json, print_line, print_note, safe};
use crate::agent::{BUNDLED_PIPELINES, BundledExample};
use crate::session::diff::Comparison;
use crate::tool::FileRevision;
use crate::workbench::Workbench;
use crate::workbench::comparison::{Frame, Line, against, totals, turns};

pub(super) async fn compare(flags: &CompareFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    let named = match flags.names.as_slice() {
        [only] if Workbench::is_matrix(only) => Some(only),
        _ => flags.matrix.resume.as_ref(),
    };
    if let Some(name) = named {
        return matrix::resume(name, flags, plain, workbench).await;
    }
    let agents = flags.names.iter().filter(|name| means_agent(name)).count();
    match agents {
        0 => sessions(flags, plain, workbench),
        all if all == flags.names.len() => matrix::matrix(flags, plain, workbench).await,
        _ => Err(UsageError(
            "name agents or sessions, not both: agents give a matrix, sessions their differences".into(),
        )),
    }
}

/// Returns whether the name is that of an agent, or of a pipeline, which is refused later. Sessions are `last`, ids and their
/// beginnings, and files of another kind.
fn means_agent(name: &str) -> bool {
    if FileRevision::parse(name).is_some() {
        return true;
    }
    let path = Path::new(name);
    let is_example =
        || BundledExample::find(name).is_some() || BUNDLED_PIPELINES.iter().any(|example| example.name == name);
    path.extension().is_some_and(|ending| ending == "toml") || (!path.exists() && is_example())
}

fn sessions(flags: &CompareFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    if let Some(flag) = flags.matrix.named_flag() {
        return Err(UsageError(format!("{flag} belongs to the matrix of agents: `ptc-workbench compare AGENT.toml`")));
    }
    if flags.names.len() < 2 {
        return Err(UsageError("name two sessions or more (`ptc-workbench sessions list` shows them)".to_owned()));
    }
    let (comparison, warnings) = workbench.compare_sessions(&flags.names)?;
    for warning in &warnings {
        print_note(&format!("warning: {}", safe(warning)));
    }
    if flags.json {
        print_json(&json::comparison(&comparison));
    } else {
        print(&comparison, Frame { columns: columns(), whole: flags.all, words: plain });
    }
    Ok(exit::OK)
}

fn print(comparison: &Comparison, frame: Frame) {
    let mut sections = vec![totals(comparison, frame), turns(comparison, frame)];
    sections.extend(comparison.pairs.iter().map(|pair| against(comparison, pair, frame)));
    let section = |lines: &Vec<Line>| lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n");
    print_line(&sections.iter().map(section).collect::<Vec<_>>().join("\n\n"));
}
