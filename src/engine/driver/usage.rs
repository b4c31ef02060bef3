//! What a run has used and what is left: turns, tokens, costs, those of its child agents included.
//!
//! In: ends of attempts, ended turns, usage of child runs. Out: totals, and the failure of a run that spent more than its budget. The budget is
//! checked when a reply has come, before anything is done with it (agent contract §4.4, §17), and again before the next turn, because
//! programs may have run agents.

use std::sync::{Mutex, PoisonError};

use ptc_core::reasons::Reason;
use ptc_core::text::estimate_tokens;
use ptc_core::value::Json;
use ptc_core::value::json::Node;

use crate::agent::Plan;
use crate::event::{ChildUsage, ErrorRecord, JsonText, StructuredBy, Tokens, TotalUsage, Totals};
use crate::model::{Reply, Request};

/// What a run and its child runs count towards the budget of a parent agent, besides the tokens that their providers counted.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BudgetShare {
    /// Tokens of replies without counts, where a limit needs them.
    pub(super) estimated: Tokens,
    /// Costs, where prices are known, estimated ones included.
    pub(super) cost: f64,
}

/// What a run has used.
#[derive(Debug, Default)]
pub(super) struct Usage {
    /// Turns that ended, requests, and tokens of all attempts that ended.
    pub(super) totals: Totals,
    /// Tokens of the attempts of the turn that has not ended.
    open_tokens: Option<Tokens>,
    /// Turns that were left in the tree of agents when this turn began.
    pub(super) tree: u32,
    /// The same when the first turn began.
    pub(super) first_tree: Option<u32>,
    /// Turns that child agents had used when this turn began.
    children_before: u32,
    /// Tokens of replies without counts.
    estimated: Tokens,
    /// How the schema travelled last.
    pub(super) structured_by: Option<StructuredBy>,
    /// The schema left the machine: in the way last named, or in an earlier turn.
    pub(super) schema_sent: bool,
    /// What child agents used. Calls of parallel branches change it.
    children: Mutex<Option<ChildUsage>>,
}

impl Usage {
    /// A turn begins with so many left in the tree.
    pub(super) fn begin_turn(&mut self, tree: u32) {
        self.tree = tree;
        self.first_tree.get_or_insert(tree);
        self.children_before = self.children_turns();
    }

    /// Counts the tokens of an attempt that ended, whether its reply is used or not.
    pub(super) fn count_attempt(&mut self, tokens: Option<Tokens>) {
        let Some(more) = tokens else { return };
        let add = |sum: Option<Tokens>| Some(sum.unwrap_or_default().plus(&more));
        (self.totals.tokens, self.open_tokens) = (add(self.totals.tokens), add(self.open_tokens));
    }

    /// Ends the turn; returns the tokens of its attempts.
    pub(super) fn end_turn(&mut self) -> Option<Tokens> {
        self.totals.turns += 1;
        self.open_tokens.take()
    }

    /// Turns left in the tree when this turn ends, as far as this agent and its children use them. (How many others of the tree use
    /// meanwhile is chance.)
    pub(super) fn tree_after(&self) -> u32 {
        let children = self.children_turns().saturating_sub(self.children_before);
        self.tree.saturating_sub(children.saturating_add(1))
    }

    fn children_turns(&self) -> u32 {
        self.children().map_or(0, |children| children.totals.turns)
    }

    /// Adds the attempts of a request. `by`: how its schema travelled, when it had one and anything was sent.
    pub(super) fn add_request(&mut self, attempts: u32, by: Option<StructuredBy>) {
        self.totals.requests = self.totals.requests.saturating_add(attempts.max(1));
        self.structured_by = by.or(self.structured_by);
        self.schema_sent |= matches!(by, Some(StructuredBy::JsonSchema | StructuredBy::Tool));
    }

