//! The backend of the real program: the workbench behind the interface's door.
//!
//! In: a [`Workbench`], what to open. Out: a [`Backend`]. It must never decide anything that the command line would decide
//! otherwise: what a user can do is in `workbench`.

mod archive;
mod compare;
mod files;
mod inspect;
mod latest;
mod run;
mod sessions;
mod steps;

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ptc_core::reasons::Reason;
use ptc_core::signature::Type;

use crate::agent::{Agent, Diagnostic, DraftTexts, Fix, Mode, Place, Plan, diagnose, set_option};
use crate::event::{Address, ErrorRecord};
use crate::export::{Content, Piece};
use crate::port::Gate;
use crate::workbench::inspect::Inspection;
use crate::workbench::{
    Answers, Desk, Intercept, ModelLine, ModelState, Pipeline, PipelineSpec, RunSpec, StartError, Workbench,
};

use super::backend::{
    AgentFile, Backend, OpenSession, Opening, Overwrite, Policy, Preview, Recovery, Run, SaveError, SessionKey,
    SessionSummary, Trial,
};
use super::inspector::Subject;

/// The workbench as a backend. Runs start on the runtime that is current when [`Backend::start`] is called.
#[derive(Debug)]
pub struct Live {
    workbench: Workbench,
    opening: Opening,
    /// Where this process keeps unsaved texts.
    drafts: Mutex<files::Drafts>,
    /// The texts of agent files as they were read or written last.
    originals: Mutex<HashMap<PathBuf, String>>,
    /// The folder that `~/` stands for.
    home: Option<PathBuf>,
    /// The gates at which runs stop.
    intercept: Intercept,
    /// The models for the options that were looked at last.
    models: latest::Latest<Vec<Fix>>,
    /// What draws a session line by line.
    lines: Option<Lines>,
}

/// Models that are offered at the same time.
const MOST_MODELS: usize = 12;

/// Draws a session line by line, as it is printed: for exports that show a terminal.
pub type Lines = fn(&Content) -> Vec<Piece>;

impl Live {
    /// A backend that opens with this agent; `file` is where it was read from, `None` for a bundled or new one.
    pub fn new(workbench: Workbench, agent: &Agent, file: Option<&Path>) -> Self {
        let file = file.and_then(files::stamp);
        let drafts = Mutex::new(files::Drafts::new(&workbench.folders.drafts_dir));
        let home = std::env::home_dir();
        let read = file.iter().filter_map(|file| {
            let place = files::place(&file.path, home.clone());
            std::fs::read_to_string(&place).ok().map(|text| (place, text))
        });
        let originals = Mutex::new(read.collect());
        let first_time = !files::tour_mark(&workbench.folders.state_dir).exists();
        let opening = Opening { texts: DraftTexts::of(agent), file, pipeline: None, first_time };
        let intercept = Intercept::default();
        let models = latest::Latest::default();
        Self { workbench, opening, models, drafts, originals, home, intercept, lines: None }
    }

    /// A backend that opens with this pipeline.
    pub fn of_pipeline(workbench: Workbench, pipeline: Pipeline) -> Self {
        let live = Self::new(workbench, pipeline.steps.first().unwrap_or(&Agent::default()), None);
        let outline = steps::outline(&live.workbench, pipeline);
        let opening = Opening { pipeline: Some(outline), ..live.opening };
        Self { opening, ..live }
    }

    /// The same with what draws a session line by line.
    #[must_use]
    pub fn drawing_lines(self, lines: Lines) -> Self {
        Self { lines: Some(lines), ..self }
    }

    /// The models that can be used now, each as the change of the options that chooses it. They are looked for when the options have changed:
    /// while other texts are typed they are the same.
    fn models(&self, texts: &DraftTexts) -> Vec<Fix> {
        self.models.of(&texts.options, || self.usable_models(texts))
    }

