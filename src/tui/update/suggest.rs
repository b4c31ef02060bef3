//! "Suggest a fix for this failure": shows what is asked and what it may cost, then the suggested changes of the draft, of which the user makes some.
//!
//! In: the answers of the archive. Out: popups and requests. It must never change a text that the user has not accepted; undo takes each change back.

use crate::agent::Place;
use crate::event::ErrorRecord;
use crate::tui::actions::Action;
use crate::tui::archive::{ArchiveRequest, SuggestedTexts};
use crate::tui::message::Effect;
use crate::tui::model::{Model, Pane, Picks, Popup, Tone};
use crate::workbench::format::plural;
use crate::workbench::optimize::{SuggestRequest, edits};

/// The title of the popups.
const TITLE: &str = "Suggest a fix";

/// What would be asked is known: asks the user whether it is sent.
pub(super) fn prepared(model: &mut Model, result: Result<Box<SuggestRequest>, ErrorRecord>) -> Vec<Effect> {
    match result {
        Err(error) => model.show_toast(Tone::Bad, format!("no suggestion: {}", error.message)),
        Ok(request) => {
            let cost = request.cost.map(|cost| format!(", cost about {cost:.4}")).unwrap_or_default();
            let problems = request.problems.join("; ");
            let message = format!("{}: {problems}", request.turn);
            let line = format!("ask {}: about {}{cost}", request.model, plural(request.tokens, "token"));
            let fixes = Picks::Question { line, request };
            model.popups.push(Popup::Fixes { title: TITLE, message, fixes, selected: 0 });
        }
    }
    Vec::new()
}

/// The user sends the request.
pub(super) fn send(model: &mut Model, request: Box<SuggestRequest>) -> Vec<Effect> {
    model.show_toast(Tone::Info, format!("{} is asked for a fix of {}", request.model, request.turn));
    vec![Effect::Archive(ArchiveRequest::Suggest(request, model.workbench.version()))]
}

/// The model answered: shows the changes of the draft, unless its texts have changed since.
pub(super) fn suggested(model: &mut Model, result: Result<Box<SuggestedTexts>, ErrorRecord>) -> Vec<Effect> {
    match result {
        Err(error) => model.show_toast(Tone::Bad, format!("no suggestion: {}", error.message)),
        Ok(suggested) if suggested.version != model.workbench.version() => {
            model.show_toast(Tone::Bad, "the texts have changed since the model was asked: ask again");
        }
        Ok(suggested) => show(model, suggested, 0),
    }
    Vec::new()
}

/// Shows what remains of a suggestion; nothing when all of it was made.
fn show(model: &mut Model, suggested: Box<SuggestedTexts>, selected: usize) {
    let edits = edits(&model.workbench.texts(), &suggested.texts);
    if edits.is_empty() {
        return;
    }
    let message = suggested.message.clone();
    let fixes = Picks::Suggestion { edits, suggested };
    let selected = selected.min(fixes.count().saturating_sub(1));
    model.popups.push(Popup::Fixes { title: "Suggested fix", message, fixes, selected });
}

/// Makes the change of the selected line, and shows the others.
pub(super) fn accept(model: &mut Model, picks: Picks, selected: usize) -> Vec<Effect> {
    let edit = picks.edit_at(selected).cloned();
    let Picks::Suggestion { suggested, .. } = picks else { return Vec::new() };
    let Some(edit) = edit else { return Vec::new() };
    let place: Place = edit.fix.place;
    super::keys::go_to(model, Pane::Editor(place));
    let editor = model.workbench.editor_mut(place);
    editor.free = false;
    editor.draft.splice(edit.fix.span.start..edit.fix.span.end, &edit.fix.text);
    let undo = model.keymap.first_name(Action::Undo);
    model.show_toast(Tone::Good, format!("changed: {}; {undo} takes it back", edit.fix.title));
    show(model, suggested, selected);
    Vec::new()
}
