//! Previews: a session in the list (its task, search hits, notes), and what the draft would send first.

use ptc_core::text::SafeText;
use ptc_core::text::width::wrap;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::line_of;
use crate::session::Summary;
use crate::session::index::{Field, SearchMatch};
use crate::tui::colours::Language;
use crate::tui::inspector::lines;
use crate::tui::model::{Against, Model};
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::tui::transcript::format::{count, plural};
use crate::tui::transcript::wrapped_text::{Look, WrappedText};

pub(super) fn draw(model: &Model, session: &Summary, area: Rect, buffer: &mut Buffer) {
    for (line, row) in rows(model, session, area).iter().take(usize::from(area.height)).enumerate() {
        row.draw(line_of(area, line), buffer, model.theme);
    }
}

fn rows(model: &Model, session: &Summary, area: Rect) -> Vec<Row> {
    let example = if session.example { "  an example of the program" } else { "" };
    let from = session.parent.as_ref().map(|origin| format!("  {} of {}", origin.kind.name(), origin.session));
    let first = format!(" {}{example}{}", session.id, from.unwrap_or_default());
    let mut rows = vec![Row::new([Piece::new(Role::Dim, &first)])];
    if let Some(note) = model.sessions.marks.get(&session.id, None).and_then(|mark| mark.note.as_deref()) {
        rows.push(Row::new([Piece::literal(Role::Accent, " note  "), Piece::new(Role::Text, note)]));
    }
    if let Some(label) = model.sessions.marks.label_of(&session.id) {
        rows.push(Row::new([Piece::literal(Role::Accent, " label "), Piece::new(Role::Text, &label.to_string())]));
    }
    let hit = model.sessions.hit(&session.key()).filter(|hit| !hit.matches.is_empty());
    if let Some(hit) = hit {
        rows.extend(hit.matches.iter().map(found));
        return rows;
    }
    let text = session.damage.as_deref().unwrap_or(&session.task);
    let safe = SafeText::multi_line(text);
    let columns = usize::from(area.width.saturating_sub(2)).max(1);
    // Few rows are seen: blank lines are left out.
    let lines = safe.lines().filter(|line| !line.as_str().trim().is_empty());
    for line in lines.take(usize::from(area.height)) {
        let ranges = wrap(&line, columns);
        rows.extend(ranges.into_iter().map(|range| Row::new([Piece::safe(Role::Text, line.slice(range))]).indented(1)));
    }
    rows
}

/// Positions of the words of a query.
fn found(matched: &SearchMatch) -> Row {
    let place = Piece::new(Role::Dim, &format!(" {:<9} {:<8} ", matched.at.as_str(), matched.field.name()));
    let mut row = Row::new([place]);
    row.left.extend(highlighted(matched));
    row
}

/// The excerpt in three pieces: before, the words, after.
fn highlighted(matched: &SearchMatch) -> [Piece; 3] {
    let part = |range: std::ops::Range<usize>| matched.excerpt.get(range).unwrap_or_default();
    let (start, end) = matched.highlight;
    [
        Piece::new(Role::Text, part(0..start)),
        Piece::new(Role::WarnPlace, part(start..end)),
        Piece::new(Role::Text, part(end..matched.excerpt.len())),
    ]
}

/// The first match instead of the result, and how many there are.
pub(super) fn excerpt(first: &SearchMatch, count: usize) -> Vec<Piece> {
    let number = if count > 1 { format!("×{count} ") } else { String::new() };
    let kind = if first.field == Field::Error { "✗ ".to_owned() } else { format!("{}: ", first.field.name()) };
    let mut pieces = vec![Piece::new(Role::Dim, &format!("{number}{kind}"))];
    pieces.extend(highlighted(first));
    pieces
}

/// Tags, marks and notes, for the rule above.
pub(super) fn marks(model: &Model, session: &Summary) -> Vec<Piece> {
    let all = &model.sessions.marks;
    let below = all.of_session(&session.id).filter(|(at, _)| at.is_some()).count();
    let mark = all.get(&session.id, None);
    let mut parts: Vec<String> = mark.into_iter().flat_map(|mark| &mark.tags).map(|tag| format!("#{tag}")).collect();
    if mark.is_some_and(|mark| mark.marked) {
        parts.push("* marked".to_owned());
    }
    if below > 0 {
        parts.push(plural(below as u64, "turn") + " with notes");
    }
    if parts.is_empty() { Vec::new() } else { vec![Piece::new(Role::Accent, &parts.join("  "))] }
}

/// The title of the box.
pub(super) fn opening_title(model: &Model, against: Option<&Against>) -> String {
    let sent: u64 = model.workbench.preview.sent.iter().map(|piece| piece.tokens).sum();
    let more = match against {
        Some(against) => format!(" · against mode {}: - there, + here", against.mode),
        None if sent == 0 => String::new(),
        None => format!(" · about {}", plural(sent, "token")),
    };
    format!("Preview of the request{more}")
}

/// The rows of the first request of the draft, or of its difference to that of another mode.
pub(super) fn opening_rows(model: &Model, against: Option<&Against>, columns: usize) -> Vec<Row> {
    let preview = &model.workbench.preview;
    let text = |text: &str| WrappedText::of(text, columns, Look::Rich(Language::Plain));
    let Some(against) = against else {
        if preview.sent.is_empty() {
            let findings = model.workbench.diagnostics.iter().map(|finding| format!("✗ {}", finding.message));
            let findings = findings.collect::<Vec<_>>().join("\n");
            return part("the draft has errors: no request yet", text(&findings)).collect();
        }
        let limits = preview.limits.iter().flat_map(|limit| part("! worth knowing", text(limit)));
        let sent = preview.sent.iter().flat_map(|piece| {
            let language = if piece.is_json { Language::Json } else { Language::Plain };
            let heading = format!("{} · about {} tok", piece.title, count(piece.tokens));
            part(&heading, WrappedText::of(&piece.text, columns, Look::Rich(language)))
        });
        return limits.chain(sent).skip(1).collect();
    };
    match &against.held {
        None => vec![Row::new([Piece::literal(Role::Dim, "making it …")])],
        Some(Err(why)) => {
            let heading = format!("the draft has errors in mode {}: no request", against.mode);
            part(&heading, text(why)).skip(1).collect()
        }
        Some(Ok(held)) => held.iter().flat_map(|(heading, all)| part(heading, lines(all, columns))).skip(1).collect(),
    }
}

/// A heading and its text, after an empty row.
fn part(heading: &str, rows: Vec<Row>) -> impl Iterator<Item = Row> + use<> {
    [Row::default(), Row::new([Piece::new(Role::Accent, heading)])].into_iter().chain(rows)
}
