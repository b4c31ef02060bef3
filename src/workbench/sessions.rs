//! Sessions as a user handles them: listed, opened, replayed. The example sessions count where no other has the name.

use std::sync::Arc;

use super::{Workbench, example_sessions};
use crate::replay::{Recording, Report, replay};
use crate::session::{FindError, Session, Summary, find, list, summarize};

/// Why a session cannot be opened or replayed; the text says what could be read and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenError(pub String);

impl std::fmt::Display for OpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OpenError {}

impl Workbench {
    /// The user's sessions, newest first, and then the examples.
    pub fn sessions(&self) -> Vec<Summary> {
        let mut all = list(&self.folders.sessions_dir);
        all.extend(example_sessions().iter().rev().map(summarize));
        all
    }

    /// Opens a session by path, id, unique beginning of an id, or `last`.
    pub fn open_session(&self, name: &str) -> Result<Session, OpenError> {
        match find(&self.folders.sessions_dir, name) {
            Ok(path) => Session::open(&path).map_err(|error| OpenError(error.to_string())),
            Err(error @ FindError::Several { .. }) => Err(OpenError(error.to_string())),
            Err(error) => {
                let fits = |session: &Session| !name.is_empty() && session.header.id.as_str().starts_with(name);
                let mut examples = example_sessions().into_iter().filter(fits);
                match (examples.next(), examples.next()) {
                    (Some(session), None) => Ok(session),
                    _ => Err(OpenError(error.to_string())),
                }
            }
        }
    }

    /// Replays a session with the same engine, without a model.
    pub async fn replay(&self, session: &Session) -> Result<Report, OpenError> {
        let recording = Recording::of(session).map_err(OpenError)?;
        replay(&Arc::new(recording), None).await.map_err(|error| OpenError(error.to_string()))
    }
}
