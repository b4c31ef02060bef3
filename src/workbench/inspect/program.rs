//! The program of a turn: as it was run, formatted, and its end.

use ptc_core::lisp::format;

use super::{Body, Line, Mark, Part, Turn};
use crate::event::{Event, ProgramEnd, ProgramStatus};

/// Width of a formatted program, in columns.
const COLUMNS: usize = 80;

/// Returns the program that a turn ran.
pub(super) fn text(turn: &Turn<'_>) -> Option<String> {
    let extract = turn.find(|event| match event {
        Event::Extract(extract) => Some(extract),
        _ => None,
    })?;
    extract.program_in(&turn.reply()).map(str::to_owned)
}

pub(super) fn parts(turn: &Turn<'_>) -> Vec<Part> {
    let Some(text) = text(turn) else { return Vec::new() };
    let end = turn.find(|event| match event {
        Event::ProgramEnd(end) => Some(end),
        _ => None,
    });
    let error = end.and_then(|end| {
        let error = end.error.as_ref()?;
        Some((end.span?, format!("{}: {}", error.reason, error.message)))
    });
    let formatted = format::program(&text, COLUMNS).filter(|formatted| formatted.trim() != text.trim());
    let mut parts = vec![Part::new("program", Body::Program(text, error)).noted("as it was run")];
    parts.extend(formatted.map(|text| Part::new("formatted", Body::Program(text, None))));
    parts.extend(end.map(ending));
    if let Some(end) = end
        && !end.prints.is_empty()
    {
        parts.push(Part::new("prints", Body::Exact(end.prints.join("\n"))));
    }
    parts
}

fn ending(end: &ProgramEnd) -> Part {
    let mark = if matches!(end.status, ProgramStatus::Value | ProgramStatus::Return) { Mark::Good } else { Mark::Bad };
    if let (Some(value), None, true) = (&end.value, &end.error, end.warnings.is_empty()) {
        return Part::new(end.status.name(), Body::Text(value.text().to_owned())).marked(mark);
    }
    let mut lines = Vec::new();
    if let Some(error) = &end.error {
        lines.extend(Line::error(&error.reason, &error.message, error.hint.as_deref()));
    }
    if let Some(value) = &end.value {
        lines.extend(value.text().lines().map(|line| Line::new(Mark::Plain, line)));
    }
    lines.extend(end.warnings.iter().map(|warning| Line::new(Mark::Warn, format!("! {warning}"))));
    if end.interrupted {
        lines.push(Line::new(Mark::Dim, "it was stopped from outside: a replay does not run it again"));
    }
    Part::new(end.status.name(), Body::Lines(lines)).marked(mark)
}
