//! What a run may spend: tokens and costs, those of agents below included.
//!
//! In: what replies cost. Out: the failure of a run that spent too much. It is looked at when a reply has come, before anything is done
//! with it (agent contract §4.4, §17), and again before the next turn, because programs may have run agents.

use ptc_core::reasons::Reason;

use super::Halt;
use super::cycle::Cycle;
use crate::event::{Address, Tokens};
use crate::model::Reply;

impl Cycle<'_> {
    /// Tokens spent so far.
    pub(super) fn spent(&self) -> u64 {
        let below = self.below().and_then(|below| below.totals.tokens);
        let own = self.totals.tokens.map_or(0, |tokens| tokens.total());
        own.saturating_add(below.map_or(0, |tokens| tokens.total()))
    }

    /// Ends the turn and the run when this reply costs more than is left; what it asks for is not done then.
    pub(super) async fn within_budget(&mut self, at: &Address, reply: &Reply) -> Result<(), Halt> {
        match self.check_budget(reply.usage) {
            Err(Halt::Fail(record)) => {
                self.end_turn(at, reply.usage, Some(&record.reason)).await?;
                Err(Halt::Fail(record))
            }
            other => other,
        }
    }

    /// Fails when tokens or costs, with these more, are more than the run may spend.
    pub(super) fn check_budget(&self, more: Option<Tokens>) -> Result<(), Halt> {
        let spent = self.spent().saturating_add(more.map_or(0, |tokens| tokens.total()));
        if let Some(limit) = self.plan.agent.token_limit.filter(|limit| spent > *limit) {
            let message = format!("{spent} tokens were used, token_limit is {limit}");
            return Err(Halt::fail(Reason::TokenLimitExceeded, message));
        }
        let Some(limit) = self.plan.settings.cost_limit else { return Ok(()) };
        let tokens = self.totals.tokens.into_iter().chain(more).reduce(|one, other| one.plus(&other));
        let own = tokens.zip(self.ports.model.info().price).map_or(0.0, |(tokens, price)| price.cost(&tokens));
        let cost = own + self.below().map_or(0.0, |below| below.cost);
        if cost <= limit {
            return Ok(());
        }
        Err(Halt::fail(Reason::CostExceeded, format!("the run cost {cost:.6}, cost_limit is {limit}")))
    }
}
