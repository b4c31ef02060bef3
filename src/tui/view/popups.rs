//! Popups: a box over the screen, its text, its keys in the footer line of the box.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::widgets::{Block, Widget as _};

use super::areas::{line_of, scroll_limit};
use super::blank::clear;
use super::form::restored_hint;
use super::{answer, areas, bars, choices, editor, form, help, menu, preview};
use crate::port::Gate;
use crate::tui::actions::{Action, ActionRow};
use crate::tui::colours::Language;
use crate::tui::draft::Draft;
use crate::tui::model::{Asker, LeaveAction, Model, Picks, Popup, place_name};
use crate::tui::palette;
use crate::tui::recovery::Recovery;
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::tui::traffic::Writes;
use crate::tui::transcript::format::plural;
use crate::tui::transcript::wrapped_text::{Look, WrappedText};
use ptc_core::text::SafeText;
use ptc_core::text::width::{truncate, width, wrap};

/// Measures the topmost popup.
pub(super) fn layout(model: &mut Model) {
    model.popup_scrolls = false;
    let Some(popup) = model.popups.last() else { return };
    let screen = Rect::new(0, 0, model.size.0, model.size.1);
    let inner = inner(frame(popup, model, screen));
    if is_reading(popup) {
        let rows = reading_rows(model, popup, usize::from(inner.width)).len();
        let limit = scroll_limit(rows, inner.height);
        model.popup_scrolls = limit > 0;
        if let Some(Popup::Help { top } | Popup::Preview { top, .. }) = model.popups.last_mut() {
            *top = (*top).min(limit);
        }
        if let Some(Popup::Differs(differs)) = model.popups.last_mut() {
            differs.top = differs.top.min(limit);
        }
        return;
    }
    let entries = match popup {
        Popup::Palette { input, .. } => palette::entries(model, input.text()).len(),
        _ => 0,
    };
    match model.popups.last_mut() {
        Some(Popup::Palette { selected, .. }) => *selected = (*selected).min(entries.saturating_sub(1)),
        Some(Popup::Form(dialog, _)) => model.popup_scrolls = form::layout(dialog, inner),
        Some(Popup::Menu(open)) => menu::layout(open, inner),
        Some(Popup::Answer { question, top, read, end_seen, editor, .. }) => {
            let (asked, _, reply) = answer::areas(inner, question);
            let rows = answer::asked(question, asked.width).len();
            let limit = scroll_limit(rows, asked.height);
            model.popup_scrolls = limit > 0;
            *top = (*top).min(limit);
            if *top <= *read {
                *read = (*read).max(*top + usize::from(asked.height));
            }
            *end_seen |= *read >= rows;
            editor::layout(editor, reply);
        }
        _ => {}
    }
}

/// The box of a popup.
fn frame(popup: &Popup, model: &Model, screen: Rect) -> Rect {
    if let Some(panel) = areas::panel(popup, model, screen) {
        return panel;
    }
    let (columns, rows) = match popup {
        Popup::Help { .. } | Popup::Preview { .. } | Popup::Differs(_) | Popup::Answer { .. } => {
            (answer_columns(screen.width), screen.height)
        }
        Popup::Palette { .. } | Popup::Seek { .. } | Popup::Turns { .. } => (answer_columns(screen.width).max(70), 22),
        Popup::Find(find) => return choices::find_frame(model, find, screen),
        Popup::Menu(open) => return menu::frame(open, screen),
        Popup::Fixes { message, fixes, .. } => {
            // Lists of places have texts of what is there.
            let is_places = matches!(fixes, Picks::Failures(_) | Picks::Hits(_));
            let columns = (if is_places { 110 } else { 70 }).min(screen.width - 2);
            let rows = choices::message_rows(message, columns - 4) + fixes.count() + 3;
            (columns, u16::try_from(rows).unwrap_or(u16::MAX))
        }
        Popup::Tour(step) => {
            let columns = 72.min(screen.width - 2);
            let rows = choices::tour_rows(model, *step, usize::from(columns) - 4).len() + 3;
            (columns, u16::try_from(rows).unwrap_or(u16::MAX))
        }
        Popup::Form(dialog, _) => (answer_columns(screen.width), form::rows(dialog, answer_columns(screen.width)) + 3),
        Popup::Leaving(_) | Popup::Overwrite { .. } | Popup::Recovery(_) | Popup::SavePath { .. } => {
            let place = areas::beside_draft(popup, model, screen);
            let columns = 64.min(place.unwrap_or(screen).width - 2);
            let text = message(model, popup);
            let rows = wrap(&text, usize::from(columns) - 4).len();
            let input = usize::from(matches!(popup, Popup::SavePath { .. }));
            let rows = u16::try_from(rows + input + 4).unwrap_or(u16::MAX);
            if let Some(place) = place {
                let rows = rows.min(place.height);
                return Rect::new(place.x + (place.width - columns) / 2, place.bottom() - rows, columns, rows);
            }
            (columns, rows)
        }
    };
    let columns = columns.min(screen.width - 2);
    let rows = rows.min(screen.height - 2);
    Rect::new((screen.width - columns) / 2, (screen.height - rows) / 2, columns, rows)
}

