//! Messages in, effects out: the two vocabularies of `update`.

use std::ops::Range;
use std::path::PathBuf;

use crossterm::event::{KeyEvent, MouseEvent};

use super::archive::{ArchiveRequest, ArchiveResponse};
use super::candidates::{CandidatesRequest, CandidatesResponse};
use super::cases::{TestRequest, TestResponse};
use super::compare::{CompareRequest, CompareResponse};
use super::inspector::Subject;
use super::model::SessionFile;
use super::recovery::Recovery;
use super::traffic::{TrafficRequest, TrafficResponse};
use crate::agent::{Diagnostic, DraftTexts, Mode, Place};
use crate::config::Notify;
use crate::event::{Address, ErrorRecord};
use crate::port::{Breakpoint, Gate};
use crate::replay::Policy;
use crate::session::{Marks, Summary};
use crate::workbench::inspect::{BenchOutput, Inspection, Probe};
use crate::workbench::overview::Overview;
use crate::workbench::{
    AgentFile, ComparedPart, DraftSummary, OpenSession, Overwrite, Pipeline, RequestPart, RunUpdate, SaveError,
    SessionKey, TurnBody,
};

/// Identifies a run on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Slot {
    /// The workbench's run.
    Workbench,
    /// The replay in the sessions screen.
    Viewer,
    /// The first of the runs side by side.
    Left,
    /// The second.
    Right,
    /// The third of up to four.
    Third,
    /// The fourth.
    Fourth,
}

impl Slot {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Workbench, Self::Viewer, Self::Left, Self::Right, Self::Third, Self::Fourth];
    /// Those of the runs side by side, from left to right.
    pub const SIDES: [Self; 4] = [Self::Left, Self::Right, Self::Third, Self::Fourth];
}

/// Something happened.
#[derive(Debug)]
pub enum Msg {
    /// The time, Unix time in ms. Comes before every batch of messages and when a deadline has passed.
    Clock(i64),
    /// A key was pressed.
    Key(KeyEvent),
    /// Text was pasted.
    Paste(String),
    /// The mouse was used.
    Mouse(MouseEvent),
    /// The terminal has the focus again: another program may have changed the file.
    FocusGained,
    /// The screen has another size.
    Resize(u16, u16),
    /// The texts were checked: version, findings, meaning.
    Checked(u64, Vec<Diagnostic>, Box<DraftSummary>),
    /// The differences between the preview and that of this mode, or the reason why this mode has no preview.
    PreviewCompared(Mode, Result<Vec<ComparedPart>, String>),
    /// A run was started, or refused.
    Started(Result<Option<String>, Vec<Diagnostic>>),
    /// A suspended or interrupted session was resumed: its run, or the error.
    SessionResumed(Result<Option<String>, ErrorRecord>),
    /// A replay was started, or could not be.
    ReplayStarted(Result<(), String>),
    /// The session of a slot's run cannot be written, or can again.
    SessionFile(Slot, SessionFile),
    /// Updates of a run.
    RunUpdates(Slot, Vec<RunUpdate>),
    /// The list of sessions was read: newest first, forks after their origin; and their marks.
    Listed(Vec<Summary>, Marks),
    /// The response to a request of the compare screen.
    Compare(CompareResponse),
    /// The response to a request about the traffic, or what happened to it.
    Traffic(TrafficResponse),
    /// The response to a request about a search for better texts.
    Candidates(CandidatesResponse),
    /// A session was opened.
    Opened(Result<OpenSession, ErrorRecord>),
    /// The turn of a saved session was read.
    TurnRead(SessionKey, Address, Result<TurnBody, ErrorRecord>),
    /// The unread turns of a session that contain the search text.
    FoundUnread(SessionKey, String, Vec<Address>),
    /// The response to a request about the cases of the draft.
    Tests(TestResponse),
    /// The overview of a saved session was read.
    OverviewRead(SessionKey, Result<Box<Overview>, ErrorRecord>),
    /// A turn was taken apart.
    Inspected(Subject, Address, Result<Box<Inspection>, ErrorRecord>),
    /// The value of the form at a byte of a turn's program.
    Probed(Address, usize, Result<Option<Probe>, String>),
    /// The result of an input on the memory of a turn.
    Evaluated(Address, Result<BenchOutput, String>),
    /// The whole value of a name in the memory of a turn, or why it could not be computed.
    ValueComputed(Address, String, Result<String, String>),
    /// The agent was saved, or not: the path that was asked for.
    Saved(String, DraftTexts, Result<AgentFile, SaveError>),
    /// Unsaved texts were kept, or could not be.
    Kept(Result<(), ErrorRecord>),
    /// It was noted that the tour was seen, or could not be.
    TourNoted(Result<(), ErrorRecord>),
    /// Kept texts of earlier starts, newest first.
    Recoveries(Vec<Recovery>),
    /// `$EDITOR` gave a text back.
    Edited(Place, Result<String, String>),
    /// The response to a request about saved sessions.
    Archive(ArchiveResponse),
    /// A copied text was handed to the clipboard of this machine, or not: which program failed.
    Clipped(Result<(), String>),
    /// The terminal was given back and taken again.
    Resumed,
}

