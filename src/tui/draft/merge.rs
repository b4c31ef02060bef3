//! Merging: a text that was edited here, and changed in its file since.
//!
//! In: the text before both, the edited one, the changed one. Out: a text with the changes of both, by lines; within lines that both changed,
//! by the parts that each replaced. It must never choose between changes of the same text.

use std::ops::Range;

use crate::workbench::{LineChange, LineDiff};

/// The text with the changes of both, or `None` where they changed the same text in different ways. Lines that both add at the same place
/// follow each other, those of the edited text first.
pub(in crate::tui) fn merged_text(before: &str, edited: &str, changed: &str) -> Option<String> {
    if edited == before || edited == changed {
        return Some(changed.to_owned());
    }
    let (own, other) = (changes(before, edited), changes(before, changed));
    let lines: Vec<&str> = before.split_inclusive('\n').collect();
    let (mut own, mut other) = (own.into_iter().peekable(), other.into_iter().peekable());
    let (mut text, mut at) = (String::with_capacity(edited.len() + changed.len()), 0);
    loop {
        let next = match (own.peek(), other.peek()) {
            (None, None) => break,
            (Some(one), Some(two)) if one == two => {
                other.next();
                own.next()
            }
            (Some(one), Some(two)) if one.lines == two.lines && overlap(&one.lines, &two.lines) => {
                // Both edited the same lines: their parts, where they are apart.
                let before = lines.get(one.lines.clone()).unwrap_or_default().concat();
                let text = merged_parts(&before, &one.text, &two.text)?;
                other.next();
                own.next().map(|one| Change { text, ..one })
            }
            (Some(one), Some(two)) if overlap(&one.lines, &two.lines) => return None,
            (Some(one), Some(two)) if (two.lines.start, two.lines.end) < (one.lines.start, one.lines.end) => {
                other.next()
            }
            (Some(_), _) => own.next(),
            (None, Some(_)) => other.next(),
        };
        let Some(change) = next else { break };
        text.extend(lines.get(at..change.lines.start).unwrap_or_default().iter().copied());
        if !text.is_empty() && !text.ends_with('\n') && !change.text.is_empty() {
            text.push('\n');
        }
        text.push_str(&change.text);
        at = at.max(change.lines.end);
    }
    text.extend(lines.get(at..).unwrap_or_default().iter().copied());
    let ends = |text: &str| text.ends_with('\n');
    let is_ended = if ends(edited) == ends(before) { ends(changed) } else { ends(edited) };
    match (ends(&text), is_ended) {
        (true, false) => {
            let end = text.strip_suffix("\r\n").or_else(|| text.strip_suffix('\n')).map_or(0, str::len);
            text.truncate(end);
        }
        (false, true) if !text.is_empty() => text.push('\n'),
        _ => {}
    }
    Some(text)
}

/// The text with the one part that each of the others replaced; `None` where these parts meet.
fn merged_parts(before: &str, edited: &str, changed: &str) -> Option<String> {
    let (own, other) = (replaced_part(before, edited), replaced_part(before, changed));
    let (first, second, texts) =
        if own.end < other.start { (own, other, (edited, changed)) } else { (other, own, (changed, edited)) };
    if first.end >= second.start {
        return None;
    }
    let new = |part: &Range<usize>, text: &str| {
        Some(text.get(part.start..text.len().checked_sub(before.len() - part.end)?)?.to_owned())
    };
    let between = before.get(first.end..second.start)?;
    let (start, end) = (before.get(..first.start)?, before.get(second.end..)?);
    Some([start, &new(&first, texts.0)?, between, &new(&second, texts.1)?, end].concat())
}

/// The bytes of a text that another one replaces: between their longest common start and their longest common end.
fn replaced_part(before: &str, after: &str) -> Range<usize> {
    let same = |(one, other): (char, char)| (one == other).then(|| one.len_utf8());
    let start: usize = before.chars().zip(after.chars()).map_while(same).sum();
    let rest = (before.get(start..).unwrap_or_default(), after.get(start..).unwrap_or_default());
    let end: usize = rest.0.chars().rev().zip(rest.1.chars().rev()).map_while(same).sum();
    start..before.len() - end
}

