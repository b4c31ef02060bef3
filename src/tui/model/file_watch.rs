//! Changes of the agent's file by other programs: it is looked at from time to time, and when the terminal gets the focus.
//!
//! In: the time, the result of a look at the file. Out: when the next look is due, the change. Pure: the look itself is an effect. A
//! content that is found once may be half-written, or be written by this program itself: it counts when the next look finds it again.

use super::Model;
use crate::workbench::AgentFile;

/// Time between two looks at the file, in ms.
const LOOK_MS: i64 = 2_000;
/// Time until a new content is looked at again, in ms.
const AGAIN_MS: i64 = 500;

/// Known changes of the agent's file.
#[derive(Debug, Clone, Default)]
pub struct FileWatch {
    /// The last look, Unix time in ms, and how long the next one waits.
    last: Option<(i64, i64)>,
    /// A look is under way.
    is_looking: bool,
    /// The content that was found last, by its hash: another one than the editors were filled from.
    found: Option<FileChange>,
    /// It was found twice.
    is_settled: bool,
    /// The change that was announced.
    announced: Option<FileChange>,
}

/// A content of the file that another program wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileChange {
    /// The file as it was read or saved.
    known: AgentFile,
    /// Hash of its content now.
    sha: String,
}

impl Model {
    /// The file that another program changed since it was read or saved.
    pub fn changed_file(&self) -> Option<&AgentFile> {
        let watch = &self.workbench.watch;
        let change = watch.found.as_ref().filter(|_| watch.is_settled)?;
        self.workbench.file.as_ref().filter(|file| **file == change.known)
    }

    /// Returns the time of the next look at the file, Unix time in ms; `None` without a file, during a look and while quitting.
    pub(super) fn file_look_ms(&self) -> Option<i64> {
        let watch = &self.workbench.watch;
        let waits = self.workbench.file.is_some() && !watch.is_looking && !self.quitting;
        waits.then(|| watch.last.map_or(self.now_ms + LOOK_MS, |(at, wait)| at + wait))
    }

    /// Begins a look when one is due: returns the file as it is known.
    pub(in crate::tui) fn begin_file_look(&mut self) -> Option<AgentFile> {
        let now_ms = self.now_ms;
        let watch = &mut self.workbench.watch;
        let (at, wait) = *watch.last.get_or_insert((now_ms, LOOK_MS));
        if watch.is_looking || self.quitting || now_ms < at + wait {
            return None;
        }
        let file = self.workbench.file.clone()?;
        self.workbench.watch.is_looking = true;
        Some(file)
    }

    /// The file is to be looked at now.
    pub(in crate::tui) fn look_at_file_soon(&mut self) {
        self.workbench.watch.last = Some((self.now_ms, 0));
    }

    /// Takes what a look has found: the hash of a content that is another one than the known. Returns whether it is to be announced.
    pub(in crate::tui) fn take_file_look(&mut self, known: AgentFile, sha: Option<String>) -> bool {
        let is_free = self.popups.is_empty() && self.screen == super::Screen::Workbench;
        let before = self.changed_file().is_some();
        let is_current = self.workbench.file.as_ref() == Some(&known);
        let watch = &mut self.workbench.watch;
        watch.is_looking = false;
        let found = sha.filter(|_| is_current).map(|sha| FileChange { known, sha });
        watch.is_settled = found.is_some() && found == watch.found;
        watch.last = Some((self.now_ms, if found.is_some() && !watch.is_settled { AGAIN_MS } else { LOOK_MS }));
        watch.found = found;
        let is_new = watch.is_settled && watch.announced != watch.found && is_free;
        if is_new {
            watch.announced.clone_from(&watch.found);
        }
        self.dirty |= is_new || before != self.changed_file().is_some();
        is_new
    }
}
