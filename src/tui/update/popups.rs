//! Popups that list something to choose, and the preview: the menu, quick fixes, models, failures, what another mode would send.

use ratatui::layout::Position;

use crate::agent::{Fix, Mode, Place, set_option};
use crate::tui::actions::{Action, Context};
use crate::tui::draft::Reach;
use crate::tui::menu::{Line, lines, step};
use crate::tui::message::Effect;
use crate::tui::model::{Against, ContextView, Menu, Model, Pane, Picks, Popup, Screen, Tone, place_name};
use crate::workbench::ComparedPart;

/// Opens the menu of all available actions; at a place, only of those specific to it.
pub(super) fn open_menu(model: &mut Model, at: Option<Position>) -> Vec<Effect> {
    let mut contexts = model.contexts();
    if at.is_some() && contexts.iter().any(|context| !is_everywhere(*context)) {
        contexts.retain(|context| !is_everywhere(*context));
    }
    let all = lines(&contexts);
    if !all.is_empty() {
        let selected = step(&all, 0, 1);
        model.popups.push(Popup::Menu(Menu { at, contexts, selected, top: 0 }));
    }
    Vec::new()
}

fn is_everywhere(context: Context) -> bool {
    matches!(context, Context::Global | Context::Always)
}

pub(super) fn move_in_menu(model: &mut Model, by: isize) -> Vec<Effect> {
    if let Some(Popup::Menu(menu)) = model.popups.last_mut() {
        menu.selected = step(&lines(&menu.contexts), menu.selected, by);
    }
    Vec::new()
}

/// Does the selected action; one that is unavailable shows why and leaves the menu open.
pub(super) fn pick_from_menu(model: &mut Model) -> Vec<Effect> {
    let Some(Popup::Menu(menu)) = model.popups.last() else { return Vec::new() };
    let Some(Line::Row(row)) = lines(&menu.contexts).get(menu.selected).copied() else { return Vec::new() };
    let below = model.popups.split_last().map_or(&[][..], |(_, below)| below);
    if model.enabled_under(row.action, below).is_err() {
        return Vec::new();
    }
    model.popups.pop();
    super::keys::act(model, row.action)
}

/// Compares the preview with that of the next mode; after the last mode, shows it whole.
pub(super) fn compare_preview(model: &mut Model) -> Vec<Effect> {
    let Some(Popup::Preview { against, top }) = model.popups.last_mut() else { return Vec::new() };
    let own = model.workbench.preview.mode.split(' ').next().and_then(Mode::from_name);
    let next =
        against.as_ref().map_or(0, |held| Mode::ALL.iter().position(|mode| *mode == held.mode).map_or(0, |at| at + 1));
    let mode = Mode::ALL.into_iter().skip(next).find(|mode| Some(*mode) != own);
    *top = 0;
    *against = mode.map(|mode| Against { mode, held: None });
    let Some(mode) = mode else { return Vec::new() };
    let mut texts = model.workbench.texts();
    match set_option(&texts.options, "mode", mode.name(), String::new()) {
        Some(change) => texts.options.replace_range(change.span.start..change.span.end, &change.text),
        None => return preview_compared(model, mode, Err("the options are not TOML: correct them first".to_owned())),
    }
    vec![Effect::ComparePreview(mode, Box::new(texts), model.workbench.preview.sent.clone())]
}

/// The preview was compared with that mode, or that mode would send nothing.
pub(super) fn preview_compared(
    model: &mut Model,
    mode: Mode,
    result: Result<Vec<ComparedPart>, String>,
) -> Vec<Effect> {
    // The help may have been opened over it meanwhile.
    let asked = model.popups.iter_mut().find_map(|popup| match popup {
        Popup::Preview { against: Some(against), .. } => Some(against).filter(|against| against.mode == mode),
        _ => None,
    });
    if let Some(against) = asked {
        against.held = Some(result);
    }
    Vec::new()
}

