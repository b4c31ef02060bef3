//! What the mouse is doing in a transcript.

use ratatui::layout::Position;

use super::Sweep;

/// The state of the mouse between its events.
#[derive(Debug, Clone, Default)]
pub struct Pointer {
    /// When and where its button was pressed last: Unix time in ms.
    pub pressed: Option<(i64, Position)>,
    /// Text of a transcript is being selected.
    pub drags: bool,
    /// Text elsewhere on the screen that is being selected, or was.
    pub sweep: Option<Sweep>,
    /// The button is held above or below the pane: where.
    pub outside: Option<Position>,
    /// When the text was moved last because of that, Unix time in ms.
    pub moved_ms: i64,
}
