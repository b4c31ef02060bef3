//! Executes requests of the candidates screen: reads a search, compares its candidates, writes into the agent file, finds sessions.
//!
//! In: a [`CandidatesRequest`] as an effect of `update`. Out: its [`CandidatesResponse`] as a message. It must never write to the folder of a search.

use std::path::Path;
use std::sync::PoisonError;

use super::EffectResult;
use crate::tui::archive::AgentSource;
use crate::tui::candidates::{CandidatesRequest, CandidatesResponse, WriteRequest, WrittenHunks};
use crate::tui::message::Msg;
use crate::tui::services::Services;
use crate::workbench::optimize::{CandidateDetail, OptimizeError, Progress, SearchOutline, SearchReader};

/// Executes a request. Reads and writes files: must be called on a blocking thread.
pub(super) fn execute(request: CandidatesRequest, services: &Services) -> EffectResult {
    use CandidatesRequest as Request;
    use CandidatesResponse as Response;
    let text = |error: OptimizeError| error.0;
    let response = match request {
        Request::Open(dir) => {
            let opened = open(services, &dir).map_err(text);
            Response::Opened(dir, opened)
        }
        Request::Refresh => Response::Refreshed(refresh(services).map_err(text)),
        Request::Describe(number, place) => {
            let detail = with(services, |progress| CandidateDetail::of(progress, number, place)).flatten();
            Response::Described(detail.map(Box::new))
        }
        Request::Compare(number) => {
            let changes = with(services, |progress| progress.changes(&services.workbench, number));
            let changes = changes.unwrap_or_else(|| Err(OptimizeError("no search is open".to_owned())));
            Response::Compared(number, changes.map(Box::new).map_err(text))
        }
        Request::Write(request) => {
            let candidate = request.candidate;
            Response::Written(candidate, write(services, *request).map(Box::new).map_err(text))
        }
        Request::Find(id) => {
            let found = services.workbench.find_session(&id);
            Response::Found(found.map_err(|error| format!("the session of the run cannot be opened: {error}")))
        }
    };
    EffectResult::Msg(Msg::Candidates(response))
}

fn open(services: &Services, dir: &Path) -> Result<Box<SearchOutline>, OptimizeError> {
    let reader = SearchReader::open(&services.files.resolve(dir))?;
    let outline = SearchOutline::of(reader.progress());
    *services.search.lock().unwrap_or_else(PoisonError::into_inner) = Some(reader);
    Ok(Box::new(outline))
}

/// Writes hunks, and reads the file again where its agent is the one in the editors.
fn write(services: &Services, request: WriteRequest) -> Result<WrittenHunks, OptimizeError> {
    let WriteRequest { changes, chosen, open, .. } = request;
    let hunks = changes.write(&services.workbench, &chosen)?;
    let path = changes.path;
    let open = open.filter(|open| is_same_file(&services.files.resolve(open), &path));
    let agent = open.and_then(|open| services.open_agent(&AgentSource::Named(open.display().to_string())).ok());
    Ok(WrittenHunks { hunks, path, agent })
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// The outline after what was added; `None` when nothing was.
fn refresh(services: &Services) -> Result<Option<Box<SearchOutline>>, OptimizeError> {
    let mut reader = services.search.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(reader) = reader.as_mut() else { return Ok(None) };
    Ok(reader.refresh()?.then(|| Box::new(SearchOutline::of(reader.progress()))))
}

/// Something of the search that is open; `None` when there is none.
fn with<T>(services: &Services, read: impl FnOnce(&Progress) -> T) -> Option<T> {
    let reader = services.search.lock().unwrap_or_else(PoisonError::into_inner);
    reader.as_ref().map(|reader| read(reader.progress()))
}
