//! A run that is configured by method calls and starts when it is awaited; conversations of several runs.

use std::future::IntoFuture;
use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;
use ptc_core::reasons::Reason;
use ptc_core::value::Value;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use super::RunData;
use super::session_file::messages;
use crate::agent::{AgentBuilder, Context, Delegation, DelegationError, Diagnostic, Mode, Plan, Step};
use crate::engine::{self, Carry, Input, ModelList, ModelSource, Models, Ports};
use crate::event::{Address, Envelope, ErrorRecord, Event};
use crate::model::{Model, known_secrets};
use crate::port::{Human, Question, RunClock, Sink, SinkError, Stop, UnsavedSink};
use crate::session::AttachmentStore;
use crate::tool::{ConsentPolicy, ExternalTools, Grants, Tools};

/// A run that has not started.
#[derive(Clone)]
#[must_use = "a run starts when it is awaited"]
pub struct Run {
    pub(super) agent: AgentBuilder,
    model: Option<Arc<dyn Model>>,
    model_name: Option<String>,
    pub(super) ports: RunPorts,
    data: RunData,
    seed: u64,
    pub(super) address: Address,
    pub(super) continues: Option<(Address, Carry)>,
}

/// The ports of a run, apart from its model.
#[derive(Clone)]
pub(super) struct RunPorts {
    models: ModelList,
    human: Option<Arc<dyn Human>>,
    external_tools: Option<Arc<ExternalTools>>,
    pub(super) sink: EventFanout,
    pub(super) stop: Stop,
    clock: RunClock,
    files: Arc<AttachmentStore>,
}

/// A run with everything it needs.
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

impl RunPorts {
    pub(super) fn to_ports<'a>(&'a self, model: &'a dyn Model) -> Ports<'a> {
        let ports = Ports::new(model, &self.clock, &self.sink, self.stop.clone());
        let human = self.human.as_deref().unwrap_or(ports.human);
        let tools: &dyn Tools = self.external_tools.as_deref().map_or(ports.tools, |external| external);
        Ports { models: &self.models, human, tools, files: &*self.files, ..ports }
    }
}

impl Run {
    pub(super) fn of(agent: AgentBuilder) -> Self {
        let fanout = EventFanout { sink: Arc::new(UnsavedSink::default()), listeners: Vec::new() };
        Self {
            agent,
            model: None,
            model_name: None,
            ports: RunPorts {
                models: ModelList::default(),
                human: None,
                external_tools: None,
                sink: fanout,
                stop: Stop::default(),
                clock: RunClock::start(),
                files: Arc::default(),
            },
            data: RunData::Own,
            seed: 0,
            address: Address::run(0),
            continues: None,
        }
    }

    /// Sets the model: a closure, a script, an adapter.
    pub fn model(mut self, model: impl Model + 'static) -> Self {
        self.model = Some(Arc::new(model));
        self
    }

    /// Selects a model of [`Run::models`] by name.
    pub fn model_named(mut self, name: impl Into<String>) -> Self {
        self.model_name = Some(name.into());
        self
    }

    /// Sets models by name, for this agent and for child agents that name theirs.
    pub fn models(mut self, models: ModelList) -> Self {
        self.ports.models = models;
        self
    }

    /// Sets the data: JSON, or the result of an earlier run.
    pub fn context(mut self, data: impl Into<RunData>) -> Self {
        self.data = data.into();
        self
    }

    /// Changes the agent with any method of its builder.
    pub fn with(mut self, change: impl FnOnce(AgentBuilder) -> AgentBuilder) -> Self {
        self.agent = change(self.agent);
        self
    }

    /// Sets the output mode.
    pub fn mode(self, mode: Mode) -> Self {
        self.with(|agent| agent.mode(mode))
    }

    /// Sets the signature: inputs and output.
    pub fn signature(self, signature: impl Into<String>) -> Self {
        self.with(|agent| agent.signature(signature))
    }

    /// Sets the limit `max_turns`.
    pub fn max_turns(self, turns: u32) -> Self {
        self.with(|agent| agent.max_turns(turns))
    }

