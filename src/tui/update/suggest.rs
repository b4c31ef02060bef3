//! "Suggest a fix for this failure": shows what is asked and what it may cost, then the suggested changes of the draft, of which the user
//! makes some.
//!
//! In: the answers of the archive. Out: popups and requests. It must never change a text that the user has not accepted; undo takes each
//! change back.

use crate::agent::{DraftTexts, Place};
use crate::event::ErrorRecord;
use crate::tui::actions::Action;
use crate::tui::archive::{ArchiveRequest, SuggestedTexts};
use crate::tui::message::Effect;
use crate::tui::model::{Model, Pane, Picks, Popup, Tone, place_name};
use crate::workbench::format::plural;
use crate::workbench::optimize::{SuggestRequest, edits};

/// The title of the popups.
const TITLE: &str = "Suggest a fix";

/// Shows the prepared request, and asks the user whether to send it.
pub(super) fn prepared(model: &mut Model, result: Result<Box<SuggestRequest>, ErrorRecord>) -> Vec<Effect> {
    match result {
        Err(error) => model.show_toast(Tone::Bad, format!("no suggestion: {}", error.message)),
        Ok(request) => {
            model.popups.retain(|popup| !matches!(popup, Popup::Fixes { fixes: Picks::Question { .. }, .. }));
            let cost = request.cost.map(|cost| format!(", cost about {cost:.4}")).unwrap_or_default();
            let problems = request.problems.join("; ");
            let message = format!("{}: {problems}", request.turn);
            let line = format!("ask {}: ~{}{cost}", request.model, plural(request.tokens, "token"));
            let fixes = Picks::Question { line, request };
            model.popups.push(Popup::Fixes { title: TITLE, message, fixes, selected: 0 });
        }
    }
    Vec::new()
}

/// The user sends the request.
pub(super) fn send(model: &mut Model, request: Box<SuggestRequest>) -> Vec<Effect> {
    let number = model.begin_suggesting(&request);
    vec![Effect::Archive(ArchiveRequest::Suggest(request, number))]
}

/// Stops the model that is asked. The draft stays as it is; the model's session keeps what it has.
pub(super) fn stop(model: &mut Model) -> Vec<Effect> {
    let Some(stopped) = model.suggestions.current.take() else { return Vec::new() };
    model.show_toast(Tone::Info, format!("stopped asking {} for a fix of {}", stopped.model, stopped.turn));
    vec![Effect::StopSuggestion]
}

/// Stops the model when the user has left the place at which it was asked.
pub(super) fn stop_when_left(model: &mut Model) -> Vec<Effect> {
    if model.has_left_suggestion() { stop(model) } else { Vec::new() }
}

/// The model answered: shows the changes of the texts that the user has not edited since. The result of a stopped request is dropped.
pub(super) fn suggested(
    model: &mut Model,
    number: u64,
    result: Result<Option<Box<SuggestedTexts>>, ErrorRecord>,
) -> Vec<Effect> {
    let Some(asked) = model.end_suggesting(number) else { return Vec::new() };
    match result {
        Ok(None) => {}
        Err(error) => model.show_toast(Tone::Bad, format!("no suggestion: {}", error.message)),
        Ok(Some(mut suggested)) => {
            let edited = keep_edited(&asked.texts, &model.workbench.texts(), &mut suggested.texts);
            let edited: Vec<String> = edited.into_iter().map(|place| place_name(place).to_lowercase()).collect();
            let edited = edited.join(", ");
            if !edited.is_empty() && edits(&model.workbench.texts(), &suggested.texts).is_empty() {
                let text = format!("the suggestion is about texts that were edited meanwhile ({edited}): ask again");
                model.show_toast(Tone::Bad, text);
                return Vec::new();
            }
            if !edited.is_empty() {
                suggested.message.push_str(&[" · edited meanwhile, and left as it is: ", &edited].concat());
            }
            show(model, suggested, 0);
        }
    }
    Vec::new()
}

/// Leaves the texts that were edited since the model was asked as they are; returns their places, as far as something was suggested for
/// them.
fn keep_edited(asked: &DraftTexts, now: &DraftTexts, suggested: &mut DraftTexts) -> Vec<Place> {
    let texts = [
        (Place::Prompt, &asked.prompt, &now.prompt, &mut suggested.prompt),
        (Place::Tools, &asked.tools, &now.tools, &mut suggested.tools),
        (Place::Options, &asked.options, &now.options, &mut suggested.options),
    ];
    let mut edited = Vec::new();
    for (place, asked, now, suggested) in texts {
        if asked != now && asked != suggested {
            edited.push(place);
        }
        if asked != now {
            suggested.clone_from(now);
        }
    }
    edited
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
    model.show_toast(Tone::Good, format!("changed: {}; {undo} reverts it", edit.fix.title));
    show(model, suggested, selected);
    Vec::new()
}
