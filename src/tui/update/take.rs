//! Another agent in the editors, or the steps of a pipeline in their place: from a file, an example, or a session. Unsaved edits are asked
//! about first.

use crate::agent::Place;
use crate::event::ErrorRecord;
use crate::session::Summary;
use crate::tui::actions::Action;
use crate::tui::archive::{AgentSource, ArchiveRequest};
use crate::tui::draft::Reach;
use crate::tui::message::Effect;
use crate::tui::model::{Leaving, Model, PLACES, Pane, Popup, Screen, Tone, texts_of};
use crate::tui::sessions::{Purpose, workbench};
use crate::workbench::OpenAgent;

/// Asks which one.
pub(super) fn dialog(model: &mut Model) -> Vec<Effect> {
    model.popups.push(Popup::Form(Box::new(workbench::open_agent()), Purpose::Agent));
    Vec::new()
}

/// Reads the agent of the session in hand.
pub(super) fn of_session(model: &mut Model) -> Vec<Effect> {
    let key = model.sessions.subject().map(Summary::key);
    key.map(|key| Effect::Archive(ArchiveRequest::OpenAgent(AgentSource::Session(key)))).into_iter().collect()
}

/// It was read, or not.
pub(super) fn opened(
    model: &mut Model,
    source: AgentSource,
    result: Result<Box<OpenAgent>, ErrorRecord>,
) -> Vec<Effect> {
    let dialog = |popup: &Popup| matches!(popup, Popup::Form(_, Purpose::Agent));
    match result {
        Err(error) => match model.popups.iter_mut().find(|popup| dialog(popup)) {
            Some(Popup::Form(form, _)) => form.fail(error.message),
            _ => model.say(Tone::Bad, format!("not opened: {}", error.message)),
        },
        Ok(agent) => {
            model.popups.retain(|popup| !dialog(popup));
            if model.workbench.unsaved() {
                model.popups.push(Popup::Leaving(Leaving::For(source, agent)));
            } else {
                show(model, *agent);
            }
        }
    }
    Vec::new()
}

/// Puts it into the editors; undo knows the texts before.
pub(super) fn show(model: &mut Model, agent: OpenAgent) {
    let OpenAgent { texts, file, pipeline } = agent;
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

/// Puts an example at the end of the prompt, where the user sees it before it is saved; undo takes it back.
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
