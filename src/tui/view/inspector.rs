//! The inspector: a turn in a line, the tabs, the parts with their sizes, the part.

use ptc_core::lisp::format;
use ptc_core::text::width::{truncate, width, wrap};
use ptc_core::text::{SafeText, in_one_line};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::areas::line_of;
use super::{bars, editor};
use crate::tui::inspector::{Focus, InspectionState, Inspector, Tab, role};
use crate::tui::model::Model;
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::workbench::format::{count, duration, size};
use crate::workbench::inspect::{Change, GROWTH_PART, Mark, Part};

/// From this width on, list and part are shown side by side.
const TWO_COLUMNS: u16 = 64;
/// Rows of the value under the cursor, its rule included.
const VALUE_ROWS: u16 = 6;

struct Areas {
    title: Rect,
    tabs: Rect,
    /// The parts; empty while the part has all of a narrow screen.
    list: Rect,
    divider: Rect,
    rule: Rect,
    part: Rect,
    /// Below the part: the value under the cursor, or the input of the REPL.
    below: Rect,
    status: Rect,
    footer: Rect,
}

fn areas(inspector: &Inspector, screen: Rect) -> Areas {
    let line = |y: u16| Rect::new(screen.x, y, screen.width, 1);
    let body = Rect::new(screen.x, screen.y + 2, screen.width, screen.height.saturating_sub(4));
    let wide = screen.width >= TWO_COLUMNS;
    let (list, divider, right) = if wide {
        let columns = (screen.width * 3 / 10).clamp(22, 42);
        let right = Rect { x: body.x + columns + 1, width: body.width - columns - 1, ..body };
        (Rect { width: columns, ..body }, Rect { x: body.x + columns, width: 1, ..body }, right)
    } else if inspector.focus == Focus::List {
        let rows = (u16::try_from(inspector.entries()).unwrap_or(u16::MAX)).clamp(1, body.height / 2);
        let list = Rect { height: rows, ..body };
        (list, Rect::default(), Rect { y: body.y + rows, height: body.height - rows, ..body })
    } else {
        (Rect::default(), Rect::default(), body)
    };
    let below = if inspector.at_repl() {
        1
    } else if inspector.program().is_some() && inspector.focus == Focus::Part {
        VALUE_ROWS.min(right.height / 2)
    } else {
        0
    };
    let rule = Rect { height: 1.min(right.height), ..right };
    let part = Rect { x: right.x + 1, y: rule.bottom(), width: right.width.saturating_sub(2), ..right };
    let part = Rect { height: right.height.saturating_sub(1 + below), ..part };
    Areas {
        title: line(screen.y),
        tabs: line(screen.y + 1),
        list,
        divider,
        rule,
        part,
        below: Rect { y: part.bottom(), height: below.min(right.bottom().saturating_sub(part.bottom())), ..part },
        status: line(screen.bottom() - 2),
        footer: line(screen.bottom() - 1),
    }
}

pub(super) fn layout(inspector: &mut Inspector, screen: Rect) {
    let areas = areas(inspector, screen);
    inspector.prepare(areas.list, areas.part);
}

pub(super) fn draw(model: &Model, inspector: &Inspector, screen: Rect, buffer: &mut Buffer) -> Option<Position> {
    let areas = areas(inspector, screen);
    title(model, inspector, areas.title, buffer);
    tabs(model, inspector, areas.tabs, buffer);
    for line in 0..usize::from(areas.divider.height) {
        Row::new([Piece::literal(Role::Border, "│")]).draw(line_of(areas.divider, line), buffer, model.theme);
    }
    list(model, inspector, areas.list, buffer);
    part(model, inspector, &areas, buffer);
    let cursor = if inspector.at_repl() {
        input(model, inspector, areas.below, buffer)
    } else {
        value(model, inspector, areas.below, buffer);
        None
    };
    let status = if model.screen_toast().is_some() { bars::toast(model) } else { status(inspector) };
    status.draw(areas.status, buffer, model.theme);
    if model.popups.is_empty() {
        bars::footer(model, areas.footer, buffer);
    }
    cursor
}

