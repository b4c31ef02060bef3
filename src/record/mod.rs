//! Records: the runs and turns of a session, folded once from their events.
//!
//! In: envelopes in the order of their session, live or from a file. Out: a [`RunRecord`] per run, with a [`TurnRecord`] per turn. Steps,
//! cards, the printer, exports and comparisons take what they need from these. It must never read an agent's definition, judge a reply or
//! keep the state of a view, and nothing else may decide what an event means for its turn.

mod attempt;
mod call;
mod run;
mod turn;

use std::collections::HashMap;

pub use attempt::{Attempt, Attempts, TurnAttempts};
pub use call::{CallRecord, QuestionRecord, count_failed};
pub(crate) use run::MessageLog;
pub use run::RunRecord;
pub use turn::{Retry, TurnRecord, TurnState};

use crate::event::{Address, Envelope, Event, TotalUsage};

/// The records of all runs of a session, in the order in which they started.
#[derive(Debug, Clone, Default)]
pub struct Records {
    runs: Vec<RunRecord>,
    places: HashMap<Address, usize>,
}

impl Records {
    /// Takes the next event.
    pub fn apply(&mut self, envelope: &Envelope) {
        let run = self.run_of(envelope);
        let place = *self.places.entry(run).or_insert_with_key(|run| {
            self.runs.push(RunRecord::new(run.clone(), envelope.at_ms));
            self.runs.len() - 1
        });
        self.runs[place].apply(envelope);
    }

    /// The run that an event belongs to. At the address of a call that is the run that the call started, while it runs, else the caller's.
    fn run_of(&self, envelope: &Envelope) -> Address {
        let run = envelope.run();
        let starts = matches!(envelope.event, Event::RunStart(_));
        let runs =
            || self.run(&run).is_some_and(|record| record.end.is_none()) || matches!(envelope.event, Event::RunEnd(_));
        if run.is_call() && run == envelope.address && !starts && !runs() { run.run_part() } else { run }
    }

    /// The run at this address.
    pub fn run(&self, run: &Address) -> Option<&RunRecord> {
        self.runs.get(*self.places.get(run)?)
    }

    /// The usage of a run, child runs included.
    pub fn usage(&self, run: &Address) -> TotalUsage {
        self.usage_of(|address| address.is_within(run))
    }

    /// The usage of the child runs of a run, at every depth.
    pub fn child_usage(&self, run: &Address) -> TotalUsage {
        self.usage_of(|address| address != run && address.is_within(run))
    }

    fn usage_of(&self, is_part: impl Fn(&Address) -> bool) -> TotalUsage {
        let runs = self.runs.iter().filter(|record| is_part(&record.address));
        TotalUsage::of_runs(runs.map(|record| record.ledger.own()))
    }

    /// The turn at this address.
    pub fn turn(&self, turn: &Address) -> Option<&TurnRecord> {
        self.run(&turn.run_part())?.turn(turn)
    }

    /// Removes a turn that has ended, with the messages of its run so far: for readers that go through a long session once.
    pub fn forget(&mut self, turn: &Address) {
        if let Some(run) = self.places.get(&turn.run_part()).and_then(|place| self.runs.get_mut(*place)) {
            run.forget(turn);
        }
    }

    /// Excludes a pause from the durations of the open runs within this address and of their open turns.
    pub fn exclude(&mut self, within: &Address, ms: u64) {
        if ms == 0 {
            return;
        }
        self.runs.iter_mut().filter(|run| run.address.is_within(within)).for_each(|run| run.exclude(ms));
    }
}
