//! How an action on a session begins: with a dialog, or at once with a request.
//!
//! In: the action, the model. Out: a [`Beginning`]; it must never change the model.

use crate::agent::Place;
use crate::tui::archive::ArchiveRequest;
use crate::tui::model::Model;
use crate::tui::sessions::fork::Aim;
use crate::tui::sessions::{Dialog, SessionAction, case, export, fork, marks, rerun};
use crate::tui::transcript::Transcript;

/// How an action begins.
#[derive(Debug)]
pub(super) enum Beginning {
    /// With a dialog.
    Dialog(Box<Dialog>),
    /// At once.
    Request(ArchiveRequest),
}

/// Returns how an action begins with the session in hand; `None` when there is none.
pub(super) fn begin(action: SessionAction, model: &Model) -> Option<Beginning> {
    let session = model.saved_subject()?;
    let key = session.key();
    let mark = || {
        let (session, at) = model.sessions.mark_place()?;
        let mark = model.sessions.marks.of(&session, at.as_ref());
        Some((session, at, mark))
    };
    let dialog = match action {
        SessionAction::Fork => fork::Fork::open(key, model.selected_address(), Aim::Fork),
        SessionAction::EditHere => fork::Fork::open(key, model.selected_address(), Aim::Edit),
        SessionAction::Rerun => rerun::Rerun::open(key),
        SessionAction::MakeCase => {
            let own = model.workbench.file.as_ref().filter(|_| model.workbench.preview.name == session.agent);
            case::Case::open(session, own.map(|file| file.path.display().to_string()))
        }
        SessionAction::Export => export::Export::open(session),
        SessionAction::Tags => mark().map(|(session, at, mark)| marks::Marks::tags(session, at, mark))?,
        SessionAction::Note => mark().map(|(session, at, mark)| marks::Marks::note(session, at, mark))?,
        SessionAction::Label => {
            let (session, at) = model.sessions.label_place()?;
            let mark = model.sessions.marks.of(&session, at.as_ref());
            marks::Marks::label(session, at, mark)
        }
        SessionAction::Mark => {
            let (session, at, mut mark) = mark()?;
            mark.marked = !mark.marked;
            return Some(Beginning::Request(ArchiveRequest::Mark { session, at, mark }));
        }
        SessionAction::AddExample => {
            let turn = model.active_transcript().and_then(Transcript::turn_in_hand)?;
            let prompt = model.workbench.editor(Place::Prompt).draft.text().to_owned();
            return Some(Beginning::Request(ArchiveRequest::Example(key, turn, prompt)));
        }
        SessionAction::AcceptReplay => return Some(Beginning::Request(ArchiveRequest::Accept(key))),
        SessionAction::Play => return Some(Beginning::Request(ArchiveRequest::Events(key))),
    };
    Some(Beginning::Dialog(Box::new(dialog)))
}
