//! The row of the draft's runs: each with its result and cost, the one that is shown in brackets, and what changed in the draft before it.

use ptc_core::text::width::width;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::model::{DraftRun, Model, RunView};
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::workbench::format::cost;

/// Minimum columns of tabs with mode and cost.
const WIDE: usize = 14;

pub(super) fn draw(model: &Model, area: Rect, buffer: &mut Buffer) {
    let runs = &model.workbench.runs;
    let columns = usize::from(area.width).saturating_sub(2);
    let change = runs.change().map(|change| format!("draft: {change} ")).unwrap_or_default();
    let room = columns.saturating_sub(if width(&change) * 2 <= columns { width(&change) } else { 0 });
    let is_wide = room / runs.all().len().max(1) >= WIDE;
    let tab = |(place, run): (usize, &DraftRun)| tab(model, place == runs.shown(), run, is_wide);
    let mut tabs: Vec<Vec<Piece>> = runs.all().iter().enumerate().map(tab).collect();
    // The newest and the one that is shown have room first: tabs before them are left out.
    let length = |tabs: &[Vec<Piece>]| tabs.iter().flatten().map(|piece| width(&piece.text)).sum::<usize>();
    let mut left_out = 0;
    while tabs.len() > 1 && length(&tabs) + 3 > room && left_out < runs.shown() {
        tabs.remove(0);
        left_out += 1;
    }
    let more = (left_out > 0).then(|| Piece::literal(Role::Dim, " ‹"));
    let left: Vec<Piece> = more.into_iter().chain(tabs.into_iter().flatten()).collect();
    let right = if room < columns { vec![Piece::new(Role::Dim, &change)] } else { Vec::new() };
    Row::new(left).ending(right).draw(area, buffer, model.theme);
}

/// One run: number, mark, and where there is room mode and cost.
fn tab(model: &Model, is_shown: bool, run: &DraftRun, is_wide: bool) -> Vec<Piece> {
    let (open, close) = if is_shown { ("[", "]") } else { (" ", " ") };
    let role = if is_shown { Role::Title } else { Role::Dim };
    let view = run.view(model.workbench.run.as_ref());
    let (mark_role, mark) = view.map_or((Role::Dim, "–"), mark);
    let mut text = String::new();
    if let Some(facts) = view.map(|view| &view.transcript.facts).filter(|_| is_wide) {
        text = format!(" {}", facts.mode);
        if facts.cost.is_some() {
            text = format!("{text} {}", cost(facts.cost));
        }
    }
    vec![
        Piece::new(role, &format!("{open}{} ", run.number)),
        Piece::literal(mark_role, mark),
        Piece::new(role, &format!("{text}{close}")),
    ]
}

fn mark(view: &RunView) -> (Role, &'static str) {
    match &view.transcript.facts.end {
        Some(Ok(())) => (Role::Good, "✓"),
        Some(Err(_)) => (Role::Bad, "✗"),
        None if view.phase == crate::tui::model::Phase::Done => (Role::Warn, "!"),
        None => (Role::Accent, "●"),
    }
}
