//! Rows of pieces: what cards and screens are made of before a theme gives them colours.

use ptc_core::text::SafeText;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::theme::{Role, Theme};
use ptc_core::text::width::{truncate, width};

/// A text with a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Its role.
    pub role: Role,
    /// The text, on one line.
    pub text: SafeText,
}

impl Piece {
    /// A piece of text from outside; what is not text is removed.
    pub fn new(role: Role, text: &str) -> Self {
        Self { role, text: SafeText::single_line(text) }
    }

    /// A piece of text that is safe already.
    pub fn safe(role: Role, text: SafeText) -> Self {
        Self { role, text }
    }

    /// A piece of the program's own text.
    pub const fn literal(role: Role, text: &'static str) -> Self {
        Self { role, text: SafeText::literal(text) }
    }
}

/// One row: pieces from the left, pieces that end at the right edge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    /// From the left.
    pub left: Vec<Piece>,
    /// Ending at the right edge; they win when there is too little room.
    pub right: Vec<Piece>,
}

impl Row {
    /// A row of these pieces.
    pub fn new(left: impl IntoIterator<Item = Piece>) -> Self {
        Self { left: left.into_iter().collect(), right: Vec::new() }
    }

    /// Adds pieces at the right edge.
    #[must_use]
    pub fn ending(mut self, right: impl IntoIterator<Item = Piece>) -> Self {
        self.right.extend(right);
        self
    }

    /// Moves the row to the right by this many columns.
    #[must_use]
    pub fn indented(mut self, columns: usize) -> Self {
        self.left.insert(0, Piece::new(Role::Text, &" ".repeat(columns)));
        self
    }

    /// Its text without roles, for tests and search.
    pub fn plain(&self) -> String {
        self.left.iter().chain(&self.right).map(|piece| piece.text.as_str()).collect()
    }

    /// Draws the row into the first line of `area`.
    pub fn draw(&self, area: Rect, buffer: &mut Buffer, theme: Theme) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        let columns = usize::from(area.width);
        let tail: usize = self.right.iter().map(|piece| width(&piece.text)).sum();
        let tail = tail.min(columns);
        let gap = usize::from(tail > 0 && tail < columns);
        draw_pieces(&self.left, area.x, area.y, columns - tail - gap, buffer, theme);
        let start = area.x + u16::try_from(columns - tail).unwrap_or(u16::MAX);
        draw_pieces(&self.right, start, area.y, tail, buffer, theme);
    }
}

/// Draws pieces one after the other; what does not fit ends in an ellipsis.
fn draw_pieces(pieces: &[Piece], mut x: u16, y: u16, columns: usize, buffer: &mut Buffer, theme: Theme) {
    let mut rest: usize = pieces.iter().map(|piece| width(&piece.text)).sum();
    let mut room = columns;
    for piece in pieces {
        let style = theme.style(piece.role);
        let wide = width(&piece.text);
        if rest > room && wide >= room {
            buffer.set_stringn(x, y, cut(&piece.text, room), room, style);
            return;
        }
        (x, _) = buffer.set_stringn(x, y, &piece.text, room, style);
        room -= wide;
        rest -= wide;
    }
}

/// The start of a text with an ellipsis, even when the text itself would just fit.
fn cut(text: &str, columns: usize) -> String {
    truncate(&format!("{text} "), columns).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(row: &Row, columns: u16) -> String {
        let mut buffer = Buffer::empty(Rect::new(0, 0, columns, 1));
        row.draw(buffer.area, &mut buffer, Theme::plain());
        buffer.content().iter().map(ratatui::buffer::Cell::symbol).collect()
    }

    #[test]
    fn the_right_end_wins_and_the_left_is_cut_with_an_ellipsis() {
        let row = Row::new([Piece::literal(Role::Title, "Turn 1 "), Piece::literal(Role::Dim, "of a run")])
            .ending([Piece::literal(Role::Good, "✓ ok")]);
        assert_eq!(drawn(&row, 22), "Turn 1 of a run   ✓ ok");
        assert_eq!(drawn(&row, 16), "Turn 1 of … ✓ ok");
        assert_eq!(drawn(&row, 4), "✓ ok");
        assert_eq!(drawn(&row, 0), "");
    }

    #[test]
    fn a_piece_that_just_fits_is_cut_when_more_follows() {
        let row = Row::new([Piece::literal(Role::Text, "abc"), Piece::literal(Role::Text, "def")]);
        assert_eq!(drawn(&row, 3), "ab…");
        assert_eq!(drawn(&row, 5), "abcd…");
        assert_eq!(drawn(&row, 6), "abcdef");
    }
}
