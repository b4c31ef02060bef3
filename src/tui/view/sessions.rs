//! The sessions screen: a list with columns, a preview, or one opened session.

use std::collections::HashMap;

use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, Zoned};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::areas::line_of;
use super::{bars, editor, overview, preview, run};
use crate::session::index::text_notice;
use crate::session::{Parent, RunState, Summary};
use crate::tui::actions::Action;
use crate::tui::model::{Model, RunView, status_mark};
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::tui::transcript::format::{cached, cost, count, duration, plural};
use crate::workbench::SearchError;
use crate::workbench::wording::in_plain_words;
use ptc_core::text::SafeText;
use ptc_core::text::width::{truncate, width, wrap};

/// Examples of the terms of a query.
const FILTERS: [&str; 10] = [
    "words",
    "/pattern/",
    "status:error",
    "mode:json",
    "agent:name",
    "tool:name failed",
    "turns>3",
    "since:7d",
    "tag:slow",
    "is:marked",
];

/// Rows of the preview: none on a low screen, more on a high one.
fn preview_rows(height: u16) -> u16 {
    match height {
        0..18 => 0,
        18..36 => 4,
        _ => 8,
    }
}

struct Areas {
    title: Rect,
    heads: Rect,
    list: Rect,
    rule: Rect,
    preview: Rect,
    status: Rect,
    footer: Rect,
}

fn areas(screen: Rect) -> Areas {
    let line = |y: u16| Rect::new(screen.x, y, screen.width, 1);
    let preview_rows = preview_rows(screen.height);
    let list_rows = screen.height - 4 - preview_rows - u16::from(preview_rows > 0);
    let list = Rect { y: screen.y + 2, height: list_rows, ..screen };
    let rule = if preview_rows > 0 { line(list.bottom()) } else { Rect::default() };
    let preview = Rect { y: list.bottom() + u16::from(preview_rows > 0), height: preview_rows, ..screen };
    Areas {
        title: line(screen.y),
        heads: line(screen.y + 1),
        list,
        rule,
        preview,
        status: line(screen.bottom() - 2),
        footer: line(screen.bottom() - 1),
    }
}

/// Areas of an opened session: rule, damage, and rows.
fn viewer_areas(view: &RunView, screen: Rect) -> (Rect, Rect, Rect) {
    let rule = Rect { y: screen.y + 1, height: 1, ..screen };
    let lost = u16::try_from(damage_rows(view, screen.width).len()).unwrap_or(u16::MAX).min((screen.height - 4) / 2);
    let damage = Rect { y: rule.bottom(), height: lost, ..screen };
    (rule, damage, Rect { y: damage.bottom(), height: screen.height - 4 - lost, ..screen })
}

/// Returns the damage of a session that could not be read as a whole, wrapped.
fn damage_rows(view: &RunView, columns: u16) -> Vec<Row> {
    let Some(damage) = &view.damage else { return Vec::new() };
    let text = SafeText::single_line(&format!("damaged: {damage}"));
    let ranges = wrap(&text, usize::from(columns.saturating_sub(4)).max(1));
    let marks = std::iter::once("! ").chain(std::iter::repeat("  "));
    let row = |(range, mark)| Row::new([Piece::literal(Role::Warn, mark), Piece::safe(Role::Text, text.slice(range))]);
    ranges.into_iter().zip(marks).map(row).map(|row| row.indented(1)).collect()
}

/// The parts whose texts can be selected.
pub(super) fn text_areas(model: &Model, screen: Rect) -> Vec<Rect> {
    if let Some(view) = &model.sessions.viewer {
        return vec![viewer_areas(view, screen).1];
    }
    let areas = areas(screen);
    vec![areas.list, areas.preview]
}

pub(super) fn layout(model: &mut Model) {
    let screen = Rect::new(0, 0, model.size.0, model.size.1);
    let (now_ms, turn_list) = (model.viewer_now_ms(), model.turn_list);
    if let Some(viewer) = &mut model.sessions.viewer {
        let (_, _, rows) = viewer_areas(viewer, screen);
        let rows = overview::layout(viewer, rows, turn_list);
        model.sessions.viewer_area = rows;
        viewer.transcript.prepare(run::card_columns(rows), usize::from(rows.height), now_ms);
        return;
    }
    let list = areas(screen).list;
    let selected = model.sessions.shown().position(|session| Some(session.key()) == model.sessions.selected);
    let rows = usize::from(list.height).max(1);
    let selected = selected.unwrap_or(0);
    model.sessions.area = list;
    model.sessions.top = model.sessions.top.clamp((selected + 1).saturating_sub(rows), selected);
}

