//! Unsaved texts of a process, kept in a file for the next start; and the mark that the tour was seen.
//!
//! In: drafts with their undo logs. Out: those of processes that have ended. A lock next to each file is held while its process lives:
//! process numbers are given again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use ptc_core::reasons::Reason;
use serde::{Deserialize, Serialize};

use super::draft::Draft;
use crate::config::{LockedFile, create_private_dir, create_private_file};
use crate::event::ErrorRecord;
use crate::workbench::AgentFile;
use crate::workbench::files::{write_whole, write_whole_private};

/// Unsaved texts as a file keeps them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovery {
    /// Identifies the recovery file, for [`RecoveryFiles::remove`]; empty for this process's own.
    #[serde(skip)]
    pub id: String,
    /// Unix time in ms.
    pub saved_ms: i64,
    /// The file they belong to.
    pub file: Option<AgentFile>,
    /// The folder that a relative path of the file starts from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// Prompt, signature, context, options with their edit logs.
    pub drafts: [Draft; 4],
    /// Tools with their edit log; files of older versions do not have it.
    #[serde(default)]
    pub tools: Draft,
    /// The pinned program, likewise.
    #[serde(default)]
    pub program: Draft,
    /// The reply that was being written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<SavedReply>,
    /// It was kept for the reply alone: its texts are saved.
    #[serde(default)]
    pub is_saved: bool,
}

/// A reply of the user that was not sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedReply {
    /// The session of the run.
    pub session: String,
    /// The address of the question.
    pub question: String,
    /// Its text with the edit log.
    pub draft: Draft,
}

/// The recovery files of a folder, one per process.
#[derive(Debug)]
pub struct RecoveryFiles {
    dir: PathBuf,
    own: PathBuf,
    /// Held while something is kept.
    lock: Option<LockedFile>,
}

impl RecoveryFiles {
    /// Those of this folder, which need not exist.
    pub fn new(dir: &Path) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        Self { dir: dir.to_owned(), own: dir.join(format!("unsaved-{}-{since}.json", std::process::id())), lock: None }
    }

    /// Returns the recoveries of processes that have ended, newest first; unreadable ones are skipped.
    pub fn find(&self) -> Vec<Recovery> {
        let files = fs::read_dir(&self.dir).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
        let mut found: Vec<Recovery> = files
            .filter(|path| *path != self.own)
            .filter_map(|path| {
                let name = path.file_name()?.to_str()?;
                let is_json = path.extension().is_some_and(|ending| ending == "json");
                if !(name.starts_with("unsaved-") && is_json) || is_locked(&path) {
                    return None;
                }
                let recovery: Recovery = serde_json::from_slice(&fs::read(&path).ok()?).ok()?;
                Some(Recovery { id: name.to_owned(), ..recovery }.seen_from_here())
            })
            .collect();
        found.sort_by_key(|recovery| std::cmp::Reverse(recovery.saved_ms));
        found
    }

    /// Keeps unsaved texts, replacing what this process kept before. Also called while the process ends.
    pub fn keep(&mut self, recovery: &Recovery) -> Result<(), ErrorRecord> {
        let recovery = Recovery { folder: std::env::current_dir().ok(), ..recovery.clone() };
        let text = serde_json::to_vec(&recovery).map_err(|error| failure(&self.own, &io::Error::other(error)))?;
        create_private_dir(&self.dir)
            .and_then(|()| self.take_lock())
            .and_then(|()| write_whole_private(&self.own, &text))
            .map_err(|error| failure(&self.own, &error))
    }

    /// Takes the lock, once. A file system without locks is no reason to keep nothing.
    fn take_lock(&mut self) -> io::Result<()> {
        if self.lock.is_none() {
            let lock = create_private_file(&lock_of(&self.own))?;
            self.lock = Some(LockedFile::lock_where_possible(lock));
        }
        Ok(())
    }

    /// Removes the texts that this process kept.
    pub fn forget(&mut self) {
        remove(&self.own);
        if self.lock.take().is_some() {
            remove(&lock_of(&self.own));
        }
    }

    /// Removes a recovery that was found.
    pub fn remove(&self, id: &str) {
        let only_a_name = Path::new(id).file_name().is_some_and(|name| name == id);
        if only_a_name && id.starts_with("unsaved-") {
            let path = self.dir.join(id);
            remove(&path);
            remove(&lock_of(&path));
        }
    }
}

impl Recovery {
    /// The same with a path of the file that leads to it from the current folder, too.
    fn seen_from_here(mut self) -> Self {
        let here = std::env::current_dir().ok();
        if let (Some(folder), Some(file)) =
            (self.folder.take().filter(|folder| Some(folder) != here.as_ref()), &mut self.file)
        {
            file.path = folder.join(&file.path);
        }
        self
    }
}

fn lock_of(kept: &Path) -> PathBuf {
    kept.with_extension("lock")
}

/// Returns whether the process of a recovery file is alive: it keeps a lock.
fn is_locked(kept: &Path) -> bool {
    let Ok(lock) = fs::File::open(lock_of(kept)) else { return false };
    LockedFile::is_held_elsewhere(&lock)
}

fn remove(path: &Path) {
    if let Err(error) = fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::debug!(%error, path = %path.display(), "removing a file");
    }
}

fn failure(path: &Path, error: &io::Error) -> ErrorRecord {
    ErrorRecord::new(Reason::WriteFailed, format!("{}: {error}", path.display()))
}

/// Returns whether the user has seen the tour.
pub fn is_tour_seen(state_dir: &Path) -> bool {
    tour_mark(state_dir).exists()
}

/// Notes that the tour was seen.
pub fn mark_tour_seen(state_dir: &Path) -> Result<(), ErrorRecord> {
    let path = tour_mark(state_dir);
    let written = create_private_dir(state_dir).and_then(|()| write_whole(&path, b"seen\n"));
    written.map_err(|error| failure(&path, &error))
}

fn tour_mark(state_dir: &Path) -> PathBuf {
    state_dir.join("tour-seen")
}
