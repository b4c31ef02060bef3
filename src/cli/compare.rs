//! `compare`: sessions beside each other, or the matrix of agents.
//!
//! What the names mean decides: agents → the matrix (`matrix.rs`), sessions → their differences.

use std::path::Path;

use super::arguments::CompareFlags;
use super::{UsageError, matrix};
use crate::agent::Bundled;
use crate::workbench::Workbench;

pub(super) async fn compare(flags: &CompareFlags, workbench: &Workbench) -> Result<u8, UsageError> {
    let agents = flags.names.iter().filter(|name| means_agent(name)).count();
    match agents {
        0 => sessions(flags, workbench),
        all if all == flags.names.len() => matrix::matrix(flags, workbench).await,
        _ => Err(UsageError(
            "name agents or sessions, not both: agents give a matrix, sessions their differences".into(),
        )),
    }
}

/// Does the name mean an agent? Sessions are `last`, ids and their beginnings, and files of another kind.
fn means_agent(name: &str) -> bool {
    let path = Path::new(name);
    path.extension().is_some_and(|ending| ending == "toml") || (Bundled::find(name).is_some() && !path.exists())
}

fn sessions(flags: &CompareFlags, workbench: &Workbench) -> Result<u8, UsageError> {
    if let Some(flag) = flags.matrix.given() {
        return Err(UsageError(format!("{flag} belongs to the matrix of agents: `ptc-workbench compare AGENT.toml`")));
    }
    if flags.names.len() < 2 {
        return Err(UsageError("name two sessions or more (`ptc-workbench sessions list` shows them)".to_owned()));
    }
    for name in &flags.names {
        workbench.open_session(name)?;
    }
    Err(UsageError("sessions cannot be compared yet".to_owned()))
}
