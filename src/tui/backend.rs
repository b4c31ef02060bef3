//! The interface's only door to the rest of the program: what a person can have done, as a trait.
//!
//! In: texts, ids, answers. Out: runs that tell events, sessions, findings. The interface calls the methods from a
//! blocking thread unless they say otherwise, so a slow disk never stops the keyboard. It must never be handed a port,
//! a socket or a file of a session.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::archive::Archive;
use super::compare::backend::Comparing;
use super::draft::Draft;
use super::inspector::Subject;
use crate::agent::{Diagnostic, DraftTexts, Fix};
use crate::event::{Address, Envelope, ErrorRecord, Role, Tokens};
use crate::port::Gate;
pub use crate::replay::Policy;
use crate::session::{RunState, TurnEntry};
pub use crate::workbench::SessionKey;
use crate::workbench::inspect::{Inspection, Probe, Said};
use crate::workbench::{Pipeline, RequestPart};

/// The agent a workbench starts with.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Opening {
    /// Its texts.
    pub texts: DraftTexts,
    /// Its file; `None` when it is bundled or new, so that saving asks for a path.
    pub file: Option<AgentFile>,
    /// The pipeline that is open; the texts are then those of its first step.
    pub pipeline: Option<OpenPipeline>,
    /// Nobody has seen the tour yet.
    pub first_time: bool,
}

/// A pipeline that is open to be read and run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OpenPipeline {
    /// What is run.
    pub definition: Pipeline,
    /// Its steps in order.
    pub steps: Vec<PipelineStep>,
    /// Why it cannot run.
    pub errors: Vec<String>,
}

/// A step of an open pipeline.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PipelineStep {
    /// The agent's name.
    pub name: String,
    /// Mode.
    pub mode: String,
    /// The model as it will be used.
    pub model: String,
    /// Signature, as written.
    pub signature: String,
    /// The task, as written.
    pub prompt: String,
    /// Names of its tools.
    pub tools: Vec<String>,
    /// What it takes of the answer before.
    pub takes: Vec<String>,
    /// What it leaves of it.
    pub leaves: Vec<String>,
}

/// A file and the state it had when it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentFile {
    /// Where it is.
    pub path: PathBuf,
    /// SHA-256 of its content, hexadecimal.
    pub sha: String,
}

/// What the texts mean, as far as they can be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preview {
    /// The agent's name.
    pub name: String,
    /// The mode's name.
    pub mode: String,
    /// The model as it will be used.
    pub model: String,
    /// Limit of turns.
    pub max_turns: u32,
    /// Number of fields that the signature gives back; `None` when it cannot be read.
    pub fields: Option<usize>,
    /// The models that can be used now, each as the change of the options that chooses it.
    pub models: Vec<Fix>,
    /// What would be sent first; empty when the texts do not make a request.
    pub sent: Vec<RequestPart>,
    /// What the provider's protocol cannot carry of it.
    pub limits: Vec<String>,
}

/// One message as sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentMessage {
    /// Who speaks.
    pub role: Role,
    /// Its parts: name of the prompt section and text.
    pub sections: Vec<(String, String)>,
}

/// One line of the sessions screen.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionSummary {
    /// The session's id.
    pub id: String,
    /// Its file; `None` for an example that is part of the program.
    pub path: Option<PathBuf>,
    /// Unix time in ms; 0 when it cannot be read.
    pub started_ms: i64,
    /// The agent's name.
    pub agent: String,
    /// Mode.
    pub mode: String,
    /// Model.
    pub model: String,
    /// Turns of all runs.
    pub turns: usize,
    /// Tokens, when counted.
    pub tokens: Option<Tokens>,
    /// Cost, when known.
    pub cost: Option<f64>,
    /// How it ended.
    pub status: RunState,
    /// The answer as JSON text, or reason and message.
    pub result: String,
    /// First lines of the task, for the preview.
    pub task: String,
    /// The session it began as.
    pub parent: Option<Origin>,
    /// What a person wrote on it.
    pub written: Written,
    /// What a person wrote on its runs and turns.
    pub written_below: Vec<(Address, Written)>,
    /// What could not be read.
    pub damage: Option<String>,
}

/// Where a session comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// The other session's id.
    pub session: String,
    /// fork, rerun, continue, accept, recover
    pub kind: String,
    /// The turn or call where the two part; empty when nothing was copied.
    pub at: String,
}

