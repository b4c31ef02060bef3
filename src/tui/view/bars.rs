//! Title bar, rules, status line, footer, and the box with the keys that continue a chord.

use ptc_core::text::SafeText;
use ptc_core::text::width::{truncate, width, wrap};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::widgets::{Block, Widget as _};

use super::areas::line_of;
use super::blank::clear;
use super::{budget, editor};
use crate::tui::actions::{ACTIONS, Action, ActionRow};
use crate::tui::draft::Draft;
use crate::tui::keys;
use crate::tui::model::{CHORD_MS, Model, Phase, SMALLEST, Screen, Tone};
use crate::tui::overview::TurnPrompt;
use crate::tui::row::{Piece, Row};
use crate::tui::theme::{Role, Theme};
use crate::tui::transcript::format::{count, plural};
use crate::tui::transcript::{HiddenAmount, Transcript};
use crate::workbench::overview::TurnFilter;

/// Columns that mode, model and turn need next to the hint where help is.
const SHORTEST_FACTS: usize = 24;
/// Columns under which a model name is not shown.
const SHORTEST_MODEL: usize = 6;

/// Agent, mode, model, turn, and where help is.
pub(super) fn title(model: &Model, area: Rect, buffer: &mut Buffer) {
    let workbench = &model.workbench;
    let preview = &workbench.preview;
    let columns = usize::from(area.width);
    let pipeline = workbench.pipeline.as_ref().map(|(pipeline, _)| pipeline);
    let name = match pipeline {
        Some(pipeline) => &pipeline.definition.name,
        None if preview.name.is_empty() => "agent",
        None => &preview.name,
    };
    let name = truncate(name, columns / 2);
    let mut left = vec![Piece::new(Role::Title, &format!(" {name}"))];
    if workbench.unsaved() {
        left.push(Piece::literal(Role::Accent, " ● unsaved"));
    }
    if model.changed_file().is_some() {
        left.push(Piece::literal(Role::Warn, " ! changed on disk"));
    }
    let mut facts = match pipeline {
        Some(pipeline) => vec![format!("pipeline of {}", plural(pipeline.steps.len() as u64, "step")), String::new()],
        None => vec![preview.mode.clone(), preview.model.clone()],
    };
    if let Some(run) = workbench.run.as_ref().filter(|run| run.phase != Phase::Done) {
        let run = &run.transcript.facts;
        // A running run may be another one than that of the draft.
        if run.run.is_some() && pipeline.is_none() {
            let is_drafts = preview.mode.split(' ').next() == Some(run.mode.as_str());
            let mode = if is_drafts { preview.mode.clone() } else { run.mode.clone() };
            facts = vec![mode, run.model.clone()];
        }
        let of = run.max_turns.map(|max| format!(" of {}", count(max))).unwrap_or_default();
        if run.turn > 0 {
            facts.push(format!("turn {}{of}", count(run.turn.into())));
        }
        facts.extend(workbench.other_agent().map(|agent| format!("run of {agent}")));
    }
    if workbench.zoomed {
        facts.push("zoom".to_owned());
    }
    if !workbench.gates.is_empty() {
        facts.push("intercepts".to_owned());
    }
    if !workbench.breakpoints.is_empty() {
        facts.push("breakpoints".to_owned());
    }
    let keys = |action| model.keymap.first_name(action);
    let help = format!("{} help  {} actions ", keys(Action::Help), keys(Action::Palette));
    let used: usize = left.iter().map(|piece| width(&piece.text)).sum();
    // A long model name gives way to the hint; on narrow screens the hint goes first.
    let hinted = columns.saturating_sub(used + width(&help) + 5);
    let room = if hinted >= SHORTEST_FACTS { hinted } else { columns.saturating_sub(used + 2) };
    let others = facts.iter().enumerate().filter(|(at, fact)| *at != 1 && !fact.is_empty());
    let others: usize = others.map(|(_, fact)| width(fact) + 3).sum();
    facts[1] = truncate(&facts[1], room.saturating_sub(others).max(SHORTEST_MODEL)).into_owned();
    facts.retain(|fact| !fact.is_empty());
    let facts = truncate(&facts.join(" · "), room).into_owned();
    let rest = columns.saturating_sub(width(&facts));
    let middle = (rest / 2).min(rest.saturating_sub(width(&help) + 2)).max(used + 3);
    let fits = |extra: usize| middle + width(&facts) + extra <= columns;
    let row = if fits(width(&help) + 2) {
        let gap = Piece::new(Role::Text, &" ".repeat(middle - used));
        Row::new(left.into_iter().chain([gap, Piece::new(Role::Text, &facts)])).ending([Piece::new(Role::Dim, &help)])
    } else {
        Row::new(left).ending([Piece::new(Role::Text, &format!("{facts} "))])
    };
    row.draw(area, buffer, model.theme);
}

