//! The difference of two texts by lines. Lines are compared without their line ends: a last line without one is equal to the same line with
//! one.
//!
//! In: two texts. Out: the changed lines, and texts with some of the changes. Equal lines keep the line ends of the old text. Pure.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};

/// Two texts by lines, and what leads from one to the other.
#[derive(Debug)]
pub struct LineDiff<'t> {
    old: &'t str,
    new: &'t str,
    /// Lines of the old text, each with its line end.
    old_lines: Vec<&'t str>,
    new_lines: Vec<&'t str>,
    ops: Vec<DiffOp>,
}

/// A change: lines of the old text that lines of the new one replace. One of both may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineChange {
    /// Places of the lines in the old text, from 0.
    pub old: Range<usize>,
    /// Places of the lines in the new text, from 0.
    pub new: Range<usize>,
}

/// A line without its line end.
fn without_end(line: &str) -> &str {
    line.trim_end_matches(['\n', '\r'])
}

impl<'t> LineDiff<'t> {
    /// Compares two texts.
    pub fn of(old: &'t str, new: &'t str) -> Self {
        let lines = |text: &'t str| -> (Vec<&'t str>, Vec<&'t str>) {
            text.split_inclusive('\n').map(|line| (line, without_end(line))).unzip()
        };
        let ((old_lines, old_bare), (new_lines, new_bare)) = (lines(old), lines(new));
        let ops = capture_diff_slices(Algorithm::Myers, &old_bare, &new_bare);
        Self { old, new, old_lines, new_lines, ops }
    }

    /// The changes in order.
    pub fn changes(&self) -> impl Iterator<Item = LineChange> {
        self.ops.iter().filter_map(change)
    }

    /// The changes with `context` unchanged lines around each; adjacent ones are merged.
    pub fn groups(&self, context: usize) -> Vec<LineGroup> {
        let group = |ops: Vec<DiffOp>| LineGroup {
            first: ops.first().map_or(0, |op| op.old_range().start),
            lines: ops.iter().flat_map(|op| self.signed(op)).collect(),
            changes: ops.iter().filter_map(change).collect(),
        };
        group_diff_ops(self.ops.clone(), context).into_iter().map(group).collect()
    }

    /// The lines of a change without line ends, each after `-` or `+`.
    pub fn signed_lines(&self, change: &LineChange) -> impl Iterator<Item = String> {
        let with = |sign: char| move |line: &&str| format!("{sign}{}", without_end(line));
        let (old, new) = (self.old_lines.get(change.old.clone()), self.new_lines.get(change.new.clone()));
        old.unwrap_or_default().iter().map(with('-')).chain(new.unwrap_or_default().iter().map(with('+')))
    }

    fn signed(&self, op: &DiffOp) -> Vec<String> {
        if let Some(change) = change(op) {
            return self.signed_lines(&change).collect();
        }
        let lines = self.old_lines.get(op.old_range()).unwrap_or_default();
        lines.iter().map(|line| format!(" {}", without_end(line))).collect()
    }

    /// The bytes of the old text that a change replaces, and their replacement. Applied from the last to the first, all changes give the
    /// new text, except for line ends of equal lines.
    pub fn replacement(&self, change: &LineChange) -> (Range<usize>, String) {
        let byte = |line: usize| self.old_lines.iter().take(line).map(|line| line.len()).sum();
        let (mut start, end): (usize, usize) = (byte(change.old.start), byte(change.old.end));
        let mut text = self.new_lines.get(change.new.clone()).unwrap_or_default().concat();
        let before = self.old.get(..start).unwrap_or_default();
        if text.is_empty() && change.old.end == self.old_lines.len() && !self.new.ends_with('\n') {
            start = without_end(before).len();
        } else if !text.is_empty() && !before.is_empty() && !before.ends_with('\n') {
            text.insert(0, '\n');
        }
        (start..end, text)
    }

    /// The old text with the changes that are taken.
    pub fn with(&self, mut is_taken: impl FnMut(&LineChange) -> bool) -> String {
        let mut text = self.old.to_owned();
        for change in self.changes().collect::<Vec<_>>().iter().rev().filter(|change| is_taken(change)) {
            let (range, replacement) = self.replacement(change);
            text.replace_range(range, &replacement);
        }
        text
    }
}

/// Changes with unchanged lines around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineGroup {
    /// The place of its first line in the old text, from 0.
    pub first: usize,
    /// Its lines without line ends, each after ` `, `-` or `+`.
    pub lines: Vec<String>,
    /// Its changes.
    pub changes: Vec<LineChange>,
}

fn change(op: &DiffOp) -> Option<LineChange> {
    let is_equal = matches!(op, DiffOp::Equal { .. });
    (!is_equal).then(|| LineChange { old: op.old_range(), new: op.new_range() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signed(old: &str, new: &str) -> Vec<String> {
        LineDiff::of(old, new).groups(1).into_iter().flat_map(|group| group.lines).collect()
    }

    #[test]
    fn a_line_without_a_line_end_is_equal_to_the_same_line_with_one() {
        assert_eq!(signed("a\nb", "a\nb\nc"), [" b", "+c"]);
        assert_eq!(signed("a\nb\nc", "a\nb"), [" b", "-c"]);
        assert_eq!(signed("a\nb\n", "a\nb"), [""; 0]);
        assert_eq!(signed("a\r\nb\r\n", "a\nx\n"), [" a", "-b", "+x"]);
        assert_eq!(signed("", "a"), ["+a"]);
    }

    #[test]
    fn no_change_gives_the_old_text_and_all_changes_the_new_one() {
        let texts =
            ["", "a", "b", "a\n", "a\nb", "a\nb\n", "b\na", "a\nb\nc", "a\nb\nc\n", "x\na\nc\nd", "a\n\n", "\n"];
        for (old, new) in texts.iter().flat_map(|old| texts.iter().map(move |new| (*old, *new))) {
            let diff = LineDiff::of(old, new);
            assert_eq!(diff.with(|_| false), old);
            let made = diff.with(|_| true);
            assert!(made.lines().eq(new.lines()), "{old:?} to {new:?}: {made:?}");
            let ends_equally = diff.changes().last().is_none_or(|last| last.old.end < diff.old_lines.len());
            assert!(ends_equally || made == new, "{old:?} to {new:?}: {made:?}");
        }
    }

    #[test]
    fn equal_lines_keep_their_line_ends() {
        assert_eq!(LineDiff::of("a\r\nb\r\nc", "a\nX\nc\n").with(|_| true), "a\r\nX\nc");
    }
}
