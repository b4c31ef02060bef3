//! Lines of an area and how far a text in it can be scrolled.

use ratatui::layout::Rect;

/// Rows of a text popup below its last: how far it can be scrolled.
pub(super) fn scroll_limit(rows: usize, height: u16) -> usize {
    rows.saturating_sub(usize::from(height))
}

/// One line of an area; empty outside of it.
pub(super) fn line_of(area: Rect, line: usize) -> Rect {
    let y = area.y.saturating_add(u16::try_from(line).unwrap_or(u16::MAX));
    if y >= area.bottom() { Rect::default() } else { Rect { y, height: 1, ..area } }
}
