//! One text editor on the screen: its draft and where it is drawn. Plain data.

use ratatui::layout::Rect;

use super::draft::Draft;

/// One editor.
#[derive(Debug, Clone, Default)]
pub struct Editor {
    /// The text.
    pub draft: Draft,
    /// First visible line and its first visible row.
    pub scroll: (usize, usize),
    /// Area of its text.
    pub area: Rect,
    /// Keeps the scroll position although the cursor is elsewhere (after the wheel).
    pub free: bool,
}
