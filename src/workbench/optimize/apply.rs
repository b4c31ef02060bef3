//! Changes of an agent file as hunks: the accepted ones are written.
//!
//! In: the text of the file, a changed text such as that with a candidate's texts, the accepted hunks. Out: the file with these hunks. It
//! must never write a file that has changed since, nor one that is not a valid agent afterwards.

use std::path::{Path, PathBuf};

use super::components::with_texts;
use super::{OptimizeError, Progress};
use crate::agent::Agent;
use crate::config::read_regular_file;
use crate::event::hex_sha;
use crate::workbench::Workbench;
use crate::workbench::files::write_whole;
use crate::workbench::line_diff::LineDiff;

/// Unchanged lines around the changes of a hunk.
const CONTEXT: usize = 3;

/// A group of changed lines with their context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// Its first line in the old text, from 1.
    pub line: usize,
    /// Lines, each ` `, `-` or `+` followed by the text without its line end.
    pub lines: Vec<String>,
}

/// Changes of an agent file, not yet written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentChanges {
    /// The agent file.
    pub path: PathBuf,
    /// Hunks in order; empty without changes.
    pub hunks: Vec<Hunk>,
    old: String,
    new: String,
}

impl Progress {
    /// Returns the path of the agent file and its text as it was when the search began. The path is the one that was given, relative to the
    /// current folder, else the absolute path at that time. Errors: the file cannot be read or has changed since.
    pub fn agent_file(&self) -> Result<(PathBuf, String), OptimizeError> {
        let places = std::iter::once(&self.start.agent).chain(&self.start.file).map(Path::new);
        let mut failed = None;
        for path in places {
            match read_regular_file(path) {
                Ok(text) if hex_sha(text.as_bytes()) == self.start.sha => return Ok((path.to_owned(), text)),
                Ok(_) => {
                    failed = Some(format!(
                        "{} has changed since the search began: apply the change by hand, or search again in another folder",
                        path.display()
                    ));
                }
                Err(error) => drop(
                    failed.get_or_insert_with(|| format!("{}, the agent file of the search: {error}", path.display())),
                ),
            }
        }
        Err(OptimizeError(failed.unwrap_or_default()))
    }

    /// Returns the changes that a candidate makes in the agent file; comments and everything else stay. Errors: those of
    /// [`Progress::agent_file`], or the file would not be a valid agent.
    pub fn changes(&self, workbench: &Workbench, candidate: usize) -> Result<AgentChanges, OptimizeError> {
        let (path, old) = self.agent_file()?;
        let name = path.display().to_string();
        let access = workbench.file_access();
        let unreadable = |why: String| OptimizeError(format!("{name}: {why}"));
        let agent = Agent::from_toml_with(&old, &name, access).map_err(|error| unreadable(error.to_string()))?;
        let new = with_texts(&agent, &self.search.candidates()[candidate].texts).rewrite_with(&old, &name, access);
        Agent::from_toml_with(&new, &name, access).map_err(|error| unreadable(error.to_string()))?;
        Ok(AgentChanges::between(path, old, new))
    }
}

impl AgentChanges {
    /// Creates the changes from the text of a file to another text.
    pub(super) fn between(path: PathBuf, old: String, new: String) -> Self {
        Self { path, hunks: hunks(&old, &new), old, new }
    }

    /// Returns the text of the file with all hunks.
    pub fn new_text(&self) -> &str {
        &self.new
    }

    /// Writes the hunks whose entry in `accepted` is true; returns their number. Errors: none is accepted; the file has changed meanwhile,
    /// would not be a valid agent with these hunks, or cannot be written.
    pub fn write(&self, workbench: &Workbench, accepted: &[bool]) -> Result<u64, OptimizeError> {
        let name = self.path.display();
        if accepted.len() != self.hunks.len() || !accepted.contains(&true) {
            return Err(OptimizeError(format!("{name} was not written: choose at least one hunk")));
        }
        if read_regular_file(&self.path).ok().as_ref() != Some(&self.old) {
            return Err(OptimizeError(format!("{name} was not written: it has changed since it was read")));
        }
        let text = applied(&self.old, &self.new, accepted);
        Agent::from_toml_with(&text, &name.to_string(), workbench.file_access())
            .map_err(|error| OptimizeError(format!("{name} was not written: these hunks make it invalid: {error}")))?;
        write_whole(&self.path, text.as_bytes())
            .map_err(|error| OptimizeError(format!("{name} cannot be written: {error}")))?;
        Ok(accepted.iter().filter(|one| **one).count() as u64)
    }
}

/// Returns the hunks between two texts, in order.
pub(super) fn hunks(old: &str, new: &str) -> Vec<Hunk> {
    let groups = LineDiff::of(old, new).groups(CONTEXT);
    groups.into_iter().map(|group| Hunk { line: group.first + 1, lines: group.lines }).collect()
}

/// Returns the old text with the accepted hunks, by their index among [`hunks`].
fn applied(old: &str, new: &str, accepted: &[bool]) -> String {
    let diff = LineDiff::of(old, new);
    let groups = diff.groups(CONTEXT);
    diff.with(|change| {
        let place = groups.iter().position(|group| group.changes.contains(change));
        place.is_none_or(|place| accepted.get(place).copied().unwrap_or(false))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hunk_is_applied_or_not() {
        let lines = |changed: &[usize]| -> String {
            (0..40)
                .map(|line| if changed.contains(&line) { format!("new {line}\n") } else { format!("{line}\n") })
                .collect()
        };
        let (old, new) = (lines(&[]), lines(&[2, 30]));
        let found = hunks(&old, &new);
        assert_eq!(found.len(), 2);
        assert!(found[0].lines.contains(&"-2".to_owned()) && found[0].lines.contains(&"+new 2".to_owned()));
        for accepted in [[false, false], [true, false], [false, true], [true, true]] {
            let taken: Vec<usize> =
                [2, 30].into_iter().zip(accepted).filter(|(_, one)| *one).map(|(line, _)| line).collect();
            assert_eq!(applied(&old, &new, &accepted), lines(&taken));
        }
    }
    #[test]
    fn a_last_line_without_a_line_end_is_no_change() {
        for (old, new, made) in
            [("a\nb", "X\nb\n", "X\nb"), ("a\nb\n", "X\nb", "X\nb\n"), ("a\nb", "a\nb\nX", "a\nb\nX")]
        {
            let lines = hunks(old, new).into_iter().flat_map(|hunk| hunk.lines);
            let changed: Vec<String> = lines.filter(|line| !line.starts_with(' ')).collect();
            assert!(changed.iter().all(|line| line == "-a" || line == "+X"), "{old:?} to {new:?}: {changed:?}");
            assert_eq!((applied(old, new, &[false]), applied(old, new, &[true])), (old.to_owned(), made.to_owned()));
        }
        assert_eq!(hunks("a\nb", "a\nb\n"), []);
    }
}
