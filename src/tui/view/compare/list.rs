//! The list of matrices.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::explain;
use crate::tui::actions::Action;
use crate::tui::compare::Step;
use crate::tui::model::Model;
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::tui::view::areas::line_of;
use crate::tui::view::sessions;
use crate::workbench::format::distinct;
use crate::workbench::matrix::{Cell, MatrixEntry, MatrixState};
use ptc_core::text::SafeText;
use ptc_core::text::width::{pad, truncate};

/// Columns of the time.
const WHEN: usize = 17;
/// Columns of the counts.
const COUNTS: usize = 24;

/// Visible lines, and the first of them.
fn window(model: &Model, body: Rect) -> (usize, usize) {
    let rows = usize::from(body.height.saturating_sub(1)).max(1);
    (rows, (model.compare.chosen + 1).saturating_sub(rows))
}

/// The matrix at a place.
pub(super) fn row_at(model: &Model, body: Rect, at: Position) -> Option<usize> {
    let line = usize::from(at.y.checked_sub(body.y + 1)?);
    let place = window(model, body).1 + line;
    (body.contains(at) && place < model.compare.matrices.as_ref()?.len()).then_some(place)
}

pub(super) fn draw(model: &Model, body: Rect, buffer: &mut Buffer) {
    let compare = &model.compare;
    let Some(all) = &compare.matrices else { return explain("reading …", Role::Dim, body, model, buffer) };
    if all.is_empty() {
        let key = model.keymap.first_name(Action::Comparing(Step::NewMatrix));
        let text = format!(
            "No matrix yet. {key} begins one: the draft in several modes and with several models, several trials each."
        );
        return explain(&text, Role::Text, body, model, buffer);
    }
    let head = format!("   {}{}what", pad("when", WHEN), pad("trials", COUNTS));
    Row::new([Piece::new(Role::Dim, &head)]).draw(line_of(body, 0), buffer, model.theme);
    let (rows, top) = window(model, body);
    for (line, (place, matrix)) in all.iter().enumerate().skip(top).take(rows).enumerate() {
        row(model, matrix, place == compare.chosen).draw(line_of(body, line + 1), buffer, model.theme);
    }
}

fn row(model: &Model, entry: &MatrixEntry, selected: bool) -> Row {
    let role = if selected { Role::Title } else { Role::Text };
    let cell = |text: &str, columns: usize| {
        let text = SafeText::single_line(text);
        Piece::new(role, &pad(&truncate(&text, columns - 1), columns))
    };
    let when = sessions::when(entry.created_ms, model.now_ms, model.utc_offset_s);
    let mark = Piece::literal(Role::Accent, if selected { " ▸ " } else { "   " });
    let state = match &entry.state {
        Ok(state) => state,
        Err(error) => return Row::new([mark, cell(&when, WHEN), Piece::new(Role::Bad, &format!("✗ {error}"))]),
    };
    let counts = match (state.done() == state.total(), state.failed()) {
        (true, 0) => format!("✓ {} passed", state.total()),
        (true, failed) => format!("✗ {failed} of {} failed", state.total()),
        (false, _) => format!("! {} of {}, stopped", state.done(), state.total()),
    };
    Row::new([mark, cell(&when, WHEN), cell(&counts, COUNTS), Piece::new(role, &subjects(state))])
}

/// The agents, modes and models of a matrix.
fn subjects(state: &MatrixState) -> String {
    let each = |read: fn(&Cell) -> &str| distinct(state.plan.cells.iter().map(read)).join(", ");
    format!("{} · {} · {}", each(|cell| &cell.agent), each(|cell| &cell.mode), each(|cell| &cell.model))
}
