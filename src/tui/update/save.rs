//! Saving, leaving and recovering: unsaved edits are never lost.

use std::path::Path;

use crate::agent::{DraftTexts, Place};
use crate::event::ErrorRecord;
use crate::tui::actions::Action;
use crate::tui::archive::{ArchiveRequest, ChangedFileAction};
use crate::tui::draft::Draft;
use crate::tui::form::Field;
use crate::tui::message::{Effect, Slot};
use crate::tui::model::{AfterSave, LeaveAction, Model, Popup, RECOVERED, SaveWhat, Tone, place_name};
use crate::tui::recovery::{Recovery, SavedReply};
use crate::workbench::{AgentFile, OpenAgent, Overwrite, SECRET, SaveError};

use super::unconfirmed_texts;

/// Saves to the agent's file, or asks where.
pub(super) fn save(model: &mut Model, after: AfterSave) -> Vec<Effect> {
    model.popups.retain(|popup| !matches!(popup, Popup::Leaving(_)));
    model.workbench.saving = Some(after);
    match model.workbench.file.clone() {
        Some(file) => {
            let path = file.path.display().to_string();
            write(model, path, Overwrite::Unchanged)
        }
        None => ask_path(model),
    }
}

/// Saves, or asks what to do with the change of another program.
pub(super) fn save_or_ask(model: &mut Model) -> Vec<Effect> {
    let Some(file) = model.changed_file() else { return save(model, AfterSave::Stay) };
    let path = file.path.display().to_string();
    model.workbench.saving = Some(AfterSave::Stay);
    model.popups.push(Popup::Overwrite { path });
    Vec::new()
}

/// The file was looked at: a change by another program is announced once.
pub(super) fn take_file_look(model: &mut Model, known: AgentFile, changed: Option<String>) -> Vec<Effect> {
    let path = known.path.display().to_string();
    if model.take_file_look(known, changed) {
        let key = model.keymap.first_name(Action::Save);
        model.show_toast(Tone::Info, format!("another program changed {path}: {key} reloads, merges or overwrites it"));
    }
    Vec::new()
}

/// Nothing was edited, but the file may be gone or another one by now: saving looks.
pub(super) fn may_be_gone(model: &Model) -> bool {
    let workbench = &model.workbench;
    workbench.file.is_some() && workbench.pipeline.is_none() && !workbench.unsaved()
}

fn write(model: &mut Model, path: String, overwrite: Overwrite) -> Vec<Effect> {
    let known = model.workbench.file.clone().filter(|file| file.path == Path::new(&path));
    vec![Effect::Save { path, texts: model.workbench.texts(), known, overwrite }]
}

/// Asks for a path; the agent's name is the suggestion.
pub(super) fn ask_path(model: &mut Model) -> Vec<Effect> {
    model.workbench.saving.get_or_insert(AfterSave::Stay);
    let field = path_field(model);
    open_path(model, field, None);
    Vec::new()
}

/// The field of the path: with the one that was typed last, else a suggestion.
fn path_field(model: &mut Model) -> Field {
    let name = &model.workbench.preview.name;
    let suggested = match &model.workbench.file {
        Some(file) => file.path.display().to_string(),
        None => format!("{}.toml", if name.is_empty() { "agent" } else { name }),
    };
    unconfirmed_texts::path_field(model, SaveWhat::Agent, &suggested)
}

/// Opens the question for the path, once; `error` is the problem of the last answer.
fn open_path(model: &mut Model, field: Field, error: Option<String>) {
    model.popups.retain(|popup| !matches!(popup, Popup::SavePath { what: SaveWhat::Agent, .. }));
    model.popups.push(Popup::SavePath { what: SaveWhat::Agent, field: Box::new(field), error });
}

/// Asks for the folder of a session that is only in memory; with the one that was typed last.
pub(super) fn ask_folder(model: &mut Model, reason: String, suggested: &Path) {
    let suggested = suggested.display().to_string();
    let field = Box::new(unconfirmed_texts::path_field(model, SaveWhat::Session, &suggested));
    model.popups.push(Popup::SavePath { what: SaveWhat::Session, field, error: Some(reason) });
}

