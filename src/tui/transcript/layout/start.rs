//! The input of a run: context, limits, agent.

use ptc_core::value::Json;

use super::Frame;
use super::block::{indent, json_rows, prose};
use crate::event::{FileRecord, ModelRecord, RunStart};
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::tui::transcript::format::{count, plural, size};

pub(super) fn rows(start: &RunStart, frame: &Frame<'_>) -> Vec<Row> {
    let context = start.context.json();
    let fields = context.members().map_or(0, <[_]>::len) as u64;
    let what = if fields == 0 {
        "none".to_owned()
    } else {
        let files = match FileRecord::all_in(&context).as_slice() {
            [] => String::new(),
            [file] => format!(" · file {}", about_file(file)),
            files => format!(" · {}", plural(files.len() as u64, "file")),
        };
        format!("{} · {}{files}", plural(fields, "field"), size(start.context.as_str().len() as u64))
    };
    if frame.at.is_call() {
        return child_rows(start, frame);
    }
    // Of several runs in one session each names its agent.
    let whose = start.pipeline.is_some() || frame.at.as_str() != "r0";
    let what =
        if whose { format!("{what} · {} · {} · {}", start.agent.name, start.mode, start.model.alias) } else { what };
    let mut rows = vec![
        Row::new([frame.mark(), Piece::literal(Role::Title, "Inputs    "), Piece::new(Role::Dim, &what)])
            .ending([Piece::new(Role::Dim, frame.at.as_str())]),
    ];
    if frame.open {
        rows.extend(indent(inputs(start, frame.body()), 3));
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

/// The inputs: a line for each file, the others as JSON.
fn inputs(start: &RunStart, columns: usize) -> Vec<Row> {
    let context = start.context.json();
    let mut rows = Vec::new();
    let mut others = Json::empty();
    for member in context.members().unwrap_or_default() {
        match FileRecord::of_json(&member.value) {
            Some(file) => {
                let name = Piece::new(Role::JsonKey, &format!("{}  ", member.key));
                let text = format!("file {} · sha256 {:.12}…", about_file(&file), file.sha256);
                rows.extend(prose(vec![name], &text, Role::Text, columns));
            }
            None => others = others.with(member.key.as_str(), member.value.clone()),
        }
    }
    if rows.is_empty() {
        return json_rows(start.context.as_str(), columns);
    }
    if others.members().is_some_and(|others| !others.is_empty()) {
        rows.extend(json_rows(&others.to_text(), columns));
    }
    rows
}

/// Name, type and size of a file.
fn about_file(file: &FileRecord) -> String {
    format!("{} · {} · {}", file.name, file.media_type, size(file.size))
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
