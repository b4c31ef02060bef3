//! The help: every row of the action table, grouped by context.

use super::answer;
use crate::tui::actions::{ACTIONS, ActionRow, Context};
use crate::tui::model::{Model, Popup};
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use ptc_core::text::SafeText;
use ptc_core::text::width::{pad, width, wrap};

/// Rows of the help; the contexts of the screen below come first: its own, innermost first, then the global ones, then those that every
/// text has.
pub(super) fn rows(model: &Model, columns: usize) -> Vec<Row> {
    let here = model.contexts_under_help();
    let (mut first, rest): (Vec<_>, Vec<_>) = Context::ALL.into_iter().partition(|(context, _)| here.contains(context));
    let group = |context: &Context| match context {
        Context::Lines | Context::Text => 3,
        Context::Global => 2,
        Context::Always => 1,
        _ => 0,
    };
    // Of what is only there, the innermost comes first.
    first.sort_by_key(|(context, _)| (group(context), here.iter().position(|active| active == context)));
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
    let wide = if columns < 60 { 17 } else { 24 };
    let keys = key_lines(model.keymap.names_of(action), wide - 1);
    let text = SafeText::literal(action.help);
    let room = columns.saturating_sub(wide + 1).max(10);
    let ranges = wrap(&text, room);
    let lines = keys.len().max(ranges.len());
    let row = |line: usize| {
        let keys = Piece::new(Role::Key, &pad(keys.get(line).map_or("", String::as_str), wide));
        let text = ranges.get(line).map(|range| Piece::safe(Role::Text, text.slice(range.clone())));
        Row::new(std::iter::once(keys).chain(text).collect::<Vec<_>>())
    };
    (0..lines).map(row).collect()
}

/// The names of keys in lines of at most `columns` columns.
fn key_lines(names: Vec<String>, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for name in names {
        match lines.last_mut().filter(|line| width(line) + 1 + width(&name) <= columns) {
            Some(line) => *line = format!("{line} {name}"),
            None => lines.push(name),
        }
    }
    if lines.is_empty() { vec!["(palette)".to_owned()] } else { lines }
}