pub(super) fn draw(model: &Model, screen: Rect, buffer: &mut Buffer) -> Option<Position> {
    let cursor = match &model.sessions.viewer {
        Some(view) => {
            draw_viewer(model, view, screen, buffer);
            None
        }
        None => draw_list(model, screen, buffer),
    };
    if model.popups.is_empty() {
        bars::footer(model, areas(screen).footer, buffer);
    }
    cursor
}

fn draw_viewer(model: &Model, view: &RunView, screen: Rect, buffer: &mut Buffer) {
    let (rule, damage, rows) = viewer_areas(view, screen);
    for (line, row) in damage_rows(view, screen.width).iter().take(usize::from(damage.height)).enumerate() {
        row.draw(line_of(damage, line), buffer, model.theme);
    }
    let id = view.session.as_deref().unwrap_or_default();
    let what = match (&model.sessions.scrub, view.replay.is_some()) {
        (Some(_), _) => " Playing ",
        (None, true) => " Replay of ",
        (None, false) => " Session ",
    };
    let left = [Piece::new(Role::Title, what), Piece::new(Role::Text, id)];
    let agent = Piece::new(Role::Text, &format!("{} ", view.transcript.facts.agent));
    Row::new(left).ending([agent]).draw(areas(screen).title, buffer, model.theme);
    run::draw_rule(model, view, rule, true, buffer);
    run::draw_rows(model, view, rows, buffer);
    let status = if model.screen_toast().is_some() {
        bars::toast(model)
    } else {
        let facts = &view.transcript.facts;
        let tokens = facts.all_tokens().map_or_else(
            || "tokens –".to_owned(),
            |tokens| format!("tokens {} in {} out", count(tokens.input), count(tokens.output)),
        );
        let amount = facts.all_cost().map(|amount| format!("cost {}", cost(Some(amount))));
        let runs = facts
            .all
            .as_ref()
            .map(|all| format!("all {} runs: {}", all.count, duration(facts.all_elapsed_ms(model.viewer_now_ms()))));
        let parts = runs.into_iter().chain([plural(facts.all_turns(), "turn"), tokens]);
        let parts: Vec<String> = parts.chain(cached(facts.all_tokens())).chain(amount).collect();
        Row::new([Piece::new(Role::Dim, &format!(" {}   read-only", parts.join("   ")))])
    };
    status.draw(areas(screen).status, buffer, model.theme);
}

fn draw_list(model: &Model, screen: Rect, buffer: &mut Buffer) -> Option<Position> {
    let areas = areas(screen);
    let sessions = &model.sessions;
    let all = sessions.all.as_ref().map_or(0, Vec::len);
    let known = sessions.all.as_ref().map_or_else(String::new, |all| count(all.len() as u64));
    let order = if sessions.flat { "  by time" } else { "" };
    let left =
        [Piece::literal(Role::Title, " Sessions  "), Piece::new(Role::Text, &known), Piece::new(Role::Dim, order)];
    Row::new(left).draw(areas.title, buffer, model.theme);
    let cursor = draw_filter(model, areas.title, buffer);
    let columns = Columns::of(areas.list.width);
    columns.heads().draw(areas.heads, buffer, model.theme);
    let mut shown = 0;
    for (line, (session, depth)) in sessions.lines().enumerate() {
        shown += 1;
        if line < sessions.top || line - sessions.top >= usize::from(areas.list.height) {
            continue;
        }
        let selected = sessions.selected.as_ref() == Some(&session.key());
        let place = line_of(areas.list, line - sessions.top);
        columns.row(model, session, depth, selected).draw(place, buffer, model.theme);
    }
    if shown == 0 {
        draw_empty(model, all, areas.list, buffer);
    }
    let mark = sessions.selected_row().map(|session| preview::marks(model, session)).unwrap_or_default();
    bars::rule(areas.rule, "Preview", false, mark, buffer, model.theme);
    if let Some(session) = sessions.selected_row() {
        preview::draw(model, session, areas.preview, buffer);
    }
    status(model, (shown, all), areas.status.width).draw(areas.status, buffer, model.theme);
    if let (Some((mark, text)), None) = (remark(model), &model.toast) {
        bars::long(&mark, &text, 0, areas.status, model, buffer);
    }
    cursor
}