/// Something to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Check the texts of this version; answers [`Msg::Checked`].
    Check(u64, DraftTexts),
    /// Compare the preview with that of this mode; answers [`Msg::PreviewCompared`].
    ComparePreview(Mode, Box<DraftTexts>, Vec<RequestPart>),
    /// Start a run; answers [`Msg::Started`].
    Start(DraftTexts),
    /// Start a pipeline; answers [`Msg::Started`].
    StartPipeline(Box<Pipeline>),
    /// Stop a run.
    Cancel(Slot),
    /// Answer a question of the workbench's run.
    Answer(Address, String),
    /// Stop runs at this gate from now on, or let them pass.
    Intercept(Gate, bool),
    /// Stop runs at these breakpoints and no others.
    StopAt(Vec<Breakpoint>),
    /// Suspend a run that asks the user: it waits in its session.
    SuspendRun(Slot),
    /// Resume a session; answers [`Msg::SessionResumed`].
    Resume(SessionKey),
    /// Read the list of sessions; answers [`Msg::Listed`].
    List,
    /// Execute a request of the compare screen; answers [`Msg::Compare`].
    Compare(CompareRequest),
    /// Execute a request about the traffic; answers [`Msg::Traffic`].
    Traffic(TrafficRequest),
    /// Execute a request about a search for better texts; answers [`Msg::Candidates`].
    Candidates(CandidatesRequest),
    /// Stop the matrix that runs.
    StopMatrix,
    /// Open a session; answers [`Msg::Opened`].
    Open(SessionKey),
    /// Replay a session; answers [`Msg::ReplayStarted`].
    Replay(SessionKey, Policy),
    /// Execute a request about saved sessions; answers [`Msg::Archive`].
    Archive(ArchiveRequest),
    /// Stop the model that is asked for a suggestion.
    StopSuggestion,
    /// Read turns of the opened session; answers [`Msg::TurnRead`] for each.
    ReadTurns(SessionKey, Vec<(Address, Range<usize>)>),
    /// Look for a text in unread turns of the opened session; answers [`Msg::FoundUnread`]. A later search ends an earlier one.
    FindUnread(SessionKey, String, Vec<(Address, Range<usize>)>),
    /// Execute a request about the cases of the draft; answers [`Msg::Tests`].
    Tests(TestRequest),
    /// Stop the cases of the draft that run.
    StopTests,
    /// Read the overview of a session; answers [`Msg::OverviewRead`].
    ReadOverview(SessionKey),
    /// Take a turn apart; answers [`Msg::Inspected`].
    Inspect(Subject, Address),
    /// Find the value of the form at a byte of the inspected turn's program; answers [`Msg::Probed`].
    Probe(Address, usize),
    /// Run an input on the memory of the inspected turn; answers [`Msg::Evaluated`].
    Evaluate(Address, String),
    /// Compute the whole value of a name in the memory of the inspected turn; answers [`Msg::ValueComputed`].
    ComputeValue(Address, String),
    /// Save the agent; answers [`Msg::Saved`].
    Save {
        /// Path of the file.
        path: String,
        /// Texts to save.
        texts: DraftTexts,
        /// The file as it was read.
        known: Option<AgentFile>,
        /// Handling of a file that exists or differs.
        overwrite: Overwrite,
    },
    /// Save the session of a run that could not be written, in this folder or else in the spare one.
    SaveSession(Slot, Option<PathBuf>),
    /// Keep unsaved texts; answers [`Msg::Kept`].
    Keep(Box<Recovery>),
    /// Discard the texts that this process kept for recovery.
    Forget,
    /// Throw kept texts of an earlier start away.
    Drop(String),
    /// Keep texts, then throw away those of an earlier start that they come from; answers [`Msg::Kept`].
    TakeOver(Box<Recovery>, String),
    /// Edit a text outside; answers [`Msg::Edited`].
    Edit(Place, String),
    /// The tour was seen: it is not shown at the next start.
    TourSeen,
    /// Put a text on the terminal's clipboard and on that of this machine; answers [`Msg::Clipped`].
    Clip(String),
    /// Notify the user through the terminal.
    Notify(Notify, String),
    /// Give the terminal to the shell; answers [`Msg::Resumed`].
    Suspend,
    /// Draw everything again.
    Redraw,
}
