//! Typing, moving, pasting and the hand-over to `$EDITOR`.

use crate::agent::{Mode, Place, set_option};
use crate::event::ErrorRecord;
use crate::tui::actions::Action;
use crate::tui::compare::Page;
use crate::tui::draft::{Draft, Motion, Reach};
use crate::tui::form::Input;
use crate::tui::inspector::Focus;
use crate::tui::message::Effect;
use crate::tui::model::{Editor, Model, Pane, Popup, Screen, Tone, place_name};
use crate::tui::sessions::{Dialog, Purpose, workbench};
use crate::workbench::format::size;

use super::{response, unconfirmed_texts};

/// Columns of a text that is not wrapped.
const ONE_LINE: usize = usize::MAX >> 1;

/// A place where text is typed.
enum Field<'a> {
    /// Several lines.
    Lines(&'a mut Editor),
    /// One line; line breaks become spaces.
    Line(&'a mut Draft),
}

fn field(model: &mut Model) -> Option<Field<'_>> {
    match model.popups.last_mut() {
        Some(Popup::Palette { input, .. } | Popup::Turns { input, .. } | Popup::Seek { input }) => {
            return Some(Field::Line(input));
        }
        Some(Popup::SavePath { field, .. }) => return field.draft_mut().map(Field::Line),
        Some(Popup::Find(find)) => return Some(Field::Line(find.input_mut())),
        Some(popup) if popup.is_choice() => return None,
        Some(Popup::Answer { editor, .. }) => return Some(Field::Lines(editor)),
        Some(Popup::Form(form, _)) if form.waiting.is_some() => return None,
        Some(Popup::Form(form, _)) => {
            return match &mut form.focused_mut()?.input {
                Input::Choice { .. } => None,
                Input::Line(draft) => Some(Field::Line(draft)),
                Input::Text(editor, _) => Some(Field::Lines(editor)),
            };
        }
        Some(_) => return None,
        None => {}
    }
    if let Some(inspector) = &mut model.inspector {
        return (inspector.focus == Focus::Input).then_some(Field::Line(&mut inspector.repl.input));
    }
    match (model.screen, model.workbench.focus) {
        (Screen::Sessions, _) => model.sessions.filtering.then_some(Field::Line(&mut model.sessions.filter)),
        (Screen::Compare, _) if model.compare.page == Page::Form => model.compare.form.draft_mut().map(Field::Line),
        (Screen::Workbench, Pane::Editor(place)) => Some(Field::Lines(model.workbench.edited_mut(place))),
        (Screen::Compare | Screen::Tests | Screen::Traffic | Screen::Candidates, _)
        | (Screen::Workbench, Pane::Run | Pane::Steps) => None,
    }
}

/// Changes the text that has the focus; the closure also gets the wrap width.
pub(super) fn change(model: &mut Model, edit: impl FnOnce(&mut Draft, usize)) -> Vec<Effect> {
    match field(model) {
        Some(Field::Lines(editor)) => {
            editor.free = false;
            let columns = text_columns(editor);
            edit(&mut editor.draft, columns);
        }
        Some(Field::Line(draft)) => edit(draft, ONE_LINE),
        None => {}
    }
    if let Some(Popup::Palette { selected, .. }) = model.popups.last_mut() {
        *selected = 0;
    }
    let mut effects = super::dialog::changed(model);
    effects.extend(super::reading::searched(model));
    super::overview::typed(model);
    effects
}

/// Columns that an editor's text wraps at: one is left for the cursor.
pub(super) fn text_columns(editor: &Editor) -> usize {
    usize::from(editor.area.width.max(2) - 1)
}

pub(super) fn typed(model: &mut Model, c: char) -> Vec<Effect> {
    change(model, |draft, _| draft.insert(c.encode_utf8(&mut [0; 4])))
}

pub(super) fn go(model: &mut Model, motion: Motion, reach: Reach) -> Vec<Effect> {
    // A page shows every row: none is passed over.
    let page = crate::tui::view::question_rows(model).map_or(1, |rows| usize::from(rows).saturating_sub(1).max(1));
    if let Some(Popup::Answer { question, top, .. }) = model.popups.last_mut()
        && !question.options.is_empty()
    {
        // No text is typed here: the keys move what is asked. The view clamps it.
        *top = match motion {
            Motion::Up(rows) => top.saturating_sub(rows.min(page)),
            Motion::Down(rows) => top.saturating_add(rows.min(page)),
            Motion::Start | Motion::LineStart => 0,
            Motion::End | Motion::LineEnd => usize::MAX,
            _ => *top,
        };
        return Vec::new();
    }
    change(model, |draft, columns| draft.go(motion, reach, columns))
}

/// A paste of the terminal; a dialog that is still read keeps it.
pub(super) fn pasted(model: &mut Model, text: &str) -> Vec<Effect> {
    let seen = super::tour::end(model);
    super::question::yield_to_text(model);
    let effects = if super::dialog::hold_paste(model, text) { Vec::new() } else { paste(model, text) };
    seen.into_iter().chain(effects).collect()
}