/// Inside the border and a column of air; the last line is the footer's.
fn inner(frame: Rect) -> Rect {
    Rect::new(frame.x + 2, frame.y + 1, frame.width.saturating_sub(4), frame.height.saturating_sub(3))
}

/// The line of keys in a box.
fn footer_of(frame: Rect) -> Rect {
    Rect { x: frame.x + 1, y: frame.bottom().saturating_sub(2), width: frame.width.saturating_sub(2), height: 1 }
}

/// The rows of the help that contain the typed search text.
pub(super) fn help_places(model: &Model, screen: Rect) -> Vec<usize> {
    let (Some(Popup::Seek { input }), Some(help)) = (model.popups.last(), model.popups.iter().rev().nth(1)) else {
        return Vec::new();
    };
    let wanted = input.text().to_lowercase();
    let rows = reading_rows(model, help, usize::from(inside(model, help, screen).width));
    let has = |row: &Row| !wanted.is_empty() && row.plain().to_lowercase().contains(&wanted);
    (0..rows.len()).filter(|at| has(&rows[*at])).collect()
}

/// The line of keys of a popup.
pub(super) fn footer(model: &Model, popup: &Popup, screen: Rect) -> Rect {
    footer_of(frame(popup, model, screen))
}

/// The inside of a popup.
pub(super) fn inside(model: &Model, popup: &Popup, screen: Rect) -> Rect {
    inner(frame(popup, model, screen))
}

/// Lines of the popup's list that are seen.
pub(super) fn list_rows(model: &Model, popup: &Popup, screen: Rect) -> usize {
    let inner = inside(model, popup, screen);
    match popup {
        Popup::Palette { .. } => usize::from(palette_list(inner).height),
        Popup::Menu(_) => menu::list_rows(inner),
        Popup::Fixes { message, .. } => {
            usize::from(inner.height).saturating_sub(choices::message_rows(message, inner.width))
        }
        _ => 0,
    }
}

/// The entry of the palette or the menu, the fix, the answer, at a place.
pub(super) fn row_at(model: &Model, popup: &Popup, screen: Rect, at: Position) -> Option<usize> {
    let inner = inner(frame(popup, model, screen));
    let line = usize::from(at.y.checked_sub(inner.y)?);
    if !inner.contains(at) {
        return None;
    }
    match popup {
        Popup::Palette { input, selected } => {
            let rows = usize::from(palette_list(inner).height);
            let line = line.checked_sub(1).filter(|line| *line < rows)?;
            let entry = line + (selected + 1).saturating_sub(rows);
            (entry < palette::entries(model, input.text()).len()).then_some(entry)
        }
        Popup::Menu(open) => menu::row_at(open, inner, at),
        Popup::Answer { question, .. } if !question.options.is_empty() => {
            let (_, _, choices) = answer::areas(inner, question);
            let line = usize::from(at.y.checked_sub(choices.y)?);
            (line < question.options.len()).then_some(line)
        }
        Popup::Fixes { message, fixes, selected, .. } => {
            let above = choices::message_rows(message, inner.width);
            let top = choices::first_shown(*selected, usize::from(inner.height).saturating_sub(above));
            line.checked_sub(above).map(|line| line + top).filter(|at| *at < fixes.count())
        }
        _ => None,
    }
}

