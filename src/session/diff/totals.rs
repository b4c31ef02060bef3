//! Totals of a session: its root runs, their child runs, and both together.

use super::{Side, SideRun};
use crate::agent::{Step, Turn};
use crate::event::{IssueSeverity, Tokens};

/// Totals of some runs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RunTotals {
    /// Turns.
    pub turns: u64,
    /// Requests; HTTP attempts where recorded.
    pub requests: u64,
    /// Tokens, when at least one provider counted them.
    pub tokens: Option<Tokens>,
    /// Cost in the currency of the price table, as far as prices are known; `None` when none is.
    pub cost: Option<f64>,
    /// Tool calls.
    pub calls: u64,
    /// Validation errors of answers and inputs.
    pub validation_errors: u64,
    /// Turns with another error in the reply or program.
    pub other_errors: u64,
}

impl RunTotals {
    fn plus(self, more: Self) -> Self {
        Self {
            turns: self.turns + more.turns,
            requests: self.requests + more.requests,
            tokens: match (self.tokens, more.tokens) {
                (Some(one), Some(other)) => Some(one.plus(&other)),
                (one, other) => one.or(other),
            },
            cost: match (self.cost, more.cost) {
                (Some(one), Some(other)) => Some(one + other),
                (one, other) => one.or(other),
            },
            calls: self.calls + more.calls,
            validation_errors: self.validation_errors + more.validation_errors,
            other_errors: self.other_errors + more.other_errors,
        }
    }

    /// Totals of a run without its child runs. Totals missing from its end event are summed from its turns.
    fn own<'t>(step: &Step, turns: impl Iterator<Item = &'t Turn> + Clone) -> Self {
        let of_turns = turns.clone().filter_map(|turn| turn.tokens);
        let attempts: u64 = turns.clone().map(|turn| u64::from(turn.attempts)).sum();
        let has_ended = step.usage.turns > 0;
        let issues =
            |turn: &Turn| turn.issues.iter().filter(|issue| issue.severity == IssueSeverity::Error).count() as u64;
        let is_other = |turn: &&Turn| turn.error.is_some() && issues(turn) == 0;
        Self {
            turns: turns.clone().count() as u64,
            requests: if has_ended { u64::from(step.usage.llm_requests) } else { attempts },
            tokens: step.usage.tokens.or_else(|| of_turns.reduce(|sum, tokens| sum.plus(&tokens))),
            cost: step.usage.cost,
            calls: step.calls.len() as u64,
            validation_errors: turns.clone().map(issues).sum(),
            other_errors: turns.filter(is_other).count() as u64,
        }
    }

    /// Totals of the child runs at every depth.
    fn of_children(step: &Step) -> Self {
        step.children.iter().fold(Self::default(), |sum, child| {
            sum.plus(Self::own(child, child.turns.iter())).plus(Self::of_children(child))
        })
    }
}

/// Returns the turns of a root run.
fn turns(run: &SideRun) -> impl Iterator<Item = &Turn> + Clone {
    run.turns.iter().map(|turn| &turn.turn)
}

/// Totals of a session.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
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
        let own = side
            .runs
            .iter()
            .map(|run| RunTotals::own(&run.step, turns(run)))
            .fold(RunTotals::default(), RunTotals::plus);
        let children =
            side.runs.iter().map(|run| RunTotals::of_children(&run.step)).fold(RunTotals::default(), RunTotals::plus);
        let duration_ms = |run: &SideRun| match &run.step.usage {
            usage if usage.turns > 0 => usage.duration_ms,
            _ => turns(run).map(|turn| turn.latency_ms).sum(),
        };
        Self {
            own,
            children,
            all: own.plus(children),
            duration_ms: side.runs.iter().map(duration_ms).sum(),
            data_bytes: side.data.0,
            kept_out_bytes: side.data.1,
            first_ms: side.runs.iter().flat_map(turns).find_map(|turn| turn.first_ms),
        }
    }
}
