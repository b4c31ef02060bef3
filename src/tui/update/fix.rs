//! Quick fixes: what one key corrects about a finding.

use crate::agent::Fix;
use crate::tui::actions::Action;
use crate::tui::message::Effect;
use crate::tui::model::{Model, Pane, Picks, Popup, Screen, Tone};

/// Makes the only fix there is, or shows those there are.
pub(super) fn fix(model: &mut Model) -> Vec<Effect> {
    let Some(finding) = model.workbench.fixable() else { return Vec::new() };
    match finding.fixes.as_slice() {
        [only] => {
            let only = only.clone();
            apply(model, &only)
        }
        several => {
            let message = finding.message.clone();
            let fixes = Picks::Fixes(several.to_vec());
            let popup = Popup::Fixes { title: "Quick fixes", message, fixes, selected: 0 };
            model.popups.push(popup);
            Vec::new()
        }
    }
}

/// Shows the models that can be used, as changes of the options.
pub(super) fn choose_model(model: &mut Model) -> Vec<Effect> {
    let preview = &model.workbench.preview;
    let message = format!("{} answers now. Others by name: model = \"provider:model\" in the options.", preview.model);
    let used = format!("\"{}\"", preview.model);
    let selected = preview.models.iter().position(|fix| fix.text.contains(&used)).unwrap_or(0);
    let fixes = Picks::Fixes(preview.models.clone());
    model.screen = Screen::Workbench;
    model.popups.push(Popup::Fixes { title: "Models", message, fixes, selected });
    Vec::new()
}

/// Makes the selected fix, or opens the selected failure where it happened.
pub(super) fn choose(model: &mut Model) -> Vec<Effect> {
    let Some(Popup::Fixes { fixes, selected, .. }) = model.popups.pop() else { return Vec::new() };
    match fixes {
        Picks::Fixes(fixes) => fixes.get(selected).map_or_else(Vec::new, |fix| apply(model, fix)),
        Picks::Failures(failures) => {
            let Some(failing) = failures.into_iter().nth(selected) else { return Vec::new() };
            super::sessions::open_at(model, failing.key, failing.at)
        }
    }
}

pub(super) fn move_choice(model: &mut Model, by: isize) -> Vec<Effect> {
    if let Some(Popup::Fixes { fixes, selected, .. }) = model.popups.last_mut() {
        *selected = selected.saturating_add_signed(by).min(fixes.count().saturating_sub(1));
    }
    Vec::new()
}

/// Changes the text, where undo takes it back; the focus goes there.
fn apply(model: &mut Model, fix: &Fix) -> Vec<Effect> {
    if model.workbench.checked != Some(model.workbench.version()) {
        model.say(Tone::Info, "the texts are being checked; try again");
        return Vec::new();
    }
    model.workbench.focus = Pane::Editor(fix.place);
    let editor = model.workbench.editor_mut(fix.place);
    editor.free = false;
    editor.draft.splice(fix.span.start..fix.span.end, &fix.text);
    let undo = model.keymap.first_name(Action::Undo);
    model.say(Tone::Good, format!("done: {}; {undo} takes it back", fix.title));
    Vec::new()
}
