//! Starting a run: from an agent and the user's options to a task in the background.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptc_core::reasons::Reason;
use ptc_core::value::Map;
use tokio::task::JoinHandle;

use super::Workbench;
use super::child_models::LiveModels;
use super::feed::{Feed, Tee};
use super::files::is_refusal;
use super::prepare::{Ready, in_own_mode};
use super::session_saver::SessionSaver;
use super::tools::Looks;
use crate::agent::{Agent, Context, Diagnostic, Place, Plan, Step};
use crate::engine::{self, Input, Ports};
use crate::event::ErrorRecord;
use crate::model::PinnedProgram;
use crate::port::{Attachments as _, Clock, Human, RunClock, Stop, SystemClock};
use crate::session::{AttachmentStore, Group, Header, Parent, Recorder, RecorderError, SessionId};

/// Options of a run.
pub struct RunSpec {
    /// The agent, in its mode.
    pub agent: Agent,
    /// The model: the user's choice, else the agent's, else the configured one.
    pub model: Option<String>,
    /// The context; the agent's own when absent.
    pub context: Option<Context>,
    /// Answers for the model `human`.
    pub human: Arc<dyn Human>,
    /// Keep a session file.
    pub save: bool,
    /// Seed of the run's randomness.
    pub seed: u64,
    /// Results of finished tasks to start with, by id; refused where the agent keeps no journal.
    pub journal: Option<Map>,
}

/// Origin of the session of a run.
#[derive(Debug, Default)]
pub(super) struct Origin {
    /// The matrix cell.
    pub(super) group: Option<Group>,
    /// The session that it is about.
    pub(super) parent: Option<Parent>,
    /// Warnings that the run begins with.
    pub(super) notices: Vec<String>,
}

/// A run in the background.
#[derive(Debug)]
pub struct BackgroundRun {
    /// The session's id, when it is saved.
    pub session: Option<String>,
    /// Its file, as it began.
    pub path: Option<PathBuf>,
    /// Saver of its session, if it is saved.
    pub saver: Option<SessionSaver>,
    /// Its events.
    pub feed: Feed,
    /// Ends it.
    pub stop: Stop,
    /// Warnings about the definition.
    pub warnings: Vec<Diagnostic>,
    /// Returns the Step.
    pub task: JoinHandle<Step>,
}

/// Error of starting a run.
#[derive(Debug)]
pub enum StartError {
    /// The definition is not usable.
    Agent(Vec<Diagnostic>),
    /// The model is not usable.
    Model {
        /// Stable reason.
        reason: Reason,
        /// The problem and what to do.
        message: String,
    },
    /// The session that it would begin with is not usable, in words.
    Session(String),
    /// The session cannot be written.
    Recorder(RecorderError),
}

