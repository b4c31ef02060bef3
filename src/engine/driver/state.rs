//! The driver's state: everything that a run keeps between two decisions of its mode, and the way in which events leave it.
//!
//! Tool calls of parallel branches share it: the state that they change is locked.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ptc_core::lisp::Outcome;
use ptc_core::reasons::Reason;
use ptc_core::value::Value;

use super::clock::TurnClock;
use super::conversation::Conversation;
use super::hidden::HiddenValues;
use super::usage::{BudgetShare, Usage};
use crate::agent::{Plan, Step, StepFold};
use crate::engine::history::{SettledEvent, WorkDone};
use crate::engine::input::Input;
use crate::engine::modes::View;
use crate::engine::ports::Ports;
use crate::event::{
    Address, ChildUsage, Envelope, ErrorRecord, Event, FileRecord, InputDigest, MessageAdded, MessagePart, Notice,
    NoticeLevel, Role, Source,
};
use crate::port::SinkError;
use crate::prompt::TrustedTextPolicy;

/// The reason why a run ends early.
pub(super) enum Halt {
    /// It failed.
    Fail(ErrorRecord),
    /// It waits for the answer to a question.
    Wait(Address),
    /// Its events are not taken any more.
    Sink(SinkError),
}

impl From<SinkError> for Halt {
    fn from(error: SinkError) -> Self {
        Self::Sink(error)
    }
}

impl Halt {
    pub(super) fn fail(reason: Reason, message: impl Into<String>) -> Self {
        Self::Fail(ErrorRecord::new(reason, message))
    }
}

/// The state of one run.
pub(in crate::engine) struct Driver<'a> {
    /// The agent, with the edits of a fork.
    pub(super) plan: &'a Plan,
    pub(super) ports: &'a Ports<'a>,
    pub(super) input: &'a Input,
    /// The work that a resumed recording holds of this run.
    pub(super) done: WorkDone,
    pub(super) conversation: Conversation,
    pub(super) usage: Usage,
    pub(super) clock: TurnClock,
    pub(super) calls: Calls,
    pub(super) hidden: HiddenValues,
    /// Questions of the run.
    pub(super) questions: AtomicU32,
    /// The images of the results of calls.
    pub(super) result_files: Mutex<Vec<(Address, FileRecord)>>,
    /// The stop was recorded.
    pub(super) is_stop_recorded: AtomicBool,
    fold: Mutex<StepFold>,
    /// The inputs of the run so far.
    inputs: Mutex<InputDigest>,
}

/// The tool calls of a run.
#[derive(Default)]
pub(super) struct Calls {
    /// Their number, refused ones included.
    pub(super) count: AtomicU64,
    /// Answers of tools with `cache`, by tool and arguments.
    known: Mutex<HashMap<String, Value>>,
}

