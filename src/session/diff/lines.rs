//! Line diff of two texts with some unchanged lines around each change.

use serde::Serialize;
use similar::{ChangeTag, TextDiff};

/// Unchanged lines printed around a change.
const CONTEXT_LINES: usize = 2;
/// For texts with more lines in total, the changed part is one block: computing the smallest diff may take long.
const MAX_LINES: usize = 20_000;

/// A line of a diff; gaps in the numbers show omitted lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiffLine {
    /// Its number on the left, from 1; `None` when it was added.
    pub left: Option<usize>,
    /// Its number on the right, from 1; `None` when it was removed.
    pub right: Option<usize>,
    /// The line without its line end.
    pub text: String,
}

impl DiffLine {
    /// Returns `-` for removed, `+` for added and a space for unchanged lines.
    pub fn sign(&self) -> char {
        match (self.left, self.right) {
            (Some(_), None) => '-',
            (None, Some(_)) => '+',
            _ => ' ',
        }
    }

    /// Returns whether only one side has the line.
    pub fn is_change(&self) -> bool {
        self.left.is_none() || self.right.is_none()
    }
}

/// Returns the changed lines of two texts, each with at most two unchanged lines before and after it; empty when the
/// texts differ only in line ends.
pub fn diff_lines(left: &str, right: &str) -> Vec<DiffLine> {
    if left == right {
        return Vec::new();
    }
    let all =
        if left.lines().count() + right.lines().count() > MAX_LINES { coarse(left, right) } else { fine(left, right) };
    let changed: Vec<usize> = all.iter().enumerate().filter(|(_, line)| line.is_change()).map(|(at, _)| at).collect();
    let is_near = |at: usize| {
        let next = changed.partition_point(|change| *change < at);
        let near = |line: Option<&usize>| line.is_some_and(|change| change.abs_diff(at) <= CONTEXT_LINES);
        near(changed.get(next)) || near(next.checked_sub(1).and_then(|before| changed.get(before)))
    };
    let keep: Vec<bool> = (0..all.len()).map(is_near).collect();
    all.into_iter().zip(keep).filter_map(|(line, keep)| keep.then_some(line)).collect()
}

fn fine(left: &str, right: &str) -> Vec<DiffLine> {
    let (one, other): (Vec<&str>, Vec<&str>) = (left.lines().collect(), right.lines().collect());
    let diff = TextDiff::from_slices(&one, &other);
    let line = |change: similar::Change<&str>| DiffLine {
        left: change.old_index().filter(|_| change.tag() != ChangeTag::Insert).map(|at| at + 1),
        right: change.new_index().filter(|_| change.tag() != ChangeTag::Delete).map(|at| at + 1),
        text: change.value().to_owned(),
    };
    diff.iter_all_changes().map(line).collect()
}

/// Treats everything between the common start and end as removed and added.
fn coarse(left: &str, right: &str) -> Vec<DiffLine> {
    let (one, other): (Vec<&str>, Vec<&str>) = (left.lines().collect(), right.lines().collect());
    let most = one.len().min(other.len());
    let start = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    let end = (1..=most - start).take_while(|back| one[one.len() - back] == other[other.len() - back]).count();
    let line = |left: Option<usize>, right: Option<usize>, text: &str| DiffLine {
        left: left.map(|at| at + 1),
        right: right.map(|at| at + 1),
        text: text.to_owned(),
    };
    let before = (0..start).map(|at| line(Some(at), Some(at), one[at]));
    let removed = (start..one.len() - end).map(|at| line(Some(at), None, one[at]));
    let added = (start..other.len() - end).map(|at| line(None, Some(at), other[at]));
    let after = (0..end).map(|back| {
        let (i, j) = (one.len() - end + back, other.len() - end + back);
        line(Some(i), Some(j), one[i])
    });
    before.chain(removed).chain(added).chain(after).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format_diff(left: &str, right: &str) -> String {
        let number = |at: Option<usize>| at.map_or_else(|| "·".to_owned(), |at| at.to_string());
        let lines = diff_lines(left, right);
        let line = |line: &DiffLine| format!("{}{}{}{}", line.sign(), number(line.left), number(line.right), line.text);
        lines.iter().map(line).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_change_has_two_context_lines() {
        assert_eq!(format_diff("a\nb\nc\nd\ne\nf\ng", "a\nb\nc\nX\ne\nf\ng"), " 22b  33c -4·d +·4X  55e  66f");
        assert_eq!(format_diff("a", "a\nb"), " 11a +·2b");
        assert_eq!(format_diff("", "b"), "+·1b");
        assert_eq!(format_diff("a\r\nb\n", "a\nb"), "");
    }

    #[test]
    fn very_long_texts_are_compared_as_one_block() {
        let text = |changed: usize| {
            (0..15_000).map(|n| if n == changed { "X\n".to_owned() } else { format!("{n}\n") }).collect::<String>()
        };
        let lines = diff_lines(&text(7), &text(9));
        let changed: Vec<&str> = lines.iter().filter(|line| line.is_change()).map(|line| line.text.as_str()).collect();
        assert_eq!(changed, ["X", "8", "9", "7", "8", "X"]);
    }
}
