//! Views: rendering of the model. `layout` measures and fills caches, `draw` only reads.

mod answer;
mod areas;
mod bars;
mod blank;
mod budget;
mod candidates;
mod cases;
mod choices;
mod compare;
mod draft_runs;
mod editor;
mod form;
mod help;
mod inputs;
mod inspector;
mod menu;
mod overview;
mod popups;
mod preview;
mod run;
mod sessions;
mod steps;
mod traffic;
mod workbench;

use ptc_core::text::SafeText;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::actions::Action;
use super::compare::Field as MatrixField;
use super::model::{Model, Popup, SMALLEST, Screen};
use super::row::{Piece, Row};
use super::theme::Role;
use super::transcript::Transcript;
use areas::line_of;
use ptc_core::text::width::{width, wrap};

/// Measures the screen for a frame of this size: areas, scroll positions, visible rows. Call it before [`draw`].
pub fn layout(model: &mut Model) {
    if !model.fits() {
        return;
    }
    match model.screen {
        Screen::Workbench => workbench::layout(model),
        Screen::Sessions => sessions::layout(model),
        Screen::Compare => compare::layout(model),
        Screen::Tests => cases::layout(model),
        Screen::Traffic => traffic::layout(model),
        Screen::Candidates => candidates::layout(model),
    }
    let screen = Rect::new(0, 0, model.size.0, model.size.1);
    if let Some(open) = &mut model.inspector {
        inspector::layout(open, screen);
    }
    if !model.popups.is_empty() {
        popups::layout(model);
    }
}

/// Draws a frame; gives the place of the cursor where text is typed.
pub fn draw(model: &Model, buffer: &mut Buffer) -> Option<Position> {
    let area = Rect::new(0, 0, model.size.0, model.size.1).intersection(buffer.area);
    if !model.fits() {
        too_small(model, area, buffer);
        return None;
    }
    buffer.set_style(area, model.theme.style(Role::Text));
    let below = match (&model.inspector, model.screen) {
        (Some(open), _) => inspector::draw(model, open, area, buffer),
        (None, Screen::Workbench) => workbench::draw(model, area, buffer),
        (None, Screen::Sessions) => sessions::draw(model, area, buffer),
        (None, Screen::Compare) => compare::draw(model, area, buffer),
        (None, Screen::Tests) => cases::draw(model, area, buffer),
        (None, Screen::Traffic) => traffic::draw(model, area, buffer),
        (None, Screen::Candidates) => candidates::draw(model, area, buffer),
    };
    let status = Rect { y: area.bottom().saturating_sub(2), height: 1, ..area };
    bars::suggesting(model, status, buffer);
    bars::held(model, status, buffer);
    if model.popups.is_empty() {
        bars::long_toast(model, status, buffer);
    }
    let cursor = match model.popups.last() {
        Some(Popup::Seek { input }) => {
            if let Some(help @ Popup::Help { .. }) = model.popups.iter().rev().nth(1) {
                popups::draw(model, help, area, buffer);
            }
            bars::find(model, input, hits(model), area, buffer)
        }
        Some(Popup::Turns { what, input }) => bars::ask_turns(model, *what, input, area, buffer),
        Some(popup) => popups::draw(model, popup, area, buffer),
        None => below,
    };
    bars::draw_chords(model, area, buffer);
    draw_sweep(model, buffer);
    cursor
}

/// The action whose key or title in a footer is at this place.
pub(super) fn footer_action(model: &Model, at: Position) -> Option<Action> {
    let screen = Rect::new(0, 0, model.size.0, model.size.1);
    let footer = match model.popups.last() {
        Some(popup) => popups::footer(model, popup, screen),
        None => line_of(screen, usize::from(screen.height.saturating_sub(1))),
    };
    footer.contains(at).then(|| bars::footer_action(model, footer, at.x)).flatten()
}

/// Returns the action whose key and title the title bar shows at this column.
pub(super) fn title_action(model: &Model, column: u16) -> Option<Action> {
    if model.screen != Screen::Workbench || model.inspector.is_some() {
        return None;
    }
    let mut buffer = Buffer::empty(Rect::new(0, 0, model.size.0, 1));
    bars::title(model, buffer.area, &mut buffer);
    let shown: Vec<&str> = buffer.content().iter().map(ratatui::buffer::Cell::symbol).collect();
    [Action::Help, Action::Palette].into_iter().find(|action| {
        let label = format!("{} {}", model.keymap.first_name(*action), action.row().map_or("", |row| row.title));
        let start = (0..shown.len()).rfind(|at| shown[*at..].concat().starts_with(&label));
        start.is_some_and(|start| (start..start + width(&label)).contains(&usize::from(column)))
    })
}

/// The palette's entry, or the fix, at this place.
pub(super) fn popup_row(model: &Model, at: Position) -> Option<usize> {
    popups::row_at(model, model.popups.last()?, Rect::new(0, 0, model.size.0, model.size.1), at)
}

/// Returns the position of the search: in the help below it, in the inspector, else in the transcript.
fn hits(model: &Model) -> bars::Hits {
    if let Some(Popup::Help { top }) = model.popups.iter().rev().nth(1) {
        let places = help_places(model);
        let at = places.iter().position(|place| place >= top).map_or(places.len(), |at| at + 1);
        return bars::Hits { at, of: places.len(), noun: "line" };
    }
    let (found, noun) = match &model.inspector {
        Some(open) => (open.found(), "part"),
        None => (model.active_transcript().map(Transcript::found).unwrap_or_default(), "card"),
    };
    bars::Hits { at: found.0, of: found.1, noun }
}

