//! JSON with what does not fit in it, each beside the value that it concerns.

use ptc_core::value::{Json, json};

use crate::event::{Check, IssueRecord};
use crate::tui::colours::Language;
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::tui::transcript::wrapped::{Look, Wrapped};

/// The rows of a JSON text, one member a line, with its issues; `None` when none of them has a value there.
pub(super) fn rows(text: &str, checks: &[Check], columns: usize) -> Option<Vec<Row>> {
    let pretty = json::parse(text).ok()?.to_pretty();
    let tree = json::parse(&pretty).ok()?;
    let lines: Vec<(usize, &IssueRecord)> = checks
        .iter()
        .flat_map(|check| &check.issues)
        .filter_map(|issue| Some((line_of(&tree, &pretty, issue)?, issue)))
        .collect();
    if lines.is_empty() {
        return None;
    }
    let look = Look::Rich(Language::Json);
    let mut out = Vec::new();
    for (line, text) in pretty.lines().enumerate() {
        let mut rows = Wrapped::of(text, columns, look);
        for (_, issue) in lines.iter().filter(|(at, _)| *at == line) {
            if let Some(last) = rows.last_mut() {
                last.left.push(said(issue));
            }
        }
        out.extend(rows);
    }
    Some(out)
}

/// The line on which the value of an issue begins.
fn line_of(tree: &Json, pretty: &str, issue: &IssueRecord) -> Option<usize> {
    let value = tree.at(&issue.path).filter(|_| !issue.path.is_empty())?;
    Some(pretty.get(..value.span.start)?.matches('\n').count())
}

fn said(issue: &IssueRecord) -> Piece {
    let (role, mark) = if issue.severity == "warning" { (Role::Warn, "!") } else { (Role::Bad, "✗") };
    let text = match (issue.expected.as_str(), issue.got.as_str()) {
        ("", _) | (_, "") => issue.message.clone(),
        (expected, got) => format!("expected {expected}, got {got}"),
    };
    Piece::new(role, &format!("  {mark} {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issue_stands_on_the_line_of_its_value() {
        let issue = |path: &str| IssueRecord {
            path: path.to_owned(),
            severity: "error".to_owned(),
            expected: "float".to_owned(),
            got: "string".to_owned(),
            message: String::new(),
        };
        let checks = |path| [Check { layer: "return".to_owned(), ok: false, issues: vec![issue(path)] }];
        let text = r#"{"items": [{"price": 1.5}, {"price": "two"}]}"#;
        let shown = rows(text, &checks("items.1.price"), 60).unwrap_or_default();
        let marked: Vec<String> = shown.iter().map(Row::plain).filter(|row| row.contains('✗')).collect();
        assert_eq!(marked.len(), 1);
        assert!(marked[0].contains("two") && marked[0].ends_with("✗ expected float, got string"), "{marked:?}");
        assert_eq!(rows(text, &checks("missing"), 60), None, "what is not there has no place");
    }
}
