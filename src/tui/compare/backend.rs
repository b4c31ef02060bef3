//! What the compare screen can have done: a part of the interface's only door.
//!
//! In: texts of the draft, names of sessions, wishes. Out: comparisons, runs in several modes, matrices. Called from a blocking thread.

use std::sync::Arc;

use futures::future::BoxFuture;

use crate::agent::{Diagnostic, DraftTexts, Mode};
use crate::event::{Address, ErrorRecord};
use crate::session::diff::Comparison;
use crate::tui::backend::{Run, SessionKey};
use crate::tui::message::Slot;
use crate::workbench::matrix::{MatrixEvent, MatrixState};

/// Sessions beside each other.
#[derive(Debug, Clone)]
pub struct Compared {
    /// What they have in common and where they part.
    pub comparison: Arc<Comparison>,
    /// What could not be read.
    pub warnings: Vec<String>,
}

/// What a matrix of the draft is to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatrixWish {
    /// The modes.
    pub modes: Vec<Mode>,
    /// The models; the agent's own when empty.
    pub models: Vec<String>,
    /// Trials of each cell.
    pub trials: u32,
    /// Trials at the same time.
    pub jobs: usize,
}

/// A line of the list of matrices.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MatrixLine {
    /// Its id.
    pub id: String,
    /// Unix time in ms.
    pub created_ms: i64,
    /// Its agents, modes and models in words.
    pub what: String,
    /// Trials that have ended with a verdict.
    pub done: usize,
    /// Of these, those that did not pass.
    pub failed: usize,
    /// Trials in all.
    pub total: usize,
    /// Why it cannot be read.
    pub damage: Option<String>,
}

/// What a matrix tells.
#[derive(Debug, Clone, PartialEq)]
pub enum MatrixTold {
    /// Something happened in it.
    Happened(MatrixEvent),
    /// Nothing more will come; why, when it was not its end.
    Ended(Option<String>),
}

/// A matrix that is running. Dropping it does not stop it.
pub trait MatrixRun: Send + Sync {
    /// Everything told since the last call. Never blocks.
    fn drain(&self) -> Vec<MatrixTold>;

    /// Resolves when there is something to drain.
    fn changed(&self) -> BoxFuture<'_, ()>;

    /// Stops it: trials that have ended stay. Returns at once; the end is told.
    fn stop(&self);
}

/// A matrix that was begun or gone on with.
pub struct BegunMatrix {
    /// Its id.
    pub id: String,
    /// How far it is.
    pub state: MatrixState,
    /// What it tells.
    pub run: Arc<dyn MatrixRun>,
}

/// What the compare screen can have done.
pub trait Comparing: Send + Sync {
    /// Holds sessions against the first of them, by the names that the command line takes.
    fn compare(&self, names: &[String]) -> Result<Compared, ErrorRecord>;

    /// Which session a name means.
    fn key_of(&self, name: &str) -> Result<SessionKey, ErrorRecord>;

    /// Starts the draft in each of these modes, with the same seed; in none when one of them is refused.
    fn start_modes(&self, texts: &DraftTexts, modes: &[Mode]) -> Result<Vec<Arc<dyn Run>>, Vec<Diagnostic>>;

    /// Begins a matrix of the draft in the background.
    fn begin_matrix(&self, texts: &DraftTexts, wish: &MatrixWish) -> Result<BegunMatrix, ErrorRecord>;

    /// Goes on with a matrix that was stopped, at most `jobs` trials at once.
    fn go_on_matrix(&self, id: &str, jobs: usize) -> Result<BegunMatrix, ErrorRecord>;

    /// Earlier matrices, newest first.
    fn matrices(&self) -> Result<Vec<MatrixLine>, ErrorRecord>;

    /// How far a matrix is, only to be read.
    fn open_matrix(&self, id: &str) -> Result<MatrixState, ErrorRecord>;
}

/// What the compare screen asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    /// Compare these sessions; answers [`Told::Compared`].
    Sessions(Vec<String>),
    /// Run the draft in these modes; answers [`Told::Started`].
    Modes(DraftTexts, Vec<Mode>),
    /// Find a session to open at a turn; answers [`Told::Found`].
    Find(String, Option<Address>),
    /// Begin a matrix; answers [`Told::MatrixBegun`].
    Matrix(DraftTexts, MatrixWish),
    /// Go on with a matrix; answers [`Told::MatrixBegun`].
    GoOn(String, usize),
    /// Stop the matrix that runs.
    Stop,
    /// Read the list of matrices; answers [`Told::Matrices`].
    Matrices,
    /// Read a matrix; answers [`Told::MatrixOpened`].
    OpenMatrix(String),
    /// The session of this run could not be written: it goes to the folder for such cases.
    Settle(Slot),
    /// This run asks a person: it waits in its session.
    PutDown(Slot),
}

/// What the compare screen is told.
#[derive(Clone)]
pub enum Told {
    /// Sessions were compared: their names, and what came of it.
    Compared(Vec<String>, Result<Compared, ErrorRecord>),
    /// Runs were started, in the order of their modes, or refused.
    Started(Result<Vec<Option<String>>, Vec<Diagnostic>>),
    /// A session was found.
    Found(Result<(SessionKey, Option<Address>), ErrorRecord>),
    /// A matrix was begun or gone on with.
    MatrixBegun(Result<(String, MatrixState), ErrorRecord>),
    /// What the matrix told.
    Matrix(Vec<MatrixTold>),
    /// The list of matrices.
    Matrices(Result<Vec<MatrixLine>, ErrorRecord>),
    /// A matrix was read.
    MatrixOpened(String, Result<MatrixState, ErrorRecord>),
}
