//! The mouse: wheel, clicks that focus, place the cursor, select and fold, menus, and texts that are selected by dragging.

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use crate::agent::Place;
use crate::session::Summary;
use crate::tui::actions::Action;
use crate::tui::direction::Leap;
use crate::tui::draft::Reach;
use crate::tui::form::Input;
use crate::tui::message::Effect;
use crate::tui::model::{Editor, Model, PLACES, Pane, Popup, SEARCHING, Screen, Sweep, Tone};
use crate::tui::overview::Step;
use crate::tui::transcript::Scroll;
use crate::tui::view;

use super::compare;
use super::edit::text_columns;

/// Two presses at one place within this time are a double click.
const TWICE_MS: i64 = 400;
/// Lines per notch of the wheel.
const WHEEL_LINES: isize = 3;

pub(super) fn mouse(model: &mut Model, event: MouseEvent) -> Vec<Effect> {
    crate::tui::layout(model);
    let at = Position::new(event.column, event.row);
    let reach = if event.modifiers.contains(KeyModifiers::SHIFT) { Reach::Extend } else { Reach::Move };
    match event.kind {
        MouseEventKind::ScrollDown => wheel(model, at, WHEEL_LINES),
        MouseEventKind::ScrollUp => wheel(model, at, -WHEEL_LINES),
        MouseEventKind::Down(MouseButton::Left) => {
            model.toast = None;
            model.pointer.sweep = None;
            model.sessions.awaited = None;
            model.mouse.held = true;
            return press(model, at, reach);
        }
        MouseEventKind::Down(MouseButton::Right) => {
            model.toast = None;
            return context_menu(model, at);
        }
        MouseEventKind::Drag(MouseButton::Left) if model.pointer.drags => super::reading::drag(model, at),
        MouseEventKind::Up(MouseButton::Left) => {
            model.mouse.divider = false;
            model.mouse.held = false;
            super::reading::release(model, event);
            return swept(model);
        }
        MouseEventKind::Drag(MouseButton::Left) => drag(model, at),
        _ => {}
    }
    Vec::new()
}

/// The button went down: a footer's key, the title bar, the divider, or the place of a cursor; twice takes a word, or opens what is listed.
fn press(model: &mut Model, at: Position, reach: Reach) -> Vec<Effect> {
    let before = model.mouse.pressed.replace((model.now_ms, at));
    if !model.is_answerable() {
        return Vec::new();
    }
    if let Some(action) = view::footer_action(model, at) {
        return super::keys::act(model, action);
    }
    if let Some(row) = view::popup_row(model, at) {
        return choose(model, row);
    }
    if view::next_to_menu(model, at) {
        model.popups.pop();
        return Vec::new();
    }
    if let Some(effects) = super::dialog::click(model, at, reach) {
        return effects;
    }
    if model.popups.is_empty() && at.y == 0 {
        let named = view::title_action(model, at.x);
        return super::keys::act(model, named.unwrap_or(Action::Menu));
    }
    if model.popups.is_empty() && on_divider(model, at) {
        model.mouse.divider = true;
        return Vec::new();
    }
    let taken = click(model, at, reach);
    if !taken {
        // Any other text on the screen is selected as displayed.
        model.pointer.sweep = Some(Sweep::new(view::text_area(model, at), at));
    }
    let twice = before.is_some_and(|(when, place)| place == at && model.now_ms - when <= TWICE_MS);
    if !twice || !model.popups.is_empty() {
        return Vec::new();
    }
    model.mouse.pressed = None;
    if model.screen == Screen::Sessions && model.sessions.viewer.is_none() && model.sessions.area.contains(at) {
        // Another row may be here when the search has ended.
        if model.sessions.is_stale() {
            model.show_toast(Tone::Info, format!("open: {SEARCHING}"));
            return Vec::new();
        }
        return super::keys::act(model, Action::OpenSession);
    }
    if let (Screen::Workbench, Pane::Editor(place)) = (model.screen, model.workbench.focus)
        && model.workbench.edited(place).area.contains(at)
    {
        model.workbench.edited_mut(place).draft.select_word();
    }
    Vec::new()
}

/// Right click: selects the item under the mouse and shows its actions.
fn context_menu(model: &mut Model, at: Position) -> Vec<Effect> {
    if matches!(model.popups.last(), Some(Popup::Menu(_))) {
        model.popups.pop();
    }
    if model.popups.is_empty() && model.inspector.is_none() {
        match model.screen {
            Screen::Workbench => {
                if let Some(hit) = editor_at(model, at) {
                    model.workbench.focus = Pane::Editor(hit);
                    // The selection stays, to be copied.
                    if model.workbench.edited(hit).draft.selection().is_none() {
                        place(model.workbench.edited_mut(hit), at, Reach::Move);
                    }
                } else if model.workbench.run_area.contains(at) {
                    model.workbench.focus = Pane::Run;
                    super::reading::point(model, at);
                }
            }
            Screen::Sessions if model.sessions.viewer.is_some() => super::reading::point(model, at),
            Screen::Sessions => click_session(model, at),
            Screen::Compare => compare::click(model, at),
            Screen::Tests => super::cases::click(model, at),
            Screen::Traffic => super::traffic::click(model, at),
            Screen::Candidates => super::candidates::click(model, at),
        }
    }
    super::popups::open_menu(model, Some(at))
}

