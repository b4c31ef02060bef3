//! What the sessions screen asks of saved sessions beyond reading them: searching, marks, forks, re-runs, cases, exports.
//!
//! In: a session's key and what a person wrote in a dialog. Out: answers as messages. All methods read or write files and are called on
//! blocking threads. No method ever changes a session's file.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use super::backend::{AgentFile, OpenPipeline, Run, SessionKey, Written};
use crate::agent::DraftTexts;
use crate::event::{Address, Envelope, ErrorRecord};
pub use crate::workbench::Standing;

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    /// Which sessions fit a query; answers [`Told::Found`].
    Search(String),
    /// What fails in the sessions that fit a query, all of them when it is empty; answers [`Told::Failures`].
    Failures(String),
    /// Write tags, note and mark of a place; answers [`Told::Written`].
    Write(Place, Written),
    /// Where a session can be forked; answers [`Told::Points`].
    Points(SessionKey),
    /// What stands at the target of an edit; answers [`Told::Text`].
    Text(Spot),
    /// Fork a session; answers [`Told::Began`].
    Fork(SessionKey, Forking),
    /// Run a session again; answers [`Told::Began`].
    Rerun(SessionKey, Rerunning),
    /// Ask a finished run again: the message, and another model; answers [`Told::Began`].
    Proceed(SessionKey, String, Option<String>),
    /// Make a session of what a replay gives today; answers [`Told::Began`].
    Accept(SessionKey),
    /// Make a case; answers [`Told::Made`].
    Case(SessionKey, CaseWanted),
    /// What a turn is as an example of the prompt of this text; answers [`Told::Example`].
    Example(SessionKey, Address, String),
    /// Redact and scan, without writing; answers [`Told::Prepared`].
    Prepare(SessionKey, Vec<String>),
    /// Export; answers [`Told::Exported`].
    Export(SessionKey, Exporting),
    /// All events of a session; answers [`Told::Events`].
    Events(SessionKey),
    /// An agent for the editors; answers [`Told::Taken`].
    Take(Source),
}

/// Where an agent for the editors comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A session: its agent as it was run, with its inputs.
    Session(SessionKey),
    /// A file, or an example by its name.
    Named(String),
}

/// An agent for the editors, or a pipeline in their place.
#[derive(Debug, Clone, PartialEq)]
pub struct Taken {
    /// Its texts; of a pipeline those of its first step.
    pub texts: DraftTexts,
    /// Its file; `None` for those of sessions and examples, and for pipelines.
    pub file: Option<AgentFile>,
    /// The pipeline.
    pub pipeline: Option<OpenPipeline>,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// What a query found.
    Found(String, Result<Vec<Hit>, QueryProblem>),
    /// What fails in sessions.
    Failures(Result<Vec<Failing>, ErrorRecord>),
    /// Something was written on a session, or not.
    Written(Result<(), ErrorRecord>),
    /// Where a session can be forked.
    Points(SessionKey, Result<Points, ErrorRecord>),
    /// What stands at the target of an edit.
    Text(Spot, Result<Standing, ErrorRecord>),
    /// A fork, a re-run or an accepted replay began in the place of the workbench's run, or not: its session.
    Began(Result<Option<String>, ErrorRecord>),
    /// A case was made, or not: what was done, in words.
    Made(Result<String, ErrorRecord>),
    /// What is added to a prompt so that it shows a turn as an example.
    Example(Result<String, ErrorRecord>),
    /// What an export by these rules would leave out and what in it looks like a secret.
    Prepared(SessionKey, Vec<String>, Result<Removals, ErrorRecord>),
    /// An export was written, or not: where, and what was removed, in words.
    Exported(Result<String, ExportRefusal>),
    /// All events of a session.
    Events(SessionKey, Result<Arc<[Envelope]>, ErrorRecord>),
    /// An agent for the editors, or why there is none.
    Taken(Source, Result<Box<Taken>, ErrorRecord>),
}

/// A session, or a run or turn in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The session's id.
    pub session: String,
    /// The run or turn; the session as a whole when absent.
    pub at: Option<Address>,
}