/// Returns marks with the amounts of content above and below the visible part; none where nothing is hidden.
pub(super) fn more(above: impl Into<HiddenAmount>, below: impl Into<HiddenAmount>, columns: u16) -> Vec<Piece> {
    let rows = if columns <= SMALLEST.0 { "" } else { " more" };
    let part = |mark: &str, hidden: HiddenAmount| match hidden {
        HiddenAmount::Rows(0) => None,
        HiddenAmount::Rows(number) => Some(format!("{mark} {}{rows}  ", count(number as u64))),
        HiddenAmount::Lines(number) => Some(format!("{mark} {}  ", plural(number as u64, "line"))),
        HiddenAmount::Turns(number) => Some(format!("{mark} {}  ", plural(number as u64, "turn"))),
        HiddenAmount::Much => Some(format!("{mark}{rows}  ")),
    };
    let parts = [part("▲", above.into()), part("▼", below.into())];
    parts.into_iter().flatten().map(|text| Piece::new(Role::Dim, &text)).collect()
}

/// Columns that the heading of a rule keeps next to a long mark.
const SHORTEST_HEADING: usize = 12;

/// A rule with a title on the left and a mark on the right; heavy where the focus is.
pub(super) fn rule(area: Rect, heading: &str, focused: bool, mut mark: Vec<Piece>, buffer: &mut Buffer, theme: Theme) {
    let area = area.intersection(buffer.area);
    if area.is_empty() {
        return;
    }
    // The last piece needs no gap after it.
    if let Some(last) = mark.last_mut() {
        last.text = last.text.slice(0..last.text.trim_end().len());
    }
    let (dash, border) = if focused { ("━", Role::Accent) } else { ("─", Role::Border) };
    buffer.set_string(area.x, area.y, dash.repeat(usize::from(area.width)), theme.style(border));
    let title = if focused { Role::Title } else { Role::Text };
    let heading = if heading.is_empty() { String::new() } else { format!(" {heading} ") };
    let wanted: usize = mark.iter().map(|piece| width(&piece.text)).sum();
    let room = usize::from(area.width).saturating_sub(2);
    let room = room.min(room.saturating_sub(wanted + 7).max(SHORTEST_HEADING));
    let heading = ptc_core::text::width::truncate(&heading, room).into_owned();
    buffer.set_stringn(area.x + 1, area.y, &heading, room, theme.style(title));
    let left = width(&heading) + 2;
    let room = usize::from(area.width).saturating_sub(left + 3);
    if mark.is_empty() || room < 3 {
        return;
    }
    let wide = mark.iter().map(|piece| width(&piece.text)).sum::<usize>().min(room - 2);
    let x = area.right() - 2 - u16::try_from(wide + 1).unwrap_or(0);
    let inner = Rect::new(x, area.y, u16::try_from(wide + 2).unwrap_or(0), 1);
    buffer.set_string(inner.x, inner.y, " ".repeat(wide + 2), theme.style(Role::Text));
    Row::new(mark).draw(Rect { x: inner.x + 1, width: inner.width - 2, ..inner }, buffer, theme);
}

