//! The usage of a run and the rest of its limits: turns, tokens, costs, those of its child agents included.
//!
//! In: ends of attempts, ended turns, usage of child runs. Out: totals, the budget of a child run, and the failure of a run that spent more
//! than its budget. The budget is checked when a reply has come, before anything is done with it, before a child run, and before the next
//! turn.

use std::fmt::Display;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ptc_core::reasons::Reason;
use ptc_core::text::estimate_tokens;
use ptc_core::value::Json;
use ptc_core::value::json::Node;

use crate::agent::Plan;
use crate::engine::input::RemainingBudget;
use crate::event::{Address, ChildUsage, ErrorRecord, JsonText, StructuredBy, Tokens, TotalUsage, Totals};
use crate::model::{Reply, Request};

/// The share of a run and its child runs in the budget of a parent agent, excluding the tokens that their providers counted.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BudgetShare {
    /// Tokens of replies without counts, where a limit needs them.
    pub(super) estimated: Tokens,
    /// Costs, where prices are known, estimated ones included.
    pub(super) cost: f64,
}

/// The usage of a run.
#[derive(Debug, Default)]
pub(super) struct Usage {
    /// Turns that ended, requests, and tokens of all attempts that ended.
    pub(super) totals: Totals,
    /// A turn has begun and not ended.
    is_turn_open: bool,
    /// Tokens of the attempts of the turn that has not ended.
    open_tokens: Option<Tokens>,
    /// Turns that were left in the tree of agents when this turn began.
    pub(super) tree: u32,
    /// `tree` when the first turn began.
    pub(super) first_tree: Option<u32>,
    /// Turns that child agents had used when this turn began.
    children_before: u32,
    /// Tokens of replies without counts.
    estimated: Tokens,
    /// The way in which the schema was sent last.
    pub(super) structured_by: Option<StructuredBy>,
    /// The schema left the machine: in the way last named, or in an earlier turn.
    pub(super) schema_sent: bool,
    /// The usage of child agents. Calls of parallel branches change it.
    children: Mutex<Children>,
}

/// The usage of child agents.
#[derive(Debug, Default)]
struct Children {
    /// In all.
    sum: Option<ChildUsage>,
    /// The child runs that ended in this turn.
    of_turn: Vec<(Address, ChildUsage)>,
}

/// Input and output tokens, estimated ones included.
fn tokens_of(child: &ChildUsage) -> u64 {
    child.totals.tokens.unwrap_or_default().plus(&child.estimated).total()
}

impl Usage {
    /// Sets what is left before a turn: `tree` turns in the shared budget. [`Self::open_turn`] starts it, if that and the time allow it.
    pub(super) fn begin_turn(&mut self, tree: u32) {
        self.tree = tree;
        self.first_tree.get_or_insert(tree);
        self.children_before = self.children_turns();
        self.lock_children().of_turn.clear();
    }

    /// Starts the turn: it counts from now on.
    pub(super) fn open_turn(&mut self) {
        self.is_turn_open = true;
    }