/// Lines that another text replaces.
#[derive(Debug, PartialEq)]
struct Change {
    lines: Range<usize>,
    text: String,
}

/// Returns whether changes of these lines exclude each other. Lines that are added next to others do not.
fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

fn changes(before: &str, after: &str) -> Vec<Change> {
    let lines: Vec<&str> = after.split_inclusive('\n').collect();
    let change = |one: LineChange| Change { lines: one.old, text: lines.get(one.new).unwrap_or_default().concat() };
    LineDiff::of(before, after).changes().map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_different_lines_are_all_there() {
        let before = "a\nb\nc\nd\n";
        for (edited, changed, merged) in [
            ("a\nb\nc\nd\n", "a\nB\nc\nd\n", "a\nB\nc\nd\n"),
            ("a\nX\nc\nd\n", "a\nb\nc\nd\n", "a\nX\nc\nd\n"),
            ("A\nb\nc\nd\n", "a\nb\nc\nD\n", "A\nb\nc\nD\n"),
            ("A\nb\nc\nd\n", "a\nB\nc\nd\n", "A\nB\nc\nd\n"),
            ("a\nb\nd\n", "a\nb\nc\nd\ne\n", "a\nb\nd\ne\n"),
            ("a\nb\nc\nd\nown\n", "a\nb\nc\nd\nfile\n", "a\nb\nc\nd\nown\nfile\n"),
            ("a\nb\nc\nd\nsame\n", "a\nb\nc\nd\nsame\n", "a\nb\nc\nd\nsame\n"),
            ("", "a\nb\nc\nd\n", ""),
            ("a\nb\nc\nd\nown", "A\nb\nc\nd\n", "A\nb\nc\nd\nown"),
            ("A\nb\nc\nd\n", "a\nb\nc\nd", "A\nb\nc\nd"),
        ] {
            assert_eq!(merged_text(before, edited, changed).as_deref(), Some(merged), "{edited:?} and {changed:?}");
        }
        assert_eq!(merged_text("", "own", "file\n").as_deref(), Some("own\nfile\n"));
        // A last line without a line end is not a change of that line.
        for (edited, changed, merged) in
            [("a\nb\nown", "a\nB", "a\nB\nown"), ("a\nb\nown", "a\nb\nfile", "a\nb\nown\nfile"), ("a", "A\nb", "A")]
        {
            assert_eq!(merged_text("a\nb", edited, changed).as_deref(), Some(merged), "{edited:?} and {changed:?}");
        }
    }

    #[test]
    fn changes_of_different_parts_of_a_line_are_both_there() {
        for (before, edited, changed, merged) in [
            ("Classify it.", "Please. Classify it.", "Classify it. Be brief.", "Please. Classify it. Be brief."),
            ("Classify it. ", "Classify it. Be brief. ", "Please. Classify it. ", "Please. Classify it. Be brief. "),
            ("a one b two c\n", "a 1 b two c\n", "a one b 2 c\n", "a 1 b 2 c\n"),
            ("äöü\nend\n", "Xäöü\nend\n", "äöüY\nend\n", "XäöüY\nend\n"),
            ("a one b two c", "a b two c", "a one b", "a b"),
        ] {
            assert_eq!(merged_text(before, edited, changed).as_deref(), Some(merged), "{edited:?} and {changed:?}");
        }
        // Parts that meet are not merged: their order would be a choice.
        for (before, edited, changed) in [
            ("one two", "one and two", "one or two"),
            ("one two", "1 two", "uno two"),
            ("one", "one more", "one less"),
            ("one", "xone", "yone"),
        ] {
            assert_eq!(merged_text(before, edited, changed), None, "{edited:?} and {changed:?}");
        }
    }

    #[test]
    fn different_changes_of_the_same_lines_are_not_merged() {
        for (edited, changed) in [("a\nX\nc\n", "a\nY\nc\n"), ("a\nc\n", "a\nY\nc\n"), ("", "a\nB\nc\n")] {
            assert_eq!(merged_text("a\nb\nc\n", edited, changed), None, "{edited:?} and {changed:?}");
        }
    }
}
