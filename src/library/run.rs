//! A run that is put together call by call and starts when it is awaited.

use std::future::IntoFuture;
use std::sync::Arc;

use futures::future::BoxFuture;
use ptc_core::reasons::Reason;
use ptc_core::value::{Json, Value};
use tokio_util::sync::CancellationToken;

use super::Given;
use super::told::{Listener, Told};
use crate::agent::{Builder, Context, Delegated, Diagnostic, Mode, Plan, Step, Undelegated};
use crate::engine::{self, Carry, Input, ModelList, Models, Ports};
use crate::event::{Address, Envelope, ErrorRecord};
use crate::model::{Model, known_secrets};
use crate::port::{Human, Question, Sink, Stop, SystemClock, Unsaved};
use crate::tool::{Grants, Outside, Policy, Tools};

/// A run that has not started.
#[derive(Clone)]
#[must_use = "a run starts when it is awaited"]
pub struct Run {
    agent: Builder,
    model: Option<Arc<dyn Model>>,
    named: Option<String>,
    pub(super) doors: Doors,
    given: Given,
    seed: u64,
    pub(super) address: Address,
    pub(super) continues: Option<(Address, Carry)>,
}

/// What a run meets beside its model.
#[derive(Clone)]
pub(super) struct Doors {
    models: ModelList,
    person: Option<Arc<dyn Human>>,
    outside: Option<Arc<Outside>>,
    pub(super) told: Told,
    pub(super) stop: Stop,
}

/// A run that may start: everything was found.
pub(super) struct Ready {
    pub(super) plan: Plan,
    pub(super) model: Arc<dyn Model>,
    context: Context,
    seed: u64,
    address: Address,
}

impl Ready {
    pub(super) fn input(&self) -> Input {
        let context = &self.context;
        let (descriptions, seed) = (context.descriptions.clone(), self.seed);
        Input { descriptions, seed, ..Input::at(self.address.clone(), context.json.clone()) }
    }
}

impl Doors {
    pub(super) fn ports<'a>(&'a self, model: &'a dyn Model) -> Ports<'a> {
        let ports = Ports::new(model, &SystemClock, &self.told, self.stop.clone());
        let person = self.person.as_deref().unwrap_or(ports.person);
        let tools: &dyn Tools = self.outside.as_deref().map_or(ports.tools, |outside| outside);
        Ports { models: &self.models, person, tools, ..ports }
    }
}

/// A person who is a function.
struct Answering<F>(F);

impl<F: Fn(&Question) -> Option<String> + Send + Sync> Human for Answering<F> {
    fn ask<'a>(&'a self, question: &'a Question, _: &'a CancellationToken) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move { (self.0)(question) })
    }
}

impl Run {
    pub(super) fn of(agent: Builder) -> Self {
        let told = Told { sink: Arc::new(Unsaved::default()), listeners: Vec::new() };
        Self {
            agent,
            model: None,
            named: None,
            doors: Doors { models: ModelList::default(), person: None, outside: None, told, stop: Stop::default() },
            given: Given::Own,
            seed: 0,
            address: Address::run(0),
            continues: None,
        }
    }

    /// The model that answers: a closure, a script, an adapter.
    pub fn model(mut self, model: impl Model + 'static) -> Self {
        self.model = Some(Arc::new(model));
        self
    }

    /// The model of this name in the list of [`Run::models`].
    pub fn model_named(mut self, name: impl Into<String>) -> Self {
        self.named = Some(name.into());
        self
    }

    /// Models by name, for this agent and for those below that name theirs.
    pub fn models(mut self, models: ModelList) -> Self {
        self.doors.models = models;
        self
    }

    /// The data: JSON, or the Step of an earlier run.
    pub fn context(mut self, given: impl Into<Given>) -> Self {
        self.given = given.into();
        self
    }

    /// Changes the agent: anything that its builder can do.
    pub fn with(mut self, change: impl FnOnce(Builder) -> Builder) -> Self {
        self.agent = change(self.agent);
        self
    }

    /// Output mode.
    pub fn mode(self, mode: Mode) -> Self {
        self.with(|agent| agent.mode(mode))
    }

    /// What goes in and out.
    pub fn signature(self, signature: impl Into<String>) -> Self {
        self.with(|agent| agent.signature(signature))
    }

    /// Limit `max_turns`.
    pub fn max_turns(self, turns: u32) -> Self {
        self.with(|agent| agent.max_turns(turns))
    }

    /// Declares a tool that is a function; see [`Builder::tool_fn`].
    pub fn tool_fn(
        self,
        name: &str,
        signature: &str,
        description: &str,
        function: impl Fn(&Value) -> Result<Value, String> + Send + Sync + 'static,
    ) -> Self {
        self.with(|agent| agent.tool_fn(name, signature, description, function))
    }

