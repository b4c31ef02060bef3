//! Small popups: the search over an editor, the fixes of a finding, the tour.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::areas::line_of;
use super::editor;
use crate::tui::draft::find::{MOST_PLACES, SearchSyntax};
use crate::tui::model::{Find, FindField, Model, Picks, TOUR, place_name};
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::tui::transcript::format::{count, plural};
use ptc_core::text::SafeText;
use ptc_core::text::width::{truncate, wrap};

/// Columns of the names of the two fields.
const NAMES: u16 = 9;

/// The box of the search: at the bottom, or at the top when the editor is below.
pub(super) fn find_frame(model: &Model, find: &Find, screen: Rect) -> Rect {
    let (columns, rows) = (70.min(screen.width - 2), 6.min(screen.height - 2));
    let editor = model.workbench.editor(find.place).area;
    let low = screen.height - rows - 1;
    let covered = editor.y + editor.height / 2 >= low.saturating_sub(1);
    Rect::new((screen.width - columns) / 2, if covered { 1 } else { low }, columns, rows)
}

pub(super) fn find_title(find: &Find) -> String {
    let how = if find.syntax == SearchSyntax::Regex { "regular expression" } else { "text" };
    format!("Find {how} in {}", place_name(find.place).to_lowercase())
}

pub(super) fn draw_find(model: &Model, find: &Find, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    let mut cursor = None;
    let fields = [(FindField::Sought, "find", &find.sought), (FindField::With, "replace", &find.with)];
    for (at, (field, name, draft)) in fields.into_iter().enumerate() {
        let place = line_of(area, at);
        let role = if find.field == field { Role::Key } else { Role::Dim };
        Row::new([Piece::literal(role, name)]).draw(place, buffer, model.theme);
        let room = Rect { x: place.x + NAMES, width: place.width.saturating_sub(NAMES), ..place };
        let here = editor::draw_line(draft, room, model.theme, buffer);
        if find.field == field {
            cursor = here;
        }
    }
    found(model, find).draw(line_of(area, 2), buffer, model.theme);
    cursor
}

/// Returns the number of matches, and which of them is selected; or the error of the pattern.
fn found(model: &Model, find: &Find) -> Row {
    if let Some(error) = &find.error {
        return Row::new([Piece::literal(Role::Bad, "✗ "), Piece::new(Role::Text, error)]);
    }
    if find.sought.text().is_empty() {
        return Row::new([Piece::literal(Role::Dim, "type the text to find")]);
    }
    let selection = model.workbench.editor(find.place).draft.selection();
    let at = selection.and_then(|range| find.places.iter().position(|place| *place == range));
    let all = count(find.places.len() as u64);
    let more = if find.places.len() == MOST_PLACES { " or more" } else { "" };
    let text = match (find.places.len(), at) {
        (0, _) => "no matches".to_owned(),
        (_, Some(at)) => format!("{} of {all}{more}", count(at as u64 + 1)),
        (number, None) => format!("{}{more}", plural(number as u64, "place")),
    };
    Row::new([Piece::new(Role::Dim, &text)])
}

/// Maximum rows of the message above the fixes.
const MOST_MESSAGE_ROWS: usize = 4;

/// Rows of the message above the fixes.
pub(super) fn message_rows(message: &str, columns: u16) -> usize {
    wrap(&SafeText::single_line(message), usize::from(columns).max(1)).len().min(MOST_MESSAGE_ROWS)
}

pub(super) fn draw_fixes(
    model: &Model,
    (message, fixes, selected): (&str, &Picks, usize),
    area: Rect,
    buffer: &mut Buffer,
) {
    let text = SafeText::single_line(message);
    let above = message_rows(message, area.width);
    let columns = usize::from(area.width).max(1);
    let lines = wrap(&text, columns);
    for (line, range) in lines.iter().take(above).enumerate() {
        // The last row ends with a mark where there is more.
        let rest = if line + 1 == above { range.start..text.len() } else { range.clone() };
        let shown = truncate(&text.slice(rest), columns).into_owned();
        Row::new([Piece::new(Role::Dim, &shown)]).draw(line_of(area, line), buffer, model.theme);
    }
    let rows = usize::from(area.height).saturating_sub(above);
    let top = first_shown(selected, rows);
    for (at, title) in fixes.titles().into_iter().enumerate().skip(top).take(rows) {
        let (mark, role) = if at == selected { ("▸ ", Role::Title) } else { ("  ", Role::Text) };
        let row = Row::new([Piece::literal(Role::Accent, mark), Piece::new(role, &title)]);
        row.draw(line_of(area, above + at - top), buffer, model.theme);
    }
    let below = fixes.count().saturating_sub(top + rows);
    if below > 0 {
        super::popups::draw_below(model, &format!(" ▼ {below} more "), area, buffer);
    }
}

/// The first visible line of a list with `rows` visible rows.
pub(super) fn first_shown(selected: usize, rows: usize) -> usize {
    (selected + 1).saturating_sub(rows)
}

/// Columns of the keys in the tour.
const TOUR_KEYS: usize = 10;

/// Rows of a step of the tour, its keys at the end.
pub(super) fn tour_rows(model: &Model, step: usize, columns: usize) -> Vec<Row> {
    let Some(step) = TOUR.get(step) else { return Vec::new() };
    let text = SafeText::literal(step.text);
    let lines =
        wrap(&text, columns.max(1)).into_iter().map(|range| Row::new([Piece::safe(Role::Text, text.slice(range))]));
    let mut rows: Vec<Row> = lines.chain([Row::default()]).collect();
    for row in step.actions.iter().filter_map(|action| action.row()) {
        let key = model.keymap.first_name_of(row);
        let key = if key.is_empty() { "(palette)".to_owned() } else { key };
        let help = SafeText::literal(row.help);
        for (line, range) in wrap(&help, columns.saturating_sub(TOUR_KEYS).max(1)).into_iter().enumerate() {
            let key = if line == 0 { key.as_str() } else { "" };
            let key = Piece::new(Role::Key, &format!("{key:<TOUR_KEYS$}"));
            rows.push(Row::new([key, Piece::safe(Role::Dim, help.slice(range))]));
        }
    }
    rows
}

pub(super) fn tour_title(step: usize) -> String {
    let title = TOUR.get(step).map_or("", |step| step.title);
    format!("Tour {} of {} · {title}", step + 1, TOUR.len())
}
