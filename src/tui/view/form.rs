//! A dialog of several fields: a row per choice and line, a text with the room that is left, what went wrong, notes below a rule.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::areas::{line_of, scroll_limit};
use super::{answer, bars, editor};
use crate::tui::colours::Language;
use crate::tui::form::{Choice, Field, Form, Input, first_listed};
use crate::tui::model::Model;
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use ptc_core::text::SafeText;
use ptc_core::text::width::{width, wrap};

/// Rows that a text gets at least, and wants.
const TEXT_ROWS: (u16, u16) = (3, 12);
/// Rows that notes want.
const NOTE_ROWS: u16 = 12;
/// Rows that a list wants at most.
const LIST_ROWS: u16 = 20;
/// Columns of the names of fields.
const NAMES: u16 = 8;

/// Layout.
struct Areas {
    /// Of each field; empty when there is no room for it.
    fields: Vec<Rect>,
    hint: Rect,
    rule: Rect,
    notes: Rect,
}

/// Rows of the list of a field; 0 for any other field.
fn listed(field: &Field) -> u16 {
    match &field.input {
        Input::Choice { options, listed: true, .. } => u16::try_from(options.len()).unwrap_or(u16::MAX).min(LIST_ROWS),
        _ => 0,
    }
}

fn is_text(field: &Field) -> bool {
    matches!(field.input, Input::Text(..))
}

/// The text under the fields: an error, a wait, or the purpose of the focused field.
fn hint(form: &Form, columns: u16) -> (Role, String) {
    if let (None, None, Some(meaning)) =
        (&form.error, form.waiting, form.focused().and_then(|field| cut_meaning(field, columns)))
    {
        return (Role::Dim, meaning);
    }
    match (&form.error, form.waiting) {
        (Some(error), _) => (Role::Bad, format!("✗ {error}")),
        (None, Some(waiting)) => (Role::Accent, format!("● {waiting}")),
        (None, None) if form.held.as_ref().is_some_and(|held| !held.is_empty()) => {
            (Role::Accent, "● reading the value; your keys wait for it …".to_owned())
        }
        (None, None) => match form.focused() {
            Some(field) if field.is_restored() => {
                (Role::Accent, format!("{} {}", restored_hint(&form.undo_key), field.hint))
            }
            field => (Role::Dim, field.map_or("", |field| field.hint).to_owned()),
        },
    }
}

/// Explains a text that an earlier opening left, and how to revert it.
pub(super) fn restored_hint(undo_key: &str) -> String {
    format!("Kept from before: {undo_key} reverts it.")
}

/// The sign of a field with such a text.
const RESTORED_SIGN: &str = " kept";

/// The meaning of the chosen value, where its row has too few columns to show it.
fn cut_meaning(field: &Field, columns: u16) -> Option<String> {
    let Input::Choice { options, chosen, listed: false } = &field.input else { return None };
    let choice = options.get(*chosen)?;
    let place = if options.len() > 1 { format!("{} of {}", chosen + 1, options.len()).len() + 1 } else { 0 };
    let wanted = usize::from(NAMES) + 8 + width(&choice.name) + width(&choice.meaning) + place;
    (wanted > usize::from(columns)).then(|| format!("{}: {}", choice.name, choice.meaning))
}

fn message_height(form: &Form, columns: u16) -> u16 {
    let text = SafeText::single_line(&hint(form, columns).1);
    u16::try_from(wrap(&text, usize::from(columns).max(1)).len()).unwrap_or(u16::MAX).clamp(1, 4)
}

/// Rows that the content of the dialog needs in a box of `columns` columns.
pub(super) fn rows(form: &Form, columns: u16) -> u16 {
    let field = |field: &Field| if is_text(field) { TEXT_ROWS.1 + 1 } else { listed(field).max(1) };
    let fields: u16 = form.fields.iter().map(field).sum();
    let notes = if form.notes.is_empty() { 0 } else { NOTE_ROWS + 1 };
    fields + 1 + message_height(form, columns.saturating_sub(4)) + notes
}

