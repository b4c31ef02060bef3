//! Title bar, rules, status line and footer.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::actions::{ACTIONS, Action, ActionRow};
use crate::tui::model::{Model, Phase, Tone};
use crate::tui::row::{Piece, Row};
use crate::tui::theme::{Role, Theme};
use crate::tui::transcript::format::{cost, count};
use ptc_core::text::width::width;

/// Agent, mode, model, turn, and where help is.
pub(super) fn title(model: &Model, area: Rect, buffer: &mut Buffer) {
    let workbench = &model.workbench;
    let preview = &workbench.preview;
    let name = if preview.name.is_empty() { "agent" } else { &preview.name };
    let mut left = vec![Piece::new(Role::Title, &format!(" {name}"))];
    if workbench.unsaved() {
        left.push(Piece::literal(Role::Accent, " ● unsaved"));
    }
    let mut facts = vec![preview.mode.clone(), preview.model.clone()];
    if let Some(run) = &workbench.run {
        let of = run.transcript.facts.max_turns.map(|max| format!(" of {max}")).unwrap_or_default();
        if run.transcript.facts.turn > 0 {
            facts.push(format!("turn {}{of}", run.transcript.facts.turn));
        }
    }
    facts.retain(|fact| !fact.is_empty());
    let facts = facts.join(" · ");
    let keys = |action| model.keymap.first_name(action);
    let help = format!("{} help  {} actions ", keys(Action::Help), keys(Action::Palette));
    let columns = usize::from(area.width);
    let used: usize = left.iter().map(|piece| width(&piece.text)).sum();
    let middle = (columns.saturating_sub(width(&facts)) / 2).max(used + 3);
    let fits = |extra: usize| middle + width(&facts) + extra <= columns;
    let row = if fits(width(&help) + 2) {
        let gap = Piece::new(Role::Text, &" ".repeat(middle - used));
        Row::new(left.into_iter().chain([gap, Piece::new(Role::Text, &facts)])).ending([Piece::new(Role::Dim, &help)])
    } else {
        Row::new(left).ending([Piece::new(Role::Text, &format!("{facts} "))])
    };
    row.draw(area, buffer, model.theme);
}

/// Columns that the heading of a rule keeps beside a long mark.
const SHORTEST_HEADING: usize = 11;

/// A rule with a title on the left and a mark on the right; heavy where the focus is.
pub(super) fn rule(area: Rect, heading: &str, focused: bool, mark: Vec<Piece>, buffer: &mut Buffer, theme: Theme) {
    let area = area.intersection(buffer.area);
    if area.is_empty() {
        return;
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

/// What the run has used; a message takes its place for a while.
pub(super) fn status(model: &Model, area: Rect, buffer: &mut Buffer) {
    let row = match (&model.toast, &model.workbench.run) {
        (Some(_), _) => toast(model),
        (None, None) => Row::new([Piece::literal(Role::Dim, " nothing has run yet")]),
        (None, Some(run)) => {
            let facts = &run.transcript.facts;
            let mut parts = Vec::new();
            if let Some(max) = facts.max_turns {
                parts.push(format!("turns {}/{max} {}", facts.turn, gauge(u64::from(facts.turn), max)));
            } else {
                parts.push(format!("turns {}", facts.turn));
            }
            parts.push(match facts.tokens {
                Some(tokens) => format!("tokens {} in {} out", count(tokens.input), count(tokens.output)),
                None => "tokens –".to_owned(),
            });
            let elapsed = if facts.run.is_some() { facts.time(model.now_ms) } else { "starting".to_owned() };
            parts.push(elapsed);
            if let Some(session) = &run.session {
                let verb = if run.phase == Phase::Done { "saved" } else { "saving" };
                parts.push(format!("{verb} {session}"));
            } else {
                parts.push("not saved".to_owned());
            }
            parts.insert(2, format!("cost {}", cost(facts.cost())));
            while parts.len() > 2 && width(&parts.join("   ")) + 2 > usize::from(area.width) {
                let least = if parts.iter().any(|part| part == "cost –") {
                    parts.iter().position(|part| part == "cost –")
                } else {
                    Some(parts.len() - 1)
                };
                parts.remove(least.unwrap_or(parts.len() - 1));
            }
            Row::new([Piece::new(Role::Dim, &format!(" {}", parts.join("   ")))])
        }
    };
    row.draw(area, buffer, model.theme);
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

/// A bar of filled and empty marks, at most ten.
fn gauge(used: u64, of: u64) -> String {
    let marks = of.clamp(1, 10);
    let filled = if of == 0 { 0 } else { (used.min(of) * marks).div_ceil(of) };
    let mark = |at| if at < filled { '▰' } else { '▱' };
    (0..marks).map(mark).collect()
}

/// The keys that do something here, as many as fit; the last place is help's.
pub(super) fn footer(model: &Model, area: Rect, buffer: &mut Buffer) {
    let contexts = model.contexts();
    let mut rows: Vec<&ActionRow> = ACTIONS
        .iter()
        .filter(|row| row.footer > 0 && contexts.contains(&row.context) && model.enabled(row.action).is_ok())
        .collect();
    rows.sort_by_key(|row| model.footer_place(row));
    let label = |row: &'static ActionRow| (key_of(model, row), model.title(row));
    let wide = |(key, title): &(String, &str)| width(key) + 1 + width(title) + 3;
    let help = rows.iter().find(|row| row.action == Action::Help).map(|row| label(row));
    let reserved = help.as_ref().map_or(0, wide);
    let columns = usize::from(area.width);
    let mut used = 1;
    let mut pieces = Vec::new();
    for row in rows.iter().filter(|row| row.action != Action::Help) {
        let label = label(row);
        if used + wide(&label) + reserved <= columns + 2 {
            used += wide(&label);
            push_label(&mut pieces, &label);
        }
    }
    if let Some(label) = help {
        push_label(&mut pieces, &label);
    }
    Row::new(pieces).draw(area, buffer, model.theme);
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
