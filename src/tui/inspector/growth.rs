//! The requests of a run as bars: one row per turn, one letter and look per kind, the cached part below its bar's scale.

use ptc_core::text::width::pad_left;

use crate::event::Address;
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::workbench::PromptKind;
use crate::workbench::format::{cached, count};
use crate::workbench::inspect::TurnPrompt;

/// Columns of the numbers after a bar.
const NUMBER: usize = 9;

/// The look of a kind; its letter carries the same without colours.
fn role(kind: PromptKind) -> Role {
    match kind {
        PromptKind::System | PromptKind::Schema => Role::Dim,
        PromptKind::Tools => Role::Accent,
        PromptKind::Task => Role::Title,
        PromptKind::Data => Role::JsonString,
        PromptKind::History => Role::Text,
        PromptKind::Results => Role::JsonNumber,
        PromptKind::Feedback => Role::Warn,
    }
}

/// The rows of the chart: the legend with the totals of the open turn, then a bar per turn.
pub(super) fn rows(turns: &[TurnPrompt], open: &Address, columns: usize) -> Vec<Row> {
    let Some(largest) = turns.iter().map(length).max().filter(|largest| *largest > 0) else {
        return vec![Row::new([Piece::literal(
            Role::Dim,
            "the messages of this run are too large to be counted here",
        )])];
    };
    let label = turns.iter().map(|turn| name(&turn.turn).len()).max().unwrap_or_default() + 1;
    let room = columns.saturating_sub(label + 2 + NUMBER).max(8);
    let mut rows = legend(turns, open, columns);
    rows.push(Row::default());
    for turn in turns {
        let here = turn.turn == *open;
        let mut pieces = vec![
            Piece::literal(Role::Accent, if here { "▸" } else { " " }),
            Piece::new(if here { Role::Title } else { Role::Dim }, &pad_left(&name(&turn.turn), label)),
            Piece::literal(Role::Text, " "),
        ];
        let (bar, used) = bar(turn, largest, room);
        pieces.extend(bar);
        pieces.push(Piece::new(Role::Text, &" ".repeat(room.saturating_sub(used))));
        pieces.push(Piece::new(Role::Text, &pad_left(&number(turn), NUMBER)));
        rows.push(Row::new(pieces));
        if let Some(read) = turn.counted.and_then(|counted| counted.cache_read).filter(|read| *read > 0) {
            let columns = scaled(read, largest, room);
            let text = format!(
                "{}{}",
                "‾".repeat(columns),
                cached(turn.counted).map(|text| format!(" {text}")).unwrap_or_default()
            );
            rows.push(Row::new([Piece::new(Role::Good, &text)]).indented(label + 2));
        }
    }
    rows.push(Row::default());
    let text = "tokens as counted by the provider, ~ = estimate · dots after the last kind = not attributed";
    rows.push(Row::new([Piece::literal(Role::Dim, text)]));
    rows
}

/// The kinds with their letters and what each has in the open turn.
fn legend(turns: &[TurnPrompt], open: &Address, columns: usize) -> Vec<Row> {
    let now = turns.iter().find(|turn| turn.turn == *open).or(turns.last());
    let present = |kind: PromptKind| turns.iter().any(|turn| turn.sizes.of(kind).0 > 0);
    let mut rows: Vec<Row> = Vec::new();
    let (mut pieces, mut used) = (Vec::new(), 0);
    for (kind, name, letter) in PromptKind::ALL.iter().filter(|(kind, ..)| present(*kind)) {
        let tokens = now.map_or(0, |turn| turn.sizes.of(*kind).1);
        let text = format!("{letter} {name} ~{}   ", count(tokens));
        if used + text.len() > columns && !pieces.is_empty() {
            rows.push(Row::new(std::mem::take(&mut pieces)));
            used = 0;
        }
        used += text.len();
        pieces.push(Piece::new(role(*kind), &text));
    }
    rows.push(Row::new(pieces));
    rows
}

/// A turn's number, such as `t12`.
fn name(turn: &Address) -> String {
    turn.turn_number().map_or_else(|| turn.to_string(), |number| format!("t{number}"))
}

/// Tokens that the bar of a turn stands for.
fn length(turn: &TurnPrompt) -> u64 {
    turn.sizes.tokens().max(turn.counted.map_or(0, |counted| counted.input))
}

fn number(turn: &TurnPrompt) -> String {
    match turn.counted {
        Some(counted) => count(counted.input),
        None => format!("~{}", count(turn.sizes.tokens())),
    }
}

/// Columns for this many tokens.
fn scaled(tokens: u64, largest: u64, room: usize) -> usize {
    usize::try_from(tokens.saturating_mul(room as u64) / largest.max(1)).unwrap_or(room).min(room)
}

/// The letters of a turn's kinds, and the columns that they take. Ends are rounded on the running sum, so that bars of equal sums are
/// equally long.
fn bar(turn: &TurnPrompt, largest: u64, room: usize) -> (Vec<Piece>, usize) {
    let (mut pieces, mut sum, mut used) = (Vec::new(), 0, 0);
    for (kind, _, letter) in PromptKind::ALL {
        sum += turn.sizes.of(kind).1;
        let end = scaled(sum, largest, room);
        if end > used {
            pieces.push(Piece::new(role(kind), &letter.to_string().repeat(end - used)));
            used = end;
        }
    }
    let end = scaled(length(turn), largest, room);
    if end > used {
        pieces.push(Piece::new(Role::Dim, &"·".repeat(end - used)));
        used = end;
    }
    (pieces, used)
}
