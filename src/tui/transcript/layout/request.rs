//! A request: sizes of its sections, and every text exactly as it was sent.

use super::Frame;
use super::block::{indent, json_rows};
use crate::event::{SentMessage, SentPart};
use crate::tui::colours::Language;
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::tui::transcript::card::{CapturedHead, Messages, RequestCard};
use crate::tui::transcript::format::{count, plural, size};
use crate::tui::transcript::wrapped_text::View;
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
    if let Some(head) = card.bare() {
        rows.extend(frame.text(&head.line(), Language::Plain));
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

/// The sum, then the kinds, the largest first; kinds without room are summed up, so that the numbers add up.
fn summary(card: &RequestCard, columns: usize) -> String {
    let mut kinds: Vec<_> = card.sizes.present().collect();
    if kinds.is_empty() {
        return card.bare().map(CapturedHead::line).unwrap_or_default();
    }
    kinds.sort_by_key(|(kind, _, tokens)| (std::cmp::Reverse(*tokens), *kind));
    let whole = format!("~{} tok", count(card.sizes.tokens()));
    for shown in (1..=kinds.len()).rev() {
        let named = kinds[..shown].iter().map(|(kind, _, tokens)| format!("{} {}", kind.name(), count(*tokens)));
        let rest: u64 = kinds[shown..].iter().map(|(_, _, tokens)| tokens).sum();
        let hidden = (kinds.len() - shown) as u64;
        let others = (hidden > 0).then(|| format!("{} {}", plural(hidden, "other"), count(rest)));
        let text = format!("{whole}: {}", named.chain(others).collect::<Vec<_>>().join(" · "));
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
    for block in blocks(message) {
        let tokens = format!("~{} tok", count(estimate_tokens(&block.text)));
        rows.push(heading(&format!("{role} · {}", block.sections.join(" + ")), &tokens));
        rows.extend(frame.text(&block.text, Language::Plain));
    }
    rows
}

/// Parts of a message that share a line.
struct Block<'a> {
    sections: Vec<&'a str>,
    text: String,
}

/// The parts of a message; what continues a line belongs to the block of that line, and empty parts are not blocks.
fn blocks(message: &SentMessage) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut is_text_before = false;
    for part in &message.parts {
        let (text, section) = (part.text(), part.section());
        let is_text = matches!(part, SentPart::Text { .. });
        match blocks.last_mut().filter(|last| is_text && is_text_before && !last.text.ends_with('\n')) {
            _ if text.is_empty() => continue,
            Some(last) => {
                last.text.push_str(&text);
                if !last.sections.contains(&section) {
                    last.sections.push(section);
                }
            }
            None => blocks.push(Block { sections: vec![section], text: text.into_owned() }),
        }
        is_text_before = is_text;
    }
    blocks
}

fn heading(title: &str, size: &str) -> Row {
    Row::new([Piece::literal(Role::Text, "   "), Piece::new(Role::Accent, title)]).ending([Piece::new(Role::Dim, size)])
}
