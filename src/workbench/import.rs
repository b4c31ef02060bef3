//! Imports as a user makes them: a file of another program becomes a session to look at.

use std::path::{Path, PathBuf};

use super::Workbench;
use crate::event::hex_sha;
use crate::export::trace;
use crate::session::{Header, ImportSource, SessionId, write_session};

/// The format that can be imported.
const FORMAT: &str = "ptc_runner trace 2";

/// Error of an import, of which nothing was written; the text names the file, the line and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportError(pub String);

impl std::fmt::Display for ImportError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ImportError {}

/// Result of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportReport {
    /// The new session's id.
    pub id: String,
    /// Its file.
    pub path: PathBuf,
    /// Its events.
    pub events: usize,
    /// Number of events that have no counterpart here and are kept as they were.
    pub kept: usize,
}

impl Workbench {
    /// Makes a session from a trace file of `PtcRunner` (JSON lines, schema version 2). The id follows from the file, so that the same
    /// file is not imported twice. Nothing is written unless all of it could be read.
    pub fn import_trace(&self, file: &Path) -> Result<ImportReport, ImportError> {
        let fail = |message: String| ImportError(format!("{}: {message}", file.display()));
        let bytes = std::fs::read(file).map_err(|error| fail(format!("cannot be read: {error}")))?;
        let text = std::str::from_utf8(&bytes).map_err(|error| fail(format!("is not UTF-8 text: {error}")))?;
        let converted = trace::read(text).map_err(|error| fail(error.to_string()))?;
        let sha = hex_sha(&bytes);
        let chance = sha.get(..8).and_then(|start| u32::from_str_radix(start, 16).ok()).unwrap_or_default();
        let id = SessionId::new(converted.started_ms, chance);
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let imported = ImportSource { format: FORMAT.to_owned(), id: converted.id, file: name, sha };
        let header = Header { imported: Some(imported), ..Header::new(id.clone(), converted.started_ms) };
        let path =
            write_session(&self.folders.sessions_dir, &header, &converted.events).map_err(|error| {
                match error.error.kind() {
                    std::io::ErrorKind::AlreadyExists => fail(format!("was imported before, as session {id}")),
                    _ => ImportError(error.to_string()),
                }
            })?;
        Ok(ImportReport { id: id.to_string(), path, events: converted.events.len(), kept: converted.kept })
    }
}
