//! The input of a run: context, limits, agent.

use super::Frame;
use super::block::{indent, json_rows, prose};
use crate::event::{ModelRecord, RunStart};
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::tui::transcript::format::{count, plural, size};

pub(super) fn rows(start: &RunStart, frame: &Frame<'_>) -> Vec<Row> {
    let context = start.context.json();
    let fields = context.members().map_or(0, <[_]>::len) as u64;
    let what = if fields == 0 {
        "no context".to_owned()
    } else {
        format!("{} · {}", plural(fields, "field"), size(start.context.as_str().len() as u64))
    };
    if frame.at.is_call() {
        return child_rows(start, frame);
    }
    // Of several runs in one session each names its agent.
    let whose = start.pipeline.is_some() || frame.at.as_str() != "r0";
    let what =
        if whose { format!("{what} · {} · {} · {}", start.agent.name, start.mode, start.model.alias) } else { what };
    let mut rows = vec![
        Row::new([frame.mark(), Piece::literal(Role::Title, "Input     "), Piece::new(Role::Dim, &what)])
            .ending([Piece::new(Role::Dim, frame.at.as_str())]),
    ];
    if frame.open {
        rows.extend(indent(json_rows(start.context.as_str(), frame.body()), 3));
        let limits: Vec<String> =
            start.limits.iter().map(|(name, value)| format!("{name} {}", count(*value))).collect();
        let about = [
            format!("agent {}", start.agent.name),
            format!("mode {}", start.mode),
            model(&start.model),
            format!("seed {}", start.seed),
        ];
        let about = about.into_iter().chain(limits).collect::<Vec<_>>().join(" · ");
        rows.extend(indent(prose(Vec::new(), &about, Role::Dim, frame.body()), 3));
    }
    rows
}

/// The model by the developer's name, with provider and id where they add information.
fn model(model: &ModelRecord) -> String {
    let ModelRecord { alias, provider, id, .. } = model;
    if alias == provider && alias == id { format!("model {alias}") } else { format!("model {alias} ({provider} {id})") }
}

/// The start of a child run: its agent and its arguments. Folded, it hides the whole run.
fn child_rows(start: &RunStart, frame: &Frame<'_>) -> Vec<Row> {
    let about = format!("  {} · {}", start.mode, start.model.alias);
    let mut rows =
        vec![frame.header(&format!("Agent {}", start.agent.name)).ending([Piece::new(Role::Dim, frame.at.as_str())])];
    rows[0].left.push(Piece::new(Role::Dim, &about));
    if frame.open && start.context.as_str() != "{}" {
        let short = crate::workbench::wording::in_short(&start.context, 400);
        rows.extend(indent(prose(Vec::new(), &short, Role::Dim, frame.body()), 3));
    }
    rows
}
