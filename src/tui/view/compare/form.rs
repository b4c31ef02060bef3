//! The dialog that begins a matrix.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::explain;
use crate::agent::Mode;
use crate::tui::compare::{Field, Form};
use crate::tui::model::Model;
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::tui::view::areas::line_of;
use crate::tui::view::editor;
use ptc_core::text::width::{pad, width};

/// Columns of the labels.
const LABEL: usize = 10;

/// Lines from field to field: low screens have no room for air between them.
fn step(body: Rect) -> usize {
    if body.height >= 14 { 2 } else { 1 }
}

/// The position of a field's value in its line.
fn value(area: Rect) -> Rect {
    let left = u16::try_from(LABEL + 3).unwrap_or(0).min(area.width);
    Rect { x: area.x + left, width: (area.width - left).saturating_sub(1), ..area }
}

/// The field at a place, the mode shown there, and the position of the field's value.
pub(super) fn field_at(model: &Model, body: Rect, at: Position) -> Option<(Field, Option<usize>, Rect)> {
    let line = |place: usize| line_of(body, step(body) - 1 + place * step(body));
    let (place, field) = Field::ALL.into_iter().enumerate().find(|(place, _)| line(*place).contains(at))?;
    let value = value(line(place));
    let mut end = value.x;
    let mode = modes(&model.compare.form, false).chunks(2).position(|pieces| {
        let start = end;
        end += u16::try_from(pieces.iter().map(|piece| width(&piece.text)).sum::<usize>()).unwrap_or(u16::MAX);
        (start..end).contains(&at.x)
    });
    Some((field, mode.filter(|_| field == Field::Modes), value))
}

pub(super) fn draw(model: &Model, body: Rect, buffer: &mut Buffer) -> Option<Position> {
    let form = &model.compare.form;
    let mut cursor = None;
    let step = step(body);
    let mut line = step - 1;
    for field in Field::ALL {
        let area = line_of(body, line);
        let focused = form.field == field;
        let mark = Piece::literal(Role::Accent, if focused { " ▸ " } else { "   " });
        let label = Piece::new(if focused { Role::Title } else { Role::Text }, &pad(name(field), LABEL));
        if field == Field::Modes {
            Row::new([mark, label].into_iter().chain(modes(form, focused))).draw(area, buffer, model.theme);
        } else {
            Row::new([mark, label]).draw(area, buffer, model.theme);
            let input = value(area);
            let draft = match field {
                Field::Modes | Field::Models => &form.models,
                Field::Trials => &form.trials,
                Field::Jobs => &form.jobs,
            };
            let at = editor::draw_line(draft, input, model.theme, buffer);
            cursor = if focused { at } else { cursor };
        }
        line += step;
    }
    let below = Rect { y: body.y.saturating_add(u16::try_from(line).unwrap_or(0)), ..body };
    let below = below.intersection(body);
    match (&form.error, form.beginning) {
        (Some(error), _) => explain(&format!("✗ {error}"), Role::Bad, below, model, buffer),
        (None, true) => explain("beginning …", Role::Dim, below, model, buffer),
        (None, false) => explain(&help(form.field), Role::Dim, below, model, buffer),
    }
    cursor
}

fn name(field: Field) -> &'static str {
    match field {
        Field::Modes => "modes",
        Field::Models => "models",
        Field::Trials => "trials",
        Field::Jobs => "at once",
    }
}

fn help(field: Field) -> String {
    let text = match field {
        Field::Modes => "Modes in which the draft runs. Modes that it does not support are listed with the reason.",
        Field::Models => {
            "Models separated by commas, such as demo, sample:seed=3. Empty: the model of the draft. `human` is not possible."
        }
        Field::Trials => "Trials of each case in each mode with each model. Each trial is a separate session.",
        Field::Jobs => "Concurrent trials. The limits of each provider also apply.",
    };
    text.to_owned()
}

fn modes(form: &Form, focused: bool) -> Vec<Piece> {
    let piece = |(place, (mode, on)): (usize, (Mode, bool))| {
        let here = focused && form.mode == place;
        let role = if here { Role::Selected } else { Role::Text };
        [
            Piece::new(role, &format!("[{}] {}", if on { "✓" } else { " " }, mode.name())),
            Piece::literal(Role::Text, "   "),
        ]
    };
    Mode::ALL.into_iter().zip(form.modes).enumerate().flat_map(piece).collect()
}
