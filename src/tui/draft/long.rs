//! The rows of long lines, kept while the text stays as it is: a frame asks for them several times, and a line may hold a whole document.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Minimum bytes of a line whose rows are cached.
const LONG: usize = 4096;
/// Lines whose rows are kept.
const MAX_CACHED: usize = 4;

/// Identifies the rows of a line: version of the text, line, columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) version: u64,
    pub(super) line: usize,
    pub(super) columns: usize,
}

/// Rows of a line: ranges of its bytes.
pub type Rows = Arc<[Range<usize>]>;

/// Cache of the rows of the long lines that were requested last. It is not part of a draft's value: a copy has none.
#[derive(Debug, Default)]
pub(super) struct LongLines(Mutex<Vec<(Key, Rows)>>);

impl LongLines {
    /// The rows of a line of `bytes` bytes; computed by `make` if not cached.
    pub(super) fn rows(&self, key: Key, bytes: usize, make: impl FnOnce() -> Vec<Range<usize>>) -> Rows {
        if bytes < LONG {
            return make().into();
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, rows)) = kept.iter().find(|(known, _)| *known == key) {
            return rows.clone();
        }
        let rows: Rows = make().into();
        kept.retain(|(known, _)| known.version == key.version);
        if kept.len() == MAX_CACHED {
            kept.remove(0);
        }
        kept.push((key, rows.clone()));
        rows
    }
}

impl Clone for LongLines {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for LongLines {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for LongLines {}
