//! What a session used: its own runs, the agents below them, and both together. The parts add up to the whole.

use super::{Side, SideRun};
use crate::agent::{Step, Turn};
use crate::event::{IssueSeverity, Tokens};

/// What runs used.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Share {
    /// Turns.
    pub turns: u64,
    /// Requests (HTTP attempts where there are any).
    pub requests: u64,
    /// Tokens, when at least one provider counted them.
    pub tokens: Option<Tokens>,
    /// Cost in the price table's currency, as far as prices are known; `None` when none is.
    pub cost: Option<f64>,
    /// Tool calls.
    pub calls: u64,
    /// Validation errors of answers and inputs.
    pub validation_errors: u64,
    /// Turns whose reply or program was wrong in another way.
    pub other_errors: u64,
}

impl Share {
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

    /// A run without those below it. What its end did not tell is added up from its turns.
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

    /// The runs below a run, at every level. (Agents nest a few levels deep.)
    fn below(step: &Step) -> Self {
        step.children
            .iter()
            .fold(Self::default(), |sum, child| sum.plus(Self::own(child, child.turns.iter())).plus(Self::below(child)))
    }
}

/// The turns of a root run.
fn turns(run: &SideRun) -> impl Iterator<Item = &Turn> + Clone {
    run.turns.iter().map(|turn| &turn.turn)
}

/// What a session used.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ColumnTotals {
    /// Its root runs.
    pub own: Share,
    /// The agents below them.
    pub below: Share,
    /// Both.
    pub all: Share,
    /// From the start of each root run to its end, added up, in ms.
    pub duration_ms: u64,
    /// From sending the first request to its first delta.
    pub first_ms: Option<u64>,
    /// Bytes of the data that the runs had: contexts and what tools answered.
    pub data_bytes: u64,
    /// Bytes of it that no request carried.
    pub kept_out_bytes: u64,
}

impl ColumnTotals {
    /// Adds up the runs of a side.
    pub fn of(side: &Side) -> Self {
        let own = side.runs.iter().map(|run| Share::own(&run.step, turns(run))).fold(Share::default(), Share::plus);
        let below = side.runs.iter().map(|run| Share::below(&run.step)).fold(Share::default(), Share::plus);
        let duration_ms = |run: &SideRun| match &run.step.usage {
            usage if usage.turns > 0 => usage.duration_ms,
            _ => turns(run).map(|turn| turn.latency_ms).sum(),
        };
        Self {
            own,
            below,
            all: own.plus(below),
            duration_ms: side.runs.iter().map(duration_ms).sum(),
            data_bytes: side.data.0,
            kept_out_bytes: side.data.1,
            first_ms: side.runs.iter().flat_map(turns).find_map(|turn| turn.first_ms),
        }
    }
}