/// Fields from the top, the focused one always; a text and the notes share what is left.
fn areas(form: &Form, inner: Rect) -> Areas {
    let message_rows = message_height(form, inner.width).min(inner.height / 2);
    let mut room = inner.height.saturating_sub(message_rows);
    let texts = form.fields.iter().filter(|field| is_text(field)).count();
    let lines = u16::try_from(form.fields.len() - texts).unwrap_or(u16::MAX);
    let has_notes = !form.notes.is_empty() && room > lines + 2;
    let free = room.saturating_sub(lines + u16::from(has_notes));
    let text_rows = match (texts, has_notes) {
        (0, _) => 0,
        (_, true) => free / 2,
        (_, false) => free,
    };
    let text_rows = text_rows.max(TEXT_ROWS.0 + 1).min(inner.height);
    let height = |field: &Field| match (is_text(field), listed(field)) {
        (true, _) => text_rows,
        (false, rows) => rows.min(free + 1).max(1),
    };
    // The focused field is there, and before it as many as fit.
    let mut first = form.focus.min(form.fields.len());
    let mut used = form.focused().map_or(0, height);
    while first > 0 && used + height(&form.fields[first - 1]) <= room {
        first -= 1;
        used += height(&form.fields[first]);
    }
    let mut y = inner.y;
    let fields = form.fields.iter().enumerate().map(|(place, field)| {
        let rows = height(field).min(room);
        if place < first || rows < height(field).min(2) {
            return Rect::default();
        }
        room -= rows;
        y += rows;
        Rect { y: y - rows, height: rows, ..inner }
    });
    let fields = fields.collect();
    let hint = Rect { y, height: message_rows.min(inner.bottom().saturating_sub(y)), ..inner };
    let rest = inner.bottom().saturating_sub(hint.bottom());
    let rule = Rect { y: hint.bottom(), height: u16::from(has_notes && rest > 1), ..inner };
    let notes = Rect { y: rule.bottom(), height: if rule.height == 0 { 0 } else { rest - 1 }, ..inner };
    Areas { fields, hint, rule, notes }
}

fn text_area(area: Rect) -> Rect {
    Rect {
        x: area.x + 2.min(area.width),
        y: area.y + 1,
        width: area.width.saturating_sub(2),
        height: area.height.saturating_sub(1),
    }
}

fn note_rows(form: &Form, columns: u16) -> Vec<Row> {
    let columns = usize::from(columns).max(1);
    let wrapped = |(role, text): &(Role, String)| {
        let text = SafeText::single_line(text);
        let ranges = wrap(&text, columns);
        let rows = ranges.into_iter().map(|range| Row::new([Piece::safe(*role, text.slice(range))]));
        rows.collect::<Vec<_>>()
    };
    form.notes.iter().flat_map(wrapped).collect()
}

/// Measures it. Returns whether its notes are longer than their area.
pub(super) fn layout(form: &mut Form, inner: Rect) -> bool {
    let areas = areas(form, inner);
    for (field, area) in form.fields.iter_mut().zip(&areas.fields) {
        if let Input::Text(text, _) = &mut field.input {
            editor::layout(text, text_area(*area));
        }
    }
    let limit = scroll_limit(note_rows(form, areas.notes.width).len(), areas.notes.height);
    form.top = form.top.min(limit);
    limit > 0
}

/// The field at a place, and the position of its value.
pub(super) fn field_at(form: &Form, inner: Rect, at: Position) -> Option<(usize, Rect)> {
    let areas = areas(form, inner);
    let place = areas.fields.iter().position(|area| area.contains(at))?;
    let area = areas.fields[place];
    let start = if is_text(&form.fields[place]) { 0 } else { value_start(area) };
    Some((place, Rect { x: area.x + start, width: area.width - start, ..area }))
}

/// Columns before the value of a field.
fn value_start(area: Rect) -> u16 {
    (NAMES + 4).min(area.width)
}

pub(super) fn draw(model: &Model, form: &Form, inner: Rect, buffer: &mut Buffer) -> Option<Position> {
    let areas = areas(form, inner);
    let mut cursor = None;
    for (place, area) in areas.fields.iter().enumerate().filter(|(_, area)| area.height > 0) {
        let at = draw_field(model, form, place, *area, buffer);
        cursor = cursor.or(at.filter(|_| place == form.focus && form.waiting.is_none()));
    }
    let (role, text) = hint(form, inner.width);
    let text = SafeText::single_line(&text);
    for (line, range) in
        wrap(&text, usize::from(inner.width).max(1)).into_iter().take(usize::from(areas.hint.height)).enumerate()
    {
        Row::new([Piece::safe(role, text.slice(range))]).draw(line_of(areas.hint, line), buffer, model.theme);
    }
    let notes = note_rows(form, areas.notes.width);
    let below = scroll_limit(notes.len(), areas.notes.height).saturating_sub(form.top);
    bars::rule(areas.rule, "", false, bars::more(form.top, below, inner.width), buffer, model.theme);
    for (line, row) in notes.iter().skip(form.top).take(usize::from(areas.notes.height)).enumerate() {
        row.draw(line_of(areas.notes, line), buffer, model.theme);
    }
    cursor
}

