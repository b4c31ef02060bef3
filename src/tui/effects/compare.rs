//! Executes requests of the compare screen: reads sessions, starts runs and matrices.
//!
//! In: a [`CompareRequest`] as an effect of `update`. Out: its [`CompareResponse`] as a message, and runs or a matrix for the driver.

use std::sync::Arc;

use super::EffectResult;
use crate::event::ErrorRecord;
use crate::session::Session;
use crate::tui::compare::{CompareRequest, CompareResponse, StartedWithout};
use crate::tui::message::{Msg, Slot};
use crate::tui::services::Services;
use crate::tui::transcript::Transcript;
use crate::workbench::RunHandle;
use crate::workbench::matrix::{MatrixFile, MatrixSpec, MatrixState};

use CompareRequest as Request;
use CompareResponse as Response;

/// Executes a request. Reads and writes files: must be called on a blocking thread, inside of the runtime.
pub(super) fn execute(request: Request, services: &Services) -> EffectResult {
    let workbench = &services.workbench;
    let response = match request {
        Request::Sessions(names) => {
            let compared = workbench.compare_sessions(&names).map_err(ErrorRecord::from);
            Response::Compared(names, compared.map(|(comparison, warnings)| (Arc::new(comparison), warnings)))
        }
        Request::Transcripts(names) => {
            let transcripts = names.iter().map(|name| transcript(services, name)).collect();
            Response::Transcripts(names, transcripts)
        }
        Request::Modes(texts, modes) => match services.start_modes(&texts, &modes) {
            Ok(runs) => {
                let sessions = runs.iter().map(RunHandle::session).collect();
                let runs = [Slot::Left, Slot::Right].into_iter().zip(runs.into_iter().map(Arc::new)).collect();
                return EffectResult::Runs(runs, Msg::Compare(Response::Started(Ok(sessions))));
            }
            Err(findings) => Response::Started(Err(findings)),
        },
        Request::Without(without) => match services.ask_without(&without) {
            Ok(runs) => {
                let sessions = runs.iter().map(RunHandle::session).collect();
                let original = transcript(services, &without.name);
                let runs = Slot::SIDES.into_iter().skip(1).zip(runs.into_iter().map(Arc::new)).collect();
                let started = Box::new(StartedWithout { turn: without.turn.clone(), original, sessions });
                return EffectResult::Runs(runs, Msg::Compare(Response::Without(Ok(started))));
            }
            Err(error) => Response::Without(Err(error)),
        },
        Request::Others(others) => match services.ask_others(&others) {
            Ok(runs) => {
                let sessions = runs.iter().map(RunHandle::session).collect();
                let original = workbench.open_found(&others.key).ok().and_then(|session| whole(&session));
                let runs = Slot::SIDES.into_iter().skip(1).zip(runs.into_iter().map(Arc::new)).collect();
                let started = Box::new(StartedWithout { turn: others.turn.clone(), original, sessions });
                return EffectResult::Runs(runs, Msg::Compare(Response::Without(Ok(started))));
            }
            Err(error) => Response::Without(Err(error)),
        },
        Request::Find(name, turn) => {
            Response::Found(workbench.find_session(&name).map(|key| (key, turn)).map_err(ErrorRecord::from))
        }
        Request::Matrix(texts, spec, jobs) => {
            let begun = Services::agent(&texts).and_then(|agent| {
                let spec = MatrixSpec { agents: vec![(agent.name.clone(), agent)], ..spec };
                Ok(workbench.begin_matrix(workbench.plan_matrix(&spec)?)?)
            });
            return start(services, begun, jobs);
        }
        Request::AgainstSaved(draft, saved, spec, jobs) => {
            let begun = Services::agent(&saved).and_then(|saved| {
                let agents = vec![("saved".to_owned(), saved), ("draft".to_owned(), Services::agent(&draft)?)];
                Ok(workbench.begin_matrix(workbench.plan_matrix(&MatrixSpec { agents, ..spec })?)?)
            });
            return start(services, begun, jobs);
        }
        Request::ResumeMatrix(id, jobs) => {
            return start(services, workbench.open_matrix(&id).map_err(ErrorRecord::from), jobs);
        }
        Request::Matrices => Response::Matrices(workbench.matrices()),
        Request::OpenMatrix(id) => {
            let state = workbench.read_matrix(&id).map_err(ErrorRecord::from);
            Response::MatrixOpened(id, state)
        }
    };
    EffectResult::Msg(Msg::Compare(response))
}

/// Bytes of a session whose transcript is shown next to others.
const MOST_BYTES: u64 = 32 << 20;

/// The transcript of a whole session; a name may end in `:RUN`, of which only the session counts.
fn transcript(services: &Services, name: &str) -> Option<Transcript> {
    let workbench = &services.workbench;
    let session = workbench.open_session(name).ok();
    whole(&session.or_else(|| workbench.open_session(name.rsplit_once(':')?.0).ok())?)
}

/// The transcript of a session, unless it is too large.
fn whole(session: &Session) -> Option<Transcript> {
    if std::fs::metadata(&session.path).is_ok_and(|file| file.len() > MOST_BYTES) {
        return None;
    }
    let mut transcript = Transcript::default();
    session.events().for_each(|envelope| transcript.apply(&envelope));
    transcript.close();
    Some(transcript)
}

/// Runs a matrix that was started or opened.
fn start(services: &Services, begun: Result<(MatrixFile, MatrixState), ErrorRecord>, jobs: usize) -> EffectResult {
    match begun {
        Ok((file, state)) => {
            let started = Msg::Compare(Response::MatrixStarted(Ok((file.id.clone(), state.clone()))));
            EffectResult::Matrix(Arc::new(services.workbench.start_matrix(file, state, jobs)), started)
        }
        Err(error) => EffectResult::Msg(Msg::Compare(Response::MatrixStarted(Err(error)))),
    }
}