    /// Declares a tool that is a function; see [`AgentBuilder::tool_fn`].
    pub fn tool_fn(
        self,
        name: &str,
        signature: &str,
        description: &str,
        function: impl Fn(&Value) -> Result<Value, String> + Send + Sync + 'static,
    ) -> Self {
        self.with(|agent| agent.tool_fn(name, signature, description, function))
    }

    /// Declares a tool that is a function with typed arguments and result; see [`AgentBuilder::typed_tool`].
    pub fn typed_tool<A: DeserializeOwned, R: Serialize>(
        self,
        name: &str,
        signature: &str,
        description: &str,
        function: impl Fn(A) -> Result<R, String> + Send + Sync + 'static,
    ) -> Self {
        self.with(|agent| agent.typed_tool(name, signature, description, function))
    }

    /// Adds a builtin tool: `ask_user`, `grep` or `llm-query`.
    pub fn builtin_tool(self, name: &str) -> Self {
        self.with(|agent| agent.builtin_tool(name))
    }

    /// Passes every event to `listener` as it is emitted. It is called on the run's task and must not block.
    pub fn on_event(self, listener: impl Fn(&Envelope) + Send + Sync + 'static) -> Self {
        self.listening(Arc::new(listener))
    }

    pub(super) fn listening(mut self, listener: Listener) -> Self {
        self.ports.sink.listeners.push(listener);
        self
    }

    /// Stores the files that the agent is given next to the sessions of this folder; otherwise they are held in memory.
    pub fn files_next_to(mut self, sessions: impl AsRef<Path>) -> Self {
        self.ports.files = Arc::new(AttachmentStore::of_sessions(sessions.as_ref()));
        self
    }

    /// Records the events, for example with a [`Recorder`](crate::session::Recorder).
    pub fn record(mut self, sink: impl Sink + 'static) -> Self {
        self.ports.sink.sink = Arc::new(sink);
        self
    }

    /// Answers questions to the user; with `None` the run waits ([`Run::hold`]). The handler may block: it is called on
    /// a thread for blocking work.
    pub fn on_question(mut self, handler: impl Fn(&Question) -> Option<String> + Send + Sync + 'static) -> Self {
        self.ports.human = Some(Arc::new(ClosureHuman::new(handler)));
        self
    }

    /// Allows all tools with external effects; otherwise their calls fail with `tool_denied`. Secrets of this process's
    /// environment are removed from their results.
    pub fn allow_tools(mut self) -> Self {
        self.ports.external_tools =
            Some(Arc::new(ExternalTools::new(ConsentPolicy::Allow, Grants::default(), known_secrets(&[]))));
        self
    }

    /// Sets the handle that stops the run.
    pub fn stop(mut self, stop: Stop) -> Self {
        self.ports.stop = stop;
        self
    }

    /// Sets the seed of the run's randomness.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Runs the agent and returns the result as `Delegation`: the names and reasons of the delegation interface.
    ///
    /// Errors: the reason why there is no result, with the turns and their cost.
    pub async fn delegate(self) -> Result<Delegation, Box<DelegationError>> {
        self.await.delegated()
    }

    /// Prepares the run. Fails with the result of a run that could not start; no request is made.
    pub(super) fn ready(&self) -> Result<Ready, Box<Step>> {
        let plan = self.agent.clone().plan().map_err(|findings| failed("", unusable(&findings)))?;
        let name = plan.agent.name.clone();
        let stopped = |record: ErrorRecord| failed(&name, record);
        let context = self.data.context(&plan).map_err(stopped)?;
        let model = self.chosen(&plan).map_err(stopped)?;
        Ok(Ready { plan, model, context, seed: self.seed, address: self.address.clone() })
    }

    fn chosen(&self, plan: &Plan) -> Result<Arc<dyn Model>, ErrorRecord> {
        if let Some(model) = &self.model {
            return Ok(Arc::clone(model));
        }
        let Some(name) = self.model_name.as_deref().or(plan.agent.model.as_deref()) else {
            let message =
                format!("no model was given for the agent `{}`; call `model` or `model_named`", plan.agent.name);
            return Err(ErrorRecord::new(Reason::LlmRequired, message));
        };
        let found = self.ports.models.model(&self.address, ModelSource::Named(name)).map_err(|error| error.record())?;
        found.ok_or_else(|| ErrorRecord::new(Reason::LlmNotFound, format!("unknown model `{name}`")))
    }