/// Draws the usage of the run; a message takes its place for a while, next to the progress of a running run.
pub(super) fn status(model: &Model, area: Rect, buffer: &mut Buffer) {
    let columns = usize::from(area.width);
    let row = match (model.screen_toast(), &model.workbench.run) {
        (Some(_), Some(run)) if run.phase != Phase::Done => {
            let facts = &run.transcript.facts;
            toast(model)
                .ending([Piece::new(Role::Dim, &format!("● turn {} · {} ", facts.turn, budget::time(model, run)))])
        }
        (Some(_), _) => toast(model),
        (None, None) => Row::new([Piece::new(Role::Dim, &nothing_yet(model))]),
        (None, Some(run)) if run.is_example => {
            let key = model.keymap.first_name(Action::Run);
            Row::new([Piece::new(Role::Dim, &format!(" a recorded run of this example; {key} runs the draft"))])
        }
        (None, Some(run)) => {
            // The title names the agent in the editors: a finished run of another one is named here.
            let other = model.workbench.other_agent().filter(|_| run.phase == Phase::Done);
            let of = other.map(|agent| format!("run of {agent}   ")).unwrap_or_default();
            let used = budget::used(model, run, columns.saturating_sub(width(&of)));
            Row::new([Piece::new(Role::Dim, &format!(" {of}{used}"))])
        }
    };
    row.draw(area, buffer, model.theme);
}

/// The model that is asked for a suggestion, at the end of the status line of every screen.
pub(super) fn suggesting(model: &Model, area: Rect, buffer: &mut Buffer) {
    let Some(asked) = &model.suggestions.current else { return };
    let seconds = crate::event::elapsed_ms(asked.since_ms, model.now_ms) / 1_000;
    let stops = format!("{seconds} s · {} stops ", model.keymap.first_name(Action::Close));
    let whole = format!("  ● {} is asked for a fix of {} · {stops}", asked.model, asked.turn);
    let columns = usize::from(area.width);
    let text = if width(&whole) <= columns { whole } else { format!("  ● asking for a fix · {stops}") };
    draw_at_end(model, &truncate(&text, columns), area, buffer);
}

/// Draws a text over the end of a line.
fn draw_at_end(model: &Model, text: &str, area: Rect, buffer: &mut Buffer) {
    let wide = u16::try_from(width(text)).unwrap_or(area.width).min(area.width);
    let place = Rect { x: area.right() - wide, width: wide, ..area };
    clear(place, buffer);
    Row::new([Piece::new(Role::Accent, text)]).draw(place, buffer, model.theme);
}

/// The notice that tool calls were denied where no user is asked; `None` without any.
pub(super) fn denied(calls: u64) -> Option<String> {
    let were = if calls == 1 { "was" } else { "were" };
    (calls > 0).then(|| {
        format!("{} {were} denied, as no user is asked here: start with --allow-tools", plural(calls, "tool call"))
    })
}

/// The requests and replies of other programs that wait for the user, at the end of the status line of every screen but their own.
pub(super) fn held(model: &Model, area: Rect, buffer: &mut Buffer) {
    let count = model.traffic.held.len();
    if count == 0 || model.screen == Screen::Traffic && model.inspector.is_none() || model.suggestions.current.is_some()
    {
        return;
    }
    let text = format!("  ‖ {count} held · {} ", model.keymap.first_name(Action::Traffic));
    draw_at_end(model, &text, area, buffer);
}

/// Nothing has run yet; unfinished runs of earlier starts are listed.
fn nothing_yet(model: &Model) -> String {
    match model.sessions.unfinished().count() as u64 {
        0 => " nothing has run yet".to_owned(),
        number => {
            let sessions = plural(number, "session");
            let how = if number == 1 {
                model.how_to_resume()
            } else {
                let key = |action| model.keymap.first_name(action);
                format!("{} lists them, {} resumes one", key(Action::Sessions), key(Action::Resume))
            };
            format!(" nothing has run yet   {sessions} not finished: {how}")
        }
    }
}

/// Position of a search among the cards, parts or lines with matches.
pub(super) struct Hits {
    /// From 1.
    pub(super) at: usize,
    /// Total number.
    pub(super) of: usize,
    /// Singular noun of the counted items.
    pub(super) noun: &'static str,
}

