//! The overview of a session: one line for each turn, folded from its events.
//!
//! In: envelopes in order, live or from a file. Out: [`TurnLine`]s in the order of the transcript, child runs after the turn that started
//! them. Only the records of turns that can still change are kept, so that a long session takes one line for each turn. It must never keep
//! the state of a view, and nothing else may decide what a turn's line contains.

mod filter;
mod line;

use std::collections::HashMap;

pub use filter::{TurnFilter, TurnOrder};
pub use line::{CallMark, TimeSplit, TurnLine, first_error};

use super::{OpenError, PromptSizes, Workbench};
use crate::event::{Address, Envelope, Event, Gaps, SentMessage};
use crate::record::Records;
use crate::session::SessionKey;

/// Turns of a run whose records are kept: a message repeats the reply of the turn before.
const KEPT_TURNS: u32 = 2;

/// The turns of a session, one line each.
#[derive(Debug, Clone, Default)]
pub struct Overview {
    records: Records,
    lines: Vec<TurnLine>,
    places: HashMap<Address, usize>,
    /// Turns whose lines are older than their records.
    changed: Vec<Address>,
    /// Estimated tokens of the messages of each run, by number.
    sizes: HashMap<Address, Vec<u64>>,
    gaps: Gaps,
    version: u64,
}

impl Overview {
    /// Takes the next event.
    pub fn apply(&mut self, envelope: &Envelope) {
        let gap_ms = self.gaps.before(envelope);
        self.records.exclude(&envelope.address.root(), u64::try_from(gap_ms).unwrap_or_default());
        self.records.apply(envelope);
        let turn = envelope.address.turn_part();
        match &envelope.event {
            Event::TurnStart(start) if start.is_allowed() => self.begin(&turn),
            Event::MessageAdded(message) => {
                let run = envelope.run();
                let size = self.records.run(&run).map_or(0, |record| {
                    let mut sizes = PromptSizes::default();
                    sizes.add_message(&SentMessage::of(message, record));
                    sizes.tokens()
                });
                let (sizes, at) = (self.sizes.entry(run).or_default(), message.m as usize);
                if at == sizes.len() {
                    sizes.push(size);
                } else if let Some(known) = sizes.get_mut(at) {
                    *known = size;
                }
            }
            Event::RunEnd(_) => {
                let of_run = |line: &&mut TurnLine| line.address.run_part() == envelope.address;
                let ended = self.lines.iter_mut().rev().take_while(|line| line.address.is_within(&envelope.address));
                ended.filter(of_run).for_each(|line| line.is_over = true);
            }
            _ => {}
        }
        if self.places.contains_key(&turn) && self.changed.last() != Some(&turn) {
            self.changed.push(turn);
        }
        self.version += 1;
    }

    /// Adds the line of a turn after the other turns of its run, or after the turn that started the run.
    fn begin(&mut self, turn: &Address) {
        let run = turn.run_part();
        if let Some(old) = turn.turn_number().and_then(|number| number.checked_sub(KEPT_TURNS)) {
            self.refresh();
            self.records.forget(&run.turn(old));
        }
        if self.places.contains_key(turn) {
            return;
        }
        let parent = run.turn_part();
        // Child runs of one turn are in the order of their addresses, as in the transcript.
        let is_sibling_before = |line: &TurnLine| {
            let sibling = line.address.child_of(&parent.run_part());
            run.is_call() && sibling.is_some_and(|sibling| sibling.turn_part() == parent && sibling < run)
        };
        let is_before =
            |line: &TurnLine| line.address.is_within(&run) || line.address == parent || is_sibling_before(line);
        let place = self.lines.iter().rposition(is_before).map_or(self.lines.len(), |before| before + 1);
        let is_last = place == self.lines.len();
        self.lines.insert(place, TurnLine { address: turn.clone(), ..TurnLine::default() });
        let moved = if is_last { place..place + 1 } else { place..self.lines.len() };
        for at in moved {
            self.places.insert(self.lines[at].address.clone(), at);
        }
    }

    /// Brings the lines up to date: those of the turns that have changed are made from their records.
    pub fn refresh(&mut self) {
        for turn in std::mem::take(&mut self.changed) {
            let run = turn.run_part();
            let (Some(record), Some(run_record)) = (self.records.turn(&turn), self.records.run(&run)) else { continue };
            let Some(line) = self.places.get(&turn).and_then(|place| self.lines.get_mut(*place)) else { continue };
            let sizes = self.sizes.get(&run).map_or(&[][..], Vec::as_slice);
            *line = TurnLine { is_over: line.is_over, ..TurnLine::of(record, &run_record.start, sizes) };
        }
    }

    /// The lines, in order. They are as of the last [`refresh`](Self::refresh).
    pub fn lines(&self) -> &[TurnLine] {
        &self.lines
    }

    /// Position of the line of a turn.
    pub fn place(&self, turn: &Address) -> Option<usize> {
        self.places.get(turn).copied()
    }

    /// Grows with every event.
    pub fn version(&self) -> u64 {
        self.version
    }
}

impl FromIterator<Envelope> for Overview {
    fn from_iter<I: IntoIterator<Item = Envelope>>(events: I) -> Self {
        let mut overview = Self::default();
        for envelope in events {
            overview.apply(&envelope);
        }
        overview.refresh();
        overview
    }
}

impl Workbench {
    /// Reads a session once and makes the overview of its turns.
    ///
    /// Errors: the session cannot be opened.
    pub fn overview(&self, key: &SessionKey) -> Result<Overview, OpenError> {
        Ok(self.open_found(key)?.events().collect())
    }
}
