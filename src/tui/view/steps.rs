//! The steps of an open pipeline: the task of each, the values passed from one to the next, the progress of the run.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::areas::line_of;
use super::bars;
use crate::tui::model::{Model, Pane, Phase};
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::tui::transcript::format::plural;
use crate::workbench::{PipelineOutline, StepOutline};
use ptc_core::text::width::wrap;
use ptc_core::text::{SafeText, in_one_line};

/// Rows of a step's task that are shown.
const TASK_ROWS: usize = 3;

/// Keeps the first visible row so that the last page is full.
pub(super) fn clamp(pipeline: &PipelineOutline, top: &mut usize, column: Rect) {
    let rows = rows(pipeline, &[], usize::from(column.width)).len();
    *top = (*top).min(super::areas::scroll_limit(rows, column.height.saturating_sub(1)));
}

/// Draws the rule and the visible rows.
pub(super) fn draw(model: &Model, pipeline: &PipelineOutline, top: usize, column: Rect, buffer: &mut Buffer) {
    let rule = Rect { height: 1, ..column };
    let area = Rect { y: column.y + 1, height: column.height.saturating_sub(1), ..column };
    let rows = rows(pipeline, &marks(model, pipeline), usize::from(area.width));
    let below = rows.len().saturating_sub(top + usize::from(area.height));
    let mut state = bars::more(top, below, rule.width);
    state.push(match pipeline.errors.len() {
        0 => Piece::literal(Role::Good, "✓ types fit"),
        errors => Piece::new(Role::Bad, &format!("✗ {}", plural(errors as u64, "error"))),
    });
    let focused = model.workbench.focus == Pane::Steps;
    bars::rule(rule, "Steps", focused, state, buffer, model.theme);
    for (line, row) in rows.iter().skip(top).take(usize::from(area.height)).enumerate() {
        row.draw(line_of(area, line), buffer, model.theme);
    }
}

/// Returns a mark for the progress of each step; none while another agent's run is shown.
fn marks(model: &Model, pipeline: &PipelineOutline) -> Vec<Piece> {
    let Some(run) = &model.workbench.run else { return Vec::new() };
    let facts = &run.transcript.facts;
    let Some(now) = facts.run.as_ref().and_then(|run| run.as_str().get(1..)?.parse::<usize>().ok()) else {
        return Vec::new();
    };
    if pipeline.steps.get(now).is_none_or(|step| step.name != facts.agent) {
        return Vec::new();
    }
    let mark = |place: usize| match (place.cmp(&now), &facts.end) {
        (std::cmp::Ordering::Less, _) | (std::cmp::Ordering::Equal, Some(Ok(()))) => Piece::literal(Role::Good, "✓ "),
        (std::cmp::Ordering::Equal, Some(Err(_))) => Piece::literal(Role::Bad, "✗ "),
        (std::cmp::Ordering::Equal, None) if run.phase == Phase::Done => Piece::literal(Role::Warn, "! "),
        (std::cmp::Ordering::Equal, None) => Piece::literal(Role::Accent, "● "),
        (std::cmp::Ordering::Greater, _) => Piece::literal(Role::Dim, "  "),
    };
    (0..pipeline.steps.len()).map(mark).collect()
}

fn rows(pipeline: &PipelineOutline, marks: &[Piece], columns: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    let inner = columns.saturating_sub(6).max(1);
    for error in &pipeline.errors {
        rows.extend(wrapped(Role::Bad, &format!("✗ {error}"), inner, usize::MAX).map(|row| row.indented(1)));
    }
    for (place, step) in pipeline.steps.iter().enumerate() {
        if place > 0 {
            rows.extend(wrapped(Role::Dim, &carried(step), inner, usize::MAX).map(|row| row.indented(1)));
        }
        let mark = marks.get(place).cloned().unwrap_or_else(|| Piece::literal(Role::Dim, "  "));
        let title = Piece::new(Role::Title, &format!("{} {}", place + 1, step.name));
        let facts = Piece::new(Role::Dim, &format!("  {} · {}", step.mode, step.model));
        rows.push(Row::new([mark, title, facts]).indented(1));
        if !step.signature.is_empty() {
            rows.extend(wrapped(Role::Text, &step.signature, inner, usize::MAX).map(|row| row.indented(5)));
        }
        let task = in_one_line(&step.prompt);
        rows.extend(wrapped(Role::Dim, &task, inner, TASK_ROWS).map(|row| row.indented(5)));
        if !step.tools.is_empty() {
            let tools = format!("tools  {}", step.tools.join(", "));
            rows.extend(wrapped(Role::Dim, &tools, inner, usize::MAX).map(|row| row.indented(5)));
        }
    }
    rows
}

/// Returns the values that pass from the previous step to this one. Memory and messages are never passed.
fn carried(step: &StepOutline) -> String {
    let takes = if step.takes.is_empty() { "no fields".to_owned() } else { step.takes.join(", ") };
    let leaves =
        if step.leaves.is_empty() { String::new() } else { format!(" · not used: {}", step.leaves.join(", ")) };
    format!("↓ {takes}{leaves} · without memory")
}

/// A text on at most `most` rows.
fn wrapped(role: Role, text: &str, columns: usize, most: usize) -> impl Iterator<Item = Row> + use<> {
    let text = SafeText::single_line(text);
    let ranges = wrap(&text, columns);
    let cut = ranges.len() > most;
    let last = ranges.len().min(most);
    let rows: Vec<Row> = ranges
        .into_iter()
        .take(most)
        .enumerate()
        .map(|(at, range)| {
            let end = if cut && at + 1 == last { " …" } else { "" };
            Row::new([Piece::safe(role, text.slice(range)), Piece::literal(role, end)])
        })
        .collect();
    rows.into_iter()
}