/// A session that a query found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// What opens it.
    pub key: SessionKey,
    /// Where the words stand, in the order of the run; not more than some.
    pub matches: Vec<Matched>,
    /// All places, those that are left out included.
    pub count: usize,
}

/// Failures of one kind, with where to look at them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failing {
    /// How often, which reason, of what, in how many sessions.
    pub title: String,
    /// The newest session of them.
    pub key: SessionKey,
    /// The first turn or call of them there.
    pub at: Address,
}

/// A place where the words of a query stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matched {
    /// The run, turn or call.
    pub at: Address,
    /// What kind of text it is: prompt, reply, program, …
    pub field: &'static str,
    /// A piece of one line of it.
    pub excerpt: String,
    /// Bytes of the words in the excerpt.
    pub highlight: Range<usize>,
}

/// Why a query gives nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryProblem {
    /// Bytes of the query; `None` when the query is not at fault.
    pub span: Option<Range<usize>>,
    /// What is wrong and what would be right.
    pub message: String,
}

/// Where a session can be forked and run again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Points {
    /// The session's id.
    pub session: String,
    /// The agent's name.
    pub agent: String,
    /// What the developer called the model.
    pub model: String,
    /// Mode.
    pub mode: String,
    /// Root runs.
    pub runs: Vec<Address>,
    /// Every turn, in the order in which they began.
    pub turns: Vec<TurnPoints>,
}

/// The points of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnPoints {
    /// The turn.
    pub address: Address,
    /// Stages that it has: request, reply, after.
    pub stages: Vec<&'static str>,
    /// Its tool calls: address and name of the tool.
    pub calls: Vec<(Address, String)>,
    /// A program was found in its reply.
    pub program: bool,
    /// The names that it defined.
    pub defined: Vec<String>,
}

/// The target of an edit in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// The session.
    pub key: SessionKey,
    /// The point: `ADDRESS:STAGE`.
    pub at: String,
    /// What is edited: prompt, signature, context, reply, program, result, memory.NAME.
    pub target: String,
}

/// A fork.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forking {
    /// The point: `ADDRESS:STAGE`.
    pub at: String,
    /// What is changed there: target and text as a person wrote it.
    pub change: Option<(String, String)>,
    /// Another model.
    pub model: Option<String>,
}

/// A re-run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rerunning {
    /// A run or a turn.
    pub from: String,
    /// Another model.
    pub model: Option<String>,
    /// Another mode, by name.
    pub mode: Option<String>,
}

/// A case to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseWanted {
    /// Its name.
    pub name: String,
    /// The agent file.
    pub file: String,
    /// Also a cassette, which answers for the model.
    pub cassette: bool,
}

/// What redaction takes out, and what is left that looks like a secret: a line each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removals {
    /// What is removed: where, by which rule, how often, the start of it.
    pub removed: Vec<String>,
    /// Places removed in all.
    pub places: usize,
    /// What looks like a secret.
    pub secrets: Vec<String>,
}

/// An export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exporting {
    /// The format's name.
    pub format: String,
    /// Redaction rules.
    pub rules: Vec<String>,
    /// Where to.
    pub path: PathBuf,
    /// A file that is there is replaced.
    pub replace: bool,
    /// It is made although something in it looks like a secret.
    pub allow_secrets: bool,
}

/// Why an export was not written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExportRefusal {
    /// There is a file of this name.
    Exists,
    /// Anything else: what and what to do.
    Failed(String),
}

/// What can be done with saved sessions.
pub trait Archive: Send + Sync {
    /// Which sessions fit a query, newest first.
    fn search(&self, query: &str) -> Result<Vec<Hit>, QueryProblem>;

    /// What fails in the sessions that fit a query, the most frequent first.
    fn failures(&self, query: &str) -> Result<Vec<Failing>, ErrorRecord>;

    /// Writes tags, note and mark of a place.
    fn write(&self, place: &Place, written: &Written) -> Result<(), ErrorRecord>;

