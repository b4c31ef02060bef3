//! Totals of a session: its root runs, their child runs, and both together.

use super::{Side, SideRun};
use crate::agent::{CallEntry, Step, Turn};
use crate::event::{Address, IssueSeverity, OwnUsage, Spending};

/// Totals of some runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunTotals {
    /// Turns, requests, tokens and costs.
    pub spending: Spending,
    /// Tool calls.
    pub calls: u64,
    /// Validation errors of answers and inputs.
    pub validation_errors: u64,
    /// Turns with another error in the reply or program, or with a call that failed.
    pub other_errors: u64,
}

impl RunTotals {
    fn plus(self, more: &Self) -> Self {
        Self {
            spending: self.spending.plus(&more.spending),
            calls: self.calls + more.calls,
            validation_errors: self.validation_errors + more.validation_errors,
            other_errors: self.other_errors + more.other_errors,
        }
    }

    /// Totals of a run without its child runs.
    fn own<'t>(step: &Step, turns: impl Iterator<Item = &'t Turn> + Clone) -> Self {
        let issues =
            |turn: &Turn| turn.issues.iter().filter(|issue| issue.severity == IssueSeverity::Error).count() as u64;
        let has_failed_call = |turn: &Turn| {
            let is_here = |call: &&CallEntry| call.address.as_ref().map(Address::turn_part) == turn.address;
            step.calls.iter().filter(is_here).any(CallEntry::has_failed)
        };
        let is_other = |turn: &&Turn| (turn.error.is_some() || has_failed_call(turn)) && issues(turn) == 0;
        Self {
            spending: OwnUsage::clone(&step.usage.own).into(),
            calls: step.calls.len() as u64,
            validation_errors: turns.clone().map(issues).sum(),
            other_errors: turns.filter(is_other).count() as u64,
        }
    }

    /// Totals of the child runs at every depth.
    fn of_children(step: &Step) -> Self {
        step.children.iter().fold(Self::default(), |sum, child| {
            sum.plus(&Self::own(child, child.turns.iter())).plus(&Self::of_children(child))
        })
    }
}

/// Returns the turns of a root run.
fn turns(run: &SideRun) -> impl Iterator<Item = &Turn> + Clone {
    run.turns.iter().map(|turn| &turn.turn)
}

/// Totals of a session.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ColumnTotals {
    /// The root runs.
    pub own: RunTotals,
    /// Their child runs.
    pub children: RunTotals,
    /// Both.
    pub all: RunTotals,
    /// Sum of the durations of the root runs in ms.
    pub duration_ms: u64,
    /// Time from sending the first request to its first delta, in ms.
    pub first_ms: Option<u64>,
    /// Bytes of the runs' data: contexts and tool results.
    pub data_bytes: u64,
    /// Bytes of data that no request contained.
    pub kept_out_bytes: u64,
}

impl ColumnTotals {
    /// Adds up the runs of a side.
    pub fn of(side: &Side) -> Self {
        let sum = |of_run: fn(&SideRun) -> RunTotals| {
            side.runs.iter().fold(RunTotals::default(), |sum, run| sum.plus(&of_run(run)))
        };
        let own = sum(|run| RunTotals::own(&run.step, turns(run)));
        let children = sum(|run| RunTotals::of_children(&run.step));
        Self {
            all: own.clone().plus(&children),
            own,
            children,
            duration_ms: side.runs.iter().map(|run| run.step.usage.duration_ms).sum(),
            data_bytes: side.data.0,
            kept_out_bytes: side.data.1,
            first_ms: side.runs.iter().flat_map(turns).find_map(|turn| turn.first_ms),
        }
    }
}
