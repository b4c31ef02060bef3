//! Turns: how one begins, with its edits, how it ends, and the budgets that end the run there.

use ptc_core::reasons::Reason;
use ptc_core::value::{Json, Value};
use tokio::time::Instant;

use super::clock::whole_ms;
use super::state::{Driver, Halt};
use super::usage::SpendingLimit;
use crate::agent::{Diagnostic, NamedResource};
use crate::engine::input::RemainingBudget;
use crate::engine::modes::RunInputs;
use crate::event::{
    Address, BudgetRecord, Check, CheckLayer, ErrorRecord, Interrupt, InterruptReason, InterruptSource, IssueRecord,
    IssueSeverity, TurnEnd, TurnKind, TurnStart,
};
use crate::port::SinkError;

impl Driver<'_> {
    /// Begins the next turn of this kind. Errors: the budget that does not allow it.
    pub(super) async fn begin_turn(&mut self, kind: Option<TurnKind>) -> Result<Address, Halt> {
        let (plan, tree) = (self.plan, &self.input.tree);
        let address = self.turn();
        let recorded = self.ports.history.turn(&address);
        let now_ms = recorded.map_or_else(|| self.ports.clock.now_ms(&address), |turn| turn.now_ms);
        let waited = tree.waited();
        let counted = self.done.waited_ms.saturating_add(whole_ms(waited));
        let waited_ms = recorded.map_or(counted, |turn| turn.waited_ms);
        self.clock.begin_turn(now_ms, waited_ms, waited);
        let mission_ms = self.clock.remaining_ms(plan.agent.mission_timeout_ms);
        let tokens = plan.agent.token_limit.map(|limit| limit.saturating_sub(self.usage.spent_tokens().total()));
        let own = plan.agent.max_turns.saturating_add(plan.settings.retry_turns);
        let turns = own.saturating_sub(self.usage.totals.turns);
        let most = plan.settings.turn_budget.saturating_sub(self.done.turns);
        // A turn of the resumed recording was counted before, so it takes nothing from the shared budget.
        let is_used = mission_ms == Some(0) || (recorded.is_some() && self.done.turns > 0);
        let counted = if is_used { tree.remaining(most) } else { tree.take(most) };
        let tree = recorded.and_then(|turn| turn.tree_turns).unwrap_or(counted);
        self.usage.begin_turn(tree);
        let stop = match (tree, mission_ms) {
            (0, _) => Some(Reason::TurnBudgetExhausted),
            (_, Some(0)) => Some(Reason::MissionTimeout),
            _ => None,
        };
        let remaining = BudgetRecord { turns, tree: Some(tree), tokens, mission_ms };
        let stopped = stop.map(|reason| reason.name().to_owned());
        let start = TurnStart { now: now_ms, kind, remaining, waited_ms, stop: stopped };
        self.emit(&address, start).await?;
        match stop {
            Some(Reason::MissionTimeout) => Err(Halt::Fail(self.mission_over())),
            Some(reason) => Err(Halt::fail(reason, "the turn budget shared by all agents (turn_budget) is exhausted")),
            None => {
                self.usage.open_turn();
                Ok(address)
            }
        }
    }

    /// Ends the turn. `reason`: why it failed.
    pub(super) async fn end_turn(&mut self, at: &Address, reason: Option<&str>) -> Result<(), SinkError> {
        let usage = self.usage.end_turn();
        let (success, totals, inputs) = (reason.is_none(), self.usage.totals, Some(self.inputs_sha()));
        self.emit(at, TurnEnd { success, reason: reason.map(ToOwned::to_owned), usage, totals, inputs }).await
    }

    /// Takes the edits of the turn that begins: its agent is the edited one from now on. `Some`: the edited inputs.
    pub(super) async fn edited_inputs(&mut self, at: &Address) -> Result<Option<RunInputs>, Halt> {
        let Some(edited) = self.ports.history.edited_turn(at) else { return Ok(None) };
        for edit in &edited.edits {
            self.emit(at, edit.clone()).await?;
        }
        self.plan = &edited.plan;
        let context = self.checked_context(at, &edited.context).await?;
        self.hide(at, &context);
        Ok(Some(RunInputs { context, memory: edited.memory.clone() }))
    }

    /// Checks a context against the parameters.
    pub(super) async fn checked_context(&self, at: &Address, context: &Json) -> Result<Value, Halt> {
        if let Some((input, NamedResource { server, uri })) = self.plan.agent.unread_resources(context).first() {
            let consents = self.input.consents.iter();
            let failed = consents
                .filter(|consent| consent.what.contains(uri.as_str()))
                .find_map(|consent| consent.failed.as_ref());
            let why = failed
                .map_or_else(|| "was not read; it needs your consent".to_owned(), |why| format!("was not read: {why}"));
            let message = format!("`{input}`: the resource {uri} of the server {server} {why}");
            return Err(Halt::fail(Reason::InvalidContext, message));
        }
        let (context, findings) = self.plan.check_context(context);
        let ok = !findings.iter().any(Diagnostic::is_error);
        if !findings.is_empty() {
            let issues = findings.iter().map(issue_record).collect();
            self.emit(at, Check { layer: CheckLayer::Args, ok, issues }).await?;
        }
        if ok {
            return Ok(context);
        }
        let errors: Vec<&Diagnostic> = findings.iter().filter(|found| found.is_error()).collect();
        let is_template = errors.iter().all(|found| found.reason == Reason::TemplateError);
        let reason = if is_template { Reason::TemplateError } else { Reason::InvalidContext };
        let messages: Vec<_> = errors.iter().map(|found| found.message.as_str()).collect();
        Err(Halt::fail(reason, messages.join("; ")))
    }

    /// Returns whether a reply without counts is estimated, because a limit on tokens or costs needs that.
    pub(super) fn estimates(&self) -> bool {
        self.input.estimates || self.plan.agent.token_limit.is_some() || self.plan.settings.cost_limit.is_some()
    }

    /// Fails when tokens or costs exceed the budget.
    pub(super) fn check_budget(&self) -> Result<(), ErrorRecord> {
        self.usage.check(&self.spending_limits(), || self.own_cost())
    }

    /// Returns the budget of a child run at this address. Errors: the limits leave nothing.
    pub(super) fn budget_for(&self, at: &Address) -> Result<RemainingBudget, ErrorRecord> {
        self.usage.budget_for(at, &self.spending_limits(), self.own_cost())
    }

    fn spending_limits(&self) -> Vec<SpendingLimit> {
        SpendingLimit::all(self.plan, &self.input.budget)
    }

    /// Returns the end of the mission time as things are. Waits for the user postpone it, so it must be read again when it is due.
    pub(super) fn due(&self) -> Option<Instant> {
        if self.ports.history.is_over(&self.turn()) {
            return None;
        }
        self.clock.due(self.plan.agent.mission_timeout_ms, self.input.tree.waited())
    }

    /// Stops the run when its mission time is over.
    pub(super) fn stop_when_due(&self) {
        if self.due().is_some_and(|due| due <= Instant::now()) {
            self.ports.stop.now(Interrupt { reason: InterruptReason::MissionTimeout, by: InterruptSource::Limit });
        }
    }

    /// The failure of a run whose mission time is over.
    pub(super) fn mission_over(&self) -> ErrorRecord {
        let message = match self.plan.agent.mission_timeout_ms {
            Some(limit) => format!("the run did not end within mission_timeout_ms = {limit}"),
            None => "the mission_timeout_ms of the parent agent was exceeded".to_owned(),
        };
        ErrorRecord::new(Reason::MissionTimeout, message)
    }
}

fn issue_record(finding: &Diagnostic) -> IssueRecord {
    // The path is a field of its own here, not a part of the message.
    let named = finding.message.strip_prefix(&format!("`{}`", finding.key));
    let named = named.filter(|rest| rest.starts_with([':', ' ']));
    let message = named.map_or(finding.message.as_str(), |rest| rest.trim_start_matches([':', ' ']));
    IssueRecord {
        path: finding.key.clone(),
        severity: if finding.is_error() { IssueSeverity::Error } else { IssueSeverity::Warning },
        message: message.to_owned(),
        ..IssueRecord::default()
    }
}
