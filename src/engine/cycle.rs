//! The turn cycle that all modes share: numbering, time, budgets, messages, and the end of turns and runs.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ptc_core::reasons::Reason;
use ptc_core::text::estimate_tokens;
use ptc_core::value::{Json, Map, Value};
use tokio::time::Instant;

use super::budget::Spent;
use super::conversation::Conversation;
use super::history::{RecordedCall, Settled, WorkDone};
use super::tree::Tree;
use super::{Answered, Halt, Input, Ports};
use crate::agent::StepFold;
use crate::agent::{Plan, Step};
use crate::event::{
    Address, Below, Envelope, ErrorRecord, Event, JsonText, Left, Message, MessagePart, Notice, Role, RunEnd, RunStart,
    RunText, RunWait, Said, Source, StructuredBy, Tokens, Totals, TurnEnd, TurnStart, UsageRecord, elapsed_ms,
};
use crate::model::{self, Reply};
use crate::port::SinkError;
use crate::prompt::{self, ptc_lisp::Kept};

/// A journal as JSON.
fn written(journal: &Map) -> JsonText {
    JsonText::of(&Json::from(&Value::from(journal.clone())))
}

/// Turns that were used up, as the message of an end tells them.
pub(super) fn used_up(turns: u32) -> String {
    if turns == 1 { "1 turn was used".to_owned() } else { format!("{turns} turns were used") }
}

fn whole_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn signed(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}

/// The state of one run. Tool calls of parallel branches share it: what they change is behind locks.
pub(super) struct Cycle<'a> {
    pub(super) plan: &'a Plan,
    pub(super) ports: &'a Ports<'a>,
    pub(super) run: Address,
    pub(super) seed: u64,
    pub(super) depth: u32,
    pub(super) tree: Tree,
    /// The messages so far, as a model gets them.
    pub(super) messages: Vec<Arc<model::Message>>,
    pub(super) totals: Totals,
    /// What replies without counts are about.
    pub(super) estimated: Tokens,
    /// A limit on tokens or costs, here or above, needs that.
    pub(super) estimates: bool,
    pub(super) structured_by: Option<StructuredBy>,
    /// The schema left the machine: in the way last named, or in an earlier turn.
    pub(super) schema_left: bool,
    /// The time of this turn, Unix ms.
    pub(super) now_ms: i64,
    /// Tool calls of the run, refused ones included.
    pub(super) calls: AtomicU64,
    /// Questions of the run.
    pub(super) questions: AtomicU32,
    /// The stop has been told.
    pub(super) told_stop: AtomicBool,
    /// Answers of tools with `cache`, by tool and arguments.
    pub(super) known: Mutex<HashMap<String, Value>>,
    below: Mutex<Option<Below>>,
    replies: RunText,
    fold: Mutex<StepFold>,
    /// The time of the first turn, without what was waited before it.
    first_now_ms: Option<i64>,
    deadline_ms: Option<i64>,
    /// What was waited before this turn, in ms.
    waited_ms: u64,
    /// When this turn began, and what this process had waited by then.
    began: (Instant, Duration),
    /// What a resumed recording holds of this run.
    done: WorkDone,
    tree_turns: u32,
    /// The same when the first turn began.
    first_tree_turns: Option<u32>,
    /// Turns that the agents below had used when this turn began.
    below_before: u32,
    /// Which messages are sent.
    pub(super) conversation: Conversation,
    /// Parts of the first user message.
    pub(super) opening: Vec<MessagePart>,
    /// Definitions and finished tasks as they are now.
    pub(super) kept: Kept,
    /// It began with a journal, so that it leaves one even when that is empty.
    had_journal: bool,
}

impl<'a> Cycle<'a> {
    pub(super) fn new(plan: &'a Plan, input: &Input, ports: &'a Ports<'a>) -> Self {
        let done = ports.history.work_done(&input.address);
        Self {
            plan,
            ports,
            run: input.address.clone(),
            seed: input.seed,
            depth: input.depth,
            tree: input.tree.clone(),
            messages: Vec::new(),
            totals: Totals::default(),
            estimated: Tokens::default(),
            estimates: input.estimates || plan.agent.token_limit.is_some() || plan.settings.cost_limit.is_some(),
            structured_by: None,
            schema_left: false,
            now_ms: 0,
            calls: AtomicU64::new(done.calls),
            questions: AtomicU32::new(0),
            told_stop: AtomicBool::new(false),
            known: Mutex::default(),
            below: Mutex::default(),
            replies: RunText::default(),
            fold: Mutex::default(),
            first_now_ms: None,
            deadline_ms: input.deadline_ms,
            waited_ms: 0,
            began: (Instant::now(), Duration::ZERO),
            done,
            tree_turns: 0,
            first_tree_turns: None,
            below_before: 0,
            conversation: Conversation::default(),
            opening: Vec::new(),
            kept: Kept::default(),
            had_journal: input.journal.is_some(),
        }
    }

