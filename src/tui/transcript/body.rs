//! The body of a card: a text or a value as rows, laid out again only where it changed, with branches that fold.
//!
//! In: what is shown, and which branches are folded. Out: rows, and which of them begin branches.

use ptc_core::value::{Json, json};

use super::layout::{Shown, What};
use super::outline::{Branch, Folded, Outline, Way};
use super::wrapped_text::WrappedText;
use crate::event::{Check, IssueRecord, IssueSeverity};
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::workbench::wording::describe_issue;

/// The rows of a body.
#[derive(Debug, Clone, Default)]
pub(super) struct Body {
    text: WrappedText,
    outline: Outline,
    /// Of a growing reply: its attempt, whether JSON is sought in it, its folded branches; `None` for content that does not grow.
    growing: Option<(u32, bool, Folded)>,
    /// Rows with something after their text, by their places.
    ending: Vec<(usize, Row)>,
}

impl Body {
    /// Lays out what changed.
    pub(super) fn update(&mut self, shown: &Shown<'_>, folded: &Folded) {
        self.ending.clear();
        let growing = match &shown.what {
            What::Text(_) => Some((shown.attempt, false, Folded::new())),
            What::Reply(..) => Some((shown.attempt, true, folded.clone())),
            What::Whole(_) | What::Value(..) => None,
        };
        if growing.is_none() || self.growing != growing {
            self.text.clear();
            self.outline = Outline::default();
        }
        self.growing = growing;
        match &shown.what {
            What::Text(text) | What::Whole(text) => self.text.update(text, shown.columns, shown.look),
            What::Reply(reply, partial, scope) => {
                if !self.outline.grow(reply, partial.json(), (*scope, folded), shown.columns) {
                    self.text.clear();
                }
                self.text.update(self.outline.text(), shown.columns, shown.look);
                if self.outline.is_unfinished() {
                    self.end(self.text.rows().len().checked_sub(1), Piece::literal(Role::Dim, "…"));
                }
            }
            What::Value(text, checks, scope) => match json::parse(text.trim()) {
                Ok(value) => {
                    let issues = placed(&value, checks);
                    let sought: Vec<&Json> = issues.iter().map(|(value, _)| *value).collect();
                    self.outline = Outline::whole(text, &value, (*scope, folded), &sought, shown.columns);
                    self.text.update(self.outline.text(), shown.columns, shown.look);
                    for (line, number) in self.outline.places().to_vec() {
                        self.end(self.text.end_of(line), issue_text(issues[number].1));
                    }
                }
                Err(_) => self.text.update(text, shown.columns, shown.look),
            },
        }
    }

    /// Puts a piece after a row.
    fn end(&mut self, row: Option<usize>, piece: Piece) {
        let Some((place, row)) = row.and_then(|place| Some((place, self.text.rows().get(place)?))) else { return };
        if let Some((_, row)) = self.ending.iter_mut().find(|(known, _)| *known == place) {
            row.left.push(piece);
            return;
        }
        let mut row = row.clone();
        row.left.push(piece);
        self.ending.push((place, row));
    }

    /// Returns the number of rows.
    pub(super) fn height(&self) -> usize {
        self.text.rows().len()
    }

    /// A row.
    pub(super) fn row(&self, at: usize) -> Option<&Row> {
        let ending = self.ending.iter().find(|(place, _)| *place == at).map(|(_, row)| row);
        ending.or_else(|| self.text.rows().get(at))
    }

    /// The branch that begins with a row.
    pub(super) fn branch_at(&self, row: usize) -> Option<&Branch> {
        let line = self.text.line_at(row).filter(|_| !self.outline.branches().is_empty())?;
        let branches = self.outline.branches();
        let found = branches.binary_search_by_key(&line, |branch| branch.line).ok()?;
        branches.get(found)
    }

    /// The branches that are shown.
    pub(super) fn branches(&self) -> &[Branch] {
        self.outline.branches()
    }

    /// The row with which a branch begins.
    pub(super) fn row_of(&self, way: &Way) -> Option<usize> {
        let branch = self.branches().iter().find(|branch| branch.way == *way)?;
        self.text.start_of(branch.line)
    }
}

/// The issues whose path leads to a value, each with that value.
fn placed<'a>(value: &'a Json, checks: &'a [Check]) -> Vec<(&'a Json, &'a IssueRecord)> {
    let issues = checks.iter().flat_map(|check| &check.issues).filter(|issue| !issue.path.is_empty());
    issues.filter_map(|issue| Some((value.at(&issue.path)?, issue))).collect()
}

fn issue_text(issue: &IssueRecord) -> Piece {
    let (role, mark) = if issue.severity == IssueSeverity::Warning { (Role::Warn, "!") } else { (Role::Bad, "✗") };
    Piece::new(role, &format!("  {mark} {}", describe_issue(issue)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::CheckLayer;
    use crate::tui::colours::Language;
    use crate::tui::transcript::outline::Scope;
    use crate::tui::transcript::wrapped_text::Look;

    fn rows(text: &str, path: &str, folded: &Folded) -> Vec<String> {
        let issue = IssueRecord {
            path: path.to_owned(),
            severity: IssueSeverity::Error,
            expected: "float".to_owned(),
            got: "string".to_owned(),
            message: "expected float, got string".to_owned(),
        };
        let checks = [Check { layer: CheckLayer::Return, ok: false, issues: vec![issue] }];
        let what = What::Value(text.to_owned(), &checks, Scope::All);
        let mut body = Body::default();
        body.update(&Shown { what, columns: 60, look: Look::Rich(Language::Json), attempt: 1 }, folded);
        (0..body.height()).filter_map(|row| body.row(row)).map(Row::plain).collect()
    }

    #[test]
    fn an_issue_is_on_the_line_of_its_value_or_of_the_branch_that_hides_it() {
        let text = r#"{"items": [{"price": 1.5}, {"price": "two"}]}"#;
        let marked = |folded: &Folded| {
            let all = rows(text, "items.1.price", folded);
            all.into_iter().filter(|row| row.contains('✗')).collect::<Vec<_>>()
        };
        assert_eq!(marked(&Folded::new()), [r#"      "price": "two"  ✗ expected float, got string"#]);
        assert_eq!(marked(&Folded::from([vec![0]])), [r#"  "items": [… 2 items]  ✗ expected float, got string"#]);
        assert_eq!(rows(text, "missing", &Folded::new()), [text], "what is not there has no place");
    }
}
