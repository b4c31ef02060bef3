//! The runs of a server: how many at once, for how long, with which tools; what each of them does until its end.
//!
//! In: an agent and a context from outside, or the id of a run. Out: an [`ActiveRun`], or a run as its session has it. It must never ask a
//! user (a run that needs one waits in its session), nor give a run of an agent that is not served.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use ptc_core::reasons::Reason;
use ptc_core::value::Json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::ServedAgent;
use super::active::{Account, ActiveRun, answer_hint};
use super::metrics::{Metrics, Spent};
use crate::agent::{Agent, Step, StepFold};
use crate::event::{Address, ErrorRecord, Event, RunStart};
use crate::port::{Human, NoUser};
use crate::session::{RecorderError, Session, SessionId};
use crate::tool::ConsentPolicy;
use crate::workbench::{Answers, BackgroundRun, RunSpec, SessionKey, StartError, Workbench};

/// Options of the runs of a server.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// The model of all runs; each agent's own when absent.
    pub model: Option<String>,
    /// Keep a session of each run.
    pub save: bool,
    /// Maximum number of runs at once.
    pub max_runs: usize,
    /// Maximum time of a run.
    pub timeout: Option<Duration>,
    /// Run tools that start a process or leave the machine.
    pub allow_tools: bool,
}

/// Reason why a request starts no run.
#[derive(Debug)]
pub enum RunRefusal {
    /// As many runs as may run at once are running.
    Busy {
        /// Maximum number of runs at once.
        max_runs: usize,
    },
    /// The server ends.
    Ending,
    /// The agent has tools that were not allowed.
    Tools(Vec<String>),
    /// There is no such session of a served agent.
    Session(String),
    /// Another request, or another program, continues the run.
    Conflict,
    /// The run has ended: no question waits.
    Ended,
    /// The agent does not take this context.
    Context(String),
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
                format!("the limit of concurrent runs is reached: {max_runs}"),
                "Try again later, or raise --max-runs.",
            ),
            Self::Ending => {
                own(Reason::Cancelled, "the server is shutting down".to_owned(), "Try again after its restart.")
            }
            Self::Tools(names) => own(
                Reason::ToolDenied,
                format!("these tools start a process or use the network: {}", names.join(", ")),
                "Start the server with --allow-tools.",
            ),
            Self::Session(message) => own(
                Reason::SessionUnreadable,
                message.clone(),
                "Check the id. If the agent was edited since, the owner of the server can continue the run with `ptc-workbench resume`.",
            ),
            Self::Conflict => own(
                Reason::Cancelled,
                "this run is being continued by another request".to_owned(),
                "Read it with GET /runs/ID.",
            ),
            Self::Ended => own(
                Reason::InvalidContext,
                "this run has ended: no question waits for an answer".to_owned(),
                "Read its result with GET /runs/ID, or start another run with POST /agents/NAME/run.",
            ),
            Self::Context(message) => {
                ErrorRecord { hint: None, ..ErrorRecord::new(Reason::InvalidContext, message.clone()) }
            }
            // Clients do not learn where sessions are stored.
            Self::Start(StartError::Recorder(error)) => {
                let message = format!("the session of the run cannot be written: {}", error.error);
                ErrorRecord::new(Reason::RecorderFailed, message)
            }
            Self::Start(error) => ErrorRecord { hint: None, ..ErrorRecord::new(error.reason(), error.to_string()) },
        }
    }
}

impl From<StartError> for RunRefusal {
    fn from(error: StartError) -> Self {
        if let StartError::Recorder(error) = &error {
            tracing::warn!(%error, "a run cannot be recorded");
        }
        Self::Start(error)
    }
}