/// The error of the query, or the notice that a part of it may not be what was meant: with its mark.
fn remark(model: &Model) -> Option<(Piece, String)> {
    let problem = problem(model).map(|problem| (Piece::literal(Role::Bad, " ✗ "), problem));
    problem.or_else(|| Some((Piece::literal(Role::Warn, " ! "), notice(model)?)))
}

/// The notice that a word of the query is no filter, where the query found nothing.
fn notice(model: &Model) -> Option<String> {
    let search = &model.sessions.search;
    let is_shown = model.sessions.filters() && !model.sessions.is_stale();
    let finds_nothing = search.found.as_ref().is_some_and(HashMap::is_empty);
    text_notice(&search.query).filter(|_| is_shown && finds_nothing)
}

/// The error of the query. The near name comes first: a narrow screen shows only the beginning.
fn problem(model: &Model) -> Option<String> {
    let problem = model.sessions.search.problem.as_ref().filter(|_| model.sessions.filters())?;
    Some(match problem {
        SearchError::Query(error) => {
            let near = error.near.as_ref().map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
            format!("{near}{}", error.message)
        }
        SearchError::Open(error) => error.to_string(),
    })
}

/// Returns the status line: a message, the error of the query, the progress of the search, or the number of results.
fn status(model: &Model, (shown, all): (usize, usize), columns: u16) -> Row {
    let sessions = &model.sessions;
    let number = format!("{} of {} shown", count(shown as u64), count(all as u64));
    let marked = match sessions.marked().len() {
        0 => String::new(),
        1 if sessions.compared().is_err() => "   1 marked: go to another one to compare them".to_owned(),
        marked if sessions.shown().any(|session| sessions.is_marked(session)) => format!("   {marked} marked"),
        marked => format!("   {marked} marked that are not shown"),
    };
    if model.screen_toast().is_some() {
        bars::toast(model)
    } else if let Some((mark, text)) = remark(model) {
        Row::new([mark, Piece::new(Role::Text, &text)])
    } else if sessions.search.running.is_some() {
        Row::new([Piece::new(Role::Accent, &format!(" ● searching …   {number}"))])
    } else if sessions.filtering {
        let mut text = format!(" {number} ");
        for filter in FILTERS {
            if width(&text) + 2 + width(filter) <= usize::from(columns) {
                text = format!("{text}  {filter}");
            }
        }
        Row::new([Piece::new(Role::Dim, &text)])
    } else if shown == all {
        Row::new([Piece::new(Role::Dim, &marked.replacen("   ", " ", 1))])
    } else {
        Row::new([Piece::new(Role::Dim, &format!(" {number}{marked}"))])
    }
}

fn draw_filter(model: &Model, title: Rect, buffer: &mut Buffer) -> Option<Position> {
    let sessions = &model.sessions;
    if !sessions.filtering && sessions.filter.text().is_empty() {
        return None;
    }
    let start = title.x + (title.width / 3).max(18).min(title.width);
    let area = Rect { x: start, width: title.right() - start, ..title };
    Row::new([Piece::literal(Role::Key, "/ ")]).draw(area, buffer, model.theme);
    let input = Rect { x: (area.x + 2).min(area.right()), width: area.width.saturating_sub(3), ..area };
    let cursor = editor::draw_line(&sessions.filter, input, model.theme, buffer);
    if let Some(SearchError::Query(error)) = &sessions.search.problem {
        underline(model, sessions.filter.text(), error.span.0..error.span.1, input, buffer);
    }
    cursor.filter(|_| sessions.filtering)
}