/// Draws the title: the turn, its run and agent, and its result.
fn title(model: &Model, inspector: &Inspector, area: Rect, buffer: &mut Buffer) {
    let number = inspector.turn.turn_number().unwrap_or_default();
    let mut left = vec![Piece::new(Role::Title, &format!(" Turn {number}"))];
    let mut right = Vec::new();
    if let Some(found) = inspector.inspection() {
        let facts = &found.facts;
        let run = inspector.turn.run_part();
        let text = format!(" of {} · run {run} · {} · {}", facts.turns.1, facts.agent, facts.mode);
        left.push(Piece::new(Role::Text, &text));
        let tokens = facts.tokens.map(|tokens| format!("↑ {}  ↓ {}  ", count(tokens.input), count(tokens.output)));
        let text = format!("{}  {}", duration(facts.elapsed_ms), tokens.unwrap_or_default());
        if area.width >= TWO_COLUMNS {
            right.push(Piece::new(Role::Dim, &text));
        }
        let failed = inspector.parts(Tab::Calls).iter().filter(|part| part.mark == Mark::Bad).count();
        right.push(match (facts.success, &facts.reason) {
            (Some(true), _) if failed > 0 => Piece::new(Role::Warn, &format!("! {failed} failed ")),
            (Some(true), _) => Piece::literal(Role::Good, "✓ "),
            (Some(false), _) if area.width < TWO_COLUMNS => Piece::literal(Role::Bad, "✗ "),
            (Some(false), reason) => Piece::new(Role::Bad, &format!("✗ {} ", reason.as_deref().unwrap_or_default())),
            (None, _) => Piece::literal(Role::Accent, "● not ended "),
        });
    }
    Row::new(left).ending(right).draw(area, buffer, model.theme);
}

fn tabs(model: &Model, inspector: &Inspector, area: Rect, buffer: &mut Buffer) {
    let wide = area.width >= 60;
    let mut pieces = vec![Piece::literal(Role::Text, " ")];
    for (number, tab) in Tab::ALL.into_iter().enumerate() {
        if number > 0 {
            pieces.push(Piece::literal(Role::Border, if wide { " · " } else { " " }));
        }
        let empty = inspector.inspection().is_some() && inspector.parts(tab).is_empty() && tab != Tab::Memory;
        let (role, name) = match tab == inspector.tab {
            true if wide => (Role::Selected, format!("[{}]", tab.name())),
            true => (Role::Selected, tab.name().to_owned()),
            // On narrow screens the others are shown by their first letters.
            false if !wide => (if empty { Role::Dim } else { Role::Text }, tab.name()[..3].to_owned()),
            false => (if empty { Role::Dim } else { Role::Text }, tab.name().to_owned()),
        };
        pieces.push(Piece::new(role, &name));
    }
    Row::new(pieces).draw(area, buffer, model.theme);
}

/// The parts with their sizes, and their changes since the previous request.
fn list(model: &Model, inspector: &Inspector, area: Rect, buffer: &mut Buffer) {
    let parts = inspector.parts(inspector.tab);
    let compared = inspector.difference && inspector.tab == Tab::Request;
    for line in 0..usize::from(area.height) {
        let entry = inspector.list_top + line;
        if entry >= inspector.entries() {
            break;
        }
        let chosen = entry == inspector.chosen();
        let mark = Piece::literal(Role::Accent, if chosen { " ▸ " } else { "   " });
        let name_role = if chosen { Role::Title } else { Role::Text };
        let row = match parts.get(entry) {
            Some(part) => {
                let mut left = vec![mark];
                left.extend(change_mark(part).filter(|_| compared));
                left.extend(trouble(part.mark));
                left.push(Piece::new(name_role, &part.title));
                let bytes = if part.bytes > 0 { format!("{} ", size(part.bytes)) } else { String::new() };
                let used: usize = left.iter().map(|piece| width(&piece.text)).sum();
                let room = usize::from(area.width).saturating_sub(used + width(&bytes) + 1);
                left.extend(origin(part, room).map(|origin| Piece::new(Role::Dim, &origin)));
                Row::new(left).ending([Piece::new(Role::Dim, &bytes)])
            }
            None => {
                Row::new([mark, Piece::literal(name_role, "REPL")]).ending([Piece::literal(Role::Dim, "in a copy ")])
            }
        };
        row.draw(line_of(area, line), buffer, model.theme);
    }
}