/// A time in words: today and yesterday by name.
pub(super) fn when(model: &Model, at_ms: i64) -> String {
    sessions::when(at_ms, model.now_ms, model.utc_offset_s)
}

/// The rows of the help that contain the search text.
pub(super) fn help_places(model: &Model) -> Vec<usize> {
    popups::help_places(model, Rect::new(0, 0, model.size.0, model.size.1))
}

/// Lines of the list in the topmost popup that are seen.
pub(super) fn list_rows(model: &Model) -> usize {
    let screen = Rect::new(0, 0, model.size.0, model.size.1);
    model.popups.last().map_or(0, |popup| popups::list_rows(model, popup, screen))
}

/// The field of the dialog at this place, and the position of its value.
pub(super) fn dialog_field(model: &Model, at: Position) -> Option<(usize, Rect)> {
    let popup = model.popups.last()?;
    let Popup::Form(dialog, _) = popup else { return None };
    form::field_at(dialog, popups::inside(model, popup, Rect::new(0, 0, model.size.0, model.size.1)), at)
}

/// The field at this place of the dialog that starts a matrix, the mode shown there, and the position of the field's value.
pub(super) fn matrix_field(model: &Model, at: Position) -> Option<(MatrixField, Option<usize>, Rect)> {
    compare::field_at(model, Rect::new(0, 0, model.size.0, model.size.1), at)
}

/// The index in the list of matrices of the row here.
pub(super) fn matrix_row(model: &Model, at: Position) -> Option<usize> {
    compare::listed_at(model, Rect::new(0, 0, model.size.0, model.size.1), at)
}

/// Returns whether a menu is open and this place outside of it.
pub(super) fn next_to_menu(model: &Model, at: Position) -> bool {
    let screen = Rect::new(0, 0, model.size.0, model.size.1);
    matches!(model.popups.last(), Some(Popup::Menu(open)) if !menu::frame(open, screen).contains(at))
}

/// The byte of a text of one line at a column of its area.
pub(super) use editor::byte_at;

/// The part of the screen whose text a selection that begins here stays in.
pub(super) fn text_area(model: &Model, at: Position) -> Rect {
    let screen = Rect::new(0, 0, model.size.0, model.size.1);
    let line = Rect { y: at.y, height: 1, ..screen };
    let areas = match (model.popups.last(), &model.inspector, model.screen) {
        (Some(popup), ..) => vec![popups::inside(model, popup, screen)],
        (None, Some(open), _) => vec![open.list_area, open.part_area],
        (None, None, Screen::Sessions) => sessions::text_areas(model, screen),
        (None, None, Screen::Compare) => vec![compare::text_area(screen)],
        (None, None, Screen::Tests) => cases::text_areas(screen),
        (None, None, Screen::Traffic) => traffic::text_areas(model, screen),
        (None, None, Screen::Candidates) => candidates::text_areas(model, screen),
        (None, None, Screen::Workbench) => workbench::text_areas(model),
    };
    areas.into_iter().find(|area| area.contains(at)).unwrap_or(line)
}

/// The selected text as displayed, without blanks at the ends of its lines.
pub(super) fn swept(model: &Model) -> String {
    let Some(sweep) = &model.pointer.sweep else { return String::new() };
    let mut buffer = Buffer::empty(Rect::new(0, 0, model.size.0, model.size.1));
    draw(model, &mut buffer);
    let line = |(y, columns): (u16, std::ops::Range<u16>)| {
        let (mut text, mut taken) = (String::new(), columns.start);
        for x in columns {
            // A wide character takes the cells after it.
            let symbol = buffer.cell((x, y)).map_or("", ratatui::buffer::Cell::symbol);
            if x >= taken {
                text.push_str(symbol);
                taken = x.saturating_add(u16::try_from(width(symbol)).unwrap_or(1).max(1));
            }
        }
        text.trim_end().to_owned()
    };
    sweep.rows().map(line).collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

fn draw_sweep(model: &Model, buffer: &mut Buffer) {
    let rows = model.pointer.sweep.iter().flat_map(super::model::Sweep::rows);
    for (y, columns) in rows {
        for x in columns {
            if let Some(cell) = buffer.cell_mut((x, y)) {
                cell.set_style(model.theme.style(Role::Selected));
            }
        }
    }
}

pub(super) use run::MARGIN;

/// Rows of the question on top that are seen at the same time.
pub(super) fn question_rows(model: &Model) -> Option<u16> {
    let popup = model.popups.last()?;
    let Popup::Answer { question, .. } = popup else { return None };
    let inner = popups::inside(model, popup, Rect::new(0, 0, model.size.0, model.size.1));
    Some(answer::areas(inner, question).0.height)
}

/// Rows that the start of a question takes in its popup.
pub(super) fn asked_rows(model: &Model, start: &str) -> usize {
    popups::asked_rows_before(model, start)
}

fn too_small(model: &Model, area: Rect, buffer: &mut Buffer) {
    let (columns, rows) = model.size;
    let text = format!(
        "This terminal is {columns}×{rows}. The workbench needs {}×{}. Make it larger; Ctrl-Q leaves.",
        SMALLEST.0, SMALLEST.1
    );
    let text = SafeText::single_line(&text);
    for (line, range) in wrap(&text, usize::from(area.width)).into_iter().enumerate() {
        let row = Row::new([Piece::safe(Role::Text, text.slice(range))]);
        row.draw(line_of(area, line), buffer, model.theme);
    }
}
