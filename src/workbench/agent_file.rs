//! Agent files as an editor opens and saves them: comments and layout stay, and a file that changed meanwhile is not overwritten.
//!
//! In: paths and names as the user writes them. Out: definitions, and files that are whole or as they were.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use ptc_core::reasons::Reason;
use serde::{Deserialize, Serialize};

use super::Source;
use super::files::write_whole;
use crate::agent::Agent;
use crate::config::read_regular_file;
use crate::event::{ErrorRecord, hex_sha};
use crate::tool::FileAccess;

/// Links that are followed from one to the next.
const MOST_LINKS: usize = 40;

/// A file and the state it had when it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentFile {
    /// The path as the user wrote it.
    pub path: PathBuf,
    /// SHA-256 of its content, hexadecimal.
    pub sha: String,
}

/// Condition for overwriting an existing file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overwrite {
    /// Only if the file is unchanged since it was read, or does not exist yet.
    Unchanged,
    /// In any state.
    Always,
}

/// Error of saving an agent file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SaveError {
    /// The file was changed after it was read, or exists already.
    Changed,
    /// Any other error, with what to do.
    Failed(ErrorRecord),
}

/// A file as it was looked at: it is read again only when time or size differ.
#[derive(Debug)]
struct FileLook {
    path: PathBuf,
    changed: Option<SystemTime>,
    bytes: u64,
    sha: String,
}

/// The agent files of one editor.
#[derive(Debug)]
pub struct AgentFiles {
    /// The folder that `~/` means.
    home: Option<PathBuf>,
    /// The texts of files as they were read or written last: their comments outlive a file that was deleted.
    originals: Mutex<HashMap<PathBuf, String>>,
    /// The last look at a file.
    looked: Mutex<Option<FileLook>>,
    /// The files that they may name.
    pub access: FileAccess,
}

impl Default for AgentFiles {
    fn default() -> Self {
        Self {
            home: std::env::home_dir(),
            originals: Mutex::default(),
            looked: Mutex::default(),
            access: FileAccess::default(),
        }
    }
}

impl AgentFiles {
    /// The agent files of an editor with this access to the files that they name.
    pub fn new(access: FileAccess) -> Self {
        Self { access, ..Self::default() }
    }

    /// Returns the file that a path leads to: `~/` is the home folder, and links are followed, also to a file that does not exist yet.
    pub fn resolve(&self, path: &Path) -> PathBuf {
        let mut resolved = match (path.strip_prefix("~"), &self.home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path.to_owned(),
        };
        for _ in 0..MOST_LINKS {
            let Ok(target) = fs::read_link(&resolved) else { break };
            resolved = resolved.with_file_name("").join(target);
        }
        resolved
    }

    /// Notes the state of a file that was read; `None` when there is no such file.
    pub fn opened(&self, path: &Path) -> Option<AgentFile> {
        let resolved = self.resolve(path);
        let text = read_regular_file(&resolved).ok()?;
        let file = AgentFile { path: path.to_owned(), sha: hex_sha(text.as_bytes()) };
        self.originals.lock().unwrap_or_else(PoisonError::into_inner).insert(resolved, text);
        Some(file)
    }

    /// Returns the hash of a file's content where it is not as it is known; `None` when it is, when it is gone, and when it cannot be read.
    pub fn changed(&self, known: &AgentFile) -> Option<String> {
        let path = self.resolve(&known.path);
        let found = fs::metadata(&path).ok()?;
        let (changed, bytes) = (found.modified().ok(), found.len());
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |look: &&FileLook| look.path == path && look.changed == changed && look.bytes == bytes;
        let sha = if let Some(look) = looked.as_ref().filter(is_same) {
            look.sha.clone()
        } else {
            let sha = hex_sha(read_regular_file(&path).ok()?.as_bytes());
            *looked = Some(FileLook { path, changed, bytes, sha: sha.clone() });
            sha
        };
        (sha != known.sha).then_some(sha)
    }

    /// Reads an agent or a pipeline by its path or the name of an example; the file is `None` for examples and pipelines.
    ///
    /// Errors: neither file nor example exists; it cannot be read.
    pub fn open(&self, name: &str) -> Result<(Source, Option<AgentFile>), ErrorRecord> {
        let path = Path::new(name);
        let source = Source::find(name, &self.resolve(path), &self.access);
        let source =
            source.map_err(|message| ErrorRecord { hint: None, ..ErrorRecord::new(Reason::InvalidAgent, message) })?;
        let file = if matches!(source, Source::Agent(_)) { self.opened(path) } else { None };
        Ok((source, file))
    }

    /// Writes an agent; `known` is the file as it was read.
    pub fn save(
        &self,
        path: &Path,
        agent: &Agent,
        known: Option<&AgentFile>,
        overwrite: Overwrite,
    ) -> Result<AgentFile, SaveError> {
        let resolved = self.resolve(path);
        let mut originals = self.originals.lock().unwrap_or_else(PoisonError::into_inner);
        // Comments and layout of the file that is replaced stay, also when it is gone.
        let original = match read_regular_file(&resolved) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                originals.get(&resolved).cloned().unwrap_or_default()
            }
            Err(_) => String::new(),
        };
        let text = agent.rewrite_with(&original, &path.display().to_string(), &self.access);
        let sha = hex_sha(text.as_bytes());
        let found = read_regular_file(&resolved).ok().map(|text| hex_sha(text.as_bytes()));
        let is_known = found.as_ref() == known.map(|file| &file.sha) || !resolved.exists();
        if overwrite == Overwrite::Unchanged && !is_known {
            return Err(SaveError::Changed);
        }
        if found.is_none_or(|found| found != sha) {
            write_whole(&resolved, text.as_bytes()).map_err(|error| {
                let message = format!("{}: {error}", resolved.display());
                SaveError::Failed(ErrorRecord::new(Reason::WriteFailed, message))
            })?;
        }
        originals.insert(resolved, text);
        Ok(AgentFile { path: path.to_owned(), sha })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tilde_is_the_home_folder_only_as_a_whole_name() {
        let with_home = |home: Option<&str>| AgentFiles { home: home.map(PathBuf::from), ..AgentFiles::default() };
        let files = with_home(Some("/home/no-such-user"));
        assert_eq!(files.resolve(Path::new("~/a.toml")), Path::new("/home/no-such-user/a.toml"));
        for name in ["~a.toml", "x/~/a.toml", "/~/a.toml"] {
            assert_eq!(files.resolve(Path::new(name)), Path::new(name));
        }
        assert_eq!(with_home(None).resolve(Path::new("~/a.toml")), Path::new("~/a.toml"));
    }
}