/// The two lowest lines of a screen, made blank.
fn two_lowest(model: &Model, screen: Rect, buffer: &mut Buffer) -> [Rect; 2] {
    let lines = [2, 1].map(|up| Rect { y: screen.bottom().saturating_sub(up), height: 1, ..screen });
    for line in lines {
        let area = line.intersection(buffer.area);
        buffer.set_string(area.x, area.y, " ".repeat(usize::from(area.width)), model.theme.style(Role::Text));
    }
    lines
}

/// Draws the search on the two lowest lines.
pub(super) fn find(
    model: &Model,
    input: &Draft,
    Hits { at, of, noun }: Hits,
    screen: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    let [area, below] = two_lowest(model, screen, buffer);
    let (role, notice) = match of {
        _ if input.text().is_empty() => (Role::Dim, String::new()),
        0 => (Role::Bad, "✗ nothing found ".to_owned()),
        _ => {
            let transcript = model.active_transcript().filter(|_| noun == "card");
            let place = transcript.and_then(Transcript::found_in);
            let place = place.map(|place| format!(" · {place}")).unwrap_or_default();
            (Role::Good, format!("{at} of {}{place} ", plural(of as u64, noun)))
        }
    };
    Row::new([Piece::literal(Role::Key, " search "), Piece::literal(Role::Accent, "/ ")])
        .ending([Piece::new(role, &notice)])
        .draw(area, buffer, model.theme);
    footer(model, below, buffer);
    let taken = u16::try_from(width(&notice)).unwrap_or_default() + 11;
    let field = Rect { x: area.x + 10, width: area.width.saturating_sub(taken), ..area };
    editor::draw_line(input, field, model.theme, buffer)
}

/// Draws the prompt for the number of a turn or a filter of turns, on the two lowest lines.
pub(super) fn ask_turns(
    model: &Model,
    what: TurnPrompt,
    input: &Draft,
    screen: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    let [area, below] = two_lowest(model, screen, buffer);
    let view = match model.screen {
        Screen::Sessions => model.sessions.viewer.as_ref(),
        Screen::Workbench | Screen::Compare | Screen::Tests | Screen::Traffic | Screen::Candidates => {
            model.workbench.run.as_ref()
        }
    };
    let problem = view.and_then(|view| view.overview.problem.clone());
    let (label, hint) = match (what, problem) {
        (TurnPrompt::Number, _) => (" turn : ", Piece::literal(Role::Dim, "its number ")),
        (TurnPrompt::Filter, Some(problem)) => (" turns / ", Piece::new(Role::Bad, &format!("✗ {problem} "))),
        (TurnPrompt::Filter, None) => {
            (" turns / ", Piece::new(Role::Dim, &format!("{} ", TurnFilter::EXAMPLES.join("  "))))
        }
    };
    let columns = u16::try_from(width(label)).unwrap_or_default();
    let room = usize::from(area.width).saturating_sub(usize::from(columns) + 24);
    let hint = if width(&hint.text) > room { Piece::new(hint.role, &truncate(&hint.text, room)) } else { hint };
    let taken = u16::try_from(width(&hint.text)).unwrap_or_default() + columns + 1;
    Row::new([Piece::literal(Role::Key, label)]).ending([hint]).draw(area, buffer, model.theme);
    footer(model, below, buffer);
    let field = Rect { x: area.x + columns, width: area.width.saturating_sub(taken), ..area };
    editor::draw_line(input, field, model.theme, buffer)
}

/// The message in the footer.
pub(super) fn toast(model: &Model) -> Row {
    let Some(toast) = &model.toast else { return Row::default() };
    let (role, mark) = match toast.tone {
        Tone::Good => (Role::Good, " ✓ "),
        Tone::Info => (Role::Accent, " · "),
        Tone::Bad => (Role::Bad, " ✗ "),
    };
    Row::new([Piece::literal(role, mark), Piece::new(Role::Text, &toast.text)])
}

/// Maximum rows of a message.
const MOST_TOAST_ROWS: usize = 5;