/// Returns the origin of a part of a request: for a result the tool and the turn where there is room, else the turn.
fn origin(part: &Part, room: usize) -> Option<String> {
    part.place.as_ref()?;
    let (_, turn) = part.note.rsplit_once(" of ")?;
    let whole = (part.title == "result").then(|| format!(" {}", part.note));
    whole.into_iter().chain([format!(" {turn}")]).find(|text| width(text) <= room)
}

/// A sign for what a part's look means.
fn trouble(mark: Mark) -> Option<Piece> {
    match mark {
        Mark::Warn => Some(Piece::literal(Role::Warn, "! ")),
        Mark::Bad => Some(Piece::literal(Role::Bad, "✗ ")),
        Mark::Good => Some(Piece::literal(Role::Good, "✓ ")),
        Mark::Plain | Mark::Dim | Mark::Title | Mark::Added | Mark::Removed => None,
    }
}

fn change_mark(part: &Part) -> Option<Piece> {
    match part.change {
        Change::None => None,
        Change::Same => Some(Piece::literal(Role::Dim, "= ")),
        Change::New => Some(Piece::literal(Role::Good, "+ ")),
        Change::Gone => Some(Piece::literal(Role::Bad, "- ")),
        Change::Changed(_) => Some(Piece::literal(Role::Warn, "~ ")),
    }
}

fn part(model: &Model, inspector: &Inspector, areas: &Areas, buffer: &mut Buffer) {
    let inside = inspector.focus != Focus::List;
    let (heading, mut mark) = match inspector.part() {
        Some(part) => (heading(part), sizes(part)),
        None if inspector.at_repl() => ("REPL on the memory and data of this turn".to_owned(), Vec::new()),
        None => (String::new(), Vec::new()),
    };
    let (above, below) = inspector.hidden_rows();
    let more = bars::more(above, below, areas.rule.width);
    if !more.is_empty() && areas.rule.width >= 40 {
        mark.splice(0..0, more);
    }
    bars::rule(areas.rule, &heading, inside, mark, buffer, model.theme);
    if inspector.part().is_none() && (!inspector.at_repl() || inspector.repl.lines.is_empty()) {
        return empty(model, inspector, areas.part, buffer);
    }
    let cursor = inspector.cursor_row().filter(|_| inside && inspector.is_tree());
    for (line, (number, row)) in inspector.visible().enumerate() {
        let place = line_of(areas.part, line);
        row.draw(place, buffer, model.theme);
        if inspector.found_row() == Some(number) {
            buffer.set_style(place.intersection(buffer.area), model.theme.style(Role::Found));
        }
        if cursor == Some(number) && place.x > 0 {
            let at = Rect { x: place.x - 1, width: 1, ..place };
            Row::new([Piece::literal(Role::Accent, "▌")]).draw(at, buffer, model.theme);
        }
    }
}

fn heading(part: &Part) -> String {
    if part.note.is_empty() { part.title.clone() } else { format!("{} · {}", part.title, part.note) }
}

fn sizes(part: &Part) -> Vec<Piece> {
    if part.bytes == 0 {
        return Vec::new();
    }
    let tokens = part.tokens.map(|tokens| format!(" · ~{} tok", count(tokens))).unwrap_or_default();
    vec![Piece::new(Role::Dim, &format!("{}{tokens}", size(part.bytes)))]
}

/// The text shown when there is nothing to display.
fn empty(model: &Model, inspector: &Inspector, area: Rect, buffer: &mut Buffer) {
    let (look, text) = match &inspector.state {
        InspectionState::Reading => (Role::Dim, "reading …".to_owned()),
        InspectionState::Failed(error) => (Role::Bad, format!("✗ {error}")),
        InspectionState::Done(_) if inspector.at_repl() => {
            let text = "Programs run here on a copy of the turn's memory and data: definitions, *1 *2 *3, data/… Tools answer from the \
                        recording.";
            (Role::Dim, text.to_owned())
        }
        InspectionState::Done(_) => (Role::Dim, inspector.tab.empty().to_owned()),
    };
    let text = SafeText::single_line(&text);
    for (line, range) in wrap(&text, usize::from(area.width).max(1)).into_iter().enumerate() {
        Row::new([Piece::safe(look, text.slice(range))]).draw(line_of(area, line), buffer, model.theme);
    }
}

