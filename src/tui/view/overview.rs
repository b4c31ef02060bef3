//! The overview of a run: one row for each turn instead of the transcript, or a rail of them next to it.
//!
//! In: lines of the workbench's overview. Out: rows in which nothing moves when a number grows: marks, action, tools, repairs, prompt as a
//! bar, times split into model, tools, program and waiting.

use ptc_core::text::SafeText;
use ptc_core::text::width::{truncate, width, wrap};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::areas::line_of;
use crate::config::TurnList;
use crate::event::Address;
use crate::record::TurnState;
use crate::tui::actions::Action;
use crate::tui::model::{Model, RunView};
use crate::tui::overview::{OverviewPane, RAIL_FROM, RAIL_TURNS};
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::tui::transcript::format::{cost, count, duration, inflected, plural};
use crate::workbench::overview::{Overview, TimeSplit, TurnLine, TurnOrder};

/// Cells of the bar of a prompt.
const PROMPT_CELLS: usize = 5;
/// Cells of the bar of the times.
const TIME_CELLS: usize = 10;
/// Glyphs of the parts of a turn's time, in the order of [`TimeSplit::parts`].
const TIME_GLYPHS: [char; 4] = ['█', '▓', '▒', '░'];
/// Rows about the selected turn, below the lines; none on a low pane.
const DETAIL_ROWS: u16 = 4;
/// Minimum rows of a pane that describes the selected turn.
const DETAIL_FROM: u16 = 12;
/// Columns of the number of a turn, at least.
const LEAST_DIGITS: usize = 3;
/// Heading of the column of tools.
const TOOLS_HEAD: &str = "tools";
/// Minimum columns of an overview with separate columns for repairs and repeated attempts.
const REPAIRS_FROM: usize = 140;
/// Minimum columns of a text that has them written out in front of it.
const WORDS_FROM: usize = 40;
/// Headings of the columns of repairs and of repeated attempts.
const REPAIR_HEADS: &str = "repairs retries";
/// Columns of an action next to an error, at least.
const ACTION_COLUMNS: usize = 18;
/// Columns of an error next to an action, at least.
const ERROR_COLUMNS: usize = 14;

/// The areas of a pane: the overview or the rail, and the transcript next to it.
pub(super) fn split(view: &RunView, area: Rect, turn_list: TurnList) -> (Rect, Rect) {
    let rail = turn_list == TurnList::Auto
        && area.width >= RAIL_FROM
        && view.transcript.overview().is_some_and(|overview| overview.lines().len() >= RAIL_TURNS);
    if view.overview.is_open || !rail {
        return (Rect::default(), area);
    }
    let columns = (area.width * 2 / 5).clamp(40, 64);
    let rail = Rect { width: columns, ..area };
    (rail, Rect { x: area.x + columns + 1, width: area.width - columns - 1, ..area })
}

/// The lines of an open overview: below the headings, above the description of the selected turn.
fn list_area(area: Rect) -> Rect {
    let below = if area.height >= DETAIL_FROM { DETAIL_ROWS } else { 0 };
    Rect { y: area.y + 1, height: area.height.saturating_sub(1 + below), ..area }
}

/// The lines of a rail: below the filter, if there is one.
fn rail_list(view: &RunView, rail: Rect) -> Rect {
    let above = u16::from(!view.overview.typed.is_empty()).min(rail.height);
    Rect { y: rail.y + above, height: rail.height - above, ..rail }
}

/// Measures overview or rail; gives the area that the transcript has.
pub(super) fn layout(view: &mut RunView, area: Rect, turn_list: TurnList) -> Rect {
    view.transcript.refresh_overview();
    let (rail, rows) = split(view, area, turn_list);
    let selected = view.transcript.selected_turn();
    let list = if view.overview.is_open { list_area(area) } else { rail_list(view, rail) };
    match view.transcript.overview() {
        Some(overview) => view.overview.arrange(overview, selected.as_ref(), list),
        None => view.overview.area = Rect::default(),
    }
    rows
}

