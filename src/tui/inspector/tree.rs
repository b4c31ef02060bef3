//! A JSON value as a tree of lines that fold.

use std::collections::HashSet;

use ptc_core::value::Json;
use ptc_core::value::json::Node;

use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::workbench::format::plural;
use crate::workbench::inspect::Finding;

/// Lines that are shown at most.
const MOST_LINES: usize = 20_000;
/// Branches below this depth with more parts are folded at first.
const OPEN_DEPTH: usize = 2;
const OPEN_PARTS: usize = 12;

/// A line of a tree.
#[derive(Debug, Clone)]
pub(super) struct TreeLine {
    /// Path such as `items.2.price`; empty = the root.
    pub(super) path: String,
    pub(super) row: Row,
    /// True if it is folded; `None` for a line without a branch.
    pub(super) folded: Option<bool>,
}

/// The lines of a value. `toggled`: paths whose fold is not as it is at first.
pub(super) fn lines(json: &Json, findings: &[Finding], toggled: &HashSet<String>) -> Vec<TreeLine> {
    let mut tree = Tree { findings, toggled, lines: Vec::new() };
    tree.branch("", None, json, 0);
    tree.lines
}

/// Returns whether a branch is folded.
pub(super) fn is_folded(parts: usize, depth: usize, path: &str, toggled: &HashSet<String>) -> bool {
    (depth >= OPEN_DEPTH && parts > OPEN_PARTS) != toggled.contains(path)
}

fn finding_pieces(finding: &Finding) -> [Piece; 2] {
    let (role, mark) = if finding.error { (Role::Bad, "  ✗ ") } else { (Role::Warn, "  ! ") };
    [Piece::literal(role, mark), Piece::new(role, &finding.text)]
}

struct Tree<'a> {
    findings: &'a [Finding],
    toggled: &'a HashSet<String>,
    lines: Vec<TreeLine>,
}

impl Tree<'_> {
    fn branch(&mut self, path: &str, name: Option<&str>, json: &Json, depth: usize) {
        if self.lines.len() >= MOST_LINES {
            if self.lines.len() == MOST_LINES {
                let row = Row::new([Piece::literal(Role::Dim, "… more: copy it to see all")]);
                self.lines.push(TreeLine { path: "\u{0}".to_owned(), row, folded: None });
            }
            return;
        }
        let parts = match &json.node {
            Node::List(items) => Some((items.len(), "item", ['[', ']'])),
            Node::Object(members) => Some((members.len(), "field", ['{', '}'])),
            _ => None,
        };
        let parts = parts.filter(|(count, ..)| *count > 0);
        let folded = parts.is_some_and(|(count, ..)| is_folded(count, depth, path, self.toggled));
        let mark = match (parts, folded) {
            (None, _) => "  ",
            (Some(_), true) => "▸ ",
            (Some(_), false) => "▾ ",
        };
        let mut pieces = vec![Piece::new(Role::Text, &"  ".repeat(depth)), Piece::literal(Role::Accent, mark)];
        if let Some(name) = name {
            pieces.push(Piece::new(Role::JsonKey, name));
            pieces.push(Piece::literal(Role::Text, "  "));
        }
        match parts {
            Some((count, noun, [open, close])) => {
                let text = format!("{open}{}{close}", plural(count as u64, noun));
                pieces.push(Piece::new(Role::Dim, &text));
            }
            None => pieces.push(Piece::new(role(json), &json.to_text())),
        }
        let own = self.findings.iter().filter(|finding| finding.path == path);
        pieces.extend(own.flat_map(finding_pieces));
        self.lines.push(TreeLine { path: path.to_owned(), row: Row::new(pieces), folded: parts.map(|_| folded) });
        if folded {
            return;
        }
        let below = |part: &str| if path.is_empty() { part.to_owned() } else { format!("{path}.{part}") };
        match &json.node {
            Node::List(items) => {
                for (number, item) in items.iter().enumerate() {
                    let number = number.to_string();
                    self.branch(&below(&number), Some(&number), item, depth + 1);
                }
            }
            Node::Object(members) => {
                for member in members {
                    self.branch(&below(&member.key), Some(&member.key), &member.value, depth + 1);
                }
                self.missing(json, path, depth + 1);
            }
            _ => {}
        }
    }
}

impl Tree<'_> {
    /// Adds a line for each finding about a field that an object lacks.
    fn missing(&mut self, json: &Json, path: &str, depth: usize) {
        for finding in self.findings {
            let (parent, name) = finding.path.rsplit_once('.').unwrap_or(("", &finding.path));
            if parent == path && !name.is_empty() && json.get(name).is_none() {
                let blanks = "  ".repeat(depth + 1);
                let name = [Piece::new(Role::Text, &blanks), Piece::new(Role::JsonKey, name)];
                let row = Row::new(name.into_iter().chain(finding_pieces(finding)));
                self.lines.push(TreeLine { path: finding.path.clone(), row, folded: None });
            }
        }
    }
}

fn role(json: &Json) -> Role {
    match &json.node {
        Node::Str(_) => Role::JsonString,
        Node::List(_) | Node::Object(_) => Role::Dim,
        _ => Role::JsonNumber,
    }
}