/// Shows the place of an error in a query. A query longer than its field has no place to show.
fn underline(model: &Model, query: &str, span: std::ops::Range<usize>, area: Rect, buffer: &mut Buffer) {
    // The spaces before a query are not part of what was looked for.
    let skipped = query.len() - query.trim_start().len();
    let column = |at: usize| query.get(..at + skipped).map(width);
    let (Some(start), Some(end)) = (column(span.start), column(span.end)) else { return };
    let room = usize::from(area.width);
    if width(query) >= room {
        return;
    }
    let cells = start..end.max(start + 1).min(room);
    for cell in cells {
        let x = area.x + u16::try_from(cell).unwrap_or(u16::MAX);
        if let Some(cell) = buffer.cell_mut((x, area.y)) {
            cell.set_style(model.theme.style(Role::ErrorPlace));
        }
    }
}

fn draw_empty(model: &Model, all: usize, area: Rect, buffer: &mut Buffer) {
    let key = |action| model.keymap.first_name(action);
    let text = match &model.sessions.all {
        None => "reading …".to_owned(),
        Some(_) if model.sessions.search.problem.is_some() => {
            format!("The search has an error, so no session is shown. {} clears it.", key(Action::Close))
        }
        Some(_) if all > 0 => {
            let other = model.sessions.filter_of_word().map(|filter| format!("{filter} finds some. "));
            format!("No session fits the search. {}{} clears it.", other.unwrap_or_default(), key(Action::Close))
        }
        Some(_) => {
            format!(
                "No sessions yet. {} goes to the workbench, {} runs an agent; every run is saved here.",
                key(Action::Workbench),
                key(Action::Run)
            )
        }
    };
    let text = SafeText::single_line(&text);
    let columns = usize::from(area.width.saturating_sub(4)).max(1);
    for (line, range) in wrap(&text, columns).into_iter().enumerate() {
        let row = Row::new([Piece::safe(Role::Text, text.slice(range))]).indented(2);
        row.draw(line_of(area, line + usize::from(area.height > 4)), buffer, model.theme);
    }
}

/// Columns of the time, or of a branch with its short time.
const WHEN_COLUMNS: usize = 16;

/// The columns that fit the width.
struct Columns {
    width: u16,
}

impl Columns {
    fn of(width: u16) -> Self {
        Self { width }
    }

    fn agent(&self) -> usize {
        match self.width {
            0..60 => 9,
            60..100 => 12,
            _ => 16,
        }
    }

    fn heads(&self) -> Row {
        self.cells(
            Role::Dim,
            "  ",
            "when",
            ["agent", "mode", "model", "turns", "tokens", "cost"],
            vec![Piece::literal(Role::Dim, "result")],
        )
    }

    fn row(&self, model: &Model, session: &Summary, depth: usize, selected: bool) -> Row {
        let tokens = session.usage.tokens.map_or_else(|| "–".to_owned(), |tokens| count(tokens.total()));
        let turns = count(session.usage.turns.into());
        let when = match &session.parent {
            Some(origin) if depth > 0 => {
                let branch = format!("{}└ {}", " ".repeat((depth - 1).min(4)), branch(origin));
                let clock = short_when(session.created_ms, model.now_ms, model.utc_offset_s);
                let room = WHEN_COLUMNS.saturating_sub(width(&clock) + 1);
                format!("{} {clock}", truncate(&branch, room))
            }
            _ => when(session.created_ms, model.now_ms, model.utc_offset_s),
        };
        let (mark_role, role) = match session.state {
            _ if session.damage.is_some() => (Role::Bad, Role::Text),
            RunState::Open => (Role::Accent, Role::Text),
            RunState::Returned => (Role::Good, Role::Text),
            RunState::Failed => (Role::Bad, Role::Text),
        };
        let mark = if session.damage.is_some() { "✗ damaged" } else { status_mark(session.state) };
        let origin = match (session.example, session.is_trial) {
            (true, _) => "example  ",
            (false, true) => "trial  ",
            (false, false) => "",
        };
        let written = model.sessions.marks.get(&session.id, None);
        let tags: String =
            written.into_iter().flat_map(|mark| &mark.tags).flat_map(|tag| ["#", tag.as_str(), " "]).collect();
        let label = model.sessions.marks.label_of(&session.id).map(|label| format!("[{}] ", label.grade));
        let mut result = vec![
            Piece::new(mark_role, &format!("{mark} ")),
            Piece::new(Role::Accent, &label.unwrap_or_default()),
            Piece::literal(Role::Dim, origin),
            Piece::new(Role::Accent, &tags),
        ];
        match model.sessions.hit(&session.key()).and_then(|hit| Some((hit, hit.matches.first()?))) {
            Some((hit, first)) => result.extend(preview::excerpt(first, hit.count)),
            None if session.state == RunState::Failed => {
                result.push(Piece::new(role, &in_plain_words(&session.result)));
            }
            None => result.push(Piece::new(role, &session.result)),
        }
        let cost = cost(session.usage.cost());
        let models = session.models.join(", ");
        let cells = [&session.agent, &session.mode, &models, &turns, &tokens, &cost].map(String::as_str);
        let mark = match (selected, model.sessions.is_marked(session)) {
            (true, true) => "▸*",
            (true, false) => "▸ ",
            (false, true) => " *",
            (false, false) => "  ",
        };
        self.cells(if selected { Role::Title } else { Role::Text }, mark, &when, cells, result)
    }

