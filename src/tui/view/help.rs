//! The help: every row of the action table, grouped by where it means something.

use super::answer;
use crate::tui::actions::{ACTIONS, ActionRow, Context};
use crate::tui::model::{Model, Popup};
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use ptc_core::text::SafeText;
use ptc_core::text::width::{width, wrap};

/// Rows of the help; the contexts of the screen below come first: what is only there, what is everywhere, what every text has.
pub(super) fn rows(model: &Model, columns: usize) -> Vec<Row> {
    let here = model.contexts_under_help();
    let (mut first, rest): (Vec<_>, Vec<_>) = Context::ALL.into_iter().partition(|(context, _)| here.contains(context));
    first.sort_by_key(|(context, _)| match context {
        Context::Lines | Context::Text => 3,
        Context::Global => 2,
        Context::Always => 1,
        _ => 0,
    });
    let mut rows = answers(model);
    for (context, title) in first.into_iter().chain(rest) {
        if !rows.is_empty() {
            rows.push(Row::default());
        }
        let now = if here.contains(&context) { "  (here)" } else { "" };
        rows.push(Row::new([Piece::new(Role::Title, title), Piece::new(Role::Dim, now)]));
        for action in ACTIONS.iter().filter(|row| row.context == context) {
            rows.extend(entry(model, action, columns));
        }
    }
    rows
}

/// The keys that answer the question below the help, if it has some.
fn answers(model: &Model) -> Vec<Row> {
    let Some(Popup::Answer { question, asker, .. }) = model.popups.iter().rev().nth(1) else { return Vec::new() };
    let rows = question.options.iter().map(|option| {
        let key = Piece::new(Role::Key, option.get(..1).unwrap_or_default());
        Row::new([key, Piece::new(Role::Text, &format!("  {}", answer::meaning(option, asker)))])
    });
    let rows: Vec<Row> = rows.collect();
    if rows.is_empty() {
        return rows;
    }
    std::iter::once(Row::new([Piece::literal(Role::Title, "Your decision"), Piece::literal(Role::Dim, "  (here)")]))
        .chain(rows)
        .collect()
}

fn entry(model: &Model, action: &ActionRow, columns: usize) -> Vec<Row> {
    let keys = model.keymap.names_of(action).join(" ");
    let keys = if keys.is_empty() { "(palette)".to_owned() } else { keys };
    let wide = if columns < 60 { 14 } else { 24 };
    let gap = wide_gap(wide, width(&keys));
    let text = SafeText::literal(action.help);
    let room = columns.saturating_sub(wide + 1).max(10);
    let mut rows = Vec::new();
    for (line, range) in wrap(&text, room).into_iter().enumerate() {
        let text = Piece::safe(Role::Text, text.slice(range));
        let row = if line == 0 {
            Row::new([Piece::new(Role::Key, &keys), Piece::new(Role::Text, &gap), text])
        } else {
            Row::new([text]).indented(wide)
        };
        rows.push(row);
    }
    rows
}

fn wide_gap(wide: usize, used: usize) -> String {
    " ".repeat(wide.saturating_sub(used).max(1))
}