pub(super) fn draw(model: &Model, popup: &Popup, screen: Rect, buffer: &mut Buffer) -> Option<Position> {
    let frame = frame(popup, model, screen).intersection(buffer.area);
    clear(frame, buffer);
    buffer.set_style(frame, model.theme.style(Role::Text));
    let block = Block::bordered()
        .border_style(model.theme.style(Role::Accent))
        .title(format!(" {} ", title(model, popup)))
        .title_style(model.theme.style(Role::Title));
    block.render(frame, buffer);
    let inner = inner(frame);
    bars::footer(model, footer_of(frame), buffer);
    match popup {
        Popup::Help { top } | Popup::Preview { top, .. } => {
            draw_reading(model, popup, *top, inner, buffer);
            None
        }
        Popup::Differs(differs) => {
            draw_reading(model, popup, differs.top, inner, buffer);
            None
        }
        Popup::Find(find) => choices::draw_find(model, find, inner, buffer),
        Popup::Menu(open) => {
            menu::draw(model, open, inner, buffer);
            None
        }
        Popup::Fixes { message, fixes, selected, .. } => {
            choices::draw_fixes(model, (message, fixes, *selected), inner, buffer);
            None
        }
        Popup::Tour(step) => {
            for (line, row) in choices::tour_rows(model, *step, usize::from(inner.width)).iter().enumerate() {
                row.draw(line_of(inner, line), buffer, model.theme);
            }
            None
        }
        Popup::Form(dialog, _) => form::draw(model, dialog, inner, buffer),
        Popup::Palette { input, selected } => draw_palette(model, input, *selected, inner, buffer),
        Popup::Answer { question, asker, top, end_seen, editor, .. } => {
            let looks = answer::AnswerLooks { asker, top: *top, end_seen: *end_seen };
            answer::draw(model, (question, looks, editor), inner, buffer)
        }
        Popup::SavePath { field, .. } => {
            let rows = draw_message(model, popup, inner, buffer);
            editor::draw_line(field.draft()?, line_of(inner, rows), model.theme, buffer)
        }
        Popup::Seek { .. } | Popup::Turns { .. } | Popup::Leaving(_) | Popup::Overwrite { .. } | Popup::Recovery(_) => {
            draw_message(model, popup, inner, buffer);
            None
        }
    }
}

fn title(model: &Model, popup: &Popup) -> String {
    let title = match popup {
        Popup::Help { .. } => "Help",
        Popup::Menu(_) => "Menu",
        Popup::Palette { .. } => "Actions",
        Popup::Seek { .. } => "Search",
        Popup::Turns { .. } => "Turns",
        Popup::Find(find) => return choices::find_title(find),
        Popup::Fixes { title, .. } => title,
        Popup::Tour(step) => return choices::tour_title(*step),
        Popup::Leaving(LeaveAction::Program) if !model.workbench.unsaved() => "Leave?",
        Popup::Leaving(_) => "Unsaved edits",
        Popup::Recovery(_) => "Kept drafts",
        Popup::SavePath { what, .. } => what.title(),
        Popup::Overwrite { .. } if model.overwrites_own_file(std::slice::from_ref(popup)) => "The file has changed",
        Popup::Overwrite { .. } => "Overwrite?",
        Popup::Answer { asker: Asker::Held(asks), .. } => match asks.writes {
            Writes::Request => "Held request",
            Writes::Reply => "Held reply",
            Writes::Answer => "You are the model",
        },
        Popup::Answer { question, .. } => {
            let turn = question.address.turn_number();
            let who = match question.gate {
                Some(Gate::Send) => "Before the request is sent",
                Some(Gate::Apply) => "Before the reply is applied",
                Some(Gate::Result) => "Before the result is passed on",
                None if question.address.is_question() => "You are asked",
                None => "You are the model",
            };
            return format!("{who}{}", turn.map(|turn| format!(" · turn {turn}")).unwrap_or_default());
        }
        Popup::Preview { against, .. } => return preview::opening_title(model, against.as_ref()),
        Popup::Differs(differs) => &differs.title,
        Popup::Form(form, _) => &form.title,
    };
    title.to_owned()
}

