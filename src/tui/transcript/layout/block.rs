//! Blocks of rows that several cards use: prose with a mark, errors, aligned pairs, JSON.

use ptc_core::text::SafeText;
use ptc_core::value::json;

use crate::event::ErrorRecord;
use crate::tui::colours::Language;
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::tui::transcript::wrapped_text::{Look, WrappedText, pieces};
use ptc_core::text::width::{width, wrap};

/// Moves rows to the right.
pub(super) fn indent(rows: Vec<Row>, columns: usize) -> Vec<Row> {
    rows.into_iter().map(|row| row.indented(columns)).collect()
}

/// Pieces, then a text that wraps under its own start.
pub(super) fn prose(first: Vec<Piece>, text: &str, role: Role, columns: usize) -> Vec<Row> {
    let hang = first.iter().map(|piece| width(&piece.text)).sum::<usize>();
    let hang = if hang + 8 > columns { hang.min(2) } else { hang };
    let safe = SafeText::multi_line(text);
    let mut rows: Vec<Row> = Vec::new();
    let mut first = Some(first);
    for line in safe.lines() {
        for range in wrap(&line, columns.saturating_sub(hang).max(1)) {
            let piece = Piece::safe(role, line.slice(range));
            let row = match first.take() {
                Some(mut pieces) => {
                    pieces.push(piece);
                    Row::new(pieces)
                }
                None => Row::new([piece]).indented(hang),
            };
            rows.push(row);
        }
    }
    rows
}

/// An error: reason and message. The next step is shown at the end of the run.
pub(super) fn error(record: &ErrorRecord, columns: usize) -> Vec<Row> {
    let text = SafeText::multi_line(&format!("{}  {}", record.reason, record.message));
    let reason = [(0..record.reason.len(), Role::Bad)];
    let mut mark = Some(Piece::literal(Role::Bad, "✗ "));
    wrap(&text, columns.saturating_sub(2).max(1))
        .into_iter()
        .map(|range| {
            let mark = mark.take().unwrap_or(Piece::literal(Role::Text, "  "));
            Row::new(std::iter::once(mark).chain(pieces(&text, range, &reason)))
        })
        .collect()
}

/// JSON text as rows: as it is when it fits one line, else one member a line.
pub(super) fn json_rows(text: &str, columns: usize) -> Vec<Row> {
    let trimmed = text.trim();
    let one_line = !trimmed.contains('\n') && width(&SafeText::single_line(trimmed)) <= columns;
    let look = Look::Rich(Language::Json);
    match json::parse(trimmed) {
        Ok(tree) if !one_line => WrappedText::of(&tree.to_pretty(), columns, look),
        _ => WrappedText::of(trimmed, columns, look),
    }
}

/// Names and values, the values under each other; each value may take several rows.
pub(super) fn pairs(pairs: &[(String, Vec<Row>)], columns: usize) -> Vec<Row> {
    let widest = pairs.iter().map(|(name, _)| width(name)).max().unwrap_or(0).min(columns / 3).max(1);
    let mut rows = Vec::new();
    for (name, values) in pairs {
        let mut name = Some(SafeText::single_line(name));
        for value in values {
            let name = name.take().unwrap_or_default();
            let gap = widest.saturating_sub(width(&name)) + 2;
            let mut left = vec![Piece::safe(Role::JsonKey, name), Piece::new(Role::Text, &" ".repeat(gap))];
            left.extend(value.left.iter().cloned());
            rows.push(Row { left, right: value.right.clone() });
        }
    }
    rows
}
