//! Requests of the compare screen: sessions side by side, one draft in several modes, matrices.
//!
//! In: a [`CompareRequest`] as an effect of `update`. Out: its [`CompareResponse`] as a message, and runs or a matrix for the driver.

use std::sync::Arc;

use crate::agent::{Diagnostic, DraftTexts, Mode};
use crate::event::{Address, ErrorRecord};
use crate::session::diff::Comparison;
use crate::tui::transcript::Transcript;
use crate::workbench::matrix::{MatrixEntry, MatrixSpec, MatrixState, MatrixUpdate};
use crate::workbench::{RequestPlace, SessionKey};

/// Something that the workbench is to do for the compare screen.
#[derive(Debug, Clone, PartialEq)]
pub enum CompareRequest {
    /// Compare these sessions; answers [`CompareResponse::Compared`].
    Sessions(Vec<String>),
    /// Read the transcripts of these sessions; answers [`CompareResponse::Transcripts`].
    Transcripts(Vec<String>),
    /// Run the draft in these modes; answers [`CompareResponse::Started`].
    Modes(DraftTexts, Vec<Mode>),
    /// Run a session again without a part of a request, next to it; answers [`CompareResponse::Without`].
    Without(WithoutRequest),
    /// Send the request of a captured turn to other models, to compare the replies; answers [`CompareResponse::Without`].
    Others(OtherModels),
    /// Find a session to open at a turn; answers [`CompareResponse::Found`].
    Find(String, Option<Address>),
    /// Start a matrix of the draft, with the agents of the spec and this many concurrent trials; answers
    /// [`CompareResponse::MatrixStarted`].
    Matrix(DraftTexts, MatrixSpec, usize),
    /// Start a matrix of the draft against its last saved texts, in this order: draft, saved; answers [`CompareResponse::MatrixStarted`].
    AgainstSaved(DraftTexts, DraftTexts, MatrixSpec, usize),
    /// Resume a matrix, with this many concurrent trials; answers [`CompareResponse::MatrixStarted`].
    ResumeMatrix(String, usize),
    /// Read the list of matrices; answers [`CompareResponse::Matrices`].
    Matrices,
    /// Read a matrix; answers [`CompareResponse::MatrixOpened`].
    OpenMatrix(String),
}

/// A part of a request that is dropped, and how often the model is asked without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithoutRequest {
    /// The session.
    pub name: String,
    /// The turn.
    pub turn: Address,
    /// The part.
    pub place: RequestPlace,
    /// Its title.
    pub title: String,
    /// Number of times that the model is asked.
    pub times: usize,
}

/// A captured request, and the models that are asked the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherModels {
    /// The session.
    pub key: SessionKey,
    /// The turn.
    pub turn: Address,
    /// The models, one to three.
    pub models: Vec<String>,
}

impl OtherModels {
    /// The name of the session.
    pub fn session(&self) -> String {
        self.key.name()
    }
}

/// A run and runs without a part of its request, or by other models.
#[derive(Debug, Clone)]
pub struct StartedWithout {
    /// The turn.
    pub turn: Address,
    /// The recorded run; `None` when it is too large to be shown.
    pub original: Option<Transcript>,
    /// The sessions of the others.
    pub sessions: Vec<Option<String>>,
}

/// The response to a [`CompareRequest`], or an update of the matrix.
#[derive(Debug)]
pub enum CompareResponse {
    /// The names of the sessions, the comparison with the first of them, and warnings about what could not be read.
    Compared(Vec<String>, Result<(Arc<Comparison>, Vec<String>), ErrorRecord>),
    /// The transcripts of sessions, in the order of their names; `None` for one that cannot be read or is too large.
    Transcripts(Vec<String>, Vec<Option<Transcript>>),
    /// Runs were started, in the order of their modes.
    Started(Result<Vec<Option<String>>, Vec<Diagnostic>>),
    /// Runs without a part of a request were started, or why not.
    Without(Result<Box<StartedWithout>, ErrorRecord>),
    /// A session was found.
    Found(Result<(SessionKey, Option<Address>), ErrorRecord>),
    /// A matrix was started or resumed: its id and state.
    MatrixStarted(Result<(String, MatrixState), ErrorRecord>),
    /// Updates of the matrix that runs.
    Matrix(Vec<MatrixUpdate>),
    /// The list of matrices, newest first.
    Matrices(Vec<MatrixEntry>),
    /// A matrix was read.
    MatrixOpened(String, Result<MatrixState, ErrorRecord>),
}