    /// Runs the agent; also returns what it passes on to a continuing run.
    pub(super) async fn carrying(self) -> (Step, Carry) {
        let ready = match self.ready() {
            Ok(ready) => ready,
            Err(step) => return (*step, Carry::default()),
        };
        let input = Input { continues: self.continues, ..ready.input() };
        engine::run_carrying(&ready.plan, input, &self.ports.to_ports(&*ready.model)).await
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
    /// Creates a run of the next agent in a chain on the result of this one. If this one failed, or lacks data that the
    /// agent needs, the run does not start: its result is `chained_failure` or `chain_error`.
    pub fn then(&self, agent: impl Into<AgentBuilder>) -> Run {
        Run::of(agent.into()).context(RunData::Aligned(Box::new(self.clone())))
    }
}

/// Returns the result of a run that could not start.
fn failed(name: &str, record: ErrorRecord) -> Box<Step> {
    Box::new(Step { name: name.to_owned(), fail: Some(record), ..Step::default() })
}

/// Returns the error of an invalid definition.
fn unusable(findings: &[Diagnostic]) -> ErrorRecord {
    let first = findings.iter().find(|finding| finding.is_error());
    let reason = first.map_or(Reason::InvalidAgent, |finding| finding.reason);
    ErrorRecord::new(reason, messages(findings))
}

/// A conversation with an agent.
#[derive(Clone)]
pub struct Chat {
    run: Run,
    count: usize,
    last: Option<(Address, Carry)>,
}

impl Chat {
    /// Starts a conversation with the agent of this run, which also determines the model and all settings.
    pub fn new(run: Run) -> Self {
        Self { run, count: 0, last: None }
    }

    /// Sends a message as a new run. After a failed run, the next message continues the last successful one.
    pub async fn send(&mut self, message: impl Into<String>) -> Step {
        let mut run = self.run.clone().with(|agent: AgentBuilder| agent.message(message));
        run.address = Address::run(self.count);
        run.continues.clone_from(&self.last);
        let address = run.address.clone();
        let (step, carry) = run.carrying().await;
        self.count += 1;
        if step.is_ok() {
            self.last = Some((address, carry));
        }
        step
    }
}

/// Callback for every event.
pub(super) type Listener = Arc<dyn Fn(&Envelope) + Send + Sync>;

/// Stores events in its sink and passes them to the listeners.
#[derive(Clone)]
pub(super) struct EventFanout {
    pub(super) sink: Arc<dyn Sink>,
    pub(super) listeners: Vec<Listener>,
}

impl Sink for EventFanout {
    fn emit(&self, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>> {
        Box::pin(async move {
            let envelope = self.sink.emit(address, event).await?;
            self.listeners.iter().for_each(|listener| listener(&envelope));
            Ok(envelope)
        })
    }
}

/// Answers questions with a function, which is called on a thread for blocking work.
pub(super) struct ClosureHuman<F>(Arc<F>);

impl<F: Fn(&Question) -> Option<String> + Send + Sync + 'static> ClosureHuman<F> {
    pub(super) fn new(handler: F) -> Self {
        Self(Arc::new(handler))
    }
}

impl<F: Fn(&Question) -> Option<String> + Send + Sync + 'static> Human for ClosureHuman<F> {
    fn ask<'a>(&'a self, question: &'a Question, cancel: &'a CancellationToken) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let (handler, question) = (Arc::clone(&self.0), question.clone());
            let answer = tokio::task::spawn_blocking(move || handler(&question));
            tokio::select! {
                answer = answer => match answer.map_err(tokio::task::JoinError::try_into_panic) {
                    Ok(answer) => answer,
                    // A failed assertion in a handler fails the test that runs the agent.
                    Err(Ok(panic)) => std::panic::resume_unwind(panic),
                    Err(Err(_)) => None,
                },
                () = cancel.cancelled() => None,
            }
        })
    }
}