pub(super) fn paste(model: &mut Model, text: &str) -> Vec<Effect> {
    model.toast = None;
    let contexts = model.contexts();
    match field(model) {
        Some(Field::Line(draft)) => draft.paste(&text.split(['\n', '\r']).collect::<Vec<_>>().join(" ")),
        Some(Field::Lines(editor)) => {
            editor.free = false;
            editor.draft.paste(text);
        }
        None => {
            let helps = super::keys::what_helps(model, &contexts);
            model.show_toast(Tone::Info, format!("nothing here takes text; {helps}"));
        }
    }
    let mut effects = super::dialog::changed(model);
    effects.extend(super::reading::searched(model));
    super::overview::typed(model);
    effects
}

pub(super) fn copy(model: &mut Model) -> Vec<Effect> {
    let Some(text) = model.active_draft().and_then(Draft::selected).map(str::to_owned) else { return Vec::new() };
    clip(model, text)
}

/// Keeps a text to be pasted here, and hands it to the clipboards outside.
pub(super) fn clip(model: &mut Model, text: String) -> Vec<Effect> {
    let long = text.len() > crate::tui::terminal::LONGEST_CLIP;
    let more = if long { "; it is too long for the terminal's own clipboard" } else { "" };
    let characters = crate::tui::transcript::format::plural(text.chars().count() as u64, "character");
    model.show_toast(Tone::Good, format!("copied {characters}{more}"));
    model.clipboard.clone_from(&text);
    vec![Effect::Clip(text)]
}

pub(super) fn cut(model: &mut Model) -> Vec<Effect> {
    let mut effects = copy(model);
    effects.extend(change(model, |draft, columns| draft.delete(Motion::Right, columns)));
    effects
}

/// Takes the last change back; of an input without changes of its own, that of the context.
pub(super) fn undo(model: &mut Model) -> Vec<Effect> {
    let workbench = &mut model.workbench;
    let is_input = model.popups.is_empty()
        && model.inspector.is_none()
        && model.screen == Screen::Workbench
        && workbench.focus == Pane::Editor(Place::Context)
        && workbench.inputs.is_shown();
    if is_input && !workbench.edited(Place::Context).draft.can_undo() {
        workbench.editor_mut(Place::Context).draft.undo();
        return Vec::new();
    }
    change(model, |draft, _| _ = draft.undo())
}

/// Edits the context as fields, or as JSON text.
pub(super) fn switch_context_view(model: &mut Model) -> Vec<Effect> {
    match model.workbench.switch_context_view() {
        Ok(()) => {
            let key = model.keymap.first_name(Action::ContextView);
            let shown = if model.workbench.inputs.is_shown() { "inputs as fields" } else { "inputs as JSON" };
            model.show_toast(Tone::Info, format!("{shown}; {key} switches back"));
        }
        Err(reason) => model.show_toast(Tone::Bad, format!("inputs cannot be shown as fields: {reason}")),
    }
    Vec::new()
}

/// Asks which file is inserted at the cursor.
pub(super) fn ask_file(model: &mut Model) -> Vec<Effect> {
    unconfirmed_texts::show(model, Dialog::new(workbench::insert_file(), Purpose::InsertFile))
}

/// The file was read, or not: its text replaces the selection.
pub(super) fn file_read(model: &mut Model, result: Result<String, ErrorRecord>) -> Vec<Effect> {
    let inserts_file = |purpose: &Purpose| matches!(purpose, Purpose::InsertFile);
    match result {
        Ok(text) => {
            response::confirm(model, inserts_file);
            if let Pane::Editor(place) = model.workbench.focus {
                model.workbench.edited_mut(place).draft.paste(&text);
                model.show_toast(Tone::Good, format!("inserted {}", size(text.len() as u64)));
            }
        }
        Err(error) => response::refuse(model, inserts_file, "not inserted: ", error.message),
    }
    Vec::new()
}

/// Hands the focused text to `$EDITOR`.
pub(super) fn external(model: &mut Model) -> Vec<Effect> {
    match model.workbench.focus {
        Pane::Editor(place) => vec![Effect::Edit(place, model.workbench.edited(place).draft.text().to_owned())],
        Pane::Run | Pane::Steps => Vec::new(),
    }
}

/// Applies the result of `$EDITOR`: its text is one more change that undo reverts.
pub(super) fn edited(model: &mut Model, place: Place, result: Result<String, String>) -> Vec<Effect> {
    match result {
        Ok(text) => {
            let editor = model.workbench.edited_mut(place);
            let ended = editor.draft.text().ends_with('\n');
            let text = if ended { text.as_str() } else { text.strip_suffix('\n').unwrap_or(&text) };
            editor.draft.replace_all(text);
            editor.free = false;
        }
        Err(error) => model.show_toast(Tone::Bad, format!("{} was not edited: {error}", place_name(place))),
    }
    Vec::new()
}

/// Writes the mode into the options, where undo takes it back.
pub(super) fn choose_mode(model: &mut Model, mode: Mode) -> Vec<Effect> {
    let draft = &mut model.workbench.editor_mut(Place::Options).draft;
    let Some(change) = set_option(draft.text(), "mode", mode.name(), String::new()) else {
        model.show_toast(Tone::Bad, "the options are not TOML: correct them first");
        return Vec::new();
    };
    draft.splice(change.span.start..change.span.end, &change.text);
    model.show_toast(Tone::Good, format!("the draft is in mode {mode} now"));
    Vec::new()
}
