//! The preview of a session in the list: what was asked, what a search found in it, what is written on it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::line_of;
use crate::session::Summary;
use crate::session::index::SearchMatch;
use crate::tui::model::Model;
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use ptc_core::text::SafeText;
use ptc_core::text::width::wrap;

pub(super) fn draw(model: &Model, session: &Summary, area: Rect, buffer: &mut Buffer) {
    for (line, row) in rows(model, session, area).iter().take(usize::from(area.height)).enumerate() {
        row.draw(line_of(area, line), buffer, model.theme);
    }
}

fn rows(model: &Model, session: &Summary, area: Rect) -> Vec<Row> {
    let example = if session.example { "  an example that is part of the program" } else { "" };
    let from = session.parent.as_ref().map(|origin| format!("  {} of {}", origin.kind.name(), origin.session));
    let first = format!(" {}{example}{}", session.id, from.unwrap_or_default());
    let mut rows = vec![Row::new([Piece::new(Role::Dim, &first)])];
    if let Some(note) = model.sessions.marks.get(&session.id, None).and_then(|mark| mark.note.as_deref()) {
        rows.push(Row::new([Piece::literal(Role::Accent, " note  "), Piece::new(Role::Text, note)]));
    }
    let hit = model.sessions.hit(&session.key()).filter(|hit| !hit.matches.is_empty());
    if let Some(hit) = hit {
        rows.extend(hit.matches.iter().map(found));
        return rows;
    }
    let text = session.damage.as_deref().unwrap_or(&session.task);
    let safe = SafeText::multi_line(text);
    let columns = usize::from(area.width.saturating_sub(2)).max(1);
    // Few rows are seen: blank lines are left out.
    let lines = safe.lines().filter(|line| !line.as_str().trim().is_empty());
    for line in lines.take(usize::from(area.height)) {
        let ranges = wrap(&line, columns);
        rows.extend(ranges.into_iter().map(|range| Row::new([Piece::safe(Role::Text, line.slice(range))]).indented(1)));
    }
    rows
}

/// Positions of the words of a query.
fn found(matched: &SearchMatch) -> Row {
    let place = Piece::new(Role::Dim, &format!(" {:<9} {:<8} ", matched.at.as_str(), matched.field.name()));
    let mut row = Row::new([place]);
    row.left.extend(highlighted(matched));
    row
}

/// The excerpt in three pieces: before, the words, after.
fn highlighted(matched: &SearchMatch) -> [Piece; 3] {
    let part = |range: std::ops::Range<usize>| matched.excerpt.get(range).unwrap_or_default();
    let (start, end) = matched.highlight;
    [
        Piece::new(Role::Text, part(0..start)),
        Piece::new(Role::WarnPlace, part(start..end)),
        Piece::new(Role::Text, part(end..matched.excerpt.len())),
    ]
}

/// The first match in the place of the result, and how many there are.
pub(super) fn excerpt(first: &SearchMatch, count: usize) -> Vec<Piece> {
    let number = if count > 1 { format!("×{count} ") } else { String::new() };
    let mut pieces = vec![Piece::new(Role::Dim, &format!("{number}{}: ", first.field.name()))];
    pieces.extend(highlighted(first));
    pieces
}

/// Tags, marks and notes, for the rule above.
pub(super) fn marks(model: &Model, session: &Summary) -> Vec<Piece> {
    let all = &model.sessions.marks;
    let below = all.of_session(&session.id).filter(|(at, _)| at.is_some()).count();
    let mark = all.get(&session.id, None);
    let mut parts: Vec<String> = mark.into_iter().flat_map(|mark| &mark.tags).map(|tag| format!("#{tag}")).collect();
    if mark.is_some_and(|mark| mark.marked) {
        parts.push("* marked".to_owned());
    }
    if below > 0 {
        parts.push(crate::tui::transcript::format::plural(below as u64, "turn") + " with notes");
    }
    if parts.is_empty() { Vec::new() } else { vec![Piece::new(Role::Accent, &parts.join("  "))] }
}
