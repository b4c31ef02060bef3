//! Another agent in the editors, or the steps of a pipeline in their place: from a file, an example, or a session. Unsaved edits are asked
//! about first.

use crate::agent::{DraftTexts, Place};
use crate::event::ErrorRecord;
use crate::session::Summary;
use crate::tool::{FileAccess, NamedFile};
use crate::tui::actions::Action;
use crate::tui::archive::{AgentSource, ArchiveRequest};
use crate::tui::draft::{Draft, Reach, merged_text};
use crate::tui::message::Effect;
use crate::tui::model::{LeaveAction, Model, PLACES, Pane, Popup, Screen, Tone, first_place, place_name, texts_of};
use crate::tui::sessions::{Dialog, Purpose, workbench};
use crate::workbench::{AgentFile, OpenAgent};

use super::{response, unconfirmed_texts};

/// The dialog that asks which one.
pub(super) fn open_dialog() -> Dialog {
    Dialog::new(workbench::open_agent(), Purpose::Agent)
}

/// The dialog that asks for the name, the mode and the start of a new agent.
pub(super) fn new_agent_dialog() -> Dialog {
    let about = |mode| Action::Mode(mode).row().map_or("", |row| row.help);
    Dialog::new(workbench::new_agent(about), Purpose::NewAgent)
}

/// Returns whether a dialog of this purpose opens an agent.
fn opens_agent(purpose: &Purpose) -> bool {
    matches!(purpose, Purpose::Agent | Purpose::NewAgent)
}

/// Closes the dialog that named the agent; its texts are kept until the agent is in the editors.
fn close_dialog(model: &mut Model) {
    unconfirmed_texts::close_where(model, |popup| response::awaits(popup, opens_agent));
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
    match result {
        Err(error) => response::refuse(model, opens_agent, "not opened: ", error.message),
        Ok(agent) => {
            close_dialog(model);
            if model.workbench.unsaved() {
                model.popups.push(Popup::Leaving(LeaveAction::For(source, agent)));
            } else {
                unconfirmed_texts::forget_source(model, &source);
                show(model, *agent);
            }
        }
    }
    Vec::new()
}

/// A file that it names needs consent.
pub(super) fn file_question(model: &mut Model, source: AgentSource, named: NamedFile) {
    close_dialog(model);
    super::question::ask_about_file(model, source, named);
}

/// Puts it into the editors. Undo knows the texts before of the same file; texts of another agent would be saved under this one's name.
pub(super) fn show(model: &mut Model, agent: OpenAgent) {
    let OpenAgent { texts, file, pipeline, problem } = agent;
    let path = |file: &Option<AgentFile>| file.as_ref().map(|file| file.path.clone());
    let is_same = path(&file).is_some_and(|path_now| path(&model.workbench.file) == Some(path_now));
    for (place, text) in PLACES.into_iter().zip(texts_of(&texts)) {
        let editor = model.workbench.editor_mut(place);
        if is_same {
            editor.draft.replace_all(text);
        } else {
            editor.draft = editor.draft.take_over(Draft::new(text));
        }
        editor.free = false;
    }
    if !is_same {
        model.workbench.forget_runs();
    }
    let text = match (&pipeline, &file) {
        (Some(pipeline), _) => format!("the pipeline {} is open", pipeline.definition.name),
        (None, Some(file)) if file.sha.is_empty() => {
            let (path, key) = (file.path.display(), model.keymap.first_name(Action::ChooseModel));
            format!("a new agent: saving creates {path}; {key} chooses the model, sample generates answers")
        }
        (None, Some(file)) => format!("the agent from {} is in the editors", file.path.display()),
        (None, None) => "the agent is in the editors".to_owned(),
    };
    let workbench = &mut model.workbench;
    (workbench.saved, workbench.file, workbench.pipeline) = (texts, file, pipeline.map(|pipeline| (pipeline, 0)));
    workbench.last_editor = first_place(&workbench.saved);
    workbench.focus = workbench.home();
    model.screen = Screen::Workbench;
    model.sessions.viewer = None;
    match problem {
        Some(problem) => model.show_toast(Tone::Bad, format!("{text}, and cannot run: {problem}")),
        None => model.show_toast(Tone::Good, text),
    }
    if !is_same && model.workbench.pipeline.is_none() && model.workbench.file.is_some() {
        super::save::offer_drafts(model);
    }
}