/// A toast that needs more than its line.
pub(super) fn long_toast(model: &Model, line: Rect, buffer: &mut Buffer) {
    let (Some(notice), Some(mark)) = (&model.toast, toast(model).left.into_iter().next()) else { return };
    let beside = model.workbench.run.as_ref().filter(|run| run.phase != Phase::Done).map_or(0, |_| PROGRESS);
    long(&mark, &notice.text, beside, line, model, buffer);
}

/// A message that needs more than its line is drawn over the text above the line; a longer one ends with a mark.
pub(super) fn long(mark: &Piece, text: &str, beside: usize, line: Rect, model: &Model, buffer: &mut Buffer) {
    let text = SafeText::single_line(text);
    let columns = usize::from(line.width);
    if width(&text) + 3 + beside <= columns {
        return;
    }
    let wrapped = wrap(&text, columns.saturating_sub(4).max(1));
    let rows = wrapped.len().min(MOST_TOAST_ROWS).min(usize::from(line.y) + 1);
    let is_cut = wrapped.len() > rows;
    for (at, range) in (0u16..).zip(wrapped.into_iter().take(rows)) {
        let up = u16::try_from(rows).unwrap_or_default() - 1 - at;
        let area = Rect { y: line.y - up, height: 1, ..line }.intersection(buffer.area);
        buffer.set_string(area.x, area.y, " ".repeat(usize::from(area.width)), model.theme.style(Role::Text));
        let start = if at == 0 { mark.clone() } else { Piece::literal(Role::Text, "   ") };
        let end = if is_cut && up == 0 { " …" } else { "" };
        let text = Piece::safe(Role::Text, text.slice(range));
        Row::new([start, text, Piece::literal(Role::Dim, end)]).draw(area, buffer, model.theme);
    }
}

/// Columns that the progress of a run takes next to a message.
const PROGRESS: usize = 24;

/// The keys that do something here, as many as fit; the last place is help's.
pub(super) fn footer(model: &Model, area: Rect, buffer: &mut Buffer) {
    if model.toast.is_some() && !model.popups.is_empty() {
        toast(model).draw(area, buffer, model.theme);
        return long_toast(model, area, buffer);
    }
    let mut pieces = Vec::new();
    for (_, label) in labels(model, area.width) {
        push_label(&mut pieces, &label);
    }
    Row::new(pieces).draw(area, buffer, model.theme);
}