/// What a person wrote on a session, run or turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// Its tags, in order.
    pub tags: Vec<String>,
    /// Its note; empty when there is none.
    pub note: String,
    /// It is marked.
    pub marked: bool,
}

impl SessionSummary {
    /// What opens it.
    pub fn key(&self) -> SessionKey {
        self.path.clone().map_or_else(|| SessionKey::Example(self.id.clone()), SessionKey::File)
    }

    /// What it is called: its id, or the path of a file with another name.
    pub fn name(&self) -> String {
        match &self.path {
            Some(path) if path.file_stem().is_none_or(|stem| stem != self.id.as_str()) => path.display().to_string(),
            _ => self.id.clone(),
        }
    }
}

/// A saved session, its bodies unread.
#[derive(Clone)]
pub struct OpenSession {
    /// Its line in the list.
    pub summary: SessionSummary,
    /// Its runs.
    pub runs: Vec<RunOutline>,
    /// Where the bodies come from.
    pub bodies: Arc<dyn Bodies>,
}

/// A run of a saved session.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOutline {
    /// Its address.
    pub address: Address,
    /// Places of its events in the session, from its start to its last.
    pub events: Range<usize>,
    /// Events before the first turn: `run.start` and what follows.
    pub head: Vec<Envelope>,
    /// Its turns.
    pub turns: Vec<Arc<TurnEntry>>,
    /// Events behind the last turn: `run.end`, notices.
    pub tail: Vec<Envelope>,
    /// Unix time in ms of its last event.
    pub last_ms: i64,
    /// Time of it in which nobody ran, in ms.
    pub gap_ms: i64,
    /// It waits for a person.
    pub waits: bool,
}

/// Reads parts of a saved session. All methods read files.
pub trait Bodies: Send + Sync {
    /// The events at these places.
    fn events(&self, places: Range<usize>) -> Result<Vec<Envelope>, ErrorRecord>;

    /// Values in short that the definitions of a turn replaced, by name.
    fn replaced(&self, turn: &Address) -> Vec<(String, String)>;

    /// Everything that was sent in a turn.
    fn request(&self, turn: &Address) -> Result<Vec<SentMessage>, ErrorRecord>;
}

/// Tries things on what a turn worked on, in a copy. All methods block; the first one replays the session.
pub trait Trial: Send + Sync {
    /// What the form at this byte of the turn's program gives; `None` where no form has a value.
    ///
    /// Errors: why nothing can be tried.
    fn probe(&self, at: usize) -> Result<Option<Probe>, String>;

    /// Runs an input on what the turn left; definitions stay for the next one.
    ///
    /// Errors: why nothing can be tried.
    fn say(&self, input: &str) -> Result<Said, String>;
}

/// What a run tells.
#[derive(Debug, Clone, PartialEq)]
pub enum Happening {
    /// An event, in order. Reply parts that follow each other may have been merged, nothing else.
    Event(Box<Envelope>),
    /// A person is asked: the `human` model. Goes away with the answer, the turn's end or the run's end.
    Question(Question),
    /// The run is over and its session is only in memory: a person says where it goes. Comes again when that place does not take it.
    Unwritten {
        /// What could not be written, and why.
        told: String,
        /// A folder to suggest.
        suggested: PathBuf,
    },
    /// Nothing more will come.
    Ended(Ended),
}

/// A question to the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Where it arose.
    pub address: Address,
    /// The text to show: everything that would be sent; at a gate, the text that may be changed.
    pub text: String,
    /// The gate at which the run stands, when it is one.
    pub gate: Option<Gate>,
    /// Answers to choose from by their first letters; empty where any text is an answer.
    pub options: Vec<String>,
}

/// How a run or a replay ended, beyond its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// A live run is over.
    Run,
    /// A live run is over, and its session is not where it began: where it is.
    Elsewhere(String),
    /// The replay gave the same events, up to the end of the recording; the address is where an unfinished one ends.
    Identical(Option<Address>),
    /// The replay differs: heading and report of each divergence, the first one first.
    Diverged(Vec<(String, String)>),
    /// It could not be carried through (storage, …): what happened and what to do.
    Broken(ErrorRecord),
}

/// A run or a replay that is going on. Dropping it does not stop it.
pub trait Run: Send + Sync {
    /// The session it is saved in.
    fn session(&self) -> Option<String>;

    /// Everything told since the last call. Never blocks.
    fn drain(&self) -> Vec<Happening>;