    pub(super) async fn emit(&self, address: &Address, event: impl Into<Event>) -> Result<(), SinkError> {
        self.tell(address, event).await.map(|_| ())
    }

    /// The same, with the event as it was taken.
    async fn tell(&self, address: &Address, event: impl Into<Event>) -> Result<Envelope, SinkError> {
        let envelope = match self.ports.history.settle(address, event.into())? {
            Settled::Recorded(envelope) => envelope,
            Settled::New(event) => self.ports.events.emit(address.clone(), event).await?,
        };
        // An agent above takes no event of those below, but waits when they ask a person.
        let mut fold = self.fold.lock().unwrap_or_else(PoisonError::into_inner);
        self.tree.told(&envelope, |waits| fold.apply_among(waits, &envelope));
        drop(fold);
        Ok(envelope)
    }

    /// Takes the Step of an agent below, which was called here.
    pub(super) fn adopt(&self, at: &Address, step: &Step, spent: &Spent) {
        let mut below = self.below.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = below.unwrap_or_default();
        *below = Some(Below {
            totals: sum.totals.plus(&step.usage.totals()),
            estimated: sum.estimated.plus(&spent.estimated),
            cost: sum.cost + spent.cost,
        });
        self.fold.lock().unwrap_or_else(PoisonError::into_inner).adopt(at.clone(), step.clone());
    }

    /// What the run's own replies cost as far as prices are known, with these tokens of the turn that has not ended.
    pub(super) fn cost_so_far(&self, open: Tokens) -> f64 {
        self.fold.lock().unwrap_or_else(PoisonError::into_inner).bill().known_cost(open)
    }

