//! Opening the menu, moving in it, doing what was chosen.

use ratatui::layout::Position;

use crate::tui::actions::Context;
use crate::tui::menu::{Line, lines, step};
use crate::tui::message::Effect;
use crate::tui::model::{Menu, Model, Popup};

/// Opens the menu of everything that means something now; at a place, only of what is special there.
pub(super) fn open(model: &mut Model, at: Option<Position>) -> Vec<Effect> {
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

pub(super) fn go(model: &mut Model, by: isize) -> Vec<Effect> {
    if let Some(Popup::Menu(menu)) = model.popups.last_mut() {
        menu.selected = step(&lines(&menu.contexts), menu.selected, by);
    }
    Vec::new()
}

/// Does the selected action; one that cannot be done says why and leaves the menu open.
pub(super) fn pick(model: &mut Model) -> Vec<Effect> {
    let Some(Popup::Menu(menu)) = model.popups.last() else { return Vec::new() };
    let Some(Line::Row(row)) = lines(&menu.contexts).get(menu.selected).copied() else { return Vec::new() };
    let below = model.popups.split_last().map_or(&[][..], |(_, below)| below);
    if model.enabled_below(row.action, below).is_err() {
        return Vec::new();
    }
    model.popups.pop();
    super::keys::act(model, row.action)
}
