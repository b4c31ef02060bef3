//! Session files that are written at once and appear only when they are complete.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::{Header, RecorderError, SessionId};
use crate::config::{create_private_dir, create_private_file};
use crate::event::{Envelope, Event, escape_json};

/// Writes `<dir>/<id>.jsonl` with these events. Creates the folder if necessary; never replaces an existing session.
pub fn write_session(dir: &Path, header: &Header, events: &[Envelope]) -> Result<PathBuf, RecorderError> {
    write_atomically(dir, &header.id, |file| file.write_all(text(header, events)?.as_bytes())).map(|(path, ())| path)
}

/// Writes `<dir>/<id>.jsonl` with the bytes that `write` produces, and returns its result. Creates the folder if
/// necessary; never replaces an existing session.
pub(super) fn write_atomically<T>(
    dir: &Path,
    id: &SessionId,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<T>,
) -> Result<(PathBuf, T), RecorderError> {
    let path = dir.join(id.file_name());
    let draft = dir.join(format!(".{id}.part"));
    let written = || -> io::Result<T> {
        create_private_dir(dir)?;
        let mut file = BufWriter::new(create_private_file(&draft)?);
        let value = write(&mut file)?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        rename_new(&draft, &path)?;
        Ok(value)
    };
    let result = written();
    // Already renamed, or not created: an error here changes nothing.
    _ = std::fs::remove_file(&draft);
    match result {
        Ok(value) => Ok((path, value)),
        Err(error) => Err(RecorderError { path, error, is_append: false }),
    }
}

/// Renames the draft unless the path exists.
fn rename_new(draft: &Path, path: &Path) -> io::Result<()> {
    match std::fs::hard_link(draft, path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            // File system without hard links: no other process creates this id at the same moment.
            File::create_new(path)?;
            std::fs::rename(draft, path)
        }
        done => done,
    }
}

fn text(header: &Header, events: &[Envelope]) -> io::Result<String> {
    let mut text = escape_json(&serde_json::to_string(header)?).into_owned();
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
