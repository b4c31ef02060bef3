//! Session files that appear whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::{Header, RecorderError, SessionId};
use crate::event::{Envelope, Event};

/// Writes `<dir>/<id>.jsonl` with these events. The folder is made when it does not exist; a session of this id is never replaced.
pub fn write_whole(dir: &Path, header: &Header, events: &[Envelope]) -> Result<PathBuf, RecorderError> {
    appear(dir, &header.id, |file| file.write_all(text(header, events)?.as_bytes())).map(|(path, ())| path)
}

/// Writes `<dir>/<id>.jsonl` with what `write` puts into it, and says what `write` did. The folder is made when it does not exist; a session of
/// this id is never replaced.
pub(super) fn appear<T>(
    dir: &Path,
    id: &SessionId,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<T>,
) -> Result<(PathBuf, T), RecorderError> {
    let path = dir.join(id.file_name());
    let draft = dir.join(format!(".{id}.part"));
    let written = || -> io::Result<T> {
        std::fs::create_dir_all(dir)?;
        let mut file = BufWriter::new(File::create(&draft)?);
        let told = write(&mut file)?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        take_name(&draft, &path)?;
        Ok(told)
    };
    let result = written();
    // Gone already when it has become the session, or when it could not be made.
    _ = std::fs::remove_file(&draft);
    match result {
        Ok(told) => Ok((path, told)),
        Err(error) => Err(RecorderError { path, error, goes_on: false }),
    }
}

/// Gives the file its name, unless something has that name.
fn take_name(draft: &Path, path: &Path) -> io::Result<()> {
    match std::fs::hard_link(draft, path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            // A file system without links: nobody else makes this id in the same moment.
            File::create_new(path)?;
            std::fs::rename(draft, path)
        }
        done => done,
    }
}

fn text(header: &Header, events: &[Envelope]) -> io::Result<String> {
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