impl Calls {
    /// The answers that are remembered.
    pub(super) fn known(&self) -> MutexGuard<'_, HashMap<String, Value>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> Driver<'a> {
    pub(super) fn new(plan: &'a Plan, input: &'a Input, ports: &'a Ports<'a>) -> Self {
        let done = ports.history.work_done(&input.address);
        Self {
            plan,
            ports,
            input,
            done,
            conversation: Conversation::default(),
            usage: Usage::default(),
            clock: TurnClock::new(input.deadline_ms),
            calls: Calls { count: AtomicU64::new(done.calls), ..Calls::default() },
            hidden: HiddenValues::new(input.hidden.clone()),
            questions: AtomicU32::new(0),
            result_files: Mutex::default(),
            is_stop_recorded: AtomicBool::new(false),
            fold: Mutex::default(),
            inputs: Mutex::default(),
        }
    }

    /// The address of this turn.
    pub(super) fn turn(&self) -> Address {
        self.input.address.turn(self.usage.totals.turns + 1)
    }

    /// The facts that the mode decides by.
    pub(super) fn view(&self) -> View<'a> {
        let totals = &self.usage.totals;
        View {
            plan: self.plan,
            turn: self.turn(),
            used: totals.turns,
            tree: self.usage.tree,
            tree_after: self.usage.tree_after(),
            first_tree: self.usage.first_tree,
            depth: self.input.depth,
            max_depth: self.max_depth(),
            tokens: self.usage.spent_tokens(),
            requests: self.usage.requests(),
            now_ms: self.clock.now_ms,
            result_files: self.result_files.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    /// Levels of agents that are allowed: what the root run allows, or less where a child agent declares less itself.
    pub(super) fn max_depth(&self) -> u32 {
        let own = self.plan.settings.max_depth;
        let allowed = self.input.tree.levels(own);
        if self.plan.agent.option("max_depth").is_some() { own.min(allowed) } else { allowed }
    }

    /// Emits an event.
    pub(super) async fn emit(&self, address: &Address, event: impl Into<Event>) -> Result<(), SinkError> {
        self.record(address, event).await.map(drop)
    }

    /// Emits an event and returns the one that counts: the recorded one, where the history holds one.
    pub(super) async fn record(&self, address: &Address, event: impl Into<Event>) -> Result<Envelope, SinkError> {
        let envelope = match self.ports.history.settle(address, event.into())? {
            SettledEvent::Recorded(envelope) => envelope,
            SettledEvent::New(event) => self.ports.events.emit(address.clone(), event).await?,
        };
        // The fold takes no event of child agents, but their waits for the user.
        let mut fold = self.fold.lock().unwrap_or_else(PoisonError::into_inner);
        self.input.tree.record(&envelope, |waits| fold.apply_among(waits, &envelope));
        drop(fold);
        self.inputs.lock().unwrap_or_else(PoisonError::into_inner).add(&envelope);
        Ok(envelope)
    }

    /// Returns the hash of the inputs of the run so far, for the end of a turn or of the run.
    pub(super) fn inputs_sha(&self) -> String {
        self.inputs.lock().unwrap_or_else(PoisonError::into_inner).advance()
    }

    /// Emits a warning.
    pub(super) async fn warn(&self, address: &Address, text: impl Into<String>) -> Result<(), SinkError> {
        self.emit(address, Notice { level: NoticeLevel::Warning, text: text.into() }).await
    }

    /// Emits a notice that is not a warning.
    pub(super) async fn inform(&self, address: &Address, text: impl Into<String>) -> Result<(), SinkError> {
        self.emit(address, Notice { level: NoticeLevel::Info, text: text.into() }).await
    }

    /// Adds a message to the conversation and emits it. The event that counts is added: a lenient replay keeps the recorded message.
    pub(super) async fn add_message(
        &mut self,
        at: &Address,
        role: Role,
        source: Source,
        parts: Vec<MessagePart>,
    ) -> Result<(), SinkError> {
        let m = self.conversation.next();
        // A parent agent may have written parts of the task.
        let is_own = source == Source::Prompt && (role == Role::System || self.input.hidden.is_empty());
        let mut parts = parts;
        self.hidden.mask(&mut parts, if is_own { TrustedTextPolicy::Shown } else { TrustedTextPolicy::Masked });
        let recorded = self.record(at, MessageAdded { m, role, source, parts }).await?;
        if let Event::MessageAdded(message) = &recorded.event {
            self.conversation.add(message);
        }
        Ok(())
    }

    /// Hides the values of hidden names in this value, where the agent hides any.
    pub(super) fn hide(&self, at: &Address, value: &Value) {
        if self.plan.hides() {
            self.hidden.collect(at, value);
        }
    }

    /// Like `hide`, for the result and the definitions of a program.
    pub(super) fn hide_outcome(&self, at: &Address, outcome: &Outcome) {
        if self.plan.hides() {
            self.hidden.collect_memory(at, &outcome.memory);
            outcome.result.iter().for_each(|(_, value)| self.hidden.collect(at, value));
        }
    }

    /// Returns the share of this run in the budget of a parent agent.
    pub(super) fn budget_share(&self) -> BudgetShare {
        BudgetShare { estimated: self.usage.estimated_in_all(), cost: self.usage.cost(self.own_cost()) }
    }

    /// The cost of the run's own replies as far as prices are known, estimated ones included.
    pub(super) fn own_cost(&self) -> f64 {
        let fold = self.fold.lock().unwrap_or_else(PoisonError::into_inner);
        let ledger = &fold.record().ledger;
        let estimated = ledger.model().price.map_or(0.0, |price| price.cost(&self.usage.estimated()));
        ledger.own().known_cost() + estimated
    }

    /// Takes the Step of a child agent, which was called at this address.
    pub(super) fn adopt(&self, at: &Address, step: &Step, share: &BudgetShare) {
        self.usage.add_child(at, &step.usage.total, share);
        self.fold.lock().unwrap_or_else(PoisonError::into_inner).adopt(at.clone(), step.clone());
    }

    /// Takes what child agents did that are not run again.
    pub(super) fn adopt_recorded(&self, used: Option<ChildUsage>, events: &[Envelope]) {
        let mut fold = self.fold.lock().unwrap_or_else(PoisonError::into_inner);
        for envelope in events {
            fold.apply(envelope);
        }
        self.usage.set_children(used);
    }

    /// The Step of all events. Later ones are not part of any.
    pub(super) fn step(&self) -> Step {
        std::mem::take(&mut *self.fold.lock().unwrap_or_else(PoisonError::into_inner)).step()
    }
}

/// The questions of a tool during its call, and the images of its result. A call that is repeated in a resumed session asks in a range of
/// its own: between two ranges are the questions whether it is repeated.
#[derive(Debug, Default)]
pub(super) struct CallState {
    /// The number of the attempt, from 1.
    pub(super) attempt: u32,
    /// The number of the next question.
    pub(super) next: u32,
    /// The images, which are stored.
    pub(super) files: Vec<FileRecord>,
}
