//! Requests about saved sessions: searching, marks, forks, re-runs, cases, exports.
//!
//! In: an [`ArchiveRequest`] as an effect of `update`. Out: its [`ArchiveResponse`] as a message, or a run instead of the workbench's run.
//! A new action is a variant of each and an arm of `ArchiveRequest::execute`. No request ever changes a session's file; one deletes it.

use std::path::PathBuf;
use std::sync::Arc;

use crate::agent::DraftTexts;
use crate::event::{Address, Decision, Envelope, ErrorRecord};
use crate::session::Mark;
use crate::session::index::FoundSession;
use crate::tool::NamedFile;
use crate::workbench::optimize::SuggestRequest;
use crate::workbench::{
    AgentFile, CaseSpec, CurrentText, ExportError, ExportPreview, ExportReport, ExportSpec, FailureGroup, ForkPoints,
    ForkSpec, MadeCase, NewAgent, OpenAgent, PromptList, PromptQuery, PromptRequest, RerunSpec, SearchError,
    SessionKey,
};

/// Something that the workbench is to do with saved sessions.
#[derive(Debug, Clone, PartialEq)]
pub enum ArchiveRequest {
    /// Search sessions; answers [`ArchiveResponse::Found`].
    Search(String),
    /// Group what fails in the sessions that fit a query, all of them when it is empty; answers [`ArchiveResponse::Failures`].
    Failures(String),
    /// Delete a session; answers [`ArchiveResponse::Deleted`].
    Delete(SessionKey),
    /// Write tags, note and mark of a session, or of a run or turn in it; answers [`ArchiveResponse::Marked`].
    Mark {
        /// The session's id.
        session: String,
        /// The run or turn.
        at: Option<Address>,
        /// The new mark.
        mark: Mark,
    },
    /// Read where a session can be forked; answers [`ArchiveResponse::ForkPoints`].
    ForkPoints(SessionKey),
    /// Read the text at the target of an edit; answers [`ArchiveResponse::CurrentText`].
    CurrentText(EditTarget),
    /// Fork a session; answers [`ArchiveResponse::Started`].
    Fork(SessionKey, ForkSpec),
    /// Run a session again; answers [`ArchiveResponse::Started`].
    Rerun(SessionKey, RerunSpec),
    /// Send a message to a finished run, perhaps with another model; answers [`ArchiveResponse::Started`].
    Continue(SessionKey, String, Option<String>),
    /// Make a session from the current result of a replay; answers [`ArchiveResponse::Started`].
    Accept(SessionKey),
    /// Make a case; answers [`ArchiveResponse::CaseMade`].
    MakeCase(SessionKey, CaseSpec),
    /// Make an example from a turn for this prompt; answers [`ArchiveResponse::Example`].
    Example(SessionKey, Address, String),
    /// Prepare the request to a model for a fix of a failing turn, with the texts of this draft; answers
    /// [`ArchiveResponse::SuggestionPrepared`].
    PrepareSuggestion(SessionKey, Address, Option<PathBuf>, Box<DraftTexts>),
    /// Request the suggested texts, with this request number; answers [`ArchiveResponse::Suggested`].
    Suggest(Box<SuggestRequest>, u64),
    /// Redact and scan by these rules, without writing; answers [`ArchiveResponse::ExportPreview`].
    PreviewExport(SessionKey, Vec<String>),
    /// Export; answers [`ArchiveResponse::Exported`].
    Export(SessionKey, ExportSpec),
    /// Look whether a model of this name can be used; answers [`ArchiveResponse::ModelLooked`].
    LookAtModel(String),
    /// Read all events of a session; answers [`ArchiveResponse::Events`].
    Events(SessionKey),
    /// Read an agent for the editors; answers [`ArchiveResponse::AgentOpened`], or [`ArchiveResponse::FileQuestion`].
    OpenAgent(AgentSource),
    /// Read the open agent's file, which another program changed; answers [`ArchiveResponse::ChangedFile`].
    ChangedFile(String, ChangedFileAction),
    /// Look whether this file is as it was read or saved; answers [`ArchiveResponse::FileLooked`].
    LookAtFile(AgentFile),
    /// Read the example run of an agent in a mode; answers [`ArchiveResponse::ExampleRun`], or nothing where there is none.
    ExampleRun(String, String),
    /// Read a file that is inserted; answers [`ArchiveResponse::FileRead`].
    ReadFile(PathBuf),
    /// List the prompts of the servers of a draft; answers [`ArchiveResponse::PromptsListed`].
    ListPrompts(Box<PromptQuery>),
    /// Fill in a prompt of a server; answers [`ArchiveResponse::PromptFilled`].
    FillPrompt(Box<PromptRequest>),
    /// Apply the decision about a file that this agent names, and read the agent; answers as `OpenAgent`.
    AllowFile(AgentSource, Box<NamedFile>, Decision),
}