/// Makes the only fix there is, or shows those there are. A finding of another editor is gone to first.
pub(super) fn fix(model: &mut Model) -> Vec<Effect> {
    let Some(finding) = model.workbench.fixable().cloned() else { return Vec::new() };
    if model.workbench.focus != Pane::Editor(finding.place) || model.screen != Screen::Workbench {
        super::keys::go_to(model, Pane::Editor(finding.place));
        if finding.place == Place::Context {
            model.workbench.inputs.focus_on(&finding);
        }
        if let Some(span) = finding.span {
            model.workbench.editor_mut(finding.place).draft.place(span.start, Reach::Move);
        }
        let (key, first) = (model.keymap.first_name(Action::Fix), finding.fixes.first());
        let title = first.map_or("", |fix| fix.title.as_str());
        model.show_toast(Tone::Info, format!("{}: {key} again to {title}", place_name(finding.place)));
        return Vec::new();
    }
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

/// Shows the models that can be used, and the faults of the sample model, as changes of the options.
pub(super) fn choose_model(model: &mut Model) -> Vec<Effect> {
    let preview = &model.workbench.preview;
    let message = format!("The model is {}. Others: write model = \"provider:model\" in the options.", preview.model);
    let used = format!("\"{}\"", preview.model);
    let selected = preview.models.iter().position(|fix| fix.text.contains(&used)).unwrap_or(0);
    let fixes = Picks::Fixes(preview.models.clone());
    model.screen = Screen::Workbench;
    model.popups.push(Popup::Fixes { title: "Models", message, fixes, selected });
    Vec::new()
}

/// Makes the selected fix, opens the selected failure where it happened, or goes to the selected match.
pub(super) fn choose(model: &mut Model) -> Vec<Effect> {
    if let Some(Popup::Fixes { fixes: Picks::Failures(lines), selected, .. }) = model.popups.last_mut()
        && let Some(line) = lines.get_mut(*selected).filter(|line| !line.rest.is_empty())
    {
        let rest = std::mem::take(&mut line.rest);
        drop(lines.splice(*selected..=*selected, rest));
        return Vec::new();
    }
    let Some(Popup::Fixes { fixes, selected, .. }) = model.popups.pop() else { return Vec::new() };
    match fixes {
        Picks::Question { request, .. } => super::suggest::send(model, request),
        Picks::Suggestion { .. } => super::suggest::accept(model, fixes, selected),
        Picks::Fixes(fixes) => fixes.get(selected).map_or_else(Vec::new, |fix| apply(model, fix)),
        Picks::Failures(failures) => {
            let Some(failing) = failures.into_iter().nth(selected) else { return Vec::new() };
            super::sessions::open_at(model, failing.session, failing.at)
        }
        Picks::Hits(hits) => {
            if let Some(hit) = hits.get(selected) {
                super::hits::go(model, hit.place);
            }
            Vec::new()
        }
    }
}

pub(super) fn move_choice(model: &mut Model, by: isize) -> Vec<Effect> {
    if let Some(Popup::Fixes { fixes, selected, .. }) = model.popups.last_mut() {
        *selected = selected.saturating_add_signed(by).min(fixes.count().saturating_sub(1));
    }
    Vec::new()
}

/// Changes the text as one undo step, and focuses it.
fn apply(model: &mut Model, fix: &Fix) -> Vec<Effect> {
    if model.workbench.checked != Some(model.workbench.version()) {
        model.show_toast(Tone::Info, "the texts are being checked; try again");
        return Vec::new();
    }
    let was_text = !model.workbench.is_context_readable();
    model.workbench.focus = Pane::Editor(fix.place);
    let editor = model.workbench.editor_mut(fix.place);
    editor.free = false;
    editor.draft.splice(fix.span.start..fix.span.end, &fix.text);
    // A text that has become a value is edited as one.
    if was_text && model.workbench.inputs.view == ContextView::Json && model.workbench.is_context_readable() {
        let switched = model.workbench.switch_context_view();
        tracing::debug!(?switched, "the context after a correction");
    }
    let undo = model.keymap.first_name(Action::Undo);
    model.show_toast(Tone::Good, format!("done: {}; {undo} reverts it", fix.title));
    Vec::new()
}