    /// What the child agents have used so far.
    pub(super) fn children(&self) -> Option<ChildUsage> {
        *self.children.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the usage of a child run.
    pub(super) fn add_child(&self, used: &TotalUsage, share: &BudgetShare) {
        let mut children = self.children.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = children.unwrap_or_default();
        *children = Some(ChildUsage {
            totals: sum.totals.plus(&used.totals()),
            estimated: sum.estimated.plus(&share.estimated),
            cost: sum.cost + share.cost,
        });
    }

    /// Takes what child agents used that are not run again.
    pub(super) fn set_children(&self, recorded: Option<ChildUsage>) {
        *self.children.lock().unwrap_or_else(PoisonError::into_inner) = recorded;
    }

    /// Tokens spent so far by the run and its child runs, estimated where the provider counts none.
    pub(super) fn spent_tokens(&self) -> Tokens {
        let children = self.children().unwrap_or_default();
        let counted = self.totals.tokens.unwrap_or_default().plus(&children.totals.tokens.unwrap_or_default());
        counted.plus(&self.estimated_in_all())
    }

    /// Requests of the run and its child runs.
    pub(super) fn requests(&self) -> u32 {
        self.totals.requests.saturating_add(self.children().map_or(0, |children| children.totals.requests))
    }

    /// Tokens of the run's own replies without counts.
    pub(super) fn estimated(&self) -> Tokens {
        self.estimated
    }

    /// Tokens of all replies without counts.
    pub(super) fn estimated_in_all(&self) -> Tokens {
        self.estimated.plus(&self.children().unwrap_or_default().estimated)
    }

    /// Costs so far, given those of the run's own replies.
    pub(super) fn cost(&self, own: f64) -> f64 {
        own + self.children().map_or(0.0, |children| children.cost)
    }

    /// Counts a reply whose provider counts nothing: a token is about four characters of the request and the reply (agent contract §18.2).
    pub(super) fn estimate(&mut self, request: &Request, reply: &Reply) {
        let system = request.system.as_deref().map_or(0, estimate_tokens);
        let sent: u64 = request.messages.iter().map(|message| estimate_tokens(&message.joined())).sum();
        let calls: u64 = reply.calls.iter().map(|call| estimate_tokens(&call.args)).sum();
        let output = calls + estimate_tokens(&reply.text);
        self.estimated = self.estimated.plus(&Tokens { input: system + sent, output, ..Tokens::default() });
    }

    /// Fails when tokens or costs exceed what the run may spend. `own_cost`: that of the run's own replies.
    pub(super) fn check(&self, plan: &Plan, own_cost: impl FnOnce() -> f64) -> Result<(), ErrorRecord> {
        let spent = self.spent_tokens().total();
        if let Some(limit) = plan.agent.token_limit.filter(|limit| spent > *limit) {
            let by = match (self.estimated.total(), self.estimated_in_all().total()) {
                (_, 0) => "",
                (0, _) => " by estimate (the model of a child run reports none)",
                _ => " by estimate (the model reports none)",
            };
            let message = format!("{spent} tokens were used{by}, token_limit is {limit}");
            let whole = |tokens: u64| Node::Int(i64::try_from(tokens).unwrap_or(i64::MAX));
            return Err(overspent(Reason::TokenLimitExceeded, message, whole(spent), whole(limit)));
        }
        let Some(limit) = plan.settings.cost_limit else { return Ok(()) };
        let cost = self.cost(own_cost());
        if cost <= limit {
            return Ok(());
        }
        let message = format!("the run cost {cost:.6}, cost_limit is {limit}");
        Err(overspent(Reason::CostExceeded, message, Node::Float(cost), Node::Float(limit)))
    }
}

/// A budget ended the run: what was spent and what it allows are in the details.
fn overspent(reason: Reason, message: String, spent: Node, limit: Node) -> ErrorRecord {
    let details = Json::object([("spent", Json::from(spent)), ("limit", Json::from(limit))]);
    ErrorRecord { details: Some(JsonText::of(&details)), ..ErrorRecord::new(reason, message) }
}
