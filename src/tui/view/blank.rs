//! Blank areas below boxes.
//!
//! In: the area of a box. Out: blank cells. It must never change what is outside of the area, except half of a wide character.

use ptc_core::text::width::width;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::{Clear, Widget as _};

/// Makes an area blank before a box is drawn over it. A wide character that begins one column before it would cover its left border.
pub(super) fn clear(area: Rect, buffer: &mut Buffer) {
    let area = area.intersection(buffer.area);
    Clear.render(area, buffer);
    let Some(before) = area.x.checked_sub(1).filter(|_| !area.is_empty()) else { return };
    for y in area.top()..area.bottom() {
        if let Some(cell) = buffer.cell_mut((before, y)).filter(|cell| width(cell.symbol()) > 1) {
            cell.set_symbol(" ");
        }
    }
}
