//! Starting a run: from an agent and what the user says beside it to a task in the background.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::PathBuf;
use std::sync::Arc;

use ptc_core::reasons::Reason;
use tokio::task::JoinHandle;

use super::Workbench;
use super::below::LiveModels;
use super::feed::{Feed, Tee};
use super::keys::told_secrets;
use super::saving::Saving;
use super::tools::Looks;
use crate::agent::{Agent, Context, Diagnostic, Place, Plan, Step};
use crate::config::{ModelChoice, options_over};
use crate::engine::{self, Input, Ports};
use crate::model::{Model, Pinned};
use crate::port::{Human, Stop, SystemClock};
use crate::session::{Group, Header, Recorder, RecorderError, SessionId};
use crate::tool::Kind;

/// What is to be run.
pub struct RunSpec {
    /// The agent, in its mode.
    pub agent: Agent,
    /// The model: what the user said, else the agent's, else the configured one.
    pub model: Option<String>,
    /// The context; the agent's own when absent.
    pub context: Option<Context>,
    /// Who answers for the model `human`.
    pub person: Arc<dyn Human>,
    /// Keep a session file.
    pub save: bool,
    /// Seed of the run's randomness.
    pub seed: u64,
}

/// A run in the background.
#[derive(Debug)]
pub struct Running {
    /// The session's id, when it is saved.
    pub session: Option<String>,
    /// Its file, as it began.
    pub path: Option<PathBuf>,
    /// How it is saved, when it is.
    pub saving: Option<Saving>,
    /// Its events.
    pub feed: Feed,
    /// Ends it.
    pub stop: Stop,
    /// Warnings about the definition.
    pub warnings: Vec<Diagnostic>,
    /// Gives the Step.
    pub task: JoinHandle<Step>,
}

