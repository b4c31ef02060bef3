//! Where the session of a run ends up: in its folder, or in another one when that can no longer be written.
//!
//! In: the state of the writing. Out: the last attempt, the move to a spare folder, what is lost. It must never give up events while a
//! place takes them.

use std::path::{Path, PathBuf};

use ptc_core::reasons::Reason;

use super::Workbench;
use crate::session::{Recorder, RecorderError, RecorderStatus, Unwritten};

/// How the session of a run is saved, and where it may go.
#[derive(Debug, Clone)]
pub struct Saving {
    /// The state of the writing.
    pub keeping: RecorderStatus,
    /// The folder that takes the session when its own cannot.
    pub spare_dir: PathBuf,
}

/// Where a session is after its run.
#[derive(Debug)]
pub enum Settled {
    /// In its own folder, whole.
    Whole,
    /// In another folder, whole; its own holds the beginning.
    Elsewhere {
        /// The file that has everything.
        path: PathBuf,
        /// What its own folder lacks.
        unwritten: Unwritten,
    },
    /// Nowhere whole: what the file lacks goes with the program.
    Partly {
        /// What its own folder lacks.
        unwritten: Unwritten,
        /// Why the spare folder did not take it.
        spare: RecorderError,
    },
}

impl Saving {
    /// Checks the file, tries its own folder once more, and then the spare one. Reads and writes files.
    pub fn settle(&self) -> Settled {
        let Some(unwritten) = self.keeping.retry() else {
            return match self.keeping.moved_from() {
                None => Settled::Whole,
                Some(unwritten) => Settled::Elsewhere { path: self.keeping.path(), unwritten },
            };
        };
        match self.keeping.move_to(&self.spare_dir) {
            Ok(path) => Settled::Elsewhere { path, unwritten },
            Err(spare) => Settled::Partly { unwritten, spare },
        }
    }

    /// Moves the session to a folder that the user names, at any time. Returns the file that has everything then.
    pub fn move_to(&self, dir: &Path) -> Result<PathBuf, RecorderError> {
        self.keeping.move_to(dir)
    }
}

impl Workbench {
    /// How the session of this recorder is saved.
    pub(super) fn saving(&self, recorder: &Recorder) -> Saving {
        let (keeping, spare_dir) = (recorder.status(), self.folders.spare_dir.clone());
        keeping.set_spare_dir(&spare_dir);
        Saving { keeping, spare_dir }
    }
}

impl std::fmt::Display for Settled {
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
                "{unwritten}, and {} did not take it either: {}. Only what the file holds is saved: free disk space, or name a folder with --spare-sessions",
                spare.path.display(),
                spare.error
            ),
        }
    }
}

/// Waits until the session is saved. A trial whose session is nowhere whole cannot be looked at later: it was not tried.
///
/// Errors: what is lost and what to do.
pub(super) async fn settled(saving: Option<Saving>) -> Result<(), String> {
    let Some(saving) = saving else { return Ok(()) };
    match tokio::task::spawn_blocking(move || saving.settle()).await {
        Ok(Settled::Whole) => Ok(()),
        Ok(settled @ Settled::Elsewhere { .. }) => {
            tracing::warn!(%settled, "the session of a trial");
            Ok(())
        }
        Ok(settled @ Settled::Partly { .. }) => Err(settled.to_string()),
        Err(error) => Err(format!("{}: {error}", Reason::InternalError)),
    }
}