/// The text of a question.
fn message(model: &Model, popup: &Popup) -> SafeText {
    let text = match popup {
        Popup::Leaving(LeaveAction::Program) if !model.workbench.unsaved() => {
            let dialog = unconfirmed(model);
            let place = model.compared_run_in_progress().map(|name| format!(" on the compare screen ({name})"));
            let place = place.unwrap_or_default();
            let run = format!("A run{place} is in progress. Leaving stops it; its session keeps what it has.");
            let run = model.stops_run_by_leaving().then_some(run);
            let proxy = model.traffic.listens_at().map(|address| {
                format!("The proxy listens at http://{address}. Leaving ends it, and requests to it then fail.")
            });
            run.into_iter().chain(proxy).chain(dialog).collect::<Vec<_>>().join(" ")
        }
        Popup::Leaving(leaving) => {
            let changed = changed(model).join(", ");
            let run = if model.workbench.running() { " The run will be stopped." } else { "" };
            let proxy = if model.traffic.listens_at().is_some() { " The proxy will end." } else { "" };
            match leaving {
                LeaveAction::For(..) => format!("There are unsaved edits in {changed}. Open another agent?"),
                LeaveAction::Program => {
                    let dialog = unconfirmed(model).map(|dialog| format!(" {dialog}")).unwrap_or_default();
                    format!("There are unsaved edits in {changed}.{run}{proxy}{dialog} Leave?")
                }
            }
        }
        Popup::Overwrite { path } => {
            if model.overwrites_own_file(std::slice::from_ref(popup)) {
                let edits = if model.workbench.unsaved() {
                    " Reload discards the unsaved edits; undo restores them."
                } else {
                    ""
                };
                format!("{path} has changed since it was read.{edits}")
            } else {
                format!("{path} already exists. Replace it with these texts?")
            }
        }
        Popup::SavePath { error: Some(error), .. } => error.clone(),
        Popup::SavePath { field, .. } => {
            let path = "Path of the file, relative to the working directory; ~/ is your home folder.";
            let undo = model.keymap.first_name(Action::Undo);
            if field.is_restored() { format!("{path} {}", restored_hint(&undo)) } else { path.to_owned() }
        }
        Popup::Recovery(recovery) => recovery_text(model, recovery),
        _ => String::new(),
    };
    SafeText::single_line(&text)
}

/// The sentence about a text that leaving would lose.
fn unconfirmed(model: &Model) -> Option<String> {
    let title = model.unconfirmed_dialog()?;
    Some(format!("The text in the dialog `{title}` is not confirmed; leaving discards it."))
}

fn changed(model: &Model) -> Vec<String> {
    model.workbench.changed().into_iter().map(|place| place_name(place).to_lowercase()).collect()
}

fn recovery_text(model: &Model, recovery: &Recovery) -> String {
    let minutes = crate::event::elapsed_ms(recovery.saved_ms, model.now_ms) / 60_000;
    let ago = match minutes {
        0 => "less than a minute".to_owned(),
        1..120 => plural(minutes, "minute"),
        120..2880 => plural(minutes / 60, "hour"),
        _ => plural(minutes / 1440, "day"),
    };
    let of = match &recovery.file {
        Some(file) => format!(" of {}", file.path.display()),
        None => " of an agent without a file".to_owned(),
    };
    let first = recovery.drafts[0].text().lines().next().unwrap_or_default();
    let first = truncate(first, 60);
    format!(
        "Unsaved edits{of} were kept {ago} ago. They begin with: {first}. Restoring them replaces the current texts of the editors."
    )
}

fn draw_message(model: &Model, popup: &Popup, area: Rect, buffer: &mut Buffer) -> usize {
    let text = message(model, popup);
    let rows = wrap(&text, usize::from(area.width).max(1));
    for (line, range) in rows.iter().enumerate() {
        Row::new([Piece::safe(Role::Text, text.slice(range.clone()))]).draw(line_of(area, line), buffer, model.theme);
    }
    rows.len()
}

fn reading_rows(model: &Model, popup: &Popup, columns: usize) -> Vec<Row> {
    match popup {
        Popup::Differs(differs) => {
            let mut rows = Vec::new();
            for (heading, text) in &differs.parts {
                if !rows.is_empty() {
                    rows.push(Row::default());
                }
                rows.push(Row::new([Piece::new(Role::Accent, heading)]));
                rows.extend(WrappedText::of(text, columns, Look::Rich(Language::Plain)));
            }
            rows
        }
        Popup::Preview { against, .. } => preview::opening_rows(model, against.as_ref(), columns),
        _ => help::rows(model, columns),
    }
}

fn draw_reading(model: &Model, popup: &Popup, top: usize, area: Rect, buffer: &mut Buffer) {
    let rows = reading_rows(model, popup, usize::from(area.width));
    for (line, row) in rows.iter().skip(top).take(usize::from(area.height)).enumerate() {
        row.draw(line_of(area, line), buffer, model.theme);
    }
    let below = scroll_limit(rows.len(), area.height).saturating_sub(top);
    if below > 0 {
        // In the help, a number of lines is of no use.
        let more = if matches!(popup, Popup::Help { .. }) { " ▼ ".to_owned() } else { format!(" ▼ {below} more ") };
        draw_below(model, &more, area, buffer);
    }
}

