//! The end of a run: the answer field by field, or why there is none, where that was and what a user can do about it.

use ptc_core::value::{Json, json::Node};

use super::Frame;
use super::block::{indent, json_rows, pairs, prose};
use crate::event::{ErrorRecord, JsonText};
use crate::tui::colours::Language;
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::tui::transcript::card::EndCard;
use crate::tui::transcript::format::{cached, cost, count, duration, plural};
use crate::tui::transcript::wrapped_text::View;
use crate::tui::transcript::wrapped_text::WrappedText;
use crate::workbench::wording::in_plain_words;

pub(super) fn rows(card: &EndCard, frame: &Frame<'_>) -> Vec<Row> {
    let turns = own_turns(card);
    let failed_at = (card.end.fail.is_some() && turns > 0).then(|| frame.at.turn(turns));
    let at = Piece::new(Role::Dim, failed_at.as_ref().unwrap_or(frame.at).as_str());
    let header = match &card.end.fail {
        Some(fail) => {
            Row::new([frame.mark(), Piece::literal(Role::Bad, "✗ Failed    "), Piece::new(Role::Bad, &fail.reason)])
        }
        None => frame.header("Return"),
    };
    let mut rows = vec![header.ending([at])];
    if frame.open {
        let columns = frame.body();
        let body = card.end.fail.as_ref().map_or_else(|| returned(card, frame), |fail| failed(card, fail, columns));
        rows.extend(indent(body, 3));
        for line in &card.judged {
            let row = prose(vec![Piece::literal(Role::Accent, "judged  ")], line, Role::Text, columns);
            rows.extend(indent(row, 3));
        }
        rows.extend(indent(prose(Vec::new(), &usage(card), Role::Dim, columns), 3));
    }
    rows
}

fn returned(card: &EndCard, frame: &Frame<'_>) -> Vec<Row> {
    let columns = frame.body();
    let answer = card.end.value.as_ref().map(JsonText::json).unwrap_or_default();
    let exact = |text: &str| WrappedText::of(text, columns, frame.look(Language::Json));
    let mut rows = if frame.view == View::Rich { value(&answer, columns) } else { exact(&answer.to_pretty()) };
    if let Some(summary) = card.end.summary.as_ref().filter(|_| frame.view != View::Rich) {
        rows.push(Row::new([Piece::literal(Role::Dim, "summary")]));
        rows.extend(exact(summary));
    } else if let Some(summary) = &card.end.summary {
        rows.extend(prose(vec![Piece::literal(Role::Dim, "summary  ")], summary, Role::Text, columns));
    }
    if let Some(refs) = &card.end.refs {
        rows.push(Row::new([Piece::literal(Role::Dim, "refs")]));
        rows.extend(indent(value(&refs.json(), columns.saturating_sub(2)), 2));
    }
    if let Some(turn) = card.end.from_turn {
        let text = format!("the value of turn {turn}: the turns were used up before `return`");
        rows.extend(prose(vec![Piece::literal(Role::Warn, "! ")], &text, Role::Text, columns));
    }
    rows
}

fn failed(card: &EndCard, fail: &ErrorRecord, columns: usize) -> Vec<Row> {
    let mut rows = prose(Vec::new(), &in_plain_words(&fail.message), Role::Text, columns);
    if let Some(next) = &card.next {
        rows.extend(prose(vec![Piece::literal(Role::Accent, "→ ")], next, Role::Text, columns));
    }
    rows
}

/// An answer: an object field by field, a text as it is, anything else as JSON.
fn value(answer: &Json, columns: usize) -> Vec<Row> {
    if answer.as_str().is_some() {
        return field(answer, columns);
    }
    let Some(members) = answer.members().filter(|members| !members.is_empty()) else {
        return json_rows(&answer.to_text(), columns);
    };
    let fields: Vec<(String, Vec<Row>)> =
        members.iter().map(|member| (member.key.clone(), field(&member.value, columns * 2 / 3))).collect();
    pairs(&fields, columns)
}

/// A field: a string without quotes, anything else as JSON.
fn field(value: &Json, columns: usize) -> Vec<Row> {
    match &value.node {
        Node::Str(text) if !text.is_empty() => prose(Vec::new(), text, Role::JsonString, columns),
        _ => json_rows(&value.to_text(), columns),
    }
}

/// Turns of the run itself. The ends of runs of earlier versions do not count the turn in which a stop ended the run.
fn own_turns(card: &EndCard) -> u32 {
    card.usage.turns.saturating_sub(card.child_usage.turns).max(card.end.usage.totals.turns)
}

fn usage(card: &EndCard) -> String {
    let usage = &card.end.usage;
    let (total, children) = (&card.usage, &card.child_usage);
    let mut parts = vec![plural(u64::from(own_turns(card)), "turn")];
    if let Some(tokens) = total.tokens {
        parts.push(format!("{} in · {} out", plural(tokens.input, "token"), count(tokens.output)));
    }
    parts.extend(cached(total.tokens));
    parts.extend(total.cost().map(|amount| format!("cost {}", cost(Some(amount)))));
    if children.turns > 0 {
        let tokens = children.tokens.map(|t| format!(", {} in, {} out", plural(t.input, "token"), count(t.output)));
        let amount = children.cost().map(|amount| format!(", cost {}", cost(Some(amount))));
        let turns = plural(u64::from(children.turns), "turn");
        parts.push(format!("child runs: {turns}{}{}", tokens.unwrap_or_default(), amount.unwrap_or_default()));
    }
    parts.push(duration(card.elapsed_ms));
    match usage.structured_output {
        Some(by) if usage.schema_used => parts.push(format!("schema sent as {}", by.name())),
        _ if usage.schema_used => parts.push("schema sent".to_owned()),
        _ => {}
    }
    parts.join(" · ")
}