    /// Tells every event as it happens. The function is called on the run's own task: it must not block.
    pub fn on_event(self, listener: impl Fn(&Envelope) + Send + Sync + 'static) -> Self {
        self.listening(Arc::new(listener))
    }

    pub(super) fn listening(mut self, listener: Listener) -> Self {
        self.doors.told.listeners.push(listener);
        self
    }

    /// Records the events, such as with a [`Recorder`](crate::session::Recorder).
    pub fn record(mut self, sink: impl Sink + 'static) -> Self {
        self.doors.told.sink = Arc::new(sink);
        self
    }

    /// Answers what agents ask a person; `None` lets the run wait.
    pub fn person(mut self, answer: impl Fn(&Question) -> Option<String> + Send + Sync + 'static) -> Self {
        self.doors.person = Some(Arc::new(Answering(answer)));
        self
    }

    /// Allows all tools that start a process or leave the machine; without it their calls fail with `tool_denied`. Secrets of this
    /// process's environment are taken out of what they answer.
    pub fn allow_tools(mut self) -> Self {
        self.doors.outside = Some(Arc::new(Outside::new(Policy::Allow, Grants::default(), known_secrets(&[]))));
        self
    }

    /// What stops the run from outside.
    pub fn stop(mut self, stop: Stop) -> Self {
        self.doors.stop = stop;
        self
    }

    /// Seed of the run's randomness.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Runs it and gives the Step in the words of the core specification.
    ///
    /// Errors: why there is no result, under the source's name of the reason, with the turns and their cost.
    pub async fn delegate(self) -> Result<Delegated, Box<Undelegated>> {
        self.await.delegated()
    }

    /// Finds everything that the run needs. Errors: the Step of a run that could not start, no model asked.
    pub(super) fn ready(&self) -> Result<Ready, Box<Step>> {
        let plan = self.agent.clone().plan().map_err(|findings| failed("", unusable(&findings)))?;
        let name = plan.agent.name.clone();
        let stopped = |record: ErrorRecord| failed(&name, record);
        let context = self.given.context(&plan).map_err(stopped)?;
        let model = self.chosen(&plan).map_err(stopped)?;
        Ok(Ready { plan, model, context, seed: self.seed, address: self.address.clone() })
    }

    fn chosen(&self, plan: &Plan) -> Result<Arc<dyn Model>, ErrorRecord> {
        if let Some(model) = &self.model {
            return Ok(Arc::clone(model));
        }
        let Some(name) = self.named.as_deref().or(plan.agent.model.as_deref()) else {
            let message =
                format!("no model was given for the agent `{}`; call `model` or `model_named`", plan.agent.name);
            return Err(ErrorRecord::new(Reason::LlmRequired, message));
        };
        let found = self.doors.models.model(&self.address, Some(name)).map_err(|error| error.record())?;
        found.ok_or_else(|| ErrorRecord::new(Reason::LlmNotFound, format!("there is no model `{name}`")))
    }

    /// Runs it; with what it leaves for one that continues it.
    pub(super) async fn carrying(self) -> (Step, Carry) {
        let ready = match self.ready() {
            Ok(ready) => ready,
            Err(step) => return (*step, Carry::default()),
        };
        let input = Input { continues: self.continues, ..ready.input() };
        engine::run_carrying(&ready.plan, input, &self.doors.ports(&*ready.model)).await
    }
}

impl IntoFuture for Run {
    type Output = Step;
    type IntoFuture = BoxFuture<'static, Step>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.carrying().await.0 })
    }
}

impl Step {
    /// The next agent in a chain, on what this Step returned. When it failed, or lacks what that agent needs, the run does not start:
    /// its Step has `chained_failure` or `chain_error`.
    pub fn then(&self, agent: impl Into<Builder>) -> Run {
        Run::of(agent.into()).context(Given::Aligned(Box::new(self.clone())))
    }

    /// The answer alone. Errors: why there is none.
    pub fn into_answer(self) -> Result<Json, Box<ErrorRecord>> {
        match self.fail {
            None => Ok(self.answer.unwrap_or_default()),
            Some(fail) => Err(Box::new(fail)),
        }
    }
}

/// The Step of a run that could not start.
fn failed(name: &str, record: ErrorRecord) -> Box<Step> {
    Box::new(Step { name: name.to_owned(), fail: Some(record), ..Step::default() })
}

/// A definition that is not usable, as an error.
fn unusable(findings: &[Diagnostic]) -> ErrorRecord {
    let errors = || findings.iter().filter(|finding| finding.is_error());
    let reason = errors().next().map_or(Reason::InvalidAgent, |finding| finding.reason);
    let said: Vec<&str> = errors().map(|finding| finding.message.as_str()).collect();
    ErrorRecord::new(reason, said.join("; "))
}
