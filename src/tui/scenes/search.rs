//! The search of the scenes: the journal of a search for better texts, recorded with a scripted model, and its agent.

use std::path::{Path, PathBuf};

/// The journal, whose first line names the agent file in this folder.
const JOURNAL: &str = include_str!("../../../assets/scenes/search.jsonl");
/// The agent.
const AGENT: &str = include_str!("../../../assets/scenes/desk.toml");
/// The folder in the journal.
const RECORDED_IN: &str = "/home/you/agents";

/// The name of the agent file.
pub(super) const FILE: &str = "desk.toml";
/// The folder of the search, as it is named on screens.
pub(super) const NAME: &str = "desk.optimize";

/// Puts the agent and its search into a folder; returns that of the search.
pub(super) fn write(dir: &Path) -> std::io::Result<PathBuf> {
    let search = dir.join(NAME);
    std::fs::create_dir_all(&search)?;
    std::fs::write(dir.join(FILE), AGENT)?;
    std::fs::write(search.join("journal.jsonl"), JOURNAL.replacen(RECORDED_IN, &dir.display().to_string(), 1))?;
    Ok(search)
}
