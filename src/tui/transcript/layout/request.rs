//! A request: sizes of its sections, and every text exactly as it was sent.

use super::Frame;
use super::block::{indent, json_rows};
use crate::event::SentMessage;
use crate::tui::colours::Language;
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::tui::transcript::card::{Messages, RequestCard};
use crate::tui::transcript::format::{count, size};
use crate::tui::transcript::wrapped::View;
use ptc_core::text::estimate_tokens;
use ptc_core::text::width::width;

/// Columns that mark, title and turn take.
const HEADER_COLUMNS: usize = 18;

pub(super) fn rows(card: Option<&RequestCard>, frame: &Frame<'_>) -> Vec<Row> {
    let columns = frame.columns.saturating_sub(HEADER_COLUMNS);
    let mut rows = vec![
        Row::new([
            frame.mark(),
            Piece::literal(Role::Title, "Request   "),
            Piece::new(Role::Dim, &card.map(|card| summary(card, columns)).unwrap_or_default()),
        ])
        .ending([Piece::new(Role::Dim, &format!("t{}", frame.at.turn_number().unwrap_or_default()))]),
    ];
    if !frame.open {
        return rows;
    }
    let run = frame.at.run_part();
    let Some(card) = card else {
        rows.push(Row::new([Piece::literal(Role::Dim, "   not there yet")]));
        return rows;
    };
    match &card.messages {
        Messages::Ranges(ranges) => rows.extend(frame.store.ranges(&run, ranges).flat_map(|m| message(m, frame))),
        Messages::Read(messages) => rows.extend(messages.iter().flat_map(|m| message(m, frame))),
    }
    if let Some(schema) = &card.schema {
        rows.push(heading("schema of the answer", &size(schema.as_str().len() as u64)));
        let body = if frame.view == View::Rich {
            indent(json_rows(schema.as_str(), frame.body()), 3)
        } else {
            frame.text(schema.as_str(), Language::Json)
        };
        rows.extend(body);
    }
    for tool in &card.tools {
        rows.push(heading(&format!("tool · {}", tool.name), &size(tool.parameters.as_str().len() as u64)));
        if let Some(text) = &tool.description {
            rows.extend(frame.text(text, Language::Plain));
        }
        rows.extend(frame.text(tool.parameters.as_str(), Language::Json));
    }
    if let Ok(options) = serde_json::to_string(&card.options)
        && options != "{}"
    {
        rows.push(heading("options", ""));
        rows.extend(frame.text(&options, Language::Json));
    }
    rows
}

/// The sizes of the sections by name; where there is no room, the first of them and the sum.
fn summary(card: &RequestCard, columns: usize) -> String {
    let schema = card.schema.as_ref().map(|schema| format!("schema {}", size(schema.as_str().len() as u64)));
    let mut named: Vec<String> =
        card.sizes.iter().map(|(label, tokens)| format!("{label} ~{}", count(*tokens))).collect();
    let total: u64 = card.sizes.iter().map(|(_, tokens)| tokens).sum();
    if named.is_empty() {
        return schema.unwrap_or_default();
    }
    let all = format!("{} tok", named.join(" · "));
    let with_schema = schema.map(|schema| format!("{all} · {schema}"));
    if let Some(text) = with_schema.into_iter().chain([all]).find(|text| width(text) <= columns) {
        return text;
    }
    let whole = format!("~{} tok in all", count(total));
    while named.pop().is_some() && !named.is_empty() {
        let text = format!("{} · {whole}", named.join(" · "));
        if width(&text) <= columns {
            return text;
        }
    }
    whole
}

fn message(message: &SentMessage, frame: &Frame<'_>) -> Vec<Row> {
    let role = match message.role {
        crate::event::Role::System => "system",
        crate::event::Role::User => "user",
        crate::event::Role::Assistant => "assistant",
        crate::event::Role::Tool => "tool",
    };
    let mut rows = Vec::new();
    for part in &message.parts {
        let text = part.text();
        let tokens = format!("~{} tok", count(estimate_tokens(&text)));
        rows.push(heading(&format!("{role} · {}", part.section()), &tokens));
        rows.extend(frame.text(&text, Language::Plain));
    }
    rows
}

fn heading(title: &str, size: &str) -> Row {
    Row::new([Piece::literal(Role::Text, "   "), Piece::new(Role::Accent, title)]).ending([Piece::new(Role::Dim, size)])
}
