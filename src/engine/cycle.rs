//! The turn cycle that all modes share: numbering, time, budgets, messages, and the end of turns and runs.

use ptc_core::reasons::Reason;
use ptc_core::text::estimate_tokens;
use ptc_core::value::Json;

use super::{Halt, Input, Ports};
use crate::agent::StepFold;
use crate::agent::{Plan, Step};
use crate::event::RunText;
use crate::event::{
    Address, AgentRecord, ErrorRecord, Event, JsonText, Left, Message, MessagePart, Notice, Role, RunEnd, RunStart,
    Source, StructuredBy, Tokens, Totals, TurnEnd, TurnStart, UsageRecord, elapsed_ms, hex_sha,
};
use crate::port::SinkError;
use crate::prompt::Outgoing;

/// The state of one run.
pub(super) struct Cycle<'a> {
    pub(super) plan: &'a Plan,
    pub(super) ports: &'a Ports<'a>,
    pub(super) run: Address,
    pub(super) seed: u64,
    pub(super) messages: Vec<Outgoing>,
    pub(super) totals: Totals,
    pub(super) structured_by: Option<StructuredBy>,
    replies: RunText,
    fold: StepFold,
    first_now_ms: Option<i64>,
    now_ms: i64,
}

impl<'a> Cycle<'a> {
    pub(super) fn new(plan: &'a Plan, input: &Input, ports: &'a Ports<'a>) -> Self {
        let mut fold = StepFold::default();
        fold.describe(&plan.agent);
        Self {
            plan,
            ports,
            run: input.address.clone(),
            seed: input.seed,
            messages: Vec::new(),
            totals: Totals::default(),
            structured_by: None,
            replies: RunText::default(),
            fold,
            first_now_ms: None,
            now_ms: 0,
        }
    }

    pub(super) async fn emit(&mut self, address: &Address, event: impl Into<Event>) -> Result<(), SinkError> {
        let envelope = self.ports.events.emit(address.clone(), event.into()).await?;
        self.fold.apply(&envelope);
        Ok(())
    }

    /// `run.start`
    pub(super) async fn start(&mut self, input: &Input) -> Result<(), SinkError> {
        let toml = self.plan.agent.to_toml();
        let agent = AgentRecord { name: self.plan.agent.name.clone(), sha: hex_sha(toml.as_bytes()), toml };
        let start = RunStart {
            agent,
            mode: self.plan.agent.mode.name().to_owned(),
            model: self.ports.model.info(),
            limits: self.plan.agent.limits(),
            context: JsonText::of(&input.context),
            context_descriptions: input.descriptions.clone(),
            seed: input.seed,
        };
        self.emit(&self.run.clone(), start).await
    }

    pub(super) async fn notice(&mut self, address: &Address, text: impl Into<String>) -> Result<(), SinkError> {
        self.emit(address, Notice { level: "warning".to_owned(), text: text.into() }).await
    }

    /// Starts the next turn, or says which budget does not allow it.
    pub(super) async fn begin_turn(&mut self) -> Result<Address, Halt> {
        let number = self.totals.turns + 1;
        let address = self.run.turn(number);
        self.now_ms = self.ports.clock.now_ms(&address);
        let elapsed_ms = self.elapsed_ms();
        let mission_ms = self.plan.agent.mission_timeout_ms.map(|limit| limit.saturating_sub(elapsed_ms));
        let tokens = self.plan.agent.token_limit.map(|limit| limit.saturating_sub(self.spent()));
        let turns = self.plan.agent.max_turns.saturating_sub(self.totals.turns);
        let stop = (mission_ms == Some(0)).then(|| Reason::MissionTimeout.name().to_owned());
        let start = TurnStart { now: self.now_ms, left: Left { turns, tokens, mission_ms }, stop: stop.clone() };
        self.emit(&address, start).await?;
        match stop {
            Some(_) => Err(self.mission_over()),
            None => Ok(address),
        }
    }

