//! A cell: one agent in one mode with one model on one case.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What its trials have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cell {
    /// The agent, as it was named.
    pub agent: String,
    /// The mode's name.
    pub mode: String,
    /// The model, as it was named.
    pub model: String,
    /// The case's name; absent when the agent has none and runs on its own context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// Why the agent cannot run here. Such a cell has no trials and represents every case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfit: Option<String>,
}

impl Cell {
    /// The cell in words, the same in every matrix: agent, mode, model, case.
    pub fn name(&self) -> String {
        let words = [Some(&self.agent), Some(&self.mode), Some(&self.model), self.case.as_ref()];
        words.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" · ")
    }

    /// Do both ask the same question, whatever the answer is?
    pub fn is_same(&self, other: &Self) -> bool {
        // A matrix that an older program planned names its agents as they were typed.
        let agent = |cell: &Self| called(&cell.agent, Path::new(""));
        let words = |cell: &Self| (agent(cell), cell.mode.clone(), cell.model.clone(), cell.case.clone());
        words(self) == words(other)
    }
}

/// What an agent is called in the cells: the path as seen from `here`, in whatever way it was written.
pub fn called(name: &str, here: &Path) -> String {
    let path = Path::new(name);
    let path = path.strip_prefix(here).unwrap_or(path);
    let parts = path.components().filter(|part| !matches!(part, Component::CurDir));
    parts.collect::<PathBuf>().display().to_string()
}
