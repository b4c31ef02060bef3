//! The tour: its steps, and its end by any key with an action on the screen below it.
//!
//! In: a key or a paste while the tour is on top. Out: the next step, or what the key does without the tour. It must never swallow a key
//! that acts.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::tui::actions::{Action, Context};
use crate::tui::keys;
use crate::tui::message::Effect;
use crate::tui::model::{Model, Popup, TOUR};

/// Moves through the tour; after its last step it ends.
pub(super) fn step(model: &mut Model, by: isize) -> Vec<Effect> {
    let Some(Popup::Tour(step)) = model.popups.last_mut() else { return Vec::new() };
    *step = step.saturating_add_signed(by);
    if *step < TOUR.len() {
        return Vec::new();
    }
    end(model).into_iter().collect()
}

/// Ends the tour, if it is on top.
pub(super) fn end(model: &mut Model) -> Option<Effect> {
    matches!(model.popups.last(), Some(Popup::Tour(_))).then(|| {
        model.popups.pop();
        Effect::TourSeen
    })
}

/// Ends the tour when the key has an action on the screen below it, and performs it there.
pub(super) fn end_by_key(model: &mut Model, key: KeyEvent) -> Option<Effect> {
    if !matches!(model.popups.last(), Some(Popup::Tour(_))) || !acts_below(model, key) {
        return None;
    }
    end(model)
}

fn acts_below(model: &Model, key: KeyEvent) -> bool {
    let own = model.keymap.action(key, &[Context::Tour, Context::Always]);
    if own.is_some() {
        return own == Some(Action::Help);
    }
    let contexts = model.screen_contexts();
    let types = matches!(key.code, KeyCode::Char(_))
        && !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SUPER)
        && contexts.contains(&Context::Text);
    let begins = || !model.keymap.following(keys::chord(key), &contexts).is_empty();
    types || model.keymap.action(key, &contexts).is_some() || begins()
}