/// A key and a title.
type Label = (String, &'static str);

/// The columns of a label with the gap after it.
fn label_columns((key, title): &Label) -> usize {
    width(key) + 1 + width(title) + 3
}

/// The action whose label is in a column of the footer.
pub(super) fn footer_action(model: &Model, area: Rect, column: u16) -> Option<Action> {
    let column = usize::from(column.checked_sub(area.x)?);
    let mut start = 1;
    for (action, label) in labels(model, area.width) {
        let end = start + label_columns(&label);
        if (start..end - 3).contains(&column) {
            return Some(action);
        }
        start = end;
    }
    None
}

/// Keys that the footer shows next to that of the help.
const MOST_LABELS: usize = 5;

/// Returns the labels of the footer, from the left; the last place is help's.
fn labels(model: &Model, columns: u16) -> Vec<(Action, Label)> {
    if !model.is_answerable() {
        return Vec::new();
    }
    let contexts = model.contexts();
    let mut rows: Vec<&ActionRow> = ACTIONS
        .iter()
        .filter(|row| row.footer > 0 && contexts.contains(&row.context) && model.enabled(row.action).is_ok())
        .filter(|row| model.belongs_in_footer(row, &contexts))
        .collect();
    rows.sort_by_key(|row| model.footer_place(row));
    let label = |row: &'static ActionRow| (key_of(model, row), model.title(row));
    let help = rows.iter().find(|row| row.action == Action::Help).map(|row| label(row));
    let reserved = help.as_ref().map_or(0, label_columns);
    // A run that waits for a user shows first how it is answered and stopped.
    if model.popups.is_empty() && model.workbench.run.as_ref().is_some_and(|run| run.question.is_some()) {
        let waiting = [Action::Run, Action::Close];
        rows.sort_by_key(|row| waiting.iter().position(|action| *action == row.action).unwrap_or(waiting.len()));
    }
    let columns = usize::from(columns);
    // The way out of a popup has its place before what is only useful in it.
    let close = rows.iter().find(|row| row.action == Action::Close && !model.popups.is_empty());
    let mut close_columns = close.map_or(0, |row| label_columns(&label(row)));
    let mut used = 1;
    let mut shown = Vec::new();
    for row in rows.iter().filter(|row| row.action != Action::Help) {
        if row.action == Action::Close {
            close_columns = 0;
        }
        let label = label(row);
        let kept = reserved + close_columns;
        if shown.len() < MOST_LABELS && used + label_columns(&label) + kept <= columns + 2 {
            used += label_columns(&label);
            shown.push((row.action, label));
        }
    }
    shown.extend(help.map(|label| (Action::Help, label)));
    shown
}

/// A list of keys and what they do, from a line on.
pub(super) fn keys(lines: &[(String, String)], mut line: usize, area: Rect, buffer: &mut Buffer, theme: Theme) {
    let widest = lines.iter().map(|(key, _)| width(key)).max().unwrap_or(0);
    let room = usize::from(area.width).saturating_sub(widest + 5).max(1);
    for (key, text) in lines {
        let text = SafeText::single_line(text);
        for (at, range) in wrap(&text, room).into_iter().enumerate() {
            let key = if at == 0 { key.as_str() } else { "" };
            let key = Piece::new(Role::Key, &format!("{key:<widest$}  "));
            let row = Row::new([key, Piece::safe(Role::Dim, text.slice(range))]).indented(2);
            row.draw(line_of(area, line), buffer, theme);
            line += 1;
        }
    }
}

fn push_label(pieces: &mut Vec<Piece>, (key, title): &(String, &str)) {
    pieces.push(Piece::literal(Role::Text, if pieces.is_empty() { " " } else { "   " }));
    pieces.push(Piece::new(Role::Key, key));
    pieces.push(Piece::new(Role::Dim, &format!(" {title}")));
}

/// The chord of exactly this row.
pub(super) fn key_of(model: &Model, row: &'static ActionRow) -> String {
    model.keymap.first_name_of(row)
}

/// Columns of the widest box.
const WIDEST: usize = 46;

/// Draws what can follow the first stroke of a chord, when the second does not come at once.
pub(super) fn draw_chords(model: &Model, screen: Rect, buffer: &mut Buffer) {
    let Some((first, _)) = model.begun.filter(|(_, since)| model.now_ms >= since + CHORD_MS) else { return };
    let rows = model.keymap.following(first, &model.contexts());
    if rows.is_empty() {
        return;
    }
    let wide = rows.iter().map(|(key, row)| width(key) + width(model.title(row)) + 3).max().unwrap_or(0).min(WIDEST);
    let columns = u16::try_from(wide + 4).unwrap_or(u16::MAX).max(20).min(screen.width);
    let height = u16::try_from(rows.len() + 2).unwrap_or(u16::MAX).min(screen.height.saturating_sub(1));
    let x = screen.right() - columns;
    let area = Rect::new(x, screen.bottom().saturating_sub(height + 1), columns, height).intersection(buffer.area);
    clear(area, buffer);
    buffer.set_style(area, model.theme.style(Role::Text));
    let block = Block::bordered()
        .border_style(model.theme.style(Role::Accent))
        .title(format!(" {} … ", keys::name(first)))
        .title_style(model.theme.style(Role::Title));
    block.render(area, buffer);
    let inner = Rect {
        x: area.x + 2,
        y: area.y + 1,
        width: area.width.saturating_sub(4),
        height: area.height.saturating_sub(2),
    };
    for (line, (key, row)) in rows.iter().enumerate() {
        let role = if model.enabled(row.action).is_ok() { Role::Text } else { Role::Dim };
        let pieces = [Piece::new(Role::Key, key), Piece::new(role, &format!("  {}", model.title(row)))];
        Row::new(pieces).draw(line_of(inner, line), buffer, model.theme);
    }
}
