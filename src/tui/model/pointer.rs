//! State of the mouse in a transcript, and the selection of text elsewhere on the screen, where neither an editor nor a transcript has a
//! selection of its own.

use std::ops::Range;

use ratatui::layout::{Position, Rect};

/// The state of the mouse between its events.
#[derive(Debug, Clone, Default)]
pub struct Pointer {
    /// Time (Unix time in ms) and position of the last press of its button.
    pub pressed: Option<(i64, Position)>,
    /// Text of a transcript is being selected.
    pub drags: bool,
    /// Text elsewhere on the screen that is being selected, or was.
    pub sweep: Option<Sweep>,
    /// Position of the mouse while its button is held above or below the pane.
    pub outside: Option<Position>,
    /// Time at which the text was last scrolled because of that, Unix time in ms.
    pub moved_ms: i64,
}

/// A selection of text on the screen: its area, and its cells from the first to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sweep {
    /// The part of the screen that contains the text.
    pub area: Rect,
    /// Position at which the button was pressed.
    pub from: Position,
    /// Position of the mouse, within the area.
    pub to: Position,
}

impl Sweep {
    /// A selection that begins here, with nothing in it.
    pub fn new(area: Rect, at: Position) -> Self {
        Self { area, from: at, to: at }
    }

    /// The mouse went there; the selection stays in its part of the screen.
    pub fn go(&mut self, at: Position) {
        let Rect { x, y, width, height } = self.area;
        if width > 0 && height > 0 {
            self.to = Position::new(at.x.clamp(x, x + width - 1), at.y.clamp(y, y + height - 1));
        }
    }

    /// Returns whether nothing is selected.
    pub fn is_empty(&self) -> bool {
        self.from == self.to
    }

    /// The selected rows, each with its columns.
    pub fn rows(&self) -> impl Iterator<Item = (u16, Range<u16>)> {
        let key = |at: Position| (at.y, at.x);
        let (first, last) = if key(self.from) <= key(self.to) { (self.from, self.to) } else { (self.to, self.from) };
        let (area, empty) = (self.area, self.is_empty());
        (first.y..=last.y).filter(move |_| !empty).map(move |y| {
            let start = if y == first.y { first.x } else { area.left() };
            let end = if y == last.y { last.x + 1 } else { area.right() };
            (y, start..end.min(area.right()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_goes_from_cell_to_cell_and_stays_in_its_part() {
        let mut sweep = Sweep::new(Rect::new(10, 5, 20, 4), Position::new(12, 6));
        assert_eq!(sweep.rows().count(), 0);
        sweep.go(Position::new(50, 50));
        let rows: Vec<_> = sweep.rows().collect();
        assert_eq!(rows, [(6, 12..30), (7, 10..30), (8, 10..30)]);
        sweep.go(Position::new(11, 5));
        assert_eq!(sweep.rows().collect::<Vec<_>>(), [(5, 11..30), (6, 10..13)]);
    }
}
