//! What can follow the first stroke of a chord: a box above the footer, when the second does not come at once.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::{Block, Clear, Widget as _};

use super::line_of;
use crate::tui::keys;
use crate::tui::model::{CHORD_MS, Model};
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use ptc_core::text::width::width;

/// Columns of the widest box.
const WIDEST: usize = 46;

pub(super) fn draw(model: &Model, screen: Rect, buffer: &mut Buffer) {
    let Some((first, _)) = model.begun.filter(|(_, since)| model.now_ms >= since + CHORD_MS) else { return };
    let rows = model.keymap.following(first, &model.contexts());
    let wide = rows.iter().map(|(key, row)| width(key) + width(model.title(row)) + 3).max().unwrap_or(0).min(WIDEST);
    let columns = u16::try_from(wide + 4).unwrap_or(u16::MAX).max(20).min(screen.width);
    let height = u16::try_from(rows.len() + 2).unwrap_or(u16::MAX).min(screen.height.saturating_sub(1));
    let x = screen.right() - columns;
    let area = Rect::new(x, screen.bottom().saturating_sub(height + 1), columns, height).intersection(buffer.area);
    Clear.render(area, buffer);
    buffer.set_style(area, model.theme.style(Role::Text));
    let block = Block::bordered()
        .border_style(model.theme.style(Role::Accent))
        .title(format!(" {} … ", keys::name(first)))
        .title_style(model.theme.style(Role::Title));
    block.render(area, buffer);
    let inner = Rect {
        x: area.x + 2,
        y: area.y + 1,
        width: area.width.saturating_sub(4),
        height: area.height.saturating_sub(2),
    };
    for (line, (key, row)) in rows.iter().enumerate() {
        let role = if model.enabled(row.action).is_ok() { Role::Text } else { Role::Dim };
        let pieces = [Piece::new(Role::Key, key), Piece::new(role, &format!("  {}", model.title(row)))];
        Row::new(pieces).draw(line_of(inner, line), buffer, model.theme);
    }
}
