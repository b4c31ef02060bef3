//! The runs of a server: how many at once, for how long, with which tools; what each of them does until its end.
//!
//! In: an agent and a context from outside. Out: an [`ActiveRun`], then its Step. A run whose client leaves is stopped. It must
//! never ask a user: a run that needs one waits in its session.

use std::sync::Arc;
use std::time::Duration;

use ptc_core::value::Json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::ServedAgent;
use super::metrics::Metrics;
use crate::agent::{Agent, Diagnostic, Place, Step, StepFold};
use crate::event::{Address, Envelope, ErrorRecord, Event, Interrupt, InterruptReason, InterruptSource};
use crate::port::{Human, NoUser};
use crate::session::{Session, SessionId};
use crate::tool::ConsentPolicy;
use crate::workbench::{Answers, RunSpec, Running, SessionKey, StartError, Workbench};
use ptc_core::reasons::Reason;

/// How the runs of a server are made.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// The model of all runs; each agent's own when absent.
    pub model: Option<String>,
    /// Keep a session of each run.
    pub save: bool,
    /// Most runs at once.
    pub max_runs: usize,
    /// Most time of a run.
    pub timeout: Option<Duration>,
    /// Run tools that start a process or leave the machine.
    pub allow_tools: bool,
}

/// Why a request starts no run.
#[derive(Debug)]
pub enum RunRefusal {
    /// As many runs as may run at once are running.
    Busy {
        /// How many may run at once.
        max_runs: usize,
    },
    /// The server ends.
    Ending,
    /// The agent has tools that were not allowed.
    Tools(Vec<String>),
    /// There is no such session of a served agent.
    Session(String),
    /// The run cannot start.
    Start(StartError),
}

impl RunRefusal {
    /// The error as it is reported.
    pub fn record(&self) -> ErrorRecord {
        let own = |reason: Reason, message: String, hint: &str| ErrorRecord {
            hint: Some(hint.to_owned()),
            ..ErrorRecord::new(reason, message)
        };
        match self {
            Self::Busy { max_runs } => own(
                Reason::Cancelled,
                format!("{max_runs} runs are running, which is the most at once"),
                "Try again later, or raise --max-runs.",
            ),
            Self::Ending => own(Reason::Cancelled, "the server ends".to_owned(), "Try again when it runs."),
            Self::Tools(names) => own(
                Reason::ToolDenied,
                format!("these tools start a process or leave the machine: {}", names.join(", ")),
                "Start the server with --allow-tools.",
            ),
            Self::Session(message) => own(Reason::SessionUnreadable, message.clone(), "Check the id of the run."),
            Self::Start(error) => ErrorRecord { hint: None, ..ErrorRecord::new(error.reason(), error.to_string()) },
        }
    }
}

/// The runs of a server.
#[derive(Debug)]
pub struct Runs {
    /// The served agents.
    pub agents: Vec<ServedAgent>,
    workbench: Workbench,
    options: RunOptions,
    slots: Arc<Semaphore>,
    metrics: Arc<Metrics>,
    end: CancellationToken,
}

/// Refuses files in a context from outside: a client must not make the server read or send what is stored here.
pub(super) fn refuse_files(agent: &Agent, context: &Json) -> Result<(), StartError> {
    match agent.file_inputs(context).first() {
        None => Ok(()),
        Some(name) => {
            let message = format!("`{name}` is a file, and clients cannot give files; give its content as text");
            let found = Diagnostic::error(Place::Context, Reason::InvalidContext, message);
            Err(StartError::Agent(vec![found.key(name.clone())]))
        }
    }
}

impl Runs {
    /// Runs of these agents that are stopped when `end` is cancelled.
    pub fn new(agents: Vec<ServedAgent>, workbench: &Workbench, options: RunOptions, end: CancellationToken) -> Self {
        let policy = if options.allow_tools { ConsentPolicy::Allow } else { ConsentPolicy::Refuse };
        let slots = Arc::new(Semaphore::new(options.max_runs));
        let workbench = workbench.clone().with_policy(policy);
        Self { agents, workbench, options, slots, metrics: Arc::default(), end }
    }

    /// Starts a run.
    pub fn start(&self, served: &ServedAgent, context: Json, seed: u64) -> Result<ActiveRun, RunRefusal> {
        self.check_tools(served)?;
        refuse_files(&served.agent, &context).map_err(RunRefusal::Start)?;
        let slot = self.slot()?;
        let spec = RunSpec {
            agent: served.agent.clone(),
            model: self.options.model.clone(),
            context: Some(context.into()),
            human: Arc::new(NoUser) as Arc<dyn Human>,
            save: self.options.save,
            seed,
            journal: None,
        };
        let running = self.workbench.start(spec).map_err(RunRefusal::Start)?;
        Ok(self.active(served, running, slot))
    }

    /// Resumes the waiting run of a session with answers by question address, else in order.
    pub async fn resume(&self, id: &str, answers: Answers) -> Result<ActiveRun, RunRefusal> {
        let (served, session) = self.session(id)?;
        self.check_tools(served)?;
        let slot = self.slot()?;
        let resumed = self.workbench.resume(&session, answers, None, Arc::new(NoUser)).await;
        Ok(self.active(served, resumed.map_err(RunRefusal::Start)?, slot))
    }

