//! Files that are given to runs: their bytes are stored once, by their hash, in the folder `files` next to the sessions.
//!
//! In: bytes and their SHA-256. Out: the same bytes. A file of another hash is as good as missing. Files are created for their owner only.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ptc_core::limits::INPUT_FILE_BYTES;

use crate::config::{create_private_dir, read_named_bytes, write_private_file};
use crate::event::{Envelope, Event, FileRecord, MessagePart, hex_sha, is_sha256};
use crate::port::Attachments;

/// The folder next to the sessions.
pub const FILES: &str = "files";

/// The files of the sessions in a folder, and those that are held in memory.
#[derive(Debug, Default)]
pub struct AttachmentStore {
    /// The folder of the files; without one they are held in memory only.
    folder: Option<PathBuf>,
    held: Mutex<BTreeMap<String, Arc<[u8]>>>,
}

impl AttachmentStore {
    /// The files of the sessions in this folder.
    pub fn of_sessions(folder: &Path) -> Self {
        Self { folder: Some(folder.join(FILES)), held: Mutex::default() }
    }

    /// The files next to this session.
    pub fn of_session(session: &Path) -> Self {
        Self::of_sessions(session.parent().unwrap_or(Path::new("")))
    }

    fn write(folder: &Path, sha256: &str, bytes: &[u8]) -> io::Result<()> {
        let path = folder.join(sha256);
        if read_stored(&path, sha256).is_some() {
            return Ok(());
        }
        create_private_dir(folder)?;
        let draft = folder.join(format!("{sha256}.{}", std::process::id()));
        write_private_file(&draft, bytes)?;
        std::fs::rename(&draft, &path)
    }
}

/// The bytes of a stored file, if they have this hash.
fn read_stored(path: &Path, sha256: &str) -> Option<Vec<u8>> {
    let bytes = read_named_bytes(path).ok()?;
    (bytes.len() as u64 <= INPUT_FILE_BYTES.most() && hex_sha(&bytes) == sha256).then_some(bytes)
}

impl Attachments for AttachmentStore {
    fn bytes(&self, sha256: &str) -> Option<Arc<[u8]>> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = held.get(sha256) {
            return Some(Arc::clone(bytes));
        }
        let folder = self.folder.as_ref().filter(|_| is_sha256(sha256))?;
        let bytes: Arc<[u8]> = read_stored(&folder.join(sha256), sha256)?.into();
        held.insert(sha256.to_owned(), Arc::clone(&bytes));
        Some(bytes)
    }

    fn store(&self, sha256: &str, bytes: &Arc<[u8]>) -> Result<(), String> {
        if let Some(folder) = &self.folder {
            Self::write(folder, sha256, bytes).map_err(|error| {
                format!("the file with the SHA-256 {sha256} cannot be stored in {}: {error}", folder.display())
            })?;
        }
        self.held.lock().unwrap_or_else(PoisonError::into_inner).insert(sha256.to_owned(), Arc::clone(bytes));
        Ok(())
    }
}

/// Copies the files that these events name from the folder of one session to that of another. Files that are missing there stay missing:
/// what needs them reports it. Error: a file that cannot be written.
pub fn copy_files(events: impl Iterator<Item = Envelope>, from: &Path, to: &Path) -> Result<u64, String> {
    let (source, target) = (AttachmentStore::of_session(from), AttachmentStore::of_session(to));
    let mut copied = 0;
    if source.folder == target.folder || !source.folder.as_ref().is_some_and(|folder| folder.is_dir()) {
        return Ok(copied);
    }
    for record in events.flat_map(|envelope| records_of(&envelope.event)) {
        if let Some(bytes) = source.bytes(&record.sha256).filter(|_| target.bytes(&record.sha256).is_none()) {
            target.store(&record.sha256, &bytes)?;
            copied += bytes.len() as u64;
        }
    }
    Ok(copied)
}

/// The files that an event names.
fn records_of(event: &Event) -> Vec<FileRecord> {
    let part = |part: &MessagePart| match part {
        MessagePart::File { file } => Some(file.clone()),
        _ => None,
    };
    match event {
        Event::RunStart(start) => FileRecord::all_in(&start.context.json()),
        Event::ToolEnd(end) => end.files.clone(),
        Event::MessageAdded(message) => message.parts.iter().filter_map(part).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_file_is_found_by_its_hash_and_a_changed_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let bytes: Arc<[u8]> = b"picture".to_vec().into();
        let sha256 = hex_sha(&bytes);
        AttachmentStore::of_sessions(dir.path()).store(&sha256, &bytes).unwrap();
        let store = || AttachmentStore::of_session(&dir.path().join("session.jsonl"));
        assert_eq!(store().bytes(&sha256), Some(Arc::clone(&bytes)));
        let path = dir.path().join(FILES).join(&sha256);
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions()) & 0o777, 0o600);
        std::fs::write(&path, "another").unwrap();
        assert_eq!(store().bytes(&sha256), None);
        store().store(&sha256, &bytes).unwrap();
        assert_eq!(store().bytes(&sha256), Some(bytes), "it is written again");
        assert_eq!(std::fs::read_dir(dir.path().join(FILES)).unwrap().count(), 1, "no drafts are left");
    }

    #[test]
    fn only_a_hash_is_the_name_of_a_file() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(FILES)).unwrap();
        std::fs::write(dir.path().join("secret"), "x").unwrap();
        let store = AttachmentStore::of_sessions(dir.path());
        for name in ["../secret", "secret", "", &"A".repeat(64)] {
            assert_eq!(store.bytes(name), None, "{name}");
        }
    }
}
