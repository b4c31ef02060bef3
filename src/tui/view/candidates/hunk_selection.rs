//! The part of a candidate that is written into the agent file: its hunks, each chosen or not.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::candidates::{HunkSelection, hunk_rows};
use crate::tui::model::Model;
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::tui::view::areas::line_of;
use crate::tui::view::bars;
use crate::workbench::format::plural;

/// Rule and rows, between the title and the status line.
fn areas(screen: Rect) -> (Rect, Rect) {
    let body = Rect { y: screen.y + 1, height: screen.height.saturating_sub(3), ..screen };
    let rule = Rect { height: body.height.min(1), ..body };
    (rule, Rect { y: body.y + rule.height, height: body.height - rule.height, ..body })
}

pub(super) fn layout(selection: &mut HunkSelection, screen: Rect) {
    selection.area = areas(screen).1;
    let columns = super::text_columns(selection.area).saturating_sub(2).max(1);
    if selection.rows.0 != columns {
        selection.rows = (columns, hunk_rows(&selection.changes, columns));
    }
    selection.top = selection.top.min(selection.rows.1.len().saturating_sub(usize::from(selection.area.height)));
}

pub(super) fn draw(model: &Model, selection: &HunkSelection, screen: Rect, buffer: &mut Buffer) {
    let (rule, area) = areas(screen);
    let heading = format!("c{:02} into {}", selection.candidate, selection.changes.path.display());
    let chosen = format!("{} of {} chosen", selection.chosen(), plural(selection.chosen.len() as u64, "hunk"));
    let rows = &selection.rows.1;
    let seen = usize::from(area.height);
    let hidden = rows.len().saturating_sub(selection.top + seen);
    let mut mark =
        vec![Piece::new(if selection.chosen() > 0 { Role::Good } else { Role::Dim }, &format!("{chosen}  "))];
    mark.extend(bars::more(selection.top, hidden, area.width));
    bars::rule(rule, &heading, true, mark, buffer, model.theme);
    for (at, row) in rows.iter().skip(selection.top).take(seen).enumerate() {
        let is_selected = row.hunk == selection.selected;
        let mut drawn: Row = row.row.clone();
        if row.is_head {
            let is_chosen = selection.chosen.get(row.hunk).copied().unwrap_or(false);
            let (role, sign) = if is_chosen { (Role::Good, "[✓] ") } else { (Role::Dim, "[ ] ") };
            if is_selected {
                drawn.left.iter_mut().for_each(|piece| piece.role = Role::Title);
            }
            drawn.left.insert(0, Piece::literal(role, sign));
        } else {
            drawn.left.insert(0, Piece::literal(Role::Text, "  "));
        }
        let cursor = match (is_selected, row.is_head) {
            (true, true) => " ▸ ",
            (true, false) => " │ ",
            (false, _) => "   ",
        };
        drawn.left.insert(0, Piece::literal(Role::Accent, cursor));
        drawn.draw(line_of(area, at), buffer, model.theme);
    }
}
