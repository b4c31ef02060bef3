//! Services of one interface: the workbench, the gates of its runs, its agent files, its kept drafts.
//!
//! In: a [`Workbench`], what to open. Out: runs of the drafts, checks of them, access to the rest for requests. Methods read and write
//! files: they are called on blocking threads. It must never decide anything that the command line would decide otherwise: the operations
//! of a user are in `workbench`.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::archive::AgentSource;
use super::compare::{OtherModels, WithoutRequest};
use super::recovery::RecoveryFiles;
use crate::agent::{Agent, Case, Diagnostic, DraftTexts, Fix, Mode, Place, Plan};
use crate::event::{Editor, ErrorRecord};
use crate::export::{Content, Piece};
use crate::session::ParentKind;
use crate::workbench::optimize::SearchReader;
use crate::workbench::{
    AgentFiles, Answers, BY_FLAG, CapturedAgent, DraftSummary, FileNaming, ForkSpec, Intercept, NewAgent, OpenAgent,
    Pipeline, PipelineSpec, QuestionQueue, RunHandle, RunSpec, SessionKey, Source, StartError, Workbench,
    captured_agent, store_captured_files,
};

/// The name of the agent of a captured request.
const CAPTURED: &str = "captured";

/// Renders a session line by line, as it is printed: for exports that show a terminal.
pub type TerminalLines = fn(&Content) -> Vec<Piece>;

/// Services of one interface.
#[derive(Debug)]
pub struct Services {
    /// The operations that a user can start.
    pub workbench: Workbench,
    /// Agent files.
    pub files: AgentFiles,
    /// The gates and breakpoints at which runs stop.
    pub(super) intercept: Intercept,
    /// Renders a session line by line; `None`: exports contain no terminal recording.
    pub(super) terminal_lines: Option<TerminalLines>,
    opened: OpenAgent,
    recovery: Mutex<RecoveryFiles>,
    /// The search for better texts whose candidates are shown.
    pub(super) search: Mutex<Option<SearchReader>>,
    /// The cases listed last: a cache for running one of many.
    listed_cases: Mutex<Option<ListedCases>>,
    /// The choices of models for the last text of options: a cache while other texts are edited.
    model_choices: Mutex<Option<(String, Vec<Fix>)>>,
}

/// Cases that were listed: of these texts and this folder, by name.
#[derive(Debug)]
struct ListedCases {
    texts: DraftTexts,
    folder: PathBuf,
    cases: HashMap<String, Case>,
}

impl Services {
    /// Services of an interface that opens with this agent; `path` is the file it was read from, `None` for a bundled or new one.
    pub fn new(workbench: Workbench, agent: &Agent, path: Option<&Path>) -> Self {
        let files = AgentFiles::new(workbench.file_access().clone());
        let file = path.and_then(|path| files.opened(path));
        let opened = OpenAgent { texts: DraftTexts::of(agent), file, ..OpenAgent::default() };
        Self {
            recovery: Mutex::new(RecoveryFiles::new(&workbench.folders.drafts_dir)),
            search: Mutex::default(),
            listed_cases: Mutex::default(),
            workbench,
            files,
            intercept: Intercept::default(),
            terminal_lines: None,
            opened,
            model_choices: Mutex::default(),
        }
    }

    /// Services for an agent that has no file yet.
    pub fn of_draft(workbench: Workbench, opened: OpenAgent) -> Self {
        Self { opened, ..Self::new(workbench, &Agent::default(), None) }
    }

    /// Services for a pipeline.
    pub fn of_pipeline(workbench: Workbench, pipeline: Pipeline) -> Self {
        let services = Self::new(workbench, pipeline.steps.first().unwrap_or(&Agent::default()), None);
        let pipeline = Some(services.workbench.outline(pipeline));
        let opened = OpenAgent { pipeline, ..services.opened };
        Self { opened, ..services }
    }

    /// Sets the renderer of sessions as terminal lines.
    #[must_use]
    pub fn with_terminal_lines(self, lines: TerminalLines) -> Self {
        Self { terminal_lines: Some(lines), ..self }
    }

    /// Returns the agent that the interface opens first.
    pub fn opened(&self) -> OpenAgent {
        self.opened.clone()
    }

    /// Returns every finding about the texts and what they mean.
    pub fn check(&self, texts: &DraftTexts) -> (Vec<Diagnostic>, DraftSummary) {
        let mut known = self.model_choices.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref().is_none_or(|(options, _)| *options != texts.options) {
            *known = Some((texts.options.clone(), self.workbench.model_choices(&texts.options)));
        }
        let models = known.as_ref().map(|(_, models)| models.clone()).unwrap_or_default();
        drop(known);
        self.workbench.check_draft(texts, &models)
    }

