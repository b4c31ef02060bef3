//! The compare screen: title, one of its pages, progress, keys.

mod alignment;
mod form;
mod list;
mod matrix;
mod sides;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::areas::line_of;
use super::bars;
use crate::tui::compare::{Field, Page};
use crate::tui::model::Model;
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::workbench::comparison::{Line, Tone};
use ptc_core::text::SafeText;
use ptc_core::text::width::wrap;

/// The body of the screen: between the title and the two lines at the bottom.
fn body(screen: Rect) -> Rect {
    Rect { y: screen.y + 1, height: screen.height.saturating_sub(3), ..screen }
}

/// The part whose texts can be selected.
pub(super) fn text_area(screen: Rect) -> Rect {
    body(screen)
}

/// The field at a place in the dialog that starts a matrix, with the mode shown there.
pub(super) fn field_at(model: &Model, screen: Rect, at: Position) -> Option<(Field, Option<usize>, Rect)> {
    form::field_at(model, body(screen), at)
}

/// The index in the list of matrices of the row here.
pub(super) fn listed_at(model: &Model, screen: Rect, at: Position) -> Option<usize> {
    list::row_at(model, body(screen), at)
}

pub(super) fn layout(model: &mut Model) {
    let screen = Rect::new(0, 0, model.size.0, model.size.1);
    let (body, wide, now_ms) = (body(screen), model.wide(), model.now_ms);
    match model.compare.page {
        Page::Sides => sides::layout(&mut model.compare, body, wide, now_ms),
        Page::Matrix => matrix::layout(&mut model.compare, body),
        Page::Form | Page::Matrices => {}
    }
}

pub(super) fn draw(model: &Model, screen: Rect, buffer: &mut Buffer) -> Option<Position> {
    let body = body(screen);
    title(model, line_of(screen, 0), buffer);
    let mut cursor = None;
    match model.compare.page {
        Page::Sides => sides::draw(model, body, buffer),
        Page::Matrix => matrix::draw(model, body, buffer),
        Page::Matrices => list::draw(model, body, buffer),
        Page::Form => cursor = form::draw(model, body, buffer),
    }
    let status = Rect { y: screen.bottom().saturating_sub(2), height: 1, ..screen };
    let status_line = if model.screen_toast().is_some() { bars::toast(model) } else { status_row(model) };
    status_line.draw(status, buffer, model.theme);
    if model.popups.is_empty() {
        bars::footer(model, Rect { y: screen.bottom().saturating_sub(1), height: 1, ..screen }, buffer);
    }
    cursor
}

fn title(model: &Model, area: Rect, buffer: &mut Buffer) {
    let compare = &model.compare;
    let (head, what) = match compare.page {
        Page::Sides => ("Compare", sides::title(compare)),
        Page::Matrix => ("Matrix", compare.matrix.as_ref().map(|matrix| matrix.id.clone()).unwrap_or_default()),
        Page::Form => ("New matrix", model.workbench.preview.name.clone()),
        Page::Matrices => ("Matrices", String::new()),
    };
    let left = [Piece::new(Role::Title, &format!(" {head}  ")), Piece::new(Role::Text, &what)];
    let workbench = &model.workbench;
    let open = match &workbench.pipeline {
        Some((pipeline, _)) => format!("pipeline {} ", pipeline.definition.name),
        None => format!("draft {} ", workbench.preview.name),
    };
    let agent = Piece::new(Role::Dim, &open);
    Row::new(left).ending([agent]).draw(area, buffer, model.theme);
}

/// The progress, when there is no other message.
fn status_row(model: &Model) -> Row {
    let compare = &model.compare;
    match (compare.page, &compare.matrix) {
        (Page::Sides, _) => sides::progress_row(model),
        (Page::Matrix, Some(matrix)) => matrix::progress_row(matrix),
        _ => Row::default(),
    }
}

/// A text over the page, wrapped.
fn explain(text: &str, role: Role, area: Rect, model: &Model, buffer: &mut Buffer) {
    let text = SafeText::single_line(text);
    let columns = usize::from(area.width.saturating_sub(4)).max(1);
    for (line, range) in wrap(&text, columns).into_iter().enumerate() {
        let row = Row::new([Piece::safe(role, text.slice(range))]).indented(2);
        row.draw(line_of(area, line + usize::from(area.height > 4)), buffer, model.theme);
    }
}

/// A line of a comparison in its colours; its sign carries the same information without them.
fn line_row(line: &Line) -> Row {
    let role = match line.tone {
        Tone::Head => Role::Title,
        Tone::Plain => Role::Text,
        Tone::Dim => Role::Dim,
        Tone::Removed => Role::Bad,
        Tone::Added => Role::Good,
    };
    Row::new([Piece::new(role, &line.text)]).indented(1)
}
