//! What a run may spend: tokens and costs, those of agents below included.
//!
//! In: what replies cost. Out: the failure of a run that spent too much. It is looked at when a reply has come, before anything is done
//! with it (agent contract §4.4, §17), and again before the next turn, because programs may have run agents.

use ptc_core::reasons::Reason;
use ptc_core::text::estimate_tokens;
use ptc_core::value::Json;
use ptc_core::value::json::Node;

use super::Halt;
use super::cycle::Cycle;
use crate::event::{Address, ErrorRecord, JsonText, Tokens};
use crate::model::{Reply, Request};

/// What a run and those below it spent, beside the tokens that their providers counted.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spent {
    /// Tokens of replies without counts, where a limit needs them.
    pub(super) estimated: Tokens,
    /// Costs, where prices are known, estimated ones included.
    pub(super) cost: f64,
}

impl Cycle<'_> {
    /// Tokens spent so far, estimated where the provider counts none.
    pub(super) fn spent(&self) -> u64 {
        let below = self.below().unwrap_or_default();
        let counted = self.totals.tokens.unwrap_or_default().plus(&below.totals.tokens.unwrap_or_default());
        counted.plus(&self.estimated_in_all()).total()
    }

    /// What a budget above counts of this run.
    pub(super) fn spent_here(&self) -> Spent {
        Spent { estimated: self.estimated_in_all(), cost: self.cost(None) }
    }

    fn estimated_in_all(&self) -> Tokens {
        self.estimated.plus(&self.below().unwrap_or_default().estimated)
    }

    /// Costs so far, with these tokens more.
    fn cost(&self, more: Option<Tokens>) -> f64 {
        let open = self.estimated.plus(&more.unwrap_or_default());
        self.cost_so_far(open) + self.below().map_or(0.0, |below| below.cost)
    }

    /// Counts a reply whose provider counts nothing: a token is about four characters of what was sent and said (agent contract §18.2).
    pub(super) fn estimate(&mut self, request: &Request, reply: &Reply) {
        if reply.usage.is_some() || !self.estimates {
            return;
        }
        let system = request.system.as_deref().map_or(0, estimate_tokens);
        let sent: u64 = request.messages.iter().map(|message| estimate_tokens(&message.joined())).sum();
        let said: u64 = reply.calls.iter().map(|call| estimate_tokens(&call.args)).sum();
        let output = said + estimate_tokens(&reply.text);
        self.estimated = self.estimated.plus(&Tokens { input: system + sent, output, ..Tokens::default() });
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
            let by = match (self.estimated.total(), self.estimated_in_all().total()) {
                (_, 0) => "",
                (0, _) => " by estimate (the model of an agent below counts none)",
                _ => " by estimate (the model counts none)",
            };
            let message = format!("{spent} tokens were used{by}, token_limit is {limit}");
            let whole = |tokens: u64| Node::Int(i64::try_from(tokens).unwrap_or(i64::MAX));
            return Err(overspent(Reason::TokenLimitExceeded, message, whole(spent), whole(limit)));
        }
        let Some(limit) = self.plan.settings.cost_limit else { return Ok(()) };
        let cost = self.cost(more);
        if cost <= limit {
            return Ok(());
        }
        let message = format!("the run cost {cost:.6}, cost_limit is {limit}");
        Err(overspent(Reason::CostExceeded, message, Node::Float(cost), Node::Float(limit)))
    }
}

/// A budget ended the run: what was spent and what it allows are in the details.
fn overspent(reason: Reason, message: String, spent: Node, limit: Node) -> Halt {
    let details = Json::object([("spent", Json::from(spent)), ("limit", Json::from(limit))]);
    Halt::Fail(ErrorRecord { details: Some(JsonText::of(&details)), ..ErrorRecord::new(reason, message) })
}
