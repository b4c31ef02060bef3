//! Searching a transcript, and selecting and copying parts of it.

use crossterm::event::MouseEvent;
use ratatui::layout::{Position, Rect};

use crate::tui::actions::Action;
use crate::tui::direction::Direction;
use crate::tui::draft::{Draft, Reach};
use crate::tui::message::Effect;
use crate::tui::model::{Model, Popup, RunView, Screen, Tone};
use crate::tui::transcript::{Scroll, Spot};

/// Two clicks on one place within this time, in ms, are one double click.
const DOUBLE_CLICK_MS: i64 = 400;
/// While the mouse is held above or below the pane, the text moves one line in this time, in ms.
pub(in crate::tui) const AUTOSCROLL_MS: i64 = 40;

/// Selects the card under the mouse for the following action.
pub(super) fn point(model: &mut Model, at: Position) {
    if let Some((view, area)) = on_screen(model).filter(|(_, area)| area.contains(at)) {
        view.transcript.point(usize::from(at.y - area.y));
    }
}

/// The run or session whose transcript is on the screen, and where that was drawn.
pub(super) fn on_screen(model: &mut Model) -> Option<(&mut RunView, Rect)> {
    if model.screen == Screen::Workbench {
        return Some((model.workbench.run.as_mut()?, model.workbench.run_area));
    }
    if model.screen == Screen::Sessions {
        return Some((model.sessions.viewer.as_mut()?, model.sessions.viewer_area));
    }
    None
}

/// Does what can be done with texts of a transcript, of a turn that is taken apart, or of the help.
pub(super) fn act(model: &mut Model, action: Action) -> Vec<Effect> {
    match action {
        Action::SeekNext if model.popups.len() > 1 => help_match(model, Direction::Forward),
        Action::SeekPrevious if model.popups.len() > 1 => help_match(model, Direction::Back),
        Action::SeekNext | Action::SeekPrevious if model.inspector.is_some() => {
            let direction = if action == Action::SeekNext { Direction::Forward } else { Direction::Back };
            model.inspector.iter_mut().for_each(|open| open.next_match(direction));
            Vec::new()
        }
        Action::Seek => find(model),
        Action::SeekNext => next(model, Direction::Forward),
        Action::SeekPrevious => next(model, Direction::Back),
        Action::SeekRepeats => repeats(model),
        _ => copy(model),
    }
}

/// Asks what to look for.
fn find(model: &mut Model) -> Vec<Effect> {
    let mut input = Draft::default();
    if let Some(open) = model.inspector.as_ref().filter(|_| model.popups.is_empty()) {
        input.insert(open.needle());
        input.select_all();
    } else if let Some((view, _)) = on_screen(model) {
        input.insert(view.transcript.needle());
        input.select_all();
    }
    model.popups.push(Popup::Seek { input });
    Vec::new()
}

/// The text to look for has changed.
pub(super) fn searched(model: &mut Model) -> Vec<Effect> {
    let Some(Popup::Seek { input }) = model.popups.last() else { return Vec::new() };
    let (needle, now_ms) = (input.text().to_owned(), model.now_ms);
    if let Some(Popup::Help { top }) = model.popups.iter_mut().rev().nth(1) {
        // From the start on: what is typed further narrows what is found.
        *top = 0;
        let first = crate::tui::view::help_places(model).first().copied();
        if let (Some(Popup::Help { top }), Some(first)) = (model.popups.iter_mut().rev().nth(1), first) {
            *top = first;
        }
        return Vec::new();
    }
    if let Some(open) = &mut model.inspector {
        if open.needle() != needle {
            open.look_for(&needle);
        }
        return Vec::new();
    }
    let Some((view, _)) = on_screen(model) else { return Vec::new() };
    if view.transcript.needle() == needle {
        return Vec::new();
    }
    view.transcript.look_for(&needle, now_ms);
    let unread = view.transcript.all_unread();
    match &view.key {
        Some(key) if view.replay.is_none() && !needle.is_empty() && !unread.is_empty() => {
            vec![Effect::FindUnread(key.clone(), needle, unread)]
        }
        _ => Vec::new(),
    }
}

/// The unread turns of a session that contain the search text.
pub(super) fn found_unread(
    model: &mut Model,
    session: &crate::workbench::SessionKey,
    needle: &str,
    turns: &[crate::event::Address],
) -> Vec<Effect> {
    let now_ms = model.now_ms;
    if let Some(viewer) = model.sessions.viewer.as_mut().filter(|viewer| viewer.key.as_ref() == Some(session)) {
        viewer.transcript.found_unread(needle, turns, now_ms);
    }
    Vec::new()
}

/// Searches whole requests, or only their new parts.
fn repeats(model: &mut Model) -> Vec<Effect> {
    let now_ms = model.now_ms;
    if let Some((view, _)) = on_screen(model) {
        view.transcript.toggle_repeats(now_ms);
    }
    Vec::new()
}