/// The values of a choice below each other, next to the name of the field: the chosen one has a mark.
fn draw_list(
    model: &Model,
    (options, chosen, focused): (&[Choice], usize, bool),
    head: [Piece; 2],
    area: Rect,
    buffer: &mut Buffer,
) {
    let rows = usize::from(area.height);
    let first = first_listed(options.len(), chosen, rows);
    let names = options.iter().map(|choice| width(&choice.name)).max().unwrap_or_default();
    Row::new(head).draw(line_of(area, 0), buffer, model.theme);
    let start = value_start(area) - 2;
    for (line, (place, choice)) in options.iter().enumerate().skip(first).take(rows).enumerate() {
        let is_chosen = place == chosen;
        let role = if is_chosen && focused { Role::Title } else { Role::Text };
        let hidden = match line {
            0 if first > 0 => "▲",
            line if line + 1 == rows && place + 1 < options.len() => "▼",
            _ => "",
        };
        let row = Row::new([
            Piece::literal(Role::Accent, if is_chosen { "▸ " } else { "  " }),
            Piece::new(role, &format!("{:<names$}", choice.name)),
            Piece::new(Role::Dim, &format!("  {}", choice.meaning)),
        ]);
        let at = line_of(area, line);
        let at = Rect { x: at.x + start, width: at.width.saturating_sub(start), ..at };
        row.ending([Piece::new(Role::Dim, hidden)]).draw(at, buffer, model.theme);
    }
}

fn draw_field(model: &Model, form: &Form, place: usize, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    let field = form.fields.get(place)?;
    let focused = place == form.focus;
    let mark = Piece::literal(Role::Accent, if focused { "▸ " } else { "  " });
    let name =
        Piece::new(if focused { Role::Title } else { Role::Text }, &format!("{:<1$}", field.name, usize::from(NAMES)));
    match &field.input {
        Input::Choice { options, chosen, listed: true } => {
            draw_list(model, (options, *chosen, focused), [mark, name], area, buffer);
            None
        }
        Input::Choice { options, chosen, .. } => {
            let choice = options.get(*chosen).cloned().unwrap_or_default();
            let (left, right) = if focused && options.len() > 1 { ("◂ ", " ▸") } else { ("  ", "  ") };
            let value = Piece::new(if focused { Role::Title } else { Role::Text }, &choice.name);
            let meaning = Piece::new(Role::Dim, &format!("  {}", choice.meaning));
            let sign = |text| Piece::literal(Role::Key, text);
            let place = if options.len() > 1 { format!("{} of {}", chosen + 1, options.len()) } else { String::new() };
            let row = Row::new([mark, name, sign(left), value, sign(right), meaning]);
            row.ending([Piece::new(Role::Dim, &place)]).draw(area, buffer, model.theme);
            None
        }
        Input::Line(draft) => {
            let sign = if field.is_restored() { RESTORED_SIGN } else { "" };
            Row::new([mark, name]).ending([Piece::literal(Role::Accent, sign)]).draw(area, buffer, model.theme);
            let start = value_start(area);
            let width = (area.width - start).saturating_sub(u16::try_from(sign.len()).unwrap_or(0));
            let input = Rect { x: area.x + start, width, ..area };
            editor::draw_line(draft, input, model.theme, buffer)
        }
        Input::Text(text, language) => {
            let head = Rect { height: 1, ..area };
            let check = form.check.as_ref().filter(|check| !check.state.is_empty());
            // What is hidden above and below the rows that are seen.
            let more = bars::more(editor::hidden_above(text), editor::hidden_below(text), area.width);
            let sign = field.is_restored().then(|| Piece::literal(Role::Accent, RESTORED_SIGN));
            Row::new([mark, name]).ending(more.into_iter().chain(check.map(answer::state)).chain(sign)).draw(
                head,
                buffer,
                model.theme,
            );
            let rows = answer::draw_issues(check, text_area(area), buffer, model.theme);
            let looks = editor::Looks {
                language: *language,
                findings: &[],
                found: &[],
                focused,
                theme: model.theme,
                placeholder: match language {
                    Language::Lisp if field.hint.starts_with("NAME") => "total = 42",
                    _ => "",
                },
            };
            editor::draw(text, rows, &looks, buffer)
        }
    }
}