/// Why a run did not start.
#[derive(Debug)]
pub enum StartError {
    /// The definition is not usable.
    Agent(Vec<Diagnostic>),
    /// The model is not usable.
    Model {
        /// Stable reason.
        reason: Reason,
        /// What is wrong and what to do.
        message: String,
    },
    /// The session cannot be written.
    Recorder(RecorderError),
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Agent(findings) => {
                let said: Vec<_> = findings.iter().filter(|f| f.is_error()).map(|f| f.message.as_str()).collect();
                f.write_str(&said.join("\n"))
            }
            Self::Model { message, .. } => f.write_str(message),
            Self::Recorder(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for StartError {}

impl Workbench {
    /// The name of the model that a run of this agent would use.
    pub fn model_name(&self, said: Option<&str>, agent: &Agent) -> String {
        said.or(agent.model.as_deref()).unwrap_or(&self.config.default_model).to_owned()
    }

    /// Starts a run on the current runtime.
    pub fn start(&self, spec: RunSpec) -> Result<Running, StartError> {
        self.start_in(spec, None, Stop::default())
    }

    /// Starts a run that belongs to a group and ends with this stop.
    pub(super) fn start_in(&self, spec: RunSpec, group: Option<Group>, stop: Stop) -> Result<Running, StartError> {
        let name = self.model_name(spec.model.as_deref(), &spec.agent);
        let choice = self.choose(&name)?;
        let agent = spec.agent.for_mode(spec.agent.mode).map_err(StartError::Agent)?;
        let agent = self.connected(answered(with_options(agent, &choice), spec.model.as_deref()))?;
        let plan = Plan::new(&agent).map_err(StartError::Agent)?;
        let context = spec.context.unwrap_or_else(|| agent.context.clone().into());
        self.refuse_keys(&agent, &context)?;
        refuse_closures(&plan)?;
        let person = Arc::clone(&spec.person);
        let models = LiveModels::of(self, Arc::clone(&person));
        let model = self.model_for(&agent, choice, spec.person)?;
        let recorder = spec.save.then(|| self.new_session_in(group)).transpose()?;
        let session = recorder.as_ref().map(|(_, id)| id.to_string());
        let recorder = recorder.map(|(recorder, _)| recorder);
        let path = recorder.as_ref().map(|recorder| recorder.path().to_owned());
        let saving = recorder.as_ref().map(|recorder| self.saving(recorder));
        let feed = Feed::default();
        let notices = told_secrets(&agent, &context);
        let input = Input { descriptions: context.descriptions, seed: spec.seed, notices, ..Input::new(context.json) };
        let warnings = plan.warnings.iter().cloned().chain(self.check_below(&plan)).collect();
        tracing::info!(agent = agent.name, model = name, session, "run started");
        let events = Tee::new(recorder, feed.clone());
        let (task_stop, task_session) = (stop.clone(), session.clone());
        let (tools, workbench) = (self.outside(), self.clone());
        let task = tokio::spawn(async move {
            let (run, cancel) = (input.address.clone(), task_stop.token());
            let mut looks = Looks { run, tools: &tools, person: &*person, cancel, consents: Vec::new() };
            let agent = workbench.listed(agent, &mut looks).await;
            let input = Input { consents: looks.consents, ..input };
            // What a server says of its tools changes their words only; were it to break the agent, the run has it as it was.
            let plan = Plan::new(&agent).unwrap_or(plan);
            let live = Ports::new(&*model, &SystemClock, &events, task_stop.clone());
            let ports = Ports { models: &models, person: &*person, tools: &tools, ..live };
            let step = engine::run(&plan, input, &ports).await;
            tools.end().await;
            drop(events);
            let reason = step.fail.as_ref().map_or("returned", |fail| fail.reason.as_str());
            tracing::info!(session = task_session, turns = step.turns.len(), reason, "run ended");
            Step { session: task_session, ..step }
        });
        Ok(Running { session, path, saving, feed, stop, warnings, task })
    }
}

impl Workbench {
    /// The model of an agent that is [`answered`]: its pinned program, when it has one.
    pub(super) fn model_for(
        &self,
        agent: &Agent,
        choice: ModelChoice,
        person: Arc<dyn Human>,
    ) -> Result<Arc<dyn Model>, StartError> {
        match agent.program() {
            Some(program) => Ok(Arc::new(Pinned::new(program))),
            None => self.build_model(choice, person),
        }
    }

    /// A new session file and its id.
    pub(super) fn new_session(&self) -> Result<(Recorder, SessionId), StartError> {
        self.new_session_in(None)
    }

    /// The same as part of a group.
    fn new_session_in(&self, group: Option<Group>) -> Result<(Recorder, SessionId), StartError> {
        let now = SystemClock.now();
        let header = Header { group, ..Header::new(SessionId::new(now, chance()), now) };
        let recorder = Recorder::create(&self.folders.sessions_dir, &header, Arc::new(SystemClock));
        Ok((recorder.map_err(StartError::Recorder)?, header.id))
    }
}

/// Refuses tools whose function only the program that uses the library has, in the agent and below.
pub(super) fn refuse_closures(plan: &Plan) -> Result<(), StartError> {
    let mut open = vec![plan];
    while let Some(plan) = open.pop() {
        if let Some(tool) = plan.tools.iter().find(|tool| matches!(tool.kind, Kind::Closure(None))) {
            let message = format!(
                "the tool `{}` is of kind `closure`: its function exists only in the program that defines it; use a table or a snippet here",
                tool.name
            );
            let found = Diagnostic::error(Place::Options, Reason::InvalidAgent, message);
            return Err(StartError::Agent(vec![found.key(format!("tools.{}", tool.name))]));
        }
        open.extend(plan.children.iter().map(|(_, child)| &**child));
    }
    Ok(())
}

/// The agent as it is answered: once by its pinned program, or by the model that the user names instead.
pub(super) fn answered(agent: Agent, named: Option<&str>) -> Agent {
    match (agent.program(), named) {
        (Some(_), None) => agent.once(),
        (Some(_), Some(_)) => agent.without_program(),
        (None, _) => agent,
    }
}

/// The agent with the model's own options where it names none.
pub(super) fn with_options(agent: Agent, choice: &ModelChoice) -> Agent {
    match choice {
        ModelChoice::Http(model) => {
            Agent { model_options: options_over(&agent.model_options, &model.options), ..agent }
        }
        _ => agent,
    }
}

/// Chance for the end of a session's id: the standard library's randomly keyed hasher.
pub(super) fn chance() -> u32 {
    u32::try_from(RandomState::new().build_hasher().finish() >> 32).unwrap_or_default()
}