/// The button was let go over a text that was swept: it is copied.
fn swept(model: &mut Model) -> Vec<Effect> {
    if model.pointer.sweep.as_ref().is_none_or(Sweep::is_empty) {
        model.pointer.sweep = None;
        return Vec::new();
    }
    // The press that began it is no first half of a double click.
    model.mouse.pressed = None;
    let text = view::swept(model);
    if text.is_empty() { Vec::new() } else { super::edit::clip(model, text) }
}

/// Chooses the clicked entry of a popup.
fn choose(model: &mut Model, row: usize) -> Vec<Effect> {
    let action = match model.popups.last_mut() {
        Some(Popup::Palette { selected, .. }) => {
            *selected = row;
            Action::Pick
        }
        Some(Popup::Fixes { selected, .. }) => {
            *selected = row;
            Action::FixApply
        }
        Some(Popup::Menu(menu)) => {
            menu.selected = row;
            Action::MenuPick
        }
        Some(Popup::Answer { question, .. }) => {
            let chosen = question.options.get(row).cloned();
            return chosen.map(|option| super::question::choose_option(model, &option)).unwrap_or_default();
        }
        _ => return Vec::new(),
    };
    super::keys::act(model, action)
}

/// Returns whether a position is on the line between editors and run.
fn on_divider(model: &Model, at: Position) -> bool {
    let run = model.workbench.run_area;
    // The rail of turns lies between the divider and the transcript.
    let rail = model.workbench.run.as_ref().map(|run| run.overview.area).filter(|rail| !rail.is_empty());
    let left = rail.map_or(run.x, |rail| rail.x.min(run.x)).checked_sub(1);
    model.screen == Screen::Workbench && model.wide() && left == Some(at.x) && at.y + 1 >= run.y && at.y <= run.bottom()
}

fn wheel(model: &mut Model, at: Position, lines: isize) {
    if let Some(popup) = model.popups.last_mut() {
        match popup {
            Popup::Help { top } | Popup::Preview { top, .. } | Popup::Answer { top, .. } => {
                *top = top.saturating_add_signed(lines);
            }
            Popup::Form(form, _) => form.top = form.top.saturating_add_signed(lines),
            Popup::Differs(differs) => differs.top = differs.top.saturating_add_signed(lines),
            Popup::Palette { selected, .. } => *selected = selected.saturating_add_signed(lines.signum()),
            Popup::Menu(_) => _ = super::popups::move_in_menu(model, lines.signum()),
            Popup::Fixes { .. } => _ = super::popups::move_choice(model, lines.signum()),
            _ => {}
        }
        return;
    }
    if let Some(inspector) = &mut model.inspector {
        return inspector.wheel(at, lines);
    }
    if super::overview::is_under(model, at) {
        let step = if lines < 0 { Step::Go(Leap::Up) } else { Step::Go(Leap::Down) };
        _ = super::overview::step(model, step);
        return;
    }
    let now_ms = model.now_ms;
    match model.screen {
        Screen::Sessions => match &mut model.sessions.viewer {
            Some(viewer) => viewer.transcript.scroll(Scroll::Lines(lines), now_ms),
            None => _ = super::sessions::select(model, lines.signum()),
        },
        Screen::Compare => compare::wheel(model, at, lines),
        Screen::Tests => super::cases::wheel(model, lines),
        Screen::Traffic => super::traffic::wheel(model, at, lines),
        Screen::Candidates => super::candidates::wheel(model, at, lines),
        Screen::Workbench if model.workbench.run_area.contains(at) => {
            if let Some(run) = &mut model.workbench.run {
                run.transcript.scroll(Scroll::Lines(lines), now_ms);
            }
        }
        Screen::Workbench if model.workbench.pipeline.is_some() => {
            if let Some((_, top)) = &mut model.workbench.pipeline {
                *top = top.saturating_add_signed(lines);
            }
        }
        Screen::Workbench => {
            let workbench = &mut model.workbench;
            let fields = workbench.inputs.fields.iter_mut().map(|field| &mut field.editor);
            if let Some(editor) = workbench.editors.iter_mut().chain(fields).find(|editor| editor.area.contains(at)) {
                scroll_editor(editor, lines);
            }
        }
    }
}

/// Scrolls an editor without moving its cursor.
fn scroll_editor(editor: &mut Editor, lines: isize) {
    editor.free = true;
    let columns = text_columns(editor);
    for _ in 0..lines.unsigned_abs() {
        let (line, row) = editor.scroll;
        let rows = editor.draft.rows_of(line, columns).len();
        editor.scroll = match lines < 0 {
            true if row > 0 => (line, row - 1),
            true if line > 0 => (line - 1, editor.draft.rows_of(line - 1, columns).len() - 1),
            false if row + 1 < rows => (line, row + 1),
            false if line + 1 < editor.draft.line_count() => (line + 1, 0),
            _ => (line, row),
        };
    }
}

