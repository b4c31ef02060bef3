//! The difference between two bodies, for users.
//!
//! In: the normal text of a recorded body and of a requested one. Out: their changed lines, cut to what differs. It must never show more than a
//! screen.

use similar::{ChangeTag, TextDiff};

use crate::workbench::format::plural;

/// Lines of a diff that are shown.
const LINES: usize = 60;

/// Characters that are shown on each side of a difference within a line.
const AROUND: usize = 60;

/// Characters that are shown of the difference itself.
const DIFFERING: usize = 120;

/// Longest name of a member that is shown before a line that is cut, in characters.
const NAME: usize = 40;

/// The lines that differ; `None` if the texts are equal.
pub(super) fn changed_lines(recorded: &str, requested: &str) -> Option<String> {
    let diff = TextDiff::from_lines(recorded, requested);
    let mut lines = Vec::new();
    let (mut deleted, mut inserted) = (Vec::new(), Vec::new());
    for change in diff.iter_all_changes() {
        let line = change.value().trim_end();
        match change.tag() {
            ChangeTag::Equal => end_change(&mut deleted, &mut inserted, &mut lines),
            ChangeTag::Delete => deleted.push(line),
            ChangeTag::Insert => inserted.push(line),
        }
    }
    end_change(&mut deleted, &mut inserted, &mut lines);
    if lines.is_empty() {
        return None;
    }
    let more = lines.len().saturating_sub(LINES);
    lines.truncate(LINES);
    if more > 0 {
        lines.push(format!("({} not shown)", plural(more as u64, "more line")));
    }
    Some(lines.join("\n"))
}

/// Writes lines that are in each other's place. Each is compared with the one of its number.
fn end_change(deleted: &mut Vec<&str>, inserted: &mut Vec<&str>, lines: &mut Vec<String>) {
    let cut = |line: &str, other: Option<&&str>| cut_around(line, other.copied().unwrap_or_default());
    lines.extend(deleted.iter().enumerate().map(|(number, line)| format!("- {}", cut(line, inserted.get(number)))));
    lines.extend(inserted.iter().enumerate().map(|(number, line)| format!("+ {}", cut(line, deleted.get(number)))));
    deleted.clear();
    inserted.clear();
}

/// A line around the place where it differs from another one; the name of its member is kept.
fn cut_around(line: &str, other: &str) -> String {
    let equal = line.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    let (length, other_length) = (line.chars().count(), other.chars().count());
    let most = length.min(other_length) - equal;
    let backwards = line.chars().rev().zip(other.chars().rev());
    let equal_end = backwards.take(most).take_while(|(one, other)| one == other).count();
    let start = equal.saturating_sub(AROUND);
    let end = (length - equal_end).min(equal + DIFFERING) + AROUND;
    let name = line.split_inclusive("\": ").next().filter(|name| name.trim_start().starts_with('"'));
    let name = name.filter(|name| name.chars().count() <= NAME.min(start)).unwrap_or_default();
    let cut_start = if start > 0 { "…" } else { "" };
    let cut_end = if end < length { "…" } else { "" };
    let shown: String = line.chars().skip(start).take(end - start).collect();
    format!("{name}{cut_start}{shown}{cut_end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_to_what_differs() {
        let line = |date: &str| format!("  \"text\": \"{}{date}{}\"", "a".repeat(500), "b".repeat(500));
        let shown = changed_lines(&line("Monday"), &line("Sunday")).unwrap();
        // "nday" is the same in both.
        let (before, after) = ("a".repeat(60), "b".repeat(56));
        assert_eq!(shown, format!("-   \"text\": …{before}Monday{after}…\n+   \"text\": …{before}Sunday{after}…"));
    }

    #[test]
    fn short_lines_are_whole_and_equal_texts_have_no_difference() {
        assert_eq!(changed_lines("a\nb\nc\n", "a\nx\ny\nc\n").unwrap(), "- b\n+ x\n+ y");
        assert_eq!(changed_lines("a\n", "a\n"), None);
        let long = "x".repeat(1_000);
        let shown = changed_lines("a\n", &format!("a\n{long}\n")).unwrap();
        assert_eq!(shown, format!("+ {}…", "x".repeat(180)));
    }

    #[test]
    fn many_lines_are_counted() {
        let many = (0..70).map(|number| number.to_string()).collect::<Vec<_>>().join("\n") + "\n";
        let shown = changed_lines("", &many).unwrap();
        assert!(shown.starts_with("+ 0\n") && shown.ends_with("+ 59\n(10 more lines not shown)"), "{shown}");
    }
}