/// The value of the form under the cursor.
fn value(model: &Model, inspector: &Inspector, area: Rect, buffer: &mut Buffer) {
    let (Some(program), Some(cursor), true) = (inspector.program(), inspector.cursor(), area.height > 0) else {
        return;
    };
    let columns = usize::from(area.width);
    let probe_result = inspector.probe.result.as_ref().filter(|(at, _)| *at == cursor).map(|(_, result)| result);
    let (heading, lines): (String, Vec<(Role, String)>) = match probe_result {
        None => ("value".to_owned(), vec![(Role::Dim, "running the program up to here …".to_owned())]),
        Some(Err(error)) => ("value".to_owned(), vec![(Role::Bad, format!("✗ {error}"))]),
        Some(Ok(None)) => ("value".to_owned(), vec![(Role::Dim, "no form with a value here".to_owned())]),
        Some(Ok(Some(probe))) => {
            let form = program.get(probe.span.0..probe.span.1).unwrap_or_default();
            let form = truncate(&in_one_line(form), columns / 2).into_owned();
            let lines = match probe.values.as_slice() {
                [] => vec![(Role::Dim, "this form is not evaluated, or it ends the program".to_owned())],
                values => values.iter().flat_map(|value| shown(value, columns)).collect(),
            };
            let times = if probe.times > 1 {
                format!(" · {} times, first and last", count(probe.times as u64))
            } else {
                String::new()
            };
            (format!("value of {form}{times}"), lines)
        }
    };
    bars::rule(line_of(area, 0), &heading, false, Vec::new(), buffer, model.theme);
    for (line, (look, text)) in lines.into_iter().take(usize::from(area.height) - 1).enumerate() {
        let safe = SafeText::escape_controls(&text);
        Row::new([Piece::safe(look, safe)]).draw(line_of(area, line + 1), buffer, model.theme);
    }
}

/// A value as lines.
fn shown(value: &str, columns: usize) -> Vec<(Role, String)> {
    /// A longer value is shown as it is.
    const MOST_BYTES: usize = 20_000;
    let laid = (value.len() < MOST_BYTES && width(value) > columns).then(|| format::program(value, columns)).flatten();
    laid.as_deref().unwrap_or(value).lines().map(|line| (Role::Text, line.to_owned())).collect()
}

fn input(model: &Model, inspector: &Inspector, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    let typing = inspector.focus == Focus::Input;
    let mark = if inspector.repl.running { "● " } else { "> " };
    let look = if typing { Role::Key } else { Role::Dim };
    Row::new([Piece::literal(look, mark)]).draw(line_of(area, 0), buffer, model.theme);
    let field = Rect { x: (area.x + 2).min(area.right()), width: area.width.saturating_sub(2), ..area };
    editor::draw_line(&inspector.repl.input, field, model.theme, buffer).filter(|_| typing)
}

/// Returns the status line of the tab.
fn status(inspector: &Inspector) -> Row {
    let parts = inspector.parts(inspector.tab);
    let facts = inspector.inspection().map(|found| &found.facts);
    let text = match inspector.tab {
        _ if facts.is_some_and(|facts| facts.success.is_none()) => {
            let elapsed = facts.map_or(0, |facts| facts.elapsed_ms);
            format!(" as of {} after the start of the turn, which has not ended; r reloads it", duration(elapsed))
        }
        Tab::Request if inspector.difference => {
            // What comes before the sections is about all of them.
            let sections = parts.get(GROWTH_PART + 1..).unwrap_or_default();
            let number =
                |wanted: fn(&Change) -> bool| sections.iter().filter(|part| wanted(&part.change)).count() as u64;
            format!(
                " difference to the previous request: {} added, {} changed, {} removed, {} unchanged",
                number(|change| *change == Change::New),
                number(|change| matches!(change, Change::Changed(_))),
                number(|change| *change == Change::Gone),
                number(|change| *change == Change::Same)
            )
        }
        Tab::Request => " ! marks untrusted text: replies, tool results, data".to_owned(),
        Tab::Program if inspector.focus == Focus::Part => {
            " the program runs again in a copy for values; tools answer from the recording".to_owned()
        }
        _ => String::new(),
    };
    Row::new([Piece::new(role(Mark::Dim), &text)])
}
