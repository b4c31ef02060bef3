//! The mouse: wheel, and clicks that focus, place the cursor, select and fold.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use crate::tui::actions::Action;
use crate::tui::backend::SessionSummary;
use crate::tui::draft::Reach;
use crate::tui::message::Effect;
use crate::tui::model::{Editor, Model, PLACES, Pane, Popup, Screen};
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
    match event.kind {
        MouseEventKind::ScrollDown => wheel(model, at, WHEEL_LINES),
        MouseEventKind::ScrollUp => wheel(model, at, -WHEEL_LINES),
        MouseEventKind::Down(MouseButton::Left) => {
            model.toast = None;
            return press(model, at);
        }
        MouseEventKind::Drag(MouseButton::Left) if model.pointer.drags => super::reading::drag(model, at),
        MouseEventKind::Up(MouseButton::Left) => {
            model.mouse.divider = false;
            super::reading::release(model, event);
        }
        MouseEventKind::Drag(MouseButton::Left) => drag(model, at),
        _ => {}
    }
    Vec::new()
}

/// The button went down: a footer's key, the title bar, the divider, or the place of a cursor; twice takes a word.
fn press(model: &mut Model, at: Position) -> Vec<Effect> {
    let before = model.mouse.pressed.replace((model.now_ms, at));
    if let Some(action) = view::footer_action(model, at) {
        return super::keys::act(model, action);
    }
    if let Some(row) = view::popup_row(model, at) {
        return choose(model, row);
    }
    if model.popups.is_empty() && at.y == 0 {
        return super::keys::act(model, Action::Palette);
    }
    if model.popups.is_empty() && on_divider(model, at) {
        model.mouse.divider = true;
        return Vec::new();
    }
    click(model, at, Reach::Move);
    let twice = before.is_some_and(|(when, place)| place == at && model.now_ms - when <= TWICE_MS);
    if twice && model.popups.is_empty() && model.screen == Screen::Workbench {
        model.mouse.pressed = None;
        if let Pane::Editor(place) = model.workbench.focus
            && model.workbench.editor(place).area.contains(at)
        {
            model.workbench.editor_mut(place).draft.select_word();
        }
    }
    Vec::new()
}

/// Takes the entry of the palette, or the fix, that was clicked.
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
        _ => return Vec::new(),
    };
    super::keys::act(model, action)
}

/// Is this the line between editors and run?
fn on_divider(model: &Model, at: Position) -> bool {
    let run = model.workbench.run_area;
    let left = run.x.checked_sub(1);
    model.screen == Screen::Workbench && model.wide() && left == Some(at.x) && at.y + 1 >= run.y && at.y <= run.bottom()
}

fn wheel(model: &mut Model, at: Position, lines: isize) {
    if let Some(popup) = model.popups.last_mut() {
        match popup {
            Popup::Help { top } | Popup::Text { top, .. } | Popup::Answer { top, .. } => {
                *top = top.saturating_add_signed(lines);
            }
            Popup::Form(form, _) => form.top = form.top.saturating_add_signed(lines),
            Popup::Palette { selected, .. } => *selected = selected.saturating_add_signed(lines.signum()),
            _ => {}
        }
        return;
    }
    if let Some(inspector) = &mut model.inspector {
        return inspector.wheel(at, lines);
    }
    let now_ms = model.now_ms;
    match model.screen {
        Screen::Sessions => match &mut model.sessions.viewer {
            Some(viewer) => viewer.transcript.scroll(Scroll::Lines(lines), now_ms),
            None => _ = super::sessions::select(model, lines.signum()),
        },
        Screen::Compare => compare::wheel(model, at, lines),
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
            if let Some(editor) = model.workbench.editors.iter_mut().find(|editor| editor.area.contains(at)) {
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

fn click(model: &mut Model, at: Position, reach: Reach) {
    if let Some(popup) = model.popups.last_mut() {
        if let Popup::Answer { editor, .. } = popup
            && editor.area.contains(at)
        {
            place(editor, at, reach);
        }
        return;
    }
    if let Some(inspector) = &mut model.inspector {
        return inspector.click(at);
    }
    match model.screen {
        Screen::Sessions => click_session(model, at),
        Screen::Compare => compare::click(model, at),
        Screen::Workbench => {
            let hit = model.workbench.editors.iter().position(|editor| editor.area.contains(at));
            if let Some(index) = hit {
                model.workbench.focus = Pane::Editor(PLACES[index]);
                place(&mut model.workbench.editors[index], at, reach);
            } else if model.workbench.run_area.contains(at) {
                model.workbench.focus = Pane::Run;
                super::reading::press(model, at);
            }
        }
    }
}

fn click_session(model: &mut Model, at: Position) {
    if model.sessions.viewer.is_some() {
        super::reading::press(model, at);
    } else if model.sessions.area.contains(at) {
        let row = usize::from(at.y - model.sessions.area.y) + model.sessions.top;
        let hit = model.sessions.shown().nth(row).map(SessionSummary::key);
        super::sessions::pick(model, hit);
    }
}

fn drag(model: &mut Model, at: Position) {
    if model.inspector.is_some() {
        return;
    }
    if model.mouse.divider {
        let percent = (u32::from(at.x) * 100).div_ceil(u32::from(model.size.0.max(1)));
        model.workbench.split = u16::try_from(percent).unwrap_or(100).clamp(10, 90);
        return;
    }
    if let (None, Screen::Workbench, Pane::Editor(place_)) = (model.popups.last(), model.screen, model.workbench.focus)
    {
        let editor = model.workbench.editor_mut(place_);
        let area = editor.area;
        if !area.is_empty() {
            place(editor, clamp(at, area), Reach::Extend);
        }
    }
}

fn clamp(at: Position, area: Rect) -> Position {
    Position::new(at.x.clamp(area.left(), area.right() - 1), at.y.clamp(area.top(), area.bottom() - 1))
}

/// Puts the cursor under the mouse.
fn place(editor: &mut Editor, at: Position, reach: Reach) {
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
