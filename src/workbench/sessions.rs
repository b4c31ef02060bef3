//! Sessions as a user handles them: found by name, opened, replayed. The example sessions count where no other has the name.

use std::path::Path;
use std::sync::Arc;

use ptc_core::reasons::Reason;

use super::Workbench;
use super::source::{example_ids, example_session};
use crate::event::ErrorRecord;
use crate::replay::{Recording, Report, Rules, replay_by, replay_redacted};
use crate::session::{FindError, Session, SessionId, SessionKey, find, shell_word};

/// Why a session cannot be opened or replayed; the text contains what could be read and the next step.
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
    /// Opens a session by path, id, unique beginning of an id, or `last`.
    pub fn open_session(&self, name: &str) -> Result<Session, OpenError> {
        self.open_found(&self.find_session(name)?)
    }

    /// Opens exactly this session.
    pub fn open_found(&self, key: &SessionKey) -> Result<Session, OpenError> {
        match key {
            SessionKey::File(path) => Session::open(path).map_err(|error| OpenError(error.to_string())),
            SessionKey::Example(id) => {
                example_session(id).ok_or_else(|| OpenError(format!("there is no example session {id}")))
            }
        }
    }

    /// Which session a path, an id, a unique beginning of an id, or `last` means.
    pub fn find_session(&self, name: &str) -> Result<SessionKey, OpenError> {
        match find(&self.folders.sessions_dir, name) {
            Ok(path) => Ok(SessionKey::File(path)),
            Err(error @ FindError::Several { .. }) => Err(OpenError(error.to_string())),
            Err(error) => {
                let mut examples = example_ids().filter(|id| !name.is_empty() && id.starts_with(name));
                match (examples.next(), examples.next()) {
                    (Some(id), None) => Ok(SessionKey::Example(id.to_owned())),
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

    /// The same by these rules.
    pub async fn replay_by(&self, session: &Session, rules: &Rules) -> Result<Report, OpenError> {
        let recording = Arc::new(Recording::of(session).map_err(OpenError)?);
        if session.header.redacted.is_some() {
            return Ok(replay_redacted(rules, &recording, None).await);
        }
        let replayed = replay_by(rules, &recording, None).await;
        replayed.map(|(report, _)| report).map_err(|error| OpenError(error.to_string()))
    }
}