    fn elapsed_ms(&mut self) -> u64 {
        let first = *self.first_now_ms.get_or_insert(self.now_ms);
        elapsed_ms(first, self.now_ms)
    }

    /// Mission time left at the start of this turn.
    pub(super) fn mission_left_ms(&mut self) -> Option<u64> {
        let elapsed = self.elapsed_ms();
        self.plan.agent.mission_timeout_ms.map(|limit| limit.saturating_sub(elapsed))
    }

    pub(super) fn mission_over(&self) -> Halt {
        let limit = self.plan.agent.mission_timeout_ms.unwrap_or_default();
        Halt::fail(Reason::MissionTimeout, format!("the run did not end within mission_timeout_ms = {limit}"))
    }

    fn spent(&self) -> u64 {
        self.totals.tokens.map_or(0, |tokens| tokens.total())
    }

    /// Adds a message and tells it.
    pub(super) async fn say(
        &mut self,
        at: &Address,
        role: Role,
        source: Source,
        parts: Vec<MessagePart>,
    ) -> Result<(), SinkError> {
        let m = u32::try_from(self.messages.len()).unwrap_or(u32::MAX);
        let message = Message { m, role, source, parts };
        self.messages.push(Outgoing { role, text: message.plain_text(&self.replies) });
        self.emit(at, message).await
    }

    /// Keeps a reply's text, so that an assistant message can point at it.
    pub(super) fn keep_reply(&mut self, at: &Address, text: &str) {
        self.replies.insert(at.clone(), text.to_owned());
    }

    /// Ends a turn and adds its tokens to the totals.
    pub(super) async fn end_turn(
        &mut self,
        at: &Address,
        usage: Option<Tokens>,
        reason: Option<&str>,
    ) -> Result<(), SinkError> {
        self.totals.turns += 1;
        if let Some(more) = usage {
            self.totals.tokens = Some(self.totals.tokens.unwrap_or_default().plus(&more));
        }
        let end =
            TurnEnd { success: reason.is_none(), reason: reason.map(ToOwned::to_owned), usage, totals: self.totals };
        self.emit(at, end).await
    }

    /// Fails when the tokens spent so far are more than the run may spend.
    pub(super) fn check_tokens(&self) -> Result<(), Halt> {
        match self.plan.agent.token_limit {
            Some(limit) if self.spent() > limit => Err(Halt::fail(
                Reason::TokenLimitExceeded,
                format!("{} tokens were used, token_limit is {limit}", self.spent()),
            )),
            _ => Ok(()),
        }
    }

    /// `run.end`, and the Step.
    pub(super) async fn finish(mut self, result: Result<Json, Halt>) -> Step {
        let (value, fail) = match result {
            Ok(answer) => (Some(JsonText::of(&answer)), None),
            Err(Halt::Fail(record)) => (None, Some(record)),
            Err(Halt::Sink(error)) => return self.lost(error),
        };
        let schema = self.plan.schema.as_ref().map(|schema| schema.json.to_text().len() as u64);
        let travelled = self.structured_by.is_some_and(|by| by != StructuredBy::Prompt);
        let system = self.messages.iter().find(|message| message.role == Role::System);
        let usage = UsageRecord {
            totals: self.totals,
            schema_used: travelled,
            schema_bytes: schema,
            structured_output: self.structured_by,
            system_prompt_tokens: system.map(|message| estimate_tokens(&message.text) as u64),
        };
        match self.emit(&self.run.clone(), RunEnd { value, fail, usage }).await {
            Ok(()) => self.fold.step(),
            Err(error) => self.lost(error),
        }
    }

    /// The Step of a run whose events are not taken any more.
    fn lost(self, error: SinkError) -> Step {
        let mut step = self.fold.step();
        let record: ErrorRecord = match error {
            SinkError::Storage(text) => ErrorRecord::new(Reason::RecorderFailed, text),
            SinkError::Diverged => ErrorRecord::new(Reason::Cancelled, "replay found a difference and stopped here"),
        };
        step.fail = Some(record);
        step
    }
}
