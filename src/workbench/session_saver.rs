//! Saving of a run's session: in its folder, or in another one when that can no longer be written.
//!
//! In: the status of the recorder. Out: the last attempt, the move to a spare folder, the events that are lost. It must never drop events
//! while a folder can be written.

use std::path::{Path, PathBuf};

use ptc_core::reasons::Reason;
use tokio::task::JoinHandle;

use super::{BackgroundRun, Workbench};
use crate::agent::Step;
use crate::event::ErrorRecord;
use crate::session::{Recorder, RecorderError, RecorderStatus, UnwrittenEvents};

/// Saves the session of a run: the status of its recorder, and the spare folder.
#[derive(Debug, Clone)]
pub struct SessionSaver {
    /// The state of the writing.
    pub status: RecorderStatus,
    /// The folder that takes the session when its own cannot.
    pub spare_dir: PathBuf,
}

/// Location of a session after its run.
#[derive(Debug)]
pub enum SaveOutcome {
    /// In its own folder, whole.
    Whole,
    /// In another folder, whole; its own holds the beginning.
    Elsewhere {
        /// The file that has everything.
        path: PathBuf,
        /// Events that its own folder lacks.
        unwritten: UnwrittenEvents,
    },
    /// Incomplete everywhere: missing lines are lost at exit.
    Partly {
        /// Events that its own folder lacks.
        unwritten: UnwrittenEvents,
        /// Error of writing to the spare folder.
        spare: RecorderError,
    },
}

impl SessionSaver {
    /// Checks the file, tries its own folder once more, and then the spare one. Reads and writes files.
    pub fn settle(&self) -> SaveOutcome {
        let Some(unwritten) = self.status.retry() else {
            return match self.status.moved_from() {
                None => SaveOutcome::Whole,
                Some(unwritten) => SaveOutcome::Elsewhere { path: self.status.path(), unwritten },
            };
        };
        match self.status.move_to(&self.spare_dir) {
            Ok(path) => SaveOutcome::Elsewhere { path, unwritten },
            Err(spare) => SaveOutcome::Partly { unwritten, spare },
        }
    }

    /// Moves the session to a folder that the user names, at any time. Returns the file that has everything then.
    pub fn move_to(&self, dir: &Path) -> Result<PathBuf, RecorderError> {
        self.status.move_to(dir)
    }
}

impl Workbench {
    /// Returns the saver of this recorder's session, and gives the recorder the spare folder.
    pub(super) fn saver(&self, recorder: &Recorder) -> SessionSaver {
        let (status, spare_dir) = (recorder.status(), self.folders.spare_dir.clone());
        status.set_spare_dir(&spare_dir);
        SessionSaver { status, spare_dir }
    }
}

impl std::fmt::Display for SaveOutcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole => f.write_str("saved"),
            Self::Elsewhere { path, unwritten } => write!(
                f,
                "{} could not be written to the end: {}. The whole session is in {} (--spare-sessions names another folder)",
                unwritten.path.display(),
                unwritten.error,
                path.display()
            ),
            Self::Partly { unwritten, spare } => write!(
                f,
                "{unwritten}, and {} could not be written either: {}. Only what the file holds is saved: free disk space, or name a folder with --spare-sessions",
                spare.path.display(),
                spare.error
            ),
        }
    }
}

impl BackgroundRun {
    /// Returns the task of a run without a user who could name a folder: it ends when the session is saved. A run whose session is
    /// incomplete everywhere fails. Must be called inside of the runtime.
    pub fn saved_task(task: JoinHandle<Step>, saver: Option<SessionSaver>) -> JoinHandle<Step> {
        let failed = |step: Step, reason: Reason, message: String| Step {
            fail: Some(ErrorRecord::new(reason, message)),
            waits_for: None,
            ..step
        };
        tokio::spawn(async move {
            let step = match task.await {
                Ok(step) => step,
                Err(error) => failed(Step::default(), Reason::InternalError, error.to_string()),
            };
            match settled(saver).await {
                Ok(()) => step,
                Err(message) => failed(step, Reason::RecorderFailed, message),
            }
        })
    }
}

/// Waits until the session is saved. A trial whose session is incomplete everywhere cannot be looked at later: it was not tried.
///
/// Errors: what is lost and what to do.
pub(super) async fn settled(saver: Option<SessionSaver>) -> Result<(), String> {
    let Some(saver) = saver else { return Ok(()) };
    match tokio::task::spawn_blocking(move || saver.settle()).await {
        Ok(SaveOutcome::Whole) => Ok(()),
        Ok(settled @ SaveOutcome::Elsewhere { .. }) => {
            tracing::warn!(%settled, "a session");
            Ok(())
        }
        Ok(settled @ SaveOutcome::Partly { .. }) => Err(settled.to_string()),
        Err(error) => Err(format!("{}: {error}", Reason::InternalError)),
    }
}