    fn cells(&self, role: Role, mark: &'static str, when: &str, cells: [&str; 6], result: Vec<Piece>) -> Row {
        let [agent, mode, model, turns, tokens, cost] = cells;
        let mut pieces = vec![Piece::literal(Role::Accent, " "), Piece::literal(Role::Accent, mark)];
        let mut left = |text: &str, columns: usize| {
            let text = SafeText::single_line(text);
            let text = truncate(&text, columns).into_owned();
            let gap = columns - width(&text) + 1;
            pieces.push(Piece::new(role, &format!("{text}{}", " ".repeat(gap))));
        };
        left(when, WHEN_COLUMNS);
        left(agent, self.agent());
        if self.width >= 70 {
            left(mode, 9);
        }
        if self.width >= 90 {
            left(model, 12);
        }
        let mut right = |text: &str, columns: usize| pieces.push(Piece::new(role, &format!("{text:>columns$} ")));
        if self.width >= 60 {
            right(turns, 5);
        }
        if self.width >= 60 {
            right(tokens, 8);
        }
        if self.width >= 100 {
            right(cost, 8);
        }
        pieces.push(Piece::literal(Role::Text, if self.width >= 60 { "  " } else { "" }));
        pieces.extend(result);
        Row::new(pieces)
    }
}

/// Returns the kind and the place of a session's branch from its parent.
fn branch(parent: &Parent) -> String {
    let (kind, at) = (parent.kind.name(), parent.at.as_deref().unwrap_or_default());
    match at.strip_prefix("r0/").unwrap_or(at) {
        "" => kind.to_owned(),
        at => format!("{kind} {at}"),
    }
}

/// A relative date: today and yesterday by name.
pub(super) fn when(at_ms: i64, now_ms: i64, offset_s: i64) -> String {
    let (Some(at), Some(now)) = (local(at_ms, offset_s).filter(|_| at_ms > 0), local(now_ms, offset_s)) else {
        return "–".to_owned();
    };
    let clock = clock(&at);
    let date = at.date();
    if date == now.date() {
        format!("today {clock}")
    } else if Some(date) == now.date().yesterday().ok() {
        format!("yesterday {clock}")
    } else {
        format!("{date} {clock}")
    }
}

/// The time of what began today, else month and day.
fn short_when(at_ms: i64, now_ms: i64, offset_s: i64) -> String {
    let (Some(at), Some(now)) = (local(at_ms, offset_s).filter(|_| at_ms > 0), local(now_ms, offset_s)) else {
        return "–".to_owned();
    };
    if at.date() == now.date() { clock(&at) } else { format!("{:02}-{:02}", at.month(), at.day()) }
}

pub(super) fn local(at_ms: i64, offset_s: i64) -> Option<Zoned> {
    let zone =
        i32::try_from(offset_s).ok().and_then(|seconds| Offset::from_seconds(seconds).ok()).unwrap_or(Offset::UTC);
    Timestamp::from_millisecond(at_ms).ok().map(|at| at.to_zoned(TimeZone::fixed(zone)))
}

fn clock(at: &Zoned) -> String {
    format!("{:02}:{:02}", at.hour(), at.minute())
}
