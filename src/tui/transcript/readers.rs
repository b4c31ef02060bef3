//! How the replies of the turns of a transcript would be read: a reader per run, made when the first turn of it asks for something.
//!
//! In: how runs began, edits, what turns ask for. Out: readers. A run whose agent cannot be read any more has none, nor has a turn before
//! which turns are missing: what they defined is not known.

use std::collections::HashMap;
use std::sync::Arc;

use crate::engine::{Reader, Turn};
use crate::event::{Address, Edit, RunStart};

/// Bytes of a context up to which its keys are known.
const CONTEXT_BYTES: usize = 1 << 20;

/// The readers of the runs of a transcript.
#[derive(Debug, Clone, Default)]
pub(super) struct Readers {
    /// With the number of edits that it knows.
    of_runs: HashMap<Address, (usize, Option<Arc<Reader>>)>,
    edits: Vec<(Address, Edit)>,
}

impl Readers {
    /// Takes an edit.
    pub(super) fn edited(&mut self, at: &Address, edit: &Edit) {
        self.edits.push((at.run_part(), edit.clone()));
    }

    /// The reader of a turn of a run.
    pub(super) fn of(&mut self, run: &Address, start: &RunStart, turn: Turn) -> Option<Arc<Reader>> {
        let edits = self.edits.iter().filter(|(at, _)| at == run).map(|(_, edit)| edit);
        let count = edits.clone().count();
        let known = self.of_runs.entry(run.clone()).or_insert((usize::MAX, None));
        if known.0 != count {
            *known = (count, Reader::of(start, edits, CONTEXT_BYTES).map(Arc::new));
        }
        known.1.as_ref().map(|reader| Arc::new(reader.for_turn(turn)))
    }
}