/// A run as its session has it.
#[derive(Debug)]
pub struct RecordedRun {
    /// Its Step; of a run that has not ended, where it is. One that waits or was interrupted has failed with that reason.
    pub step: Step,
    /// It has not ended, and a program executes it.
    pub is_running: bool,
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

/// Refuses in a context from outside inputs that the agent does not declare, and files: a client must not make the server read or send
/// what is stored here.
pub(super) fn check_context_of_client(agent: &Agent, context: &Json) -> Result<(), String> {
    if let Some(found) = agent.undeclared_inputs(context).into_iter().next() {
        return Err(found.message);
    }
    match agent.file_inputs(context).first() {
        None => Ok(()),
        Some(name) => Err(format!("`{name}` is a file, and clients cannot give files; omit it")),
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
        check_context_of_client(&served.agent, &context).map_err(RunRefusal::Context)?;
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
        let run = self.workbench.start(spec)?;
        Ok(self.active(served, run, Spent::default(), slot))
    }

    /// Resumes the waiting run of a session with answers by question address, else in order.
    pub async fn resume(&self, id: &str, answers: Answers) -> Result<ActiveRun, RunRefusal> {
        let (served, session) = self.session(id)?;
        self.check_tools(served)?;
        if session.is_being_written() {
            return Err(RunRefusal::Conflict);
        }
        if has_ended(&session) {
            return Err(RunRefusal::Ended);
        }
        let slot = self.slot()?;
        let before = Spent::from(&session.skeleton().usage());
        match self.workbench.resume(&session, answers, None, Arc::new(NoUser)).await {
            Ok(run) => Ok(self.active(served, run, before, slot)),
            Err(StartError::Recorder(error)) if is_taken(&session, &error) => Err(RunRefusal::Conflict),
            Err(error) => Err(error.into()),
        }
    }

    /// A run as its session has it.
    pub fn recorded(&self, id: &str) -> Result<RecordedRun, RunRefusal> {
        let read = || self.session(id).map(|(_, session)| state_of(&session));
        // The program may have written the end after the session was read, and only then have left it.
        let state = match read()? {
            SessionState::Interrupted(_) => read()?,
            state => state,
        };
        let failed = |step: Step, fail: ErrorRecord, hint: String| {
            let fail = ErrorRecord { hint: Some(hint), ..fail };
            RecordedRun { step: Step { fail: Some(fail), ..step }, is_running: false }
        };
        Ok(match state {
            SessionState::Ended(step) => RecordedRun { step: *step, is_running: false },
            SessionState::Running(step) => RecordedRun { step: *step, is_running: true },
            SessionState::Waiting(step, question) => {
                let message = format!("the run waits for the answer to {question}");
                let step = Step { waits_for: Some(question), ..*step };
                failed(step, ErrorRecord::new(Reason::Suspended, message), answer_hint(id))
            }
            SessionState::Interrupted(step) => {
                let fail = ErrorRecord::new(Reason::Cancelled, "the run was interrupted and has not been resumed");
                failed(*step, fail, format!("Its owner can resume it with `ptc-workbench resume {id}`."))
            }
        })
    }

    /// Resolves when the server ends.
    pub async fn ending(&self) {
        self.end.cancelled().await;
    }

    /// The counters as Prometheus reads them.
    pub fn metrics(&self) -> String {
        self.metrics.render()
    }

    /// The session of this id, in the folder of the sessions or the spare one, whose agent is served. A request names no files.
    fn session(&self, id: &str) -> Result<(&ServedAgent, Session), RunRefusal> {
        let unknown = || RunRefusal::Session(format!("no run `{id}` of a served agent"));
        let is_id = !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        let name = SessionId::from_file_name(&format!("{id}.jsonl")).filter(|_| is_id).ok_or_else(unknown)?;
        let key = self.workbench.find_session(name.as_str()).map_err(|_| unknown())?;
        let SessionKey::File(path) = &key else { return Err(unknown()) };
        let folders = &self.workbench.folders;
        if ![&folders.sessions_dir, &folders.spare_dir].into_iter().any(|dir| path.parent() == Some(dir)) {
            return Err(unknown());
        }
        let session = self.workbench.open_found(&key).map_err(|_| unknown())?;
        // Requests make sessions of one run; others are the owner's.
        Ok((maker(&self.agents, &session).ok_or_else(unknown)?, session))
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

    fn active(&self, served: &ServedAgent, run: BackgroundRun, before: Spent, slot: OwnedSemaphorePermit) -> ActiveRun {
        let account = Account::open(&served.name, &self.metrics, before, slot);
        ActiveRun::new(run, account, self.options.timeout, self.end.clone())
    }
}

/// The served agent whose run a session is. `None`: another agent's, or one of several runs, or of a pipeline.
pub(super) fn maker<'a>(agents: &'a [ServedAgent], session: &Session) -> Option<&'a ServedAgent> {
    let start = only_start(session).filter(|start| start.pipeline.is_none())?;
    agents.iter().find(|served| served.has_made(&start.agent))
}

/// Returns whether the only run of a session has ended. A pipeline ends with its last run.
pub(super) fn has_ended(session: &Session) -> bool {
    only_start(session).is_some_and(|start| start.pipeline.is_none())
        && matches!(state_of(session), SessionState::Ended(_))
}

/// The start of the only run of a session, child runs aside.
fn only_start(session: &Session) -> Option<RunStart> {
    let mut roots = session.skeleton().roots();
    let (root, None) = (roots.next()?, roots.next()) else { return None };
    match session.event(root.events.start)?.event {
        Event::RunStart(start) => Some(start),
        _ => None,
    }
}

/// Returns whether another program, or another request, writes this session. Errors of the disk have kinds of their own.
fn is_taken(session: &Session, error: &RecorderError) -> bool {
    error.is_append && error.error.kind() == ErrorKind::Other && !session.header.is_of_later_version()
}

/// State of a session's run, with its Step so far.
enum SessionState {
    Ended(Box<Step>),
    /// It waits for the answer to this question.
    Waiting(Box<Step>, Address),
    Running(Box<Step>),
    /// It has not ended, and no program executes it.
    Interrupted(Box<Step>),
}

fn state_of(session: &Session) -> SessionState {
    let (mut fold, mut waits_for, root) = (StepFold::default(), None, Address::run(0));
    let mut is_resumed = false;
    for envelope in session.events().filter(|envelope| envelope.address.root() == root) {
        match &envelope.event {
            Event::RunWait(wait) if envelope.address == root => {
                (waits_for, is_resumed) = (Some(Address::from(wait.question.as_str())), false);
            }
            Event::Resume(_) => is_resumed = true,
            Event::Notice(_) => {}
            // A program that ended right after it had resumed the run answered nothing.
            _ if is_resumed => waits_for = None,
            _ => {}
        }
        fold.apply(&envelope);
    }
    // The question of a wait that is over is not part of the Step.
    let step = Step { session: Some(session.header.id.to_string()), waits_for: None, ..fold.step() };
    match waits_for {
        _ if fold.is_complete() => SessionState::Ended(Box::new(step)),
        Some(_) if is_resumed && session.is_being_written() => SessionState::Running(Box::new(step)),
        Some(question) => SessionState::Waiting(Box::new(step), question),
        None if session.is_being_written() => SessionState::Running(Box::new(step)),
        None => SessionState::Interrupted(Box::new(step)),
    }
}