/// Draws the rail next to a transcript, if there is room for one.
pub(super) fn draw_rail(model: &Model, view: &RunView, area: Rect, buffer: &mut Buffer) -> Rect {
    let (rail, rows) = split(view, area, model.turn_list);
    if let Some(overview) = view.transcript.overview().filter(|_| !rail.is_empty()) {
        let columns = Columns::of_rail(rail.width, &view.overview);
        let list = rail_list(view, rail);
        if list != rail {
            columns.heads(view, overview).draw(line_of(rail, 0), buffer, model.theme);
        }
        draw_lines(model, view, overview, (list, columns), buffer);
        draw_no_match(model, view, overview, list, buffer);
        let style = model.theme.style(Role::Border);
        for y in rail.top()..rail.bottom().min(buffer.area.bottom()) {
            buffer.set_string(rail.right(), y, "│", style);
        }
    }
    rows
}

/// Draws the overview instead of the transcript.
pub(super) fn draw(model: &Model, view: &RunView, area: Rect, buffer: &mut Buffer) {
    let Some(overview) = view.transcript.overview() else {
        let text = if view.overview.is_reading { "reading …" } else { "no turn has begun here" };
        return Row::new([Piece::new(Role::Dim, text)]).indented(2).draw(line_of(area, 0), buffer, model.theme);
    };
    let list = list_area(area);
    let columns = Columns::of(list.width, &view.overview);
    columns.heads(view, overview).draw(line_of(area, 0), buffer, model.theme);
    draw_lines(model, view, overview, (list, columns), buffer);
    draw_no_match(model, view, overview, list, buffer);
    if list.bottom() < area.bottom() {
        let below = Rect { y: list.bottom(), height: area.bottom() - list.bottom(), ..area };
        let selected = view.transcript.selected_turn();
        let line = selected.and_then(|turn| overview.lines().get(overview.place(&turn)?));
        let filter = &view.overview.filter;
        for (at, row) in
            line.map(|line| detail(line, filter.error(line), overview, below.width)).into_iter().flatten().enumerate()
        {
            row.draw(line_of(below, at), buffer, model.theme);
        }
    }
}

/// In the place of lines: that no turn matches the filter, and how to see all turns again.
fn draw_no_match(model: &Model, view: &RunView, overview: &Overview, list: Rect, buffer: &mut Buffer) {
    if !view.overview.shown().is_empty() || overview.lines().is_empty() || list.is_empty() {
        return;
    }
    let name = |action| model.keymap.first_name(action);
    let clear = if view.overview.is_open {
        format!("{} clears the filter", name(Action::Close))
    } else {
        format!("{}, then {} clears the filter", name(Action::Overview), name(Action::Close))
    };
    for (at, text) in [format!("no turn matches `{}`", view.overview.typed), clear].iter().enumerate() {
        Row::new([Piece::new(Role::Dim, text)]).indented(2).draw(line_of(list, at), buffer, model.theme);
    }
}

fn draw_lines(
    model: &Model,
    view: &RunView,
    overview: &Overview,
    (area, columns): (Rect, Columns),
    buffer: &mut Buffer,
) {
    let pane = &view.overview;
    let selected = view.transcript.selected_turn();
    let largest = overview.lines().iter().map(|line| line.prompt).max().unwrap_or_default().max(1);
    for (at, place) in pane.shown().iter().skip(pane.top).take(usize::from(area.height)).enumerate() {
        let Some(line) = overview.lines().get(*place) else { continue };
        let is_selected = selected.as_ref() == Some(&line.address);
        let hidden = hidden(pane, overview, &line.address);
        let over = view.transcript.facts.closed;
        let error = pane.filter.error(line);
        let is_labelled = pane.has_several_runs;
        let row = columns.row(line, Looks { is_selected, is_labelled, error, hidden, largest, over });
        row.draw(line_of(area, at), buffer, model.theme);
    }
}

fn hidden(pane: &OverviewPane, overview: &Overview, turn: &Address) -> usize {
    if pane.folded.is_empty() { 0 } else { pane.hidden_after(overview, turn) }
}

/// Inputs of a row other than its line.
#[derive(Clone, Copy)]
struct Looks<'l> {
    is_selected: bool,
    /// It is labelled with its root run.
    is_labelled: bool,
    /// The error that it shows.
    error: Option<&'l str>,
    /// Turns of its child runs that are hidden.
    hidden: usize,
    /// The largest prompt of all turns.
    largest: u64,
    /// Nothing more will come.
    over: bool,
}

/// The columns for which there is room.
#[expect(clippy::struct_excessive_bools, reason = "each is a column")]
#[derive(Clone, Copy)]
struct Columns {
    all: usize,
    /// Columns of the number of a turn.
    number: usize,
    tools: usize,
    has_repairs: bool,
    has_tokens: bool,
    has_bar: bool,
    has_split: bool,
    /// An error replaces the action.
    has_error_alone: bool,
}

