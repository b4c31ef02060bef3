//! Agent files and recovery files: where they lie, and whether they changed underneath.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use ptc_core::reasons::Reason;

use crate::event::{ErrorRecord, hex_sha};
use crate::tui::backend::{AgentFile, Overwrite, Recovery, SaveError};
use crate::workbench::files::write_session;

/// A file with the state it has now; `None` when it cannot be read.
pub(super) fn stamp(path: &Path) -> Option<AgentFile> {
    let content = fs::read(path).ok()?;
    Some(AgentFile { path: path.to_owned(), sha: hex_sha(&content) })
}

/// The file that a path leads to: links are followed, also to a file that is not there yet, and `~/` is the home folder.
pub(super) fn place(path: &Path, home: Option<PathBuf>) -> PathBuf {
    let mut place = match (path.strip_prefix("~"), home) {
        (Ok(below), Some(home)) => home.join(below),
        _ => path.to_owned(),
    };
    for _ in 0..LINKS {
        let Ok(target) = fs::read_link(&place) else { break };
        place = place.with_file_name("").join(target);
    }
    place
}

/// Links that are followed from one to the next.
const LINKS: usize = 40;

/// Writes an agent file.
pub(super) fn save(
    path: &Path,
    text: &str,
    known: Option<&AgentFile>,
    overwrite: Overwrite,
) -> Result<AgentFile, SaveError> {
    if overwrite == Overwrite::Unchanged {
        let expected = known.map(|file| file.sha.as_str());
        let found = stamp(path).map(|file| file.sha);
        if path.exists() && found.as_deref() != expected {
            return Err(SaveError::Changed);
        }
    }
    let sha = hex_sha(text.as_bytes());
    if stamp(path).is_none_or(|file| file.sha != sha) {
        write_session(path, text.as_bytes()).map_err(|error| SaveError::Failed(failure(path, &error)))?;
    }
    Ok(AgentFile { path: path.to_owned(), sha })
}

fn failure(path: &Path, error: &io::Error) -> ErrorRecord {
    ErrorRecord::new(Reason::WriteFailed, format!("{}: {error}", path.display()))
}

fn remove(path: &Path) {
    if let Err(error) = fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::debug!(%error, path = %path.display(), "removing a file");
    }
}

/// The file that says that the tour was seen.
pub(super) fn tour_mark(state_dir: &Path) -> PathBuf {
    state_dir.join("tour-seen")
}

/// Notes that the tour was seen.
pub(super) fn mark_tour(state_dir: &Path) -> Result<(), ErrorRecord> {
    let path = tour_mark(state_dir);
    let written = fs::create_dir_all(state_dir).and_then(|()| write_session(&path, b"seen\n"));
    written.map_err(|error| failure(&path, &error))
}

/// The recovery files: one per process. A lock beside it says whether its process lives: numbers of processes are given again.
#[derive(Debug)]
pub(super) struct Drafts {
    dir: PathBuf,
    own: PathBuf,
    /// Held while something is kept.
    lock: Option<fs::File>,
}

impl Drafts {
    pub(super) fn new(dir: &Path) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        Self { dir: dir.to_owned(), own: dir.join(format!("unsaved-{}-{since}.json", std::process::id())), lock: None }
    }

    /// Recoveries of processes that are gone, newest first.
    pub(super) fn found(&self) -> Vec<Recovery> {
        let files = fs::read_dir(&self.dir).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
        let mut found: Vec<Recovery> = files
            .filter(|path| *path != self.own)
            .filter_map(|path| {
                let name = path.file_name()?.to_str()?;
                let is_json = path.extension().is_some_and(|ending| ending == "json");
                if !(name.starts_with("unsaved-") && is_json) || is_held(&path) {
                    return None;
                }
                let recovery: Recovery = serde_json::from_slice(&fs::read(&path).ok()?).ok()?;
                Some(Recovery { id: name.to_owned(), ..recovery })
            })
            .collect();
        found.sort_by_key(|recovery| std::cmp::Reverse(recovery.saved_ms));
        found
    }

    pub(super) fn keep(&mut self, recovery: &Recovery) -> Result<(), ErrorRecord> {
        let text = serde_json::to_vec(recovery).map_err(|error| failure(&self.own, &io::Error::other(error)))?;
        fs::create_dir_all(&self.dir)
            .and_then(|()| self.hold())
            .and_then(|()| write_session(&self.own, &text))
            .map_err(|error| failure(&self.own, &error))
    }

    /// Takes the lock, once. A file system without locks is no reason to keep nothing.
    fn hold(&mut self) -> io::Result<()> {
        if self.lock.is_none() {
            let lock = fs::File::create(lock_of(&self.own))?;
            if let Err(error) = lock.try_lock() {
                tracing::debug!(%error, "locking kept drafts");
            }
            self.lock = Some(lock);
        }
        Ok(())
    }

    pub(super) fn forget(&mut self) {
        remove(&self.own);
        if self.lock.take().is_some() {
            remove(&lock_of(&self.own));
        }
    }

    pub(super) fn drop_found(&self, id: &str) {
        let only_a_name = Path::new(id).file_name().is_some_and(|name| name == id);
        if only_a_name && id.starts_with("unsaved-") {
            let path = self.dir.join(id);
            remove(&path);
            remove(&lock_of(&path));
        }
    }
}

fn lock_of(kept: &Path) -> PathBuf {
    kept.with_extension("lock")
}

/// Does the process live that keeps this?
fn is_held(kept: &Path) -> bool {
    let Ok(lock) = fs::File::open(lock_of(kept)) else { return false };
    // Shared, so that two that look at the same time do not take each other for the owner.
    matches!(lock.try_lock_shared(), Err(fs::TryLockError::WouldBlock))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tilde_is_the_home_folder_only_as_a_whole_name() {
        let home = || Some(PathBuf::from("/home/no-such-person"));
        assert_eq!(place(Path::new("~/a.toml"), home()), Path::new("/home/no-such-person/a.toml"));
        for name in ["~a.toml", "x/~/a.toml", "/~/a.toml"] {
            assert_eq!(place(Path::new(name), home()), Path::new(name));
        }
        assert_eq!(place(Path::new("~/a.toml"), None), Path::new("~/a.toml"));
    }
}