/// Closes the question for the folder of a session whose run has ended.
pub(super) fn close_folder_question(model: &mut Model) {
    let is_it = |popup: &mut Popup| matches!(popup, Popup::SavePath { what: SaveWhat::Session, .. });
    let closed: Vec<Popup> = model.popups.extract_if(.., is_it).collect();
    for popup in &closed {
        unconfirmed_texts::close_path(model, popup);
    }
}

pub(super) fn confirm_path(model: &mut Model) -> Vec<Effect> {
    let Some(Popup::SavePath { what, field, error }) = model.popups.last_mut() else { return Vec::new() };
    let (what, path) = (*what, field.draft().map_or("", Draft::text).trim().to_owned());
    if path.is_empty() {
        *error = Some("a file needs a name".to_owned());
        return Vec::new();
    }
    model.popups.pop();
    if what == SaveWhat::Session {
        unconfirmed_texts::keep_path(model, what, &path);
        return vec![Effect::SaveSession(Slot::Workbench, Some(path.into()))];
    }
    write(model, path, Overwrite::Unchanged)
}

pub(super) fn confirm_overwrite(model: &mut Model) -> Vec<Effect> {
    let Some(Popup::Overwrite { path }) = model.popups.pop() else { return Vec::new() };
    write(model, path, Overwrite::Always)
}

/// Reads the file that another program changed, to reload it or to merge it.
pub(super) fn take_file(model: &mut Model, choice: ChangedFileAction) -> Vec<Effect> {
    let Some(Popup::Overwrite { path }) = model.popups.pop() else { return Vec::new() };
    vec![Effect::Archive(ArchiveRequest::ChangedFile(path, choice))]
}

/// The file was read, or not. After a merge the save continues.
pub(super) fn file_taken(
    model: &mut Model,
    choice: ChangedFileAction,
    result: Result<Box<OpenAgent>, ErrorRecord>,
) -> Vec<Effect> {
    let after = model.workbench.saving.take();
    match (choice, result) {
        (_, Err(error)) => {
            model.show_toast(Tone::Bad, format!("the file was not read: {}", error.message));
            Vec::new()
        }
        (ChangedFileAction::Reload, Ok(agent)) => {
            super::take::show(model, *agent);
            let undo = model.keymap.first_name(Action::Undo);
            model.show_toast(Tone::Good, format!("reloaded; {undo} restores the edits of a text"));
            Vec::new()
        }
        (ChangedFileAction::Merge, Ok(agent)) => {
            let conflicts = super::take::merge(model, *agent);
            if conflicts.is_empty() {
                return save(model, after.unwrap_or(AfterSave::Stay));
            }
            let names: Vec<String> = conflicts.into_iter().map(|place| place_name(place).to_lowercase()).collect();
            let text = format!("not merged: {} changed here and in the file; reload or overwrite", names.join(", "));
            model.show_toast(Tone::Bad, text);
            Vec::new()
        }
    }
}

pub(super) fn saved(
    model: &mut Model,
    path: String,
    texts: DraftTexts,
    result: Result<AgentFile, SaveError>,
) -> Vec<Effect> {
    match result {
        Ok(file) => {
            let known = model.workbench.file.as_ref() == Some(&file) && model.workbench.saved == texts;
            model.workbench.file = Some(file);
            model.workbench.saved = texts;
            let after = model.workbench.saving.take().filter(|_| !model.workbench.unsaved());
            if after == Some(AfterSave::Quit) {
                return leave(model);
            }
            if known {
                model.show_toast(Tone::Info, format!("everything is saved in {path}"));
            } else {
                let saved = format!("saved {path}");
                match model.workbench.diagnostics.iter().find(|finding| finding.key == SECRET) {
                    Some(finding) => model.show_toast(Tone::Bad, format!("{saved}, but {}", finding.message)),
                    None => model.show_toast(Tone::Good, saved),
                }
            }
            let forget = (!model.workbench.unsaved()).then_some(Effect::Forget);
            // It is read again: it may be what was saved just now.
            let open = match after {
                Some(AfterSave::Open(source)) => Some(Effect::Archive(ArchiveRequest::OpenAgent(source))),
                _ => None,
            };
            let tests = super::cases::saved(model);
            forget.into_iter().chain(open).chain(tests).collect()
        }
        Err(SaveError::Changed) => {
            model.popups.push(Popup::Overwrite { path });
            Vec::new()
        }
        Err(SaveError::Failed(error)) => {
            let mut field = path_field(model);
            field.write(&path);
            open_path(model, field, Some(format!("Not saved: {}", error.with_hint())));
            Vec::new()
        }
    }
}

