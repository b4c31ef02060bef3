//! The difference of two versions of an agent file as hunks, of which some are taken.
//!
//! In: both texts. Out: the hunks, and the text with those that are accepted. Pure functions.

use similar::{ChangeTag, TextDiff};

/// Unchanged lines around the changes of a hunk.
const CONTEXT: usize = 3;

/// A part of the difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// Its first line in the old text, from 1.
    pub line: usize,
    /// Its lines: ` `, `-` or `+`, then the text without its line end.
    pub lines: Vec<String>,
}

/// The hunks between two texts, in order.
pub fn hunks(old: &str, new: &str) -> Vec<Hunk> {
    let diff = TextDiff::from_lines(old, new);
    let hunk = |ops: &Vec<similar::DiffOp>| Hunk {
        line: ops.first().map_or(1, |op| op.old_range().start + 1),
        lines: ops
            .iter()
            .flat_map(|op| diff.iter_changes(op))
            .map(|change| {
                let sign = match change.tag() {
                    ChangeTag::Equal => ' ',
                    ChangeTag::Delete => '-',
                    ChangeTag::Insert => '+',
                };
                format!("{sign}{}", change.value().trim_end_matches(['\n', '\r']))
            })
            .collect(),
    };
    diff.grouped_ops(CONTEXT).iter().map(hunk).collect()
}

/// The old text with the accepted hunks, by their place among [`hunks`].
pub fn applied(old: &str, new: &str, accepted: &[bool]) -> String {
    let diff = TextDiff::from_lines(old, new);
    let groups = diff.grouped_ops(CONTEXT);
    let is_refused = |op: &similar::DiffOp| {
        let place = groups.iter().position(|group| group.contains(op));
        place.is_some_and(|place| !accepted.get(place).copied().unwrap_or(false))
    };
    let mut text = String::with_capacity(new.len());
    for op in diff.ops() {
        let left_out = if is_refused(op) { ChangeTag::Insert } else { ChangeTag::Delete };
        let changes = diff.iter_changes(op).filter(|change| change.tag() != left_out);
        changes.for_each(|change| text.push_str(change.value()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hunk_is_taken_or_left() {
        let lines = |changed: &[usize]| -> String {
            (0..40)
                .map(|line| if changed.contains(&line) { format!("new {line}\n") } else { format!("{line}\n") })
                .collect()
        };
        let (old, new) = (lines(&[]), lines(&[2, 30]));
        let found = hunks(&old, &new);
        assert_eq!(found.len(), 2);
        assert!(found[0].lines.contains(&"-2".to_owned()) && found[0].lines.contains(&"+new 2".to_owned()));
        for accepted in [[false, false], [true, false], [false, true], [true, true]] {
            let taken: Vec<usize> =
                [2, 30].into_iter().zip(accepted).filter(|(_, one)| *one).map(|(line, _)| line).collect();
            assert_eq!(applied(&old, &new, &accepted), lines(&taken));
        }
    }
}
