//! The rows of changes: hunks wrapped to the columns that there are. They are made once for a width, not for each frame.
//!
//! In: hunks, columns. Out: rows with roles; texts from outside are sanitised. Pure functions.

use ptc_core::text::SafeText;
use ptc_core::text::width::wrap;

use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::workbench::optimize::{AgentChanges, CandidateDetail, Hunk};

/// A row of what is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkRow {
    /// The place of its hunk.
    pub hunk: usize,
    /// True for the first row of the hunk.
    pub is_head: bool,
    /// Its text; that of a first row follows the mark of the choice.
    pub row: Row,
}

/// The reason for a candidate, and its texts against those of a parent.
pub fn change_rows(detail: &CandidateDetail, columns: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    if !detail.reason.is_empty() {
        rows.extend(wrapped(Role::Text, "", &detail.reason, columns));
        rows.push(Row::default());
    }
    for (component, hunks) in &detail.changes {
        rows.push(Row::new([Piece::new(Role::Accent, &component.to_string())]));
        for (place, hunk) in hunks.iter().enumerate() {
            if place > 0 {
                rows.push(Row::new([Piece::literal(Role::Dim, "⋯")]));
            }
            rows.extend(lines(hunk, columns));
        }
        rows.push(Row::default());
    }
    if detail.changes.is_empty() {
        rows.push(Row::new([Piece::literal(Role::Dim, "no text differs from the parent's")]));
    }
    rows
}

/// The hunks of the agent file.
pub fn hunk_rows(changes: &AgentChanges, columns: usize) -> Vec<HunkRow> {
    let count = changes.hunks.len();
    let mut rows = Vec::new();
    for (place, hunk) in changes.hunks.iter().enumerate() {
        let head = format!("hunk {} of {count}, from line {}", place + 1, hunk.line);
        let head = Row::new([Piece::new(Role::Text, &head)]);
        rows.push(HunkRow { hunk: place, is_head: true, row: head });
        let below = lines(hunk, columns).into_iter().chain([Row::default()]);
        rows.extend(below.map(|row| HunkRow { hunk: place, is_head: false, row }));
    }
    rows
}

/// The lines of a hunk: each with its sign, so that no colour is needed to read it.
fn lines(hunk: &Hunk, columns: usize) -> Vec<Row> {
    let line = |line: &String| {
        let (role, sign) = match line.chars().next() {
            Some('+') => (Role::Good, "+ "),
            Some('-') => (Role::Bad, "- "),
            _ => (Role::Dim, "  "),
        };
        wrapped(role, sign, line.get(1..).unwrap_or_default(), columns)
    };
    hunk.lines.iter().flat_map(line).collect()
}

/// A line after its sign, wrapped.
fn wrapped(role: Role, sign: &'static str, line: &str, columns: usize) -> Vec<Row> {
    let text = SafeText::single_line(line);
    let ranges = wrap(&text, columns.saturating_sub(sign.len()).max(1));
    let row = |(at, range): (usize, std::ops::Range<usize>)| {
        let sign = if at == 0 { sign } else { &"  "[..sign.len()] };
        Row::new([Piece::literal(role, sign), Piece::safe(role, text.slice(range))])
    };
    ranges.into_iter().enumerate().map(row).collect()
}
