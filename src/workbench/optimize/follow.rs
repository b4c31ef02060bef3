//! A reader that follows a search, also while it runs.
//!
//! In: the folder of a search. Out: its [`Progress`], updated with the lines that were added since. It must never write to the folder.

use std::path::{Path, PathBuf};

use super::journal::{self, End, Entry};
use super::{OptimizeError, Progress};

/// A reader of the search in a folder.
#[derive(Debug)]
pub struct SearchReader {
    dir: PathBuf,
    /// First line of the journal: a different one means a different search.
    head: String,
    end: End,
    progress: Progress,
}

impl SearchReader {
    /// Reads the search in a folder. Errors: there is none, or its journal cannot be read.
    pub fn open(dir: &Path) -> Result<Self, OptimizeError> {
        let (entries, end) = journal::entries_after(dir, End::default())?;
        let (head, _) = journal::head(dir)?;
        let progress = Progress::of(slim(entries), None)?;
        Ok(Self { dir: dir.to_owned(), head, end, progress })
    }

    /// Returns the folder of the search.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the search as it was read last.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Reads the lines that were added; returns whether there were any. Errors: the journal cannot be read any more.
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
        // The end entry affects the rounds before it, so the search is read again from the start.
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

/// Removes the reports from the entries: only a proposer reads them.
fn slim(entries: Vec<Entry>) -> Vec<Entry> {
    let without = |mut entry| {
        if let Entry::Try(one) = &mut entry {
            one.report = None;
        }
        entry
    };
    entries.into_iter().map(without).collect()
}
