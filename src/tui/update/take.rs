//! Another agent in the editors: from a file, an example, or a session. Unsaved edits are asked about first.

use crate::agent::Place;
use crate::event::ErrorRecord;
use crate::tui::archive::{Ask, Source, Taken};
use crate::tui::backend::SessionSummary;
use crate::tui::message::Effect;
use crate::tui::model::{Model, PLACES, Pane, Popup, Screen, Tone, texts_of};
use crate::tui::sessions::{Purpose, agent};

/// Asks which one.
pub(super) fn dialog(model: &mut Model) -> Vec<Effect> {
    model.popups.push(Popup::Form(Box::new(agent::dialog()), Purpose::Agent));
    Vec::new()
}

/// Reads the agent of the session in hand.
pub(super) fn of_session(model: &mut Model) -> Vec<Effect> {
    let key = model.sessions.subject().map(SessionSummary::key);
    key.map(|key| Effect::Ask(Ask::Take(Source::Session(key)))).into_iter().collect()
}

/// It was read, or not.
pub(super) fn taken(model: &mut Model, source: Source, result: Result<Box<Taken>, ErrorRecord>) -> Vec<Effect> {
    let dialog = |popup: &Popup| matches!(popup, Popup::Form(_, Purpose::Agent));
    let answered = model.workbench.wanted.take().is_some_and(|wanted| wanted == source);
    match result {
        Err(error) => match model.popups.iter_mut().find(|popup| dialog(popup)) {
            Some(Popup::Form(form, _)) => form.fail(error.message),
            _ => model.say(Tone::Bad, format!("not opened: {}", error.message)),
        },
        Ok(taken) => {
            model.popups.retain(|popup| !dialog(popup));
            if model.workbench.unsaved() && !answered {
                model.workbench.wanted = Some(source);
                model.popups.push(Popup::Leaving);
            } else {
                show(model, *taken);
            }
        }
    }
    Vec::new()
}

/// Puts it into the editors; undo knows the texts before.
fn show(model: &mut Model, taken: Taken) {
    for (place, text) in PLACES.into_iter().zip(texts_of(&taken.texts)) {
        let editor = model.workbench.editor_mut(place);
        editor.draft.replace_all(text);
        editor.free = false;
    }
    let from = taken.file.as_ref().map_or_else(String::new, |file| format!(" from {}", file.path.display()));
    let workbench = &mut model.workbench;
    (workbench.saved, workbench.file, workbench.pipeline) = (taken.texts, taken.file, None);
    workbench.focus = Pane::Editor(Place::Prompt);
    model.screen = Screen::Workbench;
    model.sessions.viewer = None;
    model.say(Tone::Good, format!("the agent{from} is in the editors"));
}

/// The question about unsaved edits was answered, for an agent that is wanted: it is read again.
pub(super) fn after_leaving(model: &mut Model) -> Option<Effect> {
    let source = model.workbench.wanted.clone()?;
    model.popups.retain(|popup| !matches!(popup, Popup::Leaving));
    Some(Effect::Ask(Ask::Take(source)))
}