    /// What the agents below have used so far.
    pub(super) fn below(&self) -> Option<Below> {
        *self.below.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what agents used that are not run again, and what was done there.
    pub(super) fn take_below(&self, recorded: Option<Below>, done: &[Envelope]) {
        let mut fold = self.fold.lock().unwrap_or_else(PoisonError::into_inner);
        for envelope in done {
            fold.apply(envelope);
        }
        let mut below = self.below.lock().unwrap_or_else(PoisonError::into_inner);
        *below = recorded;
    }

    /// `run.start`
    pub(super) async fn start(&mut self, input: &Input) -> Result<(), SinkError> {
        _ = self.tree.levels(self.plan.settings.max_depth);
        let start = RunStart {
            agent: self.plan.agent.record(),
            mode: self.plan.agent.mode.name().to_owned(),
            model: self.ports.model.info(),
            limits: self.plan.agent.limits(),
            context: JsonText::of(&input.context),
            context_descriptions: input.descriptions.clone(),
            seed: input.seed,
            depth: input.depth,
            deadline: input.deadline_ms,
            continues: input.continues.as_ref().map(|(run, _)| run.to_string()),
            journal: input.journal.as_ref().map(written),
            pipeline: input.pipeline.clone(),
            consents: input.consents.clone(),
        };
        let run = self.run.clone();
        self.emit(&run, start).await?;
        if self.plan.settings.cost_limit.is_some() && self.ports.model.info().price.is_none() {
            let text = "cost_limit cannot stop this run: what the model costs is not known (give it a `price` in the configuration)";
            self.notice(&run, text).await?;
        }
        for text in &input.notices {
            self.notice(&run, text).await?;
        }
        for consent in &input.consents {
            let level = if consent.failed.is_some() { "warning" } else { "info" };
            self.emit(&run, Notice { level: level.to_owned(), text: consent.told() }).await?;
        }
        Ok(())
    }

    pub(super) async fn notice(&mut self, address: &Address, text: impl Into<String>) -> Result<(), SinkError> {
        self.emit(address, Notice { level: "warning".to_owned(), text: text.into() }).await
    }

    /// Starts the next turn, or says which budget does not allow it.
    pub(super) async fn begin_turn(&mut self) -> Result<Address, Halt> {
        self.begin_turn_as("").await
    }

    /// The same for a turn of this kind: normal, `must_return`, retry.
    pub(super) async fn begin_turn_as(&mut self, kind: &str) -> Result<Address, Halt> {
        let number = self.totals.turns + 1;
        let address = self.run.turn(number);
        let recorded = self.ports.history.turn(&address);
        self.now_ms = recorded.map_or_else(|| self.ports.clock.now_ms(&address), |turn| turn.now_ms);
        let waited = self.tree.waited();
        self.began = (Instant::now(), waited);
        let counted = self.done.waited_ms.saturating_add(whole_ms(waited));
        self.waited_ms = recorded.map_or(counted, |turn| turn.waited_ms);
        let without_waits = self.now_ms.saturating_sub(signed(self.waited_ms));
        self.first_now_ms.get_or_insert(without_waits);
        let mission_ms = self.mission_left_ms();
        let tokens = self.plan.agent.token_limit.map(|limit| limit.saturating_sub(self.spent()));
        let turns = self.turns_in_all().saturating_sub(self.totals.turns);
        let most = self.plan.settings.turn_budget.saturating_sub(self.done.turns);
        // A turn that a resumed recording holds is among those that were done.
        let is_used = mission_ms == Some(0) || (recorded.is_some() && self.done.turns > 0);
        let counted = if is_used { self.tree.left(most) } else { self.tree.take(most) };
        let tree = recorded.and_then(|turn| turn.tree_turns).unwrap_or(counted);
        self.tree_turns = tree;
        self.first_tree_turns.get_or_insert(tree);
        self.below_before = self.below_turns();
        let stop = match (tree, mission_ms) {
            (0, _) => Some(Reason::TurnBudgetExhausted),
            (_, Some(0)) => Some(Reason::MissionTimeout),
            _ => None,
        };
        let left = Left { turns, tree: Some(tree), tokens, mission_ms };
        let stopped = stop.map(|reason| reason.name().to_owned());
        let waited = self.waited_ms;
        self.emit(&address, TurnStart { now: self.now_ms, kind: kind.to_owned(), left, waited, stop: stopped }).await?;
        match stop {
            Some(Reason::MissionTimeout) => Err(self.mission_over()),
            Some(reason) => Err(Halt::fail(reason, "the turns of the whole tree of agents (turn_budget) are used up")),
            None => Ok(address),
        }
    }

    /// The address of this turn.
    pub(super) fn turn(&self) -> Address {
        self.run.turn(self.totals.turns + 1)
    }

    /// Work turns and retry turns together.
    pub(super) fn turns_in_all(&self) -> u32 {
        self.plan.agent.max_turns.saturating_add(self.plan.settings.retry_turns)
    }

    /// Turns left in the whole tree when this turn began, this one included.
    pub(super) fn tree_turns(&self) -> u32 {
        self.tree_turns
    }

    /// The same when the first turn began; nothing before it did.
    pub(super) fn first_tree_turns(&self) -> Option<u32> {
        self.first_tree_turns
    }

    /// Turns left in the whole tree when this turn is over, as far as this agent and those below it use them. (What others of the tree use
    /// meanwhile is chance.)
    pub(super) fn tree_turns_behind(&self) -> u32 {
        let below = self.below_turns().saturating_sub(self.below_before);
        self.tree_turns.saturating_sub(below.saturating_add(1))
    }

    fn below_turns(&self) -> u32 {
        self.below().map_or(0, |below| below.totals.turns)
    }

    /// Levels of agents that are allowed: what the root run allows, or less.
    pub(super) fn max_depth(&self) -> u32 {
        let own = self.plan.settings.max_depth;
        own.min(self.tree.levels(own))
    }

    /// Counts a call of the run; a call that a resumed recording holds is counted from the start.
    pub(super) fn count_call(&self, recorded: &RecordedCall) -> u64 {
        let more = u64::from(!recorded.begun);
        self.calls.fetch_add(more, Ordering::Relaxed) + more
    }

    /// When everything must be done if nobody waits: the earlier of what came from above and the run's own mission time. Unix ms.
    pub(super) fn deadline_ms(&self) -> Option<i64> {
        let first = self.first_now_ms.unwrap_or(self.now_ms);
        let limit = self.plan.agent.mission_timeout_ms.map(|ms| i64::try_from(ms).unwrap_or(i64::MAX));
        let own = limit.map(|ms| first.saturating_add(ms));
        [own, self.deadline_ms].into_iter().flatten().min()
    }

    /// Mission time left at the start of this turn.
    pub(super) fn mission_left_ms(&self) -> Option<u64> {
        self.deadline_ms().map(|deadline| elapsed_ms(self.now_ms.saturating_sub(signed(self.waited_ms)), deadline))
    }

    /// When the mission time is over as things stand: waits for persons put it off, so that it must be asked again when it is due.
    pub(super) fn due(&self) -> Option<Instant> {
        if self.ports.history.is_over(&self.turn()) {
            return None;
        }
        let (began, waited) = self.began;
        let left = Duration::from_millis(self.mission_left_ms()?);
        began.checked_add(left + self.tree.waited().saturating_sub(waited))
    }

    /// Stops the run when its mission time is over.
    pub(super) fn stop_when_due(&self) {
        if self.due().is_some_and(|due| due <= Instant::now()) {
            self.ports.stop.now(Reason::MissionTimeout.name(), "limit");
        }
    }

    pub(super) fn mission_over(&self) -> Halt {
        let message = match self.plan.agent.mission_timeout_ms {
            Some(limit) => format!("the run did not end within mission_timeout_ms = {limit}"),
            None => "the time of the agent above (its mission_timeout_ms) is over".to_owned(),
        };
        Halt::fail(Reason::MissionTimeout, message)
    }

    /// Adds a message and tells it. What was told counts: a lenient replay keeps the recorded message.
    pub(super) async fn say(
        &mut self,
        at: &Address,
        role: Role,
        source: Source,
        parts: Vec<MessagePart>,
    ) -> Result<(), SinkError> {
        let m = u32::try_from(self.messages.len()).unwrap_or(u32::MAX);
        let told = self.tell(at, Message { m, role, source, parts }).await?;
        if let Event::Message(message) = &told.event {
            self.messages.push(Arc::new(prompt::outgoing(message, &self.replies)));
            self.conversation.push(m);
        }
        Ok(())
    }

    /// Keeps a reply, so that an assistant message can point at it.
    pub(super) fn keep_reply(&mut self, at: &Address, reply: &Reply) {
        let said = Said {
            attempt: reply.attempt,
            text: reply.text.clone(),
            calls: reply.calls.clone(),
            opaque: reply.opaque.clone(),
        };
        self.replies.insert(at.clone(), said);
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

    /// `run.end`, and the Step.
    pub(super) async fn finish(self, result: Result<Answered, Halt>) -> Step {
        let (answered, fail) = match result {
            Ok(answered) => (Some(answered), None),
            Err(Halt::Fail(record)) => (None, Some(record)),
            Err(Halt::Wait(question)) => return self.waiting(&question).await,
            Err(Halt::Sink(error)) => return self.lost(error),
        };
        let schema = self.plan.schema.as_ref().map(|schema| schema.json.to_text().len() as u64);
        let system = self.messages.iter().find(|message| message.role == Role::System);
        let usage = UsageRecord {
            totals: self.totals,
            children: self.below().map(|below| below.totals),
            schema_used: self.schema_left,
            schema_bytes: schema,
            structured_output: self.structured_by,
            system_prompt_tokens: system.map(|message| estimate_tokens(&message.joined()) as u64),
        };
        let answered = answered.as_ref();
        let end = RunEnd {
            value: answered.map(|answered| JsonText::of(&answered.value)),
            fail,
            summary: answered.and_then(|answered| answered.summary.clone()),
            refs: answered.and_then(|answered| answered.refs.as_ref()).map(JsonText::of),
            from_turn: answered.and_then(|answered| answered.from_turn),
            journal: self.kept.journal.as_ref().filter(|left| self.had_journal || !left.is_empty()).map(written),
            usage,
        };
        match self.emit(&self.run.clone(), end).await {
            Ok(()) => self.folded(),
            Err(error) => self.lost(error),
        }
    }

    fn folded(self) -> Step {
        self.fold.into_inner().unwrap_or_else(PoisonError::into_inner).step()
    }

    /// The Step of a run that waits for a person: the run has not ended.
    async fn waiting(self, question: &Address) -> Step {
        let wait = RunWait { question: question.to_string() };
        if let Err(error) = self.emit(&self.run.clone(), wait).await {
            return self.lost(error);
        }
        let mut step = self.folded();
        let message = format!("the run waits for the answer to {question}");
        let mut record = ErrorRecord::new(Reason::Suspended, message);
        record.hint = Some("answer with `ptc-workbench resume SESSION --answer TEXT`, or in the workbench".to_owned());
        step.fail = Some(record);
        step.waits_for = Some(question.clone());
        step
    }

    /// The Step of a run whose events are not taken any more.
    fn lost(self, error: SinkError) -> Step {
        let mut step = self.folded();
        let record: ErrorRecord = match error {
            SinkError::Storage(text) => ErrorRecord::new(Reason::RecorderFailed, text),
            SinkError::Diverged => ErrorRecord::new(Reason::Cancelled, "replay found a difference and stopped here"),
        };
        step.fail = Some(record);
        step
    }
}