    /// Returns the kept drafts.
    pub fn recovery(&self) -> MutexGuard<'_, RecoveryFiles> {
        self.recovery.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the cases that were listed.
    pub(super) fn keep_cases(&self, texts: DraftTexts, folder: PathBuf, cases: Vec<Case>) {
        let cases = cases.into_iter().map(|case| (case.name.clone(), case)).collect();
        let listed = ListedCases { texts, folder, cases };
        *self.listed_cases.lock().unwrap_or_else(PoisonError::into_inner) = Some(listed);
    }

    /// Returns a case as it was listed; `None` when other texts were.
    pub(super) fn kept_case(&self, texts: &DraftTexts, folder: &Path, name: &str) -> Option<Case> {
        let listed = self.listed_cases.lock().unwrap_or_else(PoisonError::into_inner);
        let listed = listed.as_ref().filter(|listed| listed.texts == *texts && listed.folder == folder)?;
        listed.cases.get(name).cloned()
    }

    /// A queue whose runs stop at the gates of this interface.
    pub(super) fn queue(&self) -> Arc<QuestionQueue> {
        Arc::new(QuestionQueue::with_intercept(self.intercept.clone()))
    }

    /// Starts the texts. Must be called inside of the runtime.
    ///
    /// Errors: why the run is refused, at places among the texts.
    pub fn start(&self, texts: &DraftTexts) -> Result<RunHandle, Vec<Diagnostic>> {
        self.start_agent(texts.to_agent_with(&Agent::default(), self.workbench.file_access())?, seed(), self.queue())
    }

    /// Starts the texts in each of these modes, with the same seed: what differs is the mode. None starts when one is refused.
    pub fn start_modes(&self, texts: &DraftTexts, modes: &[Mode]) -> Result<Vec<RunHandle>, Vec<Diagnostic>> {
        let agent = texts.to_agent_with(&Agent::default(), self.workbench.file_access())?;
        for mode in modes {
            Plan::new(&agent.for_mode(*mode)?)?;
        }
        let seed = seed();
        let start = |mode: &Mode| self.start_agent(Agent { mode: *mode, ..agent.clone() }, seed, Arc::default());
        modes.iter().map(start).collect()
    }

    fn start_agent(&self, agent: Agent, seed: u64, queue: Arc<QuestionQueue>) -> Result<RunHandle, Vec<Diagnostic>> {
        let (model, context, journal) = (None, None, None);
        let spec = RunSpec { agent, model, context, human: queue.clone(), save: true, seed, journal };
        Ok(RunHandle::of_run(self.workbench.start(spec).map_err(refusal)?, queue))
    }

    /// Starts a pipeline. Must be called inside of the runtime.
    ///
    /// Errors: why it is refused.
    pub fn start_pipeline(&self, pipeline: Pipeline) -> Result<RunHandle, Vec<Diagnostic>> {
        let queue = self.queue();
        let spec = PipelineSpec { pipeline, model: None, context: None, human: queue.clone(), save: true };
        Ok(RunHandle::of_run(self.workbench.start_pipeline(spec).map_err(refusal)?, queue))
    }

    /// Resumes a suspended or interrupted session. Blocks, and must be called inside of the runtime.
    ///
    /// Errors: the session cannot be read or resumed.
    pub fn resume(&self, key: &SessionKey) -> Result<RunHandle, ErrorRecord> {
        let (session, queue) = (self.workbench.open_found(key)?, self.queue());
        let running = wait(self.workbench.resume(&session, Answers::default(), None, queue.clone()));
        let by_command = format!("`ptc-workbench resume {} --model NAME` takes another one", session.header.id);
        let running = running.map_err(|error| with_model_named(error.into(), &by_command))?;
        Ok(RunHandle::of_run(running, queue))
    }

    /// Asks again without a part of a request, as often as wanted. Blocks, and must be called inside of the runtime.
    ///
    /// Errors: the session cannot be forked there.
    pub fn ask_without(&self, request: &WithoutRequest) -> Result<Vec<RunHandle>, ErrorRecord> {
        let session = self.workbench.open_session(&request.name)?;
        let start = |_| {
            let queue = Arc::<QuestionQueue>::default();
            let (at, by, kind) = (format!("{}:request", request.turn), Editor::User, ParentKind::Fork);
            let spec = ForkSpec { at, changes: Vec::new(), model: None, by, kind };
            let running = wait(self.workbench.ask_without(&session, request.place.clone(), spec, queue.clone()));
            let by_fork = "fork the session with another one";
            Ok(RunHandle::of_run(running.map_err(|error| with_model_named(error.into(), by_fork))?, queue))
        };
        (0..request.times).map(start).collect()
    }

