//! A search that is read while it runs, or after it.
//!
//! In: the folder of a search. Out: its [`Progress`], brought up to date by the lines that were added since. It must never write to the folder.

use std::path::{Path, PathBuf};

use super::journal::{self, End, Entry};
use super::{OptimizeError, Progress};

/// A search that is followed.
#[derive(Debug)]
pub struct SearchReader {
    dir: PathBuf,
    /// The first line of the journal: another one means another search.
    head: String,
    end: End,
    progress: Progress,
}

impl SearchReader {
    /// Reads the search in a folder. Errors: there is none, its journal cannot be read.
    pub fn open(dir: &Path) -> Result<Self, OptimizeError> {
        let (entries, end) = journal::entries_after(dir, End::default())?;
        let (head, _) = journal::head(dir)?;
        let progress = Progress::of(slim(entries), None)?;
        Ok(Self { dir: dir.to_owned(), head, end, progress })
    }

    /// Its folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The search as it was read last.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Takes what was added; returns whether anything was. Errors: the journal cannot be read any more.
    pub fn refresh(&mut self) -> Result<bool, OptimizeError> {
        let (head, length) = journal::head(&self.dir)?;
        if head != self.head || length < self.end.bytes {
            *self = Self::open(&self.dir)?;
            return Ok(true);
        }
        let (entries, end) = journal::entries_after(&self.dir, self.end)?;
        if entries.is_empty() {
            return Ok(false);
        }
        // The end of a search decides what its last rounds were.
        let has_end = self.progress.ended.is_some() || entries.iter().any(|one| matches!(one, Entry::Ended { .. }));
        if has_end {
            *self = Self::open(&self.dir)?;
        } else {
            self.progress.extend(slim(entries))?;
            self.end = end;
        }
        Ok(true)
    }
}

/// Entries without what only a proposer reads.
fn slim(entries: Vec<Entry>) -> Vec<Entry> {
    let without = |mut entry| {
        if let Entry::Try(one) = &mut entry {
            one.report = None;
        }
        entry
    };
    entries.into_iter().map(without).collect()
}