    fn usable_models(&self, texts: &DraftTexts) -> Vec<Fix> {
        // A name in capitals stands for one that only the developer knows.
        let whole = |line: &&ModelLine| line.state == ModelState::Ready && !line.name.contains(char::is_uppercase);
        let models = self.workbench.models();
        let named = models.iter().filter(whole).take(MOST_MODELS);
        let chosen = |line: &ModelLine| {
            let title = format!("use the model {}: {}", line.name, line.note.split(';').next()?);
            set_option(&texts.options, "model", &line.name, title)
        };
        named.filter_map(chosen).collect()
    }

    fn agent(texts: &DraftTexts) -> Result<Agent, Vec<Diagnostic>> {
        texts.to_agent(&Agent::default())
    }
}

impl Backend for Live {
    fn opening(&self) -> Opening {
        self.opening.clone()
    }

    fn diagnose(&self, texts: &DraftTexts) -> Vec<Diagnostic> {
        let mut findings = diagnose(texts);
        findings.extend(self.workbench.secrets(texts));
        if let Ok(agent) = Self::agent(texts) {
            let unknown = self.workbench.check_model(&agent);
            findings.extend(unknown.map(|finding| Diagnostic { fixes: self.models(texts), ..finding }));
        }
        findings
    }

    fn preview(&self, texts: &DraftTexts) -> Preview {
        let Ok(agent) = Self::agent(texts) else { return Preview::default() };
        let plan = agent.for_mode(agent.mode).ok().and_then(|agent| Plan::new(&agent).ok());
        let fields = plan.as_ref().and_then(|plan| plan.signature.output.as_ref()).map(|output| match output {
            Type::Record { fields, .. } => fields.len(),
            _ => 1,
        });
        let mut preview = Preview {
            name: agent.name.clone(),
            mode: match plan.as_ref().filter(|plan| plan.agent.mode == Mode::Text) {
                Some(plan) => format!("text ({})", plan.variant.name()),
                None => agent.mode.name().to_owned(),
            },
            model: self.workbench.model_name(None, &agent),
            models: self.models(texts),
            max_turns: agent.max_turns,
            fields,
            ..Preview::default()
        };
        if let Ok(made) = self.workbench.preview(&agent, None, None) {
            (preview.sent, preview.limits) = (made.parts(), made.limits);
        }
        preview
    }

    fn start(&self, texts: &DraftTexts) -> Result<Arc<dyn Run>, Vec<Diagnostic>> {
        let desk = Arc::new(Desk::behind(self.intercept.clone()));
        let seed = std::hash::RandomState::new().build_hasher().finish();
        let spec = RunSpec {
            agent: Self::agent(texts)?,
            model: None,
            context: None,
            person: desk.clone(),
            save: true,
            seed,
            journal: None,
        };
        let running = self.workbench.start(spec).map_err(refusal)?;
        Ok(Arc::new(run::LiveRun::new(running, desk)))
    }

    fn start_pipeline(&self, pipeline: &Pipeline) -> Result<Arc<dyn Run>, Vec<Diagnostic>> {
        let pipeline = pipeline.clone();
        let desk = Arc::new(Desk::behind(self.intercept.clone()));
        let spec = PipelineSpec { pipeline, model: None, context: None, person: desk.clone(), save: true };
        let running = self.workbench.start_pipeline(spec).map_err(refusal)?;
        Ok(Arc::new(run::LiveRun::new(running, desk)))
    }

    fn intercept(&self, gate: Gate, closed: bool) {
        self.intercept.set(gate, closed);
    }

    fn sessions(&self) -> Result<Vec<SessionSummary>, ErrorRecord> {
        // Marks that cannot be read hide nothing else; a search and every change of them say why.
        let marks = self.workbench.marks().unwrap_or_default();
        let all = self.workbench.sessions().into_iter();
        Ok(all.map(|summary| sessions::summary_with(summary, &marks)).collect())
    }

