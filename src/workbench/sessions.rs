//! Sessions as a user handles them: found by name, opened, replayed, verified, recovered, deleted. A name means an example session only if no other
//! session has it.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptc_core::reasons::Reason;

use super::Workbench;
use super::source::{example_ids, example_session};
use crate::config::LockedFile;
use crate::event::ErrorRecord;
use crate::port::SystemClock;
use crate::replay::{Check, Finding, Recording, Report, Rules, Verification, replay_by, replay_redacted, verify};
use crate::session::{
    FindError, RecoveryReport, Session, SessionId, SessionKey, find, ids_of_name, recover, shell_word,
};

/// Error of opening or replaying a session; the text contains what could be read and the next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenError(pub String);

impl std::fmt::Display for OpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OpenError {}

impl From<OpenError> for ErrorRecord {
    fn from(error: OpenError) -> Self {
        Self::new(Reason::SessionUnreadable, error.0)
    }
}

impl Workbench {
    /// Opens a session by path, id, unique beginning or end of an id, or `last`.
    pub fn open_session(&self, name: &str) -> Result<Session, OpenError> {
        self.open_found(&self.find_session(name)?)
    }

    /// Opens exactly this session.
    pub fn open_found(&self, key: &SessionKey) -> Result<Session, OpenError> {
        match key {
            SessionKey::File(path) => Session::open(path).map_err(|error| OpenError(error.to_string())),
            SessionKey::Example(id) => {
                example_session(id).ok_or_else(|| OpenError(format!("unknown example session {id}")))
            }
        }
    }

    /// Finds the session of a path, an id, a unique beginning or end of an id, or `last`. Of a session that its own folder could not take
    /// to the end, it finds the whole copy in the spare folder.
    pub fn find_session(&self, name: &str) -> Result<SessionKey, OpenError> {
        match find(&self.folders.sessions_dir, name) {
            Ok(path) if path == Path::new(name) => Ok(SessionKey::File(path)),
            Ok(path) => {
                let copy = path.file_name().map(|file| self.folders.spare_dir.join(file));
                Ok(SessionKey::File(copy.filter(|copy| copy.is_file()).unwrap_or(path)))
            }
            Err(error @ FindError::Several { .. }) => Err(OpenError(error.to_string())),
            Err(error) => {
                // A session that its own folder did not take is in the spare one.
                if let Ok(path) = find(&self.folders.spare_dir, name) {
                    return Ok(SessionKey::File(path));
                }
                let examples: Vec<&str> = example_ids().collect();
                match ids_of_name(name, &examples).as_slice() {
                    [id] => Ok(SessionKey::Example((**id).to_owned())),
                    _ => Err(OpenError(error.to_string())),
                }
            }
        }
    }

    /// The argument that names this session to a command: its id if it is in the folder of the sessions, else its file as a word of
    /// a shell, because a session of the folder may have the same id.
    pub fn name_of(&self, path: &Path) -> String {
        let id = path.file_name().and_then(|name| SessionId::from_file_name(name.to_str()?));
        let own = id.filter(|_| path.parent() == Some(&*self.folders.sessions_dir));
        own.map_or_else(|| shell_word(&path.to_string_lossy()), |id| id.to_string())
    }

    /// Replays a session with the same engine, without a model.
    pub async fn replay(&self, session: &Session) -> Result<Report, OpenError> {
        self.replay_by(session, &Rules::strict()).await
    }

    /// Like `replay`, by these rules.
    pub async fn replay_by(&self, session: &Session, rules: &Rules) -> Result<Report, OpenError> {
        let recording = Arc::new(Recording::of(session).map_err(OpenError)?);
        if session.header.redacted.is_some() {
            return Ok(replay_redacted(rules, &recording, None).await);
        }
        let replayed = replay_by(rules, &recording, None).await;
        replayed.map(|(report, _)| report).map_err(|error| OpenError(error.to_string()))
    }

    /// Verifies the session of this name. A file that cannot be read as a session at all is a finding too. Nothing is written.
    ///
    /// Errors: no session has this name, or it needs a newer version of the program.
    pub async fn verify(&self, name: &str) -> Result<Verification, OpenError> {
        let key = self.find_session(name)?;
        let SessionKey::File(path) = &key else { return Ok(verify(&self.open_found(&key)?).await) };
        match Session::open(path) {
            Ok(session) => Ok(verify(&session).await),
            Err(error) if error.is_newer => Err(OpenError(error.to_string())),
            Err(error) => {
                let finding = Finding { line: None, address: None, check: Check::File, message: error.message };
                Ok(Verification { findings: vec![finding], replay: None, events: 0 })
            }
        }
    }

    /// Deletes a session: its file, and the part of it in the folder of the sessions if this one is the copy in the spare folder. Files
    /// that were given to its runs stay, because other sessions may use them; so do its tags, notes and labels, which nothing lists. Returns the name that the session had.
    ///
    /// Errors: an example; a session that a program is writing; the file cannot be removed.
    pub fn delete_session(&self, key: &SessionKey) -> Result<String, OpenError> {
        let path = match key {
            SessionKey::File(path) => path,
            SessionKey::Example(id) => {
                return Err(OpenError(format!(
                    "{id} is an example session, a part of the program: it cannot be deleted"
                )));
            }
        };
        let failed =
            |path: &Path, error: &std::io::Error| OpenError(format!("{} cannot be deleted: {error}", path.display()));
        let own = path.file_name().map(|file| self.folders.sessions_dir.join(file));
        let own = own.filter(|own| path.parent() == Some(&*self.folders.spare_dir) && own.is_file());
        for path in own.iter().chain([path]) {
            let file = File::open(path).map_err(|error| failed(path, &error))?;
            if LockedFile::is_held_elsewhere(&file) {
                return Err(OpenError(format!(
                    "{} cannot be deleted: a program is writing it now (end the run first)",
                    path.display()
                )));
            }
        }
        for path in own.iter().chain([path]) {
            std::fs::remove_file(path).map_err(|error| failed(path, &error))?;
        }
        Ok(self.name_of(path))
    }

    /// Writes what can be read of a damaged session into a new one in the folder of the sessions. The damaged file stays as it is.
    pub fn recover(&self, name: &str) -> Result<RecoveryReport, OpenError> {
        let path: PathBuf = match self.find_session(name)? {
            SessionKey::File(path) => path,
            SessionKey::Example(id) => return Err(OpenError(format!("{id} is an example session and not damaged"))),
        };
        match Session::open(&path) {
            Ok(session) if session.is_being_written() => {
                return Err(OpenError(format!("{}: another program is writing it now", path.display())));
            }
            Ok(session) if session.damage.is_empty() => {
                return Err(OpenError(format!(
                    "{}: all of it can be read; there is nothing to recover",
                    path.display()
                )));
            }
            Err(error) if error.is_newer => return Err(OpenError(error.to_string())),
            Ok(_) | Err(_) => {}
        }
        let now = SystemClock.now();
        let done = recover(&path, &self.folders.sessions_dir, SessionId::draw(now), now);
        let folder = self.folders.sessions_dir.display();
        done.map_err(|error| match error.kind() {
            ErrorKind::Other => OpenError(format!("{} cannot be recovered: {error}", path.display())),
            _ => OpenError(format!(
                "{} cannot be recovered into {folder}: {error} (choose another folder with --sessions)",
                path.display()
            )),
        })
    }
}