/// On the lower border of a popup with this inside: that there is more below.
pub(super) fn draw_below(model: &Model, more: &str, area: Rect, buffer: &mut Buffer) {
    let x = area.right().saturating_sub(u16::try_from(width(more)).unwrap_or(0));
    let y = area.bottom().saturating_add(1);
    if y < buffer.area.bottom() {
        buffer.set_string(x, y, more, model.theme.style(Role::Accent));
    }
}

/// Columns of the titles of the palette's entries.
const PALETTE_TITLE: usize = 21;
/// Rows below the palette's entries, for the whole sentence about the selected one.
const PALETTE_SENTENCE: u16 = 3;

/// The palette's entries: below what is typed, above the sentence when there is room for one.
fn palette_list(area: Rect) -> Rect {
    let below = if area.height > 3 * PALETTE_SENTENCE { PALETTE_SENTENCE } else { 0 };
    Rect { y: area.y + 1, height: area.height.saturating_sub(1 + below), ..area }
}

fn draw_palette(model: &Model, input: &Draft, selected: usize, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    let prompt = line_of(area, 0);
    Row::new([Piece::literal(Role::Key, "> ")]).draw(prompt, buffer, model.theme);
    let field = Rect { x: prompt.x + 2, width: prompt.width.saturating_sub(2), ..prompt };
    let cursor = editor::draw_line(input, field, model.theme, buffer);
    let list = palette_list(area);
    let entries = palette::entries(model, input.text());
    let below = model.popups.split_last().map_or(&[][..], |(_, below)| below);
    let top = (selected + 1).saturating_sub(usize::from(list.height));
    for (line, entry) in entries.iter().enumerate().skip(top).take(usize::from(list.height)) {
        let row = entry.row;
        let (title, enabled) = match entry.elsewhere {
            Some(heading) => (row.title, Err(format!("in: {heading}"))),
            None => (model.title(row), model.enabled_under(row.action, below).map_err(str::to_owned)),
        };
        let role = match &enabled {
            Err(_) => Role::Dim,
            Ok(()) if line == selected => Role::Title,
            Ok(()) => Role::Text,
        };
        let mark = if line == selected { "▸ " } else { "  " };
        let what = match &enabled {
            Err(reason) => format!("  ({reason})"),
            Ok(()) => format!("  {}", row.help),
        };
        let left = [
            Piece::literal(Role::Accent, mark),
            Piece::new(role, &format!("{title:<PALETTE_TITLE$}")),
            Piece::new(Role::Dim, &what),
        ];
        let place = line_of(list, line - top);
        Row::new(left).ending([Piece::new(Role::Key, &bars::key_of(model, row))]).draw(place, buffer, model.theme);
    }
    if let Some(palette::Entry { row, .. }) = entries.get(selected) {
        draw_sentence(model, row, Rect { y: list.bottom(), height: area.bottom() - list.bottom(), ..area }, buffer);
    } else {
        let none = Row::new([Piece::literal(Role::Dim, "no action matches")]);
        none.indented(2).draw(line_of(list, 0), buffer, model.theme);
    }
    cursor
}

/// Draws the whole description of the selected action, after an empty row.
fn draw_sentence(model: &Model, row: &ActionRow, area: Rect, buffer: &mut Buffer) {
    let text = SafeText::single_line(&format!("{} In [keys] of config.toml: {}", row.help, row.id));
    for (line, range) in wrap(&text, usize::from(area.width).max(1)).into_iter().enumerate() {
        Row::new([Piece::safe(Role::Dim, text.slice(range))]).draw(line_of(area, line + 1), buffer, model.theme);
    }
}

/// Rows that the start of a question takes.
pub(super) fn asked_rows_before(model: &Model, start: &str) -> usize {
    let columns = answer_columns(model.size.0).saturating_sub(4);
    WrappedText::of(start, usize::from(columns), Look::Rich(Language::Plain)).len()
}

/// Columns of the largest popups.
fn answer_columns(screen: u16) -> u16 {
    100.min(screen.saturating_sub(2))
}

/// Returns whether a popup shows a text that scrolls: the help, a preview, or the report of a replay.
fn is_reading(popup: &Popup) -> bool {
    matches!(popup, Popup::Help { .. } | Popup::Preview { .. } | Popup::Differs(_))
}