/// Scrolls the help below the search to the next row with the text.
fn help_match(model: &mut Model, direction: Direction) -> Vec<Effect> {
    let places = crate::tui::view::help_places(model);
    let Some(Popup::Help { top }) = model.popups.iter_mut().rev().nth(1) else { return Vec::new() };
    let next = match direction {
        Direction::Forward => places.iter().find(|place| **place > *top).or(places.first()),
        Direction::Back => places.iter().rev().find(|place| **place < *top).or(places.last()),
    };
    if let Some(place) = next {
        *top = *place;
    }
    Vec::new()
}

/// A search without matches is cleared.
pub(super) fn drop_useless(model: &mut Model) {
    let now_ms = model.now_ms;
    if let Some((view, _)) = on_screen(model)
        && view.transcript.found().1 == 0
    {
        view.transcript.look_for("", now_ms);
    }
}

/// Moves to the next or previous match.
fn next(model: &mut Model, direction: Direction) -> Vec<Effect> {
    let now_ms = model.now_ms;
    let Some((view, _)) = on_screen(model) else { return Vec::new() };
    view.transcript.next_match(direction, now_ms);
    if view.transcript.found().1 == 0 {
        let text = format!("no matches for `{}`", view.transcript.needle());
        model.show_toast(Tone::Info, text);
    }
    Vec::new()
}

/// Copies the selected text, or the selected card.
fn copy(model: &mut Model) -> Vec<Effect> {
    let now_ms = model.now_ms;
    let Some(text) = on_screen(model).and_then(|(view, _)| view.transcript.copied(now_ms)) else {
        model.show_toast(Tone::Info, "nothing is selected: choose a card with the arrows, or drag over text");
        return Vec::new();
    };
    super::edit::clip(model, text)
}

/// Clears the selection, else the search. Returns false when there was neither.
pub(super) fn put_aside(model: &mut Model) -> bool {
    let now_ms = model.now_ms;
    let Some((view, _)) = on_screen(model) else { return false };
    if view.transcript.drop_selection() {
        return true;
    }
    let searched = !view.transcript.needle().is_empty();
    if searched {
        view.transcript.look_for("", now_ms);
    }
    searched
}

/// A press in a transcript: a click selects a card, two clicks a word, holding the button a text.
/// With Shift the selection continues from its start.
pub(super) fn press(model: &mut Model, at: Position, reach: Reach) {
    let (now_ms, before) = (model.now_ms, model.pointer.pressed);
    model.pointer.pressed = Some((now_ms, at));
    let twice = before.is_some_and(|(when, place)| place == at && now_ms - when <= DOUBLE_CLICK_MS);
    let Some((view, area)) = on_screen(model).filter(|(_, area)| area.contains(at)) else { return };
    let spot = spot(view, area, at);
    if let (Reach::Extend, Some(spot)) = (reach, spot) {
        view.transcript.extend_selection(spot);
        model.pointer.drags = true;
        return;
    }
    view.transcript.drop_selection();
    match spot {
        Some(spot) if twice => view.transcript.select_word(spot),
        Some(spot) => {
            view.transcript.click(spot);
            view.transcript.begin_selection(spot);
        }
        None => {}
    }
    model.pointer.drags = spot.is_some() && !twice;
}

fn spot(view: &RunView, area: Rect, at: Position) -> Option<Spot> {
    let margin = area.x + crate::tui::view::MARGIN;
    view.transcript.spot_at(usize::from(at.y.saturating_sub(area.y)), usize::from(at.x.saturating_sub(margin)))
}

/// The mouse moved with the button held: the selection follows it, and the text moves when it leaves the pane.
pub(super) fn drag(model: &mut Model, at: Position) {
    if !model.pointer.drags {
        return;
    }
    model.pointer.outside = None;
    let Some((view, area)) = on_screen(model).filter(|(_, area)| !area.is_empty()) else { return };
    let inside = Position::new(at.x.clamp(area.left(), area.right() - 1), at.y.clamp(area.top(), area.bottom() - 1));
    if let Some(spot) = spot(view, area, inside) {
        view.transcript.extend_selection(spot);
    }
    if inside.y != at.y {
        model.pointer.outside = Some(at);
    }
}

/// The button was let go.
pub(super) fn release(model: &mut Model, _: MouseEvent) {
    model.pointer.outside = None;
    let dragged = std::mem::take(&mut model.pointer.drags);
    let key = model.keymap.first_name(Action::CopyPart);
    if dragged && on_screen(model).is_some_and(|(view, _)| view.transcript.has_selection()) {
        model.show_toast(Tone::Info, format!("{key} copies the selection"));
    }
}

/// The mouse is held above or below the pane: the text moves on.
pub(super) fn autoscroll(model: &mut Model) {
    let (now_ms, Some(at)) = (model.now_ms, model.pointer.outside) else { return };
    if now_ms < model.pointer.moved_ms + AUTOSCROLL_MS {
        return;
    }
    model.pointer.moved_ms = now_ms;
    if let Some((view, area)) = on_screen(model) {
        let by = if at.y < area.y { -1 } else { 1 };
        view.transcript.scroll(Scroll::Lines(by), now_ms);
        model.dirty = true;
    }
    crate::tui::layout(model);
    drag(model, at);
}