/// Leaves, after asking when there are unsaved edits, a run would be stopped, or a dialog has a text that is not confirmed.
pub(super) fn quit(model: &mut Model) -> Vec<Effect> {
    let unsaved = model.workbench.unsaved();
    if matches!(model.popups.last(), Some(Popup::Leaving(_))) {
        return if unsaved { Vec::new() } else { leave(model) };
    }
    if unsaved || model.stops_by_leaving() || model.unconfirmed_dialog().is_some() {
        model.popups.push(Popup::Leaving(LeaveAction::Program));
        return Vec::new();
    }
    leave(model)
}

/// Closes the question before leaving when what it is about has ended by itself.
pub(super) fn close_settled_question(model: &mut Model) {
    let asks = matches!(model.popups.last(), Some(Popup::Leaving(LeaveAction::Program)));
    if asks && !model.workbench.unsaved() && !model.stops_by_leaving() && model.unconfirmed_dialog().is_none() {
        model.popups.pop();
        let key = model.keymap.first_name(Action::Quit);
        model.show_toast(Tone::Info, format!("nothing is in progress; {key} quits"));
    }
}

/// The unsaved edits are saved first; then the waiting action is done.
pub(super) fn save_first(model: &mut Model) -> Vec<Effect> {
    let after = match model.popups.last() {
        Some(Popup::Leaving(LeaveAction::For(source, _))) => AfterSave::Open(source.clone()),
        _ => AfterSave::Quit,
    };
    save(model, after)
}

/// The unsaved edits are given up.
pub(super) fn discard(model: &mut Model) -> Vec<Effect> {
    match model.popups.pop() {
        Some(Popup::Leaving(LeaveAction::For(source, agent))) => {
            unconfirmed_texts::forget_source(model, &source);
            super::take::show(model, *agent);
            Vec::new()
        }
        _ => leave(model),
    }
}

/// Ends the program; runs are stopped or suspended first, so that their sessions record it.
pub(super) fn leave(model: &mut Model) -> Vec<Effect> {
    model.quitting = true;
    model.workbench.keep_at_ms = None;
    // A run that asks waits in its session; any other one is stopped.
    let asks = model.workbench.run.as_ref().is_some_and(|run| run.question.is_some());
    let run = if asks { Effect::SuspendRun(Slot::Workbench) } else { Effect::Cancel(Slot::Workbench) };
    let sides = std::iter::once(Slot::Viewer).chain(Slot::SIDES).map(Effect::Cancel);
    // A reply to a run that waits in its session is kept for it, and for it alone: edits are saved, or given up.
    let kept = model.unsent_reply().map_or(Effect::Forget, |reply| {
        let (drafts, tools, program) = <([Draft; 4], Draft, Draft)>::default();
        let own = model.workbench.recovery(model.now_ms);
        Effect::Keep(Box::new(Recovery { drafts, tools, program, reply: Some(reply), is_saved: true, ..own }))
    });
    model.suggestions.current = None;
    [run, Effect::StopMatrix, Effect::StopSuggestion, kept].into_iter().chain(sides).collect()
}

/// Offers the newest texts of an earlier start that belong to the agent in the editors. Those of other agents are reported, and offered when
/// their file is opened.
pub(super) fn recoveries(model: &mut Model, found: Vec<Recovery>) -> Vec<Effect> {
    let mut usable: Vec<Recovery> = found.into_iter().filter_map(restored).collect();
    let mut effects = Vec::new();
    if let Some(at) = usable.iter().position(|recovery| recovery.reply.is_some()) {
        model.workbench.kept_reply.clone_from(&usable[at].reply);
        if usable[at].is_saved {
            let Recovery { id, reply, .. } = usable.remove(at);
            let own = Recovery { reply, ..model.workbench.recovery(model.now_ms) };
            effects.push(Effect::TakeOver(Box::new(own), id));
        }
    }
    // One that was kept for its reply alone has no texts.
    usable.retain(|recovery| !recovery.is_saved || recovery.reply.is_none());
    model.workbench.other_drafts = usable;
    // Texts of an agent have no place where a pipeline is open: they wait for the next start.
    if model.workbench.pipeline.is_none() && !offer_drafts(model) {
        report_other_drafts(model);
    }
    effects
}

