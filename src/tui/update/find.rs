//! Searching and replacing in the editors and in the fields of inputs.

use crate::tui::direction::Direction;
use crate::tui::draft::find::{self, SearchSyntax, Sought};
use crate::tui::draft::{Draft, Reach};
use crate::tui::message::Effect;
use crate::tui::model::{Find, FindField, Model, Pane, Popup, Tone};

/// Opens the search over the focused editor; a selection within one line becomes the search text.
pub(super) fn open(model: &mut Model) -> Vec<Effect> {
    let Pane::Editor(place) = model.workbench.focus else { return Vec::new() };
    let draft = &model.workbench.searched_editor_mut(place).draft;
    let selected = draft.selected().filter(|text| !text.contains('\n')).map(str::to_owned);
    let origin = draft.selection().map_or(draft.cursor(), |range| range.start);
    let last = model.last_find.clone();
    let is_new = selected.is_some();
    let sought = selected.or_else(|| last.as_ref().map(|last| last.sought.text().to_owned()));
    let mut find = Find::new(place, &sought.unwrap_or_default(), origin);
    if let Some(last) = last {
        find.with = Draft::new(last.with.text());
        // A selection is literal text.
        find.syntax = if is_new { find.syntax } else { last.syntax };
    }
    model.popups.push(Popup::Find(Box::new(find)));
    refresh(model);
    Vec::new()
}

/// The open search.
fn current(model: &mut Model) -> Option<&mut Find> {
    match model.popups.last_mut() {
        Some(Popup::Find(find)) => Some(find),
        _ => None,
    }
}

/// Searches again when the search text or the text has changed, and selects the first match after the start of the search.
pub(super) fn refresh(model: &mut Model) {
    let Some(Popup::Find(find)) = model.popups.last_mut() else { return };
    let editor = model.workbench.searched_editor_mut(find.place);
    let now = (find.sought.text().to_owned(), find.syntax, editor.draft.version());
    if find.searched.as_ref() == Some(&now) {
        return;
    }
    let new = find.searched.as_ref().is_none_or(|(text, syntax, _)| (text, syntax) != (&now.0, &now.1));
    find.searched = Some(now);
    match Sought::read(find.sought.text(), find.syntax) {
        Ok(sought) => {
            find.error = None;
            find.places = sought.places(editor.draft.text());
        }
        Err(error) => {
            find.error = Some(error);
            find.places.clear();
        }
    }
    if new && let Some(at) = find::next(&find.places, find.origin, Direction::Forward) {
        find::select(&mut editor.draft, &find.places[at]);
        editor.free = false;
    }
    model.last_find = Some((**find).clone());
}

/// Goes to the next or previous match.
pub(super) fn go(model: &mut Model, direction: Direction) -> Vec<Effect> {
    let Some(Popup::Find(find)) = model.popups.last_mut() else { return Vec::new() };
    let editor = model.workbench.searched_editor_mut(find.place);
    let selection = editor.draft.selection();
    let from = match direction {
        Direction::Forward => editor.draft.cursor(),
        Direction::Back => selection.map_or(editor.draft.cursor(), |range| range.start),
    };
    if let Some(at) = find::next(&find.places, from, direction) {
        find::select(&mut editor.draft, &find.places[at]);
        find.origin = find.places[at].start;
        editor.free = false;
    }
    Vec::new()
}

/// Moves between the search text and the replacement.
pub(super) fn switch_field(model: &mut Model) -> Vec<Effect> {
    if let Some(find) = current(model) {
        find.field = match find.field {
            FindField::Sought => FindField::With,
            FindField::With => FindField::Sought,
        };
    }
    Vec::new()
}

/// Switches between literal text and regular expression.
pub(super) fn switch_reading(model: &mut Model) -> Vec<Effect> {
    if let Some(find) = current(model) {
        find.syntax = match find.syntax {
            SearchSyntax::Literal => SearchSyntax::Regex,
            SearchSyntax::Regex => SearchSyntax::Literal,
        };
    }
    refresh(model);
    Vec::new()
}

/// Replaces the selected place and goes to the next; where none is selected, only goes.
pub(super) fn replace(model: &mut Model) -> Vec<Effect> {
    let Some(Popup::Find(find)) = model.popups.last_mut() else { return Vec::new() };
    let Ok(sought) = Sought::read(find.sought.text(), find.syntax) else { return Vec::new() };
    let draft = &mut model.workbench.searched_editor_mut(find.place).draft;
    if let Some(range) = draft.selection().filter(|range| find.places.contains(range)) {
        sought.replace(draft, &range, find.with.text());
        refresh(model);
    }
    go(model, Direction::Forward)
}

/// Replaces every place as one step of undo.
pub(super) fn replace_every(model: &mut Model) -> Vec<Effect> {
    let Some(Popup::Find(find)) = model.popups.last_mut() else { return Vec::new() };
    let Ok(sought) = Sought::read(find.sought.text(), find.syntax) else { return Vec::new() };
    let editor = model.workbench.searched_editor_mut(find.place);
    let count = sought.replace_every(&mut editor.draft, find.with.text());
    editor.free = false;
    refresh(model);
    let undo = model.keymap.first_name(crate::tui::actions::Action::Undo);
    match count {
        0 => model.show_toast(Tone::Info, "no matches"),
        1 => model.show_toast(Tone::Good, format!("replaced 1 match; {undo} in the text reverts it")),
        _ => model.show_toast(Tone::Good, format!("replaced {count} matches; {undo} in the text reverts them")),
    }
    Vec::new()
}

/// Leaves the search; the place that was found stays selected.
pub(super) fn closed(model: &mut Model, find: &Find) {
    // The replacement may have been typed after the last search.
    model.last_find = Some(find.clone());
    if find.places.is_empty() {
        model.workbench.searched_editor_mut(find.place).draft.place(find.origin, Reach::Move);
    }
}