impl Columns {
    fn of(columns: u16, pane: &OverviewPane) -> Self {
        let all = usize::from(columns);
        let most = if all >= 110 { 26 } else { 16 };
        let tools = pane.tools_columns.min(most);
        Self {
            all,
            number: pane.digits.max(LEAST_DIGITS),
            tools: if tools > 0 { tools.max(TOOLS_HEAD.len()) } else { 0 },
            has_repairs: all >= REPAIRS_FROM,
            has_tokens: all >= 76,
            has_bar: all >= 60,
            has_split: all >= 100,
            has_error_alone: false,
        }
    }

    fn of_rail(columns: u16, pane: &OverviewPane) -> Self {
        let all = usize::from(columns);
        Self {
            all,
            number: pane.digits.max(LEAST_DIGITS),
            tools: 0,
            has_repairs: false,
            has_tokens: false,
            has_bar: all >= 44,
            has_split: false,
            has_error_alone: true,
        }
    }

    /// Columns of the pieces at the right edge.
    fn right(self) -> usize {
        let part = |shown: bool, columns: usize| if shown { columns } else { 0 };
        let tools = if self.tools > 0 { self.tools + 1 } else { 0 };
        tools
            + part(self.has_repairs, REPAIR_HEADS.len() + 1)
            + part(self.has_bar, PROMPT_CELLS + 1)
            + part(self.has_tokens, 8 + 8)
            + 9
            + part(self.has_split, TIME_CELLS + 1)
            + 1
    }

    /// Columns of action and error.
    fn text(self) -> usize {
        self.all.saturating_sub(self.right() + 7 + self.number)
    }

    fn heads(self, view: &RunView, overview: &Overview) -> Row {
        let pane = &view.overview;
        let failed = overview.lines().iter().filter(|line| line.has_failed()).count();
        let turns = match (pane.typed.is_empty(), pane.shown().len()) {
            (true, _) => plural(overview.lines().len() as u64, "turn"),
            (false, shown) => {
                format!(
                    "{} of {} · `{}`",
                    count(shown as u64),
                    plural(overview.lines().len() as u64, "turn"),
                    pane.typed
                )
            }
        };
        let order = if pane.order == TurnOrder::Run { String::new() } else { format!(" · {}", pane.order.name()) };
        let mut left = vec![Piece::new(Role::Dim, &format!("  {turns}{order}"))];
        if failed > 0 && pane.typed.is_empty() {
            left.push(Piece::new(Role::Bad, &format!(" · ✗ {} failed", count(failed as u64))));
        }
        let mut right = String::new();
        if self.tools > 0 {
            right += &pad(TOOLS_HEAD, self.tools + 1);
        }
        if self.has_repairs {
            right += &pad(REPAIR_HEADS, REPAIR_HEADS.len() + 1);
        }
        if self.has_bar {
            right += &pad("prompt", PROMPT_CELLS + 1);
        }
        if self.has_tokens {
            right += "     in     out ";
        }
        right += "    time ";
        if self.has_split {
            right += &pad("spent on", TIME_CELLS + 1);
        }
        Row::new(left).ending([Piece::new(Role::Dim, &format!("{right} "))])
    }

    fn row(self, line: &TurnLine, looks: Looks<'_>) -> Row {
        let mark = if looks.is_selected { "▌ " } else { "  " };
        let (role, state) = state(line, looks.over);
        let number = line.address.turn_number().unwrap_or_default();
        let indent = "  ".repeat(line.depth().min(6));
        let head = format!("{indent}t{number:<columns$} ", columns = self.number);
        let mut left = vec![
            Piece::literal(Role::Accent, mark),
            Piece::new(if looks.is_selected { Role::Title } else { Role::Dim }, &head),
            Piece::new(role, &format!("{state} ")),
        ];
        let room = (self.text() + 3).saturating_sub(indent.len());
        left.extend(self.words(line, looks, room));
        Row::new(left).ending(self.numbers(line, looks))
    }

