//! A run: its rule with state and time, and the visible rows of its transcript.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use ptc_core::text::width::width;

use super::bars::{more, rule};
use super::{line_of, overview};
use crate::tui::model::{Model, Phase, RunView, Screen};
use crate::tui::row::{Piece, Row};
use crate::tui::sessions::scrub::Scrub;
use crate::tui::theme::Role;
use crate::tui::transcript::format::{count, plural};
use crate::tui::transcript::{Fold, View, VisibleRow};
use crate::workbench::RunEnding;

/// Columns left of the cards, for the mark of the selected one.
pub(in crate::tui) const MARGIN: u16 = 2;

/// Columns of a run below which its rule has no room for words.
const NARROW: u16 = 48;

/// The columns that cards get in an area.
pub(super) fn card_columns(area: Rect) -> usize {
    usize::from(area.width.saturating_sub(MARGIN + 1))
}

/// The rule above a run.
pub(super) fn draw_rule(model: &Model, view: &RunView, area: Rect, focused: bool, buffer: &mut Buffer) {
    let facts = &view.transcript.facts;
    let kind = match view.replay {
        Some(_) => "Replay",
        None if view.is_example => "Example run",
        None => "Run",
    };
    let is_narrow = model.screen == Screen::Compare && area.width < NARROW.min(model.size.0);
    let mut parts = match &facts.run {
        // Next to other runs, mode and model are what tells them apart.
        Some(_) if is_narrow => Vec::new(),
        Some(run) => vec![format!("{kind} {run}")],
        None => vec![kind.to_owned()],
    };
    if model.screen == Screen::Workbench && model.workbench.run_is_of_older_draft() {
        parts.push("older draft".to_owned());
    }
    // The title shows the agent of the draft, or of the session.
    parts.extend(model.workbench.other_agent().filter(|_| model.screen == Screen::Workbench).map(str::to_owned));
    parts.extend([&facts.mode, &facts.model].into_iter().filter(|part| !part.is_empty()).cloned());
    if view.transcript.view() != View::Rich {
        parts.push(format!("{} view", view.transcript.view().name()));
    }
    if !view.transcript.needle().is_empty() {
        let (at, of) = view.transcript.found();
        let at = count(at as u64);
        parts.push(format!("`{}` {at} of {}", view.transcript.needle(), plural(of as u64, "card")));
    }
    let mut state = state(model, view, area.width);
    if is_narrow {
        state = state.pop().map(|piece| short(&piece)).into_iter().collect();
    }
    rule(area, &parts.join(" · "), focused, state, buffer, model.theme);
}

/// The mark of a state without its words.
fn short(state: &Piece) -> Piece {
    Piece::new(state.role, state.text.as_str().split(' ').next().unwrap_or_default())
}

/// Returns the state of a run as a mark and words.
fn state(model: &Model, view: &RunView, columns: u16) -> Vec<Piece> {
    let facts = &view.transcript.facts;
    let mut pieces = Vec::new();
    if view.overview.is_open {
        // The overview shows turns; cards of the transcript are not what it hides.
        let (above, below) = view.overview.hidden();
        pieces.extend(more(above, below, columns));
    } else if view.transcript.new_after() > 0 {
        let text = format!("▼ {} new below  ", count(view.transcript.new_after() as u64));
        pieces.push(Piece::new(Role::Accent, &text));
    } else {
        let (above, below) = view.transcript.hidden();
        pieces.extend(more(above, below, columns));
    }
    // On narrow screens the status line shows the time.
    let time = if columns < NARROW { String::new() } else { format!(" · {}", facts.time(model.now_ms)) };
    if let Some(scrub) = model.sessions.scrub.as_ref().filter(|_| model.screen == Screen::Sessions) {
        pieces.push(played(scrub));
        return pieces;
    }
    let (role, text) = match (view.phase, &view.ended, &facts.end) {
        (_, Some(RunEnding::Identical(_)), _) => (Role::Good, "✓ replayed: identical".to_owned()),
        (_, Some(RunEnding::Diverged { .. }), _) => (Role::Bad, "✗ replayed: it differs".to_owned()),
        (_, Some(RunEnding::Broken(_)), _) => (Role::Bad, "✗ broken off".to_owned()),
        (Phase::Starting, _, _) => (Role::Accent, "● starting".to_owned()),
        (Phase::Stopping, _, None) => (Role::Accent, "● stopping".to_owned()),
        (Phase::Running, _, None) if view.question.is_some() => (Role::Accent, format!("● your turn{time}")),
        (Phase::Running, _, None) if model.traffic.follows(view) && !model.traffic.is_streaming() => {
            (Role::Accent, "● waits for the next request".to_owned())
        }
        (Phase::Running, _, None) => (Role::Accent, format!("● running{time}")),
        (_, _, Some(Ok(()))) => (Role::Good, format!("✓ returned{time}")),
        (_, _, Some(Err(error))) => (Role::Bad, format!("✗ {}{time}", error.reason)),
        (Phase::Done, _, None) if view.waits => (Role::Accent, waiting(model, columns)),
        (Phase::Done, _, None) if time.is_empty() => (Role::Warn, "! not finished".to_owned()),
        (Phase::Done, _, None) => {
            (Role::Warn, format!("! not finished · last event after {}", facts.time(model.now_ms)))
        }
    };
    pieces.push(Piece::new(role, &text));
    pieces
}