    /// The Step of a run as its session has it.
    pub fn step(&self, id: &str) -> Result<Step, RunRefusal> {
        let (_, session) = self.session(id)?;
        let mut fold = StepFold::default();
        let root = Address::run(0);
        session.events().filter(|envelope| envelope.address.root() == root).for_each(|envelope| fold.apply(&envelope));
        Ok(Step { session: Some(session.header.id.to_string()), ..fold.step() })
    }

    /// The counters as Prometheus reads them.
    pub fn metrics(&self) -> String {
        self.metrics.render()
    }

    /// The session of this id, in the folder of the sessions, whose agent is served. A request names no files.
    fn session(&self, id: &str) -> Result<(&ServedAgent, Session), RunRefusal> {
        let unknown = || RunRefusal::Session(format!("no run `{id}` of an agent that is served"));
        let is_id = !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        let name = SessionId::from_file_name(&format!("{id}.jsonl")).filter(|_| is_id).ok_or_else(unknown)?;
        let key = self.workbench.find_session(&name.to_string()).map_err(|_| unknown())?;
        let SessionKey::File(path) = &key else { return Err(unknown()) };
        if path.parent() != Some(&*self.workbench.folders.sessions_dir) {
            return Err(unknown());
        }
        let session = self.workbench.open_found(&key).map_err(|_| unknown())?;
        let agent = session.events().find_map(|envelope| match envelope.event {
            Event::RunStart(start) => Some(start.agent.name.clone()),
            _ => None,
        });
        let served = self.agents.iter().find(|served| Some(&served.agent.name) == agent.as_ref());
        Ok((served.ok_or_else(unknown)?, session))
    }

    fn check_tools(&self, served: &ServedAgent) -> Result<(), RunRefusal> {
        let outside = if self.options.allow_tools { Vec::new() } else { served.outside_tools() };
        if outside.is_empty() { Ok(()) } else { Err(RunRefusal::Tools(outside)) }
    }

    fn slot(&self) -> Result<OwnedSemaphorePermit, RunRefusal> {
        if self.end.is_cancelled() {
            return Err(RunRefusal::Ending);
        }
        let max_runs = self.options.max_runs;
        Arc::clone(&self.slots).try_acquire_owned().map_err(|_| RunRefusal::Busy { max_runs })
    }

    fn active(&self, served: &ServedAgent, running: Running, slot: OwnedSemaphorePermit) -> ActiveRun {
        self.metrics.begin(&served.name);
        let (now, agent) = (Instant::now(), served.name.clone());
        let deadline = self.options.timeout.map(|timeout| now + timeout);
        let (metrics, end) = (Arc::clone(&self.metrics), self.end.clone());
        ActiveRun { running, agent, started: now, deadline, end, metrics, ended: None, _slot: slot }
    }
}

/// What a run did.
#[derive(Debug)]
pub enum RunProgress {
    /// Events, in order.
    Events(Vec<Envelope>),
    /// Its end; nothing follows.
    Ended(Box<Step>),
}

/// A run that has not ended. Dropping it stops the run.
#[derive(Debug)]
pub struct ActiveRun {
    running: Running,
    agent: String,
    started: Instant,
    deadline: Option<Instant>,
    end: CancellationToken,
    metrics: Arc<Metrics>,
    ended: Option<Step>,
    _slot: OwnedSemaphorePermit,
}

impl ActiveRun {
    /// The id of its session, when it is saved.
    pub fn session(&self) -> Option<&str> {
        self.running.session.as_deref()
    }

    /// Waits for what it does next.
    pub async fn next(&mut self) -> RunProgress {
        loop {
            if let Some(step) = self.ended.take() {
                let events = self.running.feed.drain();
                if events.is_empty() {
                    return RunProgress::Ended(Box::new(step));
                }
                self.ended = Some(step);
                return RunProgress::Events(events);
            }
            let deadline = self.deadline;
            let over = async {
                match deadline {
                    Some(deadline) => tokio::time::sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.running.feed.changed() => {
                    let events = self.running.feed.drain();
                    if !events.is_empty() {
                        return RunProgress::Events(events);
                    }
                }
                step = &mut self.running.task => {
                    let step = step.unwrap_or_else(|error| broken(&error));
                    self.metrics.end(&self.agent, &step, self.started.elapsed());
                    self.ended = Some(step);
                }
                () = over => {
                    self.deadline = None;
                    self.running.stop.now(Interrupt { reason: InterruptReason::MissionTimeout, by: InterruptSource::Limit });
                }
                () = self.end.cancelled(), if self.running.stop.reason().is_none() => {
                    self.running.stop.now(Interrupt { reason: InterruptReason::Cancelled, by: InterruptSource::Signal });
                }
            }
        }
    }

    /// Waits for its end.
    pub async fn finish(mut self) -> Step {
        loop {
            if let RunProgress::Ended(step) = self.next().await {
                return *step;
            }
        }
    }
}

impl Drop for ActiveRun {
    fn drop(&mut self) {
        if !self.running.task.is_finished() && self.ended.is_none() {
            self.running.stop.by_user();
            self.metrics.leave(&self.agent);
        }
    }
}

/// The Step of a run whose task broke.
fn broken(error: &tokio::task::JoinError) -> Step {
    Step { fail: Some(ErrorRecord::new(Reason::InternalError, error.to_string())), ..Step::default() }
}
