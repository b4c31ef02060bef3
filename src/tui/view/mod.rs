//! Views: what the model looks like. `layout` measures and fills caches, `draw` only reads.

mod answer;
mod areas;
mod bars;
mod budget;
mod choices;
mod chords;
mod compare;
mod editor;
mod form;
mod help;
mod inspector;
mod popups;
mod preview;
mod run;
mod sessions;
mod steps;
mod workbench;

use ptc_core::text::SafeText;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::actions::Action;
use super::model::{Model, Popup, SMALLEST, Screen};
use super::row::{Piece, Row};
use super::theme::Role;
use ptc_core::text::width::wrap;

/// Measures the screen for a frame of this size: areas, scroll positions, visible rows. Call it before [`draw`].
pub fn layout(model: &mut Model) {
    if !model.fits() {
        return;
    }
    match model.screen {
        Screen::Workbench => workbench::layout(model),
        Screen::Sessions => sessions::layout(model),
        Screen::Compare => compare::layout(model),
    }
    let screen = Rect::new(0, 0, model.size.0, model.size.1);
    if let Some(open) = &mut model.inspector {
        inspector::layout(open, screen);
    }
    if !model.popups.is_empty() {
        popups::layout(model);
    }
}

/// Draws a frame; gives the place of the cursor where text is typed.
pub fn draw(model: &Model, buffer: &mut Buffer) -> Option<Position> {
    let area = Rect::new(0, 0, model.size.0, model.size.1).intersection(buffer.area);
    if !model.fits() {
        too_small(model, area, buffer);
        return None;
    }
    buffer.set_style(area, model.theme.style(Role::Text));
    let below = match (&model.inspector, model.screen) {
        (Some(open), _) => inspector::draw(model, open, area, buffer),
        (None, Screen::Workbench) => workbench::draw(model, area, buffer),
        (None, Screen::Sessions) => sessions::draw(model, area, buffer),
        (None, Screen::Compare) => compare::draw(model, area, buffer),
    };
    if model.popups.is_empty() {
        let line = Rect { y: area.bottom().saturating_sub(2), height: 1, ..area };
        bars::long_toast(model, line, buffer);
    }
    let cursor = match model.popups.last() {
        Some(Popup::Seek { input }) => bars::find(model, input, area, buffer),
        Some(popup) => popups::draw(model, popup, area, buffer),
        None => below,
    };
    chords::draw(model, area, buffer);
    cursor
}

/// The action whose key or title in a footer is at this place.
pub(super) fn footer_action(model: &Model, at: Position) -> Option<Action> {
    let screen = Rect::new(0, 0, model.size.0, model.size.1);
    let footer = match model.popups.last() {
        Some(popup) => popups::footer(model, popup, screen),
        None => line_of(screen, usize::from(screen.height.saturating_sub(1))),
    };
    footer.contains(at).then(|| bars::footer_action(model, footer, at.x)).flatten()
}

/// The palette's entry, or the fix, at this place.
pub(super) fn popup_row(model: &Model, at: Position) -> Option<usize> {
    popups::row_at(model, model.popups.last()?, Rect::new(0, 0, model.size.0, model.size.1), at)
}

pub(super) use run::MARGIN;

/// Rows that the start of a question takes in its popup.
pub(super) fn asked_rows(model: &Model, start: &str) -> usize {
    popups::asked_rows_before(model, start)
}

/// Rows of a text popup below its last: how far it can be scrolled.
fn scroll_limit(rows: usize, height: u16) -> usize {
    rows.saturating_sub(usize::from(height))
}

fn too_small(model: &Model, area: Rect, buffer: &mut Buffer) {
    let (columns, rows) = model.size;
    let text = format!(
        "This terminal is {columns}×{rows}. The workbench needs {}×{}. Make it larger; Ctrl-Q leaves.",
        SMALLEST.0, SMALLEST.1
    );
    let text = SafeText::single_line(&text);
    for (line, range) in wrap(&text, usize::from(area.width)).into_iter().enumerate() {
        let row = Row::new([Piece::safe(Role::Text, text.slice(range))]);
        row.draw(line_of(area, line), buffer, model.theme);
    }
}

/// One line of an area; empty below it.
fn line_of(area: Rect, line: usize) -> Rect {
    let y = area.y.saturating_add(u16::try_from(line).unwrap_or(u16::MAX));
    if y >= area.bottom() { Rect::default() } else { Rect { y, height: 1, ..area } }
}

/// Is a popup of this kind on top?
fn is_reading(popup: &Popup) -> bool {
    matches!(popup, Popup::Help { .. } | Popup::Text { .. })
}