    /// Where a session can be forked and run again.
    fn points(&self, key: &SessionKey) -> Result<Points, ErrorRecord>;

    /// What stands at the target of an edit.
    fn text_at(&self, spot: &Spot) -> Result<Standing, ErrorRecord>;

    /// Forks a session; the new one runs.
    fn fork(&self, key: &SessionKey, fork: &Forking) -> Result<Arc<dyn Run>, ErrorRecord>;

    /// Runs a session again.
    fn rerun(&self, key: &SessionKey, rerun: &Rerunning) -> Result<Arc<dyn Run>, ErrorRecord>;

    /// Asks a finished run again, in a new session.
    fn proceed(&self, key: &SessionKey, message: &str, model: Option<&str>) -> Result<Arc<dyn Run>, ErrorRecord>;

    /// Replays a session into a new one with what comes out today.
    fn accept(&self, key: &SessionKey) -> Result<Arc<dyn Run>, ErrorRecord>;

    /// Makes a case out of a session; says what was done.
    fn make_case(&self, key: &SessionKey, case: &CaseWanted) -> Result<String, ErrorRecord>;

    /// What is added to the prompt of this text so that it shows a turn as an example.
    fn example(&self, key: &SessionKey, turn: &Address, prompt: &str) -> Result<String, ErrorRecord>;

    /// Redacts and scans, without writing.
    fn prepare(&self, key: &SessionKey, rules: &[String]) -> Result<Removals, ErrorRecord>;

    /// Exports a session; says where and what was removed.
    fn export(&self, key: &SessionKey, export: &Exporting) -> Result<String, ExportRefusal>;

    /// All events of a session.
    fn events(&self, key: &SessionKey) -> Result<Arc<[Envelope]>, ErrorRecord>;

    /// An agent for the editors.
    fn take(&self, source: &Source) -> Result<Taken, ErrorRecord>;
}

/// Does what is asked.
pub fn answer(archive: &dyn Archive, ask: Ask) -> Answer {
    Answer::Told(match ask {
        Ask::Search(query) => {
            let found = archive.search(&query);
            Told::Found(query, found)
        }
        Ask::Failures(query) => Told::Failures(archive.failures(&query)),
        Ask::Write(place, written) => Told::Written(archive.write(&place, &written)),
        Ask::Points(key) => {
            let points = archive.points(&key);
            Told::Points(key, points)
        }
        Ask::Text(spot) => {
            let text = archive.text_at(&spot);
            Told::Text(spot, text)
        }
        Ask::Case(key, case) => Told::Made(archive.make_case(&key, &case)),
        Ask::Example(key, turn, prompt) => Told::Example(archive.example(&key, &turn, &prompt)),
        Ask::Prepare(key, rules) => {
            let removals = archive.prepare(&key, &rules);
            Told::Prepared(key, rules, removals)
        }
        Ask::Export(key, export) => Told::Exported(archive.export(&key, &export)),
        Ask::Events(key) => {
            let events = archive.events(&key);
            Told::Events(key, events)
        }
        Ask::Take(source) => {
            let taken = archive.take(&source).map(Box::new);
            Told::Taken(source, taken)
        }
        Ask::Fork(key, fork) => return Answer::of(archive.fork(&key, &fork)),
        Ask::Accept(key) => return Answer::of(archive.accept(&key)),
        Ask::Rerun(key, rerun) => return Answer::of(archive.rerun(&key, &rerun)),
        Ask::Proceed(key, message, model) => return Answer::of(archive.proceed(&key, &message, model.as_deref())),
    })
}

/// What comes of being asked.
pub enum Answer {
    /// A message.
    Told(Told),
    /// A run, in the place of the workbench's run.
    Run(Arc<dyn Run>),
}

impl Answer {
    fn of(begun: Result<Arc<dyn Run>, ErrorRecord>) -> Self {
        match begun {
            Ok(run) => Self::Run(run),
            Err(error) => Self::Told(Told::Began(Err(error))),
        }
    }
}
