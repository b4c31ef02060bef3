//! Opening the palette, moving in it, and doing the action that is picked.
//!
//! In: the palette on top. Out: of the picked action what it does, in another pane or on another screen when that is one step away, else
//! where it means something. What is on screen below the palette never changes before something is picked.

use super::keys::{act, go_to};
use super::unconfirmed_texts;
use crate::tui::actions::{ACTIONS, Action, ActionRow};
use crate::tui::draft::Draft;
use crate::tui::message::Effect;
use crate::tui::model::{Model, Popup, Tone};
use crate::tui::palette::{Entry, Way, entries, opener, way};
use crate::tui::sessions::SessionAction;

pub(super) fn open(model: &mut Model) -> Vec<Effect> {
    model.popups.push(Popup::Palette { input: Draft::default(), selected: 0 });
    Vec::new()
}

pub(super) fn step(model: &mut Model, by: isize) -> Vec<Effect> {
    let Some(Popup::Palette { input, .. }) = model.popups.last() else { return Vec::new() };
    let last = entries(model, input.text()).len().saturating_sub(1);
    if let Some(Popup::Palette { selected, .. }) = model.popups.last_mut() {
        *selected = (*selected).min(last).saturating_add_signed(by).min(last);
    }
    Vec::new()
}

/// Does the selected action, where it is available.
pub(super) fn pick(model: &mut Model) -> Vec<Effect> {
    let Some(Popup::Palette { input, selected }) = model.popups.last() else { return Vec::new() };
    let Some(Entry { row, .. }) = entries(model, input.text()).get(*selected).copied() else { return Vec::new() };
    model.popups.pop();
    match way(model, row) {
        Way::Here | Way::Shown => {}
        Way::Below => unconfirmed_texts::close_inspector(model),
        Way::Pane(pane) => _ = go_to(model, pane),
        Way::Opener(Some(screen @ (Action::Sessions | Action::Compare))) => return on_screen(model, row, screen),
        Way::Opener(_) => {
            explain_where(model, row);
            return Vec::new();
        }
    }
    act(model, row.action)
}

/// Goes to a screen and does the action there; what is done with one session waits until the user has chosen which.
fn on_screen(model: &mut Model, row: &ActionRow, screen: Action) -> Vec<Effect> {
    let mut effects = if model.enabled(screen).is_ok() { act(model, screen) } else { Vec::new() };
    let here = model.screen_contexts();
    let named = ACTIONS.iter().find(|other| other.action == row.action && here.contains(&other.context));
    match named {
        None => explain_where(model, row),
        Some(named) if is_about_one(row.action) => {
            let text = format!("select a session, then {} {}", model.keymap.first_name_of(named), row.title);
            model.show_toast(Tone::Info, text);
        }
        Some(_) => effects.extend(act(model, row.action)),
    }
    effects
}

/// Returns whether the action is about the selected session or line.
fn is_about_one(action: Action) -> bool {
    use Action as A;
    let of_list = matches!(action, A::OpenSession | A::Replay | A::ReplayLenient | A::Resume | A::TakeAgent);
    of_list
        || matches!(action, A::Session(action) if action.is_about_session() || action.is_mark() || action == SessionAction::Delete)
}

/// Explains where an action is available, and how to get there.
fn explain_where(model: &mut Model, row: &ActionRow) {
    let leads = opener(row.context).and_then(Action::row).map(|opener| match model.enabled(opener.action) {
        Err(reason) => format!("; {reason}"),
        Ok(()) => match model.keymap.first_name_of(opener) {
            key if way(model, opener) == Way::Here && !key.is_empty() => format!("; {key} leads there"),
            _ => format!("; `{}` leads there", opener.title),
        },
    });
    let text = format!("{} works in: {}{}", row.title, row.context.heading(), leads.unwrap_or_default());
    model.show_toast(Tone::Info, text);
}
