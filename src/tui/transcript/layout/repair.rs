//! A reply and what was read from it after repairs, side by side.

use super::block::indent;
use crate::tui::colours::Language;
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::tui::transcript::wrapped_text::{Look, WrappedText};
use ptc_core::text::width::width;

/// Rows that are shown of each side.
const ROWS: usize = 12;
/// Minimum columns for showing both sides side by side.
const SIDE_BY_SIDE: usize = 44;

/// The raw text next to the repaired one; one under the other where there is little room.
pub(super) fn rows(raw: &str, repaired: &str, language: Language, columns: usize) -> Vec<Row> {
    let dim = |text: &str| Piece::new(Role::Dim, text);
    if columns < SIDE_BY_SIDE {
        let side = |name: &str, text: &str| {
            let rows = some(text, columns.saturating_sub(2).max(1), language);
            std::iter::once(Row::new([dim(name)])).chain(indent(rows, 2)).collect::<Vec<_>>()
        };
        return [side("raw", raw), side("repaired", repaired)].concat();
    }
    let half = (columns - 3) / 2;
    let (left, right) = (some(raw, half, language), some(repaired, half, language));
    let head = Row::new([dim(&format!("{:<half$} │ repaired", "raw"))]);
    let lines = (0..left.len().max(right.len())).map(|line| {
        let mut pieces = left.get(line).map(|row| row.left.clone()).unwrap_or_default();
        let used: usize = pieces.iter().map(|piece| width(&piece.text)).sum();
        pieces.push(Piece::new(Role::Border, &format!("{} │ ", " ".repeat(half.saturating_sub(used)))));
        pieces.extend(right.get(line).map(|row| row.left.clone()).unwrap_or_default());
        Row::new(pieces)
    });
    std::iter::once(head).chain(lines).collect()
}

fn some(text: &str, columns: usize, language: Language) -> Vec<Row> {
    let mut rows = WrappedText::of(text.trim_end(), columns, Look::Rich(language));
    let more = rows.len().saturating_sub(ROWS);
    if more > 0 {
        rows.truncate(ROWS);
        rows.push(Row::new([Piece::new(Role::Dim, &format!("… {more} more"))]));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_are_next_to_each_other_where_there_is_room() {
        let plain =
            |columns| rows("{a: 1}", "{\"a\": 1}", Language::Json, columns).iter().map(Row::plain).collect::<Vec<_>>();
        let wide = plain(60);
        assert_eq!(wide.len(), 2);
        assert!(wide[0].contains("│ repaired") && wide[1].starts_with("{a: 1} ") && wide[1].ends_with("│ {\"a\": 1}"));
        assert_eq!(plain(20), ["raw", "  {a: 1}", "repaired", "  {\"a\": 1}"]);
    }
}