/// The kept texts with their undo; `None` where a text cannot be read.
fn restored(recovery: Recovery) -> Option<Recovery> {
    let mut drafts = recovery.drafts.into_iter().map(Draft::restored);
    let restored: [Option<Draft>; 4] = std::array::from_fn(|_| drafts.next().flatten());
    let [Some(prompt), Some(signature), Some(context), Some(options)] = restored else { return None };
    let drafts = [prompt, signature, context, options];
    let (tools, program) = (recovery.tools.restored()?, recovery.program.restored()?);
    let reply = recovery.reply.and_then(|reply| Some(SavedReply { draft: reply.draft.restored()?, ..reply }));
    let (id, saved_ms, file, is_saved) = (recovery.id, recovery.saved_ms, recovery.file, recovery.is_saved);
    Some(Recovery { id, saved_ms, file, folder: None, drafts, tools, program, reply, is_saved })
}

/// Offers the kept texts of the agent in the editors. Returns whether there are any.
pub(super) fn offer_drafts(model: &mut Model) -> bool {
    fn path(file: Option<&AgentFile>) -> Option<&Path> {
        file.map(|file| file.path.as_path())
    }
    let workbench = &mut model.workbench;
    let own = path(workbench.file.as_ref());
    let Some(at) = workbench.other_drafts.iter().position(|kept| path(kept.file.as_ref()) == own) else { return false };
    let recovery = workbench.other_drafts.remove(at);
    workbench.discard_announced = false;
    model.popups.push(Popup::Recovery(Box::new(recovery)));
    true
}

/// Reports the newest kept texts of another agent.
fn report_other_drafts(model: &mut Model) {
    let Some(kept) = model.workbench.other_drafts.first() else { return };
    let text = match &kept.file {
        Some(file) => format!("unsaved edits of {} are kept: opening it offers them", file.path.display()),
        None => "unsaved edits of an agent without a file are kept: a start without a file offers them".to_owned(),
    };
    model.show_toast(Tone::Info, text);
}

/// Puts the kept texts with their undo into the editors; they are this process's own from now on.
pub(super) fn restore(model: &mut Model) -> Vec<Effect> {
    let Some(Popup::Recovery(recovery)) = model.popups.pop() else { return Vec::new() };
    let kept = RECOVERED
        .into_iter()
        .zip(recovery.drafts)
        .chain([(Place::Tools, recovery.tools), (Place::Program, recovery.program)]);
    for (place, draft) in kept {
        let editor = model.workbench.editor_mut(place);
        let restored = editor.draft.take_over(draft);
        editor.draft = restored;
        editor.free = false;
    }
    model.workbench.file = recovery.file;
    if model.workbench.run.as_ref().is_some_and(|run| run.is_example) {
        model.workbench.run = None;
    }
    model.show_toast(Tone::Good, "restored, but not saved yet");
    vec![Effect::TakeOver(Box::new(model.workbench.recovery(model.now_ms)), recovery.id)]
}

/// Throws the kept texts away, when the key is pressed again after a pause: two letters of a word that is typed are no answer.
pub(super) fn discard_recovery(model: &mut Model) -> Vec<Effect> {
    if !model.workbench.discard_announced {
        announce_discard(model);
        return Vec::new();
    }
    match model.popups.pop() {
        Some(Popup::Recovery(recovery)) => {
            model.show_toast(Tone::Info, "the kept drafts were discarded");
            vec![Effect::Drop(recovery.id)]
        }
        _ => Vec::new(),
    }
}

/// Announces that the kept texts are thrown away by the same key, pressed after a pause.
pub(super) fn announce_discard(model: &mut Model) {
    let key = |action| model.keymap.first_name(action);
    let text = format!("{} again discards them for good, {} keeps them", key(Action::DropKept), key(Action::Close));
    model.show_toast(Tone::Info, text);
    model.workbench.discard_announced = true;
    model.asked_ms = model.now_ms;
}