/// Performs a click at a place. Returns whether the text there has its own selection.
fn click(model: &mut Model, at: Position, reach: Reach) -> bool {
    if let Some(popup) = model.popups.last_mut() {
        return match popup {
            Popup::Answer { editor, .. } if editor.area.contains(at) => {
                place(editor, at, reach);
                true
            }
            _ => false,
        };
    }
    if let Some(inspector) = &mut model.inspector {
        inspector.click(at);
        return false;
    }
    if super::overview::click(model, at) {
        if model.screen == Screen::Workbench {
            model.workbench.focus = Pane::Run;
        }
        return true;
    }
    if super::overview::is_under(model, at) {
        return false;
    }
    match model.screen {
        Screen::Sessions if model.sessions.viewer.is_some() => {
            super::reading::press(model, at, reach);
            model.sessions.viewer_area.contains(at)
        }
        Screen::Sessions => {
            click_session(model, at);
            false
        }
        Screen::Compare => {
            compare::click(model, at);
            false
        }
        Screen::Tests => {
            super::cases::click(model, at);
            false
        }
        Screen::Traffic => {
            super::traffic::click(model, at);
            false
        }
        Screen::Candidates => {
            super::candidates::click(model, at);
            false
        }
        Screen::Workbench => {
            let before = (model.workbench.focus, model.workbench.inputs.focus);
            if let Some(hit) = editor_at(model, at) {
                model.workbench.focus = Pane::Editor(hit);
                // A selection continues only in the text where it began.
                let reach =
                    if before == (model.workbench.focus, model.workbench.inputs.focus) { reach } else { Reach::Move };
                place(model.workbench.edited_mut(hit), at, reach);
                return true;
            }
            let in_run = model.workbench.run_area.contains(at);
            if in_run {
                model.workbench.focus = Pane::Run;
                super::reading::press(model, at, reach);
            }
            in_run && model.workbench.run.is_some()
        }
    }
}

/// The editor at this place; an input there gets the focus among the inputs.
fn editor_at(model: &mut Model, at: Position) -> Option<Place> {
    let workbench = &mut model.workbench;
    if let Some(field) = workbench.inputs.fields.iter().position(|field| field.editor.area.contains(at)) {
        workbench.inputs.focus = field;
        return Some(Place::Context);
    }
    workbench.editors.iter().position(|editor| editor.area.contains(at)).map(|index| PLACES[index])
}

fn click_session(model: &mut Model, at: Position) {
    if model.sessions.area.contains(at) {
        let row = usize::from(at.y - model.sessions.area.y) + model.sessions.top;
        let hit = model.sessions.shown().nth(row).map(Summary::key);
        super::sessions::pick(model, hit);
    }
}

fn drag(model: &mut Model, at: Position) {
    if let Some(sweep) = &mut model.pointer.sweep {
        return sweep.go(at);
    }
    if model.mouse.divider {
        let percent = (u32::from(at.x) * 100).div_ceil(u32::from(model.size.0.max(1)));
        model.workbench.split = u16::try_from(percent).unwrap_or(100).clamp(10, 90);
        return;
    }
    if let Some(editor) = typed_into(model)
        && !editor.area.is_empty()
    {
        let area = editor.area;
        place(editor, clamp(at, area), Reach::Extend);
    }
}

/// The text of several lines that has the focus.
fn typed_into(model: &mut Model) -> Option<&mut Editor> {
    match model.popups.last_mut() {
        Some(Popup::Answer { editor, .. }) => Some(editor),
        Some(Popup::Form(form, _)) => match &mut form.focused_mut()?.input {
            Input::Text(editor, _) => Some(editor),
            Input::Choice { .. } | Input::Line(_) => None,
        },
        Some(_) => None,
        None => match (&model.inspector, model.screen, model.workbench.focus) {
            (None, Screen::Workbench, Pane::Editor(place)) => Some(model.workbench.edited_mut(place)),
            _ => None,
        },
    }
}

fn clamp(at: Position, area: Rect) -> Position {
    Position::new(at.x.clamp(area.left(), area.right() - 1), at.y.clamp(area.top(), area.bottom() - 1))
}

/// Puts the cursor under the mouse.
pub(super) fn place(editor: &mut Editor, at: Position, reach: Reach) {
    let columns = text_columns(editor);
    let (mut line, mut row) = editor.scroll;
    for _ in editor.area.y..at.y {
        if row + 1 < editor.draft.rows_of(line, columns).len() {
            row += 1;
        } else if line + 1 < editor.draft.line_count() {
            line += 1;
            row = 0;
        } else {
            break;
        }
    }
    let rows = editor.draft.rows_of(line, columns);
    let byte = editor.draft.at_column(line, &rows, row, usize::from(at.x - editor.area.x));
    editor.draft.place(byte, reach);
}