    fn open(&self, key: &SessionKey) -> Result<OpenSession, ErrorRecord> {
        let session = self.workbench.open_found(key).map_err(|error| unreadable(error.to_string()))?;
        Ok(sessions::open(key, session))
    }

    fn inspect(&self, subject: &Subject, turn: &Address) -> Result<(Inspection, Arc<dyn Trial>), ErrorRecord> {
        let session = match subject {
            Subject::Saved(key) => self.workbench.open_found(key),
            Subject::Named(name) => self.workbench.open_session(name),
        };
        let session = session.map_err(|error| unreadable(error.to_string()))?;
        let said = self.workbench.said_by_servers(&session, turn);
        let (mut found, trial) = inspect::inspect(session, turn)?;
        found.calls.extend(said);
        Ok((found, trial))
    }

    fn resume(&self, key: &SessionKey) -> Result<Arc<dyn Run>, ErrorRecord> {
        let session = self.workbench.open_found(key).map_err(|error| unreadable(error.to_string()))?;
        let desk = Arc::new(Desk::behind(self.intercept.clone()));
        let going = self.workbench.resume(&session, Answers::default(), None, desk.clone());
        let running = tokio::runtime::Handle::current().block_on(going);
        let running = running.map_err(|error| unreadable(error.to_string()))?;
        Ok(Arc::new(run::LiveRun::new(running, desk)))
    }

    fn replay(&self, key: &SessionKey, policy: Policy) -> Result<Arc<dyn Run>, ErrorRecord> {
        let session = self.workbench.open_found(key).map_err(|error| unreadable(error.to_string()))?;
        let replay = run::Replay::start(&session, policy).map_err(unreadable)?;
        Ok(Arc::new(replay))
    }

    fn save(
        &self,
        path: &Path,
        texts: &DraftTexts,
        known: Option<&AgentFile>,
        overwrite: Overwrite,
    ) -> Result<AgentFile, SaveError> {
        let agent = Self::agent(texts).map_err(|findings| {
            let said = findings.iter().find(|finding| finding.is_error()).map(|finding| finding.message.clone());
            SaveError::Failed(ErrorRecord {
                hint: Some("correct it, then save again; until then the edits are kept as a draft".to_owned()),
                ..ErrorRecord::new(Reason::InvalidAgent, said.unwrap_or_default())
            })
        })?;
        let place = files::place(path, self.home.clone());
        let mut originals = self.originals.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // Comments and layout of the file that is replaced stay, also when it is gone.
        let original = match std::fs::read_to_string(&place) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                originals.get(&place).cloned().unwrap_or_default()
            }
            Err(_) => String::new(),
        };
        let text = agent.rewrite(&original, &path.display().to_string());
        let file = files::save(&place, &text, known, overwrite)?;
        originals.insert(place, text);
        Ok(AgentFile { path: path.to_owned(), ..file })
    }

    fn recoveries(&self) -> Vec<Recovery> {
        self.lock().found()
    }

    fn keep(&self, recovery: &Recovery) -> Result<(), ErrorRecord> {
        self.lock().keep(recovery)
    }

    fn forget(&self) {
        self.lock().forget();
    }

    fn tour_seen(&self) -> Result<(), ErrorRecord> {
        files::mark_tour(&self.workbench.folders.state_dir)
    }

    fn drop_recovery(&self, id: &str) {
        self.lock().drop_found(id);
    }
}

impl Live {
    fn lock(&self) -> std::sync::MutexGuard<'_, files::Drafts> {
        self.drafts.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn unreadable(message: String) -> ErrorRecord {
    ErrorRecord::new(Reason::SessionUnreadable, message)
}

/// Why a run did not start, at its place among the texts.
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
    use super::*;

    #[test]
    fn a_session_that_is_not_usable_is_no_fault_of_the_model_s_name() {
        let found = refusal(StartError::Session("the session holds no run".to_owned()));
        assert_eq!((found[0].reason, found[0].key.as_str()), (Reason::SessionUnreadable, ""));
    }
}