    /// The action, and the first error after it; where there is no room for both, the error.
    fn words(self, line: &TurnLine, looks: Looks<'_>, room: usize) -> Vec<Piece> {
        let is_root = line.address.depth() == 0;
        let run = if is_root && looks.is_labelled { format!("{} ", line.address.root()) } else { String::new() };
        let agent = if is_root && !looks.is_labelled { None } else { line.agent.as_ref() };
        let agent = match agent {
            Some(agent) => format!("{run}{agent}: "),
            None => run,
        };
        let children = match looks.hidden {
            0 => String::new(),
            hidden => format!("▸ {}  ", plural(hidden as u64, "child turn")),
        };
        let action = format!("{children}{agent}{}", line.action);
        let repeated = if self.has_repairs { String::new() } else { repeated(line, room) };
        let room = room.saturating_sub(width(&repeated));
        let mark = Piece::new(Role::Warn, &repeated);
        let text = if looks.is_selected { Role::Title } else { Role::Text };
        let Some(error) = looks.error else { return vec![mark, Piece::new(text, &truncate(&action, room))] };
        if self.has_error_alone || room < ACTION_COLUMNS + ERROR_COLUMNS {
            return vec![mark, Piece::new(Role::Bad, &truncate(error, room))];
        }
        let error = format!("✗ {error}");
        let left = room.saturating_sub(width(&error) + 2).max(ACTION_COLUMNS.min(room));
        let action = truncate(&action, left).into_owned();
        let rest = room.saturating_sub(width(&action) + 2);
        vec![mark, Piece::new(text, &format!("{action}  ")), Piece::new(Role::Bad, &truncate(&error, rest))]
    }

    fn numbers(self, line: &TurnLine, looks: Looks<'_>) -> Vec<Piece> {
        let mut pieces = Vec::new();
        if self.tools > 0 {
            pieces.extend(tools(line, self.tools));
            pieces.push(Piece::literal(Role::Text, " "));
        }
        if self.has_repairs {
            let number = |number: usize| if number == 0 { String::new() } else { number.to_string() };
            let text = format!("{:>7} {:>7} ", number(line.repairs), number(line.retries));
            pieces.push(Piece::new(Role::Warn, &text));
        }
        if self.has_bar {
            pieces.push(Piece::new(Role::Accent, &format!("{} ", bar(line.prompt, looks.largest))));
        }
        if self.has_tokens {
            let prompt = if line.is_counted { count(line.prompt) } else { format!("~{}", count(line.prompt)) };
            let out = line.tokens.map_or_else(|| "–".to_owned(), |tokens| count(tokens.output));
            pieces.push(Piece::new(Role::Dim, &format!("{prompt:>7} {out:>7} ")));
        }
        pieces.push(Piece::new(Role::Dim, &format!("{:>8} ", duration(line.time.total))));
        if self.has_split {
            pieces.push(Piece::new(Role::Text, &format!("{} ", split_bar(line.time))));
        }
        pieces.push(Piece::literal(Role::Text, " "));
        pieces
    }
}

/// Repeated attempts and repairs of a turn, where there is no room for their columns: `2 retries · `, or `↻2 ` in a narrow text.
fn repeated(line: &TurnLine, room: usize) -> String {
    let (retries, repairs) = (line.retries, line.repairs);
    let (retried, repaired) = if room < WORDS_FROM {
        (format!("↻{retries} "), format!("fix {repairs} "))
    } else {
        let noun = if retries == 1 { "retry" } else { "retries" };
        (format!("{retries} {noun} · "), format!("{} · ", plural(repairs as u64, "repair")))
    };
    let parts = [(retries > 0).then_some(retried), (repairs > 0).then_some(repaired)];
    parts.into_iter().flatten().collect()
}

/// The mark of a turn.
fn state(line: &TurnLine, over: bool) -> (Role, &'static str) {
    match line.state {
        TurnState::Succeeded if line.failures > 0 => (Role::Warn, "!"),
        TurnState::Succeeded => (Role::Good, "✓"),
        TurnState::Failed => (Role::Bad, "✗"),
        _ if line.is_over || over => (Role::Bad, "✗"),
        _ => (Role::Accent, "●"),
    }
}

