//! Requests of the compare screen: sessions side by side, one draft in several modes, matrices.
//!
//! In: a [`CompareRequest`] as an effect of `update`. Out: its [`CompareResponse`] as a message, and runs or a matrix for the driver.

use std::sync::Arc;

use crate::agent::{Diagnostic, DraftTexts, Mode};
use crate::event::{Address, ErrorRecord};
use crate::session::diff::Comparison;
use crate::tui::drive::Done;
use crate::tui::message::{Msg, Slot};
use crate::tui::services::Services;
use crate::workbench::SessionKey;
use crate::workbench::matrix::{MatrixEntry, MatrixFile, MatrixSpec, MatrixState, MatrixUpdate};

/// Something that the workbench is to do for the compare screen.
#[derive(Debug, Clone, PartialEq)]
pub enum CompareRequest {
    /// Compare these sessions; answers [`CompareResponse::Compared`].
    Sessions(Vec<String>),
    /// Run the draft in these modes; answers [`CompareResponse::Started`].
    Modes(DraftTexts, Vec<Mode>),
    /// Find a session to open at a turn; answers [`CompareResponse::Found`].
    Find(String, Option<Address>),
    /// Start a matrix of the draft, with the agents of the spec and so many concurrent trials; answers
    /// [`CompareResponse::MatrixStarted`].
    Matrix(DraftTexts, MatrixSpec, usize),
    /// Resume a matrix, with so many trials at once; answers [`CompareResponse::MatrixStarted`].
    ResumeMatrix(String, usize),
    /// Read the list of matrices; answers [`CompareResponse::Matrices`].
    Matrices,
    /// Read a matrix; answers [`CompareResponse::MatrixOpened`].
    OpenMatrix(String),
}

/// The response to a [`CompareRequest`], or an update of the matrix.
#[derive(Debug)]
pub enum CompareResponse {
    /// The names of the sessions, the comparison with the first of them, and warnings about what could not be read.
    Compared(Vec<String>, Result<(Arc<Comparison>, Vec<String>), ErrorRecord>),
    /// Runs were started, in the order of their modes.
    Started(Result<Vec<Option<String>>, Vec<Diagnostic>>),
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

use CompareResponse as Response;

impl CompareRequest {
    /// Executes the request. Reads and writes files: must be called on a blocking thread, inside of the runtime.
    pub(in crate::tui) fn execute(self, services: &Services) -> Done {
        let workbench = &services.workbench;
        let response = match self {
            Self::Sessions(names) => {
                let compared = workbench.compare_sessions(&names).map_err(ErrorRecord::from);
                Response::Compared(names, compared.map(|(comparison, warnings)| (Arc::new(comparison), warnings)))
            }
            Self::Modes(texts, modes) => match services.start_modes(&texts, &modes) {
                Ok(runs) => {
                    let sessions = runs.iter().map(crate::workbench::RunHandle::session).collect();
                    let runs = [Slot::Left, Slot::Right].into_iter().zip(runs.into_iter().map(Arc::new)).collect();
                    return Done::Runs(runs, Msg::Compare(Response::Started(Ok(sessions))));
                }
                Err(findings) => Response::Started(Err(findings)),
            },
            Self::Find(name, turn) => {
                Response::Found(workbench.find_session(&name).map(|key| (key, turn)).map_err(ErrorRecord::from))
            }
            Self::Matrix(texts, spec, jobs) => {
                let begun = Services::agent(&texts).and_then(|agent| {
                    let spec = MatrixSpec { agents: vec![(agent.name.clone(), agent)], ..spec };
                    Ok(workbench.begin_matrix(workbench.plan_matrix(&spec)?)?)
                });
                return start(services, begun, jobs);
            }
            Self::ResumeMatrix(id, jobs) => {
                return start(services, workbench.open_matrix(&id).map_err(ErrorRecord::from), jobs);
            }
            Self::Matrices => Response::Matrices(workbench.matrices()),
            Self::OpenMatrix(id) => {
                let state = workbench.read_matrix(&id).map_err(ErrorRecord::from);
                Response::MatrixOpened(id, state)
            }
        };
        Done::Msg(Msg::Compare(response))
    }
}

/// Runs a matrix that was started or opened.
fn start(services: &Services, begun: Result<(MatrixFile, MatrixState), ErrorRecord>, jobs: usize) -> Done {
    match begun {
        Ok((file, state)) => {
            let started = Msg::Compare(Response::MatrixStarted(Ok((file.id.clone(), state.clone()))));
            Done::Matrix(Arc::new(services.workbench.start_matrix(file, state, jobs)), started)
        }
        Err(error) => Done::Msg(Msg::Compare(Response::MatrixStarted(Err(error)))),
    }
}