/// A run that waits in its session, and the keys that continue it.
fn waiting(model: &Model, columns: u16) -> String {
    let how = match model.screen {
        // The footer shows the key.
        Screen::Sessions => return "● waits for an answer".to_owned(),
        Screen::Workbench | Screen::Compare | Screen::Tests | Screen::Traffic | Screen::Candidates => {
            model.how_to_resume()
        }
    };
    if columns < NARROW { "● waits".to_owned() } else { format!("● waits: {how}") }
}

/// Returns the position in a session that is played.
fn played(scrub: &Scrub) -> Piece {
    let events = scrub.events().len();
    let place = format!("event {} of {}", count(scrub.at as u64), count(events as u64));
    match scrub.playing {
        Some(speed) => Piece::new(Role::Accent, &format!("▶ {speed}× · {place}")),
        None if scrub.at == events => Piece::new(Role::Good, &format!("■ {place}")),
        None => Piece::new(Role::Accent, &format!("‖ {place}")),
    }
}

/// The visible rows, with the rail of turns next to them; or the overview.
pub(super) fn draw_rows(model: &Model, view: &RunView, area: Rect, buffer: &mut Buffer) {
    if view.overview.is_open {
        return overview::draw(model, view, area, buffer);
    }
    let area = overview::draw_rail(model, view, area, buffer);
    if view.transcript.is_empty() {
        let text = if view.phase == Phase::Done { "this session is empty" } else { "starting …" };
        Row::new([Piece::new(Role::Dim, text)]).indented(2).draw(line_of(area, 0), buffer, model.theme);
        return;
    }
    for (line, visible) in view.transcript.rows().enumerate() {
        let place = line_of(area, line);
        if visible.selected {
            Row::new([Piece::literal(Role::Accent, "▌")]).draw(
                Rect { width: 1.min(place.width), ..place },
                buffer,
                model.theme,
            );
        }
        let indent = MARGIN + visible.indent;
        let inner = Rect { x: place.x + indent, width: place.width.saturating_sub(indent + 1), ..place };
        if let Some(fold) = visible.fold {
            let mark = if fold == Fold::Open { "▾" } else { "▸" };
            let role = if visible.here { Role::Selected } else { Role::Accent };
            Row::new([Piece::literal(role, mark)]).draw(
                Rect { x: inner.x - 2, width: 1, ..inner },
                buffer,
                model.theme,
            );
        }
        visible.row.draw(inner, buffer, model.theme);
        mark(model, view, &visible, inner, buffer);
    }
}

/// Marks matches and the selection in a drawn row.
fn mark(model: &Model, view: &RunView, visible: &VisibleRow<'_>, area: Rect, buffer: &mut Buffer) {
    let (transcript, line) = (&view.transcript, visible.line);
    let mut paint = |columns: std::ops::Range<usize>, role: Role| {
        let end = columns.end.min(usize::from(area.width));
        for column in columns.start.min(end)..end {
            let x = area.x + u16::try_from(column).unwrap_or(u16::MAX);
            if let Some(cell) = buffer.cell_mut((x, area.y)) {
                cell.set_style(model.theme.style(role));
            }
        }
    };
    if !transcript.needle().is_empty() {
        let text: String = visible.row.left.iter().map(|piece| piece.text.as_str()).collect();
        let role = if transcript.is_looked_at(visible.cell, line) { Role::Selected } else { Role::WarnPlace };
        for found in transcript.marks_in(&text) {
            let start = width(&text[..found.start]);
            paint(start..start + width(&text[found]), role);
        }
    }
    if let Some(columns) = transcript.selected_columns(visible.cell, line) {
        let text: usize = visible.row.left.iter().map(|piece| width(&piece.text)).sum();
        paint(columns.start..columns.end.min(text.max(1)), Role::Selected);
    }
}
