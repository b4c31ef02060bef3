//! Another agent in the editors, or the steps of a pipeline in their place: from a file, an example, or a session. Unsaved edits are asked
//! about first.

use crate::agent::Place;
use crate::event::ErrorRecord;
use crate::tui::actions::Action;
use crate::tui::archive::{Ask, Source, Taken};
use crate::tui::backend::SessionSummary;
use crate::tui::draft::Reach;
use crate::tui::message::Effect;
use crate::tui::model::{Leaving, Model, PLACES, Pane, Popup, Screen, Tone, texts_of};
use crate::tui::sessions::{Purpose, agent};
use crate::tui::transcript::Transcript;

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
    match result {
        Err(error) => match model.popups.iter_mut().find(|popup| dialog(popup)) {
            Some(Popup::Form(form, _)) => form.fail(error.message),
            _ => model.say(Tone::Bad, format!("not opened: {}", error.message)),
        },
        Ok(taken) => {
            model.popups.retain(|popup| !dialog(popup));
            if model.workbench.unsaved() {
                model.popups.push(Popup::Leaving(Leaving::For(source, taken)));
            } else {
                show(model, *taken);
            }
        }
    }
    Vec::new()
}

/// Puts it into the editors; undo knows the texts before.
pub(super) fn show(model: &mut Model, taken: Taken) {
    let Taken { texts, file, pipeline } = taken;
    for (place, text) in PLACES.into_iter().zip(texts_of(&texts)) {
        let editor = model.workbench.editor_mut(place);
        editor.draft.replace_all(text);
        editor.free = false;
    }
    let told = match (&pipeline, &file) {
        (Some(pipeline), _) => format!("the pipeline {} is open", pipeline.definition.name),
        (None, Some(file)) => format!("the agent from {} is in the editors", file.path.display()),
        (None, None) => "the agent is in the editors".to_owned(),
    };
    let workbench = &mut model.workbench;
    (workbench.saved, workbench.file, workbench.pipeline) = (texts, file, pipeline.map(|pipeline| (pipeline, 0)));
    workbench.last_editor = Place::Prompt;
    workbench.focus = workbench.home();
    model.screen = Screen::Workbench;
    model.sessions.viewer = None;
    model.say(Tone::Good, told);
}

/// Asks what the selected turn is as an example of the draft's prompt.
pub(super) fn ask_example(model: &mut Model) -> Vec<Effect> {
    let Some(key) = model.saved_subject().map(SessionSummary::key) else {
        return super::dialog::once_listed(model, Action::AddExample);
    };
    let turn = model.active_transcript().and_then(Transcript::turn_in_hand);
    let prompt = model.workbench.editor(Place::Prompt).draft.text().to_owned();
    turn.map(|turn| Effect::Ask(Ask::Example(key, turn, prompt))).into_iter().collect()
}

/// Puts an example at the end of the prompt, where the person sees it before it is saved; undo takes it back.
pub(super) fn example(model: &mut Model, result: Result<String, ErrorRecord>) -> Vec<Effect> {
    match result {
        Err(error) => model.say(Tone::Bad, format!("no example: {}", error.message)),
        Ok(example) => {
            super::keys::go_to(model, Pane::Editor(Place::Prompt));
            let editor = model.workbench.editor_mut(Place::Prompt);
            let end = editor.draft.text().len();
            editor.draft.splice(end..end, &example);
            editor.draft.place(end + example.len(), Reach::Move);
            editor.free = false;
            let key = |action| model.keymap.first_name(action);
            let text = format!(
                "the example is at the end of the prompt: {} saves, {} takes it back",
                key(Action::Save),
                key(Action::Undo)
            );
            model.say(Tone::Good, text);
        }
    }
    Vec::new()
}