/// A file that was not TOML has been corrected in the options: its texts get their editors.
pub(super) fn split_whole_file(model: &mut Model) {
    let workbench = &mut model.workbench;
    let now = workbench.texts();
    let others = DraftTexts { options: String::new(), ..now.clone() };
    if !workbench.saved.is_whole_file() || now.is_whole_file() || others != DraftTexts::default() {
        return;
    }
    let path = workbench.file.as_ref().map(|file| file.path.clone()).unwrap_or_default();
    let Some(texts) = DraftTexts::of_unreadable(&now.options, &path, &FileAccess::default()) else { return };
    if texts == now {
        return;
    }
    for (place, text) in PLACES.into_iter().zip(texts_of(&texts)) {
        workbench.editor_mut(place).draft.replace_all(text);
    }
    model.show_toast(Tone::Good, "the file can be read now: its texts are in their editors");
}

/// The program wrote into a file: reports it, and takes over what is new where the file is that of the agent in the editors.
pub(super) fn merge_written(model: &mut Model, report: String, agent: Option<OpenAgent>) {
    let conflicts = agent.map(|agent| merge(model, agent)).unwrap_or_default();
    if conflicts.is_empty() {
        model.show_toast(Tone::Good, report);
        return;
    }
    let names: Vec<String> = conflicts.into_iter().map(|place| place_name(place).to_lowercase()).collect();
    let names = names.join(", ");
    model.show_toast(
        Tone::Bad,
        format!("{report}; the same text has unsaved edits ({names}): saving asks which to keep"),
    );
}

/// The file of the agent in the editors has changed: takes its texts over, next to the user's edits.
///
/// A text that the user edited keeps the edits; what changed in the file at other lines is changed here too. Where both changed the same
/// lines, nothing is taken over: saving asks. Returns the places of these texts.
pub(super) fn merge(model: &mut Model, agent: OpenAgent) -> Vec<Place> {
    let OpenAgent { texts, file: Some(file), .. } = agent else { return Vec::new() };
    if model.workbench.file.as_ref().is_none_or(|own| own.path != file.path) {
        return Vec::new();
    }
    let saved = model.workbench.saved.clone();
    let (mut merged, mut conflicts) = (Vec::new(), Vec::new());
    for ((place, before), now) in PLACES.into_iter().zip(texts_of(&saved)).zip(texts_of(&texts)) {
        let own = model.workbench.editor(place).draft.text();
        match merged_text(before, own, now) {
            Some(text) if text != own => merged.push((place, text)),
            Some(_) => {}
            None => conflicts.push(place),
        }
    }
    if conflicts.is_empty() {
        for (place, text) in merged {
            model.workbench.editor_mut(place).draft.replace_all(&text);
        }
        (model.workbench.saved, model.workbench.file) = (texts, Some(file));
    }
    conflicts
}

/// Puts an example at the end of the prompt, where the user sees it before it is saved; undo takes it back.
pub(super) fn example(model: &mut Model, result: Result<String, ErrorRecord>) -> Vec<Effect> {
    match result {
        Err(error) => model.show_toast(Tone::Bad, format!("no example: {}", error.message)),
        Ok(example) => {
            super::keys::go_to(model, Pane::Editor(Place::Prompt));
            let editor = model.workbench.editor_mut(Place::Prompt);
            let end = editor.draft.text().len();
            editor.draft.splice(end..end, &example);
            editor.draft.place(end + example.len(), Reach::Move);
            editor.free = false;
            let key = |action| model.keymap.first_name(action);
            let text = format!(
                "the example was added at the end of the prompt: {} saves, {} reverts it",
                key(Action::Save),
                key(Action::Undo)
            );
            model.show_toast(Tone::Good, text);
        }
    }
    Vec::new()
}