    /// Resolves when there is something to drain; at once when there already is.
    fn changed(&self) -> BoxFuture<'_, ()>;

    /// Stops it. Returns at once; the end is told as events.
    fn cancel(&self);

    /// Answers [`Happening::Unwritten`]: the folder that takes the session, or the one for such cases. Returns at once.
    fn save_to(&self, dir: Option<PathBuf>);

    /// Answers a question. Returns at once.
    fn answer(&self, question: &Address, text: String);

    /// The person goes away: a run that asks waits for another time, in its session. Returns at once.
    fn put_down(&self);

    /// Another run takes its place on the screen: it waits for another time when it asks, else it is stopped. Returns at once.
    fn give_way(&self) {
        self.cancel();
    }
}

/// Why a file was not saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SaveError {
    /// The file is not as it was when it was read, or there is one already.
    Changed,
    /// Anything else: what and what to do.
    Failed(ErrorRecord),
}

/// How a file is saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overwrite {
    /// Only when it is as it was read, or does not exist yet.
    Unchanged,
    /// Whatever is there.
    Always,
}

/// Unsaved texts as a recovery file keeps them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovery {
    /// Which of several this is, for [`Backend::drop_recovery`]; empty for this process's own.
    #[serde(skip)]
    pub id: String,
    /// Unix time in ms.
    pub saved_ms: i64,
    /// The file they belong to.
    pub file: Option<AgentFile>,
    /// Prompt, signature, context, options with their edit logs.
    pub drafts: [Draft; 4],
    /// Tools with their edit log; files of older versions do not have it.
    #[serde(default)]
    pub tools: Draft,
    /// The pinned program, likewise.
    #[serde(default)]
    pub program: Draft,
}

/// What a person can have done.
pub trait Backend: Archive + Comparing + Send + Sync {
    /// The agent to start with.
    fn opening(&self) -> Opening;

    /// Every finding about the texts. Pure.
    fn diagnose(&self, texts: &DraftTexts) -> Vec<Diagnostic>;

    /// What the texts mean. Pure.
    fn preview(&self, texts: &DraftTexts) -> Preview;

    /// Starts a run in the background and returns at once, or says why it is refused.
    fn start(&self, texts: &DraftTexts) -> Result<Arc<dyn Run>, Vec<Diagnostic>>;

    /// Starts a pipeline in the background and returns at once, or says why it is refused.
    fn start_pipeline(&self, pipeline: &Pipeline) -> Result<Arc<dyn Run>, Vec<Diagnostic>>;

    /// Runs stop at this gate from now on, also those that go on; or they do not.
    fn intercept(&self, gate: Gate, closed: bool) {
        _ = (gate, closed);
    }

    /// The saved sessions, newest first, forks behind their origin.
    fn sessions(&self) -> Result<Vec<SessionSummary>, ErrorRecord>;

    /// A saved session.
    fn open(&self, session: &SessionKey) -> Result<OpenSession, ErrorRecord>;

    /// Takes a turn of a session apart, which may still be written. Must be called inside of the runtime.
    fn inspect(&self, subject: &Subject, turn: &Address) -> Result<(Inspection, Arc<dyn Trial>), ErrorRecord>;

    /// Goes on with a session that waits for a person or broke off.
    fn resume(&self, session: &SessionKey) -> Result<Arc<dyn Run>, ErrorRecord>;

    /// Replays a saved session in the background.
    fn replay(&self, session: &SessionKey, policy: Policy) -> Result<Arc<dyn Run>, ErrorRecord>;

    /// Writes the texts as an agent file; `known` is the state in which it was read.
    fn save(
        &self,
        path: &Path,
        texts: &DraftTexts,
        known: Option<&AgentFile>,
        overwrite: Overwrite,
    ) -> Result<AgentFile, SaveError>;

    /// Unsaved texts of an earlier start, newest first; unreadable ones are left out.
    fn recoveries(&self) -> Vec<Recovery>;

    /// Keeps unsaved texts, replacing what this process kept before. Also called while the process ends.
    fn keep(&self, recovery: &Recovery) -> Result<(), ErrorRecord>;

    /// Removes what this process kept.
    fn forget(&self);

    /// Notes that the tour was seen.
    fn tour_seen(&self) -> Result<(), ErrorRecord> {
        Ok(())
    }

    /// Removes a recovery found at the start.
    fn drop_recovery(&self, id: &str);
}
