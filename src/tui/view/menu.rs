//! The menu: a box at the mouse, or below the title bar, with headings, actions, their keys, and why one cannot be done.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::areas::line_of;
use super::bars;
use crate::tui::actions::ActionRow;
use crate::tui::menu::{Line, lines};
use crate::tui::model::{Menu, Model};
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use ptc_core::text::width::{truncate, width};

/// Columns of a menu, when the screen has them.
const COLUMNS: u16 = 46;
/// Margin between the menu and the edges of the screen.
const EDGE: u16 = 1;

/// The box of a menu: where the mouse is, moved so that all of it is seen.
pub(super) fn frame(menu: &Menu, screen: Rect) -> Rect {
    let columns = COLUMNS.min(screen.width.saturating_sub(2));
    let wanted = u16::try_from(lines(&menu.contexts).len()).unwrap_or(u16::MAX).saturating_add(4);
    let rows = wanted.min(screen.height.saturating_sub(2));
    let at = menu.at.unwrap_or(Position::new(EDGE, 1));
    let x = at.x.min(screen.width.saturating_sub(columns + EDGE));
    let y = at.y.min(screen.height.saturating_sub(rows + EDGE));
    Rect::new(x, y, columns, rows)
}

/// The lines of the list, followed by the effect of the selected action.
pub(super) fn list_rows(inner: Rect) -> usize {
    usize::from(inner.height.saturating_sub(1))
}

/// Keeps the selected line in view.
pub(super) fn layout(menu: &mut Menu, inner: Rect) {
    let lowest = (menu.selected + 1).saturating_sub(list_rows(inner));
    // The heading above the first action stays in view.
    menu.top = menu.top.clamp(lowest, menu.selected.saturating_sub(1).max(lowest));
}

/// The line at a place, when it is an action's.
pub(super) fn row_at(menu: &Menu, inner: Rect, at: Position) -> Option<usize> {
    let line = usize::from(at.y.checked_sub(inner.y)?);
    let lines = lines(&menu.contexts);
    let place = menu.top + line;
    (inner.contains(at) && line < list_rows(inner) && matches!(lines.get(place), Some(Line::Row(_)))).then_some(place)
}

pub(super) fn draw(model: &Model, menu: &Menu, inner: Rect, buffer: &mut Buffer) {
    let lines = lines(&menu.contexts);
    for (line, entry) in lines.iter().enumerate().skip(menu.top).take(list_rows(inner)) {
        let area = line_of(inner, line - menu.top);
        match entry {
            Line::Heading(heading) => Row::new([Piece::new(Role::Accent, heading)]).draw(area, buffer, model.theme),
            Line::Row(row) => draw_row(model, row, line == menu.selected, area, buffer),
        }
    }
    let below = lines.len().saturating_sub(menu.top + list_rows(inner));
    let description = match lines.get(menu.selected) {
        Some(Line::Row(row)) => match reason(model, row) {
            Some(reason) => Piece::new(Role::Warn, &format!("✗ {reason}")),
            None => Piece::new(Role::Dim, row.help),
        },
        _ => Piece::literal(Role::Dim, ""),
    };
    let more = bars::more(menu.top, below, 0);
    let taken: usize = more.iter().map(|piece| width(&piece.text)).sum();
    let description =
        Piece::new(description.role, &truncate(&description.text, usize::from(inner.width).saturating_sub(taken + 1)));
    Row::new([description]).ending(more).draw(line_of(inner, list_rows(inner)), buffer, model.theme);
}

fn reason(model: &Model, row: &'static ActionRow) -> Option<&'static str> {
    let below = model.popups.split_last().map_or(&[][..], |(_, below)| below);
    model.enabled_under(row.action, below).err()
}

fn draw_row(model: &Model, row: &'static ActionRow, selected: bool, area: Rect, buffer: &mut Buffer) {
    let role = match (reason(model, row), selected) {
        (Some(_), _) => Role::Dim,
        (None, true) => Role::Title,
        (None, false) => Role::Text,
    };
    let mark = Piece::literal(Role::Accent, if selected { "▸ " } else { "  " });
    let key = Piece::new(Role::Key, &bars::key_of(model, row));
    Row::new([mark, Piece::new(role, model.title(row))]).ending([key]).draw(area, buffer, model.theme);
}
