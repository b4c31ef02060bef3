//! The usage of a transcript: of the run that its facts are about, and of all runs of a session that has several.
//!
//! In: ledgers of the runs. Out: tokens, costs, turns and times in the facts. It must never count a run twice.

use super::{Facts, Transcript, format};
use crate::event::{Address, Tokens, TotalUsage};

/// The runs of a session with several: a pipeline, a conversation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AllRuns {
    /// Number of root runs that have begun.
    pub count: usize,
    /// Their usage, child runs included.
    pub usage: TotalUsage,
    /// Time of the runs before the last one, in ms.
    pub earlier_ms: u64,
}

impl Facts {
    /// Number of turns: of the run, or of all runs of the session where it has several, child runs included.
    pub fn all_turns(&self) -> u64 {
        self.all.as_ref().map_or(self.turn, |all| all.usage.turns).into()
    }

    /// Tokens of the run, or of all runs of the session.
    pub fn all_tokens(&self) -> Option<Tokens> {
        self.all.as_ref().map_or(self.tokens, |all| all.usage.tokens)
    }

    /// The cost of the run, or of all runs of the session.
    pub fn all_cost(&self) -> Option<f64> {
        self.all.as_ref().map_or(self.cost, |all| all.usage.cost())
    }

    /// The time of the run, or of all runs of the session without the time between them.
    pub fn all_elapsed_ms(&self, now_ms: i64) -> u64 {
        let earlier_ms = self.all.as_ref().map_or(0, |all| all.earlier_ms);
        earlier_ms.saturating_add(self.elapsed_ms(now_ms))
    }

    /// Like [`time`](Self::time), of all runs of the session.
    pub fn all_time(&self, now_ms: i64) -> String {
        let elapsed_ms = self.all_elapsed_ms(now_ms);
        if self.end.is_some() || self.closed { format::duration(elapsed_ms) } else { format::running(elapsed_ms) }
    }
}

impl Transcript {
    /// The ledger of a run has changed: shows the models and the usage of the tree that the run is part of.
    pub(super) fn show_usage(&mut self, run: &Address) {
        let Some(root) = self.facts.run.clone().filter(|root| run.is_within(root)) else { return };
        let usage = self.usage_of(|address| address.is_within(&root));
        (self.facts.tokens, self.facts.cost) = (usage.tokens, usage.cost());
        if let Some(ledger) = self.ledgers.get(&root) {
            self.facts.model = ledger.names();
        }
        let earlier_ms = self.facts.all.as_ref().map_or(0, |all| all.earlier_ms);
        self.facts.all = self.all_runs(earlier_ms);
    }

    pub(super) fn usage_of(&self, is_part: impl Fn(&Address) -> bool) -> TotalUsage {
        let parts = self.ledgers.iter().filter(|(address, _)| is_part(address));
        TotalUsage::of_runs(parts.map(|(_, ledger)| ledger.own()))
    }

    /// The usage of all runs; `None` while there is only one.
    pub(super) fn all_runs(&self, earlier_ms: u64) -> Option<AllRuns> {
        let count = self.ledgers.keys().filter(|run| !run.is_call()).count();
        (count > 1).then(|| AllRuns { count, usage: self.usage_of(|_| true), earlier_ms })
    }
}
