//! The extraction from the reply: rule, repairs, value, and errors with their positions.

use ptc_core::text::cut;
use ptc_core::value::json;
use similar::{ChangeTag, TextDiff};

use super::{Body, Finding, Line, Mark, Part, Turn};
use crate::event::{Event, Extract, ExtractKind, IssueSeverity, TextRecord};
use crate::workbench::format::{count, plural};
use crate::workbench::wording::{Excerpt, describe_issue};

pub(super) fn parts(turn: &Turn<'_>) -> Vec<Part> {
    let extract = turn.find(|event| match event {
        Event::Extract(extract) => Some(extract),
        _ => None,
    });
    let reply = turn.reply();
    let findings = findings(turn);
    let mut parts = Vec::new();
    if let Some(extract) = extract {
        let (note, mark) = match &extract.error {
            Some(error) => (format!("✗ {}", error.reason), Mark::Bad),
            None => (extract.rule.clone().unwrap_or_default(), Mark::Plain),
        };
        parts.push(Part::new("report", Body::Lines(report(extract, &reply))).noted(note).marked(mark));
        let raw = extract.span.and_then(|(from, to)| reply.get(from..to)).unwrap_or(&reply);
        let read = extract.repaired.as_ref().map_or(raw, TextRecord::text);
        if extract.repaired.is_some() && !raw.is_empty() {
            let heads = ["reply as received".to_owned(), "reply as repaired".to_owned()];
            // A repaired value is recorded on one line; it is laid out so that it aligns with the lines of the reply.
            let laid = (!read.contains('\n') && raw.contains('\n')).then(|| json::parse(read).ok()).flatten();
            let shown = laid.map_or_else(|| read.to_owned(), |value| value.to_pretty());
            let note = plural(extract.fixes.len() as u64, "repair");
            parts.push(Part::new("repairs", Body::Sides(heads, sides(raw, &shown))).noted(note));
        }
        if extract.kind != ExtractKind::Program
            && let Ok(value) = json::parse(read.trim())
        {
            let wrong = findings.iter().filter(|finding| finding.error).count();
            let note = if wrong > 0 { format!("✗ {}", plural(wrong as u64, "error")) } else { String::new() };
            parts.push(Part::new("value", Body::Tree(value, findings.clone())).noted(note));
        }
    }
    parts.extend(checks(turn));
    parts
}

/// Returns the issues of all checks, each with its path.
fn findings(turn: &Turn<'_>) -> Vec<Finding> {
    let checks = turn.events.iter().filter_map(|envelope| match &envelope.event {
        Event::Check(check) => Some(check),
        _ => None,
    });
    checks
        .flat_map(|check| &check.issues)
        .map(|issue| Finding {
            path: issue.path.clone(),
            text: describe_issue(issue),
            error: issue.severity == IssueSeverity::Error,
        })
        .collect()
}

fn checks(turn: &Turn<'_>) -> Option<Part> {
    let mut lines = Vec::new();
    let (mut ok, mut any) = (true, false);
    for envelope in &turn.events {
        let Event::Check(check) = &envelope.event else { continue };
        any = true;
        ok &= check.ok;
        let (mark, sign) = if check.ok { (Mark::Good, "✓") } else { (Mark::Bad, "✗") };
        lines.push(Line::new(mark, format!("{sign} {}", check.layer)));
        for issue in &check.issues {
            let (mark, sign) =
                if issue.severity == IssueSeverity::Error { (Mark::Bad, "✗") } else { (Mark::Warn, "!") };
            let path = if issue.path.is_empty() { "(root)" } else { &issue.path };
            lines.push(Line::new(mark, format!("  {sign} {path}  {}", issue.message)));
        }
    }
    let mark = if ok { Mark::Plain } else { Mark::Bad };
    let note = if ok { "✓" } else { "✗" };
    any.then(|| Part::new("checks", Body::Lines(lines)).noted(note).marked(mark))
}

fn report(extract: &Extract, reply: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut say = |name: &str, value: String| lines.push(Line::new(Mark::Plain, format!("{name:<12} {value}")));
    say("looked for", extract.kind.to_string());
    say("rule", extract.rule.clone().unwrap_or_else(|| "– no rule found anything".to_owned()));
    say("candidates", count(extract.candidates.into()));
    if let Some((from, to)) = extract.span {
        say("bytes", format!("{}–{} of {}", count(from as u64), count(to as u64), count(reply.len() as u64)));
    }
    say("repairs", if extract.fixes.is_empty() { "none".to_owned() } else { count(extract.fixes.len() as u64) });
    for (name, from, to) in &extract.fixes {
        let was = reply.get(*from..*to).unwrap_or_default();
        lines.push(Line::new(Mark::Warn, format!("  ~ {name:<24} byte {}  {}", count(*from as u64), cut(was, 60))));
    }
    if let Some(error) = &extract.error {
        lines.extend(Line::error(&error.reason, &error.message, error.hint.as_deref()));
    }
    if let Some(excerpt) = extract.error_at.and_then(|at| Excerpt::of(reply, (at, at))) {
        let Excerpt { place, before, marked, after } = excerpt;
        lines.push(Line::new(Mark::Plain, format!("  line {}, column {}", place.line, place.column)));
        lines.push(Line::new(Mark::Plain, format!("  {before}{marked}{after}")));
        let blanks = " ".repeat(ptc_core::text::width::width(&before));
        lines.push(Line::new(Mark::Bad, format!("  {blanks}^")));
    }
    lines
}

/// Pairs two texts line by line; changed lines are paired too.
fn sides(left: &str, right: &str) -> Vec<[Option<String>; 2]> {
    let (left, right): (Vec<&str>, Vec<&str>) = (left.lines().collect(), right.lines().collect());
    let diff = TextDiff::configure().timeout(std::time::Duration::from_millis(500)).diff_slices(&left, &right);
    let mut rows: Vec<[Option<String>; 2]> = Vec::new();
    // Index of the first changed row whose right side is missing.
    let mut open = 0;
    for change in diff.iter_all_changes() {
        let text = change.value().to_owned();
        match change.tag() {
            ChangeTag::Equal => {
                rows.push([Some(text.clone()), Some(text)]);
                open = rows.len();
            }
            ChangeTag::Delete => rows.push([Some(text), None]),
            ChangeTag::Insert => {
                if let Some(row) = rows.get_mut(open) {
                    row[1] = Some(text);
                    open += 1;
                } else {
                    rows.push([None, Some(text)]);
                    open = rows.len();
                }
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_differ_are_paired() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            sides("{\n  'a': 1,\n}", "{\n  \"a\": 1\n}"),
            [[some("{"), some("{")], [some("  'a': 1,"), some("  \"a\": 1")], [some("}"), some("}")]]
        );
        assert_eq!(sides("a", "a\nb").last(), Some(&[None, some("b")]));
    }
}
