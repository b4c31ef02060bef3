//! Texts that were typed and not confirmed: kept when their dialog or REPL closes, shown when it opens again.
//!
//! In: dialogs that open and close, questions that end before their answer. Out: changes of the model. It must never decide what a dialog
//! does.

use super::{Effect, Model, Popup};
use crate::tui::actions::Action;
use crate::tui::archive::AgentSource;
use crate::tui::form::{Field, Form};
use crate::tui::inspector::Inspector;
use crate::tui::model::{SaveWhat, Tone};
use crate::tui::sessions::{Dialog, Purpose};
use crate::tui::unconfirmed_texts::{DialogId, FieldTexts};

/// Key of the path in the question where to save.
const PATH: &str = "path";
/// Key of the input of a REPL.
const INPUT: &str = "input";

/// Shows a dialog, with the texts that its last opening left.
pub(super) fn show(model: &mut Model, dialog: Dialog) -> Vec<Effect> {
    let left = model.unconfirmed_texts.take(&dialog.id());
    let Dialog { mut form, mut purpose, mut requests } = dialog;
    form.undo_key = model.keymap.first_name(Action::Undo);
    if !left.is_empty() {
        form.restore(left);
        // A dialog without its data brings its fields into line when it has it.
        if form.waiting.is_none() {
            requests.extend(purpose.changed(&mut form));
        }
    }
    model.popups.push(Popup::Form(Box::new(form), purpose));
    requests.into_iter().map(Effect::Archive).collect()
}

/// Keeps the texts of a dialog that closes. Returns whether there are any.
pub(super) fn keep(model: &mut Model, form: &Form, purpose: &Purpose) -> bool {
    let left = form.unconfirmed();
    let is_typed = !left.is_empty();
    model.unconfirmed_texts.keep(purpose.dialog_id(form), left);
    is_typed
}

/// Closes the dialogs for which this holds; their texts are kept.
pub(super) fn close_where(model: &mut Model, closes: impl Fn(&Popup) -> bool) {
    let (closed, open): (Vec<Popup>, Vec<Popup>) = std::mem::take(&mut model.popups).into_iter().partition(closes);
    model.popups = open;
    for popup in &closed {
        if let Popup::Form(form, purpose) = popup {
            keep(model, form, purpose);
        }
    }
}

/// Closes the dialog on top by hand: reports that its texts are kept. Those of a request that is being executed are kept until its response.
pub(super) fn close_top(model: &mut Model) {
    let Some(Popup::Form(form, purpose)) = model.popups.pop() else { return };
    if purpose.awaits_response(&form) {
        let (id, texts) = (purpose.dialog_id(&form), form.unconfirmed());
        model.unconfirmed_texts.keep_until_response(id, texts, purpose);
    } else if keep(model, &form, &purpose) {
        model.show_toast(Tone::Info, "not confirmed: the text is kept for the next time this dialog is opened");
    }
}

/// The agent of a source was opened: what was typed in the dialog that names it is confirmed.
pub(super) fn forget_source(model: &mut Model, source: &AgentSource) {
    let dialog = match source {
        AgentSource::Named(_) => super::take::open_dialog(),
        AgentSource::New(_) => super::take::new_agent_dialog(),
        _ => return,
    };
    model.unconfirmed_texts.forget(&dialog.id());
}

/// The question for the path of what is saved.
fn save_dialog(model: &Model, what: SaveWhat) -> DialogId {
    let file = model.workbench.file.as_ref().filter(|_| what == SaveWhat::Agent);
    let subject = file.map(|file| file.path.display().to_string()).unwrap_or_default();
    DialogId { title: what.title().to_owned(), subject, at: None }
}

/// The field of the path to save to, with the path that was typed last.
pub(super) fn path_field(model: &mut Model, what: SaveWhat, suggested: &str) -> Field {
    let mut field = Field::line("path", "", suggested).keyed(PATH);
    let dialog = save_dialog(model, what);
    if let Some(path) = model.unconfirmed_texts.take(&dialog).take_text(PATH) {
        field.restore_text(&path);
    }
    field
}

/// Keeps a path that was typed for what is saved.
pub(super) fn keep_path(model: &mut Model, what: SaveWhat, path: &str) {
    let texts = if path.trim().is_empty() { FieldTexts::default() } else { FieldTexts::of(PATH, path) };
    let dialog = save_dialog(model, what);
    model.unconfirmed_texts.keep(dialog, texts);
}

/// Identity of the REPL of a turn.
fn repl(inspector: &Inspector) -> DialogId {
    DialogId { title: "REPL".to_owned(), subject: inspector.subject.name(), at: Some(inspector.turn.clone()) }
}

/// Keeps the input of the REPL of the open turn, which is left.
pub(super) fn keep_input(model: &mut Model) {
    let Some(open) = &model.inspector else { return };
    let text = open.repl.input.text();
    let left = if text.trim().is_empty() { FieldTexts::default() } else { FieldTexts::of(INPUT, text) };
    model.unconfirmed_texts.keep(repl(open), left);
}

/// Puts the kept input of the open turn into its REPL.
pub(super) fn restore_input(model: &mut Model) {
    let Some(open) = &mut model.inspector else { return };
    if let Some(text) = model.unconfirmed_texts.take(&repl(open)).take_text(INPUT) {
        open.repl.input.paste(&text);
    }
}

/// Closes the open turn.
pub(super) fn close_inspector(model: &mut Model) {
    keep_input(model);
    model.inspector = None;
}

/// A question has ended without an answer: what was typed for it has no place any more, and can be pasted.
pub(super) fn hand_over(model: &mut Model, why: &str, text: String) {
    model.clipboard = text;
    let paste = model.keymap.first_name(Action::Paste);
    model.show_toast(Tone::Info, format!("{why}: {paste} in a text inserts what you wrote"));
}

/// Closes the question for a path, or whether the path is overwritten: a path that was typed is kept.
pub(super) fn close_path(model: &mut Model, popup: &Popup) {
    match popup {
        Popup::SavePath { what, field, .. } => {
            if let Some(path) = field.typed() {
                keep_path(model, *what, path);
            }
        }
        Popup::Overwrite { path } if !model.overwrites_own_file(std::slice::from_ref(popup)) => {
            keep_path(model, SaveWhat::Agent, path);
        }
        _ => {}
    }
}