    /// Totals at the end of the run, which a stop may end inside a turn.
    pub(super) fn final_totals(&self) -> Totals {
        let turns = self.totals.turns.saturating_add(self.is_turn_open.into());
        Totals { turns, ..self.totals }
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
        self.is_turn_open = false;
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

    /// Adds the attempts of a request. `by`: the way in which its schema was sent, when it had one and anything was sent.
    pub(super) fn add_request(&mut self, attempts: u32, by: Option<StructuredBy>) {
        self.totals.requests = self.totals.requests.saturating_add(attempts.max(1));
        self.structured_by = by.or(self.structured_by);
        self.schema_sent |= matches!(by, Some(StructuredBy::JsonSchema | StructuredBy::Tool));
    }

    /// Returns the usage of the child agents so far.
    pub(super) fn children(&self) -> Option<ChildUsage> {
        self.lock_children().sum
    }

    fn lock_children(&self) -> MutexGuard<'_, Children> {
        self.children.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the usage of the child run at this address.
    pub(super) fn add_child(&self, at: &Address, used: &TotalUsage, share: &BudgetShare) {
        let child = ChildUsage { totals: used.totals(), estimated: share.estimated, cost: share.cost };
        let mut children = self.lock_children();
        let sum = children.sum.unwrap_or_default();
        children.sum = Some(ChildUsage {
            totals: sum.totals.plus(&child.totals),
            estimated: sum.estimated.plus(&child.estimated),
            cost: sum.cost + child.cost,
        });
        children.of_turn.push((at.clone(), child));
    }

    /// Tokens and cost of the child runs that ended in branches parallel to this address.
    fn parallel_to(&self, at: &Address) -> (u64, f64) {
        let children = self.lock_children();
        let parallel = children.of_turn.iter().filter(|(child, _)| child.is_parallel_to(at));
        parallel.fold((0, 0.0), |(tokens, cost), (_, used)| (tokens + tokens_of(used), cost + used.cost))
    }

    /// Takes what child agents used that are not run again.
    pub(super) fn set_children(&self, recorded: Option<ChildUsage>) {
        self.lock_children().sum = recorded;
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

    /// Counts a reply whose provider counts nothing: a token is about four characters of the request and the reply.
    pub(super) fn estimate(&mut self, request: &Request, reply: &Reply) {
        let system = request.system.as_deref().map_or(0, estimate_tokens);
        let sent: u64 = request.messages.iter().map(|message| estimate_tokens(&message.joined())).sum();
        let calls: u64 = reply.calls.iter().map(|call| estimate_tokens(&call.args)).sum();
        let output = calls + estimate_tokens(&reply.text);
        self.estimated = self.estimated.plus(&Tokens { input: system + sent, output, ..Tokens::default() });
    }

    /// Returns the budget of a child run at this address, given the limits of this run and what they leave to it. Child runs of parallel
    /// branches do not count against each other: the order in which they end varies, and a replay must decide the same.
    /// Errors: no budget remains.
    pub(super) fn budget_for(
        &self,
        at: &Address,
        limits: &[SpendingLimit],
        own_cost: f64,
    ) -> Result<RemainingBudget, ErrorRecord> {
        let (parallel_tokens, parallel_cost) = self.parallel_to(at);
        let tokens = self.spent_tokens().total().saturating_sub(parallel_tokens);
        let cost = self.cost(own_cost) - parallel_cost;
        limits.iter().try_for_each(|limit| self.check_limit(limit, tokens, cost))?;
        let left = limits.iter().fold(RemainingBudget::default(), |left, limit| match limit.most {
            Spending::Tokens(most) => {
                let rest = most.saturating_sub(tokens);
                RemainingBudget { tokens: Some(left.tokens.map_or(rest, |other| other.min(rest))), ..left }
            }
            Spending::Cost(most) => {
                let rest = most - cost;
                RemainingBudget { cost: Some(left.cost.map_or(rest, |other| other.min(rest))), ..left }
            }
        });
        Ok(left)
    }

    /// Fails when tokens or costs exceed a limit. `own_cost`: that of the run's own replies.
    pub(super) fn check(&self, limits: &[SpendingLimit], own_cost: impl FnOnce() -> f64) -> Result<(), ErrorRecord> {
        if limits.is_empty() {
            return Ok(());
        }
        let (tokens, cost) = (self.spent_tokens().total(), self.cost(own_cost()));
        limits.iter().try_for_each(|limit| self.check_limit(limit, tokens, cost))
    }

    fn check_limit(&self, limit: &SpendingLimit, tokens: u64, cost: f64) -> Result<(), ErrorRecord> {
        let allowed = |key: &str, most: &dyn Display| match limit.source {
            LimitSource::Own => format!("{key} is {most}"),
            LimitSource::Parent => format!("{key} of the parent agent left {most}"),
        };
        match limit.most {
            Spending::Tokens(most) if tokens > most => {
                let by = match (self.estimated.total(), self.estimated_in_all().total()) {
                    (_, 0) => "",
                    (0, _) => " (an estimate: the model of a child run reports no token counts)",
                    _ => " (an estimate: the model reports no token counts)",
                };
                let message = format!("{tokens} tokens were used{by}, {}", allowed("token_limit", &most));
                let whole = |tokens: u64| Node::Int(i64::try_from(tokens).unwrap_or(i64::MAX));
                Err(overspent(Reason::TokenLimitExceeded, message, whole(tokens), whole(most)))
            }
            Spending::Cost(most) if cost > most => {
                let message = format!("the run cost {cost:.6}, {}", allowed("cost_limit", &most));
                Err(overspent(Reason::CostExceeded, message, Node::Float(cost), Node::Float(most)))
            }
            Spending::Tokens(_) | Spending::Cost(_) => Ok(()),
        }
    }
}

/// A limit on what a run and its child runs spend.
#[derive(Debug, Clone, Copy)]
pub(super) struct SpendingLimit {
    most: Spending,
    source: LimitSource,
}

#[derive(Debug, Clone, Copy)]
enum Spending {
    Tokens(u64),
    Cost(f64),
}

/// The owner of a limit.
#[derive(Debug, Clone, Copy)]
enum LimitSource {
    Own,
    Parent,
}

impl SpendingLimit {
    /// The limits of a run: its own, then what its parent agents leave.
    pub(super) fn all(plan: &Plan, left: &RemainingBudget) -> Vec<Self> {
        let sources = [
            (LimitSource::Own, plan.agent.token_limit, plan.settings.cost_limit),
            (LimitSource::Parent, left.tokens, left.cost),
        ];
        let limits = sources.into_iter().flat_map(|(source, tokens, cost)| {
            let both = [tokens.map(Spending::Tokens), cost.map(Spending::Cost)];
            both.into_iter().flatten().map(move |most| Self { most, source })
        });
        limits.collect()
    }
}

/// A budget ended the run: what was spent and what it allows are in the details.
fn overspent(reason: Reason, message: String, spent: Node, limit: Node) -> ErrorRecord {
    let details = Json::object([("spent", Json::from(spent)), ("limit", Json::from(limit))]);
    ErrorRecord { details: Some(JsonText::of(&details)), ..ErrorRecord::new(reason, message) }
}