impl StartError {
    /// Its stable reason.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Agent(_) => Reason::InvalidAgent,
            Self::Model { reason, .. } => *reason,
            Self::Session(_) => Reason::SessionUnreadable,
            Self::Recorder(_) => Reason::RecorderFailed,
        }
    }

    /// The same error about a model, with the place that needs it before its message.
    pub(super) fn about(self, place: &str) -> Self {
        match self {
            Self::Model { reason, message } => Self::Model { reason, message: format!("{place}: {message}") },
            other => other,
        }
    }
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Agent(findings) => {
                let chosen: Vec<_> = findings.iter().filter(|f| f.is_error()).map(|f| f.message.as_str()).collect();
                f.write_str(&chosen.join("\n"))
            }
            Self::Model { message, .. } | Self::Session(message) => f.write_str(message),
            Self::Recorder(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for StartError {}

/// The message contains the next step: it needs no hint of the reason.
impl From<StartError> for ErrorRecord {
    fn from(error: StartError) -> Self {
        Self { hint: None, ..Self::new(error.reason(), error.to_string()) }
    }
}

impl Workbench {
    /// The name of the model that a run of this agent in its mode would use: the user's choice, else that of the mode's section
    /// `[modes.NAME]`, else the agent's, else the configured one. All callers use this.
    pub fn model_name(&self, chosen: Option<&str>, agent: &Agent) -> String {
        if let Some(name) = chosen {
            self.trust_recording(name);
            return name.to_owned();
        }
        in_own_mode(agent).model.unwrap_or_else(|| self.config.default_model.clone())
    }

    /// The name by which screens and reports show what answers: that of the model, or `pinned` for a pinned program.
    pub fn answerer_name(&self, chosen: Option<&str>, agent: &Agent) -> String {
        let is_pinned = chosen.is_none() && in_own_mode(agent).program().is_some();
        if is_pinned { PinnedProgram::NAME.to_owned() } else { self.model_name(chosen, agent) }
    }

    /// Starts a run on the current runtime.
    pub fn start(&self, spec: RunSpec) -> Result<BackgroundRun, StartError> {
        self.start_in(spec, Origin::default(), Stop::default())
    }

    /// Starts a run whose session has an origin, and that ends with this stop.
    pub(super) fn start_in(&self, spec: RunSpec, mut origin: Origin, stop: Stop) -> Result<BackgroundRun, StartError> {
        let name = self.model_name(spec.model.as_deref(), &spec.agent);
        let source = self.reply_source(&spec.agent, spec.model.as_deref(), None)?;
        let Ready { plan, below } = self.ready(&spec.agent, &source)?;
        let agent = plan.agent.clone();
        let context = spec.context.unwrap_or_else(|| agent.context.clone().into());
        self.refuse_keys(&agent, &context)?;
        self.refuse_file_keys(agent.files.iter().chain(&context.files))?;
        self.refuse_unknown_servers(&agent, &context.json)?;
        refuse_journal(&plan, spec.journal.as_ref())?;
        let mut notices = std::mem::take(&mut origin.notices);
        let human = Arc::clone(&spec.human);
        let models = LiveModels::of(self, Arc::clone(&human));
        let model = self.model_of(source, spec.human)?;
        let created = spec.save.then(|| self.new_session_in(origin)).transpose()?;
        let session = created.as_ref().map(|created| created.id.to_string());
        notices.extend(created.as_ref().and_then(|created| created.notice.clone()));
        let recorder = created.map(|created| created.recorder);
        let clock = clock_of(recorder.as_ref());
        let path = recorder.as_ref().map(|recorder| recorder.path().to_owned());
        let files = stored_files(path.as_deref(), &context)?;
        let saver = recorder.as_ref().map(|recorder| self.saver(recorder));
        let feed = self.feed(session.as_deref());
        notices.extend(self.secret_findings(&agent, &context));
        let (descriptions, seed, journal) = (context.descriptions, spec.seed, spec.journal);
        let input = Input { descriptions, seed, journal, notices, ..Input::new(context.json) };
        let warnings = plan.warnings.iter().cloned().chain(below).collect();
        tracing::info!(agent = agent.name, model = name, session, "run started");
        let events = Tee::new(recorder, feed.clone());
        let (task_stop, task_session) = (stop.clone(), session.clone());
        let (tools, workbench) = (self.outside(), self.clone());
        let task = tokio::spawn(async move {
            let (run, cancel) = (input.address.clone(), task_stop.token());
            let mut looks = Looks { run, tools: &tools, human: &*human, cancel, consents: Vec::new() };
            let agent = workbench.listed(agent, &mut looks).await;
            let agent = workbench.with_resources(agent, &input.context, &mut looks).await;
            let input = Input { consents: looks.consents, ..input };
            // The tool list of a server changes descriptions only; if it broke the agent, the run would use the agent without it.
            let files_read = agent.files.clone();
            let mut plan = Plan::new(&agent).unwrap_or(plan);
            plan.agent.files = files_read;
            let live = Ports::new(&*model, &*clock, &events, task_stop.clone());
            let ports = Ports { models: &models, human: &*human, tools: &tools, files: &files, ..live };
            let step = engine::run(&plan, input, &ports).await;
            tools.end().await;
            drop(events);
            let reason = step.fail.as_ref().map_or("returned", |fail| fail.reason.as_str());
            tracing::info!(session = task_session, turns = step.turns.len(), reason, "run ended");
            Step { session: task_session, ..step }
        });
        Ok(BackgroundRun { session, path, saver, feed, stop, warnings, task })
    }
}

/// A session that was created for a run.
pub(super) struct NewSession {
    pub(super) recorder: Recorder,
    pub(super) id: SessionId,
    /// The reason why it is not in the folder of the sessions.
    pub(super) notice: Option<String>,
}

impl Workbench {
    /// A new session.
    pub(super) fn new_session(&self) -> Result<NewSession, StartError> {
        self.new_session_in(Origin::default())
    }

    /// Like `new_session`, with an origin.
    fn new_session_in(&self, origin: Origin) -> Result<NewSession, StartError> {
        let now = SystemClock.now();
        let Origin { group, parent, .. } = origin;
        let header = Header { parent, group, ..Header::new(SessionId::draw(now), now) };
        let clock = Arc::new(RunClock::start());
        let (recorder, notice) =
            self.in_writable_folder(|dir| Recorder::create(dir, &header, Arc::clone(&clock) as _))?;
        Ok(NewSession { recorder, id: header.id, notice })
    }

    /// Creates a session in the folder of the sessions, or in the spare one if that takes nothing, for example on a full disk. Returns it
    /// with a notice of the second case.
    ///
    /// Errors: that of the folder of the sessions.
    pub(super) fn in_writable_folder<T>(
        &self,
        create: impl Fn(&Path) -> Result<T, RecorderError>,
    ) -> Result<(T, Option<String>), StartError> {
        let spare_dir = &self.folders.spare_dir;
        let error = match create(&self.folders.sessions_dir) {
            Ok(created) => return Ok((created, None)),
            Err(error) if is_refusal(&error.error) => error,
            Err(error) => return Err(StartError::Recorder(error)),
        };
        match create(spare_dir) {
            Ok(created) => {
                let notice = format!(
                    "a session could not be created in {}: {}; it is in {} (--spare-sessions names another folder)",
                    self.folders.sessions_dir.display(),
                    error.error,
                    spare_dir.display()
                );
                tracing::warn!(notice, "a new session");
                Ok((created, Some(notice)))
            }
            Err(spare) => {
                tracing::warn!(error = %spare, "a new session in the spare folder");
                Err(StartError::Recorder(error))
            }
        }
    }
}

/// The files of a run, with those that the user named for its context.
pub(super) fn stored_files(session: Option<&Path>, context: &Context) -> Result<AttachmentStore, StartError> {
    let files = session.map_or_else(AttachmentStore::default, AttachmentStore::of_session);
    for file in &context.files {
        files.store(&file.record.sha256, &file.bytes).map_err(StartError::Session)?;
    }
    Ok(files)
}

/// Refuses results of tasks for an agent that keeps no journal.
fn refuse_journal(plan: &Plan, journal: Option<&Map>) -> Result<(), StartError> {
    let has_programs = plan.agent.has_programs();
    if journal.is_none() || (has_programs && plan.settings.journaling) {
        return Ok(());
    }
    let why = if has_programs {
        "the agent keeps no journal; write `journaling = true`".to_owned()
    } else {
        format!("{} mode has no programs and keeps no journal of their tasks", plan.agent.mode)
    };
    let found = Diagnostic::error(Place::Options, Reason::InvalidAgent, why).key("journaling");
    Err(StartError::Agent(vec![found]))
}

/// The clock of a run: that of its session, so that the times of turns and events agree.
pub(super) fn clock_of(recorder: Option<&Recorder>) -> Arc<dyn Clock> {
    recorder.map_or_else(|| Arc::new(RunClock::start()) as Arc<dyn Clock>, Recorder::clock)
}

/// The header of a new session that comes from another one.
pub(super) fn header_of(parent: Parent) -> Header {
    let now = SystemClock.now();
    Header { parent: Some(parent), ..Header::new(SessionId::draw(now), now) }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;
    use crate::config::{Config, Folders};

    #[test]
    fn a_session_that_its_folder_refuses_is_created_in_the_spare_folder_with_a_notice() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("own");
        let folders =
            Folders::at(dir.path().to_owned(), dir.path(), Some(&own)).with_spare(Some(&dir.path().join("spare")));
        let workbench = Workbench::new(Config::built_in().unwrap(), folders.clone());
        let error =
            |dir: &Path, kind: ErrorKind| RecorderError { path: dir.to_owned(), error: kind.into(), is_append: false };
        let created = |kind: ErrorKind| {
            workbench.in_writable_folder(|dir| if dir == own { Err(error(dir, kind)) } else { Ok(dir.to_owned()) })
        };
        for kind in [ErrorKind::StorageFull, ErrorKind::ReadOnlyFilesystem, ErrorKind::PermissionDenied] {
            let Ok((place, Some(notice))) = created(kind) else { panic!("{kind}") };
            assert!(place == folders.spare_dir && notice.contains("--spare-sessions"), "{notice}");
        }
        // Another folder would hide a mistake in the name of the folder.
        assert!(created(ErrorKind::NotADirectory).is_err());
        let full = workbench.in_writable_folder(|dir| Err::<(), _>(error(dir, ErrorKind::StorageFull)));
        assert!(matches!(full, Err(StartError::Recorder(error)) if error.path == own), "the error of the first folder");
        assert!(matches!(workbench.in_writable_folder(|dir| Ok(dir.to_owned())), Ok((place, None)) if place == own));
    }
}
