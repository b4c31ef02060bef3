//! The folder of a scene: the files of `assets/scenes` as if a user had made them. It goes when it is dropped.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::config::Folders;

/// Files below the folder of the sessions: their folder there, and content. Each is named by the id in its first line.
const FILES: &[(&str, &str)] = &[
    ("", include_str!("../../../assets/scenes/failed.jsonl")),
    ("", include_str!("../../../assets/scenes/retried.jsonl")),
    ("", include_str!("../../../assets/scenes/slow.jsonl")),
    ("", include_str!("../../../assets/scenes/audit.jsonl")),
    ("", include_str!("../../../assets/scenes/both-json.jsonl")),
    ("", include_str!("../../../assets/scenes/both-lisp.jsonl")),
    ("", include_str!("../../../assets/scenes/fork-reply.jsonl")),
    ("", include_str!("../../../assets/scenes/fork-context.jsonl")),
    ("matrix", include_str!("../../../assets/scenes/matrix.jsonl")),
];
/// Marks, tags and notes of the sessions.
const MARKS: &str = include_str!("../../../assets/scenes/marks.jsonl");

/// The part of a header line that is read.
#[derive(serde::Deserialize)]
struct Head {
    id: String,
}

/// Number of folders made by this process.
static MADE: AtomicU64 = AtomicU64::new(0);

/// A folder for one use.
pub(super) struct Folder(PathBuf);

impl Folder {
    /// Makes it, with the files in it.
    pub(super) fn new() -> std::io::Result<Self> {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let folder = Self(std::env::temp_dir().join(format!("ptc-workbench-scene-{}-{number}", std::process::id())));
        let sessions = folder.folders().sessions_dir;
        for (below, text) in FILES {
            save(&sessions.join(below), text)?;
        }
        std::fs::write(sessions.join("marks.jsonl"), MARKS)?;
        Ok(folder)
    }

    /// Returns the paths of the program's folders, all within this one.
    pub(super) fn folders(&self) -> Folders {
        Folders::at(self.0.join("config"), Path::new(&self.0), None)
    }
}

/// Writes a file under the id in its first line.
pub(super) fn save(dir: &Path, text: &str) -> std::io::Result<()> {
    let head: Head = serde_json::from_str(text.lines().next().unwrap_or_default())?;
    std::fs::create_dir_all(dir)?;
    std::fs::write(dir.join(format!("{}.jsonl", head.id)), text)
}

impl Drop for Folder {
    fn drop(&mut self) {
        // It may never have been made; what the system keeps in its place for such files it cleans itself.
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::debug!(%error, "the folder of a scene is left");
        }
    }
}