    /// Reads an agent or a pipeline for the editors.
    ///
    /// Errors: it does not exist or cannot be read.
    pub fn open_agent(&self, source: &AgentSource) -> Result<OpenAgent, ErrorRecord> {
        match source {
            AgentSource::Session(key) => {
                let agent = self.workbench.agent_of(&self.workbench.open_found(key)?)?;
                Ok(OpenAgent { texts: DraftTexts::of(&agent), ..OpenAgent::default() })
            }
            AgentSource::Turn(key, turn) => {
                let session = self.workbench.open_found(key)?;
                let captured = self.workbench.captured_agent(&session, turn, CAPTURED, FileNaming::Record)?;
                let mut texts = DraftTexts::of(&read_captured(&captured)?);
                texts.options.insert_str(0, &captured.comments());
                let problem = self.store_captured(&captured).err().map(|error| error.message);
                Ok(OpenAgent { texts, problem, ..OpenAgent::default() })
            }
            AgentSource::New(new) => self.workbench.new_draft(&self.files, new),
            AgentSource::Named(name) if self.files.is_new(name) => {
                self.workbench.new_draft(&self.files, &NewAgent::at(name))
            }
            AgentSource::Named(name) => Ok(match self.files.open(name)? {
                (Source::Agent(agent), file) => {
                    OpenAgent { texts: DraftTexts::of(&agent), file, ..OpenAgent::default() }
                }
                (Source::Pipeline(pipeline), _) => {
                    let texts = pipeline.steps.first().map(DraftTexts::of).unwrap_or_default();
                    let pipeline = Some(self.workbench.outline(pipeline));
                    OpenAgent { texts, pipeline, ..OpenAgent::default() }
                }
            }),
        }
    }

    /// Stores the files of a captured agent, which it needs to run. Errors: one cannot be written.
    fn store_captured(&self, captured: &CapturedAgent) -> Result<(), ErrorRecord> {
        store_captured_files(captured, &self.workbench.folders.sessions_dir)
    }

    /// Sends the request of a turn to other models, with the same seed. Must be called inside of the runtime.
    ///
    /// Errors: the request makes no agent, or a model cannot be used; no run starts then.
    pub fn ask_others(&self, request: &OtherModels) -> Result<Vec<RunHandle>, ErrorRecord> {
        let session = self.workbench.open_found(&request.key)?;
        let captured = captured_agent(&session, &request.turn, CAPTURED, FileNaming::Record)?;
        let agent = read_captured(&captured)?;
        self.store_captured(&captured)?;
        let seed = seed();
        let fitted = request.models.iter().map(|model| self.workbench.captured_with_model(&captured, &agent, model));
        let fitted: Vec<(Agent, Vec<String>)> = fitted.collect();
        for (agent, _) in &fitted {
            Plan::new(agent).map_err(first_finding)?;
        }
        let start = |(agent, differences): (Agent, Vec<String>)| {
            let (queue, model, context, journal) = (Arc::<QuestionQueue>::default(), None, None, None);
            let spec = RunSpec { agent, model, context, human: queue.clone(), save: true, seed, journal };
            let running = self.workbench.start_captured(spec, &differences);
            Ok(RunHandle::of_run(running.map_err(|error| first_finding(refusal(error)))?, queue))
        };
        fitted.into_iter().map(start).collect()
    }

    /// Returns the agent of texts.
    ///
    /// Errors: the first finding that makes them unusable.
    pub(super) fn agent(texts: &DraftTexts) -> Result<Agent, ErrorRecord> {
        texts.to_agent(&Agent::default()).map_err(first_finding)
    }
}

/// Reads the text of a captured agent.
fn read_captured(captured: &CapturedAgent) -> Result<Agent, ErrorRecord> {
    Agent::from_toml(&captured.text, "captured.toml").map_err(|error| {
        ErrorRecord::new(ptc_core::reasons::Reason::InvalidAgent, format!("the request makes no agent: {error}"))
    })
}

/// An error about the recorded model that says how another one is chosen here, instead of the flag of a command.
fn with_model_named(error: ErrorRecord, how: &str) -> ErrorRecord {
    ErrorRecord { message: error.message.replace(BY_FLAG, how), ..error }
}

/// The first finding that makes an agent unusable.
fn first_finding(findings: Vec<Diagnostic>) -> ErrorRecord {
    let first = findings.into_iter().find(Diagnostic::is_error).map(|finding| finding.message);
    ErrorRecord::new(ptc_core::reasons::Reason::InvalidAgent, first.unwrap_or_default())
}

/// Waits for a future on a blocking thread.
pub(super) fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Handle::current().block_on(future)
}

/// A random seed.
fn seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Returns the findings about a run that did not start, at their places among the texts.
fn refusal(error: StartError) -> Vec<Diagnostic> {
    match error {
        StartError::Agent(findings) => findings,
        StartError::Model { reason, message } => vec![Diagnostic::error(Place::Options, reason, message).key("model")],
        error @ (StartError::Session(_) | StartError::Recorder(_)) => {
            vec![Diagnostic::error(Place::Options, error.reason(), error.to_string())]
        }
    }
}

#[cfg(test)]
mod tests {
    use ptc_core::reasons::Reason;

    use super::*;

    #[test]
    fn a_session_that_is_not_usable_is_no_fault_of_the_model_s_name() {
        let found = refusal(StartError::Session("the session holds no run".to_owned()));
        assert_eq!((found[0].reason, found[0].key.as_str()), (Reason::SessionUnreadable, ""));
    }
}
