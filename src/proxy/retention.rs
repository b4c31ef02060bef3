//! Retention of captured sessions: the newest are kept, up to a number and a size.
//!
//! In: the folder of sessions. Out: files that are removed. Sessions with tags, notes, marks or labels stay, and so do all
//! that the proxy did not capture: own ones and imported ones. It must never remove a session that is being written, nor any
//! when the marks cannot be read.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use crate::config::LockedFile;
use crate::session::{Header, Marks, SessionId};

/// Longest first line of a session that is looked at, in bytes.
const HEADER_MAX_BYTES: u64 = 64 << 10;

/// Limits of the sessions that the proxy captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Maximum number of sessions.
    pub sessions: usize,
    /// Maximum bytes of all of them.
    pub bytes: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self { sessions: 1_000, bytes: 1 << 30 }
    }
}

impl Retention {
    /// Removes the oldest captured sessions beyond the limits; returns how many.
    pub fn apply(self, dir: &Path) -> usize {
        let Ok(marks) = Marks::read(dir) else { return 0 };
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        let mut found: Vec<(SessionId, u64, PathBuf)> = entries
            .filter_map(|entry| {
                let id = SessionId::from_file_name(entry.file_name().to_str()?)?;
                let about = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
                let is_marked = marks.of_session(id.as_str()).next().is_some();
                (!is_marked && is_captured(&entry.path())).then(|| (id, about.len(), entry.path()))
            })
            .collect();
        // Ids begin with the time.
        found.sort_unstable_by(|one, other| other.0.cmp(&one.0));
        let (mut sessions, mut bytes, mut removed) = (0, 0, 0);
        for (_, size, path) in found {
            let is_within = sessions < self.sessions && bytes + size <= self.bytes;
            if !is_within && remove(&path) {
                removed += 1;
            } else {
                (sessions, bytes) = (sessions + 1, bytes + size);
            }
        }
        removed
    }
}

/// Returns whether the proxy captured the session. Imported traffic is marked as captured too, and does not count.
fn is_captured(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let mut line = Vec::new();
    let read = BufReader::new(file.take(HEADER_MAX_BYTES)).read_until(b'\n', &mut line);
    read.is_ok()
        && serde_json::from_slice::<Header>(&line)
            .is_ok_and(|header| header.captured.is_some() && header.imported.is_none())
}

/// Removes a session unless it is being written.
fn remove(path: &Path) -> bool {
    let is_free = File::open(path).is_ok_and(|file| !LockedFile::is_held_elsewhere(&file));
    is_free && std::fs::remove_file(path).is_ok()
}