/// The tools with ✓ and ✗ and how often.
fn tools(line: &TurnLine, columns: usize) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut room = columns;
    let mut add = |role: Role, text: &str| {
        let text = truncate(text, room).into_owned();
        room -= width(&text).min(room);
        if !text.is_empty() {
            pieces.push(Piece::new(role, &text));
        }
    };
    for (at, (name, calls, failed)) in line.tools().into_iter().enumerate() {
        let times = |number: usize| if number > 1 { number.to_string() } else { String::new() };
        add(Role::Text, &format!("{}{name} ", if at > 0 { " " } else { "" }));
        if calls > failed {
            add(Role::Good, &format!("✓{}", times(calls - failed)));
        }
        if failed > 0 {
            add(Role::Bad, &format!("✗{}", times(failed)));
        }
    }
    pieces.push(Piece::new(Role::Text, &" ".repeat(room)));
    pieces
}

/// A number as a bar of the largest.
fn bar(number: u64, largest: u64) -> String {
    let cells = PROMPT_CELLS as u64;
    let filled = if number == 0 { 0 } else { (number.saturating_mul(cells).div_ceil(largest.max(1))).clamp(1, cells) };
    (0..cells).map(|cell| if cell < filled { '▰' } else { '▱' }).collect()
}

/// The parts of a time as a bar; a part that took any time has a cell where there is one.
fn split_bar(time: TimeSplit) -> String {
    let parts = time.parts();
    let all: u64 = parts.iter().map(|(_, ms)| ms).sum();
    if all == 0 {
        return " ".repeat(TIME_CELLS);
    }
    let mut cells = String::new();
    let (mut sum, mut drawn) = (0, 0);
    for ((_, ms), glyph) in parts.into_iter().zip(TIME_GLYPHS) {
        sum += ms;
        let until = usize::try_from(sum.saturating_mul(TIME_CELLS as u64).div_ceil(all)).unwrap_or(TIME_CELLS);
        let until = if ms == 0 { drawn } else { until.clamp(drawn, TIME_CELLS) };
        cells.extend(std::iter::repeat_n(glyph, until - drawn));
        drawn = until;
    }
    cells.extend(std::iter::repeat_n(' ', TIME_CELLS - drawn));
    cells
}

/// The selected turn in words: where its time went, what its prompt was, what failed.
fn detail(line: &TurnLine, error: Option<&str>, overview: &Overview, columns: u16) -> Vec<Row> {
    let parts = line.time.parts().into_iter().zip(TIME_GLYPHS).filter(|((_, ms), _)| *ms > 0);
    let times: Vec<String> = parts.map(|((name, ms), glyph)| format!("{glyph} {name} {}", duration(ms))).collect();
    let before = line.address.turn_number().and_then(|number| number.checked_sub(1)).map(|number| {
        let before = line.address.run_part().turn(number);
        overview.place(&before).and_then(|place| overview.lines().get(place))
    });
    let growth = before.flatten().map_or_else(String::new, |before| {
        let sign = if line.prompt < before.prompt { "-" } else { "+" };
        format!(" ({sign}{})", count(line.prompt.abs_diff(before.prompt)))
    });
    let counted = if line.is_counted { "" } else { "~" };
    let mut facts = vec![format!("prompt {counted}{}{growth} tok", count(line.prompt))];
    facts.extend(line.tokens.map(|tokens| format!("{} out", count(tokens.output))));
    facts.extend(line.cost.map(|amount| format!("cost {}", cost(Some(amount)))));
    let some = |number: usize, noun: &str| (number > 0).then(|| plural(number as u64, noun));
    facts.extend(some(line.repairs, "repair"));
    facts.extend(
        (line.retries > 0).then(|| format!("{} {}", line.retries, inflected(line.retries as u64, "repeated attempt"))),
    );
    let head = format!(" {} · {}   ", line.address, duration(line.time.total));
    let mut rows = vec![
        Row::new([Piece::new(Role::Title, &head), Piece::new(Role::Text, &times.join("   "))]),
        Row::new([Piece::new(Role::Dim, &format!(" {}", facts.join(" · ")))]),
    ];
    let text = error.unwrap_or(&line.action);
    let mark = if error.is_some() { Piece::literal(Role::Bad, " ✗ ") } else { Piece::literal(Role::Dim, "   ") };
    let text = SafeText::single_line(text);
    let ranges = wrap(&text, usize::from(columns).saturating_sub(4).max(1));
    rows.extend(ranges.into_iter().take(2).enumerate().map(|(at, range)| {
        let mark = if at == 0 { mark.clone() } else { Piece::literal(Role::Dim, "   ") };
        Row::new([mark, Piece::safe(Role::Text, text.slice(range))])
    }));
    rows
}

fn pad(text: &str, columns: usize) -> String {
    format!("{text:<columns$}")
}