/// Handling of a file that another program changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangedFileAction {
    /// Its texts replace the edits.
    Reload,
    /// Its changes are merged into the edits.
    Merge,
}

/// Suggested texts of a draft.
#[derive(Debug, Clone, PartialEq)]
pub struct SuggestedTexts {
    /// The texts with all changes.
    pub texts: DraftTexts,
    /// The model's reason, and the cost.
    pub message: String,
}

/// The response to an [`ArchiveRequest`].
#[derive(Debug, Clone)]
pub enum ArchiveResponse {
    /// The query and the sessions that it found.
    Found(String, Result<Vec<FoundSession>, SearchError>),
    /// Failures in sessions, the most frequent first.
    Failures(Result<Vec<FailureGroup>, ErrorRecord>),
    /// A session of this name was deleted.
    Deleted(Result<String, String>),
    /// Tags, note and mark were written.
    Marked(Result<(), ErrorRecord>),
    /// The points at which a session can be forked.
    ForkPoints(SessionKey, Result<ForkPoints, ErrorRecord>),
    /// The text at the target of an edit.
    CurrentText(EditTarget, Result<CurrentText, ErrorRecord>),
    /// A run started instead of the workbench's run: its session.
    Started(Result<Option<String>, ErrorRecord>),
    /// A case was made; with the agent of its file as it is now, for the editors.
    CaseMade(Result<(MadeCase, Option<Box<OpenAgent>>), ErrorRecord>),
    /// The text that is added to a prompt to show a turn as an example.
    Example(Result<String, ErrorRecord>),
    /// The request that would be sent to a model.
    SuggestionPrepared(Result<Box<SuggestRequest>, ErrorRecord>),
    /// Other texts for a draft, for the request of this number; `None` when it was stopped.
    Suggested(u64, Result<Option<Box<SuggestedTexts>>, ErrorRecord>),
    /// The parts that an export by these rules would remove, and those of its content that look like secrets.
    ExportPreview(SessionKey, Vec<String>, Result<ExportPreview, ErrorRecord>),
    /// An export was written.
    Exported(Result<ExportReport, ExportError>),
    /// The name of a model, and whether it can be used.
    ModelLooked(String, bool),
    /// All events of a session.
    Events(SessionKey, Result<Arc<[Envelope]>, ErrorRecord>),
    /// An agent for the editors.
    AgentOpened(AgentSource, Result<Box<OpenAgent>, ErrorRecord>),
    /// The agent in a file that another program changed.
    ChangedFile(ChangedFileAction, Result<Box<OpenAgent>, ErrorRecord>),
    /// The file as it is known, and the hash of its content when that is another one.
    FileLooked(AgentFile, Option<String>),
    /// The session of an example run and its events; `None` without one.
    ExampleRun(Option<(String, Arc<[Envelope]>)>),
    /// The text of a file that is inserted.
    FileRead(Result<String, ErrorRecord>),
    /// The prompts of servers.
    PromptsListed(Result<PromptList, String>),
    /// The text of a prompt of a server.
    PromptFilled(Result<String, String>),
    /// The agent names a file that needs consent; nothing of it was read.
    FileQuestion(AgentSource, Box<NamedFile>),
}

/// The target of an edit in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditTarget {
    /// The session.
    pub key: SessionKey,
    /// The point: `ADDRESS:STAGE`.
    pub at: String,
    /// Name of the edited part: prompt, signature, context, reply, program, result, memory.NAME.
    pub name: String,
}

/// Source of an agent for the editors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentSource {
    /// A session: its agent as it was run, with its inputs.
    Session(SessionKey),
    /// The request of a turn of a captured session.
    Turn(SessionKey, Address),
    /// A file, or an example by its name; the path of a file that does not exist begins a new agent.
    Named(String),
    /// A new agent.
    New(NewAgent),
}
