//! The inputs of a draft as fields: the name on the left, the value next to it; the focused field gets the room that the others leave.
//!
//! In: the fields, the area of the context. Out: areas of their texts, rows on the screen. It must never change a text.

use ptc_core::text::width::width;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::areas::line_of;
use super::editor;
use crate::agent::{Diagnostic, Place, Severity};
use crate::tui::colours::Language;
use crate::tui::model::{Editor, InputField, InputKind, Inputs, Model, Pane, Popup};
use crate::tui::row::{Piece, Row};
use crate::tui::theme::{Role, Theme};
use crate::tui::transcript::HiddenAmount;

/// Columns that a name takes at most.
const NAMES: usize = 16;

/// Measures the texts of the fields.
pub(super) fn layout(inputs: &mut Inputs, area: Rect, is_focused: bool) {
    let areas = areas(inputs, area, is_focused);
    for (field, area) in inputs.fields.iter_mut().zip(areas) {
        editor::layout(&mut field.editor, area);
    }
}

/// Columns of the names with the gap after them.
fn name_columns(inputs: &Inputs) -> u16 {
    let widest = inputs.fields.iter().map(|field| width(&field.name)).max().unwrap_or(0).min(NAMES);
    u16::try_from(widest + 3).unwrap_or(u16::MAX)
}

/// The area of each text; empty where there is no room for it.
fn areas(inputs: &Inputs, area: Rect, is_focused: bool) -> Vec<Rect> {
    let count = inputs.fields.len();
    let room = usize::from(area.height);
    let names = name_columns(inputs).min(area.width);
    let columns = usize::from(area.width.saturating_sub(names).max(2) - 1);
    let wanted = |at: usize| {
        let draft = &inputs.fields[at].editor.draft;
        (0..draft.line_count()).map(|line| draft.rows_of(line, columns).len()).take(room.max(1)).sum::<usize>().max(1)
    };
    let share = (room / count.max(1)).max(1);
    let mut heights: Vec<usize> = (0..count).map(|at| wanted(at).min(share)).collect();
    if let (true, Some(own)) = (is_focused, heights.get(inputs.focus).copied()) {
        let others = heights.iter().sum::<usize>() - own;
        heights[inputs.focus] = room.saturating_sub(others).max(own);
    }
    // The focused field is there, and before it as many as fit.
    let (mut first, mut used) = (inputs.focus.min(count), heights.get(inputs.focus).copied().unwrap_or(0));
    while first > 0 && used + heights[first - 1] <= room {
        first -= 1;
        used += heights[first];
    }
    let mut y = 0;
    let place = |(at, height): (usize, usize)| {
        if at < first || y >= room {
            return Rect::default();
        }
        let rows = height.min(room - y);
        let offset = u16::try_from(y).unwrap_or(u16::MAX);
        y += rows;
        let height = u16::try_from(rows).unwrap_or(u16::MAX);
        Rect { x: area.x + names, y: area.y + offset, width: area.width - names, height }
    };
    heights.into_iter().enumerate().map(place).collect()
}

/// Draws the fields; returns the place of the cursor, where one of them has the focus.
pub(super) fn draw(model: &Model, area: Rect, findings: &[&Diagnostic], buffer: &mut Buffer) -> Option<Position> {
    let inputs = &model.workbench.inputs;
    let has_focus = model.workbench.focus == Pane::Editor(Place::Context);
    let names = usize::from(name_columns(inputs));
    let mut cursor = None;
    for (at, (field, text)) in inputs.fields.iter().zip(areas(inputs, area, has_focus)).enumerate() {
        if text.is_empty() {
            continue;
        }
        let focused = has_focus && at == inputs.focus;
        let about = |finding: &&&Diagnostic| finding.key.split('.').next() == Some(field.name.as_str());
        let worst = findings.iter().filter(about).map(|finding| finding.severity).max();
        let mark = match worst {
            Some(Severity::Error) => Piece::literal(Role::Bad, "✗ "),
            Some(Severity::Warning) => Piece::literal(Role::Warn, "! "),
            None if focused => Piece::literal(Role::Accent, "▸ "),
            None => Piece::literal(Role::Text, "  "),
        };
        let role = if focused { Role::Title } else { Role::JsonKey };
        let name = ptc_core::text::width::truncate(&field.name, names.saturating_sub(3)).into_owned();
        let line = Rect { x: area.x, width: text.x - area.x, ..line_of(text, 0) };
        Row::new([mark, Piece::new(role, &name)]).draw(line, buffer, model.theme);
        if field.editor.draft.text().is_empty() && !focused {
            Row::new([Piece::new(Role::Dim, &field.type_name)]).draw(line_of(text, 0), buffer, model.theme);
            continue;
        }
        let looks = editor::Looks {
            language: if field.kind == InputKind::Value { Language::Json } else { Language::Plain },
            findings: &[],
            found: match model.popups.last() {
                Some(Popup::Find(find)) if focused && find.place == Place::Context => &find.places,
                _ => &[],
            },
            focused,
            theme: model.theme,
            placeholder: placeholder(field),
        };
        cursor = editor::draw(&field.editor, text, &looks, buffer).or(cursor);
        draw_cuts(&field.editor, text, model.theme, buffer);
    }
    cursor
}

/// Marks, in the column before a text, where rows of it are hidden.
fn draw_cuts(shown: &Editor, text: Rect, theme: Theme, buffer: &mut Buffer) {
    let above = editor::hidden_above(shown) != HiddenAmount::NONE;
    let below = editor::hidden_below(shown) != HiddenAmount::NONE;
    let last = usize::from(text.height - 1);
    let mut mark = |line: usize, mark: &'static str| {
        let place = Rect { x: text.x.saturating_sub(1), width: 1, ..line_of(text, line) };
        Row::new([Piece::literal(Role::Dim, mark)]).draw(place, buffer, theme);
    };
    if above {
        mark(0, if below && last == 0 { "↕" } else { "▲" });
    }
    if below && (last > 0 || !above) {
        mark(last, "▼");
    }
}

/// Returns the placeholder of an empty field that has the focus.
fn placeholder(field: &InputField) -> &str {
    match field.kind {
        InputKind::Text => "type or paste text as it is",
        InputKind::Lines => "one text a line, or a JSON list",
        InputKind::Value => &field.type_name,
    }
}
