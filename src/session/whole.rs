//! Writing a session whose events are all known: the file appears whole or not at all.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::{Header, RecorderError};
use crate::event::{Envelope, Event};

/// Writes `<dir>/<id>.jsonl` with these events. The folder is made when it does not exist; a session of this id is never replaced.
pub fn write_whole(dir: &Path, header: &Header, events: &[Envelope]) -> Result<PathBuf, RecorderError> {
    let path = dir.join(header.id.file_name());
    let draft = dir.join(format!(".{}.part", header.id));
    let written = || -> std::io::Result<()> {
        let text = text(header, events)?;
        std::fs::create_dir_all(dir)?;
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&draft)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        appear(&draft, &path)
    };
    let result = written();
    // Gone already when it has become the session.
    _ = std::fs::remove_file(&draft);
    result.map_err(|error| RecorderError { path: path.clone(), error, goes_on: false })?;
    Ok(path)
}

/// Gives the file its name, unless something has that name.
fn appear(draft: &Path, path: &Path) -> std::io::Result<()> {
    match std::fs::hard_link(draft, path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            // A file system without links: nobody else makes this id in the same moment.
            File::create_new(path)?;
            std::fs::rename(draft, path)
        }
        done => done,
    }
}

fn text(header: &Header, events: &[Envelope]) -> std::io::Result<String> {
    let mut text = serde_json::to_string(header)?;
    text.push('\n');
    let mut last_turn_end: Option<usize> = None;
    for envelope in events {
        let here = matches!(envelope.event, Event::TurnEnd(_)).then_some(text.len());
        let back = here.and_then(|here| last_turn_end.map(|last| (here - last) as u64));
        text.push_str(&envelope.to_line(back)?);
        text.push('\n');
        last_turn_end = here.or(last_turn_end);
    }
    Ok(text)
}
