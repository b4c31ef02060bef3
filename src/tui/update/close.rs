//! Closing: what the key that closes does, from the topmost thing to the run.
//!
//! In: the state of the screen. Out: what is stopped or stored with it. It must never lose a text that was written.

use super::{
    candidates, cases, compare, dialog, find, inspect, overview, question, reading, sessions, stop, suggest, traffic,
    unconfirmed_texts,
};
use crate::tui::actions::{Action, Context};
use crate::tui::message::{Effect, Slot};
use crate::tui::model::{Asker, Model, Pane, Popup, SaveWhat, Screen};

/// Closes the topmost thing; stops a run only when nothing is open.
pub(super) fn close(model: &mut Model) -> Vec<Effect> {
    if matches!(model.popups.last(), Some(Popup::Form(..))) {
        return dialog::close(model);
    }
    if let Some(popup) = model.popups.pop() {
        return match popup {
            Popup::Answer { asker: asker @ (Asker::Agent(..) | Asker::Prompts(_)), .. } => {
                question::put_aside(model, &asker);
                Vec::new()
            }
            Popup::Answer { asker: Asker::Held(asks), editor, .. } => {
                traffic::put_aside(model, asks, editor);
                Vec::new()
            }
            Popup::Answer { editor, .. } => {
                model.workbench.run.iter_mut().for_each(|run| run.begun_reply = Some(editor.clone()));
                stop::announce(model, Action::Close);
                Vec::new()
            }
            Popup::Find(find) => {
                find::closed(model, &find);
                Vec::new()
            }
            Popup::Tour(_) => vec![Effect::TourSeen],
            Popup::Seek { .. } => {
                reading::drop_useless(model);
                Vec::new()
            }
            Popup::SavePath { what: SaveWhat::Session, .. } => {
                unconfirmed_texts::close_path(model, &popup);
                vec![Effect::SaveSession(Slot::Workbench, None)]
            }
            Popup::SavePath { .. } | Popup::Overwrite { .. } | Popup::Leaving(_) => {
                unconfirmed_texts::close_path(model, &popup);
                model.workbench.saving = None;
                Vec::new()
            }
            _ => Vec::new(),
        };
    }
    if model.suggestions.current.is_some() {
        return suggest::stop(model);
    }
    if model.inspector.is_some() {
        return inspect::close(model);
    }
    if overview::close(model) || reads(model) && reading::put_aside(model) {
        return Vec::new();
    }
    match model.screen {
        Screen::Sessions => sessions::close(model),
        Screen::Compare => compare::close(model),
        Screen::Tests => cases::close(model),
        Screen::Traffic => traffic::close(model),
        Screen::Candidates => candidates::close(model),
        Screen::Workbench if model.workbench.running() => stop::by_escape(model),
        Screen::Workbench => {
            if !model.wide() && model.workbench.focus == Pane::Run {
                model.workbench.focus = model.workbench.home();
            }
            Vec::new()
        }
    }
}

/// Returns whether a transcript has the focus.
fn reads(model: &Model) -> bool {
    model.contexts().contains(&Context::Transcript)
}
